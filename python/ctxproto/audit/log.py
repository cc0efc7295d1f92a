"""Audit records in a file: a JSON line each, in files of a bounded size, chained so that a change shows."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, StoreError, shown
from ctxproto.tools.redact import check_key, default_redactor

if TYPE_CHECKING:
    import io
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from ctxproto.audit.records import AuditContext, AuditRecord

__all__ = ["BEGINNING", "AuditLog", "chained"]

BEGINNING = "0" * 64
"""What a chain begins with, in the place of a hash before."""

# What is not ours to choose.
_IDS = {"conversation_id", "task_id", "tool_call_id"}


class AuditLog:
    """Appends audit records to a file, one writer at a time; any thread may write.

    Each line is a JSON object with `seq`, `time` (UTC), the conversation and the task where they are known, and the
    record. With `chain`, each line ends with a hash of it and the line before, across files: `verify_audit_log` and
    `ctxproto audit verify` tell what was changed, removed, added or put elsewhere. Without a `key` anyone who can write
    the file can write a whole new chain; with one, only who has it. What was cut off at the end shows when `head` was
    kept elsewhere. Ids go through the default redactor.

    Args:
        path: The file. Files that are full get `.1` (the newest), `.2`, ... after their name.
        max_bytes: What a file holds at most, but for its last line.
        keep: How many full files are kept.
        chain: Whether lines are chained.
        key: At least 16 bytes of str or bytes: the hashes are HMACs with it.

    Raises:
        ConfigError: An argument is not as it must be.
        StoreError: The file cannot be written, or another process writes to it; in every method.

    >>> import tempfile
    >>> from ctxproto.audit.records import AuditContext, MemoryRead
    >>> path = Path(tempfile.mkdtemp()) / "audit.jsonl"
    >>> with AuditLog(path, chain=True) as log:
    ...     log.write([MemoryRead(chunks=3, best_score=0.91)], AuditContext("conversation-7"))
    >>> log
    <AuditLog: 2 lines, chained>
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = 64 << 20,
        keep: int = 8,
        chain: bool = False,
        key: str | bytes | None = None,
    ) -> None:
        self._path = Path(arguments.path("path", path))
        self._max = arguments.number("max_bytes", max_bytes, 1)
        self._keep = arguments.number("keep", keep, 0)
        if not isinstance(chain, bool):
            raise ConfigTypeError(f"chain is True or False, not {shown(chain)}")
        if key is not None and not chain:
            raise ConfigError("key is for a chain: set chain=True")
        self._chain = chain
        self._key = None if key is None else check_key("key", key)
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._seq, self._hash, self._size = 0, BEGINNING, 0
        self._file: io.FileIO | None = None
        self._guarded(self._open)

    def write(self, records: Sequence[AuditRecord], context: AuditContext) -> None:
        """Appends records; they are with the operating system when it returns."""
        about = {"conversation_id": context.conversation_id, "task_id": context.task_id}
        about = {name: value for name, value in about.items() if value is not None}
        entries = [{**about, **record.to_dict()} for record in records]
        for entry in entries:
            for name in _IDS & entry.keys():
                entry[name] = default_redactor().redact(str(entry[name])).text
        with self._lock:
            self._guarded(lambda: self._append(entries))

    @property
    def head(self) -> tuple[int, str]:
        """How many lines there are, and the hash of the last: what is kept elsewhere against a cut end."""
        with self._lock:
            return self._seq, self._hash

    def close(self) -> None:
        """Flushes to the disk and closes."""
        with self._lock:
            if self._file is not None and self._pid == os.getpid():
                file, self._file = self._file, None
                with file:
                    self._guarded(lambda: os.fsync(file.fileno()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _open(self) -> None:
        import fcntl

        self._path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
        file = open(descriptor, "r+b", buffering=0)  # noqa: PTH123, SIM115 - a descriptor
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise BlockingIOError(None, "another process or another log writes to it: give each its own") from None
        self._file = file
        try:
            self._go_on(file)
        except (OSError, ValueError):
            file.close()
            raise

    def _go_on(self, file: io.FileIO) -> None:
        self._size = file.seek(0, os.SEEK_END)
        if not self._size:
            # An earlier run may have ended between two files.
            older = self._path.with_name(f"{self._path.name}.1")
            if older.exists():
                self._seq, self._hash, _ = self._found(older.read_bytes())
            self._begin()
            return
        file.seek(0)
        data = file.read()
        self._seq, self._hash, torn = self._found(data)
        if not data.endswith(b"\n"):
            self._put(b"\n")
        if torn:
            # A crash cut the last line off. It stays as it is, and the next line says so.
            self._append([{"action": "audit_log_mended", "torn_bytes": torn}])

    def _found(self, data: bytes) -> tuple[int, str, int]:
        """Where a log goes on, which goes on as it began: a chain with links missing is none."""
        seq, last, torn = _last(data)
        if seq and self._chain != bool(last):
            raise ValueError(f"it is {'not ' * self._chain}chained so far: begin a new one, or open it as it is")
        return seq, last or BEGINNING, torn

    def _begin(self) -> None:
        self._append([{"action": "audit_log_begins", **({"after": self._hash} if self._chain else {})}])

    def _append(self, entries: Sequence[dict[str, Any]]) -> None:
        if self._file is None:
            raise ValueError("the log is closed")
        if self._pid != os.getpid():
            raise ValueError("the log was opened in another process: open one in each")
        time = datetime.now(UTC).isoformat(timespec="microseconds")
        for entry in entries:
            if self._size >= self._max and entry.get("action") != "audit_log_begins":
                self._rotate()
            line = json.dumps({"seq": self._seq, "time": time, **entry}, ensure_ascii=False, separators=(",", ":"))
            data, last = line.encode("utf-8", "surrogatepass"), self._hash
            if self._chain:
                last = chained(self._key, last, data[:-1])
                data = data[:-1] + f',"hash":"{last}"}}'.encode()
            self._put(data + b"\n")
            self._seq, self._hash = self._seq + 1, last

    def _put(self, data: bytes) -> None:
        assert self._file is not None  # noqa: S101 - `_append` looked
        rest = memoryview(data)
        try:
            while rest:
                rest = rest[self._file.write(rest) :]
        except OSError:
            # Half a line would spoil the next one. What cannot be taken back either is mended when it is opened again.
            if len(rest) < len(data):
                try:
                    self._file.truncate(self._size)
                except OSError:
                    file, self._file = self._file, None
                    file.close()
            raise
        self._size += len(data)

    def _rotate(self) -> None:
        assert self._file is not None  # noqa: S101 - `_append` looked
        os.fsync(self._file.fileno())
        names = [self._path, *(self._path.with_name(f"{self._path.name}.{at}") for at in range(1, self._keep + 1))]
        for newer, older in reversed(list(pairwise(names))):
            if newer.exists():
                newer.replace(older)
        if not self._keep:
            self._path.unlink()
        # The new file is locked before the old one is given up.
        old = self._file
        state = self._seq, self._hash
        self._open_new(*state)
        old.close()

    def _open_new(self, seq: int, last: str) -> None:
        import fcntl

        descriptor = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._file = open(descriptor, "r+b", buffering=0)  # noqa: PTH123, SIM115
        self._seq, self._hash, self._size = seq, last, 0
        self._begin()

    def _guarded(self, work: Any) -> None:  # noqa: ANN401 - any function
        reason = ""
        try:
            work()
        except OSError as error:
            reason = error.strerror or "it cannot be written"
        except ValueError as error:
            reason = str(error)
        if reason:
            raise StoreError(f"the audit log: {reason}")

    def __repr__(self) -> str:
        return f"<AuditLog: {self._seq} lines{', chained' if self._chain else ''}>"


def chained(key: bytes | None, before: str, line: bytes) -> str:
    """The hash of a line of a chain: of it and of the hash before."""
    data = before.encode() + line
    return (hashlib.sha256(data) if key is None else hmac.new(key, data, "sha256")).hexdigest()


def _last(data: bytes) -> tuple[int, str, int]:
    """The number of the next line, the hash of the last one or nothing, and the bytes of a line that was cut off."""
    lines = data.split(b"\n")
    for line in reversed(lines):
        with suppress(ValueError, RecursionError):
            entry = json.loads(line)
            if isinstance(entry, dict) and isinstance(seq := entry.get("seq"), int):
                return seq + 1, str(entry.get("hash", "")), 0 if line is lines[-1] else len(lines[-1])
    return 0, "", len(lines[-1])
