"""Settings in a file: `ctxproto.toml`, or `[tool.ctxproto]` in `pyproject.toml`.

The file in the nearest parent directory wins, whole: files are not merged. Every key is checked; one
that does not exist is an error that names the file, the line and the key that was probably meant, and one with a
wrong value names the key and what it may be. What stands in the file is not repeated: it may be a secret.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxproto.errors import ConfigError, nearest, shown
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

__all__ = ["KEYS", "Config", "find", "load"]

_PII_SETS = ("dangerous", "all", "none")
_PLACEHOLDERS = ("label", "mask", "partial", "hash")
_FORMATS = ("auto", "text", "json", "jsonl")


@dataclass(frozen=True)
class Config:
    """What a file sets; what it does not set is not in `values`.

    Args:
        values: Settings by key (see `KEYS`); paths are already relative to the working directory or absolute.
        path: The file, or None where there was none.
    """

    values: Mapping[str, Any] = field(default_factory=dict)
    path: Path | None = None


def find(start: Path) -> Path | None:
    """The settings file that holds for `start`, a directory: the nearest one among it and its parents."""
    for directory in (start, *start.parents):
        own = directory / "ctxproto.toml"
        if own.is_file():
            return own
        project = directory / "pyproject.toml"
        if project.is_file() and _table(project, _parse(project, _read(project))) is not None:
            return project
    return None


def load(path: Path) -> Config:
    """Reads a settings file.

    Raises:
        ConfigError: The file cannot be read or holds something that is not a setting.
    """
    text = _read(path)
    table = _table(path, _parse(path, text))
    if table is None:
        raise ConfigError(f"{shown_path(path)} has no table [tool.ctxproto]")
    values: dict[str, Any] = {}
    for key, value in _flat(table):
        check = KEYS.get(key)
        if check is None:
            near = nearest(key, KEYS) or f"; the keys are {', '.join(KEYS)}"
            raise ConfigError(f"{_place(path, text, key)}: there is no such key{near}")
        if (takes := check(value)) is not None:
            raise ConfigError(f"{shown_path(path)}: {key} is {takes}, not {shown(value)}")
        values[key] = value
    if "rules" in values:
        # Relative to the file that names them, wherever the command runs.
        values["rules"] = [str(path.parent / rule) for rule in values["rules"]]
    if "memory" in values:
        values["memory"] = str(path.parent / values["memory"])
    return Config(values, path)


def _read(path: Path) -> str:
    # Raised outside of the handlers: the errors caught there carry the path, or what the file holds.
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except UnicodeDecodeError:
        reason = "it is not UTF-8"
    except ValueError:
        reason = "this is no path"
    raise ConfigError(f"cannot read {shown_path(path)}: {reason}")


def _parse(path: Path, text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        reason = _without_text(str(error))
    except RecursionError:
        reason = "it is nested too deep"
    raise ConfigError(f"{shown_path(path)} is not valid TOML: {reason}")


def _without_text(message: str) -> str:
    # The parser may quote what it stumbled over, and that may be a value of the allowlist.
    place = re.search(r"\(at .*\)$", message)
    return f"syntax error {place.group()}" if place else "syntax error"


def _place(path: Path, text: str, key: str) -> str:
    """The file, and the line on which `key` seems to stand."""
    name = key.rpartition(".")[2]
    for number, line in enumerate(text.splitlines(), 1):
        before = line.partition("=")[0].strip(" \t[]\"'")
        if before == key or before.rpartition(".")[2].strip(" \t\"'") == name:
            return f"{shown_path(path)}, line {number}"
    return shown_path(path)


def _table(path: Path, document: dict[str, Any]) -> dict[str, Any] | None:
    if path.name != "pyproject.toml":
        return document
    tool = document.get("tool", {})
    table = tool.get("ctxproto") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{shown_path(path)}: tool.ctxproto is a table")
    return table


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and f"{prefix}{key}" in _TABLES:
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((prefix + key, value))
    return pairs


# Each tells what a value should be, or None when it is that.


def _strings(value: object) -> str | None:
    fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
    return None if fits else "a list of strings"


def _pii(value: object) -> str | None:
    if (isinstance(value, str) and value in _PII_SETS) or _strings(value) is None:
        return None
    return f"one of {', '.join(_PII_SETS)}, or a list of labels"


def _file(value: object) -> str | None:
    return None if isinstance(value, str) and value and "\0" not in value else "the path of a store"


def _one_of(choices: Sequence[str]) -> Callable[[object], str | None]:
    return lambda value: None if isinstance(value, str) and value in choices else f"one of {', '.join(choices)}"


def _flag(value: object) -> str | None:
    return None if isinstance(value, bool) else "true or false"


def _threads(value: object) -> str | None:
    fits = isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1024
    return None if fits else "a whole number from 1 to 1024"


_TABLES = ("allow",)

KEYS: dict[str, Callable[[object], str | None]] = {
    "rules": _strings,
    "pii": _pii,
    "placeholder": _one_of(_PLACEHOLDERS),
    "format": _one_of(_FORMATS),
    "threads": _threads,
    "known_env": _flag,
    "memory": _file,
    "allow.values": _strings,
    "allow.patterns": _strings,
    "allow.rules": _strings,
    "allow.keys": _strings,
}
"""Every setting, and the check of its value."""
