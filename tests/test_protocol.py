"""The protocol: what comes out is valid, clean, within its budget, and each call begins anew."""

from __future__ import annotations

import asyncio
import base64
import gc
import json
import threading
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import (
    ArtifactError,
    AsyncContextProtocol,
    AuditContext,
    AuditRecord,
    BudgetError,
    ConfigError,
    ConfigTypeError,
    ContextDebugKit,
    ContextPolicy,
    ContextProtocol,
    InMemoryArtifactStore,
    InputTypeError,
    MemoryQueryResult,
    MemoryStore,
    Redactor,
    TaskIdError,
    TaskStateEnvelope,
    Tokenizer,
    ToolCallRequest,
    ToolCallRouter,
    ToolRule,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import any_text, github_tokens, random_token

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

POLICY = ContextPolicy()
TOKENIZER = Tokenizer()


def call(name: str, arguments: str = "{}") -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": "look", "arguments": arguments}}


def asked(*names: str, content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [call(name) for name in names]}


def answer(name: str, content: str = "found") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": name, "content": content}


def user(content: str) -> dict[str, Any]:
    return {"role": "user", "content": content}


def assert_valid(messages: Sequence[dict[str, Any]], *, pending: bool = False) -> None:
    """What OpenAI's API asks of messages, written down plainly."""
    waiting: list[str] = []
    for at, message in enumerate(messages):
        if message["role"] == "tool":
            assert message["tool_call_id"] in waiting, f"message {at} answers no call"
            waiting.remove(message["tool_call_id"])
            continue
        assert not waiting, f"message {at} comes before the results of {waiting}"
        waiting = [one["id"] for one in message.get("tool_calls") or []]
    assert pending or not waiting, waiting


def roles(messages: Sequence[dict[str, Any]]) -> list[str]:
    return [message["role"] for message in messages]


class Memory:
    def __init__(self, *found: MemoryQueryResult) -> None:
        self.found = list(found)
        self.saved: list[tuple[str, str]] = []
        self.asked: list[tuple[str, str]] = []

    def search(self, query: str, namespace: str) -> list[MemoryQueryResult]:
        self.asked.append((query, namespace))
        return self.found

    def save(self, namespace: str, content: str) -> None:
        self.saved.append((namespace, content))


def test_the_order_with_everything_there() -> None:
    memory = Memory(MemoryQueryResult("Prefers short answers.", 0.93, "user_default", "m"))
    protocol = ContextProtocol(memory_backend=memory)
    state = TaskStateEnvelope("t1")
    state.add_artifact("graph", "p", "a graph", 10)
    one, two = ToolCallRequest("c1", "look", {"at": 1}), ToolCallRequest("c2", "look", {"at": 2})
    envelopes = [protocol.handle_tool_result(two, "second"), protocol.handle_tool_result(one, "first")]
    messages = protocol.prepare_context(
        "now", envelopes, state, "be terse", "answers", history=[user("before"), {"role": "assistant", "content": "ok"}]
    )
    assert roles(messages) == [
        *["system", "user", "assistant", "user", "system", "system", "assistant", "tool", "tool"]
    ]
    assert messages[4]["content"] == "[Memory context — relevance 0.93]:\nPrefers short answers."
    assert messages[5]["content"].startswith("[Task state from upstream]:\nTask t1 produced 1 artifact(s):")
    assert [one["id"] for one in messages[6]["tool_calls"]] == ["c2", "c1"]
    assert json.loads(messages[6]["tool_calls"][0]["function"]["arguments"]) == {"at": 2}
    assert_valid(messages)
    assert [entry["action"] for entry in messages.audit_trail] == [
        *["memory_read", "task_state_injected", "call_added", "call_added", "context_prepared"]
    ]
    assert memory.asked == [("answers", "user_default:")]


def test_results_go_behind_the_calls_that_the_history_ends_with() -> None:
    protocol = ContextProtocol()
    state = TaskStateEnvelope("t1")
    history = [user("q"), asked("a", "b", "c", content="let me see"), answer("b", "B")]
    results = [protocol.handle_tool_result("c", "C"), protocol.handle_tool_result("a", "A")]
    messages = protocol.prepare_context(tool_results=results, history=history, task_state=state)
    # The task's state stands before the calls: the model goes on from their results.
    assert roles(messages) == ["user", "system", "assistant", "tool", "tool", "tool"]
    assert [message["content"] for message in messages[3:]] == ["B", "A", "C"]
    assert_valid(messages)
    messages = protocol.prepare_context("and now?", results, history=history)
    assert roles(messages) == ["user", "assistant", "tool", "tool", "tool", "user"]
    assert_valid(messages)
    # Two calls of one id: a result each.
    twice = [user("q"), asked("x", "x"), answer("x", "1")]
    messages = protocol.prepare_context(tool_results=[protocol.handle_tool_result("x", "2")], history=twice)
    assert [message["content"] for message in messages[2:]] == ["1", "2"]
    assert_valid(messages)


def test_results_of_which_only_the_id_is_known_are_no_tool_messages() -> None:
    protocol = ContextProtocol()
    image = [{"type": "text", "text": "a chart"}, {"type": "image_url", "image_url": {"url": "https://x/y.png"}}]
    results = [protocol.handle_tool_result("c1", "text"), protocol.handle_tool_result("c2", image)]
    messages = protocol.prepare_context("q", results)
    assert roles(messages) == ["user", "user", "user"]
    assert messages[1]["content"] == "[Result of tool call c1]\ntext"
    assert messages[2]["content"][0] == {"type": "text", "text": "[Result of tool call c2]"}
    assert [entry for entry in messages.audit_trail if entry["action"] == "call_added"] == [
        {"action": "call_added", "tool_call_id": "c1", "known": False},
        {"action": "call_added", "tool_call_id": "c2", "known": False},
    ]
    # With the assistant message at hand, it is that one's.
    messages = protocol.prepare_context("q", results, tool_calls=asked("c1", "c2", content="hm"))
    assert roles(messages) == ["user", "assistant", "tool", "tool"]
    assert messages[1]["content"] == "hm"
    assert_valid(messages)


def test_calls_in_the_words_of_other_apis() -> None:
    protocol = ContextProtocol()
    blocks = [{"type": "text", "text": "hm"}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"at": 1}}]
    results = [protocol.handle_tool_result("c1", "found")]
    messages = protocol.prepare_context("q", results, tool_calls={"role": "assistant", "content": blocks})
    assert roles(messages) == ["user", "assistant", "tool"]
    assert json.loads(messages[1]["tool_calls"][0]["function"]["arguments"]) == {"at": 1}
    assert_valid(messages)
    assert protocol.prepare_context(history=[MappingProxyType(user("a mapping"))]) == [user("a mapping")]


def test_a_router_and_the_protocol() -> None:
    protocol = ContextProtocol()
    router = ToolCallRouter(lambda call, raw: protocol.handle_tool_result(call, raw))
    message = asked("a", "b")
    router.expect(message)
    router.deliver("b", "B")
    router.deliver("a", "A")
    messages = protocol.prepare_context(history=[user("q"), message, *router.chunks()])
    assert [one["content"] for one in messages[2:]] == ["A", "B"]
    assert_valid(messages)


def test_everything_that_a_model_sees_is_redacted() -> None:
    tokens = [random_token(at) for at in range(9)]
    memory = Memory(MemoryQueryResult(f"The token is {tokens[0]}.", 0.9, "user_default", "m"))
    state = TaskStateEnvelope("t1")
    state.add_artifact("env", "p", f"environment with {tokens[1]}", 10, [tokens[2]])
    history = [
        {"role": "system", "content": f"old {tokens[3]}"},
        user(f"mine is {tokens[4]}"),
        {"role": "assistant", "content": None, "tool_calls": [call("c", json.dumps({"auth": tokens[5]}))]},
        answer("c", f"ok {tokens[6]}"),
    ]
    protocol = ContextProtocol(memory_backend=memory)
    messages = protocol.prepare_context(
        [{"type": "text", "text": f"see {tokens[7]}"}],
        [protocol.handle_tool_result("d", {"key": tokens[8]})],
        state,
        f"You know {tokens[0]}",
        "token",
        history=history,
    )
    assert not any(token[4:] in json.dumps(messages) for token in tokens)
    assert ContextDebugKit.assert_no_secrets(messages)
    found = [
        (entry.get("place") or entry["tool_call_id"], entry["secrets_found"])
        for entry in messages.audit_trail
        if entry["action"] == "secret_redacted"
    ]
    assert found == [
        *[("system", 1), ("history", 1), ("history", 1), ("history", 1), ("history", 1)],
        *[("user_messages", 1), ("memory", 1), ("task_state", 2), ("d", 1)],
    ]
    assert history[1]["content"] == f"mine is {tokens[4]}"
    assert not any(token[4:] in json.dumps(messages.audit_trail) for token in tokens)


def test_what_holds_messages_together_stays_as_it_is() -> None:
    odd = random_token(3)  # no id that an API gives, and still it must pair
    history = [
        user("q"),
        {"role": "assistant", "content": f"token {odd}", "tool_calls": [call(odd)]},
        answer(odd, f"token {odd}"),
    ]
    messages = ContextProtocol().prepare_context(history=history)
    assert messages[1]["tool_calls"][0]["id"] == messages[2]["tool_call_id"] == odd
    assert odd not in f"{messages[1]['content']} {messages[2]['content']}"
    assert_valid(messages)
    # It stays, and the trail says so.
    left = [entry for entry in messages.audit_trail if entry["action"] == "secret_left"]
    assert [(entry["place"], entry["secrets_found"]) for entry in left] == [("history", 1), ("history", 1)]
    assert odd not in json.dumps(messages.audit_trail)


def media(kind: str, data: str) -> list[dict[str, Any]]:
    """A content part with these bytes in the form of each API."""
    name, audio = kind.partition("/")[2], kind.startswith("audio/")
    url = f"data:{kind};base64,{data}"
    return [
        {"type": "image_url", "image_url": {"url": url}},
        {"type": "input_image", "image_url": url},
        {"type": "file", "file": {"filename": "a", "file_data": url}},
        {"type": "image", "source": {"type": "base64", "media_type": kind, "data": data}},
        {"inlineData": {"mimeType": kind, "data": data}},
        {"inline_data": {"mime_type": kind, "data": data}},
        {"type": "image", "mimeType": kind, "data": data},
        *([{"type": "input_audio", "input_audio": {"data": data, "format": name}}] if audio else []),
    ]


@pytest.mark.parametrize(
    ("kind", "beginning"),
    [
        ("image/png", b"\x89PNG\r\n\x1a\n"),
        ("image/jpeg", b"\xff\xd8\xff\xe0"),
        ("audio/wav", b"RIFF\x24\x08\0\0WAVE"),
        ("application/pdf", b"%PDF-1.7\n"),
        ("video/mp4", b"\0\0\0\x18ftypmp42"),
    ],
)
def test_media_pass_as_they_are_and_text_in_their_place_does_not(kind: str, beginning: bytes) -> None:
    data = base64.b64encode(beginning + bytes(range(256))).decode()
    alarm = data[60:90]
    protocol = ContextProtocol(100_000, policy=ContextPolicy(redactor=Redactor(known_values={"K": alarm})))
    real = [{"role": "user", "content": [part]} for part in media(kind, data)]
    assert protocol.prepare_context(history=real) == real
    assert not any(entry["action"].startswith("secret") for entry in protocol.audit_trail)
    # No file begins so, it is of another kind than it says, or it is more than base64.
    wrong = "image/png" if kind == "application/pdf" else "application/pdf"
    fakes = [
        *media(kind, base64.b64encode(b"some text: ").decode() + alarm),
        *media(kind, f"{data[:40]} {alarm} and a text that says: more"),
        *media("text/plain", data),
        *media(wrong, data),
    ]
    for part in fakes:
        messages = protocol.prepare_context(history=[{"role": "user", "content": [part]}])
        assert alarm not in json.dumps(messages), part.keys()
        assert [entry["action"] for entry in messages.audit_trail] == ["secret_redacted", "context_prepared"]


@pytest.mark.parametrize("seed", range(3))
def test_what_only_looks_like_structure_is_redacted(seed: int) -> None:
    token = random_token(seed)
    around = [f"data:;base64,{token}", f"data:text/plain;base64,aGk= {token}", f"data:image/png;base64,{token}"]
    block = {"type": "tool_use", "id": "t1", "name": "f", "input": {"id": token, "type": token, "url": around[0]}}
    history = [
        user(around[0]),
        {"role": "user", "content": [{"type": "text", "text": around[1]}]},
        {"role": "user", "content": [{"type": "image_url", "image_url": {"url": around[1]}}]},
        {"role": "assistant", "content": [block]},
    ]
    messages = ContextProtocol().prepare_context(around[2], system_prompt=around[0], history=history)
    assert token not in json.dumps(messages)
    found = [entry for entry in messages.audit_trail if entry["action"] == "secret_redacted"]
    assert [(entry["place"], entry["secrets_found"]) for entry in found] == [
        *[("system", 1), ("history", 1), ("history", 1), ("history", 1), ("history", 3), ("user_messages", 1)]
    ]


def test_a_result_that_is_told_already_is_not_told_again() -> None:
    protocol = ContextProtocol()
    request = ToolCallRequest("c1", "look", {})
    late = protocol.handle_tool_result(request, "again")
    for history in ([user("q"), asked("c1"), answer("c1")], [user("q"), asked("c1", "c2"), answer("c1")]):
        messages = protocol.prepare_context(tool_results=[late], history=history)
        assert [one["content"] for one in messages if one["role"] == "tool"] == ["found"]
        assert messages.audit_trail[0] == {"action": "result_repeated", "tool_call_id": "c1"}
    # Of two results of one call the first counts.
    messages = protocol.prepare_context("q", [protocol.handle_tool_result(request, "first"), late])
    assert roles(messages) == ["user", "assistant", "tool"]
    assert (len(messages[1]["tool_calls"]), messages[2]["content"]) == (1, "first")
    assert_valid(messages)
    # An id that is asked again is another call.
    over = [user("q"), asked("c1"), answer("c1"), {"role": "assistant", "content": "done"}]
    messages = protocol.prepare_context("more", [late], history=over, tool_calls=[request])
    assert [message["content"] for message in messages if message["role"] == "tool"] == ["found", "again"]
    twice = [protocol.handle_tool_result("x", "1"), protocol.handle_tool_result("x", "2")]
    messages = protocol.prepare_context("q", twice, tool_calls=asked("x", "x"))
    assert [message["content"] for message in messages[2:]] == ["1", "2"]
    assert_valid(messages)


@pytest.mark.parametrize("given", [None, 7, "text"])
def test_a_backend_that_gives_no_memories_is_told(given: Any) -> None:
    backend = Memory()
    backend.found = given
    protocol = ContextProtocol(memory_backend=backend)
    with pytest.raises(ConfigTypeError, match="search"):
        protocol.prepare_context("q", memory_query="q")
    with pytest.raises(ConfigTypeError, match="search"):
        protocol.query_memory("q")
    with pytest.raises(ConfigTypeError, match="search"):
        protocol.persist_memory("The build needs Rust 1.85 and Python 3.11 on every machine.")


class Failing:
    """A store of somebody else's, whose errors quote what they were given."""

    waits = False

    def read(self, pointer: str) -> Any:
        raise ConnectionError(pointer)

    def save(self, key: str, value: Any) -> Any:
        if self.waits:

            async def save() -> None: ...

            return save()
        raise ConnectionError(f"{key}: {value}")


@pytest.mark.parametrize(("waits", "told"), [(False, "ConnectionError"), (True, "coroutine")])
def test_a_store_that_fails_is_an_artifact_error_that_quotes_nothing(waits: bool, told: str) -> None:
    token, store = random_token(5), Failing()
    store.waits = waits
    state = TaskStateEnvelope("t1", artifact_store=store)
    with pytest.raises(ArtifactError, match=told) as first:
        ContextProtocol(artifact_store=store).register_task(state)
    with pytest.raises(ArtifactError, match=told) as second:
        state.store_artifact("analysis", token, "what was found")
    for caught in (first, second):
        assert token not in str(caught.value)
        assert caught.value.__context__ is None


def test_a_store_that_would_have_to_be_awaited_or_has_no_such_key_is_told() -> None:
    class Later:
        async def read(self, pointer: str) -> str:
            return pointer

    class Keys:
        def read(self, pointer: str) -> str:
            return dict[str, str]()[pointer]

    state = TaskStateEnvelope("t1", artifact_store=Later())
    state.add_artifact("notes", "p", "notes", 10)
    found = state.declare_fields(["note"])
    assert (found.missing, len(found.problems)) == (("note",), 1)
    assert "coroutine" in str(found.problems[0])
    with pytest.raises(ArtifactError, match="coroutine"):
        ContextProtocol(artifact_store=Later()).get_task_state("t1", ["note"])
    with pytest.raises(TaskIdError):
        ContextProtocol(artifact_store=Keys()).get_task_state("t1", ["note"])


def test_fields_go_through_the_policy_of_each_protocol() -> None:
    store = {"p": '{"note": "of acme-blue-house"}'}
    state = TaskStateEnvelope("t1")
    state.add_artifact("notes", "p", "notes", 10)
    strict = ContextPolicy(redactor=Redactor(known_values={"ACME": "acme-blue-house"}))
    found = []
    for policy in (POLICY, strict, POLICY):
        protocol = ContextProtocol(policy=policy, artifact_store=store)
        protocol.prepare_context("q", task_state=state)
        found.append(protocol.get_task_state("t1", ["note"])["note"])
    assert found == ["of acme-blue-house", "of [ACME:REDACTED]", "of acme-blue-house"]
    assert (state._artifact_store, state._redactor) == (None, None)


def test_a_store_that_keeps_text_gives_states_back() -> None:
    texts = {"ctxproto:task:t1": json.dumps(TaskStateEnvelope("t1").to_dict()), "ctxproto:task:t2": "no state"}
    protocol = ContextProtocol(artifact_store=texts)
    assert protocol.get_task_state("t1", ["a"]).missing == ("a",)
    with pytest.raises(InputTypeError):
        protocol.get_task_state("t2", ["a"])


def test_an_audit_trail_holds_nothing_to_redact() -> None:
    protocol = ContextProtocol()
    trail = protocol.prepare_context(random_token(6)).audit_trail
    assert trail[0]["action"] == "secret_redacted"
    assert Redactor().redact_json(trail).findings == ()


def test_messages_that_hold_nothing_are_the_same_objects() -> None:
    history = [user("q"), {"role": "assistant", "content": "a"}, user(random_token(1))]
    messages = ContextProtocol().prepare_context("now", history=history)
    assert [given is kept for given, kept in zip(history, messages, strict=False)] == [True, True, False]


contents = st.one_of(any_text, st.text(max_size=300), st.sampled_from(["a line of a log\n" * 60, '{"a": [1, 2, 3]}']))


@st.composite
def conversations(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[str]]:
    """A history with calls, some of them unanswered, late or doubled, and secrets planted in it."""
    history: list[dict[str, Any]] = []
    planted: list[str] = []
    for at in range(draw(st.integers(0, 6))):
        text = draw(contents)
        if draw(st.booleans()):
            planted.append(draw(github_tokens))
            text = f"{text} {planted[-1]} "
        kind = draw(st.sampled_from(["user", "assistant", "calls", "system", "orphan"]))
        if kind == "calls":
            names = [f"c{at}_{n}" for n in range(draw(st.integers(1, 3)))]
            history.append(asked(*names, content=text))
            history += [answer(name, draw(contents)) for name in draw(st.permutations(names))]
            if draw(st.booleans()):
                history.pop()
        elif kind == "orphan":
            history.append(answer(f"o{at}", text))
        else:
            history.append({"role": kind, "content": text})
    return history, planted


@settings(max_examples=150, deadline=None)
@given(conversations(), contents, st.lists(contents, max_size=3), st.integers(200, 3000), st.booleans())
def test_whatever_comes_in_is_valid_clean_and_within_its_budget(
    conversation: tuple[list[dict[str, Any]], list[str]], now: str, raw: list[str], most: int, known: bool
) -> None:
    history, planted = conversation
    before = json.dumps(history)
    protocol = ContextProtocol(most)
    results = [
        protocol.handle_tool_result(ToolCallRequest(f"r{at}", "f") if known else f"r{at}", text, 50)
        for at, text in enumerate(raw)
    ]
    try:
        messages = protocol.prepare_context(now, results, system_prompt="be terse", history=history)
    except BudgetError as error:
        assert error.needed is None or error.needed > most  # noqa: PT017 - one of two outcomes
        return
    assert json.dumps(history) == before
    assert_valid(messages, pending=not now and not results)
    assert TOKENIZER.count_messages(messages).total == messages.report.tokens <= most
    assert not any(token[4:] in json.dumps(messages) for token in planted)
    assert protocol.token_budget.utilization == messages.report.tokens / most
    again = protocol.prepare_context(now, results, system_prompt="be terse", history=history)
    assert (again, again.audit_trail) == (messages, messages.audit_trail)


def test_no_call_leaves_anything_for_the_next() -> None:
    protocol = ContextProtocol(500)
    first = protocol.prepare_context("q", system_prompt="s")
    trail, used = protocol.audit_trail, protocol.token_budget.utilization
    for _ in range(20):
        protocol.prepare_context("long " * 100, history=[user("x " * 300)])
    assert protocol.prepare_context("q", system_prompt="s") == first
    assert (protocol.audit_trail, protocol.token_budget.utilization) == (trail, used)


def test_results_are_not_held_longer_than_they_are_wanted() -> None:
    protocol = ContextProtocol()
    envelope = protocol.handle_tool_result("c", "x" * 1000)
    protocol.prepare_context("q", [envelope])
    assert protocol.stats["tool_results_cached"] == 1
    del envelope
    gc.collect()
    assert protocol.stats["tool_results_cached"] == 0


def test_what_must_stay_and_does_not_fit_is_an_error() -> None:
    with pytest.raises(BudgetError) as caught:
        ContextProtocol(50).prepare_context("word " * 200)
    assert caught.value.needed is not None
    assert caught.value.needed > 200


def test_a_policy_is_enforced_below() -> None:
    policy = ContextPolicy(
        max_context_tokens=900,
        reserve=100,
        max_tool_tokens=40,
        redactor=Redactor(known_values=["the known value"]),
        relevance_threshold=0.5,
        max_memory_tokens=10,
        write_memory=False,
    )
    memory = Memory(
        MemoryQueryResult("It is tea.", 0.6, "user_default", "1"),
        MemoryQueryResult("word " * 50, 0.9, "user_default", "2"),
    )
    protocol = ContextProtocol(policy=policy, memory_backend=memory)
    envelope = protocol.handle_tool_result("c", "line\n" * 500 + "see the known value")
    messages = protocol.prepare_context("q", [envelope], memory_query="drink")
    assert TOKENIZER.count(envelope.to_context_chunk()["content"]) <= 40
    assert messages[1]["content"] == "[Memory context — relevance 0.60]:\nIt is tea."
    assert "known value" not in json.dumps(messages)
    assert (messages.report.max_tokens, messages.report.reserve) == (900, 100)
    assert not protocol.persist_memory("A conclusion that is long enough to be worth it, by all the rules there are.")
    assert memory.saved == []
    off = ContextProtocol(policy=ContextPolicy(read_memory=False), memory_backend=memory)
    memory.asked.clear()
    assert (len(off.prepare_context("q", memory_query="drink")), off.query_memory("drink")) == (1, [])
    assert memory.asked == []


def test_tools_have_rules_of_their_own() -> None:
    rules = {
        "get_user": ToolRule(strategy="field_whitelist", fields=["name", "orders.*.id"]),
        "read_log": ToolRule(max_tokens=40, strategy="last_n", hint="read_log(from=0)"),
    }
    protocol = ContextProtocol(policy=ContextPolicy(max_tool_tokens=300, tool_rules=rules))

    def content(tool: str, raw: Any, most: int | None = None) -> str:
        result = protocol.handle_tool_result(ToolCallRequest("c", tool), raw, most)
        return str(result.to_context_chunk()["content"])

    person = {"name": "ada", "notes": "long", "orders": [{"id": 1, "x": 2}, {"id": 2, "x": 3}]}
    assert json.loads(content("get_user", person)) == {"name": "ada", "orders": [{"id": 1}, {"id": 2}]}
    log = "\n".join(f"line {at}" for at in range(500))
    assert content("read_log", log).endswith("line 499")
    assert "read_log(from=0)" in content("read_log", log)
    assert TOKENIZER.count(content("read_log", log)) <= 40 < TOKENIZER.count(content("read_log", log, 90)) <= 90
    assert 90 < TOKENIZER.count(content("another", log)) <= 300
    with pytest.raises(ConfigError, match="fields is empty"):
        ToolRule(strategy="field_whitelist")


def test_a_policy_counts_and_cuts_by_a_function() -> None:
    def words(text: str) -> int:
        return len(text.split()) + len(text) // 7

    policy = ContextPolicy(max_tool_tokens=60, tokenizer=Tokenizer.from_callable(words))
    log = "\n".join(f"line {at}" for at in range(500))
    result = ContextProtocol(policy=policy).handle_tool_result(ToolCallRequest("c", "look"), log)
    content = str(result.to_context_chunk()["content"])
    assert 30 < words(content) <= 60 < TOKENIZER.count(log)


def test_tools_of_a_policy_may_be_a_generator() -> None:
    tool = {"type": "function", "function": {"name": "look", "description": "looks " * 20}}
    policy = ContextPolicy(tools=(one for one in [tool]))
    prepared = [ContextProtocol(most, policy=policy).prepare_context("q") for most in (8000, 4000)]
    assert [one.report.tokens for one in prepared] == [TOKENIZER.count_messages([user("q")], [tool]).total] * 2


def test_no_backend_sees_a_namespace_that_is_none() -> None:
    memory = Memory()
    protocol = ContextProtocol(memory_backend=memory)
    for call_ in (lambda: protocol.query_memory("q", ""), lambda: protocol.persist_memory(FACT, "user_42:")):
        with pytest.raises(ConfigError, match="namespace"):
            call_()
    assert memory.asked == []


def test_memory_of_others_is_not_seen() -> None:
    memory = Memory(
        MemoryQueryResult("mine", 0.9, "user_42:session_a", "1"),
        MemoryQueryResult("of another session", 0.9, "user_42:session_b", "2"),
        MemoryQueryResult("of another user", 0.9, "user_421", "3"),
    )
    protocol = ContextProtocol(memory_backend=memory, user_id="42", session_id="a")
    messages = protocol.prepare_context("q", memory_query="x")
    assert messages[1]["content"].endswith("\nmine")
    assert memory.asked == [("x", "user_42:")]
    assert [one["content"] for one in protocol.query_memory("x")] == ["mine", "of another session"]
    assert [one["content"] for one in protocol.query_memory("x", "user_42:session_a")] == ["mine"]


FACT = "Project X uses pip-tools for its dependencies, with hashes for every requirement."


def test_what_is_remembered_is_judged() -> None:
    store = MemoryStore(":memory:")
    protocol = ContextProtocol(
        memory_backend=store, user_id="42", session_id="a", policy=ContextPolicy(relevance_threshold=0)
    )
    assert protocol.persist_memory(f"{FACT} The token is {random_token(2)}.")
    assert not protocol.persist_memory(f"{FACT} The token is {random_token(2)}.")
    (record,) = store.list("*")
    assert (str(record.namespace), "[GITHUB_TOKEN:REDACTED]" in record.content) == ("user_42:session_a", True)
    assert protocol.stats["memory"]["writes"] == 1
    messages = protocol.prepare_context("q", memory_query="which tools for dependencies", system_prompt=f"Know: {FACT}")
    assert [entry["chunks"] for entry in messages.audit_trail if entry["action"] == "memory_read"] == [1]
    # What the prompt said is an echo.
    assert not protocol.persist_memory(FACT, "user_42")
    assert not ContextProtocol().persist_memory(FACT)


def test_the_state_of_tasks_is_found_again_in_another_process() -> None:
    store = InMemoryArtifactStore()
    first = ContextProtocol(artifact_store=store)
    state = TaskStateEnvelope("t1", artifact_store=store)
    state.store_artifact("results", {"cagr": "18.4%", "token": random_token(1)}, "results")
    first.register_task(state)
    # Another process has the store alone.
    second = ContextProtocol(artifact_store=store)
    found = second.get_task_state("t1", ["cagr", "token", "none"])
    assert (found, found.missing) == ({"cagr": "18.4%", "token": "[GITHUB_TOKEN:REDACTED]"}, ("none",))
    with pytest.raises(TaskIdError, match="neither prepared nor registered"):
        second.get_task_state("t2", ["cagr"])
    with pytest.raises(TaskIdError):
        ContextProtocol().get_task_state("t1", [])
    with pytest.raises(ArtifactError, match="no artifact store"):
        ContextProtocol().register_task(state)
    held = store._held
    for place in list(held):
        held[place] = b"damaged"
    with pytest.raises((ArtifactError, ValueError)):
        ContextProtocol(artifact_store=store).get_task_state("t1", ["cagr"])


class Sink:
    def __init__(self) -> None:
        self.got: list[tuple[list[AuditRecord], AuditContext]] = []

    def write(self, records: Sequence[AuditRecord], context: AuditContext) -> None:
        self.got.append((list(records), context))


def test_sinks_are_given_every_record_once() -> None:
    sink = Sink()
    protocol = ContextProtocol(60, sinks=[sink], conversation_id="conversation-7")
    messages = protocol.prepare_context("q", history=[user("old " * 200), {"role": "assistant", "content": "yes"}])
    ((records, context),) = sink.got
    assert tuple(records) == messages.audit_records
    assert (context.conversation_id, context.max_tokens, context.tokens) == (
        "conversation-7",
        60,
        messages.report.tokens,
    )
    assert context.started <= context.ended
    dropped = [record.to_dict() for record in records if record.action == "messages_changed"]
    assert [entry["change"] for entry in dropped]
    assert "old" not in json.dumps([record.to_dict() for record in records])

    class Full(Sink):
        def write(self, records: Sequence[AuditRecord], context: AuditContext) -> None:  # noqa: ARG002
            raise OSError("full")

    with pytest.raises(OSError, match="full"):
        ContextProtocol(sinks=[Full()]).prepare_context("q")


def test_threads_share_a_policy_and_a_protocol() -> None:
    shared = ContextProtocol(2000, policy=POLICY)
    errors: list[BaseException] = []

    def work(number: int) -> None:
        try:
            own = ContextProtocol(2000, policy=POLICY, conversation_id=str(number))
            token = random_token(number)
            for at in range(30):
                history = [user(f"I am {number}: {token}")] * (at % 5)
                for protocol in (own, shared):
                    messages = protocol.prepare_context(f"{number} says {at}", history=history)
                    assert messages[-1]["content"] == f"{number} says {at}"
                    assert len(messages) == 1 + at % 5
                    assert token[4:] not in json.dumps(messages)
                assert own.audit_trail == own.prepare_context(f"{number} says {at}", history=history).audit_trail
        except BaseException as error:  # noqa: BLE001 - whatever it is
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


class SlowMemory:
    """Only for those who wait."""

    def __init__(self) -> None:
        self.saved: list[str] = []

    async def search(self, query: str, namespace: str) -> list[MemoryQueryResult]:  # noqa: ARG002
        await asyncio.sleep(0.001)
        return [MemoryQueryResult(f"about {query}", 0.9, "user_default", "m")]

    async def save(self, namespace: str, content: str) -> None:  # noqa: ARG002
        await asyncio.sleep(0.001)
        self.saved.append(content)


def test_the_twin_gives_the_same() -> None:
    memory = SlowMemory()
    store = InMemoryArtifactStore()
    state = TaskStateEnvelope("t1", artifact_store=store)
    state.store_artifact("results", {"cagr": "18.4%"}, "results")

    async def talk() -> None:
        protocol = AsyncContextProtocol(2000, memory, store)

        async def one(at: int) -> None:
            messages = await protocol.prepare_context(f"q{at}", memory_query=f"m{at}")
            assert [message["content"] for message in messages] == [
                f"q{at}",
                f"[Memory context — relevance 0.90]:\nabout m{at}",
            ]
            assert [entry["action"] for entry in messages.audit_trail] == ["memory_read", "context_prepared"]

        await asyncio.gather(*(one(at) for at in range(20)))
        assert await protocol.query_memory("x") == [{"content": "about x", "score": 0.9, "namespace": "user_default"}]
        assert await protocol.persist_memory(FACT)
        assert memory.saved == [FACT]
        await protocol.register_task(state)
        assert await protocol.get_task_state("t1", ["cagr"]) == {"cagr": "18.4%"}
        plain = AsyncContextProtocol(memory_backend=Memory(MemoryQueryResult("x", 0.9, "user_default", "m")))
        sync = ContextProtocol(memory_backend=Memory(MemoryQueryResult("x", 0.9, "user_default", "m")))
        given: dict[str, Any] = {"system_prompt": "s", "memory_query": "m", "history": [user("before")]}
        envelope = plain.handle_tool_result("c", "result")
        assert await plain.prepare_context("q", [envelope], **given) == sync.prepare_context("q", [envelope], **given)

    asyncio.run(talk())


def test_real_runs_at_every_step(corpora: Path) -> None:
    lines = (corpora / "agents" / "tau-bench-airline.jsonl").read_text().splitlines()[:12]
    for line in lines:
        messages = json.loads(line)["messages"]
        protocol = {most: ContextProtocol(most) for most in (4000, 8000)}
        for end in range(2, len(messages) + 1):
            for most, one in protocol.items():
                prepared = one.prepare_context(history=messages[:end])
                assert_valid(prepared, pending=True)
                assert prepared.report.tokens <= most


def test_what_is_no_argument() -> None:
    protocol = ContextProtocol()
    cases: list[dict[str, Any]] = [{"tool_results": ["x"]}, {"task_state": {}}, {"history": ["x"]}, {"user_message": 3}]
    for wrong in cases:
        with pytest.raises(ConfigTypeError, match=next(iter(wrong))):
            protocol.prepare_context(**wrong)
