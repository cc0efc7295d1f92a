"""From arguments to files: directories are walked, globs expanded, outputs planned."""

from __future__ import annotations

import glob
import os
import stat
import sys
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import click

from ctxproto import _core
from ctxproto.cli import output
from ctxproto.errors import BudgetError
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    Reader = Callable[[Callable[[bytes], object]], bool]

_T = TypeVar("_T")

# What a killed run leaves beside its outputs (see rust/batch).
_TEMPORARY = ".ctxproto-tmp"
_NOT_ENTERED = ".git"
_INPUT = "one of the inputs"


@dataclass
class Inputs:
    """What the arguments stand for.

    Args:
        files: In the order of the arguments, a directory's sorted by name; each file once.
        skipped: What a walk passed over, with the reason.
        failed: What could not be looked at, with the reason.
        base: The deepest directory that holds all of it: outputs mirror the tree below it.
        single: One file was named, itself and not by a directory or a pattern.
    """

    files: list[Path] = field(default_factory=list)
    skipped: list[tuple[Path, str]] = field(default_factory=list)
    failed: list[tuple[Path, str]] = field(default_factory=list)
    base: Path = field(default_factory=Path)
    single: bool = False


def default() -> tuple[str, ...]:
    """What no argument stands for: standard input, unless that is somebody's keyboard."""
    if sys.stdin is not None and sys.stdin.isatty():
        raise click.UsageError("name what to read: files, directories, patterns, or - for standard input")
    return ("-",)


def check(arguments: tuple[str, ...]) -> None:
    """Refuses standard input among files."""
    if "-" in arguments and len(arguments) > 1:
        raise click.UsageError("- stands alone: standard input does not mix with files")


def expand(arguments: Iterable[str], exclude: Iterable[Path] = ()) -> Inputs:
    """Finds the files that `arguments` stand for; walks leave `exclude` (outputs, reports) out."""
    inputs = Inputs()
    # By identity, not by name: there are many names for one file. What does not exist yet cannot be met.
    excluded = {path.stat().st_ino: path for path in exclude if path.exists()}
    roots: list[Path] = []
    seen: set[str] = set()

    def add(path: Path) -> None:
        key = os.path.normpath(path.absolute())
        if key not in seen:
            seen.add(key)
            inputs.files.append(path)

    arguments = list(arguments)
    for argument in arguments:
        path = Path(argument)
        pattern = not os.path.lexists(path) and glob.has_magic(argument)
        if not pattern:
            found = [path]
            roots.append(path if path.is_dir() else path.parent)
        else:
            found = [Path(p) for p in sorted(glob.glob(argument, recursive=True, include_hidden=True))]  # noqa: PTH207
            roots.append(_fixed_part(path))
            if not found:
                inputs.failed.append((path, "no file matches"))
        inputs.single = len(arguments) == 1 and not pattern and not path.is_dir()
        for one in found:
            if not one.is_dir():
                add(one)
            elif not (pattern and one.is_symlink()):
                for file in _walk(one, excluded, inputs):
                    add(file)
    if roots:
        inputs.base = Path(os.path.commonpath([os.path.normpath(root.absolute()) for root in roots]))
    return inputs


class Texts:
    """The texts of what the arguments stand for, as `sanitize` reads them; what is wrong with one is told at once.

    Args:
        paths: The arguments.

    Attributes:
        files: What is read.
        failed: How many could not be read or worked on.
    """

    def __init__(self, paths: tuple[str, ...]) -> None:
        inputs = Inputs(files=[Path("-")]) if paths == ("-",) else expand(paths)
        self.files = inputs.files
        self.failed = 0
        for path, why in inputs.skipped:
            output.note("skipped", f"{shown_path(path)}: {why}")
        for path, why in inputs.failed:
            self._fail(shown_path(path), why)

    def each(self, work: Callable[[Reader], _T | None]) -> Iterator[tuple[str, _T]]:
        """What `work` makes of each, with its name. `work` gets a reader, and returns None when that returns False."""
        for path in self.files:
            name = shown_path(path)
            reader = partial(_core.read_text, None if str(path) == "-" else path)
            try:
                made = work(reader)
            except OSError as error:
                self._fail(name, error.strerror or str(error))
            except BudgetError as error:
                self._fail(name, str(error))
            else:
                if made is not None:
                    yield name, made
                elif len(self.files) > 1:
                    output.note("skipped", f"{name}: binary data")
                else:
                    # An output that somebody reads must not be empty without an error.
                    self._fail(name, "binary data")

    def _fail(self, name: str, why: str) -> None:
        self.failed += 1
        output.error(f"{name}: {why}")


def check_apart(outputs: Iterable[tuple[str, Path | None]], inputs: Iterable[str | Path]) -> None:
    """Refuses outputs, each with the option that names it, that are inputs or that two options name.

    By identity, not by name: there are many names for one file.
    """
    known: dict[object, str] = dict.fromkeys(filter(None, map(_identity, map(Path, inputs))), _INPUT)
    for option, path in outputs:
        key = None if path is None else _identity(path)
        if path is None or key is None:
            continue
        other = known.setdefault(key, option)
        if other != option:
            what = other if other == _INPUT else f"also the file of {other}"
            raise click.UsageError(f"{option}: {shown_path(path)} is {what}, which it would overwrite")


def _identity(path: Path) -> object:
    """What makes a file the same under another name; None for what nothing is lost in, such as a terminal."""
    try:
        status = os.fstat(0) if str(path) == "-" else path.stat()
    except OSError:
        return path.resolve()
    return (status.st_dev, status.st_ino) if stat.S_ISREG(status.st_mode) else None


def mirrored(file: Path, base: Path, out: Path) -> Path:
    """Where the output of `file` stands below `out`."""
    return out / os.path.relpath(os.path.normpath(file.absolute()), base)


def _fixed_part(pattern: Path) -> Path:
    parts = []
    for part in pattern.parts[:-1]:
        if glob.has_magic(part):
            break
        parts.append(part)
    return Path(*parts)


def _walk(top: Path, excluded: dict[int, Path], inputs: Inputs) -> Iterator[Path]:
    """All regular files below `top`, hidden ones too; no link is followed, so no loop can catch it."""
    waiting = [top]
    while waiting:
        directory = waiting.pop()
        try:
            with os.scandir(directory) as entries:
                listed = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError as error:
            inputs.failed.append((directory, f"cannot read the directory: {error.strerror}"))
            continue
        below = []
        for entry in listed:
            # `top / name` and not `entry.path`: `./a` and `a` are to be one name.
            path = directory / entry.name
            if entry.name == _NOT_ENTERED or entry.name.endswith(_TEMPORARY):
                continue
            if (other := excluded.get(entry.inode())) is not None and other.samefile(path):
                continue
            if entry.is_symlink():
                inputs.skipped.append((path, "symbolic link, not followed"))
            elif entry.is_dir(follow_symlinks=False):
                below.append(path)
            elif entry.is_file(follow_symlinks=False):
                yield path
            else:
                inputs.skipped.append((path, "not a regular file"))
        waiting.extend(reversed(below))
