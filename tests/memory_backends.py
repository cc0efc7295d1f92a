"""The stores that every promise about stores is tested with: a new one is one more line in `BACKENDS`."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from ctxproto import HashEmbedder, MemoryStore, PostgresMemoryStore
from postgres_server import Server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager


# Where nothing waits for a disk: these tests are of what is written, not of how safely.
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None


@contextmanager
def in_memory(**options: Any) -> Iterator[MemoryStore]:
    with MemoryStore(":memory:", **options) as store:
        yield store


@contextmanager
def in_a_file(**options: Any) -> Iterator[MemoryStore]:
    with TemporaryDirectory(dir=FAST) as folder, MemoryStore(Path(folder) / "m.db", **options) as store:
        yield store


@contextmanager
def with_vectors(**options: Any) -> Iterator[MemoryStore]:
    with in_a_file(embedder=HashEmbedder(32), **options) as store:
        yield store


@contextmanager
def in_postgres(**options: Any) -> Iterator[PostgresMemoryStore]:
    with Server.running().database() as conninfo, PostgresMemoryStore(conninfo, **options) as store:
        yield store


@contextmanager
def in_postgres_with_vectors(**options: Any) -> Iterator[PostgresMemoryStore]:
    with in_postgres(embedder=HashEmbedder(32), **options) as store:
        yield store


# Each gives an empty store with the options of `MemoryStore`, for as long as it is entered.
BACKENDS: dict[str, Callable[..., AbstractContextManager[Any]]] = {
    "memory": in_memory,
    "file": in_a_file,
    "vectors": with_vectors,
    "postgres": in_postgres,
    "postgres-vectors": in_postgres_with_vectors,
}
