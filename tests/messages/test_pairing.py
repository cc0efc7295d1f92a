"""What APIs refuse, and how it is made right."""

from __future__ import annotations

import random
from typing import Any

import pytest
from conversations import FORMATS, Chat, asks, conversations, damaged, real_runs, result, says, with_parallel_calls
from ctxproto import convert, pairing_problems, repair_pairing
from hypothesis import given, settings
from hypothesis import strategies as st

U, A = says("user"), says("assistant")

# What is wrong, and what each API says to it; None where it does not mind.
WRONG: dict[str, tuple[Chat, dict[str, str | None]]] = {
    "a result of no call": (
        [U, result("a")],
        dict.fromkeys(FORMATS, "orphan"),
    ),
    "a second result": (
        [U, asks("a"), result("a"), result("a")],
        dict.fromkeys(FORMATS, "orphan"),
    ),
    "a call without a result": (
        [U, asks("a"), U],
        dict.fromkeys(FORMATS, "unanswered"),
    ),
    "one of two without a result": (
        [U, asks("a", "b"), result("a"), U],
        dict.fromkeys(FORMATS, "unanswered"),
    ),
    "a result that is late": (
        [U, asks("a"), U, A, result("a")],
        {"openai": "unanswered", "responses": None, "anthropic": "unanswered", "gemini": "unanswered"},
    ),
    "no user first": (
        [A, U],
        {"openai": None, "responses": None, "anthropic": "roles", "gemini": None},
    ),
    "a call first": (
        [asks("a"), result("a")],
        {"openai": None, "responses": None, "anthropic": "roles", "gemini": "roles"},
    ),
}


@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("name", FORMATS)
def test_what_is_wrong_is_told_and_mended(wrong: str, name: Any) -> None:
    chat, rules = WRONG[wrong]
    request = convert(chat, "openai", name)
    found = [problem.rule for problem in pairing_problems(request, name)]
    rule = rules[name]
    assert (rule in found) if rule else found == []
    repaired = repair_pairing(request, name)
    assert pairing_problems(repaired.messages, name) == []
    assert bool(repaired.changes) or not found


def test_shapes_that_only_one_api_has() -> None:
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    answer = {"type": "tool_result", "tool_use_id": "a", "content": "1"}
    late = {"role": "user", "content": [{"type": "text", "text": "so"}, answer]}
    request = {"messages": [U, {"role": "assistant", "content": [use]}, late]}
    assert [p.rule for p in pairing_problems(request, "anthropic")] == ["order"]
    twice = {"messages": [U, {"role": "assistant", "content": [use, use]}, {"role": "user", "content": [answer]}]}
    assert {p.rule for p in pairing_problems(twice, "anthropic")} == {"ids"}
    empty = {"messages": [says("user", "")]}
    assert [p.rule for p in pairing_problems(empty, "anthropic")] == ["empty"]
    tied = [{"type": "reasoning", "id": "rs_1", "summary": []}, {"role": "user", "content": "x"}]
    assert [p.rule for p in pairing_problems(tied, "responses")] == ["order"]
    call = {"role": "model", "parts": [{"function_call": {"name": "f", "args": {}}}]}
    other = {"role": "user", "parts": [{"function_response": {"name": "g", "response": {}}}]}
    first = {"role": "user", "parts": [{"text": "x"}]}
    assert [p.rule for p in pairing_problems({"contents": [first, call, other]}, "gemini")] == ["orphan"]


@pytest.mark.parametrize("name", FORMATS)
def test_a_call_at_the_end_may_wait(name: Any) -> None:
    request = convert([U, asks("a", "b"), result("b")], "openai", name)
    told = [p.rule for p in pairing_problems(request, name, pending=False)]
    assert told == ["unanswered"]
    repaired = repair_pairing(request, name)
    assert (repaired.messages, repaired.changes) == (request, [])
    assert pairing_problems(request, name) == []


@settings(max_examples=200, deadline=None)
@given(conversations(), st.randoms(use_true_random=False))
def test_anything_ends_valid(chat: Chat, draw: random.Random) -> None:
    broken = damaged(chat, draw)
    # What is all right stays as it is.
    for name in FORMATS:
        request = convert(broken, "openai", name)
        repaired = repair_pairing(request, name)
        assert pairing_problems(repaired.messages, name) == []
        again = repair_pairing(repaired.messages, name)
        assert (again.messages, again.changes) == (repaired.messages, [])
        if not pairing_problems(broken, "openai", pending=False):
            assert [change for change in repaired.changes if change[0] != "added"] == []


def test_real_runs_with_parallel_calls_damaged_end_valid() -> None:
    parallel = wrong = 0
    for seed, run in enumerate(real_runs()):
        draw = random.Random(seed)
        chat = with_parallel_calls(run, draw)
        parallel += sum(len(message.get("tool_calls", ())) > 1 for message in chat)
        for _ in range(4):
            broken = damaged(chat, draw)
            wrong += bool(pairing_problems(broken, "openai"))
            for name in FORMATS:
                repaired = repair_pairing(convert(broken, "openai", name), name)
                assert pairing_problems(repaired.messages, name) == []
    assert parallel > 100
    assert wrong > 100
