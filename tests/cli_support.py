"""The real command in a real process, and secrets that are made here and now."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
COMMAND = [sys.executable, "-m", "ctxproto.cli"]
PLACEHOLDER = "[GITHUB_TOKEN:REDACTED]"


def environment(**extra: str) -> dict[str, str]:
    """The environment of a child: nothing of ours but what is needed."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "LANG", "VIRTUAL_ENV") if name in os.environ}
    return {**kept, "PYTHONWARNINGS": "error", **extra}


@dataclass
class Result:
    """What a command came to; standard output in bytes, standard error in text."""

    code: int
    out: bytes
    err: str

    @property
    def text(self) -> str:
        return self.out.decode()


class Cli:
    """Runs `ctxproto` in a directory of its own."""

    def __init__(self, cwd: Path) -> None:
        self.cwd = cwd

    def __call__(
        self,
        *args: str | bytes | Path,
        stdin: bytes = b"",
        env: Mapping[str, str] | None = None,
        code: int | None = 0,
        preexec: Callable[[], object] | None = None,
    ) -> Result:
        done = subprocess.run(
            [*COMMAND, *args],
            input=stdin,
            capture_output=True,
            cwd=self.cwd,
            env=environment(**(env or {})),
            timeout=100,
            preexec_fn=preexec,
            check=False,
        )
        result = Result(done.returncode, done.stdout, done.stderr.decode())
        if code is not None:
            assert result.code == code, (result.code, result.err)
        assert "Traceback" not in result.err, result.err
        return result

    def start(self, *args: str | Path, **popen: object) -> subprocess.Popen[bytes]:
        """The command as a process that goes on running."""
        return subprocess.Popen([*COMMAND, *args], cwd=self.cwd, env=environment(), **popen)  # type: ignore[call-overload, no-any-return]


class Tokens:
    """GitHub tokens with their checksum, different ones at each call."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def __call__(self) -> str:
        body = "".join(self._random.choices(BASE62, k=30))
        number, check = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            check = BASE62[digit] + check
        return "ghp" + "_" + body + check


def gone(secret: str, *texts: str | bytes) -> bool:
    """Whether no part of the secret beyond its public prefix is in any of the texts."""
    body = secret.removeprefix("ghp_")
    pieces = [body[i : i + 8] for i in range(len(body) - 7)]
    joined = b"\0".join(t.encode() if isinstance(t, str) else t for t in texts)
    return not any(piece.encode() in joined for piece in pieces)


def files(directory: Path) -> dict[str, bytes]:
    """Every file below a directory, hidden and temporary ones too."""
    return {str(p.relative_to(directory)): p.read_bytes() for p in sorted(directory.rglob("*")) if p.is_file()}
