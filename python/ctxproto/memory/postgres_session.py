"""One session with a PostgreSQL server, for all threads of a process: transactions, and what errors become.

A process that was forked off makes its own; closing the inherited one there would end the parent's.
"""

from __future__ import annotations

import os
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ctxproto.errors import MemoryIdError, StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = ["Rows", "Run", "Session"]

Rows: TypeAlias = "list[dict[str, Any]]"
Run: TypeAlias = "Callable[..., Rows]"

# Left behind by a fork.
_INHERITED: list[Any] = []


class Session:
    """A connection that is made when it is needed.

    Args:
        conninfo: As libpq has it.
        wait: Seconds to wait for the server, and for locks.
    """

    def __init__(self, conninfo: str, wait: float) -> None:
        try:
            import psycopg
        except ImportError:
            psycopg = None  # type: ignore[assignment]
        if psycopg is None:
            raise StoreError("psycopg is not installed: pip install 'ctxproto[postgres]'")
        self._psycopg = psycopg
        self._conninfo, self._wait = conninfo, wait
        self._lock = threading.RLock()
        self._connection: Any = None
        self._pid = 0

    def close(self) -> None:
        """Gives up the connection."""
        with self._lock:
            if self._connection is not None and self._pid == os.getpid():
                self._connection.close()
            self._connection = None

    @contextmanager
    def transaction(self) -> Iterator[Run]:
        """Runs SQL; all of it is committed at the end, or none."""
        psycopg = self._psycopg
        failed: Exception | None = None
        with self._lock:
            try:
                connection = self._connected()
                with connection.transaction():

                    def run(sql: str, **values: Any) -> Rows:
                        # Without values several statements may stand in one text.
                        done = connection.execute(sql, values or None)
                        return done.fetchall() if done.description else []

                    yield run
            except psycopg.errors.UniqueViolation:
                failed = MemoryIdError("there is a memory of this id already")
            except psycopg.errors.LockNotAvailable:
                failed = StoreError("another process is writing")
            except psycopg.Error as error:
                # The server's message may quote what it was given.
                state = f", {error.sqlstate}" if error.sqlstate else ""
                failed = StoreError(f"the PostgreSQL server refuses or does not answer ({type(error).__name__}{state})")
        if failed is not None:
            raise failed

    def _connected(self) -> Any:
        if self._connection is not None and self._pid != os.getpid():
            _INHERITED.append(self._connection)
            self._connection = None
        if self._connection is None or self._connection.closed:
            from psycopg.rows import dict_row

            self._connection, self._pid = None, os.getpid()
            connection = self._psycopg.connect(
                self._conninfo,
                autocommit=True,
                row_factory=cast("Any", dict_row),
                connect_timeout=max(int(self._wait), 2),
                # Every session the same, so that a proxy may share them.
                prepare_threshold=None,
            )
            connection.execute(f"SET lock_timeout = {max(int(self._wait * 1000), 1)}")
            # What was acknowledged is on the server's disk, whatever its default.
            connection.execute("SET synchronous_commit = on")
            self._connection = connection
        return self._connection
