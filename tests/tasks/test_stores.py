"""Artifact stores: what is read is what was stored, or an error; in memory, files, fsspec, and on a server of S3."""

from __future__ import annotations

import hashlib
import io
import json
import multiprocessing
import os
import stat
import threading
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import (
    ArtifactError,
    ArtifactStore,
    ArtifactUri,
    ConfigError,
    FileArtifactStore,
    FsspecArtifactStore,
    InMemoryArtifactStore,
    InputTypeError,
    Redactor,
)
from hypothesis import given
from hypothesis import strategies as st
from strategies import any_text, json_values, random_token

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="session")
def s3() -> Iterator[dict[str, Any]]:
    """A server that speaks S3, with a bucket: its address, and how to reach it."""
    server = pytest.importorskip("moto.server", reason="needs moto[server] and s3fs").ThreadedMotoServer(port=0)
    pytest.importorskip("s3fs", reason="needs moto[server] and s3fs")
    server.start()
    host, port = server.get_host_and_port()
    options = {"endpoint_url": f"http://{host}:{port}", "key": "test", "secret": "test"}
    import s3fs

    s3fs.S3FileSystem(**options, skip_instance_cache=True).mkdir("bucket")
    yield options
    server.stop()


@pytest.fixture(params=["memory", "files", "fsspec", "fsspec files", "s3"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> ArtifactStore:
    return made(request, tmp_path, None)


def made(request: pytest.FixtureRequest, tmp_path: Path, redactor: Redactor | None) -> ArtifactStore:
    match request.param:
        case "memory":
            return InMemoryArtifactStore(redactor=redactor)
        case "files":
            return FileArtifactStore(tmp_path / "artifacts", redactor=redactor)
        case "fsspec":
            return FsspecArtifactStore(f"memory:/{tmp_path}", redactor=redactor)
        case "fsspec files":
            return FsspecArtifactStore(str(tmp_path / "artifacts"), redactor=redactor)
        case _:
            options = request.getfixturevalue("s3")
            return FsspecArtifactStore(f"s3://bucket/{tmp_path.name}", redactor=redactor, **options)


VALUES = [
    {"market_size": "$832B", "results": [{"cagr": 18.4}, None, True]},
    [],
    {},
    0,
    None,
    "",
    "größe 日本 🙂 \ud800",
    b"",
    b"\x00\xff",
    "x" * 3_000_000,
]


def test_what_is_stored_comes_back(store: ArtifactStore) -> None:
    for value in VALUES:
        uri = store.put(value)
        assert store.read(uri) == value
        assert store.put(value) == uri
        with store.open(uri) as file:
            assert hashlib.sha256(file.read()).hexdigest() in uri
    with pytest.raises(ArtifactError, match="there is no artifact"):
        store.read(str(ArtifactUri("0" * 64, "json")))


def test_names_are_pointed_anew_and_hold_anything(store: ArtifactStore) -> None:
    names = ["market_research_01:search_results", "../../etc/passwd", "a/b", "a" * 5000, "s3://bucket/key", ".", "\n"]
    for at, name in enumerate(names):
        store.save(name, {"at": at})
    assert [store.read(name) for name in names] == [{"at": at} for at in range(len(names))]
    uri = store.save("a/b", "another")
    assert (store.read("a/b"), store.read(uri), str(store.resolve("a/b"))) == ("another", "another", uri)
    assert (store.delete("a/b"), store.delete("a/b"), store.read(uri)) == (True, False, "another")
    with pytest.raises(ArtifactError, match="under a name"):
        store.read("a/b")
    assert (store.delete(uri), store.delete(uri)) == (True, False)
    with pytest.raises(ArtifactError, match="no artifact URI"):
        store.read("artifact://sha256/../../x.json")


def test_pieces_become_the_artifact_that_the_whole_would_be(store: ArtifactStore) -> None:
    whole = os.urandom(6 << 20)
    assert store.put_stream(whole[at : at + 70_001] for at in range(0, len(whole), 70_001)) == store.put(whole)
    assert store.put_stream(io.BytesIO(b'{"a": 1}'), kind="json") == store.put({"a": 1})
    with store.open(store.put(whole)) as file:
        digest = hashlib.sha256()
        while piece := file.read(100_000):
            digest.update(piece)
    assert digest.digest() == hashlib.sha256(whole).digest()


def test_a_stream_that_breaks_off_leaves_nothing(store: ArtifactStore) -> None:
    class GoneError(Exception):
        pass

    def broken(error: Exception) -> Iterator[bytes]:
        yield b"half of it" * 100_000
        raise error

    with pytest.raises(InputTypeError, match="a piece is bytes"):
        store.put_stream([b"half", "text"])  # type: ignore[list-item]
    if not isinstance(store, FsspecArtifactStore):
        with pytest.raises(GoneError):
            store.put_stream(broken(GoneError()))
    else:
        with pytest.raises(ArtifactError, match="GoneError"):
            store.put_stream(broken(GoneError()))
    assert not [place for place in places(store) if "incoming" in place]


def places(store: ArtifactStore) -> list[str]:
    if isinstance(store, InMemoryArtifactStore):
        return list(store._held)
    if isinstance(store, FileArtifactStore):
        return [str(path.relative_to(store._root)) for path in store._root.rglob("*") if path.is_file()]
    assert isinstance(store, FsspecArtifactStore)
    return [str(path).removeprefix(store._root) for path in store._files.find(store._root)]


@pytest.mark.parametrize("store", ["memory", "files", "fsspec", "s3"], indirect=True)
def test_every_damage_is_told(store: ArtifactStore) -> None:
    data = json.dumps({"rows": list(range(50_000))}).encode()
    uri = store.put_stream([data], kind="json")
    place = ArtifactUri.parse(uri).place  # type: ignore[union-attr]
    for damaged in [data[:-1], data.replace(b"7", b"8", 1), b"", data + b" "]:
        store._write(place, [damaged])
        with pytest.raises(ArtifactError, match="damaged"):
            store.read(uri)
        with store.open(uri) as file, pytest.raises(ArtifactError, match="damaged"):
            list(iter(lambda: file.read(1 << 16), b""))
        # Storing it again heals it.
        assert store.put(json.loads(data)) == uri
        assert store.read(uri) == json.loads(data)


@given(json_values | any_text | st.binary(max_size=50))
def test_every_value_comes_back(value: Any) -> None:
    store = InMemoryArtifactStore()
    assert store.read(store.put(value)) == value


@pytest.mark.parametrize("request_param", ["memory", "files", "s3"])
def test_secrets_stay_at_rest_unless_it_is_asked_for(
    request_param: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    request.param = request_param
    token = random_token(5)
    plain, redacting = made(request, tmp_path / "a", None), made(request, tmp_path / "b", Redactor())
    value = {"token": token, "n": 1}
    assert plain.read(plain.put(value)) == value
    assert redacting.read(redacting.put(value)) == {"token": "[GITHUB_TOKEN:REDACTED]", "n": 1}
    pieces = [token[:9].encode(), token[9:].encode()]
    assert redacting.read(redacting.put_stream(pieces, kind="txt")) == "[GITHUB_TOKEN:REDACTED]"
    assert redacting.read(redacting.save("k", token.encode())) == b"[GITHUB_TOKEN:REDACTED]"


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    store = FileArtifactStore(tmp_path / "new" / "artifacts")
    store.save("name", {"secret": "one"})
    root = tmp_path / "new" / "artifacts"
    for path in [root, *(path for path in root.rglob("*") if path.is_file())]:
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path


def test_a_failing_disk_is_told_and_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = FileArtifactStore(tmp_path)
    store.save("name", "before")

    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(ArtifactError, match="No space left"):
            store.save("name", "after")
    assert store.read("name") == "before"
    assert not list(tmp_path.rglob(".*"))
    (tmp_path / "file").write_text("x")
    with pytest.raises(ArtifactError, match="the directory of the artifacts"):
        FileArtifactStore(tmp_path / "file" / "below")


def _save(directory: str, number: int) -> None:
    store = FileArtifactStore(directory)
    for at in range(50):
        store.save("shared", {"by": number, "at": at, "fill": "x" * 10_000})


def test_processes_share_a_directory(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_save, args=(str(tmp_path), number)) for number in range(2)]
    store = FileArtifactStore(tmp_path)
    store.save("shared", {"by": -1, "at": 0, "fill": ""})
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        # Always whole, whoever wrote last.
        assert set(store.read("shared")) == {"by", "at", "fill"}
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    assert store.read("shared")["at"] == 49


def test_threads_share_a_store(store: ArtifactStore) -> None:
    def work(number: int) -> None:
        for at in range(5):
            assert store.read(store.put({"n": number, "at": at})) == {"n": number, "at": at}

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_a_place_that_cannot_be_is_told_without_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="url is no place"):
        FsspecArtifactStore("nosuchprotocol://x")
    with pytest.raises(ConfigError, match="not installed"):
        FsspecArtifactStore("oci://x")
    store = FsspecArtifactStore(str(tmp_path))
    (tmp_path / "objects").write_text("in the way")
    with pytest.raises(ArtifactError, match="not stored"):
        store.put("x")
