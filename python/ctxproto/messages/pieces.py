"""What the formats have in common: reading dicts that may be anything, texts, images, arguments, ids."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from typing import Any

from ctxproto.errors import InputError, InputTypeError, shown

Dict = dict[str, Any]

_ID = re.compile(r"[\w.:|/+=-]{1,64}", re.ASCII)
# Under this argument travels what a model wrote that is no JSON object.
_INVALID = "invalid_arguments"
# Parts that the model of one provider thought: the others leave them out.
THOUGHTS = ("thinking", "redacted_thinking", "thought", "reasoning")
# Before the result of a failed tool.
_FAILED = "[error] "
_DATA_URL = re.compile(r"data:([^;,]*);base64,")


def dicts(where: str, values: object) -> list[Dict]:
    """A list of dicts."""
    if not isinstance(values, Iterable) or isinstance(values, str | bytes | Mapping):
        raise InputTypeError(f"{where} is a list of dicts, not {shown(values)}")
    return [a_dict(f"{where}[{at}]", value) for at, value in enumerate(values)]


def optional(where: str, values: object) -> list[Dict]:
    """A list of dicts, empty where there is none."""
    return [] if values is None else dicts(where, values)


def a_dict(where: str, value: object) -> Dict:
    """A dict; its texts are plain ones, as a subclass of str may have other ideas. Objects of the SDKs become one."""
    found = value if isinstance(value, Mapping) else _dumped(value)
    if found is None:
        raise InputTypeError(f"{where} is a dict, not {shown(value)}")
    return {key: _plain(one) for key, one in found.items()}


def _dumped(value: object) -> Mapping[str, Any] | None:
    """An object of an SDK as what it would send; None for anything else."""
    dump = getattr(type(value), "model_dump", None)
    with suppress(Exception):  # a stranger's error may quote anything
        found = dump(value, mode="json", exclude_unset=True) if dump else None
        return found if isinstance(found, Mapping) else None
    return None


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever it is
    return str.__str__(value) if type(value) is not str and issubclass(type(value), str) else value


def role(where: str, message: Dict, allowed: tuple[str, ...]) -> str:
    """The role of a message."""
    found = message.get("role")
    if type(found) is not str:
        raise InputTypeError(f"{where}.role is one of {', '.join(allowed)}, not {shown(found)}")
    if found not in allowed:
        raise InputError(f"{where}.role is one of {', '.join(allowed)}, not {shown(found)}")
    return found


def parts(where: str, content: object) -> list[Dict]:
    """A message's content as parts; empty where there is none."""
    content = _plain(content)
    if content is None:
        return []
    if type(content) is str:
        return [{"type": "text", "text": content}] if content else []
    if not isinstance(content, list | tuple):
        raise InputTypeError(f"{where}.content is a str or a list of parts, not {shown(content)}")
    plain = [{"type": "text", "text": _plain(part)} if issubclass(type(part), str) else part for part in content]
    return dicts(f"{where}.content", plain)


def said(where: str, message: Dict) -> list[Dict]:
    """What an assistant says, a refusal that stands beside its content included."""
    refusal = _plain(message.get("refusal"))
    beside = [{"type": "refusal", "refusal": refusal}] if refusal and type(refusal) is str else []
    return parts(where, message.get("content")) + beside


def failed(found: Any) -> Any:  # noqa: ANN401 - a str, parts, or nothing
    """The content of a failed tool's result, for APIs that have no field for it."""
    if type(found) is str:
        return found if found.startswith(_FAILED) else _FAILED + found
    if not isinstance(found, list):
        return found
    at = next((at for at, part in enumerate(found) if type(part.get("text")) is str), None)
    if at is None:
        return [{"type": "text", "text": _FAILED.rstrip()}, *found]
    return [*found[:at], {**found[at], "text": failed(found[at]["text"])}, *found[at + 1 :]]


def content(found: list[Dict]) -> str | list[Dict]:
    """Parts as a message's content: one plain text is a str."""
    if not found:
        return ""
    if len(found) == 1 and found[0].keys() == {"type", "text"} and found[0]["type"] == "text":
        text: str = found[0]["text"]
        return text
    return found


def chat_assistant(found: list[Dict], calls: list[Dict]) -> Dict:
    """An assistant's message; the parts and calls in the order in which they were said."""
    message: Dict = {"role": "assistant", "content": content(found) or (None if calls else "")}
    if calls:
        message["tool_calls"] = calls
    return message


def a_call(call_id: str, name: str, arguments: str, at: int) -> Dict:
    """A call after `at` parts of its message."""
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}, "position": at}


def settled(calls: list[Dict], count: int) -> list[Dict]:
    """Calls without the positions that say nothing: those after all `count` parts."""
    return [{k: v for k, v in call.items() if k != "position" or v < count} for call in calls]


def in_order(found: list[Dict], calls: list[Dict]) -> list[tuple[str, Dict]]:
    """Parts and calls ("part" or "call") in the order in which they were said."""
    order = [(at, 0, ("part", part)) for at, part in enumerate(found)]
    order += [(call.get("position", len(found)), -1, ("call", call)) for call in calls]
    return [item for _, _, item in sorted(order, key=lambda entry: entry[:2])]


def calls_of(where: str, message: Dict) -> list[Dict]:
    """The calls of a message."""
    return optional(f"{where}.tool_calls", message.get("tool_calls"))


def call_of(where: str, call: Dict) -> tuple[str, str, str]:
    """Id, name and arguments of a call; the input of a custom tool is an argument."""
    if isinstance(custom := call.get("custom"), Mapping):
        name, arguments = custom.get("name"), json.dumps({"input": custom.get("input")}, ensure_ascii=False)
    else:
        function = a_dict(f"{where}.function", call.get("function"))
        name, arguments = function.get("name"), function.get("arguments", "{}")
    found: list[str] = []
    for key, value in (("id", call.get("id")), ("name", name), ("arguments", arguments)):
        if type(value) is not str:
            raise InputTypeError(f"{where} has a str as its {key}, not {shown(value)}")
        found.append(value)
    return found[0], found[1], found[2] or "{}"


def parsed(arguments: str) -> Dict:
    """Arguments as an object; what is none is carried under a key of its own."""
    try:
        value = json.loads(arguments, parse_constant=_finite, parse_float=_finite)
    except (ValueError, RecursionError):
        value = None
    return value if isinstance(value, dict) else {_INVALID: arguments}


def _finite(number: str) -> float:
    """JSON has no other numbers, though Python reads and writes them."""
    if math.isfinite(value := float(number)):
        return value
    raise ValueError


def written(arguments: object) -> str:
    """An object as arguments, as OpenAI's API writes them."""
    if isinstance(arguments, Mapping) and arguments.keys() == {_INVALID}:
        invalid = arguments[_INVALID]
        if type(invalid) is str and _INVALID in parsed(invalid):
            return invalid
    return as_json(arguments or {})


def as_json(value: object) -> str:
    """A value as JSON, which can be sent: half a surrogate pair only as an escape."""
    try:
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text if _is_utf8(text) else json.dumps(value, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError):
        pass
    raise InputTypeError(f"arguments and results are JSON, not {shown(value)}")


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def data_url(url: object) -> tuple[str, str] | None:
    """Media type and base64 of a data URL."""
    found = _DATA_URL.match(url) if type(url) is str else None
    return (found[1], url[found.end() :]) if found else None  # type: ignore[index]


def image_url(part: Dict) -> str | None:
    """The URL of an image part of OpenAI's chat API."""
    image = part.get("image_url")
    url = image.get("url") if isinstance(image, Mapping) else None
    return url if part.get("type") == "image_url" and type(url) is str else None


def image(url: str, other: Dict | None = None) -> Dict:
    """An image part of OpenAI's chat API."""
    return {"type": "image_url", "image_url": {"url": url}, **(other or {})}


def only(part: Dict, *keys: str) -> Dict:
    """A part with nothing but its type and these keys: the APIs refuse keys of each other's."""
    return {key: value for key, value in part.items() if key == "type" or key in keys}


def key(value: Mapping[str, Any], name: str) -> Any:  # noqa: ANN401 - whatever JSON can be
    """A value of Gemini's under its name in Python, or in JSON."""
    first, *rest = name.split("_")
    return value[name] if name in value else value.get(first + "".join(word.title() for word in rest))


def an_id(value: object) -> str:
    """An id in an error; what does not look like one may be anything, and is not quoted."""
    return value if type(value) is str and _ID.fullmatch(value) else shown(value)


def no_form(where: str, part: Dict, target: str) -> InputError:
    """A part that a format cannot hold."""
    kind = part.get("type")
    named = f"of type {kind}" if type(kind) is str and re.fullmatch("[a-z_]{1,40}", kind) else "of an unknown type"
    return InputError(f"{where} is {named}: {target} has no form for it")
