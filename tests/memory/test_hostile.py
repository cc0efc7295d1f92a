"""A store among people who mean harm, clocks that lie, and disks at three in the morning."""

from __future__ import annotations

import math
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime, timedelta, timezone
from typing import TYPE_CHECKING

import ctxproto
import pytest
from ctxproto import MemoryStore, StoreError

if TYPE_CHECKING:
    from pathlib import Path

FORKS = hasattr(os, "fork")


@pytest.mark.parametrize("told", [math.nan, math.inf, 1e300, 3e11, -1e11, "now", None, True])
def test_a_clock_that_lies_writes_nothing(told: object) -> None:
    lies = False
    store = MemoryStore(":memory:", clock=lambda: told if lies else 1e9)  # type: ignore[arg-type, return-value]
    store.save("u", "before")
    lies = True
    for call in (lambda: store.save("u", "x"), lambda: store.list("u"), lambda: store.stats("u"), store.sweep):
        with pytest.raises(ctxproto.ConfigError, match="clock"):
            call()
    lies = False
    assert [record.content for record in store.list("u")] == ["before"]


def test_times_at_the_ends_of_the_calendar() -> None:
    store = MemoryStore(":memory:", clock=lambda: 253_402_300_799.0)
    last, first = datetime.max.replace(tzinfo=UTC), datetime.min.replace(tzinfo=UTC)
    saved = store.save("u", "the end", valid_from=first, valid_to=last, ttl=4_000_000_000)
    assert (saved.valid_from, saved.valid_to, saved.expires) == (first, last, last)
    assert store.get(saved.memory_id, "u") == saved
    for beyond in (
        datetime.max.replace(tzinfo=timezone(-timedelta(hours=1))),
        datetime.min.replace(tzinfo=timezone(timedelta(hours=1))),
    ):
        with pytest.raises(ctxproto.ConfigError, match="years 1 to 9999"):
            store.save("u", "x", valid_from=beyond)
        line = next(store.export("u")).replace(saved.memory_id, "other").replace(last.isoformat(), beyond.isoformat())
        with pytest.raises(ctxproto.InputError, match="line 1"):
            store.import_lines([line], "u")
    assert store.list("u", as_of=first) == [saved]


def test_an_end_before_the_beginning_comes_by_no_change() -> None:
    store = MemoryStore(":memory:")
    saved = store.save("u", "the port is 8080")
    with pytest.raises(ctxproto.ConfigError, match="never be true"):
        store.update(saved.memory_id, "u", valid_to=saved.valid_from)
    store.supersede(saved.memory_id, "u", "the port is 9090")
    with pytest.raises(ctxproto.MemoryIdError, match="superseded"):
        store.update(saved.memory_id, "u", valid_to=datetime.max.replace(tzinfo=UTC))
    assert [record.content for record in store.list("u")] == ["the port is 9090"]


def test_an_export_is_lines_to_every_reader() -> None:
    plain = ctxproto.Redactor(profile="none")
    store, other = MemoryStore(":memory:", redactor=plain), MemoryStore(":memory:", redactor=plain)
    content = "".join(map(chr, range(0x3000)))
    store.save("u", content, metadata={content: content})
    store.save("u", "second")
    text = "\n".join(store.export("u"))
    assert other.import_lines(text.splitlines(), "u") == 2
    assert other.list("u") == store.list("u")


def test_a_sweep_that_fails_does_not_unsay_a_write(monkeypatch: pytest.MonkeyPatch) -> None:
    store = MemoryStore(":memory:")

    def busy(_: MemoryStore) -> int:
        raise StoreError("another process is writing")

    monkeypatch.setattr(MemoryStore, "sweep", busy)
    written = {store.save("u", "words").memory_id for _ in range(600)}
    assert {record.memory_id for record in store.list("u")} == written


def test_sizes_are_those_of_the_scope() -> None:
    store = MemoryStore(":memory:")
    store.save("a", "é" * 100)
    before = store.stats("a")
    assert before.bytes == len("é" * 100 + "{}") + 100
    store.save("b", "x" * 10_000)
    assert store.stats("a") == before
    assert store.stats("nobody") == (0, 0, 0, 0, 0)


def test_to_forget_in_passing_is_to_forget(tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "m.db")
    store.save("a", "marker-of-a")
    store.save("b", "marker-of-b")
    assert store.forget("a", thorough=False) == 1
    assert [record.content for record in store.list("*")] == ["marker-of-b"]
    assert b"marker-of-a" not in b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert store.forget("a") == 0


def test_a_copy_of_the_closed_file_has_it_all(tmp_path: Path) -> None:
    with MemoryStore(tmp_path / "m.db") as store:
        written = [store.save("u", f"memory {n}").memory_id for n in range(20)]
    shutil.copy(tmp_path / "m.db", tmp_path / "copy.db")
    with MemoryStore(tmp_path / "copy.db") as copy:
        assert [record.memory_id for record in reversed(copy.list("*"))] == written


def test_what_a_killed_process_left_does_not_stand_in_the_way(tmp_path: Path) -> None:
    for number in range(50):
        (tmp_path / f"m.db.{os.getpid()}-{number}.new").write_bytes(b"half of a file")
    with MemoryStore(tmp_path / "m.db") as store:
        store.save("u", "words")


# A service that opens its store, goes into the background and writes there, while others come and go.
DAEMON = """
import os, sys, time
from ctxproto import MemoryStore
store = MemoryStore(sys.argv[1])
store.save("u", "before the fork")
if os.fork():
    os._exit(0)
while not os.path.exists(sys.argv[1] + ".stop"):
    print(store.save("u", "daemon").memory_id, flush=True)
print("stopped", flush=True)
os._exit(0)
"""
VISITOR = """
import sys
from ctxproto import MemoryStore
for _ in range(15):
    with MemoryStore(sys.argv[1]) as store:
        for _ in range(5):
            print(store.save("u", "visitor").memory_id, flush=True)
        store.forget("nobody")
"""


@pytest.mark.skipif(not FORKS, reason="no fork here")
def test_a_process_in_the_background_holds_its_own_locks(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    daemon = subprocess.Popen([sys.executable, "-c", DAEMON, path], stdout=subprocess.PIPE, text=True)
    daemon.wait()
    visit = subprocess.run([sys.executable, "-c", VISITOR, path], capture_output=True, text=True, check=False)
    (tmp_path / "m.db.stop").touch()
    assert daemon.stdout is not None
    *said, end = daemon.stdout.read().split("\n")[:-1]
    daemon.stdout.close()
    assert (visit.returncode, visit.stderr, end) == (0, "", "stopped")
    with MemoryStore(path) as store:
        store.check()
        assert {*said, *visit.stdout.split()} <= {record.memory_id for record in store.list("u")}


FORKING = """
import os, threading
from ctxproto import MemoryStore
import sys
stores = [MemoryStore(sys.argv[1]), MemoryStore(":memory:")]
end = threading.Event()
def write():
    while not end.is_set():
        for store in stores:
            store.save("u", "thread")
            store.search("thread", "u", limit=1)
            store.forget("u")
threads = [threading.Thread(target=write) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(25):
    child = os.fork()
    if not child:
        for store in stores:
            store.save("child", "child")
            assert store.list("child")
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
end.set()
for thread in threads:
    thread.join()
assert len(stores[0].list("child")) == 25 and not stores[1].list("child")
"""


@pytest.mark.skipif(not FORKS, reason="no fork here")
def test_forks_amid_calls_of_other_threads(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORKING, tmp_path / "m.db"],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


UNPRIVILEGED = """
import os, sys
from ctxproto import MemoryStore, StoreError
os.setgid(65534)
os.setuid(65534)
for path in sys.argv[1:]:
    try:
        with MemoryStore(path, wait=0.1) as store:
            store.save("u", "words")
        print("written")
    except StoreError as error:
        print(error)
"""


@pytest.mark.skipif(not FORKS or os.geteuid() != 0, reason="only root can become somebody else")
def test_what_may_not_be_written_is_an_error(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    for parent in list(tmp_path.parents)[:3]:
        parent.chmod(0o755)
    with MemoryStore(tmp_path / "private.db") as store:
        store.save("u", "words")
    shutil.copy(tmp_path / "private.db", tmp_path / "readonly.db")
    (tmp_path / "readonly.db").chmod(0o444)
    (tmp_path / "folder").mkdir(mode=0o555)
    names = ("private.db", "readonly.db", "new.db", "folder/new.db")
    done = subprocess.run(
        [sys.executable, "-c", UNPRIVILEGED, *(tmp_path / name for name in names)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert [name in line for name, line in zip(names, lines, strict=True)] == [True] * 4, lines
    assert not [path for path in tmp_path.rglob("*") if path.name.endswith(".new")]
