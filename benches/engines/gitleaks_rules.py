"""The rules of gitleaks as regular expressions, for the two engines that are no more than a rule list.

The file is not part of this repository: `setup_peers.sh` puts it beside the peers.
"""

from __future__ import annotations

import math
import re
import sys
import tomllib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

RULES = Path(sys.prefix) / "rules" / "gitleaks.toml"


@dataclass(frozen=True)
class Rule:
    """One rule: `keywords` in lower case, of which one must occur before `regex` is tried."""

    id: str
    regex: str
    keywords: tuple[str, ...]
    entropy: float
    group: int


def load() -> list[Rule]:
    """All rules that have a regex."""
    if not RULES.exists():
        raise FileNotFoundError("no gitleaks rules: run benches/setup_peers.sh with Go installed")
    return [
        Rule(
            rule["id"],
            rule["regex"],
            tuple(word.lower() for word in rule.get("keywords", ())),
            rule.get("entropy", 0.0),
            rule.get("secretGroup", 0),
        )
        for rule in tomllib.loads(RULES.read_text())["rules"]
        if "regex" in rule
    ]


def to_python(regex: str) -> str:
    """Go syntax to Python's: end of text, POSIX classes, and flags set in the middle of a group."""
    regex = (
        regex.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[0-9A-Za-z]").replace("[:alnum:]", "0-9A-Za-z")
    )
    flag = re.search(r"\(\?(-?i)\)", regex)
    while flag:
        scope = "(?i:" if flag[1] == "i" else "(?-i:"
        end = _group_end(regex, flag.end())
        regex = f"{regex[: flag.start()]}{scope}{regex[flag.end() : end]}){regex[end:]}"
        flag = re.search(r"\(\?(-?i)\)", regex)
    return regex


def _group_end(regex: str, at: int) -> int:
    """Where the group that holds position `at` closes."""
    depth, in_class = 0, False
    while at < len(regex):
        char = regex[at]
        if char == "\\":
            at += 1
        elif in_class:
            in_class = char != "]"
        elif char == "[":
            in_class = True
        elif char == "(":
            depth += 1
        elif char == ")":
            if depth == 0:
                return at
            depth -= 1
        at += 1
    return at


def entropy(value: str) -> float:
    """Shannon entropy in bits a character."""
    return -sum(n / len(value) * math.log2(n / len(value)) for n in Counter(value).values()) if value else 0.0
