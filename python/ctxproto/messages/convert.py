"""From one format to another, what is wrong in one, and how it is made right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ctxproto import _core, arguments
from ctxproto.errors import InputTypeError, shown
from ctxproto.messages import pairing, pieces
from ctxproto.messages.anthropic import from_anthropic, to_anthropic
from ctxproto.messages.chat import from_openai, to_openai
from ctxproto.messages.empty import without_empty
from ctxproto.messages.gemini import from_gemini, to_gemini
from ctxproto.messages.pairing import PairingProblem
from ctxproto.messages.responses import from_responses, to_responses

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["FORMATS", "PairingProblem", "Repaired", "convert", "pairing_problems", "repair_pairing"]

Format: TypeAlias = Literal["openai", "responses", "anthropic", "gemini", "native"]
FORMATS: tuple[str, ...] = Format.__args__  # type: ignore[attr-defined]
"""The formats, by name."""

_READ: dict[str, Callable[[object], list[dict[str, Any]]]] = {
    "openai": from_openai,
    "responses": from_responses,
    "anthropic": from_anthropic,
    "gemini": from_gemini,
    "native": from_openai,
}
_WRITE: dict[str, Callable[[list[dict[str, Any]]], Any]] = {
    "openai": to_openai,
    "responses": to_responses,
    "anthropic": to_anthropic,
    "gemini": to_gemini,
    "native": list,
}
_JUDGE: dict[str, Callable[..., Iterator[PairingProblem]]] = {
    "openai": pairing.in_openai,
    "responses": pairing.in_responses,
    "anthropic": pairing.in_anthropic,
    "gemini": pairing.in_gemini,
    "native": pairing.in_openai,
}
# Where a message stood, while it is repaired.
_AT = "ctxproto_at"
# Before an assistant's message, where an API wants the user to begin.
_OPENING = "(The conversation begins before this.)"


class Repaired(NamedTuple):
    """Messages that an API accepts.

    Args:
        messages: What was given, repaired; in the same format.
        changes: What was done, as (action, reason, index of the chat message): ("dropped", "orphan", 3), ("dropped",
            "duplicate", 4), ("dropped" or "cut", "unanswered", 5), ("moved", "late", 6), ("dropped" or "cut", "empty",
            7), ("added", "roles", 0).
    """

    messages: Any
    changes: list[tuple[str, str, int]]


def convert(messages: object, source: Format, target: Format) -> Any:  # noqa: ANN401 - lists or dicts, by format
    """Messages of one API in the form of another.

    "openai" is a list of chat messages, "responses" a list of input items; "anthropic" is a dict of `system` and
    `messages`, "gemini" one of `system_instruction` and `contents`, which hold all instructions, wherever they stood.
    "native" is OpenAI's chat form with more in it than that API takes, so that the way back loses nothing: thinking
    with its signatures (parts of type "thinking", "redacted_thinking", "thought", "reasoning"), failed results
    (`is_error`), item ids and statuses (`item`), cache marks, items and parts that no other API has. What one
    provider's model thought is left out for the others. A content that is one plain text is a str in "native", and
    arguments are equal as JSON. Bytes are base64, as in JSON: `google.genai` reads it by `model_validate_json`.

    What the target has no field for goes: the `name` of who speaks, letters of ids that Anthropic does not take
    (they become `_`), and with "openai" images among results follow in a message of the user. Objects of the SDKs
    are read as what they would send.

    Raises:
        InputError: The target has no form for a part, a role is unknown, or calls are in the form before `tool_calls`.
        InputTypeError: What was given is not of the source's form.

    >>> chat = [{"role": "user", "content": "2 + 2?"}]
    >>> convert(chat, "openai", "gemini")
    {'contents': [{'role': 'user', 'parts': [{'text': '2 + 2?'}]}]}
    """
    read = _READ[arguments.one_of("source", source, FORMATS)]
    write = _WRITE[arguments.one_of("target", target, FORMATS)]
    return write(read(messages))


def pairing_problems(messages: object, source: Format, *, pending: bool = True) -> list[PairingProblem]:
    """What the API would refuse about calls, results and turns; empty when nothing.

    Args:
        messages: In the form of `source`; see `convert`.
        source: The format.
        pending: Whether calls at the end may be without a result, as they wait for one: of a tool, or of a person who
            is asked. To be sent, each needs one.

    >>> pairing_problems([{"role": "tool", "tool_call_id": "a", "content": "4"}], "openai")[0].rule
    'orphan'
    """
    name = arguments.one_of("source", source, FORMATS)
    if name in ("anthropic", "gemini"):
        key = "messages" if name == "anthropic" else "contents"
        request = pieces.a_dict("request", messages)
        given: object = {key: pieces.optional(key, request.get(key))}
    else:
        given = from_openai(messages) if name in ("openai", "native") else pieces.dicts("input", messages)
    try:
        return list(_JUDGE[name](given, pending=pending))
    except (AttributeError, KeyError, TypeError):
        pass
    raise InputTypeError(f"messages are of the form of {name}, which this {shown(messages)[2:].lstrip()} is not")


def repair_pairing(messages: object, source: Format) -> Repaired:
    """Makes right what `pairing_problems` tells, with `pending` calls at the end left alone.

    Results of no call and second results are dropped, late ones are put to their call, calls that nobody answered are
    taken out. Texts and messages that the API refuses as empty go, and thoughts that nothing follows; for Anthropic and
    Gemini, a user's message is put before an assistant's that would stand first.

    >>> asked = {"id": "a", "type": "function", "function": {"name": "add", "arguments": "{}"}}
    >>> chat = [{"role": "user", "content": "2 + 2?"}, {"role": "assistant", "content": None, "tool_calls": [asked]}]
    >>> chat += [{"role": "user", "content": "Hello?"}, {"role": "tool", "tool_call_id": "a", "content": "4"}]
    >>> messages, changes = repair_pairing(chat, "openai")
    >>> [message["role"] for message in messages], changes
    (['user', 'assistant', 'tool', 'user'], [('moved', 'late', 3)])
    """
    name = arguments.one_of("source", source, FORMATS)
    chat = _READ[name](messages)
    for at, message in enumerate(chat):
        message[_AT] = at
    flusher = _core.Flusher(len, {}, None)
    kept, _, _, told, _ = flusher.flush(chat, None, {}, 1 << 62, 0, stride=0, cached=0)
    changes = [(action, reason, at) for action, reason, places, *_ in told for at in places]
    kept = without_empty(name, kept, changes, _AT)
    if name in ("anthropic", "gemini"):
        first = next((at for at, message in enumerate(kept) if message["role"] not in ("system", "developer")), None)
        if first is not None and kept[first]["role"] == "assistant":
            kept.insert(first, {"role": "user", "content": _OPENING})
            changes.append(("added", "roles", first))
    return Repaired(_WRITE[name](kept), changes)
