"""Any value as the text that a model reads."""

from __future__ import annotations

import codecs
import dataclasses
import json
import math
from collections.abc import Mapping, Sequence, Set
from typing import Any

__all__ = ["plain", "serialize"]

# What a tool may nest before the rest is written as `...`: the C encoder gives up at about as much.
_DEPTH = 200

# The longer marks first: one of them begins as a shorter one does.
_MARKS = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def serialize(value: object) -> str:
    """The text of a value: a str itself, bytes decoded, an exception's own words, everything else as JSON.

    What JSON has no form for (a date, a path, an object, a number that is none) is written as its `str`, a value inside
    itself as `"<cycle>"`, what cannot even be told as the name of its type. Never raises.

    >>> serialize({"when": None, "n": float("nan")}), serialize(ValueError("no such host"))
    ('{"when": null, "n": "NaN"}', 'ValueError: no such host')
    """
    if issubclass(type(value), str):
        return str.__str__(value)
    if issubclass(type(value), bytes | bytearray | memoryview):
        return _decoded(bytes(value))  # type: ignore[call-overload]
    if issubclass(type(value), BaseException):
        return str(_plain(value))
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=False)
    except Exception:  # noqa: BLE001 - a cycle, keys of other types, too deep, or a stranger's method that failed
        return json.dumps(plain(value), ensure_ascii=False)


def plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can be
    """The value in the types that JSON has, as `serialize` writes it. Never raises."""
    return _walk(value, ())


def _decoded(data: bytes) -> str:
    for mark, encoding in _MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data[:4096]:
        return f"[{len(data)} bytes of binary data]"
    return data.decode("utf-8", "replace")


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can be
    if isinstance(value, BaseException):
        return _failure(value, "")
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        names = [field.name for field in dataclasses.fields(value)]
        return {name: getattr(value, name) for name in names if hasattr(value, name)}
    for method in ("model_dump", "_asdict", "tolist"):
        dump = getattr(type(value), method, None)
        if callable(dump):
            try:
                return dump(value)
            except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
                break
    if isinstance(value, Mapping):
        return {key: _item(value, key) for key in value}
    if isinstance(value, Set):
        return sorted(value, key=_told)
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(bytes(value))
    return _told(value)


def _failure(error: BaseException, indent: str) -> str:
    """An exception in its own words; the members of a group on lines of their own."""
    told = f"{indent}{type(error).__name__}: {_told(error)}"
    if isinstance(error, BaseExceptionGroup) and len(indent) < _DEPTH:
        told = "\n".join([told, *(_failure(one, indent + "  ") for one in error.exceptions)])
    return told


def _item(value: Mapping[Any, Any], key: object) -> object:
    try:
        return value[key]
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
        return "<unreadable>"


def _told(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
        return f"<{type(value).__name__}>"


def _key(key: object) -> Any:  # noqa: ANN401 - what JSON takes for a key
    return (
        key if key is None or isinstance(key, str | bool) or (isinstance(key, int) and _is_short(key)) else _told(key)
    )


def _is_short(number: int) -> bool:
    # Python writes no int of very many digits.
    try:
        return bool(int.__repr__(number))
    except ValueError:
        return False


def _number(value: float) -> Any:  # noqa: ANN401 - a number, or what is told of one
    if isinstance(value, int):
        return value if _is_short(value) else f"<int of {value.bit_length()} bits>"
    return value if math.isfinite(value) else {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}[repr(float(value))]


def _walk(value: object, above: tuple[int, ...]) -> Any:  # noqa: ANN401 - whatever JSON can be
    if id(value) in above:
        return "<cycle>"
    if len(above) >= _DEPTH:
        return "..."
    inside = (*above, id(value))
    try:
        if value is None or isinstance(value, str):
            return value
        if isinstance(value, int | float):
            return _number(value)
        if isinstance(value, Mapping):
            return {_key(key): _walk(_item(value, key), inside) for key in value}
        if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
            return [_walk(item, inside) for item in value]
        return _walk(_plain(value), inside)
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
        return f"<{type(value).__name__}>"
