"""The gitleaks program over the haystack's directory, process start included. Finds, does not rewrite."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from gitleaks_rules import RULES
from protocol import DirectoryEngine, serve


class Gitleaks(DirectoryEngine):
    def __init__(self) -> None:
        super().__init__("gitleaks")

    def version(self) -> str:
        return f"gitleaks {RULES.with_suffix('.version').read_text().strip()}"

    def scan(self, directory: str) -> list[tuple[int, str, str]]:
        options = [
            "--no-banner",
            "-f",
            "json",
            "-r",
            "-",
            "--exit-code",
            "0",
            "-l",
            "error",
            "--max-decode-depth",
            "0",
        ]
        done = subprocess.run([self.program, "dir", directory, *options], capture_output=True, check=True)
        return [
            (int(Path(f["File"]).stem), f["Secret"], f["RuleID"]) for f in json.loads(done.stdout or b"[]")
        ]


if __name__ == "__main__":
    serve(Gitleaks)
