"""The guarded entry: panics, forks, signals, threads."""

from __future__ import annotations

import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time

import pytest
from ctxproto import InternalError, Redactor, _core
from strategies import random_token

TOKEN = random_token(1)
REDACTOR = Redactor()


@pytest.mark.parametrize("way", ["attached", "detached", "long", "parallel"])
def test_panic_becomes_internal_error(way: str, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InternalError, match=r"bug in ctxproto at rust/py/src/lib\.rs:\d+") as caught:
        _core._panic(way)
    assert isinstance(caught.value, RuntimeError)
    # The payload may quote what was scanned: it shows nowhere.
    assert "payload" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_panic_leaves_everything_usable() -> None:
    for way in ("attached", "detached", "long", "parallel"):
        with pytest.raises(InternalError):
            _core._panic(way)
    assert all(one.changed for one in REDACTOR.redact_many([TOKEN * 20 + " " + TOKEN] * 100))


def batch() -> list[str]:
    return [one.text for one in REDACTOR.redact_many([f"{'log line ' * 100} {n} {TOKEN} end" for n in range(500)])]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
# Python warns of forking a process that has threads: exactly what must work.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_batch_after_fork() -> None:
    before = batch()  # the parent's pool has run
    context = multiprocessing.get_context("fork")
    with context.Pool(2) as children:
        # A child waiting for threads it does not have would wait for ever.
        results = [children.apply_async(batch) for _ in range(4)]
        assert all(result.get(timeout=60) == before for result in results)
    assert batch() == before


FORKING = """
import os, signal, sys, threading, time
from ctxproto import ConfigError, Tokenizer, redact, trim  # Python's own locks of modules are not ours

def use():
    Tokenizer("cl100k_base").count("some words " * 3000)
    redact("password = " + "hunter2x " * 2000).findings
    try:
        trim("x" * 9000, -1)
    except ConfigError:
        return

thread = threading.Thread(target=use)
thread.start()
time.sleep(float(sys.argv[1]))
child = os.fork()
if not child:
    signal.alarm(30)
    use()
    os._exit(0)
thread.join()
assert os.waitpid(child, 0)[1] == 0
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_fork_while_a_thread_makes_what_is_made_once() -> None:
    # Vocabularies, rules, names, exceptions: what was half made would be waited for in the child for ever.
    for at in range(30):
        command = [sys.executable, "-W", "ignore", "-c", FORKING, str(at * 0.002)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stderr) == (0, ""), at


@pytest.mark.parametrize("work", ["redact_many(texts)", "redact(huge)", "scan(huge)", "redact_json(tree)"])
def test_ctrl_c_ends_long_work(work: str) -> None:
    script = f"""
        import ctxproto, signal, sys
        # A parent that runs in the background may have left the signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        redactor = ctxproto.Redactor()
        line = "a log line with key = value pairs and {TOKEN} and more text\\n"
        texts = [line * 2000] * 200
        huge = line * 300_000
        tree = {{"messages": [{{"content": line * 20}} for _ in range(20_000)]}}
        print("ready", flush=True)
        try:
            while True:
                redactor.{work}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    watchdog = threading.Timer(60, process.kill)
    watchdog.start()
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        began = time.monotonic()
        assert process.stdout.readline() == "interrupted\n"
        # 100 ms are promised; a busy machine gets ten times that.
        assert time.monotonic() - began < 1
        assert process.wait(timeout=20) == 0
    watchdog.cancel()


def test_signal_handler_that_returns_does_not_stop_the_work() -> None:
    calls = []
    before = signal.signal(signal.SIGALRM, lambda *_: calls.append(1))
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
        huge = f"some text without anything {TOKEN} \n" * 400_000
        result = REDACTOR.redact(huge)
        many = REDACTOR.redact_many([huge[:2_000_000]] * 8)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert calls
    assert len(result.findings) == 400_000
    assert all(one.changed for one in many)


def test_one_redactor_many_threads() -> None:
    texts = [f"{'x' * n} {TOKEN} {'é' * n}" for n in range(0, 40_000, 997)]
    expected = [REDACTOR.redact(text).text for text in texts]
    wrong = []

    def work() -> None:
        for _ in range(5):
            one_by_one = [REDACTOR.redact(text).text for text in texts]
            together = [one.text for one in REDACTOR.redact_many(texts)]
            if not one_by_one == together == expected:
                wrong.append(threading.current_thread().name)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_threads_run_during_long_work() -> None:
    ticks = []
    over = threading.Event()

    def tick() -> None:
        while not over.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.001)

    thread = threading.Thread(target=tick)
    thread.start()
    huge = f"some text without anything {TOKEN} \n" * 400_000
    began = time.monotonic()
    REDACTOR.redact(huge)
    ended = time.monotonic()
    over.set()
    thread.join()
    assert sum(began < at < ended for at in ticks) >= 2


def test_build_info() -> None:
    info = _core.build_info()
    assert info["profile"] == "release"
    assert re.fullmatch(r"\d+\.\d+\.\d+", info["version"])
