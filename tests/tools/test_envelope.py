"""The envelope: any value in, a safe and short message out."""

from __future__ import annotations

import dataclasses
import datetime
import json
import random
import string
from pathlib import Path
from typing import Any

import ctxproto
import pytest
from ctxproto import BudgetError, ConfigError, RuleError, Tokenizer, ToolResultEnvelope, trim
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
    ],
)
def test_any_value(raw: object, part: str) -> None:
    assert part in content(ToolResultEnvelope("c", raw))


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


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: untyped.ToolResultEnvelope(1, "x"), TypeError),
        (lambda: ToolResultEnvelope("c", "x", 0), ConfigError),
        (lambda: untyped.ToolResultEnvelope("c", "x", redactor="r"), TypeError),
        (lambda: untyped.ToolResultEnvelope("c", "x").trim("middle"), ConfigError),
        (lambda: ToolResultEnvelope("c", "x").trim("field_whitelist"), ConfigError),
        (lambda: untyped.ToolResultEnvelope("c", "x").redact_secrets(["x"]), TypeError),
        (lambda: ToolResultEnvelope("c", "word " * 999, 2).to_context_chunk(), BudgetError),
        (lambda: untyped.trim(1, 10), TypeError),
        (lambda: untyped.trim("x", "10"), TypeError),
        (lambda: trim("x", 10, tokenizer=Tokenizer.from_callable(len)), ConfigError),
        (lambda: trim("x", 10, strategy="lines", patterns=["("]), ConfigError),
    ],
)
def test_bad_arguments(call: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        call()
