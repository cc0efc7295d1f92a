"""The audit log: what is written is whole, and whatever is done to it afterwards shows."""

from __future__ import annotations

import json
import multiprocessing
import os
import threading
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import AuditContext, AuditLog, ConfigError, StoreError, verify_audit_log
from ctxproto.audit.records import ContextPrepared, MemoryRead, SecretRedacted
from ctxproto.cli import main
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import random_token

if TYPE_CHECKING:
    from pathlib import Path

CONTEXT = AuditContext("conversation-1", "task-1")
KEY = "a key of the auditors"


def records(count: int) -> list[Any]:
    return [MemoryRead(chunks=at, best_score=0.5) for at in range(count)]


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def test_lines_are_json_and_say_what_and_when(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog(path) as log:
        log.write([SecretRedacted(tool_call_id="c1", secrets_found=1, labels=("OPENAI_KEY",))], CONTEXT)
        log.write([ContextPrepared(message_count=3, budget_utilization=0.087)], AuditContext())
        assert log.head[0] == 3
    first, second, third = map(json.loads, lines(path))
    assert (first["action"], [entry["seq"] for entry in (first, second, third)]) == ("audit_log_begins", [0, 1, 2])
    del second["time"]
    assert second == {
        "seq": 1,
        "conversation_id": "conversation-1",
        "task_id": "task-1",
        "action": "secret_redacted",
        "tool_call_id": "c1",
        "secrets_found": 1,
        "labels": ["OPENAI_KEY"],
    }
    assert "conversation_id" not in third
    verdict = verify_audit_log(path)
    assert (verdict.records, verdict.chained, verdict.problems) == (3, False, [])
    assert path.stat().st_mode & 0o077 == 0


def test_an_id_that_is_a_secret_is_redacted(tmp_path: Path) -> None:
    token = random_token(8)
    path = tmp_path / "audit.jsonl"
    with AuditLog(path, chain=True) as log:
        log.write(records(1), AuditContext(f"chat {token}", token))
    assert token[4:] not in path.read_text()


def chained(path: Path, key: str | None, count: int = 12, max_bytes: int = 1 << 20) -> tuple[int, str]:
    with AuditLog(path, chain=True, key=key, max_bytes=max_bytes, keep=100) as log:
        log.write(records(count), CONTEXT)
        return log.head


@settings(max_examples=200, deadline=None)
@given(st.data(), st.sampled_from([None, KEY]))
def test_every_change_shows(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, key: str | None) -> None:
    path = tmp_path_factory.mktemp("log") / "audit.jsonl"
    _, head = chained(path, key)
    before = lines(path)
    assert verify_audit_log(path, key=key, head=head).problems == []
    change = data.draw(st.sampled_from(["byte", "remove", "repeat", "swap", "insert", "cut"]))
    at = data.draw(st.integers(0, len(before) - 2))
    after = list(before)
    if change == "byte":
        place = data.draw(st.integers(0, len(after[at]) - 1))
        line = bytearray(after[at])
        line[place] = data.draw(st.integers(0, 255).filter(lambda byte: byte != line[place]))
        after[at] = bytes(line)
    elif change == "remove":
        del after[at : at + data.draw(st.integers(1, len(after) - at))]
    elif change == "repeat":
        after.insert(at, after[at])
    elif change == "swap":
        after[at], after[at + 1] = after[at + 1], after[at]
    elif change == "insert":
        after.insert(at, b'{"seq":%d,"action":"memory_read"}\n' % at)
    else:
        after = after[: at + 1]
    path.write_bytes(b"".join(after))
    assert verify_audit_log(path, key=key, head=head).problems, change


def test_with_a_key_nobody_else_writes_a_chain(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    chained(path, KEY)
    assert verify_audit_log(path, key=KEY).problems == []
    assert verify_audit_log(path).problems
    assert verify_audit_log(path, key="another key of 16 bytes").problems


def test_files_are_bounded_and_the_chain_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    count, head = chained(path, KEY, count=200, max_bytes=2000)
    files = list(tmp_path.iterdir())
    assert len(files) > 10
    assert all(file.stat().st_size < 2400 for file in files)
    verdict = verify_audit_log(path, key=KEY, head=head)
    assert (verdict.files, verdict.records, verdict.first, verdict.problems) == (len(files), count, 0, [])
    # An older file that was changed shows, and so does one that is gone from between.
    (tmp_path / "audit.jsonl.3").unlink()
    assert verify_audit_log(path, key=KEY).problems
    few = tmp_path / "few.jsonl"
    with AuditLog(few, chain=True, max_bytes=2000, keep=2) as log:
        log.write(records(200), CONTEXT)
    verdict = verify_audit_log(few)
    assert (verdict.files, verdict.problems, verdict.first > 0) == (3, [], True)
    with AuditLog(tmp_path / "one.jsonl", max_bytes=2000, keep=0) as log:
        log.write(records(200), CONTEXT)
    assert verify_audit_log(tmp_path / "one.jsonl").files == 1


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_a_crash_cut_off_is_mended_and_told(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "audit.jsonl"
    chained(path, KEY)
    path.write_bytes(path.read_bytes()[:-cut])
    with AuditLog(path, chain=True, key=KEY) as log:
        log.write(records(2), CONTEXT)
    assert verify_audit_log(path, key=KEY).problems == []
    assert (b'"audit_log_mended"' in path.read_bytes()) == (cut > 1)
    # But a line that was cut by hand in the middle is none that a crash left.
    middle = lines(path)
    middle[4] = middle[4][:-9] + b"\n"
    path.write_bytes(b"".join(middle))
    assert verify_audit_log(path, key=KEY).problems


def test_a_log_goes_on_where_it_ended(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    for _ in range(3):
        chained(path, None, count=2)
    verdict = verify_audit_log(path)
    assert (verdict.records, verdict.problems) == (7, [])
    path.rename(tmp_path / "audit.jsonl.1")
    chained(path, None, count=1)
    verdict = verify_audit_log(path)
    assert (verdict.files, verdict.records, verdict.problems) == (2, 9, [])


def test_threads_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog(path, chain=True, max_bytes=5000, keep=100) as log:

        def work() -> None:
            for _ in range(50):
                log.write(records(3), CONTEXT)

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert verify_audit_log(path).problems == []


def _in_a_child(path: str, out: Any) -> None:
    try:
        AuditLog(path)
    except StoreError as error:
        out.put(str(error))


def test_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    with AuditLog(path) as log:
        with pytest.raises(StoreError, match="another log writes to it"):
            AuditLog(path)
        context = multiprocessing.get_context("spawn")
        out = context.Queue()
        child = context.Process(target=_in_a_child, args=(str(path), out))
        child.start()
        assert "another process" in out.get(timeout=60)
        child.join()
        if (pid := os.fork()) == 0:
            try:
                log.write(records(1), CONTEXT)
            except StoreError:
                os._exit(0)
            os._exit(1)
        assert os.waitpid(pid, 0)[1] == 0
    with pytest.raises(StoreError, match="closed"):
        log.write(records(1), CONTEXT)
    AuditLog(path).close()


def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    log.close()
    full = open("/dev/full", "r+b", buffering=0)  # noqa: PTH123, SIM115
    log._file = full
    with full, pytest.raises(StoreError, match="No space left"):
        log.write(records(1), CONTEXT)
    with pytest.raises(ConfigError, match="key is for a chain"):
        AuditLog(tmp_path / "other.jsonl", key=KEY)
    with pytest.raises(StoreError, match="there is none"):
        verify_audit_log(tmp_path / "no.jsonl")


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "audit.jsonl"
    _, head = chained(path, KEY)

    def run(*options: str) -> tuple[Any, str, str]:
        with pytest.raises(SystemExit) as end:
            main(["audit", "verify", str(path), *options])
        return end.value.code, *capsys.readouterr()

    assert run()[0] == 1
    monkeypatch.setenv("CTXPROTO_AUDIT_KEY", KEY)
    assert run("--head", head)[0::2] == (0, "13 lines in 1 file, chained, 0 problems\n")
    path.write_bytes(b"".join(lines(path)[:-1]))
    assert run("--head", head)[0] == 1
    status, out, _ = run("--head", head, "--json")
    assert (status, json.loads(out)["problems"][0]["what"]) == (
        1,
        "the head is none of its hashes: its end was cut off",
    )
    path = tmp_path / "none"
    assert run()[0] == 3
