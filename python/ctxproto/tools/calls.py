"""What a model asks for: tool calls, read from the shapes in which the providers' APIs give them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxproto.errors import InputTypeError

if TYPE_CHECKING:
    from typing import Self

__all__ = ["ToolCallRequest"]


@dataclass(slots=True)
class ToolCallRequest:
    """One call that a model asks for (seed 000, "Layer 2: Tool Context").

    Args:
        id: The id its API gave it. Ids may repeat from turn to turn.
        name: The tool's name.
        arguments: The parsed arguments; empty when the model wrote no JSON object, and `problem` says why. What it
            wrote for one of OpenAI's custom tools is free text: `{"input": text}`.
        problem: What is wrong with the arguments, without quoting them; None when nothing is.
        custom: It is the call of a custom tool.

    >>> call = ToolCallRequest("call_7a3f", "search_logs", {"service": "payment"})
    >>> call
    ToolCallRequest(id='call_7a3f', name='search_logs', problem=None)
    """

    id: str
    name: str
    arguments: dict[str, Any] = field(default_factory=dict, repr=False)
    problem: str | None = None
    custom: bool = field(default=False, repr=False)

    @classmethod
    def parse(cls, call: object) -> Self:
        """Reads one call: OpenAI chat (`function`, `custom`) or Responses, Anthropic `tool_use`, Gemini `functionCall`.

        Takes the parsed JSON or the SDK's object.

        Raises:
            InputTypeError: The value has none of these shapes.

        >>> ToolCallRequest.parse({"type": "tool_use", "id": "toolu_1", "name": "add", "input": {"a": 1}}).arguments
        {'a': 1}
        """
        if isinstance(call, cls):
            return call
        body, name, call_id = _head(call)
        given = _first(body, "arguments", "input", "args")
        custom = _get(call, "type") in _CUSTOM and isinstance(given, str)
        arguments, problem = ({"input": given}, None) if custom else _arguments(given)
        return cls(call_id, name, arguments, problem, custom)

    @classmethod
    def parse_all(cls, message: object) -> list[Self]:
        """The calls of an assistant message, of one call, or of a list of calls and other items of an answer, in order.

        >>> [call.id for call in ToolCallRequest.parse_all({"role": "assistant", "content": "no calls"})]
        []
        """
        return [cls.parse(call) for call in _calls(message)]

    @classmethod
    def ids(cls, message: object) -> list[str]:
        """The ids of the calls that `parse_all` finds, without a look at their arguments."""
        return [call.id if isinstance(call, cls) else _head(call)[2] for call in _calls(message)]

    def to_openai(self) -> dict[str, Any]:
        """The call as OpenAI's chat messages hold it; a call whose arguments had a problem has none."""
        if self.custom:
            return {"id": self.id, "type": "custom", "custom": {"name": self.name, "input": self.arguments["input"]}}
        arguments = _written(self.arguments)
        return {"id": self.id, "type": "function", "function": {"name": self.name, "arguments": arguments}}


_written = json.JSONEncoder(ensure_ascii=False).encode

_CUSTOM = ("custom", "custom_tool_call")
_CALLS = (*_CUSTOM, "function", "function_call", "tool_use")


def _calls(message: object) -> list[Any]:
    """The calls among what an answer is made of."""
    if type(message) is not dict and isinstance(message, Iterable) and not isinstance(message, str | bytes | Mapping):
        return [call for call in message if not _is_other(call)]
    calls = _first(message, "tool_calls", "parts", "output")
    if calls is None and isinstance(content := _get(message, "content"), list | tuple):
        calls = content
    if calls is None:
        return [] if _get(message, "role") is not None else [message]
    return [call for call in calls if _is_call(call)]


def _head(call: object) -> tuple[Any, str, str]:
    """What holds name and arguments of a call, its name, and its id."""
    inner = _first(call, "function", "custom", "functionCall", "function_call")
    body = call if inner is None else inner
    name, call_id = _get(body, "name"), _first(call, "call_id", "id") or _get(body, "id")
    if not isinstance(name, str) or not isinstance(call_id, str | None):
        raise InputTypeError(
            f"a tool call has a name and an id, as OpenAI, Anthropic and Gemini give them, not this {_kind(call)}"
        )
    return body, name, call_id or ""


def _is_call(part: object) -> bool:
    # Messages hold text and images beside their calls.
    return (
        isinstance(part, ToolCallRequest)
        or _get(part, "type") in _CALLS
        or _first(part, "functionCall", "function_call") is not None
    )


def _is_other(item: object) -> bool:
    """Whether it is what answers hold beside calls: a message, reasoning, a text, a call that the server answered."""
    if _is_call(item):
        return False
    return isinstance(_get(item, "type"), str) or isinstance(_first(item, "text", "thought"), str | bool)


def _arguments(value: object) -> tuple[dict[str, Any], str | None]:
    if value is None or value == "":
        return {}, None
    if isinstance(value, Mapping):
        return dict(value), None
    if not isinstance(value, str):
        return {}, f"the arguments are no JSON object but a {_kind(value)}"
    try:
        parsed = json.loads(value)
    except (ValueError, RecursionError) as error:
        where = f", line {error.lineno} column {error.colno}" if isinstance(error, json.JSONDecodeError) else ""
        return {}, f"the arguments are not JSON{where}"
    if isinstance(parsed, dict):
        return parsed, None
    return {}, f"the arguments are no JSON object but a {_kind(parsed)}"


def _get(value: object, name: str) -> Any:  # noqa: ANN401 - whatever JSON can be
    known = type(value) is dict or isinstance(value, Mapping)
    return value.get(name) if known else getattr(value, name, None)  # type: ignore[attr-defined]


def _first(value: object, *names: str) -> Any:  # noqa: ANN401 - whatever JSON can be
    for name in names:
        if (found := _get(value, name)) is not None:
            return found
    return None


def _kind(value: object) -> str:
    return type(value).__name__
