"""Counting, against tiktoken itself (built from our ranks: nothing is downloaded)."""

from __future__ import annotations

import base64
import copy
import os
import pickle
import random
import struct
import threading
from pathlib import Path
from typing import Any

import ctxproto
import pytest
import tiktoken
from ctxproto import ConfigError, ConfigTypeError, CtxprotoError, InputTypeError, Tokenizer, _core, trim
from ctxproto.tokens import ENCODINGS
from hypothesis import given, settings
from hypothesis import strategies as st

untyped: Any = ctxproto

WORDS = r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
CAPITALS = (
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"""
)
O200K = "|".join([WORDS, CAPITALS, r"\p{N}{1,3}", r" ?[^\s\p{L}\p{N}]+[\r\n/]*", r"\s*[\r\n]+", r"\s+(?!\S)", r"\s+"])
CL100K = (
    r"""'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}++|\p{N}{1,3}+| ?[^\s\p{L}\p{N}]++[\r\n]*+|\s++$|\s*[\r\n]|"""
    r"""\s+(?!\S)|\s"""
)
R50K = r"""'(?:[sdmt]|ll|ve|re)| ?\p{L}++| ?\p{N}++| ?[^\s\p{L}\p{N}]++|\s++$|\s+(?!\S)|\s"""
PATTERNS = {"o200k_base": O200K, "cl100k_base": CL100K, "p50k_base": R50K, "r50k_base": R50K}
ENDS = {"o200k_base": 199_998, "cl100k_base": 100_256, "p50k_base": 50_281, "r50k_base": 50_256}


def judge(name: str) -> tiktoken.Encoding:
    native = _core.Encoding(name)
    specials = set(native.specials.values())
    ranks = {native.decode([token]): token for token in range(ENDS[name]) if token not in specials}
    return tiktoken.Encoding(name, pat_str=PATTERNS[name], mergeable_ranks=ranks, special_tokens=native.specials)


JUDGES = {name: judge(name) for name in PATTERNS}


def same(text: str) -> None:
    for name, theirs in JUDGES.items():
        ours = Tokenizer(name)
        want = theirs.encode(text, disallowed_special=())
        assert ours.encode(text) == want, name
        assert ours.count(text) == len(want), name


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=200))
def test_any_text(text: str) -> None:
    same(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="aAzZéÉßǅʰ漢ſ'’\u0301 \t\r\n\x85\u3000019Ⅷ/.,;(_\u200b🙂\ud800", max_size=120))
def test_what_the_patterns_tell_apart(text: str) -> None:
    same(text)


def test_all_planes() -> None:
    draw = random.Random(20261121)
    for _ in range(40):
        text = "".join(chr(draw.choice((draw.randrange(0x250), draw.randrange(0x110000)))) for _ in range(800))
        same(text)


@pytest.mark.parametrize(
    "text",
    ["", "<|endoftext|>", "<|im_start|>", "a" * 5000, " " * 5000, "^" * 5000, "\n" * 5000, "\ud83d\ude00 \ud800", "\0"],
)
def test_known_worst_cases(text: str) -> None:
    same(text)


def test_a_million_spaces() -> None:
    # tiktoken's expression gives up here.
    assert Tokenizer().count(" " * 1_000_000) == Tokenizer().count(" " * 500_000) * 2 - 1


def corpora() -> Path:
    path = Path(os.environ.get("CTXPROTO_CORPORA") or "../shared/corpora").resolve()
    if not path.is_dir():
        pytest.skip(f"no corpora at {path}: set CTXPROTO_CORPORA")
    return path


def test_real_text() -> None:
    files = sorted(corpora().glob("logs/*.log"))[:10] + sorted(corpora().glob("agents/swe-agent/*.traj"))[:2]
    for file in files:
        same(file.read_bytes()[:60_000].decode("utf-8", "replace"))


def test_counts_in_many_and_in_pieces() -> None:
    tokenizer = Tokenizer()
    text = "The quick brown fox doesn't jump; 12345 漢字 🙂\r\n   " * 3000
    whole = tokenizer.count(text)
    assert tokenizer.count_many([text, "", text[:99]] * 5) == [whole, 0, tokenizer.count(text[:99])] * 5
    counter, data = tokenizer.counter(), text.encode()
    for at in range(0, len(data), 997):
        counter.feed(data[at : at + 997])
    assert counter.count == whole
    results: list[int] = []
    threads = [threading.Thread(target=lambda: results.append(tokenizer.count(text))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [whole] * 4


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=80), st.integers(0, 20), st.booleans())
def test_limits(text: str, most: int, tail: bool) -> None:
    tokenizer = Tokenizer()
    at = tokenizer.limit(text, most, tail=tail)
    kept = text[at:] if tail else text[:at]
    assert tokenizer.count(kept) <= most
    if tokenizer.count(text) <= most:
        assert kept == text


def test_limit_does_not_read_on() -> None:
    tokenizer = Tokenizer()
    text = "some words and more of them, " * 400_000
    at = tokenizer.limit(text, 1500)
    assert at == tokenizer.limit(text[:100_000], 1500)
    assert tokenizer.count(text[:at]) == 1500


def test_specials_only_when_asked() -> None:
    tokenizer = Tokenizer("o200k_harmony")
    assert tokenizer.encode("a<|end|>b", special=True)[1] == 200007
    assert len(tokenizer.encode("a<|end|>b")) > 3
    assert tokenizer.decode(tokenizer.encode("a<|end|>b", special=True)) == "a<|end|>b"


@pytest.mark.parametrize(
    ("model", "encoding", "exact"),
    [
        ("gpt-4o-2024-11-20", "o200k_base", True),
        ("openai/gpt-5-mini", "o200k_base", True),
        ("o3", "o200k_base", True),
        ("gpt-oss-120b", "o200k_harmony", True),
        ("gpt-4-turbo", "cl100k_base", True),
        ("ft:gpt-3.5-turbo:acme::x", "cl100k_base", True),
        ("text-embedding-3-large", "cl100k_base", True),
        ("claude-sonnet-4-5", "o200k_base", False),
        ("gemini-2.5-pro", "o200k_base", False),
    ],
)
def test_models(model: str, encoding: str, exact: bool) -> None:
    tokenizer = Tokenizer.for_model(model)
    assert (tokenizer.name, tokenizer.exact) == (encoding, exact)


def test_the_models_that_tiktoken_knows() -> None:
    for model, encoding in tiktoken.model.MODEL_TO_ENCODING.items():
        if encoding in ENCODINGS:
            tokenizer = Tokenizer.for_model(model)
            assert (tokenizer.name, tokenizer.exact) == (encoding, True), model


@pytest.mark.parametrize(
    "model", ["adaptive-7b", "o10-new", "ada-large", "davinci2", "gpt-4omni", "o1x", "code-x", "text-embedding-004", ""]
)
def test_names_that_only_begin_alike(model: str) -> None:
    with pytest.raises(ConfigError, match="no known family"):
        Tokenizer.for_model(model)


@pytest.mark.parametrize(
    ("model", "exact"),
    [
        ("eu.anthropic.claude-3-5-sonnet-20241022-v2:0", False),
        ("us-gov.anthropic.claude-3", False),
        ("us.meta.llama3-1-8b", False),
        ("deepseek.r1-v1:0", False),
        ("mistral.mistral-large", False),
        ("openai:gpt-4o", True),
        ("ft:gpt-4o:my/org", True),
        ("openai/ft:gpt-4o-mini:org::x", True),
        ("azure/o3-mini", True),
        ("ada/claude-3", False),
        ("llama3:8b", False),
    ],
)
def test_names_with_more_around_them(model: str, exact: bool) -> None:
    tokenizer = Tokenizer.for_model(model)
    assert (tokenizer.name, tokenizer.exact) == ("o200k_base", exact)


def test_a_tokenizer_does_not_change_and_travels() -> None:
    for tokenizer in (Tokenizer("gpt2"), Tokenizer.for_model("claude-3"), Tokenizer.from_callable(len, "length")):
        with pytest.raises(AttributeError):
            tokenizer.name = "x"  # type: ignore[misc]
        assert copy.deepcopy(tokenizer) is copy.copy(tokenizer) is tokenizer
        again = pickle.loads(pickle.dumps(tokenizer))
        assert repr(again) == repr(tokenizer)
        assert again.count("some text") == tokenizer.count("some text")


def test_calibration() -> None:
    texts = ["some prose " * 50, '{"a": [1, 2, 3]}' * 40]
    usage = [(text, round(Tokenizer().count(text) * 1.3)) for text in texts]
    tokenizer = Tokenizer.for_model("claude-opus-4").calibrated(usage)
    assert not tokenizer.exact
    for text, tokens in usage:
        assert abs(tokenizer.count(text) - tokens) <= 2
    at = tokenizer.limit(texts[0], 40)
    assert tokenizer.count(texts[0][:at]) <= 40


@given(
    text=st.lists(
        st.sampled_from(["word ", "2024-11-21 ", "x=1;\n", "漢字", "é", "\ud800", " ", "{}"]), max_size=60
    ).map("".join),
    model=st.sampled_from(["gemini-2.5-pro", "qwen3-32b", "llama-4", "deepseek-v3", "command-a", "claude-opus-4-7"]),
    most=st.integers(0, 90),
    cut=st.integers(0, 200),
)
def test_an_estimate_is_the_same_for_all_who_ask(text: str, model: str, most: int, cut: int) -> None:
    tokenizer = Tokenizer.for_model(model)
    count = tokenizer.count(text)
    counter = tokenizer.counter()
    counter.feed(text[:cut])
    counter.feed(text[cut:])
    assert counter.count == count == tokenizer.count_many([text, text])[1]
    assert tokenizer.count_messages([{"role": "user", "content": text}]).text == count + tokenizer.count("user")
    start, end = tokenizer.limit(text, most, tail=True), tokenizer.limit(text, most)
    assert (end == len(text)) == (start == 0) == (count <= most)
    assert tokenizer.count(text[:end]) <= most >= tokenizer.count(text[start:])
    if most > 30:
        assert tokenizer.count(trim(text, most, tokenizer=tokenizer, redactor=None).text) <= most


@given(
    text=st.lists(st.sampled_from(["word ", "\ud83d", "\ude00", "漢", "퟿", "a", " "]), max_size=20).map("".join),
    model=st.sampled_from(["gpt-4o", "gemini-2.5-pro", "claude-opus-4-7"]),
    most=st.integers(0, 30),
)
def test_limits_of_halves_of_characters_are_those_of_counts(text: str, model: str, most: int) -> None:
    tokenizer = Tokenizer.for_model(model)
    count = tokenizer.count(text)
    start, end = tokenizer.limit(text, most, tail=True), tokenizer.limit(text, most)
    assert (end == len(text)) == (start == 0) == (count <= most)
    assert tokenizer.count(text[:end]) <= most >= tokenizer.count(text[start:])


@given(
    data=st.lists(
        st.sampled_from([b"word ", b"1", b"\x80", b"\xff", b"\xe3\x81", b"\xe3\x81\x82", b"\xf0\x9f\x98", b"==", b"="])
    ).map(b"".join),
    cut=st.integers(0, 40),
)
def test_an_estimate_of_bytes_is_that_of_their_text(data: bytes, cut: int) -> None:
    tokenizer = Tokenizer.for_model("qwen3-32b")
    counter = tokenizer.counter()
    counter.feed(data[:cut])
    counter.feed(data[cut:])
    assert counter.count == tokenizer.count(data) == tokenizer.count(data.decode("utf-8", "replace"))


@pytest.mark.parametrize(
    "model", ["gemini-2.5-pro", "qwen3-32b", "llama-4", "deepseek-v3", "command-a", "mistral-large"]
)
def test_rows_of_signs_are_tokens(model: str) -> None:
    # Rules of logs and tables: vocabularies have tokens of 16 to 128 such signs.
    for text in ("=" * 80 + "\n") * 100, "-" * 8_000, "." * 8_000:
        assert len(text) / 160 <= Tokenizer.for_model(model).count(text) <= len(text) / 16


def test_digits_and_signs_weigh_what_they_do_in_a_family() -> None:
    text = "12:34:56.789 10.0.0.1 " * 40
    by_family = {name: Tokenizer.for_model(name).count(text) for name in ("gemini-2.5", "qwen3", "llama-4", "gpt-4o")}
    # Digit by digit, and three at a time.
    assert by_family["gemini-2.5"] > by_family["qwen3"] > 1.3 * by_family["llama-4"]
    assert abs(by_family["llama-4"] / by_family["gpt-4o"] - 1) < 0.1


def test_messages_and_callables() -> None:
    tokenizer = Tokenizer()
    call = {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a": 1}'}}
    counted = tokenizer.count_messages(
        [
            {"role": "user", "content": [{"type": "text", "text": "hello"}]},
            {"role": "assistant", "content": None, "tool_calls": [call]},
        ],
        tools=[{"name": "add"}],
    )
    assert counted.exact
    assert counted.text == sum(
        tokenizer.count_many(["user", "hello", "assistant", "add", '{"a": 1}', '{"name":"add"}'])
    )
    assert counted.total == counted.text + counted.framing
    by_words = Tokenizer.from_callable(lambda text: len(text.split()))
    assert (by_words.count("one two"), by_words.count_many(["a", b"b c"])) == (2, [1, 2])
    with pytest.raises(ConfigError, match="encode"):
        by_words.encode("x")


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        ({"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "ok"}]}, ["user", "ok"]),
        (
            {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "ok"}]}]},
            ["user", "ok"],
        ),
        (
            {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"a": [1]}}]},
            ["assistant", "f", '{"a":[1]}'],
        ),
        ({"type": "function_call_output", "call_id": "c", "output": "result"}, ["result"]),
        ({"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"}, ["f", "{}"]),
        (
            {"role": "model", "parts": [{"text": "hi"}, {"functionCall": {"name": "f", "args": {}}}]},
            ["model", "hi", "f", "{}"],
        ),
        (
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"x": 1}}}]},
            ["user", "f", '{"x":1}'],
        ),
        (
            {"role": "user", "content": [{"type": "document", "source": {"type": "text", "data": "pages"}}]},
            ["user", "pages"],
        ),
        (
            {"role": "assistant", "tool_calls": [{"type": "custom", "custom": {"name": "f", "input": "x y"}}]},
            ["assistant", "f", "x y"],
        ),
    ],
)
def test_all_that_a_message_says_is_counted(message: dict[str, Any], texts: list[str]) -> None:
    counted = Tokenizer().count_messages([message])
    assert (counted.text, counted.exact) == (sum(Tokenizer().count_many(texts)), True)


def png(width: int, height: int) -> str:
    return base64.b64encode(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II5x", width, height)).decode()


@pytest.mark.parametrize(
    ("part", "tokens"),
    [
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}, 1600),
        ({"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "low"}}, 85),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + png(200, 100)}}, 255),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64," + png(1024, 1024)}}, 1399),
        ({"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}, 1600),
        ({"type": "input_image", "image_url": "data:image/png;base64," + png(5000, 9)}, 85 + 170 * 4),
        ({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": png(200, 100)}}, 255),
        ({"type": "image", "source": {"type": "url", "url": "https://example.com/a.png"}}, 1600),
        ({"type": "image", "data": png(200, 100), "mimeType": "image/png"}, 255),
        ({"inline_data": {"mime_type": "image/png", "data": png(200, 100)}}, 255),
        ({"fileData": {"fileUri": "https://example.com/a.pdf"}}, 1600),
        ({"type": "file", "file": {"file_id": "file-1"}}, 1600),
        ({"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}, 1600),
        ({"type": "redacted_thinking", "data": "AAAA"}, 0),
    ],
)
def test_images_are_estimated(part: dict[str, Any], tokens: int) -> None:
    counted = Tokenizer().count_messages([{"role": "user", "content": [part]}])
    bare = Tokenizer().count_messages([{"role": "user", "content": []}])
    assert (counted.text, counted.framing - bare.framing, counted.exact) == (bare.text, tokens, False)


def test_what_is_no_message() -> None:
    unknown = Tokenizer().count_messages([{"role": "user", "content": [{"type": "new", "words": "some words"}]}])
    assert not unknown.exact
    assert unknown.text > 5
    cyclic: dict[str, Any] = {"name": "f"}
    cyclic["self"] = cyclic["content"] = cyclic
    count: Any = Tokenizer().count_messages
    calls: tuple[tuple[Any, str], ...] = (
        (lambda: count([], tools=[{}, cyclic]), r"tools\[1\] cannot be written as JSON"),
        (lambda: count([cyclic]), r"messages\[0\].content refers to itself"),
        (
            lambda: count([{"role": "assistant", "tool_calls": 5}]),
            r"messages\[0\].tool_calls holds text and parts, not an int",
        ),
    )
    for call, message in calls:
        with pytest.raises(ConfigError, match=message) as raised:
            call()
        assert raised.value.__context__ is None


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: Tokenizer("o200k"), ConfigError),
        (lambda: untyped.Tokenizer(1), TypeError),
        (lambda: Tokenizer.for_model("no-such-model"), ConfigError),
        (lambda: untyped.Tokenizer().count(1), InputTypeError),
        (lambda: Tokenizer().count_many("text"), InputTypeError),
        (lambda: Tokenizer().limit("x", -1), ConfigError),
        (lambda: Tokenizer().limit("x", True), TypeError),
        (lambda: Tokenizer().decode([10**7]), CtxprotoError),
        (lambda: Tokenizer().decode([1 << 40]), CtxprotoError),
        (lambda: Tokenizer().calibrated([]), ConfigError),
        (lambda: Tokenizer().calibrated([(5, 5)]), ConfigTypeError),  # type: ignore[list-item]
        (lambda: untyped.Tokenizer().count_messages([1]), TypeError),
    ],
)
def test_bad_arguments(call: object, error: type[Exception]) -> None:
    with pytest.raises(error) as raised:
        call()  # type: ignore[operator]
    assert isinstance(raised.value, CtxprotoError)


def test_every_encoding_is_there() -> None:
    for name in ENCODINGS:
        tokenizer = ctxproto.Tokenizer(name)
        assert tokenizer.decode(tokenizer.encode("Hello, wörld")) == "Hello, wörld"


@settings(deadline=None)
@given(text=st.text(max_size=300), most=st.integers(0, 80), tail=st.booleans())
def test_limits_of_a_function(text: str, most: int, tail: bool) -> None:
    def vowels_and_more(text: str) -> int:
        return len(text.encode("utf-8", "replace")) // 3 + sum(text.count(vowel) for vowel in "aeiou")

    text = text.encode("utf-8", "replace").decode()
    fitting = [at for at in range(len(text) + 1) if vowels_and_more(text[at:] if tail else text[:at]) <= most]
    found = Tokenizer.from_callable(vowels_and_more).limit(text, most, tail=tail)
    assert found == (min if tail else max)(fitting)
