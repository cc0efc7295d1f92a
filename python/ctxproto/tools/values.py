"""Any value as the text that a model reads."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence, Set
from typing import Any

__all__ = ["is_error", "parts", "serialize"]

# What a tool may nest before the rest is written as `...`: the C encoder gives up at about as much.
_DEPTH = 200

# Content parts that are no text, in the APIs' own words.
_MEDIA = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "file", "input_file", "document", "resource_link"}
)
_TEXT = frozenset({"text", "input_text", "output_text"})


def serialize(value: object) -> str:
    """The text of a value: a str itself, bytes decoded, an exception's own words, everything else as JSON.

    What JSON has no form for (a date, a path, an object) is written as its `str`, a value inside itself as `"<cycle>"`.
    Never raises.

    >>> serialize({"when": None, "n": 1}), serialize(ValueError("no such host"))
    ('{"when": null, "n": 1}', 'ValueError: no such host')
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(bytes(value))
    if isinstance(value, BaseException):
        return str(_plain(value))
    try:
        return json.dumps(value, ensure_ascii=False, default=_plain, allow_nan=True)
    except (TypeError, ValueError, RecursionError):
        # A cycle, keys of other types, or too deep.
        return json.dumps(_walk(value, ()), ensure_ascii=False)


def is_error(value: object) -> bool:
    """Whether a result is an exception."""
    return isinstance(value, BaseException)


def parts(value: object) -> list[Any] | None:
    """The content parts that a result is made of, when it is a list of them and one is no text; else None."""
    if not isinstance(value, list | tuple) or not value:
        return None
    kinds = [part.get("type") if isinstance(part, Mapping) else None for part in value]
    if all(kind in _TEXT or kind in _MEDIA for kind in kinds) and any(kind in _MEDIA for kind in kinds):
        return list(value)
    return None


def text_of(part: Mapping[str, Any]) -> str | None:
    """The text of a content part; None for one of another kind."""
    text = part.get("text")
    return text if part.get("type") in _TEXT and isinstance(text, str) else None


def _decoded(data: bytes) -> str:
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return f"[{len(data)} bytes of binary data]"
    return data.decode("utf-8", "replace")


def _plain(value: object) -> Any:  # noqa: ANN401 - whatever JSON can be
    if isinstance(value, BaseException):
        return f"{type(value).__name__}: {_told(value)}"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    for method in ("model_dump", "_asdict", "tolist"):
        dump = getattr(type(value), method, None)
        if callable(dump):
            try:
                return dump(value)
            except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
                break
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, Set):
        return sorted(value, key=_told)
    if isinstance(value, bytes | bytearray | memoryview):
        return _decoded(bytes(value))
    return _told(value)


def _told(value: object) -> str:
    try:
        return str(value)
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
        return f"<{type(value).__name__}>"


def _walk(value: object, above: tuple[int, ...]) -> Any:  # noqa: ANN401 - whatever JSON can be
    if value is None or isinstance(value, str | int | float):
        return value
    if id(value) in above:
        return "<cycle>"
    if len(above) >= _DEPTH:
        return "..."
    inside = (*above, id(value))
    if isinstance(value, Mapping):
        return {_told(key): _walk(item, inside) for key, item in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray | memoryview):
        return [_walk(item, inside) for item in value]
    return _walk(_plain(value), inside)
