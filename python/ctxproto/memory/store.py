"""Memories that last: one SQLite file, every call confined to the namespaces it names."""

from __future__ import annotations

import contextlib
import os
import time
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ctxproto import _core, arguments
from ctxproto.errors import ConfigError, ConfigTypeError, StoreError, shown
from ctxproto.memory import exchange, fields
from ctxproto.memory.embedders import Embedder, Embedding
from ctxproto.memory.graph import Graphs
from ctxproto.memory.namespaces import AnyNamespace, AnyScope, Namespace, Scope
from ctxproto.memory.records import Kind, MemoryHit, MemoryRecord, StoreStats, record_of
from ctxproto.memory.retrieval import Reranker, Search
from ctxproto.tools.redact import Redactor, shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from datetime import datetime, timedelta
    from typing import Self

    from ctxproto.memory.gate import Provenance

__all__ = ["MemoryStore"]

# Calls after which what has expired is swept away.
_SWEEP_EVERY = 256

# Named, for in the class below `list` is a method.
Records: TypeAlias = list[MemoryRecord]
Hits: TypeAlias = list[MemoryHit]
Namespaces: TypeAlias = list[Namespace]
Contents: TypeAlias = list[str]


class MemoryStore:
    """Keeps memories in a file, or in memory; any thread and any number of processes may use one file.

    Every call names the namespaces it may touch, as `Scope.of` takes them: `user_42:session_abc` that one alone,
    `user_42:` it and all below, `*` everything. What is outside is never read, counted, changed or deleted.

    What a call has written is on the disk when it returns, and a write that fails has changed nothing. One process
    writes at a time, others wait; readers never do. What is written is redacted first.

    Args:
        path: The file, made when it is not there; ":memory:" for none.
        redactor: What contents, purposes and metadata go through; the default policy unless given.
        embedder: What makes vectors of contents and queries; without one, words alone are compared. A store has the
            vectors of one model. What was written without one is found by its words until `embed` gives it one.
        model: What the embedder's model is called; its attribute `name` unless given.
        graph_from: From how many memories on a top-level namespace gets an HNSW graph beside the scan, built in the
            background by the first searches (needs `ctxproto[hnsw]`; up to 20,000 a scan is sooner); None for never.
        wait: Seconds that a call waits for other processes that write.
        clock: What tells the time, in seconds since 1970.

    Raises:
        ConfigError: An argument is not as it must be; in every method.
        StoreError: The file is damaged or no store, is of a later version, or cannot be used; in every method.

    >>> store = MemoryStore(":memory:")
    >>> saved = store.save("user_42:session_abc", "Project X uses pip-tools for its dependencies.", kind="decision")
    >>> [hit.content for hit in store.search("which dependencies tools", namespace="user_42:")]
    ['Project X uses pip-tools for its dependencies.']
    >>> store.search("dependencies", namespace="user_4:"), store.forget("user_42:"), store.list("*")
    ([], 1, [])
    """

    _open: _core.Records | None = None
    _graphs: Graphs | None = None
    _writes = 0

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        redactor: Redactor | None = None,
        embedder: Embedder | None = None,
        model: str | None = None,
        graph_from: int | None = None,
        wait: float = 10.0,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._prepare(redactor, embedder, model, clock)
        self._graphs = None if graph_from is None else Graphs(arguments.number("graph_from", graph_from, 1))
        self._path = _path(path)
        self._open = _opened(self._path, fields.seconds("wait", wait))

    def _prepare(self, redactor: object, embedder: object, model: object, clock: Callable[[], float]) -> None:
        self._maker = fields.Maker(redactor, clock)
        if embedder is None and model is not None:
            raise ConfigError("model is the name of an embedder's model: there is no embedder")
        self._embedding = None if embedder is None else Embedding(embedder, model)

    @property
    def _core(self) -> _core.Records:
        if self._open is None:
            raise StoreError("the store is closed")
        return self._open

    def save(
        self,
        namespace: AnyNamespace,
        content: str,
        *,
        kind: Kind = "long_term",
        purpose: str = "",
        importance: float = 0.5,
        provenance: Provenance = "agent",
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        ttl: float | timedelta | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryRecord:
        """Writes a memory and returns it as it was written. `MemoryContextGate.judge_write` says whether it should be.

        Args:
            namespace: Whose it is: one namespace.
            content: What is remembered: 1 to 1,000,000 characters.
            kind: "working", "long_term", "decision" or "entity".
            purpose: A tag that says what it is for.
            importance: 0 to 1.
            provenance: Who said it.
            valid_from: From when it is true, with a time zone; from now on unless given.
            valid_to: Until when it is.
            ttl: Seconds after which it is gone by itself.
            metadata: What else there is to say: what JSON has a form for.
        """
        row = self._maker.row(
            Namespace.checked("namespace", namespace).key,
            content=content,
            kind=kind,
            purpose=purpose,
            importance=importance,
            provenance=provenance,
            valid_from=valid_from,
            valid_to=valid_to,
            ttl=ttl,
            metadata=metadata,
        )
        self._core.insert([row], self._vectors([row["content"]]))
        self._sweep_now_and_then()
        return record_of(row)

    def get(self, memory_id: str, namespace: AnyScope) -> MemoryRecord | None:
        """The memory of an id, if it is in the namespaces that are named and has not expired."""
        scope = Scope.of(namespace)
        row = self._core.get(scope.key, scope.below, fields.id_of(memory_id), self._maker.now())
        return None if row is None else record_of(row)

    def update(
        self,
        memory_id: str,
        namespace: AnyScope,
        *,
        content: str | None = None,
        kind: Kind | None = None,
        purpose: str | None = None,
        importance: float | None = None,
        valid_to: datetime | None = None,
        ttl: float | timedelta | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryRecord:
        """Changes what is given of a memory, and returns it as it is then; see `save`.

        What was there before is gone; `supersede` keeps it. Raises `MemoryIdError` when no such memory is in the
        namespaces that are named.
        """
        scope, now = Scope.of(namespace), self._maker.now()
        change = self._maker.change(
            now,
            content=content,
            kind=kind,
            purpose=purpose,
            importance=importance,
            valid_to=valid_to,
            ttl=ttl,
            metadata=metadata,
        )
        vectors = None if change["content"] is None else self._vectors([change["content"]])
        return record_of(self._core.update(scope.key, scope.below, fields.id_of(memory_id), now, vectors, **change))

    def supersede(
        self,
        memory_id: str,
        namespace: AnyScope,
        content: str,
        *,
        kind: Kind = "long_term",
        purpose: str = "",
        importance: float = 0.5,
        provenance: Provenance = "agent",
        valid_from: datetime | None = None,
        valid_to: datetime | None = None,
        ttl: float | timedelta | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> MemoryRecord:
        """Puts a new memory in the place of another, in its namespace, and returns the new one; see `save`.

        The old one stays as what was true until `valid_from` of the new one. Raises `MemoryIdError` when it is not in
        the namespaces that are named, or was superseded already.
        """
        scope = Scope.of(namespace)
        row = self._maker.row(
            b"",
            content=content,
            kind=kind,
            purpose=purpose,
            importance=importance,
            provenance=provenance,
            valid_from=valid_from,
            valid_to=valid_to,
            ttl=ttl,
            metadata=metadata,
        )
        vectors = self._vectors([row["content"]])
        now = self._maker.now()
        return record_of(self._core.supersede(scope.key, scope.below, fields.id_of(memory_id), row, now, vectors))

    def list(
        self,
        namespace: AnyScope,
        *,
        kind: Kind | None = None,
        as_of: datetime | None = None,
        history: bool = False,
        limit: int | None = None,
    ) -> Records:
        """The memories of a scope, the latest first.

        Args:
            namespace: Whose memories.
            kind: Of this kind alone.
            as_of: Those that were true at this time, instead of now.
            history: Also those that were superseded or are not true now.
            limit: At most so many.
        """
        scope, now = Scope.of(namespace), self._maker.now()
        at = fields.moment(now, as_of, history)
        rows = self._core.list(scope.key, scope.below, now, at, fields.kind_of(kind), fields.limit_of(limit))
        return [record_of(row) for row in rows]

    def search(
        self,
        query: str,
        namespace: AnyScope,
        *,
        kind: Kind | None = None,
        as_of: datetime | None = None,
        limit: int = 50,
        also: Iterable[str] = (),
        scale: Literal["calibrated", "cosine"] = "calibrated",
        mmr: float = 0.9,
        recency: float = 0.0,
        half_life: float | timedelta = 30 * 86_400.0,
        importance: float = 0.0,
        reranker: Reranker | None = None,
        explain: bool = False,
    ) -> Hits:
        """The memories of a scope that fit `query`, the best first: by their words (BM25) and by their vectors.

        The score of a hit is in [0, 1], on a scale that is calibrated for each model. By words it is relative to the
        best one's, which is 1 when that holds at least half of the words that were asked for, and less when it holds
        fewer; words such as "which" and "the" do not count, nor do English endings. By vectors, the cosine that
        unrelated texts have is 0 (see `calibrate`), and the best one's is 1 when unrelated texts never have so much.
        Both count one half (convex fusion, arXiv 2210.11934); where nobody holds any of the words, or there are no
        vectors, the other alone. A fused score is the geometric mean of how well it fits by itself and beside the best.

        Of a query the first 256 words that tell something count. The first search of a namespace reads its memories,
        later ones only what was written since, by whomever.

        Args:
            query: What is looked for.
            namespace: Whose memories.
            kind: Of this kind alone.
            as_of: Those that were true at this time, instead of now.
            limit: At most so many.
            also: The same in other words, or what an answer may look like: a memory counts as the one finds it that it
                fits best.
            scale: "cosine": the score is the cosine as it is, and only what has a vector is found. No threshold on it
                means the same for two models.
            mmr: From 0, not twice the same, to 1, the score alone: which ones are kept of those that fit (maximal
                marginal relevance, by vectors; among so few as an agent reads, 0.9 costs nothing and 0.5 much). With a
                `limit` above 1,000 the score alone.
            recency: What being new counts, beside 1 for the relevance.
            half_life: Seconds after which a memory is half as new.
            importance: What being important counts, beside 1 for the relevance.
            reranker: A function of the query and of texts, best first, four times as many as are asked for and at most
                1,000: it gives each text a score from 0 to 1, in the place of ours.
            explain: Whether hits have `components`.
        """
        scope = Scope.of(namespace)
        search = Search(
            self._maker.now(),
            query,
            kind=kind,
            as_of=as_of,
            limit=limit,
            also=also,
            scale=scale,
            mmr=mmr,
            recency=recency,
            half_life=half_life,
            importance=importance,
            reranker=reranker,
            explain=explain,
        )
        if search.raw and self._embedding is None:
            raise ConfigError("scale is 'cosine': the store was opened without an embedder")
        return search.run(self._core, scope, self._embedding, self._graphs)

    def embed(self, namespace: AnyScope, *, replace: bool = False, batch: int = 64) -> int:
        """Gives vectors to the memories of a scope that have none; how many got one.

        Args:
            namespace: Whose memories.
            replace: Deletes all vectors of the store first when they are of another model, or have another length,
                whosever they are.
            batch: How many texts the embedder is given at once.
        """
        scope, most = Scope.of(namespace), arguments.number("batch", batch, 1)
        if type(replace) is not bool:
            raise ConfigTypeError(f"replace is a bool, not {shown(replace)}")
        embedding, core, done = self._needed_embedding(), self._core, 0
        if replace or core.model() is None:
            embedding.introduce(core, replace=replace)
        embedding.fits(core)
        while texts := core.without_vector(scope.key, scope.below, self._maker.now(), most):
            done += core.embed(texts, *embedding.of(content for _, content in texts))
        return done

    def build_graph(self, namespace: AnyNamespace) -> int:
        """Builds the HNSW graph of a top-level namespace now, instead of in the background; of how many vectors.

        It is kept up with what is written, lives as long as this object, and only ever proposes: what a search finds is
        compared and judged as without it. Raises `ConfigError` when the store was opened without `graph_from`.
        """
        name = Namespace.checked("namespace", namespace)
        if len(name) != 1:
            raise ConfigError(f"namespace is a top-level one here: it has 1 component, not {len(name)}")
        if self._graphs is None:
            raise ConfigError("graph_from: the store was opened without it")
        return self._graphs.build(self._core, name[0].encode())

    def calibrate(self, queries: Iterable[str], namespace: AnyScope, *, limit: int = 64) -> tuple[float, float]:
        """Measures which cosines unrelated texts have by the embedder's model, from one's own queries and memories.

        A store does so by itself, with 256 pairs of sentences of our own, when it gets its first vector; the cosines
        of one's own texts, which have more in common, make the scores stricter. Kept in the store, for all namespaces.

        Args:
            queries: Queries as they come, some 10 or more.
            namespace: Whose memories they are paired with: most pairs should have nothing to do with each other.
            limit: How many memories, the latest.

        Returns:
            The cosine that a quarter of the pairs are below, which counts as 0, and that which all but a twentieth are
            below, which counts as 1 when the best has no more.
        """
        given = arguments.several("queries", queries, "str")
        asked = [arguments.text(f"queries[{at}]", one) for at, one in enumerate(given)]
        texts = [record.content for record in self.list(namespace, limit=arguments.number("limit", limit, 1))]
        if not asked or not texts:
            raise ConfigError("queries and namespace have at least one text each")
        embedding, core = self._needed_embedding(), self._core
        if not embedding.fits(core):
            embedding.introduce(core)
        embedding.calibrate(core, asked, texts)
        known = core.model()
        return (0.0, 0.0) if known is None else known[2:]

    def delete(self, memory_id: str, namespace: AnyScope) -> bool:
        """Deletes a memory for good; whether it was in the namespaces that are named.

        Raises `StoreError` when another process reads for longer than `wait`: it is deleted then, but the log still
        holds its bytes.
        """
        scope = Scope.of(namespace)
        deleted = self._core.delete(scope.key, scope.below, fields.id_of(memory_id))
        if deleted:
            self._core.purge(all=False)
        return deleted

    def forget(self, namespace: AnyScope, *, thorough: bool = True) -> int:
        """Deletes all memories of a scope for good, past and expired ones too; how many there were.

        When it returns, nothing of them is in the store's files: neither in an index nor in a free page or the log.
        The file is written anew for that, while others wait to write: seconds for a million memories. Raises
        `StoreError` when another process reads for longer than `wait`: the memories are deleted then, but their bytes
        are not gone; forget again.

        Args:
            namespace: Whose memories.
            thorough: False leaves the file as it is, for sessions that end often: the memories are overwritten where
                they stood and gone from the log, but parts of pages that were split may hold copies until somebody
                forgets thoroughly.
        """
        scope = Scope.of(namespace)
        if type(thorough) is not bool:
            raise ConfigTypeError(f"thorough is a bool, not {shown(thorough)}")
        forgotten = self._core.forget(scope.key, scope.below)
        self._core.purge(all=thorough)
        return forgotten

    def sweep(self) -> int:
        """Deletes what has expired, in all namespaces; how many there were. Writing does so now and then."""
        return self._core.sweep(self._maker.now())

    def namespaces(self, namespace: AnyScope) -> Namespaces:
        """The namespaces of a scope that hold memories, in their order."""
        scope = Scope.of(namespace)
        return [Namespace.from_key(key) for key in self._core.namespaces(scope.key, scope.below, self._maker.now())]

    def stats(self, namespace: AnyScope) -> StoreStats:
        """How much a scope holds."""
        scope = Scope.of(namespace)
        return StoreStats(*self._core.stats(scope.key, scope.below, self._maker.now()))

    def check(self) -> None:
        """Reads everything and compares it with what was written. Raises `StoreError` when it is damaged."""
        self._core.check()

    def export(self, namespace: AnyScope) -> Iterator[str]:
        """The memories of a scope, past ones too, as lines of JSON, the oldest first. `import_lines` takes them.

        Without their vectors, which are of one model, longer than most texts, and cannot be seen to fit them; a copy of
        the closed file is a copy with all.
        """
        for record in reversed(self.list(namespace, history=True)):
            yield exchange.line_of(record)

    def import_lines(self, lines: Iterable[str], namespace: AnyScope) -> int:
        """Writes the memories that `export` gave: all of them, or none. How many there were.

        They come without vectors: `embed` makes them.

        Args:
            lines: Lines of JSON.
            namespace: Where they may belong; a line of another namespace is refused.

        Raises:
            InputError: A line is none of `export`, or belongs elsewhere. The message names the line.
            MemoryIdError: A memory of the same id is there already.
        """
        rows = exchange.rows_of(lines, Scope.of(namespace), self._maker)
        self._core.insert(rows)
        return len(rows)

    def close(self) -> None:
        """Gives up the file; calls after that are a `StoreError`."""
        self._open = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<MemoryStore: {'in memory' if self._path is None else 'a file'}>"

    def _needed_embedding(self) -> Embedding:
        if self._embedding is None:
            raise ConfigError("embedder: the store was opened without one")
        return self._embedding

    def _vectors(self, texts: Contents) -> tuple[str, object] | None:
        """What the embedder makes of texts that are to be written."""
        if self._embedding is None:
            return None
        if not self._embedding.fits(self._core):
            self._embedding.introduce(self._core)
        return self._embedding.of(texts)

    def _sweep_now_and_then(self) -> None:
        self._writes += 1
        if self._writes % _SWEEP_EVERY == 0:
            # What was written is written, whether or not the sweep finds its turn.
            with contextlib.suppress(StoreError):
                self.sweep()


def _opened(path: str | None, wait: float) -> _core.Records:
    try:
        return _core.Records(path, wait)
    except StoreError as error:
        why = str(error)
    raise StoreError(why if path is None else f"{shown_path(path)}: {why}")


def _path(value: object) -> str | None:
    """The absolute path; None for the store in memory."""
    text = arguments.path("path", value)
    if text == ":memory:":
        return None
    # Wherever the process goes: reopened after a fork, it is the same file.
    return os.path.abspath(text)  # noqa: PTH100 - resolves no links
