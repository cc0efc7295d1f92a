"""File objects with a redacting stream in between."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from ctxproto.errors import InputTypeError, StreamError, shown

if TYPE_CHECKING:
    from typing_extensions import Buffer

    from ctxproto._core import Stream

AnyText_co = TypeVar("AnyText_co", str, bytes, covariant=True)

# Read from the source at a time.
_PIECE = 1 << 16


class Readable(Protocol[AnyText_co]):
    """What `Redactor.reader` needs of a file."""

    def read(self, size: int, /) -> AnyText_co:
        """Returns up to `size` characters or bytes, none at the end."""
        ...


class Writable(Protocol):
    """What `Redactor.writer` needs of a file; `flush` is used where there is one."""

    def write(self, data: Any, /) -> object:  # noqa: ANN401 - str or bytes, as it is written to
        """Takes str or bytes."""
        ...


def reader(file: Readable[Any], stream: Stream) -> io.BufferedIOBase | io.TextIOWrapper:
    """A file object of the kind of `file` that reads it through `stream`."""
    kind = type(file.read(0)) if callable(getattr(file, "read", None)) else None
    if kind is None or not issubclass(kind, str | bytes):
        raise InputTypeError(f"reader() takes a file whose read() returns str or bytes, not {shown(file)}")
    redacted = io.BufferedReader(_Source(file, stream), _PIECE)
    if issubclass(kind, str):
        # Lone surrogates and line ends come out as they went in.
        return io.TextIOWrapper(redacted, encoding="utf-8", errors="surrogatepass", newline="")
    return redacted


class _Source(io.RawIOBase):
    """Redacted bytes (UTF-8 for text), for the buffers of the standard library to read from."""

    def __init__(self, file: Readable[Any], stream: Stream) -> None:
        self._file = file
        self._stream = stream
        self._ready = memoryview(b"")
        self._ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        while not self._ready and not self._ended:
            piece = self._file.read(_PIECE)
            self._ended = not piece
            text = self._stream.feed(piece) if piece else self._stream.finish()
            self._ready = memoryview(text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text)
        target = memoryview(buffer).cast("B")
        size = min(len(target), len(self._ready))
        target[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size


class Writer(io.IOBase):
    """A file object to write to; see `Redactor.writer`."""

    def __init__(self, file: Writable, stream: Stream) -> None:
        if not callable(getattr(file, "write", None)):
            raise InputTypeError(f"writer() takes a file with a write(), not {shown(file)}")
        self._file = file
        self._stream = stream

    @property
    def stream(self) -> Stream:
        """The stream in between, which knows the findings so far."""
        return self._stream

    def writable(self) -> bool:
        """True."""
        return True

    def write(self, piece: str | Buffer) -> int:
        """Takes the next piece and writes what is certain by then; returns the length of the piece."""
        if self.closed:
            raise StreamError("write to a closed file")
        self._pass_on(self._stream.feed(piece))
        return str.__len__(piece) if isinstance(piece, str) else memoryview(piece).nbytes

    def flush(self) -> None:
        """Flushes the file below. What is held back stays held back: it may be half a secret."""
        if not self.closed and (flush := getattr(self._file, "flush", None)):
            flush()

    def close(self) -> None:
        """Writes the rest and flushes. The file below stays open."""
        if not self.closed:
            try:
                self._pass_on(self._stream.finish())
            finally:
                super().close()

    def _pass_on(self, text: str | bytes) -> None:
        if text:
            self._file.write(text)
