"""What APIs refuse, and how it is made right."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from conversations import (
    FORMATS,
    Chat,
    a_call,
    asks,
    conversations,
    damaged,
    real_runs,
    result,
    says,
    with_parallel_calls,
    with_thoughts_and_blanks,
)
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


THOUGHTS: dict[str, dict[str, Any]] = {
    "responses": {"type": "reasoning", "id": "rs_1", "summary": []},
    "anthropic": {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
    "gemini": {"type": "thought", "text": "hm", "thought_signature": "c2ln"},
}


@settings(max_examples=100, deadline=None)
@given(conversations(), st.randoms(use_true_random=False))
def test_thoughts_and_blanks_end_valid(chat: Chat, draw: random.Random) -> None:
    for name in ("responses", "anthropic", "gemini"):
        broken = with_thoughts_and_blanks(damaged(chat, draw), THOUGHTS[name], draw)
        repaired = repair_pairing(convert(broken, "native", name), name)
        assert pairing_problems(repaired.messages, name) == []
        assert repair_pairing(repaired.messages, name) == (repaired.messages, [])


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


def test_keys_of_gemini_as_json_has_them_are_judged_as_well() -> None:
    request = convert([U, asks("a"), U], "openai", "gemini")
    call = request["contents"][1]["parts"][0]
    call["functionCall"] = call.pop("function_call")
    assert [p.rule for p in pairing_problems(request, "gemini")] == ["unanswered"]
    repaired = repair_pairing(request, "gemini")
    assert pairing_problems(repaired.messages, "gemini") == []


EMPTY: dict[str, Chat] = {
    "user": [U, A, says("user", ""), A],
    "assistant": [U, says("assistant", ""), U],
    "nothing": [U, {"role": "assistant", "content": None}, U],
    "part": [says("user", [{"type": "text", "text": ""}, {"type": "text", "text": "x"}])],
    "first": [says("user", ""), A],
    "beside calls": [U, asks("a", content=""), result("a"), A],
    "instructions": [says("system", [{"type": "text", "text": ""}]), U],
}


@pytest.mark.parametrize("what", EMPTY)
@pytest.mark.parametrize("name", ["anthropic", "gemini"])
def test_what_says_nothing_is_told_and_mended(what: str, name: Any) -> None:
    request = convert(EMPTY[what], "openai", name)
    if what not in ("beside calls", "instructions"):
        assert {p.rule for p in pairing_problems(request, name)} == {"empty"}
    repaired = repair_pairing(request, name)
    assert pairing_problems(repaired.messages, name) == []
    assert repair_pairing(repaired.messages, name) == (repaired.messages, [])
    assert '""' not in json.dumps(repaired.messages)
    assert "words" in json.dumps(repaired.messages) or what == "part"


def test_calls_stay_where_they_stood_when_texts_go() -> None:
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    said = [{"type": "text", "text": " "}, {"type": "text", "text": "I look."}, use, {"type": "text", "text": ""}]
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "1"}]}
    repaired = repair_pairing({"messages": [U, says("assistant", said), answer]}, "anthropic")
    assert repaired.messages["messages"][1]["content"] == said[1:3]
    assert repaired.changes == [("cut", "empty", 1)]


def test_thoughts_that_nothing_follows_go() -> None:
    thinking = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}
    use = {"type": "tool_use", "id": "a", "name": "f", "input": {}}
    request = {"messages": [U, says("assistant", [{"type": "text", "text": "x"}, thinking]), U]}
    assert [p.rule for p in pairing_problems(request, "anthropic")] == ["order"]
    repaired = repair_pairing(request, "anthropic")
    assert repaired.messages["messages"][1] == says("assistant", [{"type": "text", "text": "x"}])
    dead = repair_pairing({"messages": [U, says("assistant", [thinking, use]), U]}, "anthropic")
    assert [m["role"] for m in dead.messages["messages"]] == ["user", "user"]
    assert dead.changes == [("dropped", "unanswered", 1)]

    tied = {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "hm"}]}
    call = {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}"}
    first, last = ({"type": "message", "role": role, "content": "x"} for role in ("user", "assistant"))
    for items, left in (
        ([first, tied, first], [first, first]),
        ([first, tied, call, first], [first, first]),
        ([first, last, tied, last], [first, last, tied, last]),
        ([first, tied, last, tied], [first, tied, last]),
    ):
        repaired = repair_pairing(items, "responses")
        assert repaired.messages == left
        assert bool(pairing_problems(items, "responses", pending=False)) == bool(repaired.changes)
        assert pairing_problems(left, "responses", pending=False) == []


def test_ids_that_no_id_may_be() -> None:
    use = {"type": "tool_use", "id": "f.a:0", "name": "f", "input": {}}
    answer = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "f.a:0", "content": "1"}]}
    request = {"messages": [U, says("assistant", [use]), answer]}
    assert [p.rule for p in pairing_problems(request, "anthropic")] == ["ids"]
    assert pairing_problems(repair_pairing(request, "anthropic").messages, "anthropic") == []


def test_problems_quote_nothing_but_ids() -> None:
    words = "words of a user who pasted them into an id"
    odd = {"role": "assistant", "content": None, "tool_calls": [{**a_call("a"), "id": {words: words}}]}
    found = pairing_problems([U, odd, U, result(words), odd], "openai", pending=False)
    found += pairing_problems([{"type": "function_call_output", "call_id": words, "output": ""}], "responses")
    found += pairing_problems([{"type": "reasoning", "id": words, "summary": []}], "responses")
    found += pairing_problems(convert([U, asks("b"), U], "openai", "responses"), "responses")
    request: dict[str, Any] = {"messages": [says("user", [{"type": "tool_result", "tool_use_id": words}])]}
    request["messages"].append(says("assistant", [{"type": "tool_use", "id": words}]))
    found += pairing_problems(request, "anthropic", pending=False)
    assert len(found) == 9
    assert words not in str(found)
    assert "function call b." in str(found)
