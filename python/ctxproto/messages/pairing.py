"""What the APIs refuse about calls and their results, format by format, in the words of their errors."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxproto.messages import empty, pieces

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxproto.messages.pieces import Dict

__all__ = ["PairingProblem"]


class PairingProblem(NamedTuple):
    """Something for which the API refuses a request.

    Args:
        position: The message (the turn, the item) that is to blame.
        rule: "orphan" (a result of no call), "unanswered" (a call without a result), "order" (results that do not stand
            right after their calls, or before a text), "roles" (who speaks first or next), "ids" (one id for two
            calls, or letters that no id may have), "empty" (nothing is said).
        error: What the API says, as far as it is known; of content nothing but ids.
    """

    position: int
    rule: str
    error: str


def in_openai(messages: list[Dict], *, pending: bool) -> Iterator[PairingProblem]:
    """Every result right after the message with its call, every call with a result."""
    waiting: list[str] = []
    calls_at = 0
    for at, message in enumerate(messages):
        if message.get("role") == "tool":
            call_id = message.get("tool_call_id")
            if call_id in waiting:
                waiting.remove(call_id)
            else:
                yield PairingProblem(at, "orphan", _OPENAI_ORPHAN)
            continue
        if waiting:
            yield PairingProblem(calls_at, "unanswered", _OPENAI_UNANSWERED.format(_ids(waiting)))
        waiting, calls_at = [call.get("id") for call in message.get("tool_calls") or []], at
    if waiting and not pending:
        yield PairingProblem(calls_at, "unanswered", _OPENAI_UNANSWERED.format(_ids(waiting)))


def in_responses(items: list[Dict], *, pending: bool) -> Iterator[PairingProblem]:
    """Every output after its call, every call with an output, reasoning before what came of it."""
    waiting: dict[str, list[int]] = {}
    last_input = 0
    for at, item in enumerate(items):
        kind, call_id = item.get("type", "message"), item.get("call_id", "")
        if kind in ("function_call", "custom_tool_call"):
            waiting.setdefault(call_id, []).append(at)
        elif kind in _OUTPUTS:
            if waiting.get(call_id):
                waiting[call_id].pop(0)
            else:
                error = f"No tool call found for function call output with call_id {pieces.an_id(call_id)}."
                yield PairingProblem(at, "orphan", error)
        elif kind == "reasoning":
            after = items[at + 1] if at + 1 < len(items) else {}
            kind = after.get("type", "message")
            if kind in _OUTPUTS or (kind == "message" and after.get("role") != "assistant"):
                yield PairingProblem(at, "order", _REASONING.format(pieces.an_id(item.get("id"))))
        elif kind == "message":
            last_input = at
    for call_id, places in waiting.items():
        for at in places:
            if not pending or at < last_input:
                error = f"No tool output found for function call {pieces.an_id(call_id)}."
                yield PairingProblem(at, "unanswered", error)


def in_anthropic(request: Dict, *, pending: bool) -> Iterator[PairingProblem]:
    """Results in the turn after their calls, before any text; the user first; every id once; no empty text."""
    turns = _combined(request.get("messages") or [])
    seen: Counter[str] = Counter()
    waiting: list[str] = []
    for number, (at, role, blocks) in enumerate(turns):
        if number == 0 and role != "user":
            yield PairingProblem(at, "roles", 'messages: first message must use the "user" role')
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for block in results:
            if (use := block.get("tool_use_id")) in waiting and role == "user":
                waiting.remove(use)
            else:
                yield PairingProblem(at, "orphan", _ANTHROPIC_ORPHAN.format(pieces.an_id(use)))
        # Where nothing but results came after the calls, the others may still come.
        open_end = pending and number == len(turns) - 1 and len(results) == len(blocks)
        if waiting and not open_end:
            yield PairingProblem(at - 1, "unanswered", _ANTHROPIC_UNANSWERED.format(_ids(waiting)))
        if results and blocks[: len(results)] != results:
            yield PairingProblem(at, "order", "tool_result blocks must come before any other content of their message")
        if any(map(empty.blank, blocks)):
            yield PairingProblem(at, "empty", "messages: text content blocks must contain non-whitespace text")
        if role == "assistant" and blocks and blocks[-1].get("type") in pieces.THOUGHTS:
            yield PairingProblem(at, "order", "The final block in an assistant message cannot be `thinking`.")
        waiting = [block["id"] for block in blocks if block.get("type") == "tool_use"]
        seen.update(waiting)
        if any(seen[use] > 1 for use in waiting):
            yield PairingProblem(at, "ids", "messages: `tool_use` ids must be unique")
        if not all(_ANTHROPIC_ID.fullmatch(use) for use in waiting):
            yield PairingProblem(at, "ids", "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
    if waiting and not pending:
        yield PairingProblem(turns[-1][0], "unanswered", _ANTHROPIC_UNANSWERED.format(_ids(waiting)))


def in_gemini(request: Dict, *, pending: bool) -> Iterator[PairingProblem]:
    """As many responses as calls, of the same names, in the turn right after; calls after a turn of the user."""
    calls: list[Dict] = []
    before = ""
    contents = request.get("contents") or []
    for at, content in enumerate(contents):
        role = "user" if content.get("role", "user") == "function" else content.get("role", "user")
        parts = pieces.optional(f"contents[{at}].parts", content.get("parts"))
        if not parts or any(map(empty.empty, parts)):
            yield PairingProblem(at, "empty", _GEMINI_EMPTY)
        responses = _held(parts, "function_response")
        if responses and not calls:
            yield PairingProblem(at, "orphan", _GEMINI_AFTER_CALL)
        elif pending and at == len(contents) - 1 and 0 < len(responses) == len(parts) < len(calls):
            pass  # The others may still come.
        elif len(responses) != len(calls):
            rule = "unanswered" if len(responses) < len(calls) else "orphan"
            yield PairingProblem(at, rule, _GEMINI_COUNT)
        elif Counter(map(_gemini_key, responses)) != Counter(map(_gemini_key, calls)):
            yield PairingProblem(at, "orphan", _GEMINI_COUNT)
        calls = _held(parts, "function_call")
        if calls and (role != "model" or before != "user"):
            yield PairingProblem(at, "roles", _GEMINI_AFTER_USER)
        before = role
    if calls and not pending:
        yield PairingProblem(len(contents) - 1, "unanswered", _GEMINI_COUNT)


def _held(parts: list[Dict], key: str) -> list[Dict]:
    found = [pieces.key(part, key) for part in parts]
    return [pieces.a_dict(key, one) for one in found if one is not None]


def _gemini_key(call: Dict) -> tuple[object, object]:
    return call.get("name"), call.get("id")


def _combined(messages: list[Dict]) -> list[tuple[int, str, list[Dict]]]:
    """Turns as the API sees them: messages of one role in a row are one."""
    turns: list[tuple[int, str, list[Dict]]] = []
    for at, message in enumerate(messages):
        # A message without content is as wrong as one with nothing in it.
        blocks = pieces.parts(f"messages[{at}]", message.get("content")) or [{"type": "text", "text": ""}]
        if turns and turns[-1][1] == message.get("role"):
            turns[-1][2].extend(blocks)
        else:
            turns.append((at, str(message.get("role")), blocks))
    return turns


def _ids(waiting: list[Any]) -> str:
    return ", ".join(map(pieces.an_id, waiting))


_OUTPUTS = ("function_call_output", "custom_tool_call_output")
_REASONING = "Item '{}' of type 'reasoning' was provided without its required following item."
_OPENAI_ORPHAN = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)
_OPENAI_UNANSWERED = (
    "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. "
    "The following tool_call_ids did not have response messages: {}"
)
_ANTHROPIC_ID = re.compile("[a-zA-Z0-9_-]+")
_ANTHROPIC_ORPHAN = (
    "unexpected `tool_use_id` found in `tool_result` blocks: {}. Each `tool_result` block must have a corresponding "
    "`tool_use` block in the previous message."
)
_ANTHROPIC_UNANSWERED = (
    "`tool_use` ids were found without `tool_result` blocks immediately after: {}. Each `tool_use` block must have a "
    "corresponding `tool_result` block in the next message."
)
_GEMINI_COUNT = (
    "Please ensure that the number of function response parts is equal to the number of function call parts of the "
    "function call turn."
)
_GEMINI_EMPTY = (
    "Unable to submit request because it has an empty text parameter. Add a value to the parameter and try again."
)
_GEMINI_AFTER_CALL = "Please ensure that function response turn comes immediately after a function call turn."
_GEMINI_AFTER_USER = (
    "Please ensure that function call turn comes immediately after a user turn or after a function response turn."
)
