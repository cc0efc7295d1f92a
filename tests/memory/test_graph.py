"""Graphs by hnswlib: they only propose, whatever they do."""

from __future__ import annotations

import importlib.util
import random
import sys
import time
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import ConfigError, HashEmbedder, MemoryStore

if TYPE_CHECKING:
    from collections.abc import Callable

needs_hnswlib = pytest.mark.skipif(
    importlib.util.find_spec("hnswlib") is None, reason="hnswlib is not installed: ctxproto[hnsw]"
)


class Points:
    """Texts are numbers: directions that can be told apart."""

    name = "points"

    def __init__(self, dims: int = 24) -> None:
        self.dims = dims

    def __call__(self, texts: list[str]) -> list[list[float]]:
        return [self.one(text) for text in texts]

    def one(self, text: str) -> list[float]:
        draw = random.Random(text.split()[0])
        return [draw.gauss(0, 1) for _ in range(self.dims)]


def filled(count: int, **more: Any) -> MemoryStore:
    store = MemoryStore(":memory:", embedder=Points(), graph_from=1, **more)
    for at in range(count):
        store.save(f"u:s{at % 3}", f"{at} text")
    store.save("v", "0 of somebody else")
    return store


def nearest(store: MemoryStore, query: str, scope: str = "u:", limit: int = 5) -> list[str]:
    hits = store.search(query, scope, scale="cosine", mmr=1.0, limit=limit)
    return [hit.content for hit in hits]


def scanned(store: MemoryStore, query: str, scope: str = "u:", limit: int = 5) -> list[str]:
    graphs, store._graphs = store._graphs, None
    found = nearest(store, query, scope, limit)
    store._graphs = graphs
    return found


def proposed(store: MemoryStore, scope: bytes = b"u\0") -> int:
    assert store._graphs is not None
    return len(store._graphs.near(store._core, scope, [Points().one("0")], 50))


@needs_hnswlib
def test_what_a_graph_finds_is_what_a_scan_finds() -> None:
    store = filled(400)
    assert store.build_graph("u") == 400
    assert proposed(store) >= 50
    same = 0
    for at in range(0, 400, 10):
        assert nearest(store, f"{at} asked")[0] == f"{at} text"
        same += len(set(nearest(store, f"{at} asked")) & set(scanned(store, f"{at} asked")))
    assert same >= 0.95 * 5 * 40
    # A part of what the graph is of: what it proposes elsewhere does not count, and nothing is missing.
    for scope in ("u:s1", "u:s2:"):
        assert nearest(store, "7 asked", scope) == scanned(store, "7 asked", scope)
    assert nearest(store, "0 asked", "v") == ["0 of somebody else"]
    assert proposed(store, b"v\0") == 0
    assert proposed(store, b"") == 0


@needs_hnswlib
@pytest.mark.parametrize("seed", range(4))
def test_any_history_of_writes(seed: int) -> None:
    """Deleted, changed, superseded, the same again, forgotten: it follows, and too few are no error."""
    draw = random.Random(seed)
    store = filled(300)
    store.build_graph("u")
    for _ in range(6):
        ids = [record.memory_id for record in store.list("u:")]
        for memory_id in draw.sample(ids, min(len(ids), 60)):
            match draw.randrange(4):
                case 0 | 1:
                    store.delete(memory_id, "u:")
                case 2:
                    store.update(memory_id, "u:", content=f"{draw.randrange(1000)} changed")
                case _:
                    store.supersede(memory_id, "u:", f"{draw.randrange(1000)} instead")
        for _ in range(10):
            store.save("u:s0", "7 the same again")
        for query in ("7 asked", "500 asked"):
            hits = store.search(query, "u:", scale="cosine", mmr=1.0, limit=10)
            there = {record.memory_id for record in store.list("u:")}
            assert {hit.memory_id for hit in hits} <= there
            best = store.search(query, "u:", scale="cosine", mmr=1.0, limit=1)[0].relevance_score
            graphs, store._graphs = store._graphs, None
            assert best == store.search(query, "u:", scale="cosine", mmr=1.0, limit=1)[0].relevance_score
            store._graphs = graphs
    for record in store.list("u:", history=True)[4:]:
        store.delete(record.memory_id, "u:")
    assert len(nearest(store, "7 asked", limit=10)) == len(store.list("u:"))
    store.forget("u:")
    assert nearest(store, "7 asked") == []


@needs_hnswlib
def test_many_deletes_build_it_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ctxproto.memory.graph._DEAD_MOST", 20)
    store = filled(300)
    store.build_graph("u")
    assert store._graphs is not None
    graph = store._graphs._ready[b"u"]
    for record in store.list("u:")[:200]:
        store.delete(record.memory_id, "u:")
    assert nearest(store, "7 asked") == scanned(store, "7 asked")
    assert graph._dead < 50
    assert graph._index.get_current_count() < 200


@needs_hnswlib
def test_another_model_takes_over() -> None:
    store = filled(120)
    store.build_graph("u")
    other = MemoryStore(":memory:", embedder=Points(16), model="other", graph_from=1)
    other._open = store._open
    other._graphs = store._graphs
    assert other.embed("*", replace=True) == 121
    assert nearest(other, "7 asked") == scanned(other, "7 asked")
    assert nearest(other, "7 asked")[0] == "7 text"


@needs_hnswlib
def test_it_is_built_in_the_background() -> None:
    store = filled(200)
    assert store._graphs is not None
    assert nearest(store, "3 asked")[0] == "3 text"
    wait_for(lambda: b"u" in store._graphs._ready if store._graphs else False)
    assert nearest(store, "3 asked")[0] == "3 text"


class Failing:
    """hnswlib's index, for which there is no memory `times` times."""

    def __init__(self, times: int, where: str) -> None:
        import hnswlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

        self.times, self.where, self._make, self.made = times, where, hnswlib.Index, 0

    def __call__(self, *args: Any) -> Any:
        self.made += 1
        index = self._make(*args)
        failing = self

        class Index:
            def __getattr__(self, name: str) -> Any:
                if name == failing.where and failing.times:
                    failing.times -= 1
                    raise MemoryError
                return getattr(index, name)

        return Index()


def searched_until(store: MemoryStore, done: Callable[[], bool], most: int = 10_000) -> int:
    """How many searches it took; each finds all there is, whatever the graph does."""
    for at in range(most):
        if done():
            return at
        assert nearest(store, "3 asked")[0] == "3 text"
        if store._graphs is not None and any(one.building for one in store._graphs._waiting.values()):
            time.sleep(0.002)
    raise AssertionError("it was never done")


@needs_hnswlib
@pytest.mark.parametrize("where", ["init_index", "add_items"])
def test_a_build_that_fails_is_tried_again(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    failing = Failing(3, where)
    monkeypatch.setattr("hnswlib.Index", failing)
    monkeypatch.setattr("ctxproto.memory.graph._COUNTED", 4)
    store = filled(120)
    assert store._graphs is not None
    ready = store._graphs._ready
    taken = searched_until(store, lambda: b"u" in ready)
    # Not at once, and not as often as before.
    assert taken >= 4 + 8 + 16
    assert failing.made == 4
    assert proposed(store) >= 50


@needs_hnswlib
@pytest.mark.parametrize("where", ["knn_query", "add_items"])
def test_a_graph_that_fails_is_given_up(monkeypatch: pytest.MonkeyPatch, where: str) -> None:
    failing = Failing(0, where)
    monkeypatch.setattr("hnswlib.Index", failing)
    monkeypatch.setattr("ctxproto.memory.graph._COUNTED", 4)
    store = filled(120)
    store.build_graph("u")
    failing.times = 1
    store.save("u:s1", "500 new")
    assert nearest(store, "500 asked")[0] == "500 new"
    assert store._graphs is not None
    ready = store._graphs._ready
    assert b"u" not in ready
    searched_until(store, lambda: b"u" in ready)
    assert proposed(store) >= 50
    assert nearest(store, "500 asked")[0] == "500 new"


@needs_hnswlib
def test_without_a_thread_it_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> None:
        raise RuntimeError("can't start new thread")

    store = filled(60)
    assert store._graphs is not None
    ready = store._graphs._ready
    monkeypatch.setattr("ctxproto.memory.graph._COUNTED", 4)
    with monkeypatch.context() as patched:
        patched.setattr("threading.Thread.start", none)
        assert nearest(store, "3 asked")[0] == "3 text"
    searched_until(store, lambda: b"u" in ready)


def wait_for(done: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not done():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_without_hnswlib_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hnswlib", None)
    with pytest.raises(ConfigError, match=r"graph_from.*ctxproto\[hnsw\]"):
        MemoryStore(":memory:", graph_from=1)
    with pytest.raises(ConfigError, match="graph_from"):
        MemoryStore(":memory:", embedder=HashEmbedder()).build_graph("u")
    with pytest.raises(ConfigError, match="top-level"):
        MemoryStore(":memory:").build_graph("u:s")
