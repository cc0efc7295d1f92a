"""Settings in a file: `ctxproto.toml`, or `[tool.ctxproto]` in `pyproject.toml`.

The file in the nearest parent directory wins, whole: files are not merged. Every key is checked; one
that does not exist is an error that names the file, the key and the key that was probably meant.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ctxproto.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping
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
        if project.is_file() and _table(project, _parse(project)) is not None:
            return project
    return None


def load(path: Path) -> Config:
    """Reads a settings file.

    Raises:
        ConfigError: The file cannot be read or holds something that is not a setting.
    """
    table = _table(path, _parse(path))
    if table is None:
        raise ConfigError(f"{path} has no table [tool.ctxproto]")
    values: dict[str, Any] = {}
    for key, value in _flat(table):
        check = KEYS.get(key)
        if check is None:
            raise ConfigError(_unknown(path, key))
        try:
            values[key] = check(value)
        except ValueError as error:
            raise ConfigError(f"{path}: {key} {error}") from None
    if "rules" in values:
        # Relative to the file that names them, wherever the command runs.
        values["rules"] = [str(path.parent / rule) for rule in values["rules"]]
    return Config(values, path)


def _parse(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise ConfigError(f"cannot read {path}: it is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{path} is not valid TOML: {_without_text(str(error))}") from None


def _without_text(message: str) -> str:
    # The parser may quote what it stumbled over, and that may be a value of the allowlist.
    place = re.search(r"\(at .*\)$", message)
    return f"syntax error {place.group()}" if place else "syntax error"


def _table(path: Path, document: dict[str, Any]) -> dict[str, Any] | None:
    if path.name != "pyproject.toml":
        return document
    tool = document.get("tool", {})
    table = tool.get("ctxproto") if isinstance(tool, dict) else None
    if table is not None and not isinstance(table, dict):
        raise ConfigError(f"{path}: tool.ctxproto is a table")
    return table


def _flat(table: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    pairs: list[tuple[str, Any]] = []
    for key, value in table.items():
        if isinstance(value, dict) and f"{prefix}{key}" in _TABLES:
            pairs += _flat(value, f"{prefix}{key}.")
        else:
            pairs.append((prefix + key, value))
    return pairs


def _unknown(path: Path, key: str) -> str:
    near = difflib.get_close_matches(key, KEYS, n=1)
    hint = f"did you mean {near[0]}?" if near else f"the keys are {', '.join(KEYS)}"
    return f"{path}: there is no key {key}; {hint}"


def _strings(value: object) -> list[str]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise ValueError("is a list of strings")


def _pii(value: object) -> str | list[str]:
    if isinstance(value, str) and value in _PII_SETS:
        return value
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return value
    raise ValueError(f"is one of {', '.join(_PII_SETS)}, or a list of labels")


def _placeholder(value: object) -> str:
    if isinstance(value, str) and value in _PLACEHOLDERS:
        return value
    raise ValueError(f"is one of {', '.join(_PLACEHOLDERS)}")


def _format(value: object) -> str:
    if isinstance(value, str) and value in _FORMATS:
        return value
    raise ValueError(f"is one of {', '.join(_FORMATS)}")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("is true or false")


def _threads(value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= 1024:
        return value
    raise ValueError("is a whole number from 1 to 1024")


_TABLES = ("allow",)

KEYS = {
    "rules": _strings,
    "pii": _pii,
    "placeholder": _placeholder,
    "format": _format,
    "threads": _threads,
    "known_env": _flag,
    "allow.values": _strings,
    "allow.patterns": _strings,
    "allow.rules": _strings,
    "allow.keys": _strings,
}
"""Every setting, and how its value is checked."""
