"""What every engine process speaks: one JSON request a line on stdin, one JSON reply a line on stdout.

An engine is a class with `setup` and a few of the methods below; `serve(Engine)` does the rest. The requests:

    {"op": "hello"}                          -> {"version"}
    {"op": "load", "haystack", "limit"}      -> {"bytes", "documents"}
    {"op": "measure", "passes", "threads"}   -> {"seconds": [one per pass], "count"}
    {"op": "find", "texts", "profile"}       -> {"spans": [[[start, end, label], ...], ...], "outputs"}
    {"op": "texts", "path"}                  -> {}, after reading the texts that are to be shortened
    {"op": "trim", "text", "budget", "question"} -> {"text", "seconds"}, of the text with that number

With `threads` 0 an engine is called once a document; else it gets all documents at once. `count` is how many
findings one pass over the loaded haystack gave: the harness compares it with what the definitions expect, so
that no engine can be fast by finding something else. `start` and `end` are in characters.
`ENGINE.py --cold FILE` prints the seconds of one cold start instead: import, set up, first call.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

Span = tuple[int, int, str]


class Engine:
    """One way to find (and perhaps redact) secrets. Subclasses import their library inside `setup`."""

    def setup(self) -> None:
        """Imports the library and compiles its rules."""

    def version(self) -> str:
        """The library's name and version, with the number of rules where it is known."""
        return ""

    def prepare(self, text: str) -> Any:
        """The form of a document that `count` takes; not timed."""
        return text

    def count(self, document: Any) -> int:
        """The hot path: treat one prepared document, return the number of findings."""
        raise NotImplementedError

    def run(self, documents: list[Any]) -> int:
        """One pass over the haystack, one call a document."""
        count = self.count
        return sum([count(document) for document in documents])

    def run_many(self, documents: list[Any], threads: int) -> int:
        """One pass over the haystack with all threads; an engine with a batch call overrides it."""
        if threads == 1:
            return self.run(documents)
        with ThreadPoolExecutor(threads) as pool:
            return sum(pool.map(self.run, [documents[i::threads] for i in range(threads)]))

    def load(self, texts: list[str]) -> list[Any]:
        """What `run` gets; not timed."""
        return [self.prepare(text) for text in texts]

    def find(self, texts: list[str], profile: str) -> tuple[list[list[Span]], list[str] | None]:
        """The findings of each text, and the rewritten texts where the engine itself rewrites."""
        return [self.spans(text, profile) for text in texts], None

    def spans(self, text: str, profile: str) -> list[Span]:
        """The findings of one text."""
        raise NotImplementedError

    takes_questions = False

    def trim(self, text: str, budget: int, question: str | None) -> str:
        """What is left of a text in `budget` tokens, and of it what the words of a question stand beside."""
        raise NotImplementedError


class DirectoryEngine(Engine):
    """A program that is started on a directory of documents, its start included in every pass."""

    def __init__(self, name: str) -> None:
        self.program = Path(sys.prefix) / "bin" / name

    def setup(self) -> None:
        if not self.program.exists():
            raise FileNotFoundError(f"{self.program.name} is not installed: see benches/setup_peers.sh")

    def scan(self, directory: str) -> list[tuple[int, str, str]]:
        """Every finding: document number, value, label."""
        raise NotImplementedError

    def load(self, texts: list[str]) -> list[Any]:
        return [_write(texts)]

    def run(self, documents: list[Any]) -> int:
        return len(self.scan(documents[0].name))

    def run_many(self, documents: list[Any], threads: int) -> int:
        return self.run(documents)

    def count(self, document: Any) -> int:
        return self.run([_write([document])])

    def find(self, texts: list[str], profile: str) -> tuple[list[list[Span]], list[str] | None]:
        spans: list[list[Span]] = [[] for _ in texts]
        with _write(texts) as directory:
            for at, value, label in self.scan(directory):
                spans[at] += occurrences(texts[at], value, label)
        return spans, None


def _write(texts: list[str]) -> tempfile.TemporaryDirectory[str]:
    directory = tempfile.TemporaryDirectory(prefix="ctxproto-bench-")
    for i, text in enumerate(texts):
        (Path(directory.name) / f"{i:06}.txt").write_bytes(text.encode())
    return directory


def occurrences(text: str, value: str, label: str) -> list[Span]:
    """Every place of `value`: for libraries that report the value but not its offsets."""
    spans = []
    at = text.find(value) if value else -1
    while at >= 0:
        spans.append((at, at + len(value), label))
        at = text.find(value, at + len(value))
    return spans


def head(texts: list[str], limit: int | None) -> list[str]:
    """At most `limit` characters: the first short documents, or an equal share of each long one."""
    if not limit or sum(map(len, texts)) <= limit:
        return texts
    share = limit // len(texts)
    if share >= 4096:
        return [text[:share] for text in texts]
    kept, size = [], 0
    for text in texts:
        kept.append(text[: limit - size])
        size += len(kept[-1])
        if size >= limit:
            break
    return kept


def read_haystack(path: Path) -> list[str]:
    """A haystack is a directory of documents."""
    return [file.read_bytes().decode() for file in sorted(path.iterdir())]


class _Server:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.documents: list[Any] = []

    def hello(self) -> dict[str, Any]:
        return {"version": self.engine.version(), "takes_questions": self.engine.takes_questions}

    def texts(self, path: str) -> dict[str, Any]:
        self.documents = json.loads(Path(path).read_text())
        self.engine.trim(self.documents[0], 1000, None)  # what is made at the first call
        return {}

    def trim(self, text: int, budget: int, question: str | None) -> dict[str, Any]:
        start = time.perf_counter()
        short = self.engine.trim(self.documents[text], budget, question)
        return {"text": short, "seconds": time.perf_counter() - start}

    def load(self, haystack: str, limit: int | None) -> dict[str, Any]:
        texts = head(read_haystack(Path(haystack)), limit)
        self.documents = self.engine.load(texts)
        return {"bytes": sum(len(text.encode()) for text in texts), "documents": len(texts)}

    def measure(self, passes: int, threads: int) -> dict[str, Any]:
        engine, documents = self.engine, self.documents
        seconds, counts = [], set()
        for _ in range(passes):
            start = time.perf_counter()
            counts.add(engine.run_many(documents, threads) if threads else engine.run(documents))
            seconds.append(time.perf_counter() - start)
        if len(counts) != 1:
            raise ValueError(f"the count changed from pass to pass: {sorted(counts)}")
        return {"seconds": seconds, "count": counts.pop()}

    def find(self, texts: str, profile: str) -> dict[str, Any]:
        spans, outputs = self.engine.find(json.loads(Path(texts).read_text()), profile)
        return {"spans": spans, "outputs": outputs}


def project_tokenizer() -> Any:
    """The tokenizer by which every engine keeps to its budget, also in the environment of the peers."""
    sys.path.append(str(Path(__file__).resolve().parents[2] / "python"))
    from ctxproto import Tokenizer

    return Tokenizer("o200k_base")


def serve(engine_type: Callable[[], Engine]) -> None:
    """Runs an engine process until its stdin closes."""
    replies = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever a library prints must not end up among the replies
    if sys.argv[1:2] == ["--cold"]:
        text = Path(sys.argv[2]).read_text()
        start = time.perf_counter()
        engine = engine_type()
        engine.setup()
        engine.count(engine.prepare(text))
        print(json.dumps({"seconds": time.perf_counter() - start}), file=replies, flush=True)
        return
    engine = engine_type()
    try:
        engine.setup()
    except Exception as error:
        print(json.dumps({"error": f"{type(error).__name__}: {error}"}), file=replies, flush=True)
        return
    server = _Server(engine)
    for line in sys.stdin:
        request = json.loads(line)
        try:
            reply = getattr(server, request.pop("op"))(**request)
        except Exception as error:
            reply = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(reply), file=replies, flush=True)
