"""Runs a batch or a filter and keeps account of it: what `sanitize` and `scan` have in common."""

from __future__ import annotations

import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from ctxproto import __version__, _core
from ctxproto.cli import ReaderGone, output
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from ctxproto import Finding, Redactor
    from ctxproto._core import FileReport
    from ctxproto.cli.inputs import Inputs
    from ctxproto.cli.options import Settings

STDIN = "-"


@dataclass
class Entry:
    """What became of one input."""

    path: str
    status: str
    uri: str = ""
    output: str | None = None
    error: str | None = None
    bytes_in: int = 0
    bytes_text: int = 0
    bytes_out: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    findings: Sequence[Finding] = ()

    @property
    def total(self) -> int:
        """All findings, listed or not."""
        return sum(self.counts.values())


@dataclass
class Account:
    """All inputs of a run, and whether it came to its end.

    Args:
        redactor: The policy of the run.
        entries: What became of each input.
        ended: The run was not stopped.
        binary_fails: Binary data is an input that failed instead of one that was skipped.
    """

    redactor: Redactor
    entries: list[Entry] = field(default_factory=list)
    ended: bool = False
    binary_fails: bool = False

    @property
    def complete(self) -> bool:
        """Whether every input was worked on or skipped for a reason: none failed, and nothing stopped the run."""
        return self.ended and not self.failed

    def name(self, path: str | os.PathLike[str]) -> str:
        """A path as it may be shown: file names can hold secrets too."""
        return self.redactor.redact(output.name(path)).text

    def uri(self, path: str | os.PathLike[str]) -> str:
        """A path as a reference, byte for byte but for what is secret in it."""
        uri = quote(self.redactor.redact(os.fsencode(path)).text, safe="/~")
        # Relative paths stay relative references; the first part must not look like a scheme.
        return f"file://{uri}" if uri.startswith("/") else uri

    def add(self, entry: Entry) -> None:
        """Takes note of one input; problems are told at once."""
        self.entries.append(entry)
        if entry.status == "failed":
            output.error(f"{entry.path}: {entry.error}")
        elif entry.status == "skipped":
            output.note("skipped", f"{entry.path}: {entry.error}")

    def add_inputs(self, inputs: Inputs) -> None:
        """What never became a job."""
        for path, why in inputs.skipped:
            self.add(Entry(self.name(path), "skipped", self.uri(path), error=why))
        for path, why in inputs.failed:
            self.add(Entry(self.name(path), "failed", self.uri(path), error=why))

    def entry(self, path: str | os.PathLike[str], report: FileReport, target: Path | None = None) -> Entry:
        """From the core's report to ours."""
        skipped = report.status == "skipped"
        return Entry(
            path=self.name(path),
            status="failed" if skipped and self.binary_fails else report.status,
            uri=self.uri(path),
            output=self.name(target) if target is not None and report.bytes_out else None,
            error=("binary data, not written" if self.binary_fails else "binary data") if skipped else report.error,
            bytes_in=report.bytes_in,
            bytes_text=report.bytes_text,
            bytes_out=report.bytes_out,
            counts=report.counts,
            findings=report.findings,
        )

    def number(self, *statuses: str) -> int:
        """Inputs that ended so."""
        return sum(entry.status in statuses for entry in self.entries)

    @property
    def failed(self) -> bool:
        """Whether some input could not be done."""
        return any(entry.status == "failed" for entry in self.entries)

    @property
    def findings(self) -> int:
        """Findings in all inputs."""
        return sum(entry.total for entry in self.entries)

    def by_label(self) -> Counter[str]:
        """Findings by the label their placeholder shows."""
        labels = {rule.id: rule.label for rule in self.redactor.rules}
        counts: Counter[str] = Counter()
        for entry in self.entries:
            for rule, number in entry.counts.items():
                counts[labels[rule]] += number
        return counts

    def by_rule(self) -> Counter[str]:
        """Findings by rule id."""
        counts: Counter[str] = Counter()
        for entry in self.entries:
            counts.update(entry.counts)
        return counts

    def document(self, command: str) -> dict[str, Any]:
        """The whole account as JSON values; nothing in it depends on time or threads."""
        return {
            "schema": 1,
            "tool": "ctxproto",
            "version": __version__,
            "command": command,
            "complete": self.complete,
            "stopped": not self.ended,
            "summary": {
                "files": len(self.entries),
                **{status: self.number(status) for status in ("clean", "found", "skipped", "failed")},
                "findings": self.findings,
                "bytes_in": sum(entry.bytes_in for entry in self.entries),
                "bytes_text": sum(entry.bytes_text for entry in self.entries),
                "bytes_out": sum(entry.bytes_out for entry in self.entries),
                "rules": dict(sorted(self.by_rule().items())),
            },
            "files": [_file(entry) for entry in self.entries],
        }


def _file(entry: Entry) -> dict[str, Any]:
    return {
        "path": entry.path,
        "output": entry.output,
        "status": entry.status,
        "error": entry.error,
        "bytes_in": entry.bytes_in,
        "bytes_text": entry.bytes_text,
        "bytes_out": entry.bytes_out,
        "rules": entry.counts,
        "findings": [finding(found) for found in entry.findings],
        "unlisted": entry.total - len(entry.findings),
    }


def finding(found: Finding) -> dict[str, Any]:
    """A finding as JSON values."""
    return {
        "rule": found.rule,
        "label": found.label,
        "line": found.line,
        "column": found.column,
        "key_path": found.key_path,
        "fingerprint": found.fingerprint,
    }


Job = tuple[str | os.PathLike[str], str, "Path | None"]


def files(
    account: Account,
    jobs: Sequence[Job],
    settings: Settings,
    details: int,
    each: Callable[[Entry], None] | None = None,
) -> None:
    """Runs `jobs` (input, what to do, output) and adds what came of each, in order; `each` hears of it."""
    progress = _core.BatchProgress()
    total = sum(_size(path) for path, _, _ in jobs)

    def done(index: int, report: FileReport) -> None:
        path, _, target = jobs[index]
        if report.broken_pipe:
            raise ReaderGone
        entry = account.entry(path, report, target)
        account.add(entry)
        if each is not None:
            each(entry)

    with output.Bar(progress, len(jobs), total):
        _core.run_batch(
            account.redactor,
            jobs,
            format=settings["format"],
            threads=settings.threads,
            details=details,
            progress=progress,
            done=done,
        )


def pipe(account: Account, settings: Settings, details: int, *, write: bool) -> Entry:
    """Runs standard input, to standard output if it is to be written."""
    report = _core.run_filter(account.redactor, write=write, format=settings["format"], details=details)
    if report.broken_pipe:
        raise ReaderGone
    entry = account.entry(STDIN, report)
    account.add(entry)
    return entry


def _size(path: str | os.PathLike[str]) -> int:
    try:
        return os.stat(path).st_size  # noqa: PTH116
    except OSError:
        return 0


def save(path: Path, text: str) -> None:
    """Writes a report or a baseline whole or not at all; a pipe or a device stays what it is."""
    whole = path.is_file() or not path.exists()
    temporary = path.with_name(f".{os.getpid()}-report.ctxproto-tmp") if whole else path
    try:
        temporary.write_text(text, encoding="utf-8")
        if whole:
            temporary.replace(path)
    except OSError as error:
        if whole:
            temporary.unlink(missing_ok=True)
        reason = error.strerror
    else:
        return
    # Outside of the handler: what was caught there carries the name.
    raise OSError(f"cannot write {shown_path(path)}: {reason}")
