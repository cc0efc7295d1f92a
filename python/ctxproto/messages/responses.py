"""OpenAI's Responses API: one list of items; calls, their outputs and reasoning are items of their own."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from ctxproto.errors import InputTypeError, shown
from ctxproto.messages import pieces

if TYPE_CHECKING:
    from ctxproto.messages.pieces import Dict

_ROLES = ("system", "developer", "user", "assistant")
_TEXTS = ("input_text", "output_text")
_CALLS = ("function_call", "custom_tool_call")
_OUTPUTS = ("function_call_output", "custom_tool_call_output")
# Items that no other format has: they travel as they are, as parts of this type.
_OWN = "responses_item"
# What an item has beside what chat messages have: its id, its status. It travels under this key.
_ITEM = "item"


def from_responses(items: object) -> list[Dict]:
    """Reads the `input` of a request. What an assistant says in a row is one message: reasoning, text, calls."""
    chat: list[Dict] = []
    said: list[Dict] = []
    calls: list[Dict] = []
    item_of: Dict = {}

    def close() -> None:
        nonlocal said, calls, item_of
        if said or calls or item_of:
            message = pieces.chat_assistant(said, pieces.settled(calls, len(said)))
            chat.append({**message, **({_ITEM: item_of} if item_of else {})})
            said, calls, item_of = [], [], {}

    for at, item in enumerate(pieces.dicts("input", items)):
        where = f"input[{at}]"
        kind = item.get("type", "message")
        if kind == "reasoning":
            if calls:
                close()
            said.append(item)
        elif kind in _CALLS:
            calls.append({**_call(where, item), "position": len(said)})
        elif kind == "message" and pieces.role(where, item, _ROLES) == "assistant":
            parts = [_from_part(part) for part in pieces.parts(where, item.get("content"))]
            # Text after calls begins another message, and so does a second text; an empty one stands alone.
            if calls or any(part["type"] not in ("reasoning", _OWN) for part in said) or item_of or not parts:
                close()
            if parts:
                said += parts
                item_of = _rest(item, "type", "role", "content")
            else:
                chat.append(_other(where, kind, item))
        elif kind in _OUTPUTS or kind == "message":
            close()
            chat.append(_other(where, kind, item))
        else:
            said.append({"type": _OWN, "item": item})
    close()
    return chat


def to_responses(messages: list[Dict]) -> list[Dict]:
    """The `input` of a request."""
    items: list[Dict] = []
    custom: set[str] = set()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        if message["role"] == "tool":
            items.append(_output(where, message, custom))
        elif message["role"] == "assistant":
            items += _said(where, message, custom)
        else:
            parts = _to_parts(where, message, "input_text")
            content = message.get("content")
            given = content if type(content) is str else parts
            items.append({"type": "message", "role": message["role"], "content": given, **message.get(_ITEM, {})})
    return items


def _call(where: str, item: Dict) -> Dict:
    call_id, name = item.get("call_id"), item.get("name")
    text = item.get("input" if item["type"] == "custom_tool_call" else "arguments")
    if type(call_id) is not str or type(name) is not str or type(text) is not str:
        raise InputTypeError(f"{where} has a str as its call_id, name and arguments")
    rest = _rest(item, "type", "call_id", "name", "arguments", "input")
    marks = {_ITEM: rest} if rest else {}
    if item["type"] == "custom_tool_call":
        return {"id": call_id, "type": "custom", "custom": {"name": name, "input": text}, **marks}
    return {**pieces.a_call(call_id, name, text, 0), **marks}


def _other(where: str, kind: object, item: Dict) -> Dict:
    """A message that is no turn of the assistant's: of the others, or an empty one."""
    if kind in _OUTPUTS:
        call_id, output = item.get("call_id"), item.get("output")
        if type(call_id) is not str:
            raise InputTypeError(f"{where}.call_id is a str, not {shown(call_id)}")
        parts = [_from_part(part) for part in pieces.parts(where, output)]
        message: Dict = {"role": "tool", "tool_call_id": call_id, "content": pieces.content(parts)}
        rest = _rest(item, "type", "call_id", "output")
    else:
        parts = [_from_part(part) for part in pieces.parts(where, item.get("content"))]
        message = {"role": item["role"], "content": pieces.content(parts)}
        rest = _rest(item, "type", "role", "content")
    return {**message, **({_ITEM: rest} if rest else {})}


def _said(where: str, message: Dict, custom: set[str]) -> list[Dict]:
    items: list[Dict] = []
    texts: list[Dict] = []

    def close() -> None:
        if texts:
            plain = len(texts) == 1 and texts[0].keys() == {"type", "text"} and not message.get(_ITEM)
            content = texts[0]["text"] if plain else list(texts)
            items.append({"type": "message", "role": "assistant", "content": content, **message.get(_ITEM, {})})
            texts.clear()

    for kind, one in pieces.in_order(pieces.said(where, message), pieces.calls_of(where, message)):
        if kind == "call":
            close()
            items.append(_call_item(where, one, custom))
        elif one.get("type") == "reasoning":
            close()
            items.append(one)
        elif one.get("type") == _OWN:
            close()
            items.append(dict(one["item"]))
        else:
            texts += _to_part(where, one, "output_text")
    close()
    if not items:
        items.append({"type": "message", "role": "assistant", "content": "", **message.get(_ITEM, {})})
    return items


def _call_item(where: str, call: Dict, custom: set[str]) -> Dict:
    call_id, name, arguments = pieces.call_of(f"{where}.tool_calls", call)
    rest = call.get(_ITEM, {})
    if "custom" not in call:
        custom.discard(call_id)
        return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments, **rest}
    custom.add(call_id)
    text = json.loads(arguments)["input"]
    return {"type": "custom_tool_call", "call_id": call_id, "name": name, "input": text, **rest}


def _output(where: str, message: Dict, custom: set[str]) -> Dict:
    call_id, content = message.get("tool_call_id"), message.get("content")
    if type(call_id) is not str:
        raise InputTypeError(f"{where}.tool_call_id is a str, not {shown(call_id)}")
    output = content if type(content) is str else _to_parts(where, message, "input_text")
    output = pieces.failed(output) if message.get("is_error") is True else output
    kind = "custom_tool_call_output" if call_id in custom else "function_call_output"
    return {"type": kind, "call_id": call_id, "output": output, **message.get(_ITEM, {})}


def _to_parts(where: str, message: Dict, text: str) -> list[Dict]:
    return [part for one in pieces.parts(where, message.get("content")) for part in _to_part(where, one, text)]


def _to_part(where: str, part: Dict, text: str) -> list[Dict]:
    if (url := pieces.image_url(part)) is not None:
        detail = part["image_url"].get("detail", "auto")
        return [{"type": "input_image", "image_url": url, "detail": detail}]
    match part.get("type"):
        case "text":
            kept = ("text", "annotations", "logprobs") if text == "output_text" else ("text",)
            return [{**pieces.only(part, *kept), "type": text}]
        case "file" if isinstance(part.get("file"), dict):
            return [{"type": "input_file", **part["file"]}]
        case "refusal" | "input_file":
            return [part]
        case kind if kind in pieces.THOUGHTS:
            return []
    raise pieces.no_form(f"{where}.content", part, "responses")


def _from_part(part: Dict) -> Dict:
    if part.get("type") in _TEXTS:
        return {**part, "type": "text"}
    if part.get("type") == "input_image" and isinstance(part.get("image_url"), str):
        image = pieces.image(part["image_url"])
        if (detail := part.get("detail", "auto")) != "auto":
            image["image_url"]["detail"] = detail
        return image
    # The chat API knows files by content and by id.
    if part.get("type") == "input_file" and part.keys() <= {"type", "file_data", "file_id", "filename"}:
        return {"type": "file", "file": _rest(part, "type")}
    return part


def _rest(item: Dict, *keys: str) -> Dict:
    return {key: value for key, value in item.items() if key not in keys}
