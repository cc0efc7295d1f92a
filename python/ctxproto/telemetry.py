"""Spans and metrics of OpenTelemetry, made from audit records: numbers and ids, never content."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxproto.audit.records import (
    AuditContext,
    AuditRecord,
    ContextPrepared,
    FieldsResolved,
    MemoryRead,
    MemoryWritten,
    MessagesChanged,
    ResultTrimmed,
    SecretRedacted,
)
from ctxproto.errors import ConfigError
from ctxproto.tools.redact import default_redactor

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["OpenTelemetrySink"]

# The call that a record is the last one of.
_SPANS: dict[type[AuditRecord], str] = {
    ContextPrepared: "ctxproto.prepare_context",
    FieldsResolved: "ctxproto.get_task_state",
    MemoryWritten: "ctxproto.persist_memory",
}
# What the semantic conventions for generative AI have a name for; all else is `ctxproto.*`.
_NAMES = {"tool_call_id": "gen_ai.tool.call.id", "chunks": "gen_ai.memory.record.count"}


class OpenTelemetrySink:
    """Makes a span of each call of a protocol, an event of each decision, and metrics (the extra `ctxproto[otel]`).

    Spans `ctxproto.prepare_context`, `ctxproto.get_task_state` and `ctxproto.persist_memory` stand under the span that
    is current, with `gen_ai.conversation.id`, `gen_ai.conversation.compacted` (true, or absent) and `ctxproto.*`.
    Metrics: `ctxproto.prepare_context.duration` (s), `ctxproto.context.tokens`, `ctxproto.context.budget_utilization`,
    `ctxproto.secrets.redacted` by label, `ctxproto.messages.changed` by change, reason and category,
    `ctxproto.tokens.saved` by what saved them.

    Args:
        tracer_provider: Where spans go; the global one unless given.
        meter_provider: Where metrics go; the global one unless given.

    Raises:
        ConfigError: OpenTelemetry is not installed.

    >>> from ctxproto import ContextProtocol
    >>> protocol = ContextProtocol(sinks=[OpenTelemetrySink()])
    >>> len(protocol.prepare_context("hello"))
    1
    """

    def __init__(self, tracer_provider: Any = None, meter_provider: Any = None) -> None:  # noqa: ANN401 - the API's
        told = ""
        try:
            from opentelemetry import metrics, trace
        except ImportError:
            told = "OpenTelemetry is not installed: ctxproto[otel] brings its API"
        if told:
            raise ConfigError(told)
        self._tracer = trace.get_tracer("ctxproto", tracer_provider=tracer_provider)
        meter = metrics.get_meter("ctxproto", meter_provider=meter_provider)
        self._duration = meter.create_histogram("ctxproto.prepare_context.duration", "s")
        self._tokens = meter.create_histogram("ctxproto.context.tokens", "{token}")
        self._utilization = meter.create_histogram("ctxproto.context.budget_utilization", "1")
        self._secrets = meter.create_counter("ctxproto.secrets.redacted", "{secret}")
        self._changed = meter.create_counter("ctxproto.messages.changed", "{message}")
        self._saved = meter.create_counter("ctxproto.tokens.saved", "{token}")

    def write(self, records: Sequence[AuditRecord], context: AuditContext) -> None:
        """Makes the span and counts."""
        name = _SPANS.get(type(records[-1]), "ctxproto") if records else "ctxproto"
        span = self._tracer.start_span(name, start_time=context.started, attributes=_about(records, context))
        for record in records:
            span.add_event(f"ctxproto.{record.action}", _attributes(record), timestamp=context.ended)
            self._count(record)
        span.end(end_time=context.ended)
        if name == "ctxproto.prepare_context":
            self._duration.record((context.ended - context.started) / 1e9)
            self._tokens.record(context.tokens or 0)
            self._utilization.record(records[-1].to_dict()["budget_utilization"])

    def _count(self, record: AuditRecord) -> None:
        if isinstance(record, SecretRedacted):
            for label in record.labels:
                self._secrets.add(1, {"ctxproto.label": label})
        elif isinstance(record, MessagesChanged):
            kind = {"change": record.change, "reason": record.reason, "category": record.category}
            self._changed.add(record.messages, {f"ctxproto.{key}": value for key, value in kind.items()})
            self._saved.add(max(record.tokens_before - record.tokens, 0), {"ctxproto.by": "budget"})
        elif isinstance(record, ResultTrimmed):
            self._saved.add(max(record.source_tokens - record.tokens, 0), {"ctxproto.by": "trimming"})


def _about(records: Sequence[AuditRecord], context: AuditContext) -> dict[str, Any]:
    """What is to be known of a span without its events."""
    about: dict[str, Any] = {
        "gen_ai.conversation.id": _id(context.conversation_id),
        "ctxproto.task.id": _id(context.task_id),
        "ctxproto.budget.max_tokens": context.max_tokens,
        "ctxproto.context.tokens": context.tokens,
    }
    for record in records:
        if isinstance(record, ContextPrepared):
            about["ctxproto.context.messages"] = record.message_count
            about["ctxproto.budget.utilization"] = record.budget_utilization
        elif isinstance(record, MessagesChanged) and record.reason == "budget":
            about["gen_ai.conversation.compacted"] = True
        elif isinstance(record, SecretRedacted):
            about["ctxproto.secrets.redacted"] = about.get("ctxproto.secrets.redacted", 0) + record.secrets_found
        elif isinstance(record, MemoryRead):
            about["gen_ai.memory.record.count"] = record.chunks
    return {name: value for name, value in about.items() if value is not None}


def _attributes(record: AuditRecord) -> dict[str, Any]:
    entry = record.to_dict()
    del entry["action"]
    named = {_NAMES.get(name, f"ctxproto.{name}"): value for name, value in entry.items()}
    return {name: _id(value) if name.endswith((".id", "_id")) else value for name, value in named.items()}


def _id(value: str | None) -> str | None:
    # What is not ours to choose may hold anything.
    return None if value is None else default_redactor().redact(value).text
