"""Memories in PostgreSQL, for many machines at once: the calls and promises of `MemoryStore`, over a server.

What differs is below: `_Records` does with SQL what the native store does with a file. Whose a memory is, is a range of
keys here, too; and what fits a query is judged by the same native search, among the candidates that SQL gives it.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, cast

from ctxproto import _core, arguments
from ctxproto.errors import ConfigError, MemoryIdError, StoreError
from ctxproto.memory import fields
from ctxproto.memory.postgres_rows import (
    ALIVE,
    COLUMNS,
    FIELDS,
    IN_SCOPE,
    TABLES,
    VECTORS,
    WANTED,
    Model,
    asked,
    kept,
    literals,
    measured,
    numbers,
    scope,
    told,
)
from ctxproto.memory.postgres_session import Rows, Run, Session
from ctxproto.memory.records import record_of
from ctxproto.memory.store import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from ctxproto.memory.embedders import Embedder
    from ctxproto.tools.redact import Redactor

__all__ = ["PostgresMemoryStore"]

# "ctxm": whose advisory lock it is.
_LOCK = 0x6374786D

# Of scopes with more memories, a search reads those that share words with the query, and the closest by vectors.
_WHOLE_MAX = 2_000
_BY_WORDS_MAX = 1_000
_BY_VECTOR_MAX = 500


class PostgresMemoryStore(MemoryStore):
    """Keeps memories in a PostgreSQL database, with the methods of `MemoryStore`; needs `ctxproto[postgres]`.

    Makes its tables (`ctxproto_memories` and two more) where they are not there yet. Vectors need the extension
    pgvector, in the server or to be had by the user that connects.

    What a call has written is committed when it returns, and a write that fails has changed nothing. What was
    forgotten is gone for every call; when its bytes leave the server's files, its log and its backups is for
    whoever runs the server to say (VACUUM, retention). Searches in a scope of more than 2,000 memories read those
    1,000 that share the most words with the query and the 500 closest by their vectors.

    One connection serves all threads, one call at a time; a process that was forked off makes its own.

    Args:
        conninfo: The connection as libpq has it: `postgresql://...` or `host=... dbname=...`.
        redactor: What contents, purposes and metadata go through; the default policy unless given.
        embedder: What makes vectors of contents and queries; see `MemoryStore`.
        model: What the embedder's model is called; its attribute `name` unless given.
        wait: Seconds that a call waits for a connection, and for others that write the same memory.
        clock: What tells the time, in seconds since 1970.

    Raises:
        ConfigError: An argument is not as it must be; in every method.
        StoreError: There is no psycopg, no connection, or the server refuses; in every method.
    """

    def __init__(
        self,
        conninfo: str,
        *,
        redactor: Redactor | None = None,
        embedder: Embedder | None = None,
        model: str | None = None,
        wait: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._prepare(redactor, embedder, model, clock)
        given, seconds = arguments.text("conninfo", conninfo), fields.seconds("wait", wait)
        self._open = cast("_core.Records", _Records(given, seconds))

    def close(self) -> None:
        """Gives up the connection; calls after that are a `StoreError`."""
        if self._open is not None:
            cast("_Records", self._open).close()
        super().close()

    def __repr__(self) -> str:
        return "<PostgresMemoryStore>"


class _Records:
    """What `_core.Records` does, with SQL."""

    def __init__(self, conninfo: str, wait: float) -> None:
        self._session = Session(conninfo, wait)
        self._transaction = self._session.transaction
        self._has_vectors = False
        with self._transaction() as run:
            run("SELECT pg_advisory_xact_lock(%(lock)s)", lock=_LOCK)
            run(TABLES)

    def close(self) -> None:
        self._session.close()

    def insert(self, rows: Sequence[Mapping[str, Any]], embedded: tuple[str, object] | None = None) -> None:
        with self._transaction() as run:
            for row in rows:
                self._put(run, row)
            if embedded is not None:
                self._embed(run, [(row["id"], row["content"]) for row in rows], *embedded)

    def get(self, key: bytes, below: bool, id: str, now: int) -> dict[str, Any] | None:
        with self._transaction() as run:
            return self._find(run, scope(key, below, now), id)

    def update(
        self, key: bytes, below: bool, id: str, now: int, embedded: tuple[str, object] | None, **change: Any
    ) -> dict[str, Any]:
        with self._transaction() as run:
            row = self._found(run, key, below, id, now)
            if change["valid_to"] is not None:
                if row["superseded_by"] is not None:
                    raise MemoryIdError("the memory of this id was superseded already")
                if change["valid_to"][0] <= row["valid_from"]:
                    raise ConfigError("valid_to is not after valid_from: it would never be true")
            given = {name: value for name, value in change.items() if value is not None}
            for name in ("valid_to", "expires"):
                if name in given:
                    (given[name],) = given[name]
            if self._has_vectors and given.get("content", row["content"]) != row["content"]:
                run("DELETE FROM ctxproto_vectors USING ctxproto_memories m WHERE m.seq = ctxproto_vectors.seq "
                    "AND m.id = %(id)s", id=id.encode())  # fmt: skip
            row |= given
            self._replace(run, row)
            if embedded is not None:
                self._embed(run, [(id, row["content"])], *embedded)
            return row

    def supersede(
        self,
        key: bytes,
        below: bool,
        id: str,
        row: dict[str, Any],
        now: int,
        embedded: tuple[str, object] | None,
    ) -> dict[str, Any]:
        with self._transaction() as run:
            old = self._found(run, key, below, id, now)
            if old["superseded_by"] is not None:
                raise MemoryIdError("the memory of this id was superseded already")
            new = row | {"namespace": old["namespace"], "supersedes": id}
            ends = [end for end in (old["valid_to"], new["valid_from"]) if end is not None]
            self._replace(run, old | {"superseded_by": new["id"], "valid_to": min(ends)})
            self._put(run, new)
            if embedded is not None:
                self._embed(run, [(new["id"], new["content"])], *embedded)
            return new

    def list(
        self,
        key: bytes,
        below: bool,
        now: int,
        at: int | None,
        kind: str | None,
        limit: int | None,
    ) -> Sequence[dict[str, Any]]:
        sql = f"SELECT {COLUMNS} FROM ctxproto_memories m WHERE {WANTED} ORDER BY m.seq DESC LIMIT %(limit)s"
        with self._transaction() as run:
            return [told(row) for row in run(sql, **scope(key, below, now), at=at, kind=kind, limit=limit)]

    def search(
        self,
        key: bytes,
        below: bool,
        query: str,
        now: int,
        at: int | None,
        kind: str | None,
        limit: int | None,
        *,
        embedded: tuple[str, object] | None,
        **how: Any,
    ) -> Any:
        with self._transaction() as run:
            rows = self._candidates(run, scope(key, below, now) | {"at": at, "kind": kind}, query, embedded)
            model = self._model(run)
        # The same search as everywhere, in a store that lasts for one query. Of equal ones the latest comes first.
        native = _core.Records(None, 0.0)
        rows.sort(key=lambda row: row["seq"])
        plain = [row for row in rows if row["embedding"] is None]
        with_vectors = [row for row in rows if row["embedding"] is not None]
        native.insert([told(row) for row in plain])
        if model is not None:
            native.take_model(*model)
            if with_vectors:
                vectors = numbers((row["embedding"] for row in with_vectors), model[1])
                native.insert([told(row) for row in with_vectors], (model[0], vectors))
        return native.search(key, below, query, now, at, kind, limit, embedded=embedded, **how)

    def _candidates(
        self,
        run: Run,
        which: dict[str, Any],
        query: str,
        embedded: tuple[str, object] | None,
    ) -> Rows:
        vector, join = "NULL", ""
        if self._vectors_there(run):
            vector, join = "vector_send(v.embedding)", "LEFT JOIN ctxproto_vectors v USING (seq)"
        select = f"SELECT m.seq, {COLUMNS}, {vector} AS embedding FROM ctxproto_memories m {join} WHERE {WANTED}"
        whole = run(f"{select} LIMIT %(limit)s", **which, limit=_WHOLE_MAX + 1)
        if len(whole) <= _WHOLE_MAX:
            return whole
        shared = "SELECT count(*) FROM unnest(m.words) word WHERE word = ANY(%(asked)s)"
        rows = run(
            f"{select} AND m.words && %(asked)s::text[] ORDER BY ({shared}) DESC, m.seq DESC LIMIT %(limit)s",
            **which, asked=asked(query), limit=_BY_WORDS_MAX,
        )  # fmt: skip
        if embedded is not None and join:
            rows += run(
                f"{select} AND v.seq IS NOT NULL ORDER BY v.embedding <=> %(near)s::vector LIMIT %(limit)s",
                **which, near=literals(embedded[1])[0], limit=_BY_VECTOR_MAX,
            )  # fmt: skip
        return list({row["seq"]: row for row in rows}.values())

    def delete(self, key: bytes, below: bool, id: str) -> bool:
        sql = f"DELETE FROM ctxproto_memories m WHERE m.id = %(id)s AND {IN_SCOPE} RETURNING 1"
        with self._transaction() as run:
            return bool(run(sql, **scope(key, below), id=id.encode()))

    def forget(self, key: bytes, below: bool) -> int:
        sql = f"WITH gone AS (DELETE FROM ctxproto_memories m WHERE {IN_SCOPE} RETURNING 1) SELECT count(*) FROM gone"
        with self._transaction() as run:
            return int(run(sql, **scope(key, below))[0]["count"])

    def sweep(self, now: int) -> int:
        delete = "DELETE FROM ctxproto_memories WHERE expires <= %(now)s RETURNING 1"
        sql = f"WITH gone AS ({delete}) SELECT count(*) FROM gone"
        with self._transaction() as run:
            return int(run(sql, now=now)[0]["count"])

    def purge(self, all: bool) -> None:
        """What the server's files hold is the server's."""

    def namespaces(self, key: bytes, below: bool, now: int) -> Sequence[bytes]:
        sql = f"SELECT DISTINCT m.namespace FROM ctxproto_memories m WHERE {ALIVE} ORDER BY m.namespace"
        with self._transaction() as run:
            return [bytes(row["namespace"]) for row in run(sql, **scope(key, below, now))]

    def stats(self, key: bytes, below: bool, now: int) -> tuple[int, int, int, int, int]:
        sql = f"""
            SELECT count(*) FILTER (WHERE alive AND ongoing), count(*) FILTER (WHERE alive AND NOT ongoing) AS past,
                count(*) FILTER (WHERE NOT alive) AS expired, count(DISTINCT namespace) AS namespaces,
                coalesce(sum(bytes), 0) AS bytes
            FROM (SELECT m.namespace, octet_length(m.content) + octet_length(m.metadata) AS bytes,
                    (m.expires IS NULL OR m.expires > %(now)s) AS alive,
                    (m.valid_from <= %(now)s AND (m.valid_to IS NULL OR m.valid_to > %(now)s)) AS ongoing
                FROM ctxproto_memories m WHERE {IN_SCOPE}) found"""
        with self._transaction() as run:
            (row,) = run(sql, **scope(key, below, now))
        current, past, expired, namespaces, size = map(int, row.values())
        return current, past, expired, namespaces, size

    def check(self) -> None:
        """Reads every memory; whether pages are whole, the server knows (data checksums)."""
        with self._transaction() as run:
            for row in run(f"SELECT {COLUMNS} FROM ctxproto_memories m"):
                try:
                    record_of(told(row))
                except (ValueError, OverflowError):
                    whole = False
                else:
                    whole = True
                if not whole:
                    raise StoreError("damaged: a record is not as it was written")

    def model(self) -> Model | None:
        with self._transaction() as run:
            return self._model(run)

    def introduce(self, name: str, sides: tuple[int, int], vectors: object, replace: bool) -> None:
        new = measured(name, sides, vectors)
        with self._transaction() as run:
            # One at a time: who comes second sees the first one's.
            run("SELECT pg_advisory_xact_lock(%(lock)s)", lock=_LOCK)
            if not self._vectors_there(run):
                run(VECTORS)
            before = self._model(run)
            if before is not None and before[:2] == new[:2]:
                return
            if before is not None and not replace:
                self._agree(before, new)
            run("DELETE FROM ctxproto_vectors")
            self._know(run, new)

    def calibrate(self, name: str, sides: tuple[int, int], vectors: object) -> None:
        new = measured(name, sides, vectors)
        with self._transaction() as run:
            run("SELECT pg_advisory_xact_lock(%(lock)s)", lock=_LOCK)
            self._agree(self._model(run), new)
            self._know(run, new)

    def _know(self, run: Run, model: Model) -> None:
        run(
            "INSERT INTO ctxproto_model VALUES (1, %(name)s, %(dims)s, %(low)s, %(high)s) ON CONFLICT (one) "
            "DO UPDATE SET (name, dims, low, high) = (EXCLUDED.name, EXCLUDED.dims, EXCLUDED.low, EXCLUDED.high)",
            name=model[0].encode(), dims=model[1], low=model[2], high=model[3],
        )  # fmt: skip

    def _agree(self, known: Model | None, model: Model) -> None:
        """Raises what the native store raises when the models are not one."""
        native = _core.Records(None, 0.0)
        if known is not None:
            native.take_model(*known)
        native.embed([("", "")], model[0], [[1.0] * model[1]])

    def embed(self, texts: Sequence[tuple[str, str]], model: str, vectors: object) -> int:
        with self._transaction() as run:
            return self._embed(run, texts, model, vectors)

    def without_vector(self, key: bytes, below: bool, now: int, most: int) -> Sequence[tuple[str, str]]:
        with self._transaction() as run:
            missing = "TRUE"
            if self._vectors_there(run):
                missing = "NOT EXISTS (SELECT 1 FROM ctxproto_vectors v WHERE v.seq = m.seq)"
            sql = f"SELECT m.id, m.content FROM ctxproto_memories m WHERE {ALIVE} AND {missing} LIMIT %(most)s"
            return [
                (bytes(row["id"]).decode(), bytes(row["content"]).decode())
                for row in run(sql, **scope(key, below, now), most=most)
            ]

    def _embed(self, run: Run, texts: Sequence[tuple[str, str]], model: str, vectors: object) -> int:
        known = self._model(run)
        # The native store says what is wrong with vectors, as it says it of its own.
        native = _core.Records(None, 0.0)
        if known is not None:
            native.take_model(*known)
        native.embed([(str(at), "") for at in range(len(texts))], model, vectors)
        done = 0
        for (id, content), literal in zip(texts, literals(vectors), strict=True):
            done += len(run(
                "INSERT INTO ctxproto_vectors SELECT seq, %(vector)s::vector FROM ctxproto_memories "
                "WHERE id = %(id)s AND content = %(content)s "
                "ON CONFLICT (seq) DO UPDATE SET embedding = EXCLUDED.embedding RETURNING 1",
                vector=literal, id=id.encode(), content=content.encode(),
            ))  # fmt: skip
        return done

    def _model(self, run: Run) -> Model | None:
        for row in run("SELECT name, dims, low, high FROM ctxproto_model"):
            return bytes(row["name"]).decode(), row["dims"], row["low"], row["high"]
        return None

    def _vectors_there(self, run: Run) -> bool:
        # Another process may make the table at any time; nobody takes it away.
        if not self._has_vectors:
            (row,) = run("SELECT to_regclass('ctxproto_vectors') IS NOT NULL AS there")
            self._has_vectors = bool(row["there"])
        return self._has_vectors

    def _find(self, run: Run, scope: dict[str, Any], id: str, lock: str = "") -> dict[str, Any] | None:
        sql = f"SELECT {COLUMNS} FROM ctxproto_memories m WHERE m.id = %(id)s AND {ALIVE} {lock}"
        found = run(sql, **scope, id=id.encode())
        return told(found[0]) if found else None

    def _found(
        self,
        run: Run,
        key: bytes,
        below: bool,
        id: str,
        now: int,
    ) -> dict[str, Any]:
        row = self._find(run, scope(key, below, now), id, "FOR UPDATE")
        if row is None:
            raise MemoryIdError("there is no memory of this id in this namespace")
        # Asked before what is written depends on it.
        self._vectors_there(run)
        return row

    def _put(self, run: Run, row: Mapping[str, Any]) -> None:
        names = (*FIELDS, "words")
        values = ", ".join(f"%({name})s" for name in names)
        run(f"INSERT INTO ctxproto_memories ({', '.join(names)}) VALUES ({values})", **kept(row))

    def _replace(self, run: Run, row: Mapping[str, Any]) -> None:
        names = (*FIELDS, "words")
        values = ", ".join(f"%({name})s" for name in names)
        run(f"UPDATE ctxproto_memories SET ({', '.join(names)}) = ({values}) WHERE id = %(id)s", **kept(row))
