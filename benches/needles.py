"""How much of what matters in a text survives at N tokens: `python benches/needles.py [--help]`.

Needles are taken from real texts by rules of their own, which know nothing of any engine. An engine gets a
text and a budget, and for a number that a question asks for also the words beside it. A needle is kept when
it stands in what comes back; what takes more tokens than the budget counts as nothing kept.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import random
import re
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache, cached_property
from pathlib import Path
from statistics import mean, median
from typing import Any

from ctxproto import Tokenizer

from harness import BENCHES, EngineError, EngineProcess, EngineSpec, trimmers
from run import README, cpu, markdown, number, say

CORPORA = Path(os.environ.get("CTXPROTO_CORPORA") or BENCHES.parent / "../shared/corpora")
BUDGETS = (250, 500, 1000, 1500, 4000)
SIZE = 80_000
SLICES = 3
NUMBERS = 8
CORPORA_NAMES = ("logs", "agents", "artifacts")
KINDS = ("error", "outcome", "last", "number")
BEGIN, END = "<!-- needles:begin -->", "<!-- needles:end -->"


# ---- texts -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Text:
    """A tool's result: its corpus and its name there."""

    corpus: str
    name: str
    body: str

    @cached_property
    def documents(self) -> list[Any]:
        """The JSON that it is, one document or one a line; none if it is no JSON."""
        for parts in ([self.body], self.body.splitlines()):
            try:
                return [json.loads(part) for part in parts]
            except ValueError:
                continue
        return []


def texts() -> Iterator[Text]:
    """Every text of the corpora that is here."""
    for path in sorted(CORPORA.glob("logs/*.log")):
        lines = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
        for part, at in enumerate(_spread(len(lines) - SIZE)):
            start = lines.find("\n", at) + 1 if at else 0
            yield Text("logs", f"{path.stem} {part}", lines[start : lines.rfind("\n", 0, start + SIZE) + 1])
    seen = set()
    for name, result in _results():
        if result not in seen and len(result) > 4 * BUDGETS[0]:
            seen.add(result)
            yield Text("agents", f"{name} {len(seen)}", result)
    for path in sorted(CORPORA.glob("artifacts/*.json")):
        yield from _artifacts(path)


def _spread(most: int) -> list[int]:
    return [most * part // (SLICES - 1) for part in range(SLICES)]


def _results() -> Iterator[tuple[str, str]]:
    """What tools answered in the agent runs."""
    for path in sorted(CORPORA.glob("agents/*.jsonl")):
        for line in path.read_text().splitlines():
            for message in json.loads(line)["messages"]:
                if message["role"] == "tool":
                    yield path.stem, message["content"]
    for path in sorted(CORPORA.glob("agents/*/*.traj")):
        for step in json.loads(path.read_text()).get("trajectory", ()):
            yield path.stem, (step["observation"] or "").replace("\r\n", "\n")


def _artifacts(path: Path) -> Iterator[Text]:
    """A database behind tools, in the forms that tools answer in."""
    rows = json.loads(path.read_text())
    forms: dict[str, Callable[[list[str]], str]] = {
        "indented": lambda keys: json.dumps({key: rows[key] for key in keys}, indent=4),
        "array": lambda keys: json.dumps([rows[key] for key in keys]),
        "lines": lambda keys: "".join(json.dumps(rows[key]) + "\n" for key in keys),
        "table": lambda keys: _table([rows[key] for key in keys]),
    }
    keys = list(rows)
    for part, (form, write) in enumerate(forms.items()):
        chosen = keys[len(keys) * part // len(forms) :]
        while len(body := write(chosen)) > SIZE:
            chosen = chosen[: len(chosen) * SIZE // len(body) - 1]
        yield Text("artifacts", f"{path.stem} {form}", body)


def _table(rows: list[dict[str, Any]]) -> str:
    """CSV of what stands in each row once."""
    flat = [dict(_flat(row, "")) for row in rows]
    header = [name for name in flat[0] if all(name in row for row in flat)]
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(
        [header, *([row[name] for name in header] for row in flat)]
    )
    return out.getvalue()


def _flat(value: Any, name: str) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, inside in value.items():
            yield from _flat(inside, f"{name}.{key}".strip("."))
    elif isinstance(value, list):
        for at, inside in enumerate(value[:1]):
            yield from _flat(inside, f"{name}.{at}")
    else:
        yield name, value


# ---- needles ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Needle:
    """What should survive: one of `forms`; a number has the words that ask for it."""

    kind: str
    forms: tuple[str, ...]
    question: str | None = None


# What an operator greps for: names of severities (syslog's and those of loggers), names of exceptions, and
# the words that say that something did not go as it should.
ERROR = re.compile(
    r"""
    (?<![\w-])(?:error|err|fatal|crit|critical|severe|emerg|alert|panic|traceback|exception)(?:s|\b)
    | (?-i:\w(?:Error|Exception|Failure)\b)
    | \bfail(?:s|ed|ing|ure|ures)?\b
    | \b(?:denied|refused|rejected|forbidden|unauthori[sz]ed|invalid|illegal|corrupt(?:ed|ion)?|unreachable)\b
    | \b(?:abort(?:ed|ing)?|killed|crash(?:ed)?|deadlock|overflow|segfault|segmentation\ fault|core\ dumped)\b
    | \btim(?:ed|e)[ -]?out\b | \b(?:can|could)(?:\ ?not|n't)\b | \bunable\ to\b | \bno\ such\b
    | \bnot\ found\b
    """,
    re.VERBOSE | re.IGNORECASE,
)
NONE = re.compile(r"(?:\b0|\bno|\bwithout(?: any)?)\s+$", re.IGNORECASE)
OUTCOME = re.compile(
    r"""
    \bexit(?:ed|s)?\b.{0,20}?\b\d+ | \breturn\ ?code\W+\d+
    | \b\d+\ (?:passed|failed|skipped|errors|warnings|tests|matches|results|rows|files\ changed)\b
    | \b\d+\ lines\ total\b
    | (?<!\S)1\ (?-i:error|warning|test|match|file\ changed)\b
    | \b(?:total|totals|summary|count|elapsed|finished\ in)\b\W.{0,20}?\d
    """,
    re.VERBOSE | re.IGNORECASE,
)
STATUS = re.compile(r"(?:exit|return)_?(?:code|status)|status(?:_?code)?|total\w*|count|state", re.IGNORECASE)
WORD = re.compile(r"\S*\d\S*")
A_NUMBER = re.compile(r"(?<![\w.:,/-])\d+(?:\.\d+)?(?![\w:/-]|[.,]\d)")
# Two or three words before a number, of which the last is one of letters.
BESIDE = re.compile(r"(?<!\S)(?:\S+\s+){1,2}\S*[^\W\d_]{2}\W{0,2}[\s=:(]$")
LONG = 300  # a longer line counts by what is around its sign


def needles(text: Text) -> list[Needle]:
    """Everything in a text that should survive."""
    draw = random.Random(hashlib.sha256(text.name.encode()).digest())
    if not text.documents:
        return [*_line_needles(text.body), *_numbers(_beside(text.body), draw)]
    found: list[Member] = []
    for document in text.documents:
        found += _members(document, ("",))
    return [*_json_needles(found), *_numbers(_json_numbers(found), draw)]


def has_error(line: str) -> re.Match[str] | None:
    """The first word of a failure that the line does not say there was none of."""
    return next((hit for hit in ERROR.finditer(line) if not NONE.search(line, 0, hit.start())), None)


def alike(lines: list[str]) -> list[str]:
    """What each line looks like but for its values, as parsers of logs tell their kinds.

    Words that hold digits are values, and so is a word of which there are five or more in lines that are else
    the same.
    """
    masked = [tuple(WORD.sub("#", line).split()) for line in lines]
    others: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for words in set(masked):
        for at, word in enumerate(words):
            others[(*words[:at], "*", *words[at + 1 :])].add(word)
    kinds = []
    for words in masked:
        keys = ((*words[:at], "*", *words[at + 1 :]) for at in range(len(words)))
        kinds.append(" ".join(next((key for key in keys if len(others[key]) >= 5), words)))
    return kinds


def _shown(line: str, hit: re.Match[str]) -> str:
    if len(line) <= LONG:
        return line.strip()
    return line[max(0, hit.start() - LONG // 2) : hit.end() + LONG // 2].strip()


def _line_needles(body: str) -> Iterator[Needle]:
    lines = [line for line in body.splitlines() if line.strip()]
    found: dict[str, list[tuple[str, re.Match[str]]]] = defaultdict(list)
    for line in lines:
        if hit := OUTCOME.search(line):
            found["outcome"].append((line, hit))
        elif hit := has_error(line):
            found["error"].append((line, hit))
    for kind, hits in found.items():
        yield from _first_of_each(kind, [line for line, _ in hits], [_shown(*hit) for hit in hits])
    for line in lines[-3:]:
        yield Needle("last", (line.strip()[-LONG:],))


def _first_of_each(kind: str, lines: list[str], forms: list[str]) -> Iterator[Needle]:
    """A needle for each kind of lines, which any of them is."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for form, like in zip(forms, alike(lines), strict=True):
        kinds[like].append(form)
    for same in kinds.values():
        yield Needle(kind, tuple(dict.fromkeys(same)))


def _beside(body: str) -> Iterator[Needle]:
    """Numbers that the words before them ask for: up to three, which stand so in the text but once."""
    table = _header(body)
    for line in body.splitlines():
        if table and len(cells := next(csv.reader([line]), [])) == table:
            for cell in cells[1:]:
                if A_NUMBER.fullmatch(cell) and body.count(cells[0]) == 1 and len(line) <= LONG:
                    yield Needle("number", (line,), cells[0])
            continue
        for hit in A_NUMBER.finditer(line):
            words = BESIDE.search(line[: hit.start()])
            if words and body.count(words[0]) == 1 and len(words[0]) <= LONG:
                yield Needle("number", (line[words.start() : hit.end()],), words[0].rstrip(" =:("))


def _header(body: str) -> int:
    """How many columns a table has; 0 if the text is none."""
    rows = list(csv.reader(body.splitlines()[:5]))
    columns = {len(row) for row in rows}
    return columns.pop() if len(columns) == 1 and len(rows) == 5 and len(rows[0]) > 2 else 0


def _numbers(found: Iterator[Needle], draw: random.Random) -> list[Needle]:
    drawn = list(found)
    return draw.sample(drawn, min(NUMBERS, len(drawn)))


# The names around a value, its key, the value.
Member = tuple[tuple[str, ...], str, Any]


def _members(value: Any, names: tuple[str, ...]) -> Iterator[Member]:
    if isinstance(value, dict):
        own = tuple(v for v in value.values() if isinstance(v, str))
        for key, inside in value.items():
            if isinstance(inside, dict | list):
                yield from _members(inside, (*names, key))
            else:
                yield (*names, *own), key, inside
    elif isinstance(value, list):
        for inside in value:
            yield from _members(inside, names)


def _json_needles(found: list[Member]) -> Iterator[Needle]:
    members: dict[str, list[tuple[str, Any]]] = defaultdict(list)
    for _, key, value in found:
        told = isinstance(value, str) and has_error(value)
        if told or (value and has_error(key)):
            members["error"].append((key, value))
        elif STATUS.fullmatch(key):
            members["outcome"].append((key, value))
    for kind, same in members.items():
        lines = [f"{key} {value}" for key, value in same]
        yield from _first_of_each(kind, lines, [_member(*member) for member in same])


def _json_numbers(found: list[Member]) -> Iterator[Needle]:
    """Numbers that a name beside or around them asks for, and which stand in the text but once."""
    names: dict[str, int] = defaultdict(int)
    for around, key, value in found:
        for name in {*around, key, str(value)}:
            names[name] += 1
    forms: dict[str, int] = defaultdict(int)
    for _, key, value in found:
        forms[_member(key, value)] += 1
    for around, key, value in found:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        telling = [name for name in reversed(around) if any(c.isdigit() for c in name)]
        if is_number and forms[_member(key, value)] == 1 and telling:
            # The rarest name: what whoever asks would know the thing by.
            yield Needle("number", (_member(key, value),), min(telling, key=lambda name: names[name]))


def _member(key: str, value: Any) -> str:
    return f"{json.dumps(key)}:{json.dumps(value)}"


class Result:
    """What came back, for the question what stands in it."""

    def __init__(self, text: Text, out: str) -> None:
        # Blanks between a key and its value mean nothing.
        self.out = re.sub(r'(?<=")\s*:\s*', ":", out) if text.documents else out.replace("\r\n", "\n")

    def holds(self, needle: Needle) -> bool:
        return any(self._stands(form) for form in needle.forms)

    def _stands(self, form: str) -> bool:
        at = self.out.find(form)
        while at >= 0:
            after = self.out[at + len(form) : at + len(form) + 2]
            if not (form[-1:].isdigit() and re.match(r"\d|\.\d", after)):
                return True
            at = self.out.find(form, at + 1)
        return False


# ---- the run ---------------------------------------------------------------------------------------------


@cache
def tokenizer() -> Tokenizer:
    return Tokenizer()


@dataclass
class Score:
    """What an engine made of a text at a budget."""

    kept: dict[str, list[bool]]
    tokens: int
    seconds: list[float]
    over: int = 0

    def share(self, kinds: tuple[str, ...] = KINDS) -> float | None:
        found = [kept for kind in kinds for kept in self.kept.get(kind, ())]
        return mean(found) if found else None


def score(engine: EngineProcess, text: Text, number_: int, budget: int, wanted: list[Needle]) -> Score:
    """One text, trimmed once for all needles, and once for every number that is asked for."""
    takes_questions = engine.ask("hello").get("takes_questions", False)
    made = Score(defaultdict(list), 0, [])

    def trimmed(question: str | None) -> Result:
        reply = engine.ask("trim", text=number_, budget=budget, question=question)
        made.seconds.append(reply["seconds"])
        tokens = tokenizer().count(reply["text"])
        if question is None:
            made.tokens = tokens
        made.over += tokens > budget
        return Result(text, reply["text"] if tokens <= budget else "")

    plain = trimmed(None)
    for needle in wanted:
        asked = needle.question if takes_questions else None
        made.kept[needle.kind].append((trimmed(asked) if asked else plain).holds(needle))
    return made


def ceiling(budget: int, wanted: list[Needle]) -> Score:
    """What fits when one knows the needles: the shortest first, and nothing else. Nothing can do better."""
    made = Score(defaultdict(list), 0, [])
    costs = sorted(
        (
            (min(tokenizer().count(form + "\n") for form in needle.forms[:20]), i)
            for i, needle in enumerate(wanted)
        )
    )
    fits, left = set(), budget
    for cost, i in costs:
        # A number asked for has the budget nearly to itself.
        if wanted[i].kind == "number":
            fits.add(i)
        elif cost <= left:
            left -= cost
            fits.add(i)
    for i, needle in enumerate(wanted):
        made.kept[needle.kind].append(i in fits)
    made.tokens = budget - left
    return made


Scores = dict[int, dict[str, dict[str, Score]]]
"""By budget, engine, name of the text."""


def run(engines: dict[str, EngineProcess], chosen: list[Text], budgets: tuple[int, ...]) -> Scores:
    """Every engine over every text that is over the budget."""
    scores: Scores = {budget: defaultdict(dict) for budget in budgets}
    wanted = {text.name: needles(text) for text in chosen}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump([text.body for text in chosen], file)
        file.flush()
        for name, engine in engines.items():
            engine.ask("texts", path=file.name)
            for budget in budgets:
                for at, text in enumerate(chosen):
                    if wanted[text.name] and tokenizer().count(text.body) > budget:
                        made = score(engine, text, at, budget, wanted[text.name])
                        scores[budget][name][text.name] = made
            say(f"{name}: done")
    for budget in budgets:
        for text in chosen:
            if text.name in scores[budget][next(iter(engines))]:
                scores[budget]["ceiling"][text.name] = ceiling(budget, wanted[text.name])
    return scores


def easy(scores: dict[str, dict[str, Score]]) -> set[str]:
    """The texts whose needles all stand in their two ends: they tell engines apart in nothing."""
    return {name for name, made in scores.get("head+tail", {}).items() if made.share() == 1}


def percent(values: list[float]) -> str:
    return f"{mean(values):.1%}".replace("%", " %") if values else "–"


def shares(scores: dict[str, Score], names: set[str], kinds: tuple[str, ...] = KINDS) -> list[float]:
    """The share of each text."""
    return [share for name in sorted(names) if (share := scores[name].share(kinds)) is not None]


def summary(scores: Scores) -> str:
    """Share of all needles by engine and budget."""
    rows = []
    for engine in next(iter(scores.values())):
        cells = []
        for by_engine in scores.values():
            hard = set(by_engine["ceiling"]) - easy(by_engine)
            cells.append(percent(shares(by_engine[engine], hard)))
        rows.append([engine, *cells])
    return markdown(["needles kept", *(f"{budget:,} tokens" for budget in scores)], rows)


def details(by_engine: dict[str, dict[str, Score]], corpora: dict[str, str]) -> str:
    """Share by kind and corpus, tokens and time, at one budget."""
    apart = easy(by_engine)
    hard = set(by_engine["ceiling"]) - apart
    rows = []
    for engine, made in by_engine.items():
        cells = [percent(shares(made, hard, (kind,))) for kind in KINDS]
        for corpus in CORPORA_NAMES:
            cells += [percent(shares(made, {n for n in hard if corpora[n] == corpus}))]
        seconds = [taken for name in made for taken in made[name].seconds]
        rows.append([
            engine, *cells, percent(shares(made, hard)), percent(shares(made, apart)),
            number(mean([made[name].tokens for name in made])), str(sum(made[name].over for name in made)),
            number(median(seconds) * 1e3) if seconds else "–",
        ])  # fmt: skip
    header = [
        "engine", *KINDS, *CORPORA_NAMES, "all", f"{len(apart)} easy texts", "tokens", "over", "ms",
    ]  # fmt: skip
    return markdown(header, rows)


def losses(by_engine: dict[str, dict[str, Score]], engine: str, wanted: dict[str, list[Needle]]) -> str:
    """What an engine lost, text by text."""
    lines = []
    for name, made in sorted(by_engine[engine].items(), key=lambda item: item[1].share() or 0):
        best = by_engine["ceiling"][name].share()
        lines.append(f"== {name}: {made.share():.0%}, ceiling {best:.0%}, {made.tokens} tokens")
        at: dict[str, int] = defaultdict(int)
        for needle in wanted[name]:
            kept = made.kept[needle.kind][at[needle.kind]]
            at[needle.kind] += 1
            if not kept:
                lines.append(
                    f"  {needle.kind} x{len(needle.forms)} {needle.question or ''} | {needle.forms[0][:200]}"
                )
    return "\n".join(lines)


def write(scores: Scores, chosen: list[Text], versions: dict[str, str]) -> None:
    """NEEDLES.md, and the table in the project's README."""
    corpora = {text.name: text.corpus for text in chosen}
    today = datetime.now(UTC)
    head = f"{cpu()}, {today:%Y-%m-%d}; {len(chosen)} texts, o200k_base"
    parts = [
        "# Needles\n\nWritten by `benches/needles.py`, not by hand. What a needle is, and what is unfair\n"
        "about this, is in [README.md](README.md).",
        head + ".",
        summary(scores),
        "## Engines",
        "\n".join(f"- {name}: {version}" for name, version in versions.items()),
        *(f"## {budget:,} tokens\n\n{details(made, corpora)}" for budget, made in scores.items()),
    ]
    (BENCHES / "NEEDLES.md").write_text("\n\n".join(parts) + "\n")
    readme = README.read_text()
    if BEGIN in readme and END in readme:
        before, rest = readme.split(BEGIN, 1)
        block = f"{BEGIN}\n{summary(scores)}\n\n{head} ([how](benches/README.md)).\n{END}"
        README.write_text(before + block + rest.split(END, 1)[1])
    say(f"wrote {BENCHES / 'NEEDLES.md'}")


def main() -> int:
    parser = argparse.ArgumentParser(description="How much of what matters survives.")
    parser.add_argument(
        "--engine", action="append", default=[], metavar="NAME", help="only this engine (repeatable)"
    )
    parser.add_argument(
        "--budget", action="append", default=[], type=int, help="only this budget (repeatable)"
    )
    parser.add_argument("--text", default="", help="only texts with this in their name")
    parser.add_argument("--losses", metavar="ENGINE", help="print what this engine lost")
    options = parser.parse_args()
    chosen = [text for text in texts() if options.text in text.name]
    if not chosen:
        say(f"needles: skipped, no texts under {CORPORA} (set CTXPROTO_CORPORA)")
        return 0
    engines: dict[str, EngineProcess] = {}
    specs: list[EngineSpec] = [s for s in trimmers() if not options.engine or s.name in options.engine]
    for spec in specs:
        try:
            engines[spec.name] = EngineProcess(spec)
        except EngineError as error:
            say(f"{spec.name}: absent ({error})")
    scores = run(engines, chosen, tuple(options.budget) or BUDGETS)
    for engine in engines.values():
        engine.close()
    print(summary(scores))
    corpora = {text.name: text.corpus for text in chosen}
    for budget, made in scores.items():
        print(f"\n{budget:,} tokens\n\n{details(made, corpora)}")
        if options.losses:
            print(losses(made, options.losses, {text.name: needles(text) for text in chosen}))
    if not (options.engine or options.budget or options.text):
        write(scores, chosen, {name: engine.version for name, engine in engines.items()})
    over = [name for made in scores.values() for name in made if name.startswith("ctxproto")
            and any(score.over for score in made[name].values())]  # fmt: skip
    if over:
        say(f"FAILED: over the budget: {', '.join(over)}")
    return 1 if over or not engines else 0


if __name__ == "__main__":
    sys.exit(main())
