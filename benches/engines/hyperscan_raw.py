"""Raw Hyperscan with the gitleaks rules: the ceiling of multi-pattern matching, not a product.

It reports only where matches end: no captures, no entropy, no allowlist, nothing to redact with.
"""

# mypy: disable-error-code="import-not-found"
# (the library is in the peers' environment alone)

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from gitleaks_rules import load
from protocol import Engine, serve


class HyperscanRaw(Engine):
    def rules(self) -> list[str]:
        return [rule.regex for rule in load()]

    def setup(self) -> None:
        import hyperscan

        regexes = [regex.encode() for regex in self.rules()]
        self.size = len(regexes)
        self.database = hyperscan.Database()
        self.database.compile(expressions=regexes, ids=list(range(self.size)), flags=[0] * self.size)
        self.scratch = hyperscan.Scratch(self.database)
        self.found = 0

    def version(self) -> str:
        return f"hyperscan {version('hyperscan')}, {self.size} rules"

    def prepare(self, text: str) -> bytes:
        return text.encode()

    def count(self, document: bytes) -> int:
        self.found = 0
        self.database.scan(document, match_event_handler=self._on_match, scratch=self.scratch)
        return self.found

    def _on_match(self, *_: Any) -> None:
        self.found += 1


if __name__ == "__main__":
    serve(HyperscanRaw)
