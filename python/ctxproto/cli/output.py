"""What people see: colour, progress, names, numbers.

Data goes to standard output, everything else to standard error. Whether a stream is a terminal is
decided here and nowhere else.
"""

from __future__ import annotations

import os
import shutil
import sys
import threading
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType

    from ctxproto._core import BatchProgress

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1", "dim": "2"}


def paint(text: str, colour: str, stream: TextIO) -> str:
    """`text` in a colour where `stream` is a terminal and nobody asked for none."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb" or not stream.isatty()
    return text if plain else f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def error(message: str) -> None:
    """Says what went wrong."""
    _say("error", "red", message)


def warning(message: str) -> None:
    """Says what the user should know."""
    _say("warning", "yellow", message)


def note(kind: str, message: str) -> None:
    """Says something else about an input, such as that it was skipped."""
    _say(kind, "yellow", message)


def info(message: str) -> None:
    """A line of the summary."""
    print(message, file=sys.stderr)


def _say(kind: str, colour: str, message: str) -> None:
    print(f"{paint(kind + ':', colour, sys.stderr)} {message}", file=sys.stderr)


def name(path: str | os.PathLike[str]) -> str:
    r"""A path for people and reports: always valid text, and no control character reaches a terminal.

    Bytes that are not UTF-8 are shown as `\xff`.
    """
    return printable(os.fsencode(path).decode("utf-8", "backslashreplace"))


def printable(text: str) -> str:
    """`text` with escapes for what a terminal would obey instead of show."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def count(number: int, noun: str) -> str:
    """`1 file`, `2 files`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def size(number: float) -> str:
    """Bytes in decimal units."""
    for unit in ("B", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:.0f} {unit}" if unit == "B" else f"{number:.1f} {unit}"
        number /= 1000
    return f"{number:.1f} TB"


def table(counts: Mapping[str, int], limit: int = 12) -> None:
    """Findings by label, most first, to standard error."""
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    width = max((len(label) for label, _ in ranked[:limit]), default=0)
    for label, number in ranked[:limit]:
        info(f"  {label:{width}}  {number:,}")
    if len(ranked) > limit:
        rest = sum(number for _, number in ranked[limit:])
        info(f"  {len(ranked) - limit} other labels  {rest:,}")


class Bar:
    """A line of progress on a terminal, nothing elsewhere. Use as a context around the work."""

    def __init__(self, progress: BatchProgress, files: int, total: int) -> None:
        """`files` and `total` bytes are to be done."""
        quiet = os.environ.get("CTXPROTO_NO_PROGRESS") or os.environ.get("TERM") == "dumb"
        self._on = sys.stderr.isatty() and not quiet
        self._progress, self._files, self._total = progress, files, total
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._draw, daemon=True)

    def __enter__(self) -> None:
        if self._on:
            self._thread.start()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._on:
            self._over.set()
            self._thread.join()
            self._write("\r\x1b[K")

    def _draw(self) -> None:
        # Nothing is drawn for work that is over at once.
        while not self._over.wait(0.2):
            done = self._progress.bytes
            share = min(done / self._total, 1.0) if self._total else 1.0
            text = (
                f" {share:4.0%}  {size(done)} of {size(self._total)}"
                f"  {self._progress.files:,}/{count(self._files, 'file')}"
                f"  {count(self._progress.findings, 'finding')}"
            )
            room = shutil.get_terminal_size().columns - len(text) - 1
            width = max(0, min(24, room))
            filled = int(share * width)
            self._write(f"\r{'█' * filled}{'░' * (width - filled)}{text}\x1b[K")

    @staticmethod
    def _write(text: str) -> None:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except (OSError, UnicodeEncodeError):
            pass  # a terminal that cannot show it misses nothing


def write_json(document: Any, stream: TextIO) -> None:
    """One indented JSON document, keys in the order they were given."""
    import json

    json.dump(document, stream, indent=2, ensure_ascii=False)
    stream.write("\n")
