"""PostgreSQL: what is different there, against a real server that the tests start themselves."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING, Any

import ctxproto
import pytest
from ctxproto import HashEmbedder, MemoryIdError, MemoryStore, PostgresMemoryStore, StoreError
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from postgres_server import Server
from strategies import random_token

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def conninfo() -> Iterator[str]:
    with Server.running().database() as conninfo:
        yield conninfo


@pytest.fixture
def store(conninfo: str) -> Iterator[PostgresMemoryStore]:
    with PostgresMemoryStore(conninfo) as store:
        yield store


WORDS = ["tea", "milk", "coffee", "port", "gateway", "runbook", "日本", "größe", "is", "not", "the", "dependencies"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    saved=st.lists(st.tuples(st.sampled_from(["a", "a:b", "ab"]), texts), min_size=1, max_size=12),
    query=texts,
    vectors=st.booleans(),
)
def test_the_scores_are_those_of_the_store_in_a_file(
    conninfo: str, saved: list[tuple[str, str]], query: str, vectors: bool
) -> None:
    embedder = HashEmbedder(16) if vectors else None
    with PostgresMemoryStore(conninfo, embedder=embedder) as one, MemoryStore(":memory:", embedder=embedder) as other:
        if vectors:
            one.save("x", "gives the store its model")
            other.save("x", "gives the store its model")
        one.forget("*")
        other.forget("*")
        for namespace, text in saved:
            one.save(namespace, text)
            other.save(namespace, text)
        for scope in ("a", "a:", "*"):
            found: list[list[Any]] = [
                [(hit.content, hit.namespace, hit.relevance_score, hit.bm25) for hit in store.search(query, scope)]
                for store in (one, other)
            ]
            assert [hit[:2] for hit in found[0]] == [hit[:2] for hit in found[1]]
            assert [hit[2:] for hit in found[0]] == [pytest.approx(hit[2:], abs=1e-5) for hit in found[1]]


def test_any_text_and_the_longest_names(store: PostgresMemoryStore) -> None:
    text = "NUL \0, quotes ' \" \\, %s %(id)s $1, \U0010ffff, \u2028"
    saved = store.save("u", text, purpose="\0", metadata={"\0": "\0"})
    assert store.get(saved.memory_id, "u") == saved
    assert saved.content == text
    longest = tuple("x" * 511 + chr(97 + at) for at in range(16))
    store.save(longest, "of the longest")
    store.save((*longest[:15], "x" * 512), "of its neighbour")
    assert [record.content for record in store.list(longest)] == ["of the longest"]
    assert len(store.list((*longest[:15],))) == 0
    assert len(store.namespaces(ctxproto.Scope(ctxproto.Namespace(longest[:15]), below=True))) == 2
    large = " ".join(f"word{n}" for n in range(90_000))
    assert store.get(store.save("large", large).memory_id, "large").content == large  # type: ignore[union-attr]


def test_a_scope_of_thousands(conninfo: str) -> None:
    with PostgresMemoryStore(conninfo, embedder=HashEmbedder(16)) as store:
        other = MemoryStore(":memory:")
        other.save("u:many", "a memory about tea")
        (line,) = other.export("*")
        lines = [line.replace('"memory_id": "', f'"memory_id": "{n}-').replace("tea", f"tea {n}") for n in range(2_500)]
        assert store.import_lines(lines, "u:") == 2_500
        needle = store.save("u:needle", "The gateway listens on port 8080.")
        store.save("v", "The gateway listens on port 9090.")
        assert store.search("gateway port", "u:")[0].memory_id == needle.memory_id
        assert all(hit.namespace.startswith("u:") for hit in store.search("gateway tea port", "u:", limit=5_000))
        assert store.embed("u:") == 2_500
        assert store.search("gateway port", "u:")[0].memory_id == needle.memory_id


def test_of_many_that_supersede_one_succeeds(conninfo: str) -> None:
    with PostgresMemoryStore(conninfo) as store:
        old = store.save("u", "The port is 8080.")
        done: list[str] = []
        refused: list[MemoryIdError] = []

        def supersede(n: int) -> None:
            with PostgresMemoryStore(conninfo) as mine:
                try:
                    done.append(mine.supersede(old.memory_id, "u", f"The port is {n}.").memory_id)
                except MemoryIdError as error:
                    refused.append(error)

        threads = [threading.Thread(target=supersede, args=(n,)) for n in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (len(done), len(refused)) == (1, 5)
        assert [record.memory_id for record in store.list("u")] == done


def test_nothing_of_a_secret_reaches_the_server(store: PostgresMemoryStore) -> None:
    token = random_token(11)
    saved = store.save("u", f"The token is {token}.", purpose=token, metadata={"token": token})
    store.update(saved.memory_id, "u", content=f"Now it is {token}!")
    data = Server.running().folder / "data"
    for path in (path for path in data.rglob("*") if path.is_file()):
        assert token[4:].encode() not in path.read_bytes(), path


def test_what_was_acknowledged_survives_a_crash_of_the_server(store: PostgresMemoryStore) -> None:
    written = {store.save("u", f"memory {n}").memory_id for n in range(20)}
    server = Server.running()
    server.stop()
    with pytest.raises(StoreError, match="PostgreSQL"):
        store.save("u", "to nobody")
    server.start()
    # It connects again by itself.
    assert {record.memory_id for record in store.list("u")} == written
    store.check()


WRITER = """
import sys
from ctxproto import PostgresMemoryStore
store = PostgresMemoryStore(sys.argv[1])
while True:
    saved = store.save("u", "x" * 500).memory_id
    print(saved, store.supersede(saved, "u", "better").memory_id, flush=True)
"""


def test_what_was_acknowledged_survives_kills(conninfo: str) -> None:
    said: set[str] = set()
    for lines in (1, 5, 30):
        writer = subprocess.Popen([sys.executable, "-c", WRITER, conninfo], stdout=subprocess.PIPE, text=True)
        assert writer.stdout is not None
        for _ in range(lines):
            said.update(writer.stdout.readline().split())
        writer.kill()
        for line in writer.stdout:
            if line.endswith("\n"):
                said.update(line.split())
        writer.wait()
        writer.stdout.close()
    with PostgresMemoryStore(conninfo) as store:
        records = {record.memory_id: record for record in store.list("*", history=True)}
    assert said <= records.keys()
    for record in records.values():
        assert record.supersedes is None or records[record.supersedes].superseded_by == record.memory_id


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_a_connection_of_its_own(store: PostgresMemoryStore) -> None:
    store.save("u", "parent")
    child = os.fork()
    if not child:
        try:
            store.save("u", "child")
            ok = len(store.list("u")) >= 2
        finally:
            os._exit(0 if ok else 1)
    store.save("u", "parent again")
    assert os.waitpid(child, 0)[1] == 0
    assert sorted(record.content for record in store.list("u")) == ["child", "parent", "parent again"]


def test_no_connection_and_no_psycopg_are_told_without_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("psycopg")
    password = random_token(12)
    for conninfo in (
        f"host=/nowhere password={password}",
        f"{password}",
        f"postgresql://u:{password}@[",
        f"{password}={password}",
        "",
    ):
        with pytest.raises(StoreError) as caught:
            PostgresMemoryStore(conninfo or "host=/nowhere", wait=0.1)
        told = f"{caught.value!r} {caught.value.__context__!r} {caught.value.__cause__!r}"
        assert password[4:] not in told
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(StoreError, match=r"ctxproto\[postgres\]"):
        PostgresMemoryStore("host=/nowhere")


def test_a_closed_store_is_closed(conninfo: str) -> None:
    store = PostgresMemoryStore(conninfo)
    store.save("u", "words")
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.list("*")
    assert repr(store) == "<PostgresMemoryStore>"


@pytest.mark.parametrize("bad", [[[0.0] * 8], [[1.0] * 9], [["x"]]])
def test_vectors_that_are_none_are_refused_and_change_nothing(conninfo: str, bad: Any) -> None:
    """One of them in the table would fail every search of its namespace."""
    answers: list[Any] = []
    embedder = HashEmbedder(8)
    with PostgresMemoryStore(
        conninfo, embedder=lambda texts: answers.pop() if answers else iter(embedder(texts)), model="m"
    ) as store:
        saved = store.save("a", "green tea")
        calls: tuple[Any, ...] = (
            lambda: store.save("a", "milk"),
            lambda: store.update(saved.memory_id, "a", content="milk"),
            lambda: store.supersede(saved.memory_id, "a", "milk"),
        )
        for call in calls:
            answers.append(bad)
            with pytest.raises(ctxproto.ConfigError, match="embedder"):
                call()
        assert store.list("a", history=True) == [saved]
        assert [hit.content for hit in store.search("tea", "a")] == ["green tea"]


def test_a_model_is_replaced_only_on_purpose(conninfo: str) -> None:
    dims = [8]
    with PostgresMemoryStore(conninfo, embedder=lambda texts: HashEmbedder(dims[0])(texts), model="m") as store:
        store.save("a", "green tea")
        before = store._core.model()
        dims[0] = 9
        with pytest.raises(ctxproto.ConfigError, match="8 numbers each"):
            store.calibrate(["q"], "a")
        with pytest.raises(ctxproto.ConfigError, match="8 numbers each"):
            store._core.introduce("m", (1, 1), [[1.0] * 9] * 2, False)
        assert store._core.model() == before
        assert store.embed("*", replace=True) == 1
        assert store.search("tea", "a", explain=True)[0].components["cosine"] is not None


def test_a_vector_that_somebody_cut_is_said(conninfo: str) -> None:
    import psycopg

    with PostgresMemoryStore(conninfo, embedder=HashEmbedder(8)) as store:
        store.save("a", "green tea")
        with psycopg.connect(conninfo) as other:
            other.execute("UPDATE ctxproto_vectors SET embedding = '[1, 2]'")
        with pytest.raises(StoreError, match="damaged: a vector"):
            store.search("tea", "a")
