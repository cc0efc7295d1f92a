"""OpenAI's chat messages: the native form, as its API takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ctxproto.messages import pieces

if TYPE_CHECKING:
    from ctxproto.messages.pieces import Dict

ROLES = ("system", "developer", "user", "assistant", "tool")
# What a message of each role may have beside role and content.
_KEYS = {"assistant": ("name", "refusal", "audio", "tool_calls"), "tool": ("tool_call_id",)}
# Said by models of other providers, and read by them alone.
_THOUGHTS = ("thinking", "redacted_thinking", "thought", "reasoning")


def from_openai(messages: object) -> list[Dict]:
    """Reads chat messages: also those of logs that name the call of a result in a list, `tool_call_ids`."""
    found = pieces.dicts("messages", messages)
    for at, message in enumerate(found):
        role = pieces.role(f"messages[{at}]", message, ROLES)
        ids = message.get("tool_call_ids")
        if role == "tool" and "tool_call_id" not in message and isinstance(ids, list) and len(ids) == 1:
            message["tool_call_id"] = ids[0]
            del message["tool_call_ids"]
    return found


def to_openai(messages: list[Dict]) -> list[Dict]:
    """Messages with nothing that the API does not know: thoughts go, and the result of a failed tool says so."""
    return [_message(f"messages[{at}]", message) for at, message in enumerate(messages)]


def _message(where: str, message: Dict) -> Dict:
    role = pieces.role(where, message, ROLES)
    keys = ("role", "content", *_KEYS.get(role, ("name",)))
    chat = {key: message[key] for key in keys if key in message}
    if isinstance(message.get("content"), list | tuple):
        parts = [part for part in pieces.parts(where, message["content"]) if part.get("type") not in _THOUGHTS]
        chat["content"] = pieces.content([_without(part, "thought_signature") for part in parts])
        if role == "assistant":
            chat["content"] = chat["content"] or None
    if role == "tool" and message.get("is_error") is True:
        chat["content"] = _error(chat.get("content"))
    if calls := pieces.calls_of(where, message):
        chat["tool_calls"] = [
            {k: v for k, v in call.items() if k in ("id", "type", "function", "custom")} for call in calls
        ]
    elif "tool_calls" in chat:
        del chat["tool_calls"]
    return chat


def _without(part: Dict, key: str) -> Dict:
    return {name: value for name, value in part.items() if name != key}


def _error(content: object) -> object:
    mark = "[error] "
    if (
        isinstance(content, list)
        and content
        and isinstance(content[0], Mapping)
        and isinstance(content[0].get("text"), str)
    ):
        return [{**content[0], "text": _error(content[0]["text"])}, *content[1:]]
    return content if type(content) is not str or content.startswith(mark) else mark + content
