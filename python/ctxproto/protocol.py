"""The one call before every call of a model: what it may see, redacted, routed, gated and within its budget."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ctxproto import arguments, assembly
from ctxproto.assembly import Assembly, Part, PreparedContext
from ctxproto.audit.records import (
    AuditContext,
    AuditRecord,
    ContextPrepared,
    FieldsResolved,
    MemoryWritten,
    SecretRedacted,
    TaskStateInjected,
)
from ctxproto.errors import ConfigTypeError, shown
from ctxproto.recall import ConversationMemory, memories, query_for
from ctxproto.tasks.known import KnownTasks
from ctxproto.tasks.policy import ContextPolicy, default_policy
from ctxproto.tasks.state import DeclaredFields, TaskStateEnvelope
from ctxproto.tools.calls import ToolCallRequest

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from ctxproto.audit.records import AuditSink
    from ctxproto.budget import BudgetReport, TokenBudget
    from ctxproto.memory.gate import MemoryContextGate, WriteVerdict
    from ctxproto.tools.envelope import ToolResultEnvelope

__all__ = ["ContextProtocol"]

# What a conversation keeps: the calls of the last results, and security events.
_CALLS = 64
_EVENTS = 1000


class ContextProtocol:
    """Puts together what a model sees: one for each conversation, over a policy that all share (seed 000, section 6).

    `prepare_context` is the only call before a model's: it takes what there is, leaves out what is not, redacts all of
    it, gates memory, refers to artifacts, pairs results with calls, keeps to the budget exactly, and keeps an account.
    Each call begins a fresh one: nothing of a call is in the next. Any thread may call any method.

    A result travels with the call that it answers. Where the history ends with the assistant message that asked for it,
    the result stands behind that message. Where the call is known from elsewhere (`tool_calls`, or a `ToolCallRequest`
    given to `handle_tool_result`), an assistant message with it is put before. Where nothing is known of the call but
    its id, as in the article's demo, no API would take a tool message, and a name and arguments would be invented: the
    result is then a user message that says whose result it is.

    Args:
        max_context_tokens: What a context may take; the policy's unless given, and 8000 unless that says otherwise.
        memory_backend: Anything with `search(query, namespace=...)` and `save(namespace, content)`, such as a
            `MemoryStore`. What it raises comes out of the call.
        artifact_store: Anything with `read(pointer)` and `save(key, value)`, or a mapping; see `TaskStateEnvelope`.
        policy: What all layers enforce.
        user_id, session_id, task_id: Whose conversation it is: what memory it sees, and where it may write.
        conversation_id: Its name in the audit records.
        sinks: Where audit records go as well, such as an `AuditLog`. What a sink raises comes out of the call: what is
            not recorded is not sent.

    Raises:
        ConfigError: An argument is not as it must be; in every method.

    >>> protocol = ContextProtocol(max_context_tokens=8000)
    >>> call = ToolCallRequest("call_1", "get_user", {"name": "ada"})
    >>> envelope = protocol.handle_tool_result(call, {"user": "ada", "password": "correct-Horse-7"})
    >>> messages = protocol.prepare_context("Who is ada?", tool_results=[envelope], system_prompt="You are terse.")
    >>> [message["role"] for message in messages]
    ['system', 'user', 'assistant', 'tool']
    >>> messages[-1]["content"]
    '{"user": "ada", "password": "[PASSWORD:REDACTED]"}'
    >>> protocol.audit_trail[-2]
    {'action': 'secret_redacted', 'tool_call_id': 'call_1', 'secrets_found': 1, 'labels': ['PASSWORD']}
    """

    def __init__(
        self,
        max_context_tokens: int | None = None,
        memory_backend: Any = None,  # noqa: ANN401 - anything that can search
        artifact_store: Any = None,  # noqa: ANN401 - anything that can read
        *,
        policy: ContextPolicy | None = None,
        user_id: str = "default",
        session_id: str | None = "current",
        task_id: str | None = None,
        conversation_id: str | None = None,
        sinks: Iterable[AuditSink] = (),
    ) -> None:
        if policy is not None and not isinstance(policy, ContextPolicy):
            raise ConfigTypeError(f"policy is a ContextPolicy, not {shown(policy)}")
        self.policy = policy or default_policy()
        if max_context_tokens is not None:
            most = arguments.number("max_context_tokens", max_context_tokens, 1)
            if most != self.policy.max_context_tokens:
                self.policy = replace(self.policy, max_context_tokens=most)
        self._memory = ConversationMemory(memory_backend, self.policy, user_id, session_id, task_id)
        self.memory_gate: MemoryContextGate = self._memory.gate
        self._tasks = KnownTasks(artifact_store, self.policy.redact_with)
        name = conversation_id
        self.conversation_id = None if name is None else arguments.text("conversation_id", name)
        self._sinks: list[Any] = arguments.several("sinks", sinks, "audit sinks")
        for at, sink in enumerate(self._sinks):
            if not callable(getattr(type(sink), "write", None)):
                raise ConfigTypeError(f"sinks[{at}] has a write(records, context), unlike {shown(sink)}")
        self.token_budget: TokenBudget = self.policy.budget()
        # Only as long as somebody else wants them: a result may be large, and holds what was redacted in its message.
        self._tool_results: WeakValueDictionary[str, ToolResultEnvelope] = WeakValueDictionary()
        self._calls: dict[str, ToolCallRequest] = {}
        self._events: dict[str, SecretRedacted] = {}
        self._last: tuple[AuditRecord, ...] = ()
        self._seen: tuple[str, ...] = ()
        self._lock = threading.Lock()

    def prepare_context(
        self,
        user_message: str | Sequence[Mapping[str, Any]] = "",
        tool_results: Iterable[ToolResultEnvelope] | None = None,
        task_state: TaskStateEnvelope | None = None,
        system_prompt: str = "",
        memory_query: str | None = None,
        *,
        history: Iterable[Mapping[str, Any]] = (),
        tool_calls: object = None,
        cached: int = 0,
    ) -> PreparedContext:
        """The messages for the next call of a model: OpenAI chat messages, within the budget, redacted.

        Their order: the system prompt, the history, results of calls that the history ends with, the user's message,
        memories, the task's state, results of other calls. Without a user's message, memories and the task's state
        stand before the calls that the model is to go on from, so that their results come last. What is too much goes
        by priority: the history first, then memories, then results and the task's state.

        Args:
            user_message: What the user says now: text, or content parts. Empty when the model goes on by itself.
            tool_results: Results that the history does not hold yet; one of a call that the history's last turn has
                answered, or another of these has, is left out.
            task_state: The state of the task: its summaries are shown, its fields are there when they are asked for.
            system_prompt: The instructions.
            memory_query: What to search memory for; nothing unless given.
            history: The messages before.
            tool_calls: The calls that `tool_results` answer, where the history does not end with them: the assistant
                message, or `ToolCallRequest`s.
            cached: How many of the first messages are in a provider's prompt cache: they are changed last.

        Raises:
            BudgetError: What must stay does not fit.
            InputTypeError: `tool_calls` are none.
        """
        started = time.time_ns()
        found = None
        if (query := self._memory.asked(memory_query)) is not None:
            found = self._memory.search(query, namespace=self._memory.reader(None))
        return self._assembled(
            started,
            found,
            user_message=user_message,
            tool_results=tool_results,
            task_state=task_state,
            system_prompt=system_prompt,
            query=query,
            history=history,
            tool_calls=tool_calls,
            cached=cached,
        )

    def handle_tool_result(
        self,
        tool_call_id: str | ToolCallRequest,
        raw_result: Any,  # noqa: ANN401 - any value at all
        max_tokens: int | None = None,
        *,
        is_error: bool = False,
    ) -> ToolResultEnvelope:
        """The envelope of a tool's result, as the policy has it: redacted and trimmed.

        Args:
            tool_call_id: The id of the call, or the call itself: its tool's rule holds then, and the call is known.
            raw_result: Any value; an exception is an error result.
            max_tokens: What it may take; the policy's unless given.
            is_error: The tool failed: the model is told so.
        """
        call = tool_call_id if isinstance(tool_call_id, ToolCallRequest) else None
        name = call.id if call is not None else arguments.text("tool_call_id", tool_call_id)
        tool = None if call is None else call.name
        envelope = self.policy.envelope(name, raw_result, max_tokens, is_error=is_error, tool=tool)
        with self._lock:
            if call is not None:
                _keep(self._calls, name, call, _CALLS)
            self._tool_results[name] = envelope
        return envelope

    def query_memory(self, query_text: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """Memories that fit a query, as the gate lets them through: content, score and namespace of each.

        `namespace` is the reader's; all of the user's memories unless given.
        """
        query = self._memory.asked(query_text)
        if query is None:
            return []
        scope = self._memory.reader(namespace)
        return self._memory.told(query, scope, self._memory.search(query, namespace=scope))

    def persist_memory(self, content: str, namespace: str | None = None) -> bool:
        """Remembers something if the gate lets it, redacted; whether it did.

        What repeats the system prompt or memories that the last context recalled is an echo; what is known already is a
        duplicate; what nearly repeats a memory takes its place where the backend has a `supersede`.

        Args:
            content: What to remember.
            namespace: Whose it is; the conversation's unless given.
        """
        text = arguments.text("content", content)
        scope = self._memory.writer(namespace)
        if not self._memory.may_write():
            return False
        existing = memories(self._memory.search(query_for(text), namespace=scope))
        verdict = self._judged(text, scope, existing)
        if verdict.accepted:
            write, args = self._memory.saving(verdict, scope, existing)
            write(*args)
        return verdict.accepted

    def register_task(self, task_state: TaskStateEnvelope) -> None:
        """Makes a task's state known by its id, and writes it to the artifact store, for other processes and later.

        Raises:
            ArtifactError: There is no store that takes it, or it failed.
        """
        state = _state(task_state)
        if state is None:
            raise ConfigTypeError("task_state is a TaskStateEnvelope, not None")
        self._tasks.save(state)

    def get_task_state(self, task_id: str, requested_fields: Iterable[str]) -> DeclaredFields:
        """Fields of a task's artifacts, of a state that was prepared or registered here, or is in the artifact store.

        Returns what was found, and in `.missing` and `.problems` what was not; see `TaskStateEnvelope.declare_fields`.

        Raises:
            TaskIdError: No state of this task is known.
            ArtifactError: The store failed.
        """
        started = time.time_ns()
        state = self._tasks.find(arguments.text("task_id", task_id))
        fields = state.declare_fields(requested_fields)
        record = FieldsResolved(
            task_id=state.task_id, found=len(fields), missing=len(fields.missing), unreadable=len(fields.problems)
        )
        self._record([record], started, state.task_id)
        return fields

    @property
    def audit_trail(self) -> list[dict[str, Any]]:
        """What the last `prepare_context` decided, after the security events of the conversation before it.

        That a secret was redacted in a tool's result stays there: it must not be lost to who looks only at the end.
        What belongs to one context alone is its own `audit_trail`; a sink is given every record once.
        """
        with self._lock:
            last, events = self._last, list(self._events.values())
        return [record.to_dict() for record in [*(event for event in events if event not in last), *last]]

    @property
    def stats(self) -> dict[str, Any]:
        """The last context's share of the budget, the gate's counts, and how many envelopes of results are in use."""
        with self._lock:
            return {
                "budget_utilization": self.token_budget.utilization,
                "max_tokens": self.token_budget.max_tokens,
                "memory": self.memory_gate.stats,
                "tool_results_cached": len(self._tool_results),
            }

    def _assembled(
        self,
        started: int,
        found: Iterable[Any] | None,
        *,
        user_message: Any,  # noqa: ANN401 - checked here
        tool_results: object,
        task_state: object,
        system_prompt: object,
        query: str | None,
        history: object,
        tool_calls: object,
        cached: int,
    ) -> PreparedContext:
        """The context, when memory was searched."""
        before, envelopes, state = assembly.past(history), assembly.envelopes(tool_results), _state(task_state)
        system = arguments.text("system_prompt", system_prompt)
        with self._lock:
            known = dict(self._calls) if envelopes else {}
        results = assembly.results(before, envelopes, tool_calls, known)
        records: list[AuditRecord] = []
        about, recalled = [], ""
        if query is not None:
            recalled, record = self._memory.recalled(query, memories(found))
            records.append(record)
            about = [assembly.system(recalled, "memory")] if recalled else []
        said = assembly.content(user_message)
        if state is not None:
            text = f"[Task state from upstream]:\n{state.get_summaries()}"
            about.append(assembly.system(text, "task_state"))
            records.append(TaskStateInjected(task_id=state.task_id, artifact_count=len(state.artifacts)))
        put = Assembly()
        put.add([assembly.system(system, "system")] if system else [])
        if said:
            put.past(before)
            put.add([*results.behind, Part({"role": "user", "content": said}, "user_messages"), *about])
        else:
            put.past(before[: results.turn])
            put.add(about)
            put.past(before[results.turn :])
            put.add(results.behind)
        put.add(results.others)
        secrets = put.redact(self.policy.redact_with)
        records += [*results.records, *assembly.trimmed(envelopes), *secrets]
        budget = self.policy.budget()
        kept = budget.flush(put.messages, put.categories, cached=cached)
        report = budget.report
        assert report is not None  # noqa: S101 - `flush` makes one
        records += assembly.changes(report)
        records.append(ContextPrepared(message_count=len(kept), budget_utilization=budget.utilization))
        prepared = PreparedContext(kept, records, report)
        with self._lock:
            self.token_budget, self._last = budget, prepared.audit_records
            self._seen = tuple(text for text in (system, recalled) if text)
            for envelope in envelopes:
                if self._tool_results.get(envelope.tool_call_id) is not envelope:
                    self._tool_results[envelope.tool_call_id] = envelope
            for record in secrets:
                if isinstance(record, SecretRedacted) and record.tool_call_id is not None:
                    _keep(self._events, record.tool_call_id, record, _EVENTS)
        if state is not None:
            self._tasks.keep(state)
        self._record(prepared.audit_records, started, None if state is None else state.task_id, report)
        return prepared

    def _judged(self, content: str, scope: str, existing: list[Any]) -> WriteVerdict:
        with self._lock:
            seen = self._seen
        verdict = self.memory_gate.judge_write(content, scope, seen=seen, existing=existing)
        self._record([MemoryWritten(accepted=verdict.accepted, rule=verdict.rule)], time.time_ns())
        return verdict

    def _record(
        self,
        records: Sequence[AuditRecord],
        started: int,
        task_id: str | None = None,
        report: BudgetReport | None = None,
    ) -> None:
        if not self._sinks:
            return
        most, tokens = (None, None) if report is None else (report.max_tokens, report.tokens)
        context = AuditContext(self.conversation_id, task_id, most, tokens, started, time.time_ns())
        for sink in self._sinks:
            sink.write(records, context)

    def __repr__(self) -> str:
        return f"<ContextProtocol: {self.policy.max_context_tokens} tokens>"


def _state(given: object) -> TaskStateEnvelope | None:
    if given is not None and not isinstance(given, TaskStateEnvelope):
        raise ConfigTypeError(f"task_state is a TaskStateEnvelope, not {shown(given)}")
    return given


def _keep(held: dict[str, Any], key: str, value: Any, most: int) -> None:  # noqa: ANN401 - any value
    """Keeps the newest values."""
    held.pop(key, None)
    held[key] = value
    while len(held) > most:
        del held[next(iter(held))]
