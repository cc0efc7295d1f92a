"""ctxproto's own rules as regular expressions, so that raw Hyperscan can be given the same job.

Only the rules that are a shape: what ctxproto reads with parsers (`key = value`, headers, PEM, PII) is left
out, and so are checksums, boundaries and every other judgement about a match: a floor of the work, no more.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

RULES = Path(__file__).resolve().parents[2] / "rust" / "detect" / "rules"
CLASSES = {
    "digit": "[0-9]",
    "lower": "[a-z]",
    "upper": "[A-Z]",
    "alpha": "[A-Za-z]",
    "alnum": "[0-9A-Za-z]",
    "loweralnum": "[0-9a-z]",
    "upperalnum": "[0-9A-Z]",
    "hex": "[0-9a-f]",
    "HEX": "[0-9A-F]",
    "xhex": "[0-9A-Fa-f]",
    "b32": "[A-Z2-7]",
    "b58": "[1-9A-HJ-NP-Za-km-z]",
    "b64": "[0-9A-Za-z+/]",
    "b64url": "[0-9A-Za-z_-]",
    "word": "[0-9A-Za-z_]",
    "bech32": "[02-9ac-hj-np-z]",
}
# In this order: what looks like a class with a count is one, whatever is left is a literal.
ITEM = re.compile(
    r"""(?P<quoted>'[^']*')|(?P<mark>[<>](?=\s|$))|(?P<group>\([^()]*\))"""
    r"""|(?P<set>\[(?:[^\]\\]|\\.)+\])(?P<setcount>\{\d+(?:,\d*)?\})"""
    r"""|(?P<name>[A-Za-z0-9]+)(?P<count>\{\d+(?:,\d*)?\})|(?P<literal>\S+)"""
)


def to_regex(shape: str) -> str:
    """One shape as a regex."""
    out = []
    for word in ITEM.finditer(shape):
        if word["quoted"]:
            out.append(re.escape(word["quoted"][1:-1]))
        elif word["group"]:
            out.append("(?:" + "|".join(map(re.escape, word["group"][1:-1].split("|"))) + ")")
        elif word["set"]:
            out.append(word["set"] + word["setcount"])
        elif word["name"] and word["name"] in CLASSES:
            out.append(CLASSES[word["name"]] + word["count"])
        elif not word["mark"]:
            out.append(re.escape(word[0]))
    return "".join(out)


def regexes() -> Iterator[str]:
    """All shapes; one that needs a word near it is searched behind that word."""
    files = sorted(RULES.glob("*.toml"))
    if not files:
        raise FileNotFoundError("no rule files in rust/detect/rules")
    for file in files:
        for rule in tomllib.loads(file.read_text()).get("rule", ()):
            shapes = rule.get("shape", ())
            for shape in [shapes] if isinstance(shapes, str) else shapes:
                regex = to_regex(shape)
                if rule.get("case") == "any":
                    regex = f"(?i:{regex})"
                if near := rule.get("near"):
                    regex = f"(?i:{'|'.join(map(re.escape, near))})[^\\n]{{1,48}}{regex}"
                yield regex
