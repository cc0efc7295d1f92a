"""The pieces of a context: results put to their calls, everything redacted but what holds messages together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxproto import arguments
from ctxproto.audit.records import AuditRecord, CallAdded, MessagesChanged, ResultTrimmed, SecretRedacted
from ctxproto.errors import ConfigTypeError, shown
from ctxproto.tools.calls import ToolCallRequest
from ctxproto.tools.envelope import ToolResultEnvelope

if TYPE_CHECKING:
    from ctxproto.budget import BudgetReport
    from ctxproto.tools.redact import Redactor

__all__ = [
    "Assembly",
    "Part",
    "PreparedContext",
    "Results",
    "changes",
    "content",
    "envelopes",
    "past",
    "results",
    "system",
    "trimmed",
]


class Part(NamedTuple):
    """A message that is not of the history, on its way into the context.

    Args:
        message: The chat message.
        category: Its category for the budget.
        envelope: The result that it is.
    """

    message: Any
    category: str
    envelope: ToolResultEnvelope | None = None


class PreparedContext(list[dict[str, Any]]):
    """The messages to send: a list, with the account of how it came to be.

    Attributes:
        audit_records: What was decided, in its order.
        report: What was done to keep the budget.
    """

    def __init__(
        self, messages: Iterable[dict[str, Any]], audit_records: Sequence[AuditRecord], report: BudgetReport
    ) -> None:
        super().__init__(messages)
        self.audit_records = tuple(audit_records)
        self.report = report

    @property
    def audit_trail(self) -> list[dict[str, Any]]:
        """The records as the article's entries."""
        return [record.to_dict() for record in self.audit_records]


class Assembly:
    """A context as it is put together: messages, and what is known of those that are not of the history."""

    def __init__(self) -> None:
        self.messages: list[Any] = []
        self._parts: dict[int, Part] = {}

    def past(self, messages: Sequence[Any]) -> None:
        """Puts messages of the history next."""
        self.messages += messages

    def add(self, parts: Iterable[Part]) -> None:
        """Puts others next."""
        for part in parts:
            self._parts[len(self.messages)] = part
            self.messages.append(part.message)

    @property
    def categories(self) -> list[str | None]:
        """The category of each message; None, the one of its place, for those of the history."""
        categories: list[str | None] = [None] * len(self.messages)
        for at, part in self._parts.items():
            categories[at] = part.category
        return categories

    def redact(self, redactor: Redactor) -> list[SecretRedacted]:
        """Redacts all messages, and tells what was found in each."""
        redaction = redactor.redact_json(self.messages)
        labels: dict[int, list[str]] = {
            at: [secret["label"] for secret in part.envelope._found_secrets]  # noqa: SLF001 - the seed's name
            for at, part in self._parts.items()
            if part.envelope is not None
        }
        if redaction.changed:
            for finding in redaction.findings:
                path = str(finding.key_path)
                if not _STRUCTURE.search(path):
                    labels.setdefault(int(path[1 : path.index("]")]), []).append(finding.label)
            pairs = zip(self.messages, redaction.value, strict=True)
            self.messages = [old if old is new else _restored(old, new) for old, new in pairs]
        return [self._told(at, found) for at, found in sorted(labels.items()) if found]

    def _told(self, at: int, found: list[str]) -> SecretRedacted:
        part = self._parts.get(at)
        envelope = None if part is None else part.envelope
        return SecretRedacted(
            tool_call_id=None if envelope is None else envelope.tool_call_id,
            place=None if envelope is not None else "history" if part is None else part.category,
            secrets_found=len(found),
            labels=tuple(found),
        )


class Results(NamedTuple):
    """Results as messages.

    Args:
        turn: Where the calls that the history ends with stand in it; its length when it does not.
        behind: Results of those calls, in their order.
        others: Results of other calls, each behind its call where that is known.
        records: The calls that were added.
    """

    turn: int
    behind: list[Part]
    others: list[Part]
    records: list[AuditRecord]


def system(text: str, category: str) -> Part:
    """A system message."""
    return Part({"role": "system", "content": text}, category)


def content(message: Any) -> Any:  # noqa: ANN401 - text or parts
    """What a user says, checked: text, or content parts."""
    if issubclass(type(message), str):
        return str.__str__(message)
    parts = arguments.several("user_message", message, "content parts") if isinstance(message, Sequence) else None
    if parts is None:
        raise ConfigTypeError(f"user_message is a str or a list of content parts, not {shown(message)}")
    for at, part in enumerate(parts):
        if not isinstance(part, Mapping):
            raise ConfigTypeError(f"user_message[{at}] is a content part, not {shown(part)}")
    return parts


def past(history: object) -> list[Any]:
    """The messages before, checked as far as they are looked into here."""
    messages = arguments.several("history", history, "messages")
    for at, message in enumerate(messages):
        if type(message) is not dict:
            if not isinstance(message, Mapping):
                raise ConfigTypeError(f"history[{at}] is a message, not {shown(message)}")
            messages[at] = dict(message)
    return messages


def envelopes(tool_results: object) -> list[ToolResultEnvelope]:
    """The envelopes of results, checked."""
    given = [] if tool_results is None else arguments.several("tool_results", tool_results, "ToolResultEnvelopes")
    for at, one in enumerate(given):
        if not isinstance(one, ToolResultEnvelope):
            raise ConfigTypeError(f"tool_results[{at}] is a ToolResultEnvelope, not {shown(one)}")
    return given  # type: ignore[return-value]


def results(
    history: Sequence[Any],
    given: Iterable[ToolResultEnvelope],
    tool_calls: object,
    known: Mapping[str, ToolCallRequest],
) -> Results:
    """Puts results to the calls that they answer: those the history ends with, those of `tool_calls`, those `known`."""
    turn, pending = _pending(history)
    left = list(given)
    behind: list[Part] = []
    for name in pending:
        one = next((envelope for envelope in left if envelope.tool_call_id == name), None)
        if one is not None:
            left.remove(one)
            behind.append(_result(one))
    if not left:
        return Results(turn, behind, [], [])
    calls = dict(known)
    if tool_calls is not None:
        calls.update((call.id, call) for call in ToolCallRequest.parse_all(tool_calls))
    answered = [one for one in left if one.tool_call_id in calls]
    others: list[Part] = []
    if answered:
        said = tool_calls.get("content") if isinstance(tool_calls, Mapping) else None
        said = said if isinstance(said, str) else None  # the calls of other APIs stand in it
        asked = [calls[one.tool_call_id].to_openai() for one in answered]
        others.append(Part({"role": "assistant", "content": said, "tool_calls": asked}, "tool_results"))
        others += map(_result, answered)
    others += [_told(one) for one in left if one.tool_call_id not in calls]
    added = [] if tool_calls is not None else [one.tool_call_id for one in left]
    return Results(turn, behind, others, [CallAdded(tool_call_id=one, known=one in calls) for one in added])


def trimmed(given: Iterable[ToolResultEnvelope]) -> list[ResultTrimmed]:
    """What was trimmed of each result."""
    return [
        ResultTrimmed(
            tool_call_id=one.tool_call_id,
            strategy=loss.strategy,
            tokens=loss.tokens,
            source_tokens=loss.source_tokens,
            dropped_bytes=loss.dropped_bytes,
            dropped_lines=loss.dropped_lines,
        )
        for one in given
        if (loss := one.loss) is not None and loss.dropped_bytes
    ]


def changes(report: BudgetReport) -> list[MessagesChanged]:
    """The changes of one kind in one record: those of each message are in the report."""
    sums: dict[tuple[str, str, str], list[int]] = {}
    for change in report.changes:
        numbers = sums.setdefault((change.action, change.reason, change.category), [0, 0, 0])
        numbers[0] += len(change.messages)
        numbers[1] += change.tokens_before
        numbers[2] += change.tokens
    return [
        MessagesChanged(
            change=action, reason=reason, category=category, messages=count, tokens_before=before, tokens=after
        )
        for (action, reason, category), (count, before, after) in sums.items()
    ]


def _pending(history: Sequence[Any]) -> tuple[int, list[str]]:
    """Where the calls that the history ends with stand, and the ids of those that have no result."""
    at, answered = len(history), list[object]()
    while at and history[at - 1].get("role") == "tool":
        at -= 1
        answered.append(history[at].get("tool_call_id"))
    if not at or history[at - 1].get("role") != "assistant" or not history[at - 1].get("tool_calls"):
        return len(history), []
    pending = []
    for call in ToolCallRequest.parse_all(history[at - 1]):
        # Ids may repeat: one result answers one call.
        if call.id in answered:
            answered.remove(call.id)
        else:
            pending.append(call.id)
    return at - 1, pending


def _result(envelope: ToolResultEnvelope) -> Part:
    return Part(envelope.to_context_chunk(), "tool_results", envelope)


def _told(envelope: ToolResultEnvelope) -> Part:
    """A result of which only the id of its call is known: what no call stands before, no API takes for a result."""
    head = f"[Result of tool call {envelope.tool_call_id}]"
    body = envelope.to_context_chunk()["content"]
    said = [{"type": "text", "text": head}, *body] if isinstance(body, list) else f"{head}\n{body}"
    return Part({"role": "user", "content": said}, "tool_results", envelope)


# What holds messages together, or is signed: another value would be another message, or none.
_KEEPS = frozenset({"role", "type", "id", "tool_call_id", "call_id", "signature", "thought_signature"})
_STRUCTURE = re.compile(rf"(?:^|[.\]])(?:{'|'.join(sorted(_KEEPS))})$")


def _restored(old: Any, new: Any) -> Any:  # noqa: ANN401 - whatever JSON can be
    """A redacted message, with what holds it together, and with the bytes of images, which are no text."""
    if old is new:
        return new
    if isinstance(old, dict) and isinstance(new, dict):
        pairs = zip(old.items(), new.items(), strict=True)
        return {
            after: value if after in _KEEPS else _restored(value, changed) for (_, value), (after, changed) in pairs
        }
    if isinstance(old, list | tuple) and isinstance(new, list | tuple):
        return [_restored(before, after) for before, after in zip(old, new, strict=True)]
    if isinstance(old, str) and old.startswith("data:") and ";base64," in old[:100]:
        return old
    return new
