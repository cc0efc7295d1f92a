"""Faults on purpose: whatever goes wrong, the input is whole and an output is whole or not there."""

from __future__ import annotations

import gzip
import json
import os
import resource
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from cli_support import COMMAND, PLACEHOLDER, Cli, Tokens, environment, files

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROOT = os.geteuid() == 0
LINE = b"2026-03-14T09:26:53Z INFO orders: nothing to see here, move along\n"


def big(path: Path, size: int, token: Tokens, *, compress: bool = False) -> None:
    """A log of some `size` bytes with a secret at its end."""
    data = LINE * (size // len(LINE)) + token().encode() + b"\n"
    path.write_bytes(gzip.compress(data, 1) if compress else data)


def test_bad_inputs_fail_alone_and_the_status_says_so(cli: Cli, token: Tokens) -> None:
    top = cli.cwd / "in"
    top.mkdir()
    (top / "good").write_text(token())
    cut = gzip.compress(token().encode() * 1000)
    (top / "cut.gz").write_bytes(cut[: len(cut) // 2])
    damaged = bytearray(gzip.compress(LINE * 100))
    damaged[-6] ^= 1
    (top / "damaged.gz").write_bytes(damaged)
    (top / "cut.zst").write_bytes(b"\x28\xb5\x2f\xfd\x24")
    os.mkfifo(cli.cwd / "fifo")
    result = cli("sanitize", "in", "missing", "fifo", "no/*/match", "-o", "out", "--report", "r.json", code=3)
    assert files(cli.cwd / "out") == {"in/good": PLACEHOLDER.encode()}
    assert "error: in/cut.gz: cannot read: the gzip data is cut short" in result.err
    assert "error: in/damaged.gz: cannot read: the gzip data is damaged" in result.err
    assert "error: in/cut.zst: cannot read: the zstd data is cut short" in result.err
    assert "error: missing: cannot read: No such file or directory" in result.err
    assert "error: fifo: is not a regular file; pipe it in and use -" in result.err
    assert "error: no/*/match: no file matches" in result.err
    assert "6 failed" in result.err
    report = json.loads((cli.cwd / "r.json").read_text())
    assert report["summary"]["failed"] == 6
    assert (report["complete"], report["stopped"]) == (False, False)


def test_half_a_gzip_never_becomes_a_whole_one(cli: Cli) -> None:
    cut = gzip.compress(os.urandom(300_000).hex().encode())[:-20]
    (cli.cwd / "a.gz").write_bytes(cut)
    for result in (cli("sanitize", "a.gz", code=3), cli("sanitize", stdin=cut, code=3)):
        with pytest.raises(EOFError):
            gzip.decompress(result.out or cut[:20])
    cli("sanitize", "a.gz", "--in-place", code=3)
    assert (cli.cwd / "a.gz").read_bytes() == cut
    assert set(files(cli.cwd)) == {"a.gz"}


def test_unreadable_files_and_directories(cli: Cli, token: Tokens) -> None:
    top = cli.cwd / "in"
    (top / "closed").mkdir(parents=True)
    (top / "closed" / "x").write_text("x")
    (top / "secret").write_text(token())
    (top / "good").write_text("good")
    os.chmod(top / "secret", 0)
    os.chmod(top / "closed", 0)
    cli.cwd.chmod(0o777)
    try:
        result = cli("sanitize", "in", "-o", "out", code=3, preexec=as_nobody if ROOT else None)
    finally:
        os.chmod(top / "closed", 0o700)
    assert set(files(cli.cwd / "out")) == {"good"}
    assert "error: in/closed: cannot read the directory: Permission denied" in result.err
    assert "error: in/secret: cannot read: Permission denied" in result.err


def as_nobody() -> None:
    # The interpreter of the tests may stand where nobody may not go: keep the groups, drop the powers.
    import ctypes

    libc = ctypes.CDLL(None, use_errno=True)
    for capability in (0, 1, 2, 3):  # CHOWN, DAC_OVERRIDE, DAC_READ_SEARCH, FOWNER
        libc.prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


def test_a_directory_that_cannot_be_written(cli: Cli, token: Tokens) -> None:
    secret = token()
    (cli.cwd / "in").mkdir()
    (cli.cwd / "in" / "a").write_text(secret)
    (cli.cwd / "out").mkdir()
    for directory in ("in", "out"):
        os.chmod(cli.cwd / directory, 0o555)
    drop = as_nobody if ROOT else None
    try:
        result = cli("sanitize", "in", "-o", "out", code=3, preexec=drop)
        assert "cannot write the output: Permission denied" in result.err
        result = cli("sanitize", "in", "--in-place", code=3, preexec=drop)
        assert "cannot write the output: Permission denied" in result.err
    finally:
        os.chmod(cli.cwd / "in", 0o755)
        os.chmod(cli.cwd / "out", 0o755)
    assert files(cli.cwd) == {"in/a": secret.encode()}


def limit_file_size() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))


@pytest.mark.parametrize("mode", ["-o", "--in-place", "gzip"])
def test_an_output_that_grows_too_large(cli: Cli, token: Tokens, mode: str) -> None:
    path = cli.cwd / "a"
    if mode == "gzip":
        path.write_bytes(gzip.compress(os.urandom(200_000).hex().encode() + token().encode()))
    else:
        big(path, 5_000_000, token)
    before = path.read_bytes()
    args = ("--in-place",) if mode == "--in-place" else ("-o", "b")
    result = cli("sanitize", "a", *args, code=3, preexec=limit_file_size)
    assert "cannot write the output: File too large" in result.err
    assert files(cli.cwd) == {"a": before}


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False
    ).returncode:
        pytest.skip("only root mounts a small disk")
    try:
        yield place
    finally:
        subprocess.run(["umount", place], check=True)


def test_a_full_disk(cli: Cli, token: Tokens, small_disk: Path) -> None:
    big(cli.cwd / "a", 5_000_000, token)
    (cli.cwd / "b").write_text(token())
    result = cli("sanitize", "a", "b", "-o", "disk", "--threads", "1", code=3)
    assert "error: a: cannot write the output: No space left on device" in result.err
    assert files(small_disk) == {"b": PLACEHOLDER.encode()}
    result = cli("sanitize", "a", "-o", "x", "--report", "disk/no/r.json", code=3)
    assert "cannot write disk/no/r.json: No such file or directory" in result.err


def test_a_full_disk_below_standard_output(cli: Cli, token: Tokens) -> None:
    big(cli.cwd / "a", 500_000, token)
    for args in (["sanitize", "a"], ["sanitize"]):
        with open("/dev/full", "wb", buffering=0) as full, open(cli.cwd / "a", "rb") as stdin:
            process = cli.start(*args, stdin=stdin, stdout=full, stderr=subprocess.PIPE)
            _, err = process.communicate(timeout=30)
            assert process.returncode == 3
            assert b"No space left on device" in err


@pytest.mark.parametrize("mode", ["-o", "--in-place"])
def test_kill_9_in_the_middle(cli: Cli, token: Tokens, mode: str) -> None:
    """At whatever moment it dies: the input is whole, and the output whole or absent."""
    path = cli.cwd / "a.gz"
    big(path, 30_000_000, token, compress=True)
    before = path.read_bytes()
    cli("sanitize", "a.gz", "-o", "after")
    after = (cli.cwd / "after").read_bytes()
    (cli.cwd / "after").unlink()
    for delay in (0.1, 0.2, 0.35, 0.5):
        target = path if mode == "--in-place" else cli.cwd / "out.gz"
        process = cli.start("sanitize", "a.gz", *(["--in-place"] if mode == "--in-place" else ["-o", "out.gz"]))
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)
        process.wait()
        found = {name: data for name, data in files(cli.cwd).items() if not name.endswith(".ctxproto-tmp")}
        assert found.get("a.gz") in ({before, after} if mode == "--in-place" else {before})
        assert found.get(target.name, after) in (before, after)
        if mode == "-o":
            assert found.get("out.gz", after) == after
    # What the dead left is not taken for data.
    result = cli("sanitize", ".", "-o", "../clean")
    assert ".ctxproto-tmp" not in result.err
    assert not [name for name in files(cli.cwd.parent / "clean") if name.endswith(".ctxproto-tmp")]


def test_an_interrupt_ends_with_130_and_keeps_what_is_done(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "in").mkdir()
    (cli.cwd / "in" / "a").write_text(token())
    big(cli.cwd / "in" / "b.gz", 400_000_000, token, compress=True)
    process = cli.start("sanitize", "in", "-o", "out", "--report", "r.json", stderr=subprocess.PIPE)
    while not (cli.cwd / "out" / "a").exists():
        time.sleep(0.01)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130, err
    assert time.monotonic() - begin < 2
    assert b"interrupted" in err
    assert b"stopped after 1 input" in err
    assert b"Traceback" not in err
    assert files(cli.cwd / "out") == {"a": PLACEHOLDER.encode()}
    assert json.loads((cli.cwd / "r.json").read_text())["stopped"] is True


def test_the_output_is_never_the_input_by_accident(cli: Cli, token: Tokens) -> None:
    secret = token()
    (cli.cwd / "a").write_text(secret)
    (cli.cwd / "link").symlink_to("a")
    (cli.cwd / "hard").hardlink_to(cli.cwd / "a")
    for out in ("a", "./a", "link", "hard", "."):
        result = cli("sanitize", "a", "-o", out, code=2)
        assert "-o: " in result.err
        assert "is one of the inputs, which it would overwrite" in result.err
    assert (cli.cwd / "a").read_text() == secret
    assert "other hard links" in cli("sanitize", "a", "--in-place", code=3).err
    assert "symbolic link" in cli("sanitize", "link", "--in-place", code=3).err
    assert (cli.cwd / "a").read_text() == secret
    (cli.cwd / "target").write_text("old")
    (cli.cwd / "to-target").symlink_to("target")
    cli("sanitize", "a", "-o", "to-target")
    assert (cli.cwd / "to-target").is_symlink()
    assert (cli.cwd / "target").read_text() == PLACEHOLDER


def test_devices_are_not_replaced(cli: Cli) -> None:
    (cli.cwd / "a").write_text("a")
    before = os.stat("/dev/null")
    result = cli("sanitize", "a", "-o", "/dev/null", code=3)
    assert "not a regular file" in result.err
    assert os.stat("/dev/null").st_rdev == before.st_rdev


def test_a_name_taken_by_a_file_or_a_directory(cli: Cli) -> None:
    (cli.cwd / "in" / "x").mkdir(parents=True)
    (cli.cwd / "in" / "x" / "a").write_text("a")
    (cli.cwd / "in" / "b").write_text("b")
    (cli.cwd / "out" / "b").mkdir(parents=True)
    (cli.cwd / "out" / "x").write_text("a file where a directory should be")
    result = cli("sanitize", "in", "-o", "out", code=3)
    assert "error: in/b: the output is a directory" in result.err
    assert "error: in/x/a: cannot write the output" in result.err


def test_a_file_that_grows_meanwhile_is_left_alone(cli: Cli, token: Tokens) -> None:
    path = cli.cwd / "a"
    big(path, 200_000_000, token)
    process = cli.start("sanitize", "--in-place", "a", stderr=subprocess.PIPE)
    while not any(name.endswith(".ctxproto-tmp") for name in os.listdir(cli.cwd)):
        assert process.poll() is None
        time.sleep(0.001)
    with path.open("ab") as file:
        file.write(b"the line that must not be lost\n")
    _, err = process.communicate(timeout=60)
    assert path.read_bytes().endswith(b"the line that must not be lost\n")
    if process.returncode == 3:
        assert b"changed while it was read" in err


def test_memory_is_bounded_whatever_the_line(cli: Cli, token: Tokens) -> None:
    """One line of 300 MB, plain and compressed: some 100 MB of memory, most of it the interpreter and the rules."""
    begin = b'{"messages": ["' + token().encode() + b'", "'
    with gzip.open(cli.cwd / "a.gz", "wb", 1) as packed, (cli.cwd / "a.json").open("wb") as plain:
        for file in (packed, plain):
            file.write(begin)
            for _ in range(300):
                file.write(b"lorem ipsum dolor sit amet, consectetur " * 25_000)
            file.write(b'", "' + token().encode() + b'"]}')
    for name in ("a.json", "a.gz"):
        script = f"""
import resource, subprocess, sys
code = subprocess.run({[*COMMAND, "sanitize", name, "-o", "out"]!r}).returncode
print(code, resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024)
"""
        done = subprocess.run(
            [sys.executable, "-c", script],
            cwd=cli.cwd,
            env=environment(),
            capture_output=True,
            timeout=110,
            check=True,
        )
        code, megabytes = map(int, done.stdout.split())
        assert (code, megabytes < 200) == (0, True), (code, megabytes, done.stderr)
    assert (cli.cwd / "out").stat().st_size < 5_000_000
    with gzip.open(cli.cwd / "out") as file:
        assert file.read(60).startswith(b'{"messages": ["' + PLACEHOLDER.encode())


@pytest.mark.parametrize(
    ("command", "option", "other"),
    [
        ("scan a.log -o a.log", "-o", "one of the inputs"),
        ("scan a.log -o ./link", "-o", "one of the inputs"),
        ("scan a.log -o hard", "-o", "one of the inputs"),
        ("scan a.log --write-baseline a.log", "--write-baseline", "one of the inputs"),
        ("scan a.log -o new --write-baseline new", "--write-baseline", "also the file of -o"),
        ("scan a.log --baseline k.json -o k.json", "-o", "one of the inputs"),
        ("scan a.log --rules r.toml -o r.toml", "-o", "one of the inputs"),
        ("scan a.log --config c.toml -o c.toml", "-o", "one of the inputs"),
        ("scan -o a.log", "-o", "one of the inputs"),
        ("sanitize a.log --report a.log", "--report", "one of the inputs"),
        ("sanitize a.log -o same --report same", "--report", "also the file of -o"),
        ("sanitize a.log -o out/ --report out/a.log", "--report", "also the file of -o"),
        ("sanitize a.log --in-place --report hard", "--report", "one of the inputs"),
        ("sanitize --report a.log", "--report", "one of the inputs"),
        ("sanitize dir -o dir", "-o", "one of the inputs"),
        ("trim a.log --report a.log", "--report", "one of the inputs"),
        ("trim dir --report dir/b.log", "--report", "one of the inputs"),
        ("trim --report a.log", "--report", "one of the inputs"),
    ],
)
def test_no_output_takes_the_place_of_another_file(
    cli: Cli, token: Tokens, command: str, option: str, other: str
) -> None:
    (cli.cwd / "a.log").write_text(token())
    (cli.cwd / "link").symlink_to("a.log")
    (cli.cwd / "hard").hardlink_to(cli.cwd / "a.log")
    (cli.cwd / "dir").mkdir()
    (cli.cwd / "dir" / "b.log").write_text(token())
    (cli.cwd / "c.toml").write_text('pii = "none"\n')
    (cli.cwd / "r.toml").write_text('[[rule]]\nid = "m"\nname = "M"\nlabel = "M"\nshape = "mine_ alnum{32}"\n')
    cli("scan", "dir", "--write-baseline", "k.json")
    before = files(cli.cwd)
    with (cli.cwd / "a.log").open("rb") as stdin:
        done = subprocess.run(
            [*COMMAND, *command.split()], cwd=cli.cwd, env=environment(), stdin=stdin, capture_output=True, check=False
        )
    assert done.returncode == 2, done
    assert f"{option}: " in done.stderr.decode()
    assert other in done.stderr.decode()
    assert files(cli.cwd) == before


def test_a_baseline_may_be_brought_up_to_date(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "a.log").write_text(token())
    cli("scan", "a.log", "--write-baseline", "k.json")
    cli("scan", "a.log", "--baseline", "k.json", "--write-baseline", "k.json", "-o", "out")


def test_a_report_of_trim_is_whole_or_its_failure_names_it(cli: Cli) -> None:
    (cli.cwd / "a.log").write_text("text\n")
    result = cli("trim", "a.log", "--report", "missing/report.jsonl", code=3)
    assert "cannot write missing/report.jsonl: No such file or directory" in result.err
    cli("trim", "a.log", "--report", "/dev/null")
    assert not (cli.cwd / "/dev/null").is_file()
