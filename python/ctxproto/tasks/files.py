"""Artifacts in a directory, and on anything that fsspec reaches."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from ctxproto import arguments
from ctxproto.errors import ArtifactError, ConfigError, CtxprotoError
from ctxproto.tasks.stores import ArtifactStore, absent

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ctxproto.tools.redact import Redactor

__all__ = ["FileArtifactStore", "FsspecArtifactStore"]


class FileArtifactStore(ArtifactStore):
    """Keeps artifacts as files of a directory, which only their owner may read; any number of processes may use one.

    A file appears whole and flushed to the disk, or not at all: a crash leaves what was there before.

    Args:
        directory: Made when it is not there.
        redactor: What contents go through before they are stored; none unless given.

    Raises:
        ConfigError: An argument is not as it must be.
        ArtifactError: The directory cannot be made; in every method, that the store fails.
    """

    def __init__(self, directory: str | os.PathLike[str], *, redactor: Redactor | None = None) -> None:
        super().__init__(redactor=redactor)
        self._root = Path(arguments.path("directory", directory))
        reason = ""
        try:
            self._root.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            reason = error.strerror or "it cannot be made"
        if reason:
            raise ArtifactError(f"the directory of the artifacts: {reason}")

    def _open(self, place: str, told: str) -> BinaryIO:
        try:
            return (self._root / place).open("rb")
        except FileNotFoundError:
            reason = ""
        except OSError as error:
            reason = error.strerror or "it cannot be read"
        raise ArtifactError(f"the artifact {told}: {reason}") if reason else absent(told)

    def _write(self, place: str, pieces: Iterable[bytes]) -> None:
        import tempfile

        path, reason, temporary = self._root / place, "", ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            # Its owner alone may read such a file. It has a name of its own: others may write the same.
            descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
            with open(descriptor, "wb") as file:  # noqa: PTH123 - a descriptor
                for piece in pieces:
                    file.write(piece)
                file.flush()
                os.fsync(file.fileno())
            Path(temporary).replace(path)
            temporary = ""
            _flushed(path.parent)
        except CtxprotoError:
            # Of the pieces, not of the disk.
            raise
        except OSError as error:
            reason = error.strerror or "it cannot be written"
        finally:
            if temporary:
                with suppress(OSError):
                    Path(temporary).unlink()
        if reason:
            raise ArtifactError(f"the artifact was not stored: {reason}")

    def _move(self, source: str, place: str) -> None:
        path, reason = self._root / place, ""
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            (self._root / source).replace(path)
            _flushed(path.parent)
        except OSError as error:
            reason = error.strerror or "it cannot be moved"
        if reason:
            raise ArtifactError(f"the artifact was not stored: {reason}")

    def _remove(self, place: str) -> bool:
        reason = ""
        try:
            (self._root / place).unlink()
        except FileNotFoundError:
            return False
        except OSError as error:
            reason = error.strerror or "it cannot be removed"
        if reason:
            raise ArtifactError(f"the artifact was not removed: {reason}")
        return True

    def __repr__(self) -> str:
        return "<FileArtifactStore>"


class FsspecArtifactStore(ArtifactStore):
    """Keeps artifacts where fsspec reaches: S3, Google Cloud, Azure, HDFS, memory (the extra `ctxproto[fsspec]`).

    An object appears whole where the filesystem writes objects whole, as object stores do.

    Args:
        url: Where, such as `s3://bucket/prefix`.
        redactor: What contents go through before they are stored; none unless given.
        options: What the filesystem is made with, such as `endpoint_url`.

    Raises:
        ConfigError: An argument is not as it must be, or fsspec or the filesystem's package is not installed.
        ArtifactError: In every method: the filesystem fails.

    >>> store = FsspecArtifactStore("memory://artifacts")
    >>> store.read(store.put({"cagr": "18.4%"}))
    {'cagr': '18.4%'}
    """

    def __init__(self, url: str, *, redactor: Redactor | None = None, **options: Any) -> None:  # noqa: ANN401 - the filesystem's
        super().__init__(redactor=redactor)
        given, told = arguments.utf8("url", url), ""
        try:
            from fsspec.core import url_to_fs

            self._files, self._root = url_to_fs(given, **options)
        except ImportError as error:
            told = (
                f"url: the package {error.name} is not installed; ctxproto[fsspec] brings fsspec" if error.name else ""
            )
            told = told or "url: its filesystem needs a package that is not installed"
        except Exception as error:  # noqa: BLE001 - whatever a filesystem thinks of it
            told = f"url is no place that fsspec knows ({type(error).__name__})"
        if told or not self._root:
            raise ConfigError(told or "url names no place")

    def _open(self, place: str, told: str) -> BinaryIO:
        try:
            file: BinaryIO = self._files.open(f"{self._root}/{place}", "rb")
        except FileNotFoundError:
            reason = ""
        except Exception as error:  # noqa: BLE001 - whatever a filesystem raises
            reason = _reason(error)
        else:
            return file
        raise ArtifactError(f"the artifact {told}: {reason}") if reason else absent(told)

    def _write(self, place: str, pieces: Iterable[bytes]) -> None:
        path, reason = f"{self._root}/{place}", ""
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            if isinstance(pieces, list):
                self._files.pipe_file(path, b"".join(pieces))
            else:
                with self._files.open(path, "wb") as file:
                    for piece in pieces:
                        file.write(piece)
        except CtxprotoError:
            # Of the pieces, not of the filesystem.
            raise
        except Exception as error:  # noqa: BLE001 - whatever a filesystem raises
            reason = _reason(error)
        if reason:
            raise ArtifactError(f"the artifact was not stored: {reason}")

    def _move(self, source: str, place: str) -> None:
        reason, path = "", f"{self._root}/{place}"
        try:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)
            self._files.mv(f"{self._root}/{source}", path)
        except Exception as error:  # noqa: BLE001 - whatever a filesystem raises
            reason = _reason(error)
        if reason:
            raise ArtifactError(f"the artifact was not stored: {reason}")

    def _remove(self, place: str) -> bool:
        path, reason = f"{self._root}/{place}", ""
        try:
            # Object stores delete what is not there without a word.
            if not self._files.exists(path):
                return False
            self._files.rm_file(path)
        except FileNotFoundError:
            return False
        except Exception as error:  # noqa: BLE001 - whatever a filesystem raises
            reason = _reason(error)
        if reason:
            raise ArtifactError(f"the artifact was not removed: {reason}")
        return True

    def __repr__(self) -> str:
        return f"<FsspecArtifactStore: {type(self._files).__name__}>"


def _flushed(directory: Path) -> None:
    """The names of a directory are on the disk, too."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _reason(error: Exception) -> str:
    # The message would name keys and hosts.
    return (isinstance(error, OSError) and error.strerror) or f"the filesystem failed ({type(error).__name__})"
