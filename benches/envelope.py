"""A raw tool result to a message, beside the design this project began with: `python benches/envelope.py`.

That design is an envelope of regular expressions, each run over the whole text twice, and a count of tokens
by tiktoken. Restated here with what it must do for a fair comparison and no more: keep to a budget of
tokens (it cut at so many words, which is no budget), find the eight kinds of secrets it names, replace
them, return the message. The order in which ctxproto works, redaction before the cut, is the safe one; the
cheap order is measured as well, and both must be slower than ctxproto with the same strategy by `MUST`.
"""

from __future__ import annotations

import json
import re
import sys
from importlib.util import find_spec
from typing import Any

from ctxproto import ToolResultEnvelope

from tokens import CORPORA, microseconds, o200k_ranks, tiktoken_of

BUDGET = 1500
SIZE = 80_000
MUST = 100
PATTERNS = [
    (re.compile(pattern, re.IGNORECASE), label)
    for pattern, label in ToolResultEnvelope.DEFAULT_SECRET_PATTERNS
]


class Plain:
    """The envelope as one writes it with what Python has: loops of regular expressions, and tiktoken."""

    def __init__(self, call: str, result: Any, max_tokens: int, encoding: Any) -> None:
        self.call, self.max_tokens, self.encoding = call, max_tokens, encoding
        self.text = result if isinstance(result, str) else json.dumps(result, ensure_ascii=False, default=str)
        self.found: list[dict[str, str]] = []

    def trim(self) -> Plain:
        tokens = self.encoding.encode(self.text, disallowed_special=())
        if len(tokens) > self.max_tokens:
            self.text = self.encoding.decode(tokens[: self.max_tokens])
        return self

    def redact_secrets(self) -> Plain:
        for pattern, label in PATTERNS:
            self.found += [{"label": label} for _ in pattern.findall(self.text)]
            self.text = pattern.sub(f"[{label}:REDACTED]", self.text)
        return self

    def message(self) -> dict[str, Any]:
        return {"role": "tool", "tool_call_id": self.call, "content": self.text}


def main() -> int:
    logs = sorted(CORPORA.glob("logs/*.log"))
    if not logs or find_spec("tiktoken") is None:
        print(f"envelope: skipped, needs logs under {CORPORA} and tiktoken", file=sys.stderr)
        return 0
    encoding = tiktoken_of(o200k_ranks())
    columns = ["plain, safe order", "plain, cheap order", "ctxproto `first_n`", "ctxproto `auto`"]
    ratios = ["safe / `first_n`", "cheap / `first_n`", "safe / `auto`"]
    print("| 80 KB of log to 1,500 tokens, us | " + " | ".join([*columns, *ratios]) + " |")
    print("| --- |" + " ---: |" * (len(columns) + len(ratios)))
    least = float("inf")
    for path in logs:
        log = path.read_bytes().decode("utf-8", "replace")[:SIZE]

        def plain(log: str = log) -> Plain:
            return Plain("call", log, BUDGET, encoding)

        def ours(strategy: Any, log: str = log) -> dict[str, Any]:
            return ToolResultEnvelope("call", log, BUDGET).trim(strategy).redact_secrets().to_context_chunk()

        safe = microseconds(lambda: plain().redact_secrets().trim().message(), 5)
        cheap = microseconds(lambda: plain().trim().redact_secrets().message(), 5)
        first = microseconds(lambda: ours("first_n"), 51)
        auto = microseconds(lambda: ours("auto"), 51)
        times = [safe / first, cheap / first, safe / auto]
        least = min(least, *times[:2])
        cells = [f"{taken:,.0f}" for taken in (safe, cheap, first, auto)]
        print(f"| {path.stem} | " + " | ".join([*cells, *(f"{ratio:.0f}x" for ratio in times)]) + " |")
    verdict = "met" if least >= MUST else "NOT MET"
    print(f"\nWith the same strategy at least {least:.0f}x (must be {MUST}x: {verdict}).")
    return least < MUST


if __name__ == "__main__":
    sys.exit(main())
