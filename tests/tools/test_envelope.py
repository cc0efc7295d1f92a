"""The envelope: any value in, a safe and short message out."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
import string
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import ctxproto
import pytest
from ctxproto import BudgetError, ConfigError, Redactor, RuleError, Tokenizer, ToolResultEnvelope, trim
from hypothesis import given, settings
from hypothesis import strategies as st

untyped: Any = ctxproto
ALNUM = string.ascii_letters + string.digits


def token(seed: int = 1) -> str:
    draw = random.Random(seed)
    return "ghp_" + "".join(draw.choices(ALNUM, k=36))


def content(envelope: ToolResultEnvelope) -> str:
    return str(envelope.to_context_chunk()["content"])


def test_the_articles_flow() -> None:
    secret = "sk-" + "abc123def456ghi789jkl"
    raw = {"logs": ["line"] * 3, "meta": {"api_key_used": secret}}
    envelope = ToolResultEnvelope(tool_call_id="call_7a3f", raw_result=raw, max_tokens=1500)
    chunk = envelope.trim(strategy="first_n").redact_secrets().to_context_chunk()
    assert chunk["role"] == "tool"
    assert chunk["tool_call_id"] == "call_7a3f"
    assert json.loads(chunk["content"]) == {"logs": ["line"] * 3, "meta": {"api_key_used": "[OPENAI_KEY:REDACTED]"}}
    assert [found["label"] for found in envelope._found_secrets] == ["OPENAI_KEY"]
    assert envelope._redacted
    report = envelope.audit_report()
    assert (report["tool_call_id"], report["redacted"]) == ("call_7a3f", True)
    assert secret not in repr(envelope) + json.dumps(report)


def test_nothing_passes_raw_unless_asked_by_name() -> None:
    secret = token()
    envelope = ToolResultEnvelope("c", f"token is {secret}")
    assert secret not in content(envelope)
    assert secret in envelope.to_context_chunk(unredacted=True)["content"]
    # An empty result of trimming is not "no result": the raw text must not stand in for it.
    assert content(ToolResultEnvelope("c", "")) == ""


@settings(max_examples=60, deadline=None)
@given(before=st.integers(0, 4000), budget=st.integers(40, 600), seed=st.integers(0, 10**6), order=st.booleans())
def test_no_cut_leaves_half_a_secret(before: int, budget: int, seed: int, order: bool) -> None:
    secret = token(seed)
    text = "word " * (before // 5) + f"Authorization: Bearer {secret}\n" + "more words\n" * 300
    for strategy in ("first_n", "last_n", "head_tail", "lines", "auto"):
        envelope = ToolResultEnvelope("c", text, max_tokens=budget)
        chained = envelope.trim(strategy).redact_secrets() if order else envelope.redact_secrets().trim(strategy)
        out = content(chained)
        assert Tokenizer().count(out) <= budget
        assert not any(secret[at : at + 8] in out for at in range(4, len(secret) - 8))


class Point:
    def __str__(self) -> str:
        return "a point"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no text")


@dataclasses.dataclass
class Row:
    name: str
    when: datetime.date


@dataclasses.dataclass
class Unset:
    missing: str
    there: int = 1


class Items(dict[str, int]):
    def items(self) -> Any:
        raise RuntimeError("no items")


class Lazy(Mapping[str, int]):
    def __getitem__(self, key: str) -> int:
        if key == "bad":
            raise RuntimeError("no value")
        return 1

    def __iter__(self) -> Iterator[str]:
        return iter(("good", "bad"))

    def __len__(self) -> int:
        return 2


class NoClass:
    @property
    def __class__(self) -> Any:
        raise RuntimeError("no class")

    @__class__.setter
    def __class__(self, _: object) -> None: ...


class NoItems(list[int]):
    def __iter__(self) -> Any:
        raise RuntimeError("no items")


def cyclic() -> dict[str, Any]:
    value: dict[str, Any] = {"a": 1}
    value["self"] = value
    return value


def deep() -> list[Any]:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("raw", "part"),
    [
        ("text", "text"),
        (b"bytes \xff", "bytes \ufffd"),
        (None, "null"),
        ({"a": [1, 2.5, True]}, '{"a": [1, 2.5, true]}'),
        ([Row("x", datetime.date(2026, 1, 2))], '[{"name": "x", "when": "2026-01-02"}]'),
        ({"p": Point(), "path": Path("a/b")}, '"a point"'),
        ({1: {2, 1}}, '{"1": [1, 2]}'),
        ({(1, 2): "tuple key"}, '"(1, 2)": "tuple key"'),
        (cyclic(), '"<cycle>"'),
        (Broken(), "Broken"),
        (b"\0\1\2" * 100, "[300 bytes of binary data]"),
        (ValueError("no such host"), "[error] ValueError: no such host"),
        (float("nan"), "NaN"),
        ({"x": float("nan"), "y": [float("-inf")]}, '{"x": "NaN", "y": ["-Infinity"]}'),
        ({"n": 10**5000}, '{"n": "<int of 16610 bits>"}'),
        ({10**5000: 1, 2: 3}, '"2": 3'),
        (Unset.__new__(Unset), '{"there": 1}'),
        (Items(a=1), '{"a": 1}'),
        (Lazy(), '{"good": 1, "bad": "<unreadable>"}'),
        ({"row": Lazy()}, '{"row": {"good": 1, "bad": "<unreadable>"}}'),
        ("caf\u00e9".encode("utf-16"), "caf\u00e9"),
        (b"\xfe\xff" + "caf\u00e9".encode("utf-16-be"), "caf\u00e9"),
        (
            ExceptionGroup("two failed", [OSError("no such host"), ExceptionGroup("one", [KeyError("k")])]),
            "(2 sub-exceptions)\n  OSError: no such host\n  ExceptionGroup: one (1 sub-exception)\n    KeyError: 'k'",
        ),
    ],
)
def test_any_value(raw: object, part: str) -> None:
    assert part in content(ToolResultEnvelope("c", raw))


def test_strangers_that_refuse_everything() -> None:
    assert content(ToolResultEnvelope("c", NoClass())) == '"<NoClass>"'
    assert content(ToolResultEnvelope("c", [NoClass()])) == '["<NoClass>"]'
    assert content(ToolResultEnvelope("c", NoItems([1])))


def test_deep_values_do_not_fail() -> None:
    assert content(ToolResultEnvelope("c", deep(), max_tokens=500)).startswith("[")


def test_parts_stay_parts() -> None:
    secret = token(5)
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 50_000}}
    raw = [{"type": "text", "text": f"see {secret}"}, image, {"type": "text", "text": "word " * 4000}]
    parts = ToolResultEnvelope("c", raw, max_tokens=300).to_context_chunk()["content"]
    assert parts[1] is image
    assert secret not in parts[0]["text"]
    assert sum(Tokenizer().count(part["text"]) for part in (parts[0], parts[2])) <= 300


IMAGE = {"type": "image", "data": "iVBORw0KGgo" * 3000 + "A=", "mimeType": "image/png"}


def test_no_string_of_a_part_holds_a_secret() -> None:
    secret = token(6)
    parts: list[Any] = [
        {"type": "text", "text": "ok", "note": secret, "password": "correct horse 7"},
        {"type": "document", "title": secret, "source": {"type": "text", "media_type": "text/plain", "data": secret}},
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": secret}]}},
        {"type": "resource_link", "uri": "https://me:correct-horse@host/x", "name": secret, "description": secret},
        {"type": "image_url", "image_url": {"url": f"https://host/x.png?token={secret}"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + IMAGE["data"]}},
        {"type": "resource", "resource": {"uri": "file:///x", "text": f"see {secret}"}},
        {"type": "resource", "resource": {"uri": "file:///y", "blob": IMAGE["data"]}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE["data"]}},
        {"type": "unknown", "data": secret},
        secret,
        {"inlineData": {"mimeType": "image/png", "data": IMAGE["data"]}},
        IMAGE,
    ]
    envelope = ToolResultEnvelope("c", parts, 400)
    chunk = envelope.to_context_chunk()["content"]
    assert not any(secret[at : at + 8] in json.dumps(chunk) for at in range(4, 32))
    assert "correct" not in json.dumps(chunk)
    assert len(chunk) == len(parts)
    assert [one for one in chunk if IMAGE["data"] in json.dumps(one)] == [parts[at] for at in (5, 7, 8, 11, 12)]
    assert chunk[3]["type"] == "resource_link"
    assert len(envelope._found_secrets) >= 9
    assert secret in json.dumps(envelope.to_context_chunk(unredacted=True))
    assert envelope.to_context_chunk() == {"role": "tool", "tool_call_id": "c", "content": chunk}


def kept(envelope: ToolResultEnvelope) -> Any:
    """The content of the message; None where the budget is too small, and the error names it."""
    try:
        return envelope.to_context_chunk()["content"]
    except BudgetError as error:
        if f"a budget of {envelope.max_tokens} tokens" not in str(error) or str(error.needed) not in str(error):
            raise
        return None


def texts_of(chunk: Any) -> list[str]:
    """What a model reads of a message."""
    if isinstance(chunk, str):
        return [chunk]
    return [text for part in chunk for text in (part.get("text"), part.get("source", {}).get("data")) if text]


@settings(max_examples=80, deadline=None)
@given(
    texts=st.lists(st.sampled_from(["", "a", "hi", "word " * 30, "a line\n" * 200, "[error] x"]), max_size=7),
    document=st.booleans(),
    budget=st.integers(1, 90),
    failed=st.booleans(),
    first=st.booleans(),
)
def test_parts_keep_their_budget_together(
    texts: list[str], document: bool, budget: int, failed: bool, first: bool
) -> None:
    parts: list[Any] = [{"type": "text", "text": text} for text in texts]
    if document:
        parts.append({"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "word " * 90}})
    parts.insert(0 if first else len(parts), {"type": "image_url", "image_url": {"url": "https://host/x.png"}})
    envelope = ToolResultEnvelope("c", parts, budget, is_error=failed)
    if (chunk := kept(envelope)) is None:
        return
    tokens = sum(Tokenizer().count_many(texts_of(chunk)))
    assert tokens == envelope.audit_report()["tokens"] <= budget
    assert not failed or chunk[0]["text"].startswith("[error]")


@settings(max_examples=80, deadline=None)
@given(st.text(max_size=60) | st.just("word " * 200), st.integers(1, 40))
def test_the_mark_of_an_error_is_in_the_budget(text: str, budget: int) -> None:
    envelope = ToolResultEnvelope("c", text, budget, is_error=True)
    if (out := kept(envelope)) is None:
        return
    assert out.startswith("[error]")
    assert Tokenizer().count(out) == envelope.audit_report()["tokens"] <= budget


def test_an_mcp_answer_is_what_it_holds() -> None:
    answer = {"content": [IMAGE], "isError": True}
    chunk = ToolResultEnvelope("c", answer, 100).to_context_chunk()["content"]
    assert chunk == [{"type": "text", "text": "[error]"}, IMAGE]
    failed = ToolResultEnvelope("c", {"content": [{"type": "text", "text": "boom"}], "isError": True})
    assert failed.is_error
    assert failed.to_context_chunk()["content"] == [{"type": "text", "text": "[error] boom"}]
    assert ToolResultEnvelope("c", IMAGE).to_context_chunk()["content"] == [IMAGE]
    structured = {"content": [IMAGE], "structuredContent": {"width": 3}}
    assert ToolResultEnvelope("c", structured).to_context_chunk()["content"][1]["text"] == '{"width": 3}'
    # A listing of files and a record of an image are none.
    for raw in ([{"type": "file", "name": "a.txt"}], {"type": "image", "name": "ubuntu"}, {"content": [1]}):
        assert content(ToolResultEnvelope("c", raw)) == json.dumps(raw)


def test_fields() -> None:
    raw = {"status": "up", "items": [{"id": n, "blob": "x" * 500} for n in range(50)], "noise": "y" * 9000}
    out = ToolResultEnvelope("c", raw, 400).trim("field_whitelist", ["status", "items.*.id"])
    assert json.loads(content(out)) == {"status": "up", "items": [{"id": n} for n in range(50)]}
    plain = ToolResultEnvelope("c", "no json\n" * 2000, 60).trim("field_whitelist", ["a"])
    assert plain.loss is not None
    assert plain.loss.instead
    assert Tokenizer().count(content(plain)) <= 60


def test_own_patterns() -> None:
    order = f"ORD-{random.Random(3).randrange(10**7, 10**8)}"
    envelope = ToolResultEnvelope("c", f"paid ord: {order}, {token()}")
    out = content(envelope.redact_secrets([(r"ord: (ORD-\d{8})", "ORDER_ID")]))
    assert "ord: [ORDER_ID:REDACTED]" in out
    assert "[GITHUB_TOKEN:REDACTED]" in out
    assert ToolResultEnvelope.DEFAULT_SECRET_PATTERNS[-1][1] == "OPENAI_KEY"
    default = ToolResultEnvelope("c", "x").redact_secrets(list(ToolResultEnvelope.DEFAULT_SECRET_PATTERNS))
    assert content(default) == "x"
    with pytest.raises(RuleError):
        ToolResultEnvelope("c", "x").redact_secrets([("(", "BROKEN")]).to_context_chunk()


def test_own_patterns_add_to_the_policy() -> None:
    redactor = Redactor(known_values={"DB_PASSWORD": "correct horse"}, pii=["EMAIL"], placeholder="vault")
    envelope = ToolResultEnvelope("c", "correct horse me@corp.example.com ORD-1234 INV-77", redactor=redactor)
    envelope.redact_secrets([(r"ord-\d+", "ORDER")]).redact_secrets([(r"inv-\d+", "INVOICE")])
    out = content(envelope)
    assert not any(value in out for value in ("horse", "corp", "ORD-1", "INV-7"))
    assert redactor.vault is not None
    assert redactor.vault.restore(out) == "correct horse me@corp.example.com ORD-1234 INV-77"
    assert redactor.redact("ORD-1234").text == "ORD-1234"
    assert redactor.with_patterns([]) is redactor
    odd = redactor.with_patterns([("\U0001f600{3}|\x7f{3}", "ODD")])
    assert "\U0001f600" not in odd.redact("\U0001f600" * 3).text


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: untyped.ToolResultEnvelope("c", "x", tokenizer="gpt-4o"), TypeError),
        (lambda: untyped.ToolResultEnvelope("c", "x", is_error="no"), TypeError),
        (lambda: ToolResultEnvelope("c", "x").trim(patterns=["ok", "("]), RuleError),
        (lambda: ToolResultEnvelope("c", "x").trim("field_whitelist", ["a["]), RuleError),
        (lambda: untyped.ToolResultEnvelope("c", "x").trim(hint=3), TypeError),
        (lambda: untyped.ToolResultEnvelope(1, "x"), TypeError),
        (lambda: ToolResultEnvelope("c", "x", 0), ConfigError),
        (lambda: untyped.ToolResultEnvelope("c", "x", redactor="r"), TypeError),
        (lambda: untyped.ToolResultEnvelope("c", "x").trim("middle"), ConfigError),
        (lambda: ToolResultEnvelope("c", "x").trim("field_whitelist"), ConfigError),
        (lambda: untyped.ToolResultEnvelope("c", "x").redact_secrets(["x"]), TypeError),
        (lambda: ToolResultEnvelope("c", "word " * 999, 2).to_context_chunk(), BudgetError),
        (lambda: untyped.trim(1, 10), TypeError),
        (lambda: untyped.trim("x", "10"), TypeError),
        (lambda: trim("x", 10, strategy="lines", patterns=["("]), ConfigError),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
