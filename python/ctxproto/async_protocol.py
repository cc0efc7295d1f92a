"""The protocol for asyncio: backends are awaited, or run on threads."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.protocol import ContextProtocol
from ctxproto.recall import memories, query_for

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from ctxproto.assembly import PreparedContext
    from ctxproto.tasks.state import DeclaredFields, TaskStateEnvelope
    from ctxproto.tools.calls import ToolCallRequest
    from ctxproto.tools.envelope import ToolResultEnvelope

__all__ = ["AsyncContextProtocol"]


class AsyncContextProtocol:
    """`ContextProtocol` for asyncio: the same calls, decisions and messages.

    The memory backend's `search`, `save` and `supersede` may be coroutine functions; plain ones, and the artifact
    store, run on threads, so that the loop goes on. Any number of tasks may share one; `PreparedContext` holds what
    belongs to a call.

    Args:
        args: Those of `ContextProtocol`.
        options: The same.

    >>> import asyncio
    >>> protocol = AsyncContextProtocol(max_context_tokens=8000)
    >>> messages = asyncio.run(protocol.prepare_context("hello", system_prompt="You are terse."))
    >>> [message["role"] for message in messages], protocol.stats["max_tokens"]
    (['system', 'user'], 8000)
    """

    def __init__(self, *args: Any, **options: Any) -> None:  # noqa: ANN401 - see ContextProtocol
        self._protocol = ContextProtocol(*args, **options)

    async def prepare_context(
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
        """See `ContextProtocol.prepare_context`."""
        inner, started, found = self._protocol, time.time_ns(), None
        memory = inner._memory  # noqa: SLF001 - of the same make
        if (query := memory.asked(memory_query)) is not None:
            found = await _called(memory.search, query, namespace=memory.reader(None))
        return inner._assembled(  # noqa: SLF001
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
        """See `ContextProtocol.handle_tool_result`; it waits for nothing."""
        return self._protocol.handle_tool_result(tool_call_id, raw_result, max_tokens, is_error=is_error)

    async def query_memory(self, query_text: str, namespace: str | None = None) -> list[dict[str, Any]]:
        """See `ContextProtocol.query_memory`."""
        memory = self._protocol._memory  # noqa: SLF001 - of the same make
        if (query := memory.asked(query_text)) is None:
            return []
        scope = memory.reader(namespace)
        return memory.told(query, scope, await _called(memory.search, query, namespace=scope))

    async def persist_memory(self, content: str, namespace: str | None = None) -> bool:
        """See `ContextProtocol.persist_memory`."""
        inner = self._protocol
        text = arguments.text("content", content)
        memory = inner._memory  # noqa: SLF001 - of the same make
        scope = memory.writer(namespace)
        if not memory.may_write():
            return False
        existing = memories(await _called(memory.search, query_for(text), namespace=scope))
        verdict = inner._judged(text, scope, existing)  # noqa: SLF001
        if verdict.accepted:
            write, args = memory.saving(verdict, scope, existing)
            await _called(write, *args)
        return verdict.accepted

    async def register_task(self, task_state: TaskStateEnvelope) -> None:
        """See `ContextProtocol.register_task`."""
        await _called(self._protocol.register_task, task_state)

    async def get_task_state(self, task_id: str, requested_fields: Iterable[str]) -> DeclaredFields:
        """See `ContextProtocol.get_task_state`."""
        fields: DeclaredFields = await _called(self._protocol.get_task_state, task_id, requested_fields)
        return fields

    @property
    def audit_trail(self) -> list[dict[str, Any]]:
        """See `ContextProtocol.audit_trail`."""
        return self._protocol.audit_trail

    @property
    def stats(self) -> dict[str, Any]:
        """See `ContextProtocol.stats`."""
        return self._protocol.stats

    def __repr__(self) -> str:
        return f"<Async{repr(self._protocol)[1:]}"


async def _called(function: Callable[..., Any], *args: Any, **options: Any) -> Any:  # noqa: ANN401 - what it returns
    # They take as long to import as all of us.
    import asyncio
    import inspect

    if inspect.iscoroutinefunction(function):
        return await function(*args, **options)
    outcome = await asyncio.to_thread(function, *args, **options)
    return await outcome if inspect.isawaitable(outcome) else outcome
