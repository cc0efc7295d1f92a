"""Definitions, and engine processes driven over the protocol of engines/protocol.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

BENCHES = Path(__file__).resolve().parent
PEERS = BENCHES / ".venv-peers" / "bin" / "python"


class EngineError(Exception):
    """An engine cannot run, or answered with an error."""


@dataclass(frozen=True)
class EngineSpec:
    """One `[[engine]]` of definitions.toml."""

    name: str
    file: str
    env: str
    does: str
    limit: int | None = None
    skip: tuple[str, ...] = ()
    arguments: tuple[str, ...] = ()

    def command(self) -> list[str]:
        python = Path(sys.executable) if self.env == "project" else PEERS
        if not python.exists():
            raise EngineError("no peers: run benches/setup_peers.sh")
        return [str(python), str(BENCHES / "engines" / self.file), *self.arguments]

    def bytes_limit(self, factor: int = 1) -> int | None:
        return self.limit * 1024 * factor if self.limit else None


@dataclass(frozen=True)
class Workload:
    """One `[[workload]]` of definitions.toml."""

    name: str
    haystack: str
    kind: str
    must: float | None = None
    goal: float | None = None
    engines: tuple[str, ...] = ()
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Bar:
    """One `[[bar]]` of definitions.toml: what ctxproto's quality is held to."""

    measure: str
    must: float
    goal: float
    low: bool = False


def _tables(name: str) -> list[dict[str, Any]]:
    tables: list[dict[str, Any]] = tomllib.loads((BENCHES / "definitions.toml").read_text())[name]
    return tables


def definitions() -> tuple[list[EngineSpec], list[Workload]]:
    """The engines and the workloads."""
    return [EngineSpec(**spec) for spec in _tables("engine")], [
        Workload(**work) for work in _tables("workload")
    ]


def trimmers() -> list[EngineSpec]:
    """The engines that shorten texts."""
    return [EngineSpec(**spec, does="trim") for spec in _tables("trimmer")]


def bars() -> list[Bar]:
    """The bars of quality."""
    return [Bar(**bar) for bar in _tables("bar")]


def cores(n: int) -> set[int]:
    """The last `n` cores of this process: the first is where everything else tends to run."""
    return set(sorted(os.sched_getaffinity(0))[-n:])


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONHASHSEED": "0"}


class EngineProcess:
    """A running engine, pinned to `n_cores` cores."""

    def __init__(self, spec: EngineSpec, n_cores: int = 1) -> None:
        self.spec = spec
        self.loaded: tuple[str, int | None] | None = None
        self.size: dict[str, int] = {}
        self.process = subprocess.Popen(
            spec.command(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=None if os.environ.get("CTXPROTO_BENCH_DEBUG") else subprocess.DEVNULL,
            text=True,
            env=_environment(),
            preexec_fn=partial(os.sched_setaffinity, 0, cores(n_cores)),
        )
        self.version: str = self.ask("hello")["version"]

    def ask(self, op: str, **arguments: Any) -> dict[str, Any]:
        """One request, one reply."""
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(json.dumps({"op": op, **arguments}) + "\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            pass  # it has said why before it ended
        line = self.process.stdout.readline()
        reply: dict[str, Any] = (
            json.loads(line) if line else {"error": f"ended with code {self.process.wait()}"}
        )
        if "error" in reply:
            raise EngineError(reply["error"])
        return reply

    def load(self, haystack: Path, limit: int | None) -> dict[str, int]:
        """Makes the engine ready for a haystack; returns its `bytes` and `documents`."""
        if self.loaded != (str(haystack), limit):
            self.size = self.ask("load", haystack=str(haystack), limit=limit)
            self.loaded = (str(haystack), limit)
        return self.size

    def close(self) -> None:
        if self.process.stdin:
            self.process.stdin.close()
        self.process.wait()


def cold_start(spec: EngineSpec, text: Path) -> float:
    """Seconds from before the import to after the first call, in a process of its own."""
    done = subprocess.run(
        [*spec.command(), "--cold", str(text)],
        capture_output=True,
        text=True,
        env=_environment(),
        preexec_fn=partial(os.sched_setaffinity, 0, cores(1)),
        check=False,
    )
    if done.returncode:
        raise EngineError((done.stderr.strip() or "failed").splitlines()[-1])
    seconds: float = json.loads(done.stdout)["seconds"]
    return seconds
