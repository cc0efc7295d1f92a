"""What says nothing, and is refused for it: empty texts, messages without content, thoughts that nothing follows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ctxproto.messages import pieces

if TYPE_CHECKING:
    from collections.abc import Callable

    from ctxproto.messages.pieces import Dict


def blank(block: Dict) -> bool:
    """Whether it is a text that Anthropic's API refuses."""
    return block.get("type") == "text" and not (block.get("text") or "").strip()


def empty(part: Dict) -> bool:
    """Whether it is a text that Gemini's API refuses; what carries a signature is none."""
    return part.get("text") == "" and part.keys() <= {"type", "text"}


_REFUSED: dict[str, Callable[[Dict], bool]] = {"anthropic": blank, "gemini": empty, "responses": lambda _: False}
# Whose APIs want that something follows a thought.
_FOLLOWED = ("anthropic", "responses")


def without_empty(name: str, chat: list[Dict], changes: list[tuple[str, str, int]], at: str) -> list[Dict]:
    """Messages without what the API called `name` refuses; under the key `at` each says where it stood."""
    left: list[Dict] = []
    follows = False
    for message in reversed(chat):
        place, role = message.pop(at), message["role"]
        if name in _REFUSED and role != "tool":
            parts = pieces.parts(f"messages[{place}]", message.get("content"))
            calls = message.get("tool_calls") or []
            stays = [not _REFUSED[name](part) for part in parts]
            if role == "assistant" and name in _FOLLOWED and not follows:
                _drop_last_thoughts(parts, stays, calls)
            silent = not calls and not any(stays) and (name != "responses" or not all(stays))
            if silent or not all(stays):
                changes.append(("dropped" if silent else "cut", "empty", place))
            if silent:
                continue
            if not all(stays):
                _cut(message, parts, stays)
        left.append(message)
        # Anthropic's instructions stand apart.
        if name == "responses" or role not in ("system", "developer"):
            follows = role == "assistant"
    changes.sort(key=lambda change: change[2])
    return left[::-1]


def _drop_last_thoughts(parts: list[Dict], stays: list[bool], calls: list[Dict]) -> None:
    called = max((call.get("position", len(parts)) for call in calls), default=0)
    for at in range(len(parts) - 1, called - 1, -1):
        if stays[at] and parts[at].get("type") not in pieces.THOUGHTS:
            break
        stays[at] = False


def _cut(message: Dict, parts: list[Dict], stays: list[bool]) -> None:
    """Leaves the parts that stay, and the calls where they stood between them."""
    found = [part for part, stay in zip(parts, stays, strict=True) if stay]
    calls = [
        {**call, "position": sum(stays[: call["position"]])} if "position" in call else call
        for call in message.get("tool_calls") or []
    ]
    message["content"] = pieces.content(found) or None
    if calls:
        message["tool_calls"] = calls
