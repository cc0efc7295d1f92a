"""Trimming from Python: identity, pieces, and the account of what was lost."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import ConfigError, InputTypeError, RuleError, StreamError, Tokenizer, Trimmer, trim
from ctxproto.tools.trim import STRATEGIES
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

LOG = (
    "".join(f"2026-01-02 10:00:{n % 60:02} INFO step {n} done\n" for n in range(3000))
    + "ERROR: disk full\nexit code 1\n"
)


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s not in ("field_whitelist", "summary")])
def test_what_fits_is_the_same_object(strategy: str) -> None:
    for text in ("short text", b"short text", ""):
        assert trim(text, 100, strategy=strategy).text is text  # type: ignore[arg-type,type-var]


@settings(max_examples=40, deadline=None)
@given(text=st.text(max_size=600), budget=st.integers(30, 200), strategy=st.sampled_from(STRATEGIES))
def test_every_result_keeps_its_budget(text: str, budget: int, strategy: str) -> None:
    options = {"fields": ["a"]} if strategy == "field_whitelist" else {}
    result = trim(text, budget, strategy=strategy, redactor=None, **options)  # type: ignore[arg-type]
    assert Tokenizer().count(result.text) == result.loss.tokens <= budget
    assert result.loss.kept_bytes + result.loss.dropped_bytes == result.loss.source_bytes


@settings(max_examples=40, deadline=None)
@given(
    text=st.text(max_size=600),
    budget=st.integers(40, 120),
    strategy=st.sampled_from(sorted({*STRATEGIES} - {"field_whitelist"})),
)
def test_what_is_trimmed_counts_in_a_message_as_by_itself(text: str, budget: int, strategy: Any) -> None:
    made = trim(text, budget, strategy=strategy)
    tokenizer = Tokenizer()
    message = {"role": "user", "content": made.text}
    # The one looks up what trimming counted, the other counts.
    assert tokenizer.count_messages([message]).text == tokenizer.count(made.text) + tokenizer.count("user")


@settings(max_examples=40, deadline=None)
@given(
    text=st.lists(st.sampled_from(["word ", "two words ", "é中", "ERROR: x\n", "\n", "-" * 300]), max_size=400),
    budget=st.integers(30, 200),
    strategy=st.sampled_from([s for s in STRATEGIES if s != "field_whitelist"]),
)
def test_a_function_counts(text: list[str], budget: int, strategy: str) -> None:
    def words_and_more(text: str) -> int:
        return len(text.split()) + len(text) // 7

    tokenizer = Tokenizer.from_callable(words_and_more)
    result = trim("".join(text), budget, strategy=strategy, tokenizer=tokenizer, redactor=None)  # type: ignore[arg-type]
    assert words_and_more(result.text) == result.loss.tokens <= budget


def test_what_a_function_raises_comes_through() -> None:
    calls = iter(range(12))

    def fails(text: str) -> int:
        if next(calls) == 11:
            raise ConnectionError("the counter is away")
        return len(text)

    with pytest.raises(ConnectionError, match="away"):
        trim(LOG, 200, tokenizer=Tokenizer.from_callable(fails))
    with pytest.raises(ConfigError, match="the count of the function"):
        trim(LOG, 200, tokenizer=Tokenizer.from_callable(lambda _: "many"))  # type: ignore[arg-type,return-value]
    stream = Trimmer(200, strategy="first_n", tokenizer=Tokenizer.from_callable(lambda _: 1 // 0))
    with pytest.raises(ZeroDivisionError):
        stream.trim_iter(pieces(LOG, 1000))


def test_errors_and_the_end_outlive_the_rest() -> None:
    result = trim(LOG, 150, strategy="lines", hint="see build.log")
    assert "ERROR: disk full" in result.text
    assert result.text.endswith("exit code 1\n")
    assert "see build.log" in result.text.splitlines()[0]
    assert result.loss.source_lines == LOG.count("\n")
    assert "Trimmed" in repr(result)


def test_json_stays_json() -> None:
    rows = [{"id": n, "price": "12.50", "note": "x" * 80} for n in range(500)]
    result = trim(json.dumps({"rows": rows, "total": 12345678901234567890}), 400)
    assert result.loss.strategy == "json"
    assert json.loads(result.text)["total"] == 12345678901234567890


def pieces(text: str, size: int) -> Iterator[str]:
    for at in range(0, len(text), size):
        yield text[at : at + size]


@pytest.mark.parametrize("strategy", [s for s in STRATEGIES if s != "field_whitelist"])
def test_pieces_give_what_the_whole_gives(strategy: str) -> None:
    trimmer = Trimmer(120, strategy=strategy)  # type: ignore[arg-type]
    whole = trimmer.trim(LOG)
    for size in (7, 1000, 10**6):
        assert trimmer.trim_iter(pieces(LOG, size), whole=True).text == whole.text

    async def arriving() -> AsyncIterator[bytes]:
        for piece in pieces(LOG, 4096):
            yield piece.encode()

    assert asyncio.run(trimmer.trim_aiter(arriving(), whole=True)).text == whole.text.encode()


def test_first_n_stops_reading() -> None:
    read = 0

    def endless() -> Iterator[str]:
        nonlocal read
        while True:
            read += 1
            yield "a line of an endless log\n"

    result = Trimmer(100, strategy="first_n").trim_iter(endless())
    assert read < 5000
    assert not result.loss.complete
    assert result.loss.tokens <= 100
    # Nobody knows how much follows.
    assert "of a source that goes on" in result.text
    assert result.text.endswith("[cut here]")


def test_a_stopped_source_is_closed() -> None:
    closed = []

    async def endless() -> AsyncIterator[str]:
        try:
            while True:
                yield "a line of an endless log\n"
        finally:
            closed.append(True)

    async def run() -> list[bool]:
        await Trimmer(100, strategy="first_n").trim_aiter(endless())
        return list(closed)

    assert asyncio.run(run()) == [True]


def test_a_whole_path_that_is_a_key_is_that_key() -> None:
    def chosen(value: object, *fields: str) -> object:
        return json.loads(trim(json.dumps(value), 500, strategy="field_whitelist", fields=fields).text)

    assert chosen({"a.b": 1, "c d": 2, "e": 3}, "a.b", "c d") == {"a.b": 1, "c d": 2}
    assert chosen({"a.b": 1, "a": {"b": 2}}, "a.b") == {"a.b": 1}
    assert chosen({"a": {"b": 2, "c": 3}, "d": 4}, "a.b") == {"a": {"b": 2}}


def test_what_is_wrong_is_told_by_its_place() -> None:
    for strategy in ("auto", "lines", "field_whitelist"):
        with pytest.raises(RuleError, match=r"patterns\[1\]: it is no regular expression"):
            trim("x", 10, strategy=strategy, fields=["a"], patterns=["a+", "("])
        with pytest.raises(RuleError, match=r"fields\[1\]: a bracket is not closed"):
            trim("x", 10, strategy=strategy, fields=["a", "b["])
    with pytest.raises(ConfigError, match="max_tokens is an int of at most 4611686018427387903"):
        trim("x", 10**30)
    trimmer: Any = Trimmer(10)
    with pytest.raises(AttributeError):
        trimmer.strategy = "lines"


def test_misuse() -> None:
    with pytest.raises(InputTypeError):
        Trimmer(100, strategy="lines").trim_iter(5)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError):
        Trimmer(100, strategy="lines").trim_iter(["x", b"y"])  # type: ignore[type-var]
    stream = Trimmer(100, strategy="lines")._core.stream()
    stream.finish()
    with pytest.raises(StreamError):
        stream.feed("x")
