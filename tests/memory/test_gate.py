"""The gate: what may be read, what may be written, and that nothing else is."""

from __future__ import annotations

import json
import math
from typing import Any

import ctxproto
import pytest
from ctxproto import MemoryContextGate, MemoryEntry, MemoryQueryResult, Tokenizer
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_token

TOKENIZER = Tokenizer()
CONCLUSION = (
    "Project X uses pip-tools for dependency management. "
    "User prefers requirements.in + requirements.txt pattern. "
    "Pinned dependencies with hashes enabled for security."
)


def memory(content: str = "x", score: Any = 0.9, namespace: Any = "user_42", name: str = "m") -> MemoryQueryResult:
    return MemoryQueryResult(content, score, namespace, name)


def test_the_cycle_of_the_seed() -> None:
    gate = MemoryContextGate(relevance_threshold=0.75, max_memory_tokens=1000)
    namespace = gate.resolve_namespace(user_id="42", session_id="abc", task_id="1")
    found = [memory(f"preference {n}", n / 10, name=str(n)) for n in range(11)]
    should_read, best_score, selected = gate.should_read("Python project preferences", namespace, found)
    assert (should_read, best_score) == (True, 1.0)
    assert [one.memory_id for one in selected] == ["10", "9", "8"]
    assert gate.should_write(CONCLUSION, namespace) is True
    assert gate.stats == {"reads": 1, "writes": 1, "read_threshold": 0.75, "max_memory_tokens": 1000}
    assert gate.should_read("q", namespace, []) == (False, 0.0, [])
    assert gate.stats["reads"] == 1
    assert gate.should_write(
        "Cloud market projected at $1.94T by 2031 (18.4% CAGR from $832B in 2026).",
        "user_default:session_current:task_market_research",
    )


def test_the_classes_of_the_seed() -> None:
    entry = MemoryEntry("user_42:session_a:task_1", "text")
    assert (entry.embedding, entry.relevance_score) == (None, 0.0)
    assert entry.timestamp.tzinfo is None
    assert MemoryQueryResult("c", 0.5, "n", "i") == MemoryQueryResult(
        content="c", relevance_score=0.5, namespace="n", memory_id="i"
    )
    assert MemoryContextGate().stats["read_threshold"] == 0.75


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.text(max_size=60), st.floats(allow_nan=True)), max_size=12),
    st.integers(0, 60),
    st.floats(0, 1),
)
def test_filter_order_and_an_exact_budget(pairs: list[tuple[str, float]], budget: int, threshold: float) -> None:
    gate = MemoryContextGate(threshold, budget)
    memories = [memory(text, score, name=str(at)) for at, (text, score) in enumerate(pairs)]
    given = list(memories)
    should, best, selected = gate.should_read("q", "user_42", memories)
    assert memories == given
    assert TOKENIZER.count("\n".join(one.content for one in selected)) <= budget
    assert all(threshold <= one.relevance_score < math.inf for one in selected)
    order = [(-one.relevance_score, int(one.memory_id)) for one in selected]
    assert order == sorted(order)
    assert (should, best) == ((True, selected[0].relevance_score) if selected else (False, 0.0))
    # What was relevant and is missing had no room when its turn came: not by itself, or not joined.
    taken: list[str] = []
    for one in sorted(memories, key=lambda m: -m.relevance_score if m.relevance_score == m.relevance_score else 0):
        if not threshold <= one.relevance_score < math.inf:
            continue
        joined = "\n".join([*taken, one.content])
        if one in selected:
            taken.append(one.content)
        else:
            alone = TOKENIZER.count("\n".join(taken)) + TOKENIZER.count(one.content)
            assert TOKENIZER.count(joined) > budget or alone > budget


def test_a_memory_that_does_not_fit_is_no_wall() -> None:
    gate = MemoryContextGate(max_memory_tokens=20)
    found = [memory("first", 0.99), memory("much " * 100, 0.95), memory("last", 0.9)]
    assert [one.content for one in gate.should_read("q", "user_42", found)[2]] == ["first", "last"]
    assert gate.should_read("q", "user_42", [memory("much " * 100)]) == (False, 0.0, [])
    assert MemoryContextGate(max_memory_tokens=0).should_read("q", "user_42", [memory()])[0] is False


def test_who_sees_what() -> None:
    gate = MemoryContextGate()
    everyone = ["user_42", "user_42:session_a", "user_42:session_a:task_1", "user_42:session_a:task_2",
        "user_42:session_b", "user_421", "user_421:session_a", "user_4", "", "user_42:", "user_42:*", "*", None, 42,
        ("user_42", "session_a"), "User_42", "user_42\\:session_a"]  # fmt: skip
    found = [memory(str(at), namespace=name) for at, name in enumerate(everyone)]

    def seen(reader: Any) -> list[Any]:
        return [everyone[int(one.content)] for one in gate.should_read("q", reader, found)[2]]

    own = ["user_42", "user_42:session_a"]
    tupled = [("user_42", "session_a")]
    assert seen("user_42:session_a:task_1") == [*own, "user_42:session_a:task_1", *tupled]
    assert seen(("user_42", "session_a")) == [*own, *tupled]
    assert seen("user_42") == ["user_42"]
    assert seen("user_42:") == [*everyone[:5], *tupled]
    assert seen("user_42:session_a:") == [*everyone[1:4], *tupled]
    assert seen("nobody:") == []
    assert len(seen("*")) == 11


def test_scores_that_are_none() -> None:
    found = [memory(score=score) for score in (math.nan, math.inf, -math.inf, -1, None, "high", 10**400)]
    assert MemoryContextGate(relevance_threshold=0).should_read("q", "user_42", found) == (False, 0.0, [])


NAMESPACE = "user_42:session_abc"
FACTS = [
    CONCLUSION,
    "The user prefers concise answers in German and works from Lisbon on weekdays.",
    "I need to take the train at eight on Mondays, so no meetings before ten please.",
    "Let's Encrypt certificates of the gateway are renewed by a timer every sixty days.",
    "Decision 2026-01-12: billing moves to Postgres 16; the old MySQL stays read-only until March.",
    "ユーザーは毎週月曜日の朝に進捗報告を日本語で受け取りたいと考えており、要点は三つまでに絞ってほしい、図表は不要とのことです。",
    "- deploys go out on Tuesdays\n- the staging database is refreshed nightly\n- Maria owns the release checklist",
]


@pytest.mark.parametrize("content", FACTS)
def test_facts_are_written_as_they_are(content: str) -> None:
    verdict = MemoryContextGate().judge_write(content, NAMESPACE)
    assert (bool(verdict), verdict.rule, verdict.content) == (True, "accepted", content)


REJECTED = {
    "fragment": ["", "ok", " " * 100 + "done" + " " * 100, "The port is 8080."],
    "too_long": ["word " * 10_001],
    "low_density": ["0x70 0x31 0x00 " * 10, "-" * 80,
        "=== 1.0 2.0 3.0 4.0 5.0 6.0 7.0 8.0 9.0 10.0 11.0 12.0 ===", "🙂" * 60],
    "raw_log": [
        "2026-01-01 10:00:01 INFO starting worker pool\n2026-01-01 10:00:02 ERROR no connection\nretry\n"
        "2026-01-01 10:00:03 INFO stopping worker pool\n",
        'Traceback (most recent call last):\n  File "a.py", line 1, in f\n  File "b.py", line 2\nKeyError: x',
        json.dumps([{"name": f"item number {n}", "state": "open"} for n in range(60)]),
    ],
    "reasoning": [
        "Let me check if this function has SQL injection... The parameter isn't sanitized... "
        "Let me trace the call path...",
        "Okay, now I'll look at the second file. First I need to read the tests. The helper seems unused.",
        "Hmm, that did not work. Wait, maybe the path is wrong. Let me try the other directory instead.",
        "<think>The user asks about billing, so the answer must name the invoice and its date.</think>",
    ],
}  # fmt: skip


@pytest.mark.parametrize(("rule", "content"), [(rule, text) for rule, texts in REJECTED.items() for text in texts])
def test_each_rule_is_named(rule: str, content: str) -> None:
    gate = MemoryContextGate()
    verdict = gate.judge_write(content, NAMESPACE)
    assert (verdict.accepted, verdict.rule, verdict.content) == (False, rule, "")
    assert gate.should_write(content, NAMESPACE) is False
    assert gate.stats["writes"] == 0
    assert verdict.reason
    assert content.strip()[:20] not in repr(verdict) or not content.strip()


def test_what_was_seen_is_not_remembered() -> None:
    gate = MemoryContextGate()
    prompt = f"You are an assistant. {CONCLUSION} Always answer politely."
    assert gate.judge_write(CONCLUSION, NAMESPACE, seen=[prompt]).rule == "echo"
    assert gate.judge_write(CONCLUSION.upper(), NAMESPACE, seen=["other", prompt]).rule == "echo"
    assert gate.judge_write(CONCLUSION, NAMESPACE, provenance="recalled").rule == "echo"
    assert gate.judge_write(CONCLUSION, NAMESPACE, provenance="system").rule == "echo"
    assert gate.judge_write(FACTS[1], NAMESPACE, seen=[prompt]).accepted


def test_what_is_there_already_is_not_written_twice() -> None:
    gate = MemoryContextGate()
    there: list[MemoryQueryResult | MemoryEntry | str] = [
        memory(FACTS[1]),
        MemoryEntry(NAMESPACE, CONCLUSION),
        FACTS[4],
    ]
    same = gate.judge_write(f"  {CONCLUSION.lower()}\n", NAMESPACE, existing=there)
    assert (same.rule, same.accepted, same.repeats) == ("duplicate", False, 1)
    nearly = gate.judge_write(f"{CONCLUSION} Indeed.", NAMESPACE, existing=there)
    assert (nearly.rule, nearly.accepted, nearly.repeats) == ("merge", True, 1)
    # However alike: another number, and no more than a "not", are other facts.
    long = (
        "The gateway of the billing service listens on port 8080 behind the proxy and takes requests from the office. "
        * 3
    )
    for other in (long.replace("8080", "8081", 1), long.replace("listens", "listens not", 1)):
        assert gate.judge_write(other, NAMESPACE, existing=[long]).rule == "accepted"


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32), st.text(max_size=20))
def test_secrets_are_not_written(seed: int, around: str) -> None:
    token = random_token(seed)
    verdict = MemoryContextGate().judge_write(f"{CONCLUSION} {around} The token is {token} for now.", NAMESPACE)
    assert token[4:] not in verdict.content + verdict.reason + repr(verdict)
    assert "GITHUB_TOKEN" in verdict.labels


def test_a_secret_alone_is_nothing_to_remember() -> None:
    verdict = MemoryContextGate().judge_write(f"Token of the gateway: {random_token(5)}", NAMESPACE)
    assert (verdict.rule, verdict.labels) == ("secret", ("GITHUB_TOKEN",))


@given(st.text())
def test_any_text_is_judged(text: str) -> None:
    gate = MemoryContextGate()
    verdict = gate.judge_write(text, NAMESPACE, seen=[text[::-1]], existing=[text[1:]])
    assert isinstance(verdict, ctxproto.WriteVerdict)
    assert gate.stats["writes"] == verdict.accepted


@pytest.mark.parametrize("bad", ["user_42:", "user_42:*", "*", ""])
def test_a_write_names_one_namespace(bad: str) -> None:
    with pytest.raises(ctxproto.ConfigError, match="namespace"):
        MemoryContextGate().should_write(CONCLUSION, bad)


def test_any_object_that_searches_and_saves_is_a_backend() -> None:
    """Seed 000, section 6: "as long as they implement search() / save()"."""

    class Backend:
        def __init__(self) -> None:
            self.kept: list[tuple[str, str]] = []

        def search(self, query: str, namespace: str) -> list[MemoryQueryResult]:  # noqa: ARG002 - it isolates nobody
            found = enumerate(self.kept)
            return [memory(text, 0.8, owner, str(at)) for at, (owner, text) in found if query in text]

        def save(self, namespace: str, content: str) -> None:
            self.kept.append((namespace, content))

    gate, backend = MemoryContextGate(), Backend()
    namespace = gate.resolve_namespace("42", "abc", "1")
    # What the backend does not, the gate does.
    backend.save("user_421", f"{CONCLUSION} Of somebody else.")
    if gate.should_write(CONCLUSION, namespace):
        backend.save(namespace, CONCLUSION)
    candidates = backend.search("pip-tools", namespace=gate.get_namespace_prefix("42"))
    assert len(candidates) == 2
    assert [one.content for one in gate.should_read("pip-tools", namespace, candidates)[2]] == [CONCLUSION]
