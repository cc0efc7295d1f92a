"""The store: what is written stays, what is forgotten is gone, and nobody sees what is another's."""

from __future__ import annotations

import copy
import json
import multiprocessing
import os
import pickle
import random
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import ctxproto
import pytest
from ctxproto import MemoryContextGate, MemoryIdError, MemoryStore, Namespace, StoreError
from hypothesis import given, settings
from hypothesis import strategies as st
from memory_backends import BACKENDS
from strategies import random_token

if TYPE_CHECKING:
    from collections.abc import Iterator

# Ids that took others' memories in one product or another.
OWNERS = ["a", "ab", "A", "a_", "a%", "%", "_", "*", "?", "[a]", "..", ".", "/", "\\", ":", "a:b", "é", "e\u0301", " "]


class Clock:
    """Tells the time it is told."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


def contents(found: list[Any]) -> list[str]:
    return [one.content for one in found]


def test_the_cycle_of_the_seed() -> None:
    gate, store = MemoryContextGate(), MemoryStore(":memory:")
    namespace = gate.resolve_namespace(user_id="42", session_id="abc", task_id="1")
    for content in ("Project X uses pip-tools for dependency management.", "The user drinks tea in the afternoon."):
        store.save("user_42", content)
    store.save(gate.resolve_namespace("421"), "Project Y uses poetry for dependency management.")
    candidates = store.search("dependency management", namespace=gate.get_namespace_prefix("42"))
    should_read, best, selected = gate.should_read("dependency management", namespace, list(candidates))
    assert (should_read, best) == (True, 1.0)
    assert contents(selected) == ["Project X uses pip-tools for dependency management."]
    assert store.search("zebra dependency of nowhere else", "user_42:")[0].relevance_score < 0.75


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest) -> Iterator[MemoryStore]:
    with BACKENDS[request.param]() as store:
        yield store


def test_every_call_stays_in_its_namespaces(store: MemoryStore) -> None:
    saved = {owner: store.save((owner, "s"), "the same words for all of them") for owner in OWNERS}
    for owner, mine in saved.items():
        scope = Namespace((owner,)).prefix
        assert [record.memory_id for record in store.list(scope)] == [mine.memory_id]
        assert [hit.memory_id for hit in store.search("words", scope)] == [mine.memory_id]
        assert store.namespaces(scope) == [(owner, "s")]
        assert store.stats(scope)[:4] == (1, 0, 0, 1)
        assert not store.list((owner,))
        assert not store.search("words", (owner,))
        assert [json.loads(line)["memory_id"] for line in store.export(scope)] == [mine.memory_id]
        for other, theirs in saved.items():
            if other != owner:
                assert store.get(theirs.memory_id, scope) is None
                assert store.delete(theirs.memory_id, scope) is False
                with pytest.raises(MemoryIdError):
                    store.update(theirs.memory_id, scope, content="mine now")
                with pytest.raises(MemoryIdError):
                    store.supersede(theirs.memory_id, scope, "mine now")
    before = store.list("*")
    for at, owner in enumerate(OWNERS):
        assert store.forget(Namespace((owner,)).prefix) == 1
        assert len(store.list("*")) == len(OWNERS) - at - 1
    assert len(before) == len(OWNERS)


def test_statistics_of_others_do_not_shine_through() -> None:
    alone, shared = MemoryStore(":memory:"), MemoryStore(":memory:")
    for store in (alone, shared):
        for text in ("tea with milk", "coffee", "tea and coffee and water"):
            store.save("a", text)
    for n in range(50):
        shared.save("b", f"tea {n} milk")
    scores = [
        [(hit.content, hit.bm25, hit.relevance_score) for hit in s.search("tea milk", "a:")] for s in (alone, shared)
    ]
    assert scores[0] == scores[1]
    assert scores[0][0][0] == "tea with milk"


def test_fields_come_back(store: MemoryStore) -> None:
    start = datetime(2030, 1, 1, 12, 0, 0, 123_456, tzinfo=UTC)
    saved = store.save(
        "u:s",
        "Größe \0 日本",
        kind="entity",
        purpose="sizes",
        importance=1,
        provenance="user",
        valid_from=start,
        valid_to=start + timedelta(days=1),
        ttl=timedelta(days=9_000),
        metadata={"a": [1, None, {"b": "ü"}]},
    )
    assert store.get(saved.memory_id, "u:") == saved
    assert (saved.namespace, saved.kind, saved.purpose, saved.importance) == (("u", "s"), "entity", "sizes", 1.0)
    assert (saved.valid_from, saved.metadata) == (start, {"a": [1, None, {"b": "ü"}]})
    assert store.list("u:") == []
    assert store.list("u:", as_of=start) == store.list("u:", history=True) == [saved]
    changed = store.update(saved.memory_id, "u:", content="Size", kind="decision", metadata={})
    assert (changed.content, changed.kind, changed.purpose, changed.metadata) == ("Size", "decision", "sizes", {})
    assert store.get(saved.memory_id, "u:s") == changed


def test_what_expires_is_gone_before_it_is_swept() -> None:
    clock = Clock()
    store = MemoryStore(":memory:", clock=clock)
    saved = store.save("u", "short lived words", ttl=60)
    store.save("u", "words that stay")
    clock.now += 59
    assert len(store.list("u")) == 2
    clock.now += 1
    assert store.get(saved.memory_id, "u") is None
    assert contents(store.list("u")) == contents(store.list("u", history=True)) == ["words that stay"]
    assert contents(store.search("words", "u")) == ["words that stay"]
    assert not any("short" in line for line in store.export("*"))
    with pytest.raises(MemoryIdError):
        store.update(saved.memory_id, "u", ttl=1000)
    assert (store.stats("u").expired, store.sweep(), store.stats("u").expired, store.sweep()) == (1, 1, 0, 0)
    # A clock that goes back brings nothing back.
    clock.now -= 10_000
    assert store.get(saved.memory_id, "*") is None


def test_a_new_memory_takes_the_place_of_an_old_one() -> None:
    clock = Clock()
    store = MemoryStore(":memory:", clock=clock)
    old = store.save("u:s", "The port is 8080.")
    then = datetime.fromtimestamp(clock.now, UTC)
    clock.now += 100
    new = store.supersede(old.memory_id, "u:", "The port is 9090.")
    assert (new.namespace, new.supersedes) == (("u", "s"), old.memory_id)
    assert contents(store.list("u:")) == contents(store.search("port", "u:")) == ["The port is 9090."]
    assert contents(store.list("u:", as_of=then)) == ["The port is 8080."]
    past = store.get(old.memory_id, "u:")
    assert past is not None
    assert (past.superseded_by, past.valid_to) == (new.memory_id, new.valid_from)
    with pytest.raises(MemoryIdError, match="superseded"):
        store.supersede(old.memory_id, "u:", "The port is 1.")
    assert store.stats("u:")[:2] == (1, 1)


def test_nothing_of_a_secret_is_written(tmp_path: Path) -> None:
    token = random_token(8)
    with MemoryStore(tmp_path / "m.db") as store:
        saved = store.save("u", f"The token is {token}.", purpose=token, metadata={"token": token, "deep": [token]})
        store.update(saved.memory_id, "u", content=f"Now it is {token}!")
        new = store.supersede(saved.memory_id, "u", f"And {token} again")
        assert token[4:] not in repr((saved, new, list(store.export("*"))))
    assert not found_in(tmp_path, token[4:])


def found_in(folder: Path, text: str) -> list[str]:
    """The files that hold a text."""
    return [path.name for path in folder.iterdir() if text.encode() in path.read_bytes()]


def test_what_is_forgotten_is_in_no_file(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "m.db")
    draw = random.Random(5)
    for n in range(400):
        # From a few bytes to several pages, mixed, so that pages are split and shared.
        store.save(f"u{n % 2}:s{n % 7}", f"marker-{n % 2} " + "fill " * draw.choice([1, 20, 300, 3000]))
    for record in store.list("u0:")[:40]:
        store.update(record.memory_id, "u0:", content="marker-0 anew")
    one = store.list("u0:")[0]
    unique = store.save("u0", "marker-unique").memory_id
    assert found_in(tmp_path, "marker-unique")
    assert store.delete(unique, "u0")
    assert not found_in(tmp_path, "marker-unique")
    assert found_in(tmp_path, "marker-0")
    assert store.forget("u0:") == 200
    assert not found_in(tmp_path, "marker-0")
    assert not found_in(tmp_path, one.memory_id)
    assert not found_in(tmp_path, "u0\0")
    assert len(store.list("u1:")) == 200
    store.check()


HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.execute(sys.argv[2])
connection.execute("SELECT count(*) FROM memories").fetchone()
print("holding", flush=True)
sys.stdin.readline()
"""


@contextmanager
def holding(path: Path, begin: str) -> Iterator[None]:
    """Another process with a transaction open: in this one, locks would not be seen."""
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, path, begin], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "holding\n"
    yield
    holder.communicate("\n")
    assert holder.returncode == 0


def test_forgetting_says_when_a_reader_still_holds_it(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "m.db", wait=0.1)
    store.save("u", "marker")
    with holding(tmp_path / "m.db", "BEGIN"):
        with pytest.raises(StoreError):
            store.forget("u")
        assert store.list("u") == []
    store.forget("u")
    assert not found_in(tmp_path, "marker")


def test_what_was_acknowledged_survives_kills() -> None:
    script = Path(__file__).parents[2] / "ci" / "kill_writers.py"
    done = subprocess.run(
        [sys.executable, script, "--kills", "20", "--seed", "3"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert ", 0 wrong" in done.stdout


def _write(path: str, name: str, count: int) -> None:
    with MemoryStore(path) as store:
        for n in range(count):
            store.save(f"u:{name}", f"{name} {n}")


def test_processes_and_threads_share_a_file(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_write, args=(str(path), f"p{n}", 40)) for n in range(3)]
    for process in processes:
        process.start()
    with MemoryStore(path) as store:
        threads = [
            threading.Thread(target=lambda n=n: [store.save(f"u:t{n}", f"{i}") for i in range(40)]) for n in range(3)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for process in processes:
            process.join()
        assert [process.exitcode for process in processes] == [0, 0, 0]
        assert len(store.list("u:")) == 240
        assert len({record.memory_id for record in store.list("u:")}) == 240
        store.check()


def test_readers_do_not_wait_for_a_writer(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "m.db", wait=0.1)
    store.save("u", "words")
    with holding(tmp_path / "m.db", "BEGIN IMMEDIATE"):
        begin = time.monotonic()
        assert contents(store.list("u")) == contents(store.search("words", "u")) == ["words"]
        assert time.monotonic() - begin < 1
        with pytest.raises(StoreError, match="writing"):
            store.save("u", "more")
    store.save("u", "more")
    assert len(store.list("u")) == 2


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_goes_on_with_the_file(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "m.db")
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
    assert sorted(contents(store.list("u"))) == ["child", "parent", "parent again"]
    store.check()


@pytest.mark.parametrize("damage", [b"", b"not a store", b"\0" * 8192])
def test_a_damaged_file_is_an_error_and_no_empty_store(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "m.db"
    path.write_bytes(damage)
    with pytest.raises(StoreError, match=r"m\.db: damaged, or no memory store") as caught:
        MemoryStore(path)
    assert isinstance(caught.value, OSError)
    assert path.read_bytes() == damage


def test_a_place_where_nothing_can_be(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        MemoryStore(tmp_path / "no such folder" / "m.db")
    with pytest.raises(StoreError):
        MemoryStore(tmp_path)
    with MemoryStore(tmp_path / "m.db") as store:
        pass
    with pytest.raises(StoreError, match="closed"):
        store.list("*")
    assert not [path for path in tmp_path.iterdir() if path.name.endswith(".new")]


FULL = """
import resource, sys
from ctxproto import MemoryStore, StoreError
store = MemoryStore(sys.argv[1])
saved = [store.save("u", "before").memory_id]
resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
failed = 0
for n in range(200):
    try:
        saved.append(store.save("u", f"memory {n} " + "x" * 9000).memory_id)
    except StoreError:
        failed += 1
assert failed, "the disk was never full"
assert {record.memory_id for record in store.list("u")} == set(saved)
store.check()
print(*saved)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="no such limit")
def test_a_full_disk_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    done = subprocess.run([sys.executable, "-c", FULL, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    with MemoryStore(path) as store:
        assert {record.memory_id for record in store.list("u")} == set(done.stdout.split())
        store.save("u", "and goes on")


def test_export_and_import(store: MemoryStore) -> None:
    old = store.save("u:s", "first", ttl=1000, metadata={"x": 1}, valid_to=datetime(2100, 1, 1, tzinfo=UTC))
    store.supersede(old.memory_id, "u:", "second")
    store.save("v", "of somebody else")
    lines = list(store.export("u:"))
    other = MemoryStore(":memory:")
    assert other.import_lines(lines, "u:") == 2
    assert other.list("*", history=True) == store.list("u:", history=True)
    with pytest.raises(MemoryIdError, match="already"):
        other.import_lines(lines, "u:")
    fresh = MemoryStore(":memory:")
    for bad in ("{}", "no json", "[]", lines[0].replace("u:s", "v"), lines[0].replace("long_term", "no_kind")):
        with pytest.raises(ctxproto.InputError, match="line 2"):
            fresh.import_lines([lines[1], bad], "u:")
    assert fresh.list("*", history=True) == []


@settings(max_examples=40, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "a:b", "ab"]), st.text(st.characters(exclude_categories=["Cs"]), min_size=1)),
        max_size=8,
    )
)
def test_any_text_comes_back_through_an_export(pairs: list[tuple[str, str]]) -> None:
    plain = ctxproto.Redactor(profile="none")
    store, other = MemoryStore(":memory:", redactor=plain), MemoryStore(":memory:", redactor=plain)
    for namespace, content in pairs:
        store.save(namespace, content)
    assert [(str(r.namespace), r.content) for r in reversed(store.list("*"))] == pairs
    other.import_lines(list(store.export("*")), "*")
    assert other.list("*") == store.list("*")
    assert {r.content for r in store.list("a:")} == {c for n, c in pairs if n != "ab"}


def test_what_is_never_true_is_refused() -> None:
    store = MemoryStore(":memory:")
    now = datetime.now(UTC)
    with pytest.raises(ctxproto.ConfigError, match="valid_to"):
        store.save("u", "x", valid_from=now, valid_to=now)
    with pytest.raises(ctxproto.ConfigError, match="time zone"):
        store.save("u", "x", valid_from=datetime(2026, 1, 1))
    for bad in ("", "x" * 1_000_001, "\ud800"):
        with pytest.raises(ctxproto.ConfigError, match="content"):
            store.save("u", bad)
    for values in ({1: float("nan")}, {"x": object()}, {"x": "\ud800"}):
        with pytest.raises(ctxproto.ConfigError, match="metadata"):
            store.save("u", "x", metadata=values)  # type: ignore[arg-type]


def test_the_record_of_a_hit_is_made_when_it_is_asked_for() -> None:
    store = MemoryStore(":memory:")
    saved = store.save("user_1:session_a:b", "Likes tea with milk.", metadata={"cups": 2})
    (hit,) = store.search("tea", "user_1:")
    assert pickle.loads(pickle.dumps(hit)) == copy.copy(hit) == hit
    assert hit.record == saved
    assert (hit.content, hit.namespace, hit.memory_id) == (saved.content, str(saved.namespace), saved.memory_id)
    with pytest.raises(AttributeError, match="nothing"):
        hit.nothing  # noqa: B018
