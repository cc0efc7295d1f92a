"""Checks of arguments, told without their values: see `ctxproto.errors`."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress

from ctxproto.errors import ConfigError, ConfigTypeError, nearest, shown

__all__ = ["is_utf8", "number", "one_of", "path", "several", "strings", "text", "utf8"]


def one_of(argument: str, value: object, allowed: Iterable[str], other: str = "") -> str:
    """One of the names in `allowed`."""
    allowed = tuple(allowed)
    is_str = issubclass(type(value), str)
    if is_str and (text := str.__str__(value)) in allowed:
        return text
    message = f"{argument} is one of {', '.join(allowed)}{other}, not {shown(value)}{nearest(value, allowed)}"
    raise ConfigError(message) if is_str else ConfigTypeError(message)


def text(argument: str, value: object) -> str:
    """A str."""
    # The text itself: a subclass may have another idea of it. And isinstance() would ask the object.
    if issubclass(type(value), str):
        return str.__str__(value)
    raise ConfigTypeError(f"{argument} is a str, not {shown(value)}")


def utf8(argument: str, value: object) -> str:
    """A str without lone surrogates: rules, names, patterns and what the native core writes are UTF-8."""
    one = text(argument, value)
    if not is_utf8(one):
        raise ConfigError(f"{argument} is a str without lone surrogates, not this one of {shown(one)[6:]}")
    return one


def strings(argument: str, values: object) -> list[str]:
    """Several str without lone surrogates, as a list."""
    return [utf8(f"{argument}[{at}]", value) for at, value in enumerate(several(argument, values, "str"))]


def is_utf8(text: str) -> bool:
    """Whether a str has no lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def path(argument: str, value: object) -> str:
    """A path, as a str or with one inside."""
    found: object = value
    if not issubclass(type(value), str):
        found = None
        with suppress(Exception):  # a stranger's object may fail in any way
            found = os.fspath(value)  # type: ignore[call-overload]
    if not issubclass(type(found), str):
        raise ConfigTypeError(f"{argument} is a path, not {shown(value)}")
    one = utf8(argument, found)
    if not one or "\0" in one:
        raise ConfigError(f"{argument} is a path: not empty, and without null characters")
    return one


def several(argument: str, values: object, what: str) -> list[object]:
    """What can be iterated over and is no text itself, as a list; `what` names its items."""
    kind = type(values)
    if kind is list or kind is tuple:
        return list(values)  # type: ignore[call-overload, no-any-return]
    if not issubclass(kind, _NO_LISTS):
        with suppress(TypeError):  # raised again below: this one might carry anything
            return list(values)  # type: ignore[call-overload, no-any-return]
    raise ConfigTypeError(f"{argument} is a list of {what}, not {shown(values)}")


# They can be iterated over, too.
_NO_LISTS = (str, bytes, bytearray, memoryview, Mapping)


def number(argument: str, value: object, least: int) -> int:
    """An int of at least `least`."""
    if not issubclass(type(value), int) or issubclass(type(value), bool):
        raise ConfigTypeError(f"{argument} is an int, not {shown(value)}")
    found: int = int.__int__(value)  # type: ignore[arg-type]
    if not least <= found <= _MOST:
        limits = f"at least {least}" if found < least else f"at most {_MOST}"
        raise ConfigError(f"{argument} is an int of {limits}, not {found if abs(found) < 10**9 else 'this one'}")
    return found


# What the native core holds in a machine word, with room to add.
_MOST = (1 << 62) - 1
