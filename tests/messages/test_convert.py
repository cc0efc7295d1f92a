"""From one API's form to another's."""

from __future__ import annotations

import base64
import copy
import json
from types import GenericAlias
from typing import Any

import pytest
from conversations import FORMATS, Chat, a_call, asks, comparable, conversations, real_runs, result, says
from ctxproto import InputError, InputTypeError, Message, convert, pairing_problems
from hypothesis import given, settings

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,iVBORw0KGgo="}}

ANTHROPIC: dict[str, Any] = {
    "system": [{"type": "text", "text": "Be terse.", "cache_control": {"type": "ephemeral"}}],
    "messages": [
        {"role": "user", "content": [{"type": "text", "text": "Weather in Paris and Rome?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Two calls.", "signature": "c2lnbmF0dXJl"},
                {"type": "redacted_thinking", "data": "ZW5jcnlwdGVk"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "toolu_1", "name": "weather", "input": {"city": "Paris"}},
                {"type": "text", "text": "And the other."},
                {"type": "tool_use", "id": "toolu_2", "name": "weather", "input": {"city": "Rome"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "toolu_2", "content": "no such city", "is_error": True},
                {
                    "type": "tool_result",
                    "tool_use_id": "toolu_1",
                    "content": [
                        {"type": "text", "text": "21 degrees"},
                        {
                            "type": "image",
                            "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="},
                        },
                    ],
                    "cache_control": {"type": "ephemeral"},
                },
                {"type": "text", "text": "Also tomorrow."},
            ],
        },
        {"role": "assistant", "content": [{"type": "text", "text": "Sunny."}]},
    ],
}

GEMINI: dict[str, Any] = {
    "system_instruction": {"parts": [{"text": "Be terse."}]},
    "contents": [
        {
            "role": "user",
            "parts": [{"text": "Weather?"}, {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}}],
        },
        {
            "role": "model",
            "parts": [
                {"text": "Two calls.", "thought": True},
                {"function_call": {"name": "weather", "args": {"city": "Paris"}}, "thought_signature": "c2ln"},
                {"function_call": {"name": "weather", "args": {"city": "Rome"}}},
                {"function_call": {"name": "time", "args": {}, "id": "own-id"}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"function_response": {"name": "weather", "response": {"output": "21 degrees"}}},
                {"function_response": {"name": "weather", "response": {"error": "no such city"}}},
                {"function_response": {"name": "time", "response": {"hour": 7, "zone": "CET"}, "id": "own-id"}},
            ],
        },
        {"role": "model", "parts": [{"text": "Sunny.", "thought_signature": "c2ln"}]},
        {"role": "user", "parts": [{"executable_code": {"language": "PYTHON", "code": "1"}}]},
    ],
}

RESPONSES: Chat = [
    {"type": "message", "role": "developer", "content": "Be terse."},
    {
        "type": "message",
        "role": "user",
        "content": [
            {"type": "input_text", "text": "Weather?"},
            {"type": "input_image", "image_url": "https://example.com/sky.jpg", "detail": "low"},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [{"type": "summary_text", "text": "Two calls."}]},
    {
        "type": "message",
        "role": "assistant",
        "id": "msg_1",
        "status": "completed",
        "content": [{"type": "output_text", "text": "I look.", "annotations": []}],
    },
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": '{"city":"Paris"}', "id": "fc_1"},
    {"type": "custom_tool_call", "call_id": "call_2", "name": "run", "input": "print(1)"},
    {"type": "custom_tool_call_output", "call_id": "call_2", "output": "1"},
    {
        "type": "function_call_output",
        "call_id": "call_1",
        "output": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}],
    },
    {"type": "message", "role": "assistant", "content": "Sunny."},
]


@pytest.mark.parametrize(("name", "request_"), [("anthropic", ANTHROPIC), ("gemini", GEMINI), ("responses", RESPONSES)])
def test_the_way_back_loses_nothing(name: Any, request_: Any) -> None:
    before = copy.deepcopy(request_)
    native = convert(request_, name, "native")
    assert convert(native, "native", name) == before
    assert request_ == before, "it was changed"
    assert pairing_problems(request_, name) == []
    assert pairing_problems(native, "native") == []


@pytest.mark.parametrize(("name", "request_"), [("anthropic", ANTHROPIC), ("gemini", GEMINI), ("responses", RESPONSES)])
def test_openai_gets_only_what_it_knows(name: Any, request_: Any) -> None:
    if name == "gemini":
        request_ = {**request_, "contents": request_["contents"][:-1]}
    chat = convert(request_, name, "openai")
    assert pairing_problems(chat, "openai") == []
    for message in chat:
        assert set(message) <= {"role", "content", "tool_calls", "tool_call_id"}
        for part in message["content"] if isinstance(message["content"], list) else ():
            assert part["type"] in ("text", "image_url")
        for call in message.get("tool_calls", ()):
            assert set(call) in ({"id", "type", "function"}, {"id", "type", "custom"})
    if name != "responses":
        assert any(m["role"] == "tool" and m["content"] == "[error] no such city" for m in chat)


def test_json_of_gemini_is_read_as_well() -> None:
    camel = {
        "systemInstruction": {"parts": [{"text": "Be terse."}]},
        "contents": [
            {"role": "user", "parts": [{"text": "Hello"}]},
            {"role": "model", "parts": [{"functionCall": {"name": "f", "args": {}}, "thoughtSignature": "c2ln"}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "f", "response": {"output": "1"}}}]},
        ],
    }
    back = convert(convert(camel, "gemini", "native"), "native", "gemini")
    text = json.dumps(camel)
    for word in ("systemInstruction", "functionCall", "functionResponse", "thoughtSignature"):
        text = text.replace(word, "".join(f"_{c.lower()}" if c.isupper() else c for c in word))
    assert back == json.loads(text)


@settings(max_examples=150, deadline=None)
@given(conversations())
def test_made_conversations_round_trip(chat: Chat) -> None:
    for name in FORMATS:
        there = convert(chat, "openai", name)
        assert pairing_problems(there, name, pending=False) == []
        assert comparable(convert(there, name, "openai")) == comparable(chat)
        for other in FORMATS:
            beyond = convert(there, name, other)
            assert pairing_problems(beyond, other, pending=False) == []
            assert comparable(convert(beyond, other, "openai")) == comparable(chat)


def test_real_runs_round_trip() -> None:
    for run in real_runs():
        for name in FORMATS:
            there = convert(run, "openai", name)
            assert pairing_problems(there, name) == []
            assert comparable(convert(there, name, "openai")) == comparable(run)


def test_logs_that_list_the_ids_of_calls() -> None:
    chat = [says("user"), asks("a"), {"role": "tool", "content": "done", "tool_call_ids": ["a"], "agent": "main"}]
    assert convert(chat, "openai", "openai")[-1] == {"role": "tool", "content": "done", "tool_call_id": "a"}


def test_arguments_that_are_no_json_come_back() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [a_call("a", arguments='{"q": unfinished')]}
    chat = [says("user"), call, result("a")]
    for name in FORMATS:
        assert convert(convert(chat, "openai", name), name, "openai") == chat
    use = convert(chat, "openai", "anthropic")["messages"][1]["content"][0]
    assert use["input"] == {"invalid_arguments": '{"q": unfinished'}


def test_instructions_stand_together_where_an_api_wants_that() -> None:
    chat = [says("system", "one"), says("user"), says("system", "two"), says("assistant")]
    assert [part["text"] for part in convert(chat, "openai", "anthropic")["system"]] == ["one", "two"]
    assert convert(chat, "openai", "gemini")["system_instruction"] == {"parts": [{"text": "one"}, {"text": "two"}]}


@pytest.mark.parametrize("name", FORMATS)
def test_what_has_no_form_is_named(name: Any) -> None:
    audio = says("user", [{"type": "input_audio", "input_audio": {"data": "", "format": "wav"}}])
    if name == "openai":
        assert convert([audio], "openai", name) == [audio]
        return
    with pytest.raises(InputError, match=f"input_audio: {name} has no form for it"):
        convert([audio], "openai", name)


def test_thoughts_stay_with_their_provider() -> None:
    for other in ("gemini", "responses", "openai"):
        assert "signature" not in json.dumps(convert(ANTHROPIC, "anthropic", other))
    assert "Two calls" not in json.dumps(convert(RESPONSES, "responses", "anthropic"))
    gemini = {**GEMINI, "contents": GEMINI["contents"][:-1]}
    assert "c2ln" not in json.dumps(convert(gemini, "gemini", "anthropic"))


def test_sdk_types_accept_what_comes_out() -> None:
    """Second opinions; they know shapes, not pairs."""
    pydantic = pytest.importorskip("pydantic", reason="the SDKs are not installed")
    anthropic = pytest.importorskip("anthropic.types", reason="anthropic is not installed")
    openai = pytest.importorskip("openai.types.chat", reason="openai is not installed")
    responses = pytest.importorskip("openai.types.responses", reason="openai is not installed")
    genai = pytest.importorskip("google.genai.types", reason="google-genai is not installed")

    def several(kind: Any) -> Any:
        return pydantic.TypeAdapter(GenericAlias(list, (kind,)))

    chat_type = several(openai.ChatCompletionMessageParam)
    items_type = several(responses.ResponseInputItemParam)
    turns_type = several(anthropic.MessageParam)
    contents_type = several(genai.Content)
    chat = [says("system"), says("user", [{"type": "text", "text": "see"}, IMAGE]), asks("a", "b", content="I look.")]
    chat += [result("b"), result("a"), says("user"), says("assistant")]
    for native in (chat, convert(ANTHROPIC, "anthropic", "native")):
        chat_type.validate_python(convert(native, "native", "openai"))
        items_type.validate_python(convert(native, "native", "responses"))
        turns_type.validate_python(convert(native, "native", "anthropic")["messages"])
        contents_type.validate_python(_bytes(convert(native, "native", "gemini")["contents"]))
    with pytest.raises(pydantic.ValidationError):
        turns_type.validate_python(chat)


def _bytes(contents: Any) -> Any:
    """Signatures and data as the SDK wants them."""
    text = copy.deepcopy(contents)
    for content in text:
        for part in content["parts"]:
            if "inline_data" in part:
                part["inline_data"]["data"] = base64.b64decode(part["inline_data"]["data"])
    return text


def test_a_message_of_the_seed() -> None:
    message = Message.of({**asks("a"), "agent": "main"})
    assert message.to_openai() == asks("a")
    assert "some words" not in repr(Message("user", "some words"))
    with pytest.raises(InputTypeError, match="a message is a mapping with a role"):
        Message.of("user")


def test_no_format_gets_keys_of_anothers_parts() -> None:
    text = {"type": "text", "text": "x", "citations": [], "cache_control": {"type": "ephemeral"}}
    text |= {"annotations": [], "logprobs": [], "thought_signature": "c2ln"}
    native = [says("user", [dict(text), dict(text)]), says("assistant", [dict(text)])]
    keys = {
        "openai": {"type", "text"},
        "responses": {"type", "text", "annotations", "logprobs"},
        "anthropic": {"type", "text", "citations", "cache_control"},
        "gemini": {"text", "thought_signature"},
    }
    for name in FORMATS:
        there = convert(native, "native", name)
        turns = there if isinstance(there, list) else there.get("messages") or there["contents"]
        parts = [part for turn in turns for part in turn.get("content") or turn["parts"] if isinstance(part, dict)]
        assert len(parts) >= 2
        assert all(set(part) <= keys[name] for part in parts)


@pytest.mark.parametrize(
    "part",
    [
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "x"}},
        {"type": "input_file", "file_url": "https://example.com/a.pdf"},
        {"type": "gemini_part", "part": {"executable_code": {}}},
        {"type": "responses_item", "item": {"type": "web_search_call"}},
    ],
)
def test_openai_has_no_form_for_parts_of_others(part: Any) -> None:
    with pytest.raises(InputError, match=rf"messages\[0\].content\[0\] is of type {part['type']}: openai has no form"):
        convert([says("user", [part])], "native", "openai")


def test_images_among_results_go_to_a_message_that_may_have_them() -> None:
    chat = [says("user"), asks("a", "b"), result("a", [{"type": "text", "text": "see"}, IMAGE]), result("b", [IMAGE])]
    told = "(An image: it stands in the user's message after the results.)"
    expected = [*chat[:2], result("a", "see"), result("b", told), says("user", [IMAGE, IMAGE])]
    assert convert(chat, "native", "openai") == expected
    assert convert([*chat, says("assistant")], "native", "openai") == [*expected, says("assistant")]
    assert pairing_problems(expected, "openai") == []


def test_an_empty_message_stays_behind_its_reasoning() -> None:
    empty = {"type": "message", "role": "assistant", "content": ""}
    items = [{"type": "reasoning", "id": "rs_1", "summary": []}, empty, {**empty, "id": "msg_1"}]
    assert convert(items, "responses", "responses") == items


def test_files_of_openai() -> None:
    file = {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}
    items = [{"type": "message", "role": "user", "content": [{"type": "input_file", **file}]}]
    chat = [says("user", [{"type": "file", "file": file}])]
    assert convert(items, "responses", "openai") == chat
    assert convert(chat, "openai", "responses") == items
    by_url = [{"type": "message", "role": "user", "content": [{"type": "input_file", "file_url": "https://a.pdf"}]}]
    assert convert(by_url, "responses", "responses") == by_url


def test_items_that_only_responses_has_travel_as_they_are() -> None:
    searched = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search"}}
    items = [
        {"type": "message", "role": "user", "content": "x"},
        {"type": "reasoning", "id": "rs_1", "summary": []},
        searched,
        {"type": "function_call", "call_id": "a", "name": "f", "arguments": "{}", "id": "fc_1"},
        {"type": "computer_call", "call_id": "c", "action": {"type": "wait"}},
        {"type": "function_call_output", "call_id": "a", "output": "1"},
        searched,
        {"type": "message", "role": "assistant", "id": "msg_1", "content": [{"type": "output_text", "text": "y"}]},
        {"type": "item_reference", "id": "msg_0"},
    ]
    assert convert(items, "responses", "responses") == items
    assert pairing_problems(items, "responses", pending=False) == []
    with pytest.raises(InputError, match="responses_item: anthropic has no form for it"):
        convert(items, "responses", "anthropic")


def test_what_is_said_beside_the_content_is_said() -> None:
    chat = [says("user"), {"role": "assistant", "content": None, "refusal": "I cannot."}]
    assert convert(chat, "openai", "openai") == chat
    assert convert(chat, "openai", "anthropic")["messages"][1]["content"] == [{"type": "text", "text": "I cannot."}]
    assert convert(chat, "openai", "gemini")["contents"][1]["parts"] == [{"text": "I cannot."}]
    assert convert(chat, "openai", "responses")[1]["content"] == [{"type": "refusal", "refusal": "I cannot."}]
    old = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    with pytest.raises(InputError, match=r"messages\[0\].function_call is the form that was before `tool_calls`"):
        convert([old], "openai", "anthropic")


@pytest.mark.parametrize("written", ['{"x":NaN}', '{"x":-Infinity}', '{"x":[1e999]}'])
def test_arguments_hold_only_numbers_that_json_has(written: str) -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [a_call("a", arguments=written)]}
    for name in FORMATS:
        there = convert([says("user"), call, result("a")], "openai", name)
        json.dumps(there, allow_nan=False)
        assert convert(there, name, "openai")[1] == call


def test_half_an_emoji_in_arguments_can_be_sent() -> None:
    call = {"role": "assistant", "content": None, "tool_calls": [a_call("a", arguments='{"q":"\\ud83d é"}')]}
    back = convert(convert([says("user"), call], "openai", "anthropic"), "anthropic", "openai")
    back[1]["tool_calls"][0]["function"]["arguments"].encode()
    assert comparable(back) == comparable([says("user"), call])


def test_failed_results_with_parts_say_so() -> None:
    failed = {**result("a", [{"type": "text", "text": "no"}, IMAGE]), "is_error": True}
    native = [says("user"), asks("a"), failed, says("assistant")]
    assert convert(native, "native", "responses")[2]["output"][0]["text"] == "[error] no"
    assert convert(native, "native", "openai")[2]["content"] == "[error] no"
    failed["content"] = [IMAGE]
    assert convert(native, "native", "responses")[2]["output"][0]["text"] == "[error]"
    assert convert(native, "native", "openai")[2]["content"] == "[error]"


def test_ids_that_become_the_same_stay_two() -> None:
    chat = [says("user"), asks("f:0", "f.0"), result("f.0", "of the second"), result("f:0", "of the first")]
    back = convert(convert(chat, "openai", "anthropic"), "anthropic", "openai")
    of_call = dict(zip(["first", "second"], (call["id"] for call in back[1]["tool_calls"]), strict=True))
    said = {message["tool_call_id"]: message["content"] for message in back[2:]}
    assert said == {of_call["first"]: "of the first", of_call["second"]: "of the second"}


def test_objects_of_the_sdks_are_read_as_what_they_would_send() -> None:
    anthropic = pytest.importorskip("anthropic.types", reason="anthropic is not installed")
    openai = pytest.importorskip("openai.types", reason="openai is not installed")
    genai = pytest.importorskip("google.genai.types", reason="google-genai is not installed")

    blocks = [
        anthropic.ThinkingBlock(type="thinking", thinking="Two calls.", signature="c2ln"),
        anthropic.ToolUseBlock(type="tool_use", id="toolu_1", name="f", input={"a": 1}),
    ]
    plain = [{"type": block.type, **block.model_dump(exclude_unset=True)} for block in blocks]
    for name in ("anthropic", "openai", "gemini"):
        objects = {"messages": [says("user"), says("assistant", blocks)]}
        dicts = {"messages": [says("user"), says("assistant", plain)]}
        assert convert(objects, "anthropic", name) == convert(dicts, "anthropic", name)
        assert pairing_problems(objects, "anthropic", pending=False) == pairing_problems(
            dicts, "anthropic", pending=False
        )
    message = openai.chat.ChatCompletionMessage.model_validate({**asks("a"), "annotations": []})
    assert convert([says("user"), message], "openai", "openai") == [says("user"), asks("a")]
    item = openai.responses.ResponseFunctionToolCall(type="function_call", call_id="a", name="f", arguments="{}")
    assert convert([item], "responses", "responses") == [item.model_dump(exclude_unset=True)]

    data = b"\x89PNG\xfb\xef\xff"
    signed = genai.Part(text="hm", thought=True, thought_signature=b"\xfb\xff")
    content = genai.Content(role="user", parts=[genai.Part.from_bytes(data=data, mime_type="image/png"), signed])
    for turn in (content, content.model_dump(exclude_unset=True)):
        native = convert({"contents": [turn]}, "gemini", "native")
        assert native[0]["content"][0]["image_url"]["url"] == "data:image/png;base64," + base64.b64encode(data).decode()
        back = convert(native, "native", "gemini")["contents"][0]
        assert genai.Content.model_validate_json(json.dumps(back)) == content


def test_signatures_of_images_come_back() -> None:
    drawn = {"inline_data": {"mime_type": "image/png", "data": "iVBORw0KGgo="}, "thought_signature": "c2ln"}
    request = {"contents": [{"role": "model", "parts": [drawn]}]}
    assert convert(request, "gemini", "gemini") == request
    assert "c2ln" not in json.dumps(convert(request, "gemini", "anthropic"))


def test_no_empty_text_stands_in_a_result_for_anthropic() -> None:
    texts = [{"type": "text", "text": text} for text in ("", "x", " ")]
    chat = [says("user"), asks("a", "b"), result("a", texts), result("b", texts[:1])]
    blocks = convert(chat, "openai", "anthropic")["messages"][2]["content"]
    assert [block["content"] for block in blocks] == [texts[1:2], []]
