"""Where artifacts are kept: by the digest of their content, found again under a name or by their URI."""

from __future__ import annotations

import hashlib
import io
import json
import re
import uuid
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from ctxproto import arguments
from ctxproto.errors import ArtifactError, ConfigError, ConfigTypeError, InputTypeError, shown
from ctxproto.tools.redact import Redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from typing_extensions import Buffer

__all__ = ["ArtifactStore", "ArtifactUri", "InMemoryArtifactStore"]

_PIECE = 1 << 20
_KINDS = ("json", "txt", "bin")


class ArtifactUri(NamedTuple):
    """What an `artifact://` URI says: the content's digest, and in what form it was stored.

    Args:
        digest: SHA-256 of the bytes, in hex.
        kind: "json", "txt" (UTF-8) or "bin".

    >>> uri = ArtifactUri("0" * 64, "json")
    >>> ArtifactUri.parse(str(uri)) == uri, ArtifactUri.parse("s3://bucket/key")
    (True, None)
    """

    digest: str
    kind: str

    @classmethod
    def parse(cls, pointer: str) -> ArtifactUri | None:
        """Reads a URI; None for any other pointer."""
        found = _URI.fullmatch(pointer)
        return cls(found[1], found[2]) if found else None

    @property
    def place(self) -> str:
        """The name of the object in a store."""
        return f"objects/{self.digest[:2]}/{self.digest}.{self.kind}"

    def __str__(self) -> str:
        return f"artifact://sha256/{self.digest}.{self.kind}"


_URI = re.compile(r"artifact://sha256/([0-9a-f]{64})\.(json|txt|bin)")


class ArtifactStore(ABC):
    """Keeps artifacts: what steps of a task hand on by reference (seed 000, section 5).

    `put` gives the URI of a content, which is its address: equal contents are kept once, and what is read is what was
    stored, or an error. `save` puts a content under a name of the caller's as well, in the place of what was there.
    dict, list, numbers, booleans and None are stored as JSON and come back as JSON has them; str and bytes as they are.

    Nothing is redacted at rest unless a `redactor` is given: artifacts are redacted on their way into a context.
    """

    def __init__(self, *, redactor: Redactor | None = None) -> None:
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(redactor)}")
        self._redactor = redactor

    def put(self, value: Any) -> str:  # noqa: ANN401 - any JSON, str, bytes
        """Stores a content and returns its URI.

        Raises:
            InputTypeError: It is neither str nor bytes, and JSON has no form for it.
            ArtifactError: The store cannot write.
        """
        data, kind = self._encoded(value)
        uri = ArtifactUri(hashlib.sha256(data).hexdigest(), kind)
        # What is there already was perhaps damaged since: then it is written anew.
        if self._intact(uri) is not True:
            self._write(uri.place, [data])
        return str(uri)

    def put_stream(self, pieces: Iterable[bytes] | BinaryIO, *, kind: str = "bin") -> str:
        """Stores what comes in pieces, or from a binary file, in memory that does not grow with it; returns the URI.

        Args:
            pieces: The bytes.
            kind: "json", "txt" or "bin": what they are, which is believed.

        Raises:
            InputTypeError: A piece is not bytes. Nothing is stored.
            ArtifactError: The store cannot write.
        """
        arguments.one_of("kind", kind, _KINDS)
        if callable(read := getattr(pieces, "read", None)):
            pieces = iter(lambda: read(_PIECE), b"")
        digest = hashlib.sha256()
        incoming = f"incoming/{uuid.uuid4().hex}"
        given = self._redacted(_bytes(pieces), kind)
        try:
            self._write(incoming, _hashed(digest, given))
        except BaseException:
            self._remove(incoming)
            raise
        uri = ArtifactUri(digest.hexdigest(), kind)
        self._move(incoming, uri.place)
        return str(uri)

    def save(self, key: str, value: Any) -> str:  # noqa: ANN401 - any JSON, str, bytes
        """Stores a content under a name as well, in the place of what was under it; returns its URI. See `put`."""
        name, place = _named(key)
        uri = self.put(value)
        self._write(place, [json.dumps({"key": name, "uri": uri}).encode()])
        return uri

    def read(self, pointer: str) -> Any:  # noqa: ANN401 - what was stored
        """The content that a URI or a name stands for, as it was stored.

        Raises:
            ArtifactError: There is none, its bytes are not those that were stored, or the store cannot read.
        """
        uri = self.resolve(pointer)
        data = self._load(uri.place, str(uri)[18:30])
        if hashlib.sha256(data).hexdigest() != uri.digest:
            raise _damaged(uri)
        if uri.kind == "bin":
            return data
        text = data.decode("utf-8", "surrogatepass")
        return text if uri.kind == "txt" else json.loads(text)

    def open(self, pointer: str) -> BinaryIO:
        """The bytes of a content as a file to read from; close it.

        Raises:
            ArtifactError: There is none, or the store cannot read; from the file's methods, when its end is reached
                and the bytes were not those that were stored.
        """
        uri = self.resolve(pointer)
        return io.BufferedReader(_Verified(self._open(uri.place, uri.digest[:12]), uri), _PIECE)

    def resolve(self, pointer: str) -> ArtifactUri:
        """The URI that a pointer is, or that a name stands for.

        Raises:
            ArtifactError: There is nothing of this name.
        """
        name, place = _named(pointer)
        if (uri := ArtifactUri.parse(name)) is not None:
            return uri
        if name.startswith("artifact://"):
            raise ArtifactError("the pointer is no artifact URI: artifact://sha256/DIGEST.KIND")
        held = json.loads(self._load(place, f"under a name ({shown(name)})"))
        uri = ArtifactUri.parse(str(held.get("uri"))) if isinstance(held, dict) else None
        if uri is None:
            raise ArtifactError(f"the record of a name ({shown(name)}) is damaged")
        return uri

    def delete(self, pointer: str) -> bool:
        """Removes a name, or by its URI a content; whether it was there. What else points to it finds nothing then."""
        name, place = _named(pointer)
        uri = ArtifactUri.parse(name)
        return self._remove(place if uri is None else uri.place)

    def _encoded(self, value: object) -> tuple[bytes, str]:
        if issubclass(type(value), str):
            text, kind = str.__str__(value), "txt"
        elif issubclass(type(value), bytes):
            data = bytes(value)  # type: ignore[call-overload]
            return (self._redactor.redact(data).text if self._redactor else data), "bin"
        else:
            text, kind = "", "json"
            with suppress(Exception):  # told below, without what the error quotes
                text = json.dumps(value, ensure_ascii=False)
            if not text:
                raise InputTypeError(f"an artifact is str, bytes or what JSON has a form for, not this {_kind(value)}")
        if self._redactor:
            text = self._redactor.redact(text, format="json" if kind == "json" else "auto").text
        return text.encode("utf-8", "surrogatepass"), kind

    def _redacted(self, pieces: Iterator[bytes], kind: str) -> Iterator[bytes]:
        if self._redactor is None:
            return pieces
        return self._redactor.redact_iter(pieces, format="json" if kind == "json" else "auto")

    def _intact(self, uri: ArtifactUri) -> bool | None:
        """Whether a content is there and whole; None when it is not there."""
        try:
            with self._open(uri.place, uri.digest[:12]) as file:
                return hashlib.file_digest(file, "sha256").hexdigest() == uri.digest  # type: ignore[arg-type]
        except ArtifactError:
            return None

    def _load(self, place: str, told: str) -> bytes:
        with self._open(place, told) as file:
            try:
                return file.read()
            except OSError as error:
                reason = error.strerror or "it cannot be read"
        raise ArtifactError(f"the artifact {told}: {reason}")

    @abstractmethod
    def _open(self, place: str, told: str) -> BinaryIO:
        """Opens what is at a place; `told` names it in the `ArtifactError`."""

    @abstractmethod
    def _write(self, place: str, pieces: Iterable[bytes]) -> None:
        """Writes the whole of it to a place, or nothing."""

    @abstractmethod
    def _move(self, source: str, place: str) -> None:
        """Moves what is at a place to another, over what is there."""

    @abstractmethod
    def _remove(self, place: str) -> bool:
        """Removes what is at a place; whether it was there."""


class InMemoryArtifactStore(ArtifactStore):
    """Keeps artifacts in this process: what was stored stays as it was, whatever becomes of the object it came from.

    >>> store = InMemoryArtifactStore()
    >>> uri = store.save("market_research_01:search_results", {"market_size": "$832B", "cagr": "18.4%"})
    >>> uri.startswith("artifact://sha256/"), store.read(uri) == store.read("market_research_01:search_results")
    (True, True)
    """

    def __init__(self, *, redactor: Redactor | None = None) -> None:
        super().__init__(redactor=redactor)
        self._held: dict[str, bytes] = {}

    def _open(self, place: str, told: str) -> BinaryIO:
        if (data := self._held.get(place)) is None:
            raise absent(told)
        return io.BytesIO(data)

    def _write(self, place: str, pieces: Iterable[bytes]) -> None:
        self._held[place] = b"".join(pieces)

    def _move(self, source: str, place: str) -> None:
        self._held[place] = self._held.pop(source)

    def _remove(self, place: str) -> bool:
        return self._held.pop(place, None) is not None

    def __repr__(self) -> str:
        return f"<InMemoryArtifactStore: {len(self._held)} objects and names>"


class _Verified(io.RawIOBase):
    """Reads a content and compares its digest at the end."""

    def __init__(self, file: BinaryIO, uri: ArtifactUri) -> None:
        self._file, self._uri = file, uri
        self._digest = hashlib.sha256()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Buffer) -> int:
        target = memoryview(buffer).cast("B")
        data = self._file.read(len(target))
        if not data and self._digest.hexdigest() != self._uri.digest:
            raise _damaged(self._uri)
        self._digest.update(data)
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


def absent(told: str) -> ArtifactError:
    """There is nothing where an artifact was looked for."""
    error = ArtifactError(f"there is no artifact {told}")
    error.absent = True
    return error


def _damaged(uri: ArtifactUri) -> ArtifactError:
    return ArtifactError(f"the artifact {uri.digest[:12]} is damaged: its bytes are not those that were stored")


def _named(pointer: object) -> tuple[str, str]:
    """A name, and where its record stands: names hold anything, and so cannot be names of files."""
    text = arguments.utf8("pointer", pointer)
    if not text:
        raise ConfigError("pointer is empty")
    return text, f"names/{hashlib.sha256(text.encode()).hexdigest()}.json"


def _bytes(pieces: Iterable[object]) -> Iterator[bytes]:
    iterator = None
    if not issubclass(type(pieces), str | bytes | bytearray | memoryview):
        with suppress(TypeError):  # raised below
            iterator = iter(pieces)
    if iterator is None:
        raise InputTypeError(f"pieces are bytes, one after the other, not {shown(pieces)}")
    return map(_piece, iterator)


def _piece(piece: object) -> bytes:
    if isinstance(piece, bytes | bytearray | memoryview):
        return bytes(piece)
    raise InputTypeError(f"a piece is bytes, not {shown(piece)}")


def _hashed(digest: Any, pieces: Iterator[bytes]) -> Iterator[bytes]:  # noqa: ANN401 - hashlib names no type
    for piece in pieces:
        digest.update(piece)
        yield piece


def _kind(value: object) -> str:
    return type(value).__name__
