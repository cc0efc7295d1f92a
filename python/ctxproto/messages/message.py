"""One message of a conversation, as a dataclass."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxproto.errors import InputTypeError, shown

if TYPE_CHECKING:
    from typing import Self

__all__ = ["Message"]


@dataclass(slots=True, repr=False)
class Message:
    """A message of OpenAI's chat API (seed 000, "Layer 1: Message Bus").

    Args:
        role: "system", "user", "assistant" or "tool".
        content: The text, a list of parts, or None beside calls.
        tool_call_id: The id of the call that a tool's message answers.
        tool_calls: The calls of an assistant.

    >>> Message("tool", "42", tool_call_id="call_1").to_openai()
    {'role': 'tool', 'content': '42', 'tool_call_id': 'call_1'}
    """

    role: str
    content: str | list[dict[str, Any]] | None
    tool_call_id: str | None = None
    tool_calls: list[dict[str, Any]] | None = None

    @classmethod
    def of(cls, message: object) -> Self:
        """The message of a dict; keys that OpenAI's API does not have are left out.

        Raises `InputTypeError` for what is no mapping with a role.
        """
        if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
            raise InputTypeError(f"a message is a mapping with a role, not {shown(message)}")
        return cls(message["role"], message.get("content"), message.get("tool_call_id"), message.get("tool_calls"))

    def to_openai(self) -> dict[str, Any]:
        """The message as a dict, without what is None; an assistant's content stays."""
        chat: dict[str, Any] = {"role": self.role, "content": self.content}
        if self.tool_call_id is not None:
            chat["tool_call_id"] = self.tool_call_id
        if self.tool_calls:
            chat["tool_calls"] = self.tool_calls
        return chat

    def __repr__(self) -> str:
        return f"<Message: {self.role}, {shown(self.content)}, {len(self.tool_calls or [])} calls>"
