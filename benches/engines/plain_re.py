"""Python's `re` with the gitleaks rules: what a guard written by hand in Python amounts to. Finds only."""

from __future__ import annotations

import platform
import re
import warnings

from gitleaks_rules import entropy, load, to_python
from protocol import Engine, Span, serve


class PlainRe(Engine):
    def setup(self) -> None:
        warnings.simplefilter("ignore")
        self.rules = [(rule, re.compile(to_python(rule.regex), re.ASCII)) for rule in load()]

    def version(self) -> str:
        return (
            f"Python {platform.python_version()} re, {len(self.rules)} gitleaks rules behind their keywords"
        )

    def count(self, document: str) -> int:
        return len(self.spans(document, ""))

    def spans(self, text: str, profile: str) -> list[Span]:
        found = []
        lower = text.lower()
        for rule, regex in self.rules:
            if rule.keywords and not any(word in lower for word in rule.keywords):
                continue
            for match in regex.finditer(text):
                group = rule.group or next((i for i, value in enumerate(match.groups(), 1) if value), 0)
                if entropy(match[group]) >= rule.entropy:
                    found.append((match.start(group), match.end(group), rule.id))
        return found


if __name__ == "__main__":
    serve(PlainRe)
