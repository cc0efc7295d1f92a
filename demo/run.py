"""The demo: writes a sample full of made-up secrets, sanitizes it, and shows what happened."""

from __future__ import annotations

import shutil
import sys
from collections import Counter
from pathlib import Path

import ctxproto
import sample

OUT = Path("out/demo")


def main() -> int:
    """Runs the demo; 1 when a planted secret survived."""
    shutil.rmtree(OUT, ignore_errors=True)
    planted = sample.write(OUT / "in")
    (OUT / "clean").mkdir()
    redactor = ctxproto.Redactor()
    labels: Counter[str] = Counter()
    clean = ""
    for source in sorted((OUT / "in").iterdir()):
        before = source.read_text(encoding="utf-8")
        result = redactor.redact(before)
        (OUT / "clean" / source.name).write_text(result.text, encoding="utf-8")
        labels.update(finding.label for finding in result.findings)
        clean += result.text
        print(f"\n{source} -> {OUT / 'clean' / source.name}: {len(result.findings)} findings, for example")
        for old, new in [
            pair for pair in zip(before.split("\n"), result.text.split("\n"), strict=True) if len(set(pair)) > 1
        ][:4]:
            print(f"  - {old[:150]}\n  + {new[:150]}")
    left = [secret for secret in planted if secret in clean]
    print(
        f"\n{sum(labels.values())} findings: " + ", ".join(f"{count} {label}" for label, count in labels.most_common())
    )
    print(f"{len(planted) - len(left)} of {len(planted)} planted secrets are gone")
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
