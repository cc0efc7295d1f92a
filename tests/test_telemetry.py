"""Spans and metrics, by OpenTelemetry's own SDK."""

from __future__ import annotations

import json
import sys
from typing import Any

import pytest
from ctxproto import (
    ConfigError,
    ContextProtocol,
    InMemoryArtifactStore,
    MemoryQueryResult,
    OpenTelemetrySink,
    TaskStateEnvelope,
)
from strategies import random_token

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")

from opentelemetry.sdk.metrics import MeterProvider  # noqa: E402
from opentelemetry.sdk.metrics.export import InMemoryMetricReader  # noqa: E402
from opentelemetry.sdk.trace.export import SimpleSpanProcessor  # noqa: E402
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter  # noqa: E402

FACT = "Project X uses pip-tools for its dependencies, with hashes for every requirement."


class Memory:
    def search(self, query: str, namespace: str) -> list[MemoryQueryResult]:  # noqa: ARG002
        return [MemoryQueryResult("Prefers tea.", 0.9, "user_default", "m")]

    def save(self, namespace: str, content: str) -> None: ...


class Watched:
    def __init__(self) -> None:
        self.spans, self.metrics = InMemorySpanExporter(), InMemoryMetricReader()
        self.tracers = sdk.TracerProvider()
        self.tracers.add_span_processor(SimpleSpanProcessor(self.spans))
        self.meters = MeterProvider([self.metrics])
        self.sink = OpenTelemetrySink(self.tracers, self.meters)

    def points(self) -> dict[tuple[str, tuple[Any, ...]], Any]:
        """Each metric with its attributes: its value, or its count and sum."""
        found = {}
        data = self.metrics.get_metrics_data()
        assert data is not None
        for metric in data.resource_metrics[0].scope_metrics[0].metrics:
            for point in metric.data.data_points:
                values = tuple((point.attributes or {}).values())
                value = getattr(point, "value", None)
                found[metric.name, values] = value if value is not None else (point.count, point.sum)  # type: ignore[union-attr]
        return found


def test_a_span_for_each_call_and_metrics_without_content() -> None:
    watched = Watched()
    token = random_token(4)
    protocol = ContextProtocol(
        400, Memory(), sinks=[watched.sink], conversation_id=f"conversation {token}", session_id=None
    )
    state = TaskStateEnvelope("task-1", artifact_store={"p": {"cagr": "18.4%"}})
    state.add_artifact("k", "p", "s", 1)
    envelope = protocol.handle_tool_result("c1", f"the secret word is tangerine, key {token} " + "line\n" * 3000, 100)
    history = [{"role": "user", "content": "old words " * 200}, {"role": "assistant", "content": "tangerine"}]
    with watched.tracers.get_tracer("test").start_as_current_span("agent"):
        messages = protocol.prepare_context("q", [envelope], state, "s", "drink", history=history)
    protocol.get_task_state("task-1", ["cagr", "none"])
    assert protocol.persist_memory(FACT)
    prepared, agent, resolved, written = watched.spans.get_finished_spans()
    assert [span.name for span in (prepared, resolved, written)] == [
        *["ctxproto.prepare_context", "ctxproto.get_task_state", "ctxproto.persist_memory"]
    ]
    assert prepared.parent is not None
    assert prepared.parent.span_id == agent.context.span_id
    assert prepared.attributes == {
        "gen_ai.conversation.id": "conversation [GITHUB_TOKEN:REDACTED]",
        "ctxproto.task.id": "task-1",
        "ctxproto.budget.max_tokens": 400,
        "ctxproto.context.tokens": messages.report.tokens,
        "gen_ai.memory.record.count": 1,
        "ctxproto.secrets.redacted": 1,
        "gen_ai.conversation.compacted": True,
        "ctxproto.context.messages": len(messages),
        "ctxproto.budget.utilization": messages.report.tokens / 400,
    }
    events = {event.name: dict(event.attributes or {}) for event in prepared.events}
    assert events["ctxproto.secret_redacted"] == {
        "gen_ai.tool.call.id": "c1",
        "ctxproto.secrets_found": 1,
        "ctxproto.labels": ("GITHUB_TOKEN",),
    }
    assert events["ctxproto.memory_read"] == {"gen_ai.memory.record.count": 1, "ctxproto.best_score": 0.9}
    assert {event.name for event in resolved.events} == {"ctxproto.fields_resolved"}
    points = watched.points()
    assert points["ctxproto.secrets.redacted", ("GITHUB_TOKEN",)] == 1
    assert points["ctxproto.context.tokens", ()] == (1, messages.report.tokens)
    assert points["ctxproto.tokens.saved", ("trimming",)] > 2000
    assert points["ctxproto.prepare_context.duration", ()][1] > 0
    said = json.dumps([json.loads(span.to_json()) for span in watched.spans.get_finished_spans()]) + str(points)
    assert "tangerine" not in said
    assert token[4:] not in said
    assert "tea" not in said


def test_nothing_was_compacted() -> None:
    watched = Watched()
    ContextProtocol(sinks=[watched.sink]).prepare_context("q")
    (span,) = watched.spans.get_finished_spans()
    # True or absent, as the conventions have it.
    assert "gen_ai.conversation.compacted" not in (span.attributes or {})


def test_fields_of_the_store_are_read_under_a_span() -> None:
    watched = Watched()
    store = InMemoryArtifactStore()
    state = TaskStateEnvelope("t", artifact_store=store)
    state.store_artifact("k", {"a": 1}, "s")
    protocol = ContextProtocol(artifact_store=store, sinks=[watched.sink])
    protocol.register_task(state)
    assert protocol.get_task_state("t", ["a"]) == {"a": 1}
    (span,) = watched.spans.get_finished_spans()
    assert dict(span.events[0].attributes or {})["ctxproto.found"] == 1


def test_without_opentelemetry_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(ConfigError, match=r"ctxproto\[otel\]"):
        OpenTelemetrySink()
