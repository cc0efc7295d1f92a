"""A conversation's memory: what it may read and write of a backend, as its policy and gate have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.audit.records import AuditRecord, MemoryRead, MemorySkipped
from ctxproto.errors import ConfigTypeError, shown
from ctxproto.memory.namespaces import Namespace, Scope

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ctxproto.memory.gate import MemoryContextGate, WriteVerdict
    from ctxproto.tasks.policy import ContextPolicy

__all__ = ["ConversationMemory", "memories", "query_for"]


class ConversationMemory:
    """Stands before a backend, which is called only where `asked` and `may_write` say so.

    Args:
        backend: Anything with `search(query, namespace=...)`, and to remember, `save(namespace, content)`; or None.
        policy: Whether memory may be read and written, and what its texts go through.
        user_id, session_id, task_id: Whose conversation it is.

    Attributes:
        gate: What lets memories through.

    Raises:
        ConfigError: An argument is not as it must be; in every method that takes what a caller gave.
    """

    def __init__(
        self,
        backend: Any,  # noqa: ANN401 - anything that can search
        policy: ContextPolicy,
        user_id: str,
        session_id: str | None,
        task_id: str | None,
    ) -> None:
        if backend is not None and not callable(getattr(type(backend), "search", None)):
            raise ConfigTypeError(f"memory_backend has a search(query, namespace=...), unlike {shown(backend)}")
        self._backend = backend
        self._policy = policy
        self.gate: MemoryContextGate = policy.gate()
        self._namespace = self.gate.resolve_namespace(user_id, session_id, task_id)
        self._prefix = self.gate.get_namespace_prefix(user_id)

    def asked(self, query: object) -> str | None:
        """What memory is asked; None for nothing."""
        text = "" if query is None else arguments.text("memory_query", query)
        return text if text and self._backend is not None and self._policy.read_memory else None

    @property
    def search(self) -> Callable[..., Any]:
        """The backend's `search`: it may be a coroutine function."""
        return self._backend.search  # type: ignore[no-any-return]

    def recalled(self, query: str, candidates: list[Any]) -> tuple[str, AuditRecord]:
        """What a model reads of the memories that it may read, empty for none; and the record of it."""
        reads, best, selected = self.gate.should_read(query, self._namespace, candidates)
        if not reads:
            return "", MemorySkipped(candidates=len(candidates))
        text = f"[Memory context — relevance {best:.2f}]:\n" + "\n".join(memory.content for memory in selected)
        return text, MemoryRead(chunks=len(selected), best_score=best)

    def told(self, query: str, scope: str, found: Iterable[Any]) -> list[dict[str, Any]]:
        """Memories that the gate lets through, redacted."""
        _, _, selected = self.gate.should_read(query, scope, memories(found))
        redact = self._policy.redact_with.redact
        return [
            {"content": redact(memory.content).text, "score": memory.relevance_score, "namespace": memory.namespace}
            for memory in selected
        ]

    def reader(self, namespace: str | None) -> str:
        """Where memories may be read from, checked before a backend sees it."""
        return self._prefix if namespace is None else str(Scope.of(namespace))

    def writer(self, namespace: str | None) -> str:
        """Where something may be remembered, checked before a backend sees it."""
        return self._namespace if namespace is None else str(Namespace.checked("namespace", namespace))

    def may_write(self) -> bool:
        """Whether anything may be remembered at all."""
        return self._policy.write_memory and callable(getattr(self._backend, "save", None))

    def saving(
        self, verdict: WriteVerdict, scope: str, existing: list[Any]
    ) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        """The function of the backend that writes what was accepted, and its arguments."""
        supersede = getattr(self._backend, "supersede", None)
        if verdict.repeats is not None and callable(supersede):
            old = existing[verdict.repeats]
            return supersede, (old.memory_id, old.namespace, verdict.content)
        return self._backend.save, (scope, verdict.content)


# Characters of what is to be remembered that memory is searched for.
_QUERY = 500


def query_for(content: str) -> str:
    """What memory is searched for, before something is to be remembered."""
    return content[:_QUERY]


def memories(found: object) -> list[Any]:
    """What a stranger's search gave."""
    return arguments.several("what the memory backend's search() gives", found, "memories")
