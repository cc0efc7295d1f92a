"""HNSW graphs (hnswlib) for namespaces of very many vectors: which memories are likely to be close, without a scan.

A graph only proposes. What it names is compared anew by the store, which knows what is there, visible and true now;
when it names too few, the store looks through all. Nothing that hnswlib does wrong shows what is gone or another's.

What it is known to do wrong, and what is done about it: it throws when it reaches fewer than it is asked for (asked
for no more than there are, and a throw means a scan: its issues 373, 608); deleted vectors stay and are walked (when
they are a quarter, it is built anew: 288, 321); many equal vectors cost recall (equal ones are one point); adding
while asking is not safe (a lock); its files have no checksum (there are none: the store is the truth); several threads
make another graph each time (one builds, one asks).
"""

from __future__ import annotations

import hashlib
import os
import threading
from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ctxproto.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ctxproto import _core

__all__ = ["Graph", "Graphs"]

_LINKS, _BUILD_WIDTH, _WIDTH = 16, 200, 64
# Vectors that are copied to be added.
_AT_ONCE = 10_000
# Deleted points that are not worth building anew for.
_DEAD_MOST = 1_000
# Searches of a namespace after which it is asked again how many memories it has: that reads as many lines of an index.
_COUNTED = 64


class Graph:
    """The graph of one namespace and all below it."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self._index: Any = None
        self._since: int | None = None
        # A point of the graph is one vector; it is known by its digest.
        self._points: dict[bytes, int] = {}
        self._digests: list[bytes] = []
        self._point_of: dict[int, int] = {}
        # The memory whose vector a point is; of several, they are in a set of their own.
        self._memory = array("q")
        self._several: dict[int, set[int]] = {}
        self._dead = 0

    def __len__(self) -> int:
        return len(self._point_of)

    def catch_up(self, core: _core.Records) -> None:
        """Takes in what was written since, by whomever."""
        with self._lock:
            self._catch_up(core)

    def _catch_up(self, core: _core.Records) -> None:
        import numpy as np

        since, everything, new, rows, gone = core.vector_changes(self._key, True, self._since)
        vectors = np.frombuffer(rows, dtype=np.float32).reshape(len(new), -1) if new else None
        other = vectors is not None and self._index is not None and self._index.dim != vectors.shape[1]
        if everything or other:
            self._empty()
        if other and not everything:
            self._catch_up(core)
            return
        for number in gone:
            self._remove(number)
        if vectors is not None:
            self._add(new, vectors)
        self._since = since
        if self._dead > _DEAD_MOST and self._dead * 4 > len(self._digests):
            self._empty()
            self._catch_up(core)

    def near(self, core: _core.Records, vector: object, most: int) -> list[int]:
        """The numbers of `most` memories or more that are likely to be the closest; none when that cannot be said."""
        with self._lock:
            self._catch_up(core)
            # More than are asked for: some may not be visible, or not true now.
            wanted = most + most // 4
            if self._index is None or len(self._digests) - self._dead < wanted:
                return []
            try:
                self._index.set_ef(max(_WIDTH, wanted))
                found, _ = self._index.knn_query(vector, k=wanted, num_threads=1)
            except (RuntimeError, TypeError, ValueError):
                # Fewer can be reached than there are; or it is no vector, which the store says best.
                return []
            points: list[int] = found[0].tolist()
            return [number for point in points for number in self._several.get(point) or (self._memory[point],)]

    def _remove(self, number: int) -> None:
        point = self._point_of.pop(number, None)
        if point is None:
            return
        if several := self._several.get(point):
            several.discard(number)
            self._memory[point] = next(iter(several))
            if len(several) == 1:
                del self._several[point]
            return
        del self._points[self._digests[point]]
        self._dead += 1
        self._index.mark_deleted(point)

    def _add(self, numbers: Sequence[int], vectors: Any) -> None:  # noqa: ANN401 - a numpy array
        import hnswlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

        fresh = []
        for at, number in enumerate(numbers):
            digest = hashlib.blake2b(vectors[at], digest_size=16).digest()
            if (old := self._point_of.get(number)) is not None and self._digests[old] == digest:
                continue
            self._remove(number)
            point = self._points.get(digest)
            if point is None:
                point = self._points[digest] = len(self._digests)
                self._digests.append(digest)
                self._memory.append(number)
                fresh.append(at)
            else:
                self._several.setdefault(point, {self._memory[point]}).add(number)
            self._point_of[number] = point
        points = len(self._digests)
        if self._index is None:
            self._index = hnswlib.Index("ip", vectors.shape[1])
            self._index.init_index(max(2 * points, 1_024), M=_LINKS, ef_construction=_BUILD_WIDTH, random_seed=1)
        if points > self._index.get_max_elements():
            self._index.resize_index(2 * points)
        first = points - len(fresh)
        for at in range(0, len(fresh), _AT_ONCE):
            part = fresh[at : at + _AT_ONCE]
            # One thread: the same graph every time.
            self._index.add_items(vectors[part], range(first + at, first + at + len(part)), num_threads=1)


class Graphs:
    """The graphs of a store: one for each top-level namespace that has vectors enough, built in the background.

    One that fails, for want of memory or because the store cannot be read just then, is given up, and searches look
    through all until it is built again: after `_COUNTED` searches, after each further failure twice as many, up to
    `_COUNTED << _PATIENCE`.
    """

    def __init__(self, least: int) -> None:
        try:
            import hnswlib  # type: ignore[import-not-found,import-untyped,unused-ignore]
        except ImportError:
            hnswlib = None
        if hnswlib is None:
            raise ConfigError("graph_from needs hnswlib: install ctxproto[hnsw]")
        self._least = least
        self._begin()

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._ready: dict[bytes, Graph] = {}
        self._waiting: dict[bytes, _Waiting] = {}
        self._lock = threading.Lock()

    def near(self, core: _core.Records, key: bytes, vector: object, most: int) -> list[int]:
        """What the graph of a scope's top-level namespace proposes; nothing while there is none."""
        if self._pid != os.getpid():
            # Forked off: the thread that builds one, or holds a lock, is not here.
            self._begin()
        top, end, _ = key.partition(b"\0")
        if not end:
            return []  # Everything: a graph is one top-level namespace's and nobody else's.
        graph = self._ready.get(top)
        if graph is not None:
            try:
                return graph.near(core, vector, most)
            except Exception:  # noqa: BLE001 - whatever it is, the store finds without it, or says what is wrong
                self._give_up(top)
        elif self._due(core, top):
            try:
                threading.Thread(target=self._try, args=(core, top), name="ctxproto-graph", daemon=True).start()
            except RuntimeError:  # no more threads
                self._give_up(top)
        return []

    def _due(self, core: _core.Records, top: bytes) -> bool:
        with self._lock:
            waiting = self._waiting.setdefault(top, _Waiting())
            if waiting.building or waiting.searches > 0:
                waiting.searches -= 1
                return False
            waiting.searches = _COUNTED - 1
            waiting.building = core.count(top + b"\0", True) >= self._least
            return waiting.building

    def _try(self, core: _core.Records, top: bytes) -> None:
        try:
            self.build(core, top)
        except Exception:  # noqa: BLE001 - on a thread of its own nobody could catch it
            self._give_up(top)

    def _give_up(self, top: bytes) -> None:
        with self._lock:
            self._ready.pop(top, None)
            waiting = self._waiting.setdefault(top, _Waiting())
            waiting.searches = _COUNTED << min(waiting.failures, _PATIENCE)
            waiting.failures += 1
            waiting.building = False

    def build(self, core: _core.Records, top: bytes) -> int:
        """Builds the graph of a top-level namespace now; of how many vectors."""
        graph = Graph(top + b"\0")
        graph.catch_up(core)
        with self._lock:
            self._ready[top] = graph
        return len(graph)


@dataclass
class _Waiting:
    """A namespace that has no graph: after how many searches to look at it again, and whether one is being built."""

    searches: int = 0
    failures: int = 0
    building: bool = False


# Failures that make the wait longer.
_PATIENCE = 10
