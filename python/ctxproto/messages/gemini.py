"""Gemini's API: turns of `user` and `model`, made of parts; calls may have no ids, instructions stand apart."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ctxproto.errors import InputTypeError, shown
from ctxproto.messages import pieces

if TYPE_CHECKING:
    from ctxproto.messages.pieces import Dict

# The ids of calls that came without one: they go again on the way back.
_MADE = "ctxproto_call_"
# Parts that no other format has: they travel as they are, under this type.
_OWN = "gemini_part"
_LETTERS = str.maketrans("-_", "+/")


def from_gemini(request: object) -> list[Dict]:
    """Reads `{"system_instruction": ..., "contents": [...]}`, with keys as in JSON or as in Python."""
    request = pieces.a_dict("request", request)
    chat: list[Dict] = []
    instruction = pieces.key(request, "system_instruction")
    if instruction is not None:
        found = instruction if isinstance(instruction, Mapping) else {"parts": [{"text": instruction}]}
        parts = pieces.optional("system_instruction.parts", found.get("parts"))
        chat += [{"role": "system", "content": pieces.content([_from_part(part)])} for part in parts]
    reader = _Reader()
    for at, turn in enumerate(pieces.optional("contents", request.get("contents"))):
        where = f"contents[{at}]"
        role = pieces.role(where, {"role": "user", **turn}, ("user", "model", "function"))
        parts = pieces.optional(f"{where}.parts", turn.get("parts"))
        chat += [reader.model(where, parts)] if role == "model" else reader.user(where, parts)
    return chat


def to_gemini(messages: list[Dict]) -> Dict:
    """The request's `system_instruction` and `contents`. Instructions all go into the first."""
    system: list[Dict] = []
    contents: list[Dict] = []
    names: dict[str, list[str]] = {}
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message["role"]:
            case "system" | "developer":
                system += _parts(where, message)
            case "assistant":
                calls = pieces.calls_of(where, message)
                parts = _said(where, message, names)
                # The turn of calls follows one of the user: what the model said before is part of it.
                while calls and contents and contents[-1]["role"] == "model":
                    parts = contents.pop()["parts"] + parts
                contents.append({"role": "model", "parts": parts or [{"text": ""}]})
            case "tool":
                response = _response(where, message, names)
                if contents and contents[-1]["role"] == "user" and "function_response" in contents[-1]["parts"][-1]:
                    contents[-1]["parts"].append(response)
                else:
                    contents.append({"role": "user", "parts": [response]})
            case _:
                contents.append({"role": "user", "parts": _parts(where, message) or [{"text": ""}]})
    return {**({"system_instruction": {"parts": system}} if system else {}), "contents": contents}


class _Reader:
    """Gives ids to calls without one, and to their responses, by name and order."""

    def __init__(self) -> None:
        self._count = 0
        self._open: list[tuple[str, str]] = []

    def model(self, where: str, parts: list[Dict]) -> Dict:
        said: list[Dict] = []
        calls: list[Dict] = []
        opened: list[tuple[str, str]] = []
        for part in parts:
            if (given := _held(where, part, "function_call")) is None:
                said.append(_from_part(part))
                continue
            name = _name(where, given)
            call_id = given.get("id") or self._made()
            opened.append((name, call_id))
            call = pieces.a_call(call_id, name, pieces.written(given.get("args")), len(said))
            calls.append({**call, **_signature(part)})
        if opened:
            self._open = opened
        return pieces.chat_assistant(said, pieces.settled(calls, len(said)))

    def user(self, where: str, parts: list[Dict]) -> list[Dict]:
        found: list[Dict] = []
        said: list[Dict] = []
        for part in parts:
            if (given := _held(where, part, "function_response")) is None:
                said.append(_from_part(part))
                continue
            call_id = given.get("id") or self._answered(_name(where, given))
            found.append({"role": "tool", "tool_call_id": call_id, **_from_response(given)})
        if said or not parts:
            found.append({"role": "user", "content": pieces.content(said)})
        return found

    def _answered(self, name: str) -> str:
        at = next((at for at, (known, _) in enumerate(self._open) if known == name), None)
        return self._made() if at is None else self._open.pop(at)[1]

    def _made(self) -> str:
        self._count += 1
        return f"{_MADE}{self._count}"


def _from_response(given: Mapping[str, Any]) -> Dict:
    response = given.get("response")
    response = response if isinstance(response, Mapping) else {}
    found: Dict
    if response.keys() == {"output"} and isinstance(response["output"], str):
        found = {"content": response["output"]}
    elif response.keys() == {"error"} and isinstance(response["error"], str):
        found = {"content": response["error"], "is_error": True}
    else:
        found = {"content": pieces.as_json(response), "object": True}
    if parts := given.get("parts"):
        text = [{"type": "text", "text": found["content"]}] if found["content"] else []
        found["content"] = text + [_from_part(part) for part in pieces.dicts("function_response.parts", parts)]
    return found


def _response(where: str, message: Dict, names: dict[str, list[str]]) -> Dict:
    call_id = message.get("tool_call_id")
    if type(call_id) is not str:
        raise InputTypeError(f"{where}.tool_call_id is a str, not {shown(call_id)}")
    waiting = names.get(call_id) or []
    # The name of a call that is not there is not known: the validator tells.
    name = waiting.pop(0) if waiting else message.get("name") or "unknown"
    parts = _parts(where, message)
    text = "".join(part["text"] for part in parts if "text" in part)
    response: Dict = {"error" if message.get("is_error") is True else "output": text}
    if message.get("object") and set(whole := pieces.parsed(text)) != {"invalid_arguments"}:
        response = whole
    found: Dict = {"name": name, "response": response}
    if not call_id.startswith(_MADE):
        found["id"] = call_id
    if media := [part for part in parts if "text" not in part]:
        found["parts"] = media
    return {"function_response": found}


def _said(where: str, message: Dict, names: dict[str, list[str]]) -> list[Dict]:
    parts: list[Dict] = []
    calls = pieces.calls_of(where, message)
    for kind, one in pieces.in_order(pieces.said(where, message), calls):
        if kind == "part":
            parts += _to_part(where, one)
            continue
        call_id, name, arguments = pieces.call_of(f"{where}.tool_calls", one)
        names.setdefault(call_id, []).append(name)
        call: Dict = {"name": name, "args": pieces.parsed(arguments)}
        if not call_id.startswith(_MADE):
            call["id"] = call_id
        parts.append({"function_call": call, **_signature(one)})
    return parts


def _parts(where: str, message: Dict) -> list[Dict]:
    return [part for one in pieces.parts(where, message.get("content")) for part in _to_part(where, one)]


def _to_part(where: str, part: Dict) -> list[Dict]:
    if (url := pieces.image_url(part)) is not None:
        data = pieces.data_url(url)
        held: Dict = (
            {"inline_data": {"mime_type": data[0], "data": data[1]}} if data else {"file_data": {"file_uri": url}}
        )
        return [{**held, **_signature(part)}]
    match part.get("type"):
        case "text":
            return [{"text": part.get("text") or "", **_signature(part)}]
        case "refusal":
            return [{"text": part.get("refusal") or ""}]
        case "thought":
            return [{"text": part.get("text") or "", "thought": True, **_signature(part)}]
        case "gemini_part":
            return [dict(part["part"])]
        case kind if kind in pieces.THOUGHTS:
            return []
    raise pieces.no_form(f"{where}.content", part, "gemini")


def _from_part(part: Dict) -> Dict:
    if isinstance(part.get("text"), str):
        kind = "thought" if part.get("thought") else "text"
        return {"type": kind, "text": part["text"], **_signature(part)}
    data, file = pieces.key(part, "inline_data"), pieces.key(part, "file_data")
    if isinstance(data, Mapping):
        mime, text = pieces.key(data, "mime_type"), _base64(data.get("data"))
        if isinstance(text, str) and isinstance(mime, str) and mime.startswith("image/"):
            # The SDK writes the letters that stand in URLs; other APIs do not read them.
            return pieces.image(f"data:{mime};base64,{text.translate(_LETTERS)}", _signature(part))
    if isinstance(file, Mapping) and file.keys() <= {"file_uri", "fileUri"}:
        uri = pieces.key(file, "file_uri")
        if isinstance(uri, str):
            return pieces.image(uri, _signature(part))
    return {"type": _OWN, "part": part}


def _signature(part: Mapping[str, Any]) -> Dict:
    """What a model signed its thoughts with must come back to it."""
    signature = _base64(pieces.key(part, "thought_signature"))
    return {} if signature is None else {"thought_signature": signature}


def _base64(value: Any) -> Any:  # noqa: ANN401 - whatever stands there
    """Bytes as JSON has them, which the SDK holds as bytes."""
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def _held(where: str, part: Dict, key: str) -> Dict | None:
    """The call or the response that a part holds, if any."""
    given = pieces.key(part, key)
    return None if given is None else pieces.a_dict(f"a {key} of {where}", given)


def _name(where: str, given: Mapping[str, Any]) -> str:
    name, call_id = given.get("name"), given.get("id")
    if type(name) is not str:
        raise InputTypeError(f"a call or a response of {where} has a str as its name, not {shown(name)}")
    if not isinstance(call_id, str | None):
        raise InputTypeError(f"a call or a response of {where} has a str as its id, not {shown(call_id)}")
    return name
