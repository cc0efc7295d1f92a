"""The tasks that a conversation knows: those it was shown, and those in the artifact store."""

from __future__ import annotations

import json
import threading
from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any

from ctxproto.errors import ArtifactError, TaskIdError
from ctxproto.tasks.foreign import checked_store, fetched, stored
from ctxproto.tasks.state import TaskStateEnvelope

if TYPE_CHECKING:
    from ctxproto.tools.redact import Redactor

__all__ = ["KnownTasks"]

_KEY = "ctxproto:task:"
# How many are held, with what was read of their artifacts. Older ones are read again, where the store has them.
_MOST = 64


class KnownTasks:
    """States of tasks by their ids. Any thread may call any method.

    Args:
        store: Anything with `read(pointer)` and `save(key, value)`, or a mapping; or None.
        redactor: What the fields of a task without a redactor of its own go through.

    Raises:
        ConfigError: `store` is no store.
    """

    def __init__(self, store: Any, redactor: Redactor) -> None:  # noqa: ANN401 - anything that can read
        self._store = None if store is None else checked_store("artifact_store", store)
        self._redactor = redactor
        self._held: dict[str, TaskStateEnvelope] = {}
        self._lock = threading.Lock()

    def keep(self, state: TaskStateEnvelope) -> None:
        """Holds a state, the newest of its id."""
        with self._lock:
            self._held.pop(state.task_id, None)
            self._held[state.task_id] = state
            while len(self._held) > _MOST:
                del self._held[next(iter(self._held))]

    def save(self, state: TaskStateEnvelope) -> None:
        """Holds a state and writes it to the store, for other processes and later.

        Raises:
            ArtifactError: There is no store that takes it, or it failed.
        """
        save = getattr(self._store, "save", None)
        if not callable(save):
            raise ArtifactError("the protocol has no artifact store with a save()")
        stored(save, _KEY + state.task_id, state.to_dict())
        self.keep(state)

    def find(self, task_id: str) -> TaskStateEnvelope:
        """A copy of a state, which reads from the store and redacts where it has nothing of its own for that.

        Raises:
            TaskIdError: No state of this task is known.
            ArtifactError: The store failed.
        """
        with self._lock:
            state = self._held.get(task_id)
        if state is None and (state := self._read(task_id)) is not None:
            self.keep(state)
        if state is None:
            raise TaskIdError("no state of this task is known: it was neither prepared nor registered")
        # Somebody else's, and perhaps of other conversations: what it leaves open is this one's to say, for itself.
        state = copy(state)
        if state._artifact_store is None:  # noqa: SLF001 - the seed's name
            state._artifact_store = self._store  # noqa: SLF001
        state._redactor = state._redactor or self._redactor  # noqa: SLF001
        return state

    def _read(self, task_id: str) -> TaskStateEnvelope | None:
        """The state in the store, if it is there."""
        if self._store is None:
            return None
        data: Any = None
        told = ""
        try:
            data = fetched(self._store, _KEY + task_id)
        except ArtifactError as error:
            # Nothing under this name is no failure of the store.
            told = "" if error.absent else str(error)
        if told:
            raise ArtifactError(f"the state of the task cannot be read: {told}")
        if data is None:
            return None
        if isinstance(data, str | bytes):
            # Such a store keeps text. What is no JSON is told below, without what the error quotes.
            with suppress(ValueError, RecursionError):
                data = json.loads(data)
        return TaskStateEnvelope.from_dict(data, artifact_store=self._store)
