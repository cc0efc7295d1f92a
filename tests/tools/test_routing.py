"""Each result to its call."""

from __future__ import annotations

import asyncio
import json
import threading
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from ctxproto import (
    BudgetError,
    ConfigError,
    Delivery,
    InputTypeError,
    RoutingError,
    ToolCallRequest,
    ToolCallRouter,
    ToolResultEnvelope,
)
from hypothesis import given, settings
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random


def calls(*ids: str) -> dict[str, object]:
    function = {"name": "search", "arguments": '{"q": 1}'}
    return {"role": "assistant", "tool_calls": [{"id": i, "type": "function", "function": function} for i in ids]}


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6), min_size=0, max_size=30), st.randoms(use_true_random=False))
def test_random_order_with_duplicates_never_mixes(stray: list[int], draw: random.Random) -> None:
    router = ToolCallRouter()
    expected = router.expect(calls(*"abcde"))
    results = [(call.id, f"result of {call.id}") for call in expected] + [("abcdexy"[n], f"stray {n}") for n in stray]
    draw.shuffle(results)
    first: dict[str, str] = {}
    for call_id, result in results:
        verdict = router.deliver(call_id, result)
        if call_id in "xy":
            assert verdict is Delivery.UNKNOWN
        else:
            assert verdict is (Delivery.DUPLICATE if call_id in first else Delivery.ACCEPTED)
            first.setdefault(call_id, result)
    assert [(c["tool_call_id"], c["content"]) for c in router.chunks()] == [(i, first[i]) for i in "abcde"]
    assert len(router.audit_report()["stray"]) == len(stray)


def test_threads_and_tasks() -> None:
    router = ToolCallRouter()
    router.expect(calls(*(str(n) for n in range(40))))
    threads = [threading.Thread(target=router.deliver, args=(str(n), f"r{n}")) for n in range(20)]

    async def later(n: int) -> None:
        await asyncio.sleep(0)
        router.deliver(str(n), f"r{n}")

    async def rest() -> None:
        await asyncio.gather(*(later(n) for n in range(20, 40)))

    for thread in threads:
        thread.start()
    asyncio.run(rest())
    assert router.wait(5)
    assert [chunk["content"] for chunk in router.chunks()] == [f"r{n}" for n in range(40)]


def test_missing_late_and_failed() -> None:
    router = ToolCallRouter()
    router.expect(calls("a", "b", "c"))
    router.deliver("a", OSError("no such host"))
    router.deliver("c", "permission denied", is_error=True)
    with pytest.raises(RoutingError, match=r"1 of 3 calls have no result: b \(search\)"):
        router.chunks()
    with pytest.raises(RoutingError, match="not over"):
        router.expect(calls("z"))
    chunks = router.chunks(missing="timed out")
    assert [chunk["content"] for chunk in chunks] == [
        "[error] OSError: no such host",
        "[error] timed out",
        "[error] permission denied",
    ]
    assert router.deliver("b", "too late") is Delivery.DUPLICATE
    assert router.expect(calls("a"))[0].id == "a"
    assert router.deliver("b", "even later") is Delivery.LATE
    assert not router.wait(0.01)


def test_calls_of_one_id_are_told_apart() -> None:
    router = ToolCallRouter()
    one, two = router.expect(calls("same", "same"))
    assert router.deliver(two, "second") is Delivery.ACCEPTED
    assert router.deliver("same", "first") is Delivery.ACCEPTED
    assert [chunk["content"] for chunk in router.chunks()] == ["first", "second"]
    assert one is not two


def test_every_shape_of_a_call() -> None:
    arguments = {"q": "x"}
    for call in (
        {"id": "i", "type": "function", "function": {"name": "f", "arguments": json.dumps(arguments)}},
        {"type": "function_call", "call_id": "i", "name": "f", "arguments": json.dumps(arguments)},
        {"type": "tool_use", "id": "i", "name": "f", "input": arguments},
        {"functionCall": {"id": "i", "name": "f", "args": arguments}},
        SimpleNamespace(id="i", type="function", function=SimpleNamespace(name="f", arguments=json.dumps(arguments))),
    ):
        parsed = ToolCallRequest.parse(call)
        assert (parsed.id, parsed.name, parsed.arguments, parsed.problem) == ("i", "f", arguments, None)
        assert ToolCallRequest.parse(parsed.to_openai()) == parsed
    blocks = {
        "role": "assistant",
        "content": [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "i", "name": "f"}],
    }
    assert [call.id for call in ToolCallRequest.parse_all(blocks)] == ["i"]


def test_arguments_that_are_no_object() -> None:
    secret = "hunter" + "2" * 9
    call = {"id": "i", "type": "function", "function": {"name": "f", "arguments": f'{{"password": "{secret}'}}
    parsed = ToolCallRequest.parse(call)
    assert parsed.arguments == {}
    assert parsed.problem is not None
    assert secret not in parsed.problem + repr(parsed)
    for bad in (5, {"name": 3}, {"id": 1, "name": "f"}):
        with pytest.raises(InputTypeError):
            ToolCallRequest.parse(bad)


def test_other_items_stand_beside_calls() -> None:
    output = [
        {"type": "reasoning", "summary": []},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "let me see"}]},
        {"type": "function_call", "call_id": "i", "name": "f", "arguments": "{}"},
        SimpleNamespace(type="web_search_call", id="ws_1", status="completed"),
        {"text": "now"},
        {"type": "text", "text": "and"},
        {"type": "tool_use", "id": "j", "name": "g", "input": {}},
    ]
    assert [call.id for call in ToolCallRouter().expect(output)] == ["i", "j"]
    for bad in (5, {}, {"id": "i"}, {"type": "function"}):
        with pytest.raises(InputTypeError):
            ToolCallRequest.parse_all([bad])


def test_calls_without_ids_get_some() -> None:
    router = ToolCallRouter()
    content = {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}}, {"functionCall": {"name": "g"}}]}
    one, two = router.expect(content)
    assert one.id
    assert two.id not in {"", one.id}
    router.deliver(two.id, "second")
    router.deliver(one, "first")
    assert [(c["tool_call_id"], c["content"]) for c in router.chunks()] == [(one.id, "first"), (two.id, "second")]
    assert not {one.id, two.id} & {call.id for call in router.expect(content)}


def test_free_text_is_no_broken_json() -> None:
    for call in (
        {"type": "custom", "id": "i", "custom": {"name": "sql", "input": "select 1"}},
        {"type": "custom_tool_call", "id": "ctc_1", "call_id": "i", "name": "sql", "input": "select 1"},
    ):
        (parsed,) = ToolCallRequest.parse_all({"role": "assistant", "tool_calls": [call]})
        assert (parsed.id, parsed.name, parsed.arguments, parsed.problem) == ("i", "sql", {"input": "select 1"}, None)
        assert ToolCallRequest.parse(parsed.to_openai()) == parsed


def test_a_turn_that_cannot_be_told_goes_on() -> None:
    router = ToolCallRouter(max_tokens=3)
    router.expect(calls("a", "b"))
    router.deliver("a", "fine")
    with pytest.raises(BudgetError):
        router.chunks(missing="timed out after a long wait")
    assert [call.id for call in router.missing] == ["b"]
    assert router.deliver("b", "ok") is Delivery.ACCEPTED
    assert [chunk["content"] for chunk in router.chunks()] == ["fine", "ok"]


def test_an_envelope_belongs_to_its_call() -> None:
    made: list[object] = [None, ToolResultEnvelope("b", "x"), ToolResultEnvelope("a", "x")]
    router = ToolCallRouter(lambda _call, _raw: made.pop(0))  # type: ignore[arg-type,return-value]
    router.expect(calls("a"))
    with pytest.raises(TypeError, match="envelope makes a ToolResultEnvelope, not None"):
        router.deliver("a", "x")
    with pytest.raises(ConfigError, match="another call"):
        router.deliver("a", "x")
    assert router.deliver("a", "x") is Delivery.ACCEPTED
