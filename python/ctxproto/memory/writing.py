"""What is not worth remembering: the rules of the write gate, on text alone (seed 000, section 4)."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["LONGEST", "SHORTEST", "closest", "density", "echoes", "is_log", "is_reasoning"]

SHORTEST = 50
"""Characters, without the spaces around: less is a fragment."""

LONGEST = 50_000
"""Characters: more is a tool's raw output."""

LEAST_LETTERS = 0.3
"""The share of letters that text has at least."""

# A line of a log begins with a time, a level, or what a stack trace or a shell writes there.
_LOG_LINE = re.compile(
    r"""\s*(?:
        [\[(]?\d{4}-\d\d-\d\d[T\s]\d\d:\d\d | [\[(]?\d\d:\d\d:\d\d\b | [A-Z][a-z]{2}\s+\d{1,2}\s\d\d:\d\d:\d\d
        | [\[(<]?(?:TRACE|DEBUG|INFO|NOTICE|WARN(?:ING)?|ERROR|FATAL|CRITICAL)\b[\])>:\s]
        | Traceback\s\(most | File\s".*",\sline\s\d+ | at\s[\w$.<>]+\( | \$\s\S | \d+(?:\.\d+){3}\s-\s
        | (?:\+\+\+|---|@@)\s | level= | time=
    )""",
    re.VERBOSE,
)
_LOG_LINES_LEAST = 3
_DUMP_LEAST = 1_000

# A step on the way, not an outcome. `let me know` and `Let's Encrypt` are none: the verb decides.
_STEP = re.compile(
    r"""(?ix) ^\W* (?:(?:ok(?:ay)?|now|so|hm+|well|first|firstly|next|then|alright|actually|but|and)\b[,.!\s]+)*
    (?: (?: let\sme | let['\u2019]?s | let\sus | i(?:['\u2019]ll|\swill|\sshould|\sneed\sto|\shave\sto|\swant\sto|\scan
            |\sam\sgoing\sto|['\u2019]m\sgoing\sto|['\u2019]d\sbetter|\sthink\si\s(?:should|need\sto)) )
        \s (?:(?:now|first|also|just|quickly|try\sto)\s)*
        (?:analy[sz]e|check|confirm|consider|dig|double-check|examine|figure|find|go\s(?:back|through)|inspect
           |investigate|look|open|re-?read|read|recheck|review|run|scan|search|see|start|step|test|think|trace|try
           |verify|work\sout)\b
      | hm+\b | wait\b[,.!\s] | thinking\b | reasoning: | thought: | step\s\d+:\s(?:check|look|find|read|run) )"""
)
_SENTENCE = re.compile(r"[^.!?。\n…]+[.!?。…]*")
_WORD = re.compile(r"\w+")

# Words in a row that two texts must share to have them in common.
_ROW = 4
_ECHO = 0.8
_ALIKE = 0.8
_NEGATIONS = frozenset({"not", "no", "never", "nor", "without", "neither", "none", "cannot", "t", "nicht", "kein"})


def density(text: str) -> float:
    """The share of letters among the characters."""
    return sum(map(str.isalpha, text)) / max(len(text), 1)


def is_log(text: str) -> bool:
    """Whether it is a tool's output as it came: lines of a log, a stack trace, a diff, a dump of JSON."""
    lines = [line for line in text.splitlines() if line.strip()]
    if len(lines) >= _LOG_LINES_LEAST and 2 * sum(bool(_LOG_LINE.match(line)) for line in lines) > len(lines):
        return True
    if len(text) < _DUMP_LEAST or text.lstrip()[:1] not in {"{", "["}:
        return False
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def is_reasoning(text: str) -> bool:
    """Whether half of its sentences or more are steps on the way ("Let me check ...", "Hmm")."""
    if "<think" in text[:200].lower():
        return True
    sentences = [match[0].strip() for match in _SENTENCE.finditer(text) if _WORD.search(match[0])]
    return bool(sentences) and 2 * sum(bool(_STEP.match(sentence)) for sentence in sentences) >= len(sentences)


def words(text: str) -> list[str]:
    """Its words in lower case."""
    return _WORD.findall(text.lower())


def _rows(text: Sequence[str]) -> set[tuple[str, ...]]:
    return {tuple(text[at : at + _ROW]) for at in range(max(len(text) - _ROW + 1, 1))} if text else set()


def echoes(text: str, seen: Iterable[str]) -> bool:
    """Whether nearly all of it stands in one of the texts that were seen."""
    rows = _rows(words(text))
    return any(len(rows & _rows(words(one))) >= _ECHO * len(rows) for one in seen) if rows else False


def closest(text: str, others: Iterable[str]) -> tuple[int, bool] | None:
    """The place of a text among `others` that says the same, and whether in the same words; None when none does.

    Texts that differ in a number, a name with a digit or a negation say something else, however alike they are.
    """
    own = words(text)
    rows, facts = _rows(own), _facts(own)
    best: tuple[float, int] | None = None
    for at, other in enumerate(others):
        theirs = words(other)
        if own == theirs:
            return at, True
        if facts != _facts(theirs):
            continue
        there = _rows(theirs)
        alike = len(rows & there) / max(len(rows | there), 1)
        if alike >= _ALIKE and (best is None or alike > best[0]):
            best = (alike, at)
    return None if best is None else (best[1], False)


def _facts(text: Sequence[str]) -> list[str]:
    return sorted(word for word in text if word in _NEGATIONS or any(map(str.isdigit, word)))
