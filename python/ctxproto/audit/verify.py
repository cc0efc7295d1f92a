"""Whether an audit log is as it was written: read line by line, from its oldest file on."""

from __future__ import annotations

import hmac
import json
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ctxproto import arguments
from ctxproto.audit.log import BEGINNING, chained
from ctxproto.errors import StoreError
from ctxproto.tools.redact import check_key

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator

__all__ = ["AuditProblem", "AuditVerdict", "verify_audit_log"]

_HASH = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n?\Z')


class AuditProblem(NamedTuple):
    """What is wrong with a log, and where.

    Args:
        file: The file's name.
        line: The line in it, from 1.
        what: What is wrong.
    """

    file: str
    line: int
    what: str


class AuditVerdict(NamedTuple):
    """What became of a log that was read from its oldest file on.

    Args:
        files: How many files there are.
        records: How many lines.
        first: The number of the first line: above 0 when older files were given up.
        head: The hash of the last line.
        chained: Whether lines are chained.
        problems: What is wrong; empty when nothing is.
    """

    files: int
    records: int
    first: int
    head: str
    chained: bool
    problems: list[AuditProblem]


def verify_audit_log(
    path: str | os.PathLike[str], *, key: str | bytes | None = None, head: str | None = None
) -> AuditVerdict:
    """Reads a log with all its files and tells what was changed, removed, added or put elsewhere.

    Args:
        path: The log's file, as for `AuditLog`.
        key: The key of its chain; a log without one is wrong then.
        head: The hash that a line had, `AuditLog.head`: it must be one of the chain.

    Raises:
        ConfigError: An argument is not as it must be.
        StoreError: There is no log, or a file cannot be read.

    >>> import tempfile
    >>> from ctxproto.audit.log import AuditLog
    >>> path = Path(tempfile.mkdtemp()) / "audit.jsonl"
    >>> AuditLog(path, chain=True).close()
    >>> verify_audit_log(path)
    AuditVerdict(files=1, records=1, first=0, head='...', chained=True, problems=[])
    """
    checked = Path(arguments.path("path", path))
    secret = None if key is None else check_key("key", key)
    expected = None if head is None else arguments.text("head", head)
    older = sorted(
        (int(one.suffix[1:]) for one in checked.parent.glob(f"{_literal(checked.name)}.*") if one.suffix[1:].isdigit()),
        reverse=True,
    )
    files = [checked.with_name(f"{checked.name}.{at}") for at in older] + [checked] * checked.exists()
    if not files:
        raise StoreError("the audit log: there is none")
    state = _Reading(secret)
    for file in files:
        for line, data in enumerate(_lines(file), 1):
            state.take(file.name, line, data)
    if secret is not None and not state.chained and not state.problems:
        state.problems.append(AuditProblem(checked.name, 0, "there is a key, and no line has a hash"))
    if expected is not None and expected not in state.hashes and not state.problems:
        state.problems.append(AuditProblem(checked.name, 0, "the head is none of its hashes: its end was cut off"))
    return AuditVerdict(len(files), state.records, state.first, state.last, state.chained, state.problems)


class _Reading:
    """A log as it is read, line by line."""

    def __init__(self, key: bytes | None) -> None:
        self.key = key
        self.records, self.first, self.last, self.chained = 0, 0, BEGINNING, False
        self.hashes: set[str] = set()
        self.problems: list[AuditProblem] = []
        self._next: int | None = None
        self._torn: tuple[str, int, int] | None = None
        self._bare: tuple[str, int] | None = None

    def take(self, file: str, line: int, data: bytes) -> None:
        """Takes the next line."""
        entry = None
        with suppress(ValueError, RecursionError):
            entry = json.loads(data)
        if not isinstance(entry, dict) or type(seq := entry.get("seq")) is not int or seq < 0:
            # A crash does that to a last line, and the line after it says so.
            self._wrong(file, line, "it is no record") if self._torn else None
            self._torn = (file, line, len(data.rstrip(b"\n")))
            return
        if self._torn is not None:
            if entry.get("action") != "audit_log_mended" or entry.get("torn_bytes") != self._torn[2]:
                self._wrong(*self._torn[:2], "it is no record")
            self._torn = None
        self.records += 1
        if self._next is None:
            self.first = seq
            # What is before the oldest file that is left can only be believed.
            after = entry.get("after") if seq else None
            self.last = after if isinstance(after, str) else BEGINNING
        elif seq != self._next:
            self._wrong(file, line, f"it is line {seq} of the log, and {self._next} is missing here")
        self._next = seq + 1
        end = _HASH.search(data)
        if end is None:
            self._bare = self._bare or (file, line)
            if self.chained:
                self._wrong(file, line, "it has no hash")
            return
        if self._bare is not None and not self.chained:
            self._wrong(*self._bare, "it has no hash, and lines after it have")
        self.chained = True
        found = end[1].decode()
        if not hmac.compare_digest(found, chained(self.key, self.last, data[: end.start()])):
            self._wrong(file, line, "its hash is not that of it and the line before")
        self.last = found
        self.hashes.add(found)

    def _wrong(self, file: str, line: int, what: str) -> None:
        self.problems.append(AuditProblem(file, line, what))


def _lines(path: Path) -> Iterator[bytes]:
    reason = ""
    try:
        with path.open("rb") as file:
            yield from file
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    if reason:
        raise StoreError(f"the audit log: {reason}")


def _literal(name: str) -> str:
    import glob

    return glob.escape(name)
