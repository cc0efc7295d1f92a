"""Quality beside speed: what is found that should be, and what is found that should not be.

For an engine that only finds, the harness cuts the findings out of the text itself, so that all are judged
alike: by what is left. `python benches/quality.py [ENGINE ...]` prints the table alone; the cases that went
wrong are written to benches/review/ENGINE.jsonl, which holds excerpts of the corpora: not to be committed.
"""

from __future__ import annotations

import json
import sys
import tempfile
import tomllib
from bisect import bisect_right
from collections.abc import Iterable
from hashlib import sha256
from typing import Any

import haystacks
from harness import BENCHES, EngineError, EngineProcess, definitions

sys.path.append(str(BENCHES / "engines"))
from protocol import Span, head, occurrences

# Labels of the PII corpus, and what the engines call the same thing.
PII = {
    "CREDIT_CARD": {"CREDIT_CARD"},
    "US_SSN": {"US_SSN", "SSN"},
    "IBAN_CODE": {"IBAN_CODE", "IBAN"},
    "IP_ADDRESS": {"IP_ADDRESS", "IP", "IPV4", "IPV6"},
    "EMAIL_ADDRESS": {"EMAIL_ADDRESS", "EMAIL"},
}
PII_ENGINES = ("ctxproto", "presidio")
COVERED = 0.8  # of a value's characters; the rest may be a public prefix or a closing mark


class Judge:
    """One engine's answers, and the list of what went wrong."""

    def __init__(self, engine: EngineProcess) -> None:
        self.engine = engine
        self.review: list[dict[str, Any]] = []

    def find(self, texts: list[str], profile: str = "default") -> tuple[list[list[Span]], list[str]]:
        """Findings and rewritten texts."""
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump(texts, file)
            file.flush()
            reply = self.engine.ask("find", texts=file.name, profile=profile)
        spans = [[(start, end, label) for start, end, label in row] for row in reply["spans"]]
        for text, row in zip(texts, spans, strict=True):
            if any(not 0 <= start < end <= len(text) for start, end, _ in row):
                raise EngineError("a finding lies outside its text")
        outputs = reply["outputs"] or [cut(text, row) for text, row in zip(texts, spans, strict=True)]
        return spans, outputs

    def wrong(self, measure: str, **case: Any) -> None:
        self.review.append({"measure": measure, **case})

    def recall(self) -> dict[str, Any]:
        """The Nosey Parker examples: is the secret gone, and are the counter-examples left alone?"""
        rows = [json.loads(line) for line in _read("secrets/noseyparker-examples.jsonl").splitlines()]
        spans, outputs = self.find([row["text"] for row in rows])
        holds = tomllib.loads((BENCHES / "negatives.toml").read_text())
        none = tomllib.loads((BENCHES / "positives.toml").read_text())
        positives = negatives = gone = whole = false = harmless = secrets = secrets_gone = 0
        for row, found, output in zip(rows, spans, outputs, strict=True):
            secret = row["secret"]
            if not row["positive"]:
                negatives += 1
                if found:
                    false += 1
                    harmless += sha256(row["text"].encode()).hexdigest()[:12] not in holds
                    self.wrong("false finding on a negative", rule=row["rule"], found=found, text=row["text"])
                continue
            positives += 1
            places = occurrences(row["text"], secret, "") if secret else []
            is_gone = secret not in output if secret else bool(found)
            gone += is_gone
            is_secret = sha256(row["text"].encode()).hexdigest()[:12] not in none
            secrets += is_secret
            secrets_gone += is_gone and is_secret
            whole += all(covered(found, s, e) >= COVERED for s, e, _ in places) if places else bool(found)
            if not is_gone:
                self.wrong("missed", rule=row["rule"], secret=secret, found=found, text=row["text"])
        return {
            "recall": gone / positives,
            "recall, whole value": whole / positives,
            "recall of secrets": secrets_gone / secrets,
            "secrets": secrets,
            "positives": positives,
            "false on negatives": false / negatives,
            "false on harmless": harmless / negatives,
            "negatives": negatives,
        }

    def leaky(self) -> dict[str, Any]:
        """leaky-repo: risky lines whose value is gone; and lines with any finding, as its CSV counts."""
        files = tomllib.loads((BENCHES / "leaky_lines.toml").read_text())["file"]
        texts = [_read("secrets/leaky-repo/" + file["path"]) for file in files]
        spans, _ = self.find(texts)
        touched = redacted = lines = counted = 0
        for file, text, found in zip(files, texts, spans, strict=True):
            starts = line_starts(text)
            places = [(starts[line - 1] + s, starts[line - 1] + e) for line, s, e in file.get("values", ())]
            if block := file.get("block"):
                places.append((starts[block[0] - 1], starts[block[1]] - 1))
            for start, end in places:
                lines += 1
                touched += covered(found, start, end) > 0
                redacted += covered(found, start, end) >= COVERED
                if covered(found, start, end) < COVERED:
                    self.wrong("leaky-repo", file=file["path"], value=text[start:end], found=found)
            with_findings = {bisect_right(starts, at) for s, e, _ in found for at in (s, e - 1)}
            counted += min(len(with_findings), file["counted"])
        return {
            "leaky lines": lines,
            "leaky redacted": redacted,
            "leaky touched": touched,
            "leaky by CSV": counted,
            "leaky CSV": sum(file["counted"] for file in files),
        }

    def pii(self) -> dict[str, Any]:
        """Span-level: a labelled span is found when one finding of its kind covers it and little else."""
        rows = [json.loads(line) for line in _read("pii/presidio-synth.jsonl").splitlines()]
        spans, _ = self.find([row["full_text"] for row in rows], "pii")
        kinds: dict[str, dict[str, int]] = {kind: {"true": 0, "missed": 0, "false": 0} for kind in PII}
        for row, found in zip(rows, spans, strict=True):
            text = row["full_text"]
            for kind, names in PII.items():
                score = kinds[kind]
                mine = {(s, e) for s, e, label in found if label in names}
                for span in row["spans"]:
                    if span["entity_type"] != kind:
                        continue
                    start, end = span["start_position"], span["end_position"]
                    hit = next(
                        ((s, e) for s, e in mine if s <= start and e >= end and e - s <= end - start + 4),
                        None,
                    )
                    if hit:
                        mine.remove(hit)
                        score["true"] += 1
                    else:
                        score["missed"] += 1
                        self.wrong("PII missed", kind=kind, value=text[start:end], text=text)
                for start, end in mine:
                    score["false"] += 1
                    self.wrong(
                        "PII not labelled", kind=kind, value=text[start:end], text=text, labels=row["spans"]
                    )
        total = {key: sum(score[key] for score in kinds.values()) for key in ("true", "missed", "false")}
        return {
            "F1": f1(total),
            **{f"F1 {kind}": f1(score) for kind, score in kinds.items()},
            "PII counts": kinds,
        }

    def false_alarms(self) -> dict[str, Any]:
        """Findings of the default profile in logs and agent runs, which hold no real secret."""
        texts = [*haystacks.logs(), *haystacks.agents()]
        limit = self.engine.spec.bytes_limit(4)
        texts = head(texts, limit)
        spans, _ = self.find(texts)
        for text, found in zip(texts, spans, strict=True):
            for start, end, label in found:
                self.wrong(
                    "false alarm",
                    label=label,
                    value=text[start:end],
                    around=text[max(0, start - 60) : end + 30],
                )
        found_bytes = sum(len(text.encode()) for text in texts)
        alarms = sum(map(len, spans))
        return {
            "false per MB": alarms / found_bytes * 1e6,
            "false alarms": alarms,
            "false alarm bytes": found_bytes,
        }

    def all(self) -> dict[str, Any]:
        """Every measure that says something about this engine."""
        if self.engine.spec.does == "match":
            return {}
        result: dict[str, Any] = {}
        if self.engine.spec.name != "presidio":  # it knows no secrets
            for measure in (self.recall, self.leaky, self.false_alarms):
                result.update(measure())
        if self.engine.spec.name in PII_ENGINES:
            result.update(self.pii())
        directory = BENCHES / "review"
        directory.mkdir(exist_ok=True)
        lines = "".join(json.dumps(case, ensure_ascii=False) + "\n" for case in self.review)
        (directory / f"{self.engine.spec.name}.jsonl").write_text(lines)
        return result


def _read(path: str) -> str:
    file = haystacks.corpora() / path
    if not file.exists():
        raise haystacks.Absent(f"{file} is missing")
    return file.read_bytes().decode("utf-8", "replace")


def line_starts(text: str) -> list[int]:
    """Where each line begins, and where one more would."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    return starts


def cut(text: str, spans: Iterable[Span]) -> str:
    """The text with its findings replaced."""
    out, at = [], 0
    for start, end, _ in sorted(spans):
        if start >= at:
            out += [text[at:start], "[REDACTED]"]
        at = max(at, end)
    return "".join([*out, text[at:]])


def covered(spans: Iterable[Span], start: int, end: int) -> float:
    """The share of `start..end` that findings cover."""
    total, at = 0, start
    for s, e, _ in sorted(spans):
        s, e = max(s, at), min(e, end)
        if e > s:
            total += e - s
            at = e
    return total / (end - start)


def f1(score: dict[str, int]) -> float:
    """Harmonic mean of precision and recall; 1 where there was nothing to find and nothing found."""
    wrong = score["missed"] + score["false"]
    return 2 * score["true"] / (2 * score["true"] + wrong) if score["true"] + wrong else 1.0


def _percent(value: float) -> str:
    return f"{value:.1%}"


# Row title -> how to write it from the measures, for the tables.
ROWS: list[tuple[str, str, Any]] = [
    ("recall, Nosey Parker examples", "recall", lambda q: _percent(q["recall"])),
    ("... with the whole value gone", "recall, whole value", lambda q: _percent(q["recall, whole value"])),
    ("... of those that are secrets", "recall of secrets", lambda q: _percent(q["recall of secrets"])),
    ("any finding on its negatives", "false on negatives", lambda q: _percent(q["false on negatives"])),
    (
        "... that hold no secret of another kind",
        "false on harmless",
        lambda q: _percent(q["false on harmless"]),
    ),
    (
        "leaky-repo risky lines redacted",
        "leaky redacted",
        lambda q: f"{q['leaky redacted']} of {q['leaky lines']}",
    ),
    (
        "... with any finding in the value",
        "leaky touched",
        lambda q: f"{q['leaky touched']} of {q['leaky lines']}",
    ),
    ("... as its own CSV counts", "leaky by CSV", lambda q: f"{q['leaky by CSV']} of {q['leaky CSV']}"),
    ("false findings per MB of logs and agent runs", "false per MB", lambda q: f"{q['false per MB']:.2f}"),
    ("PII F1: card, SSN, IBAN, IP, e-mail", "F1", lambda q: f"{q['F1']:.3f}"),
    *((f"... {kind}", f"F1 {kind}", lambda q, kind=kind: f"{q[f'F1 {kind}']:.3f}") for kind in PII),
]


def cell(result: dict[str, Any], key: str, write: Any) -> str:
    """One cell of the quality table."""
    return write(result) if key in result else "–"


def main(names: list[str]) -> int:
    engines, _ = definitions()
    for spec in engines:
        if spec.does == "match" or (names and spec.name not in names):
            continue
        try:
            engine = EngineProcess(spec)
            result = Judge(engine).all()
            engine.close()
        except (EngineError, haystacks.Absent) as error:
            print(f"{spec.name}: {error}", file=sys.stderr)
            continue
        print(f"{spec.name} ({engine.version})")
        for title, key, write in ROWS:
            if key in result:
                print(f"  {title:<46} {write(result)}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
