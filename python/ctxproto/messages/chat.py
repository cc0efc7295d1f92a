"""OpenAI's chat messages: the native form, as its API takes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxproto.errors import InputError
from ctxproto.messages import pieces

if TYPE_CHECKING:
    from ctxproto.messages.pieces import Dict

ROLES = ("system", "developer", "user", "assistant", "tool")
# What a message of each role may have beside role and content.
_KEYS = {"assistant": ("name", "refusal", "audio", "tool_calls"), "tool": ("tool_call_id",)}
# The types of its parts, and what each holds.
_PARTS = {"text": "text", "refusal": "refusal", "image_url": "image_url", "input_audio": "input_audio", "file": "file"}
# In the place of a result that is an image alone.
_SHOWN = "(An image: it stands in the user's message after the results.)"


def from_openai(messages: object) -> list[Dict]:
    """Reads chat messages: also those of logs that name the call of a result in a list, `tool_call_ids`.

    Dicts in lists and dicts, whatever objects they were.
    """
    found = pieces.dicts("messages", messages)
    for at, message in enumerate(found):
        role = pieces.role(f"messages[{at}]", message, ROLES)
        ids = message.get("tool_call_ids")
        if role == "tool" and "tool_call_id" not in message and isinstance(ids, list) and len(ids) == 1:
            message["tool_call_id"] = ids[0]
            del message["tool_call_ids"]
        if message.get("function_call"):
            raise InputError(f"messages[{at}].function_call is the form that was before `tool_calls`: it has no ids")
        if message.get("tool_calls") is not None:
            message["tool_calls"] = pieces.calls_of(f"messages[{at}]", message)
        if isinstance(message.get("content"), list | tuple):
            message["content"] = pieces.parts(f"messages[{at}]", message["content"])
    return found


def to_openai(messages: list[Dict]) -> list[Dict]:
    """Messages with nothing that the API does not know.

    Thoughts go, the result of a failed tool says so, and images among results, which the API takes from users alone,
    follow in a message of the user.
    """
    chat: list[Dict] = []
    images: list[Dict] = []
    for at, message in enumerate(messages):
        if images and message["role"] != "tool":
            chat.append({"role": "user", "content": images})
            images = []
        chat.append(_message(f"messages[{at}]", message))
        if message["role"] == "tool" and isinstance(content := chat[-1].get("content"), list):
            texts = [part for part in content if part["type"] == "text"]
            images += [part for part in content if part["type"] != "text"]
            chat[-1]["content"] = pieces.content(texts or [{"type": "text", "text": _SHOWN}])
    return [*chat, {"role": "user", "content": images}] if images else chat


def _message(where: str, message: Dict) -> Dict:
    role = pieces.role(where, message, ROLES)
    keys = ("role", "content", *_KEYS.get(role, ("name",)))
    chat = {key: message[key] for key in keys if key in message}
    if isinstance(message.get("content"), list | tuple):
        chat["content"] = pieces.content(_parts(where, message))
        if role == "assistant":
            chat["content"] = chat["content"] or (None if message.get("tool_calls") else "")
    if role == "tool" and message.get("is_error") is True:
        chat["content"] = pieces.failed(chat.get("content"))
    if calls := pieces.calls_of(where, message):
        chat["tool_calls"] = [
            {k: v for k, v in call.items() if k in ("id", "type", "function", "custom")} for call in calls
        ]
    elif "tool_calls" in chat:
        del chat["tool_calls"]
    return chat


def _parts(where: str, message: Dict) -> list[Dict]:
    found = []
    for at, part in enumerate(pieces.parts(where, message["content"])):
        if (kind := part.get("type")) in _PARTS:
            found.append(pieces.only(part, _PARTS[kind]))
        elif kind not in pieces.THOUGHTS:
            raise pieces.no_form(f"{where}.content[{at}]", part, "openai")
    return found
