"""What was decided about a context: what, why and numbers, never content (seed 000, section 6)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "AuditContext",
    "AuditRecord",
    "AuditSink",
    "CallAdded",
    "ContextPrepared",
    "FieldsResolved",
    "MemoryRead",
    "MemorySkipped",
    "MemoryWritten",
    "MessagesChanged",
    "ResultRepeated",
    "ResultTrimmed",
    "SecretLeft",
    "SecretRedacted",
    "TaskStateInjected",
]


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """One decision. `to_dict` gives the entry that the article shows."""

    action: ClassVar[str] = ""

    def to_dict(self) -> dict[str, Any]:
        """The record as JSON has it, `action` first; what is None is left out.

        >>> SecretRedacted(secrets_found=1, labels=("OPENAI_KEY",), tool_call_id="call_search_01").to_dict()
        {'action': 'secret_redacted', 'tool_call_id': 'call_search_01', 'secrets_found': 1, 'labels': ['OPENAI_KEY']}
        """
        entry: dict[str, Any] = {"action": self.action}
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None:
                entry[field.name] = list(value) if isinstance(value, tuple) else value
        return entry


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretRedacted(AuditRecord):
    """Values were replaced.

    Args:
        tool_call_id: The call in whose result they were.
        place: What they were in, where that is no result: "system", "user_messages", "history", "memory", "task_state".
        secrets_found: How many.
        labels: The label of each.
    """

    action: ClassVar[str] = "secret_redacted"
    tool_call_id: str | None = None
    place: str | None = None
    secrets_found: int
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretLeft(AuditRecord):
    """Values were found in what holds messages together, such as ids of calls. They stay: others would be other calls.

    Args:
        place: What they are in, as in `SecretRedacted`.
        secrets_found: How many.
        labels: The label of each.
    """

    action: ClassVar[str] = "secret_left"
    place: str
    secrets_found: int
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultTrimmed(AuditRecord):
    """A tool's result was shortened.

    Args:
        tool_call_id: Its call.
        strategy: How.
        tokens: What is left.
        source_tokens: What it had, counted or in proportion.
        dropped_bytes, dropped_lines: What went.
    """

    action: ClassVar[str] = "result_trimmed"
    tool_call_id: str
    strategy: str
    tokens: int
    source_tokens: int
    dropped_bytes: int
    dropped_lines: int


@dataclass(frozen=True, slots=True, kw_only=True)
class CallAdded(AuditRecord):
    """A result came without the call that it answers, which was written for it.

    Args:
        tool_call_id: The call.
        known: Whether its name and arguments were known from its request.
    """

    action: ClassVar[str] = "call_added"
    tool_call_id: str
    known: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultRepeated(AuditRecord):
    """A result was given again for a call that is answered, and left out.

    Args:
        tool_call_id: The call.
    """

    action: ClassVar[str] = "result_repeated"
    tool_call_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryRead(AuditRecord):
    """Memories were read.

    Args:
        chunks: How many.
        best_score: The best of them, 0 to 1.
    """

    action: ClassVar[str] = "memory_read"
    chunks: int
    best_score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MemorySkipped(AuditRecord):
    """Memory was asked, and nothing was read.

    Args:
        candidates: How many memories the search found; the gate left them all out.
    """

    action: ClassVar[str] = "memory_skipped"
    candidates: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryWritten(AuditRecord):
    """Something was to be remembered.

    Args:
        accepted: Whether it was.
        rule: The rule of the gate that decided.
    """

    action: ClassVar[str] = "memory_written"
    accepted: bool
    rule: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskStateInjected(AuditRecord):
    """The summaries of a task's artifacts were put before the model.

    Args:
        task_id: The task.
        artifact_count: How many artifacts.
    """

    action: ClassVar[str] = "task_state_injected"
    task_id: str
    artifact_count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldsResolved(AuditRecord):
    """Fields of a task's artifacts were asked for.

    Args:
        task_id: The task.
        found, missing: How many fields.
        unreadable: How many artifacts could not be read.
    """

    action: ClassVar[str] = "fields_resolved"
    task_id: str
    found: int
    missing: int
    unreadable: int


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagesChanged(AuditRecord):
    """Messages were changed to keep the budget, or because no API would take them; all changes of a kind.

    Args:
        change: "dropped", "shortened", "cut" or "moved".
        reason: "budget", "leading", "orphan", "duplicate", "unanswered" or "late".
        category: What they are.
        messages: How many.
        tokens_before, tokens: What they took, and take.
    """

    action: ClassVar[str] = "messages_changed"
    change: str
    reason: str
    category: str
    messages: int
    tokens_before: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextPrepared(AuditRecord):
    """A context is ready.

    Args:
        message_count: Its messages.
        budget_utilization: The share of the budget that it takes.
    """

    action: ClassVar[str] = "context_prepared"
    message_count: int
    budget_utilization: float


class AuditContext(NamedTuple):
    """What records are about.

    Args:
        conversation_id: The conversation, where it was named.
        task_id: The task, where there is one.
        max_tokens: The budget.
        tokens: What the context takes of it.
        started, ended: When the work began and ended, in nanoseconds since 1970.
    """

    conversation_id: str | None = None
    task_id: str | None = None
    max_tokens: int | None = None
    tokens: int | None = None
    started: int = 0
    ended: int = 0


class AuditSink(Protocol):
    """Where records go. What it raises comes out of the call that made them: what is not recorded is not sent."""

    def write(self, records: Sequence[AuditRecord], context: AuditContext) -> object:
        """Takes the records of one call, in their order."""
        ...
