"""Standard input to standard output: latency, broken pipes, interrupts, terminals."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import time
from typing import IO, TYPE_CHECKING

import pytest
from cli_support import COMMAND, PLACEHOLDER, Cli, Tokens, environment

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def filtering(cli: Cli) -> Iterator[subprocess.Popen[bytes]]:
    process = cli.start("sanitize", stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    yield process
    process.kill()
    process.communicate()


def read(stream: IO[bytes] | None, seconds: float) -> bytes:
    """What arrives within a while."""
    assert stream is not None
    ready, _, _ = select.select([stream], [], [], seconds)
    return os.read(stream.fileno(), 1 << 16) if ready else b""


def type_in(process: subprocess.Popen[bytes], text: str) -> None:
    assert process.stdin is not None
    process.stdin.write(text.encode())
    process.stdin.flush()


def answer(process: subprocess.Popen[bytes], line: str) -> str:
    """What comes out for a line before there is another; the start of the process is part of the first."""
    type_in(process, line)
    out = b""
    while not out.endswith(b"\n") and (piece := read(process.stdout, 5)):
        out += piece
    return out.decode()


def test_a_line_comes_out_before_the_next_goes_in(filtering: subprocess.Popen[bytes], token: Tokens) -> None:
    assert answer(filtering, "(started)\n") == "(started)\n"
    begin = time.monotonic()
    for line in ("GET /v1/orders 200 (12ms)\n", "\n", "(\n", "[1] done.\n", "日本語。\r\n", '{"a": 1}\n'):
        assert answer(filtering, line) == line
    assert answer(filtering, f"with {token()} inside!\n") == f"with {PLACEHOLDER} inside!\n"
    assert time.monotonic() - begin < 1


def test_a_line_may_end_in_a_word(filtering: subprocess.Popen[bytes]) -> None:
    assert answer(filtering, "hello\n") == "hello\n"


def test_half_a_secret_is_held_back(filtering: subprocess.Popen[bytes], token: Tokens) -> None:
    secret = token()
    type_in(filtering, f"t={secret[:25]}")
    assert secret[4:25].encode() not in read(filtering.stdout, 1.5)
    type_in(filtering, f"{secret[25:]} end\n")
    out, err = filtering.communicate(timeout=20)
    assert out.endswith(f"{PLACEHOLDER} end\n".encode())
    assert filtering.returncode == 0
    assert b"1 finding replaced" in err


def test_ctrl_c_while_waiting_for_input(filtering: subprocess.Popen[bytes]) -> None:
    assert answer(filtering, "(started)\n")
    filtering.send_signal(signal.SIGINT)
    begin = time.monotonic()
    _, err = filtering.communicate(timeout=10)
    assert time.monotonic() - begin < 1
    assert filtering.returncode == 130
    assert b"interrupted" in err
    assert b"Traceback" not in err


@pytest.mark.parametrize("args", [["sanitize"], ["sanitize", "big"], ["scan", "big"], ["rules", "list"]])
def test_a_broken_pipe_is_success(cli: Cli, token: Tokens, args: list[str]) -> None:
    (cli.cwd / "big").write_text("".join(f"{token()} and some text\n" for _ in range(20_000)))
    with (cli.cwd / "big").open("rb") as stdin:
        process = cli.start(*args, stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        err = process.stderr.read()
        process.stderr.close()
        assert process.wait(timeout=60) == 0, err
    assert b"Traceback" not in err
    assert b"Exception" not in err


def test_closed_standard_streams(cli: Cli) -> None:
    for close in ("<&-", ">&-", "2>&-"):
        command = f"{' '.join(COMMAND)} sanitize {close}"
        done = subprocess.run(
            ["sh", "-c", command],
            cwd=cli.cwd,
            env=environment(),
            input=b"x\n",
            capture_output=True,
            timeout=30,
            check=False,
        )
        assert b"Traceback" not in done.stderr
        assert done.returncode in (0, 3), (close, done)


def on_terminal(cli: Cli, *args: str, **env: str) -> str:
    """Runs with standard error on a terminal and returns what it showed."""
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*COMMAND, *args],
        cwd=cli.cwd,
        env=environment(TERM="xterm", **env),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=follower,
    )
    os.close(follower)
    shown = b""
    while True:
        try:
            piece = os.read(leader, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        shown += piece
    os.close(leader)
    process.wait(timeout=60)
    return shown.decode()


def test_colour_and_progress_on_a_terminal_only(cli: Cli) -> None:
    (cli.cwd / "big").write_bytes(b"some line of text that is not a secret at all\n" * 4_000_000)
    shown = on_terminal(cli, "sanitize", "big", "missing", "-o", "out")
    assert "\x1b[31merror:\x1b[0m missing" in shown
    assert "% " in shown
    assert "/2 files" in shown
    assert "\x1b[Ksanitized 1 input (184.0 MB)" in shown
    shown = on_terminal(cli, "sanitize", "big", "missing", "-o", "out", NO_COLOR="1", CTXPROTO_NO_PROGRESS="1")
    assert "\x1b" not in shown
    assert "% " not in shown
    result = cli("sanitize", "big", "missing", "-o", "out", code=3)
    assert "\x1b" not in result.err
    assert "\r" not in result.err


def test_nothing_to_read_at_a_keyboard_is_wrong_usage(cli: Cli) -> None:
    leader, follower = pty.openpty()
    for command in ("sanitize", "scan"):
        done = subprocess.run(
            [*COMMAND, command],
            stdin=follower,
            capture_output=True,
            cwd=cli.cwd,
            env=environment(),
            timeout=30,
            check=False,
        )
        assert done.returncode == 2
        assert b"name what to read" in done.stderr
    os.close(leader)
    os.close(follower)
