"""The redactor as its users see it: properties first, then single promises."""

from __future__ import annotations

import asyncio
import copy
import io
import itertools
import json
import pickle
import traceback
from typing import Any

import ctxproto
import pytest
from ctxproto import Finding, InputError, InputTypeError, Redactor, StreamError
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import PUBLIC_PREFIX, any_text, github_tokens, json_values, planted, random_token

REDACTOR = Redactor()
TOKEN = random_token(1)
SHOWN = "[GITHUB_TOKEN:REDACTED]"


def encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def leaks(token: str, where: str) -> bool:
    """Whether more of a token than its public prefix is there."""
    secret = token[PUBLIC_PREFIX:]
    pieces = {secret[at : at + 8] for at in range(len(secret) - 7)}
    return any(piece in where for piece in pieces)


@given(planted())
def test_no_planted_secret_in_anything(case: tuple[str, list[str]]) -> None:
    text, tokens = case
    result = REDACTOR.redact(text)
    assert result.changed
    everything = [result.text, repr(result), repr(result.findings), str(result.findings), repr(REDACTOR)]
    everything += [str(pickle.dumps(finding)) for finding in result.findings]
    everything += [str(REDACTOR.redact(encoded(text)).text), str(REDACTOR.redact_json({"x": [text]}).value)]
    for token in tokens:
        assert not any(leaks(token, one) for one in everything)


@given(planted())
def test_redacting_twice_is_redacting_once(case: tuple[str, list[str]]) -> None:
    once = REDACTOR.redact(case[0]).text
    again = REDACTOR.redact(once)
    assert again.text is once
    assert not again.changed


@given(planted())
def test_deterministic_and_the_same_for_str_and_bytes(case: tuple[str, list[str]]) -> None:
    text = case[0]
    first, second, as_bytes = REDACTOR.redact(text), REDACTOR.redact(text), REDACTOR.redact(encoded(text))
    assert (first.text, first.findings) == (second.text, second.findings)
    assert encoded(first.text) == as_bytes.text
    assert len(first.findings) == len(as_bytes.findings)


@given(planted())
def test_positions_count_characters_in_str_and_bytes_in_bytes(case: tuple[str, list[str]]) -> None:
    text, tokens = case
    for finding, in_bytes in zip(REDACTOR.scan(text), REDACTOR.scan(encoded(text)), strict=True):
        assert 0 <= finding.start < finding.end <= len(text)
        assert encoded(text[: finding.start]) == encoded(text)[: in_bytes.start]
        assert encoded(text[: finding.end]) == encoded(text)[: in_bytes.end]
    found = [text[finding.start : finding.end] for finding in REDACTOR.scan(text)]
    assert all(any(token in one for one in found) for token in tokens)


@given(st.text() | st.binary())
def test_clean_text_comes_back_as_the_same_object(text: str | bytes) -> None:
    result = REDACTOR.redact(text)
    assume(not result.findings)
    assert result.text is text
    assert not result.changed
    assert REDACTOR.scan(text) == ()


@given(planted(), st.lists(st.integers(0, 400), max_size=8))
@example(("é " + TOKEN + " é", [TOKEN]), [1, 2, 5, 9])
def test_every_split_of_a_stream_equals_the_whole(case: tuple[str, list[str]], cuts: list[int]) -> None:
    text: Any
    for text in (case[0], encoded(case[0])):
        edges = [0, *sorted(min(cut, len(text)) for cut in cuts), len(text)]
        stream = REDACTOR.stream()
        out = [stream.feed(text[a:b]) for a, b in itertools.pairwise(edges)]
        out.append(stream.finish())
        whole = REDACTOR.redact(text)
        assert type(text)().join(out) == whole.text
        assert [(f.rule, f.start, f.end) for f in stream.findings] == [(f.rule, f.start, f.end) for f in whole.findings]


@given(json_values)
def test_json_keeps_keys_shape_and_order(value: Any) -> None:
    before = copy.deepcopy(value)
    result = REDACTOR.redact_json(value)
    assert value == before
    assert (result.value is value) == (not result.changed)
    assert same_shape(value, result.value)
    assert "gh" + "p_" not in json.dumps(result.value) or "gh" + "p_" in json.dumps(value)


def same_shape(old: Any, new: Any) -> bool:
    if isinstance(old, dict):
        return (
            isinstance(new, dict)
            and len(old) == len(new)
            and all(a == b or SHOWN in b or "REDACTED" in b for a, b in zip(old, new, strict=True))
            and all(same_shape(a, b) for a, b in zip(old.values(), new.values(), strict=True))
        )
    if isinstance(old, list):
        return isinstance(new, list) and len(old) == len(new) and all(map(same_shape, old, new))
    return type(old) is type(new) or isinstance(new, str)


@given(st.lists(planted().map(lambda case: case[0]) | any_text | st.binary(max_size=50), max_size=8))
def test_many_is_one_by_one(texts: list[str | bytes]) -> None:
    many = REDACTOR.redact_many(texts)
    assert [one.text for one in many] == [REDACTOR.redact(text).text for text in texts]
    assert [one.findings for one in many] == [REDACTOR.redact(text).findings for text in texts]


def test_many_on_the_pool_keeps_the_order() -> None:
    texts = [f"{n} {'filler ' * (n % 50 * 20)} {TOKEN} {n}" for n in range(400)]
    many = REDACTOR.redact_many(iter(texts))
    assert [one.text for one in many] == [text.replace(TOKEN, SHOWN) for text in texts]


@given(st.text(st.characters(categories=["Cs", "Lu", "So"]), max_size=20))
def test_lone_surrogates_pass_through(text: str) -> None:
    assert REDACTOR.redact(text).text == text
    result = REDACTOR.redact(f"{text} {TOKEN} {text}")
    assert result.text == f"{text} {SHOWN} {text}"
    assert result.findings[0].start == len(text) + 1


@given(st.binary(max_size=40), st.binary(max_size=40))
def test_invalid_utf8_passes_through(before: bytes, after: bytes) -> None:
    text = before + b" " + TOKEN.encode() + b" " + after
    assert SHOWN.encode() in REDACTOR.redact(text).text


def test_long_text_is_redacted_in_slices() -> None:
    line = f"é {TOKEN} filler\n"
    text = line * 60_000
    result = REDACTOR.redact(text)
    assert result.text == text.replace(TOKEN, SHOWN)
    assert [f.start for f in result.findings] == list(range(2, len(text), len(line)))
    assert REDACTOR.scan(text) == result.findings


def test_hundred_megabytes() -> None:
    text = "ordinary words, " * (100_000_000 // 16)
    assert REDACTOR.redact(text).text is text
    text = "größere Wörter, " * (50_000_000 // 16)
    assert REDACTOR.redact(text).text is text


class Str(str):
    __slots__ = ()

    def encode(self, *_: object) -> bytes:
        raise AssertionError("the text itself is what counts")

    def __str__(self) -> str:
        raise AssertionError("the text itself is what counts")

    isascii = __len__ = __getitem__ = __iter__ = __hash__ = encode  # type: ignore[assignment]


class Bytes(bytes):
    __slots__ = ()


def test_subclasses_of_str_and_bytes() -> None:
    for text in (Str("harmless"), Bytes(b"harmless"), Str("\ud800 harmless")):
        assert REDACTOR.redact(text).text is text
    assert type(REDACTOR.redact(Str(TOKEN)).text) is str
    assert REDACTOR.redact(Bytes(TOKEN.encode())).text == SHOWN.encode()


@pytest.mark.parametrize("wrap", [bytearray, memoryview, lambda data: memoryview(b"x" + data)[1:]])
def test_buffers_give_bytes(wrap: Any) -> None:
    result = REDACTOR.redact(wrap(TOKEN.encode()))
    assert result.text == SHOWN.encode()
    clean = REDACTOR.redact(wrap(b"harmless"))
    assert clean.text == b"harmless"
    assert type(clean.text) is bytes


def test_a_buffer_that_changes_afterwards_does_not_change_the_result() -> None:
    buffer = bytearray(b"harmless")
    result = REDACTOR.redact(buffer)
    stream = REDACTOR.stream()
    out = stream.feed(buffer)
    buffer[:] = TOKEN.encode()
    assert result.text == b"harmless"
    assert out + stream.finish() == b"harmless"


@pytest.mark.parametrize("wrong", [None, 1, 1.5, object(), ["x"], {}, memoryview(b"abcd").cast("I")])
def test_wrong_types_are_named(wrong: Any) -> None:
    with pytest.raises(InputTypeError, match=rf"redact\(\) takes str or bytes, not {type(wrong).__name__}"):
        REDACTOR.redact(wrong)
    with pytest.raises(TypeError):
        REDACTOR.scan(wrong)
    with pytest.raises(TypeError):
        REDACTOR.stream().feed(wrong)


def test_one_text_is_not_many() -> None:
    for wrong in ("text", b"text", 5):
        with pytest.raises(InputTypeError, match="a list of texts"):
            REDACTOR.redact_many(wrong)  # type: ignore[arg-type]


def test_unknown_format() -> None:
    with pytest.raises(InputError, match="auto, text, json, jsonl"):
        REDACTOR.redact("x", format="yaml")  # type: ignore[call-overload]


def test_finding_is_a_value() -> None:
    (finding,) = REDACTOR.scan(TOKEN)
    same = Finding(
        finding.rule, finding.label, 0, 40, finding.line, finding.column, finding.key_path, finding.fingerprint
    )
    assert finding == same
    assert hash(finding) == hash(same)
    assert finding != Finding("other", finding.label, 0, 40)
    assert finding != "finding"
    assert pickle.loads(pickle.dumps(finding)) == finding
    assert eval(repr(finding), {"Finding": Finding}) == finding
    with pytest.raises(AttributeError):
        finding.start = 3  # type: ignore[misc]


def test_redactor_is_immutable_and_stays_here() -> None:
    with pytest.raises(AttributeError):
        REDACTOR.anything = 1  # type: ignore[attr-defined]
    assert copy.copy(REDACTOR) is copy.deepcopy(REDACTOR) is REDACTOR
    with pytest.raises(TypeError, match="build one in each process"):
        pickle.dumps(REDACTOR)


class TestStream:
    def test_types_do_not_mix(self) -> None:
        stream = REDACTOR.stream()
        stream.feed("text")
        with pytest.raises(InputTypeError, match=r"feed\(\) takes str as before, not bytes"):
            stream.feed(b"text")

    def test_ends_once(self) -> None:
        stream = REDACTOR.stream()
        assert stream.finish() == ""
        for again in (stream.finish, lambda: stream.feed("more")):
            with pytest.raises(StreamError, match="finished"):
                again()

    def test_bytes_split_inside_characters(self) -> None:
        text = f"größe 🙂 {TOKEN} 日本".encode()
        stream = REDACTOR.stream()
        out = b"".join(stream.feed(text[at : at + 1]) for at in range(len(text)))
        assert out + stream.finish() == text.replace(TOKEN.encode(), SHOWN.encode())

    def test_huge_piece(self) -> None:
        stream = REDACTOR.stream()
        text = f"filler {TOKEN} é\n" * 100_000
        assert stream.feed(text) + stream.finish() == text.replace(TOKEN, SHOWN)
        assert len(stream.findings) == 100_000

    def test_iterators(self) -> None:
        pieces = [f"a {TOKEN[:9]}", TOKEN[9:], " b\n"]
        assert "".join(REDACTOR.redact_iter(pieces)) == f"a {SHOWN} b\n"
        assert "".join(REDACTOR.redact_iter(io.StringIO("".join(pieces)))) == f"a {SHOWN} b\n"
        assert list(REDACTOR.redact_iter([b""])) == []

    def test_async_iterators(self) -> None:
        async def pieces() -> Any:
            for piece in (TOKEN[:9].encode(), TOKEN[9:].encode()):
                await asyncio.sleep(0)
                yield piece

        async def joined() -> bytes:
            return b"".join([piece async for piece in REDACTOR.redact_aiter(pieces())])

        assert asyncio.run(joined()) == SHOWN.encode()


class TestJson:
    def test_paths(self) -> None:
        value = {"messages": [{"content": "ok"}, {"content": f"x {TOKEN}"}], "n": (1, TOKEN)}
        result = REDACTOR.redact_json(value)
        assert result.value == {"messages": [{"content": "ok"}, {"content": f"x {SHOWN}"}], "n": (1, SHOWN)}
        assert [f.key_path for f in result.findings] == ["messages[1].content", "n[1]"]
        assert result.value["messages"][0] is value["messages"][0]

    def test_a_key_that_is_a_secret(self) -> None:
        other = random_token(2)
        result = REDACTOR.redact_json({TOKEN: 1, other: 2, "x": {TOKEN: TOKEN}})
        assert len(result.value) == 3
        assert sorted(v for v in result.value.values() if v != {SHOWN: SHOWN}) == [1, 2]
        assert not leaks(TOKEN, repr(result.value) + repr(result.findings))
        assert not leaks(other, repr(result.value) + repr(result.findings))

    def test_too_deep_or_cyclic(self) -> None:
        deep: Any = "x"
        for _ in range(1001):
            deep = [deep]
        with pytest.raises(InputError, match="deeper than 1000 levels"):
            REDACTOR.redact_json(deep)
        assert REDACTOR.redact_json(deep[0]).value is deep[0]
        cyclic: Any = {"a": []}
        cyclic["a"].append(cyclic)
        with pytest.raises(InputError, match="refers to itself"):
            REDACTOR.redact_json(cyclic)

    def test_what_cannot_be_looked_into_is_refused(self) -> None:
        with pytest.raises(InputTypeError, match=r"redact_json\(\) at a\[0\] takes .* not set"):
            REDACTOR.redact_json({"a": [{1, 2}]})

    def test_subclasses(self) -> None:
        class Dict(dict[str, Any]):
            def items(self) -> Any:
                raise AssertionError("the contents themselves are what counts")

            __iter__ = __len__ = __getitem__ = items  # type: ignore[assignment]

        assert REDACTOR.redact_json(Dict(a=[TOKEN])).value == {"a": [SHOWN]}
        clean = Dict(a=[Str("x")], b=True, c=None, d=1.5, e=10**200)
        assert REDACTOR.redact_json(clean).value is clean

    @given(st.dictionaries(github_tokens, st.none(), min_size=1, max_size=4))
    def test_no_key_is_lost(self, value: dict[str, None]) -> None:
        assert len(REDACTOR.redact_json(value).value) == len(value)


def test_exceptions_do_not_quote_the_text() -> None:
    calls: list[Any] = [
        lambda: Redactor(placeholder=TOKEN),
        lambda: Redactor(profile=TOKEN),  # type: ignore[arg-type]
        lambda: Redactor(pii=TOKEN),
        lambda: Redactor(known_values={TOKEN: TOKEN}),
        lambda: Redactor(known_values=TOKEN),
        lambda: Redactor(key=TOKEN[:9]),
        lambda: REDACTOR.redact_json({TOKEN: object()}),
        lambda: REDACTOR.redact_many(TOKEN),
    ]
    for call in calls:
        with pytest.raises(ctxproto.CtxprotoError) as caught:
            call()
        assert not leaks(TOKEN, "".join(traceback.format_exception(caught.value)))
