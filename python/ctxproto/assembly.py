"""The pieces of a context: results put to their calls, everything redacted but what holds messages together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxproto import arguments
from ctxproto.audit.records import (
    AuditRecord,
    CallAdded,
    MessagesChanged,
    ResultRepeated,
    ResultTrimmed,
    SecretLeft,
    SecretRedacted,
)
from ctxproto.errors import ConfigTypeError, shown
from ctxproto.tools.calls import ToolCallRequest
from ctxproto.tools.envelope import ToolResultEnvelope
from ctxproto.tools.media import is_media

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

    def redact(self, redactor: Redactor) -> list[SecretRedacted | SecretLeft]:
        """Redacts all messages, and tells what was found in each: what was replaced, then what had to stay."""
        redaction = redactor.redact_json(self.messages)
        labels: dict[int, list[str]] = {
            at: [secret["label"] for secret in part.envelope._found_secrets]  # noqa: SLF001 - the seed's name
            for at, part in self._parts.items()
            if part.envelope is not None
        }
        left: dict[int, list[str]] = {}
        if redaction.changed:
            restored = _Restored()
            self.messages = restored.of(self.messages, redaction.value)
            for finding in redaction.findings:
                path = str(finding.key_path)
                if path not in restored.media:
                    told = left if path in restored.held else labels
                    told.setdefault(int(path[1 : path.index("]")]), []).append(finding.label)
        redacted: list[SecretRedacted | SecretLeft] = [
            self._redacted(at, found) for at, found in sorted(labels.items()) if found
        ]
        return redacted + [
            SecretLeft(place=self._place(at), secrets_found=len(found), labels=tuple(found))
            for at, found in sorted(left.items())
        ]

    def _redacted(self, at: int, found: list[str]) -> SecretRedacted:
        part = self._parts.get(at)
        envelope = None if part is None else part.envelope
        return SecretRedacted(
            tool_call_id=None if envelope is None else envelope.tool_call_id,
            place=self._place(at) if envelope is None else None,
            secrets_found=len(found),
            labels=tuple(found),
        )

    def _place(self, at: int) -> str:
        part = self._parts.get(at)
        return "history" if part is None else part.category


class Results(NamedTuple):
    """Results as messages.

    Args:
        turn: Where the calls that the history ends with stand in it; its length when it does not.
        behind: Results of those calls, in their order.
        others: Results of other calls, each behind its call where that is known.
        records: The calls that were added, and the results that were told already.
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
    if {*map(type, messages)} <= {dict}:
        return messages
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
    turn, pending, answered = _pending(history)
    left = list(given)
    behind: list[Part] = []
    for name in pending:
        one = next((envelope for envelope in left if envelope.tool_call_id == name), None)
        if one is not None:
            left.remove(one)
            behind.append(_result(one))
    requests = [] if tool_calls is None else ToolCallRequest.parse_all(tool_calls)
    asked, others, told = list[ToolCallRequest](), list[Part](), list[Part]()
    records = list[AuditRecord]()
    for one in left:
        name = one.tool_call_id
        call = next((request for request in requests if request.id == name), None)
        if call is not None:
            requests.remove(call)  # ids may repeat: one result answers one call
        elif name in answered or name in pending or any(request.id == name for request in asked):
            # Told already, or the answer of a call that another one answered.
            records.append(ResultRepeated(tool_call_id=name))
            continue
        else:
            call = known.get(name)
            records += [CallAdded(tool_call_id=name, known=call is not None)] if tool_calls is None else []
        if call is None:
            told.append(_told(one))
        else:
            asked.append(call)
            others.append(_result(one))
    if asked:
        said = tool_calls.get("content") if isinstance(tool_calls, Mapping) else None
        said = said if isinstance(said, str) else None  # the calls of other APIs stand in it
        message = {"role": "assistant", "content": said, "tool_calls": [call.to_openai() for call in asked]}
        others.insert(0, Part(message, "tool_results"))
    return Results(turn, behind, others + told, records)


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


def _pending(history: Sequence[Any]) -> tuple[int, list[str], set[str]]:
    """Where the calls that the history ends with stand, and the ids of those without a result, and with one."""
    at, answers = len(history), list[object]()
    while at and history[at - 1].get("role") == "tool":
        at -= 1
        answers.append(history[at].get("tool_call_id"))
    if not at or history[at - 1].get("role") != "assistant" or not history[at - 1].get("tool_calls"):
        return len(history), [], set()
    pending, answered = list[str](), set[str]()
    for name in ToolCallRequest.ids(history[at - 1]):
        # Ids may repeat: one result answers one call.
        if name in answers:
            answers.remove(name)
            answered.add(name)
        else:
            pending.append(name)
    return at - 1, pending, answered


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
# Where that may stand. What is below any other key (the arguments of a call) is somebody's data, whatever its names.
_HOLDS = frozenset({"content", "tool_calls", "extra_content", "google"})
# Where an image, a recording or a file may stand: by itself, or in an object.
_FILES = frozenset(
    {"image_url", "url", "file", "file_data", "source", "input_audio", "data", "inlineData", "inline_data"}
)
# What tells of which kind it is, beside it.
_DECLARES = ("media_type", "mimeType", "mime_type", "format")


class _Restored:
    """What was redacted, with what holds messages together, and with media, which are no text.

    Attributes:
        media: The places of media that stay in spite of their findings, which are none.
        held: The places of what holds messages together and stays in spite of its findings.
    """

    def __init__(self) -> None:
        self.media, self.held = set[str](), set[str]()

    def of(self, old: Any, new: Any, place: str = "") -> Any:  # noqa: ANN401 - whatever JSON can be
        """`new`, which `old` became, with what stays of it."""
        if isinstance(old, list | tuple) and isinstance(new, list | tuple):
            pairs = enumerate(zip(old, new, strict=True))
            return [
                after if before is after else self.of(before, after, f"{place}[{at}]") for at, (before, after) in pairs
            ]
        if not isinstance(old, dict) or not isinstance(new, dict):
            return new
        restored = {}
        for (key, before), (name, after) in zip(old.items(), new.items(), strict=True):
            if before is after:
                restored[name] = after
                continue
            inner, text = f"{place}.{key}", isinstance(before, str)
            if text and key in _KEEPS:
                self.held.add(inner)
                restored[name] = before
            elif text and key in _FILES and is_media(before, _declared(old)):
                self.media.add(inner)
                restored[name] = before
            elif key in _HOLDS or (key in _FILES and isinstance(before, dict)):
                restored[name] = self.of(before, after, inner)
            else:
                restored[name] = after
        return restored


def _declared(holder: dict[Any, Any]) -> str | None:
    """Of what kind the media in an object are, as it says."""
    return next((kind for key in _DECLARES if isinstance(kind := holder.get(key), str)), None)
