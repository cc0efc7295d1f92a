"""Results made of content parts: texts, images, audio, files, in the words of the providers' APIs and of MCP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ctxproto.tools import values
from ctxproto.tools.media import is_media

__all__ = ["Part", "is_error", "parts"]

_TEXT = frozenset({"text", "input_text", "output_text"})

# Other parts by their type, and the fields of which each has one: a record of the caller's may have such a type, too.
_MEDIA = {
    "image": ("source", "data"),
    "audio": ("source", "data"),
    "document": ("source",),
    "image_url": ("image_url",),
    "input_image": ("image_url", "file_id"),
    "input_audio": ("input_audio",),
    "file": ("file",),
    "input_file": ("file_data", "file_id", "file_url"),
    "resource": ("resource",),
    "resource_link": ("uri",),
}
# Those that may be plain strings; the others are objects.
_STRINGS = frozenset({"data", "image_url", "file_id", "file_data", "file_url", "uri"})

# What an MCP server answers.
_ANSWER = frozenset({"content", "structuredContent", "isError", "_meta", "meta"})

# Fields that hold the bytes of media, when it is base64 that they hold; others hold it as a `data:` URL.
_BYTES = frozenset({"data", "blob", "file_data"})


@dataclass(slots=True)
class Part:
    """A content part taken apart.

    Args:
        given: The part as it was given.
        frame: The part in the types that JSON has, with None where its texts and its media were.
        texts: What a model reads: where it stands in the part, and the text.
        media: Bytes in base64, which nobody reads: where they stand, and what they are.
    """

    given: Any
    frame: Any = None
    texts: list[tuple[tuple[Any, ...], str]] = field(default_factory=list)
    media: list[tuple[tuple[Any, ...], str]] = field(default_factory=list)

    @classmethod
    def of(cls, given: object) -> Part:
        """Takes a part apart; what is no part becomes one of text."""
        if kind(given) is None:
            given = {"type": "text", "text": values.serialize(given)}
        part = cls(given)
        part.frame = part._taken(values.plain(given), (), "")
        return part

    @property
    def is_text(self) -> bool:
        """Whether it is text and nothing else."""
        return kind(self.given) == "text"

    def filled(self, frame: Any, texts: list[str]) -> Any:  # noqa: ANN401 - a part is whatever JSON can be
        """The part with these texts in this frame, which it may take; the part that was given when they are its own."""
        if frame is self.frame and texts == [text for _, text in self.texts]:
            return self.given
        paths = [path for path, _ in self.texts]
        for path, text in [*zip(paths, texts, strict=True), *self.media]:
            holder = frame
            for step in path[:-1]:
                holder = holder[step]
            holder[path[-1]] = text
        return frame

    def _taken(self, value: Any, path: tuple[Any, ...], role: str) -> Any:  # noqa: ANN401 - whatever JSON can be
        if isinstance(value, dict):
            items = [(str(key), key, item) for key, item in value.items()]
            return {name: self._taken(item, (*path, name), self._role(value, key)) for name, key, item in items}
        if isinstance(value, list):
            return [self._taken(item, (*path, at), role) for at, item in enumerate(value)]
        if not isinstance(value, str):
            return value
        if role == "text":
            self.texts.append((path, value))
        elif not self.is_text and (role == "bytes" or value.startswith("data:")) and is_media(value):
            self.media.append((path, value))
        else:
            return value
        return None

    def _role(self, holder: Mapping[Any, Any], key: object) -> str:
        """What a string under `key` of `holder` is: text that a model reads, bytes of media, or a word about it."""
        if key == "text" or (key == "data" and holder.get("type") == "text"):
            return "text"
        if key in _BYTES:
            return "bytes"
        # Documents hold a text or blocks of it.
        return "text" if key == "content" else "about"


def kind(value: object) -> str | None:
    """What content part a value is: "text", "media", or None."""
    try:
        return _kind(value) if isinstance(value, Mapping) else None
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's mapping
        return None


def _kind(value: Mapping[Any, Any]) -> str | None:
    name = value.get("type")
    if name is None and any(isinstance(value.get(data), Mapping) for data in ("inlineData", "inline_data")):
        return "media"
    if not isinstance(name, str):
        return None
    if name in _TEXT:
        return "text" if isinstance(value.get("text"), str) else None
    for data in _MEDIA.get(name, ()):
        held = value.get(data)
        if isinstance(held, Mapping) or (isinstance(held, str) and data in _STRINGS):
            return "media"
    return None


def parts(value: object) -> list[Part] | None:
    """The content parts that a result is made of; None for a result that is text alone.

    A list is one of parts when it holds media; an MCP server's answer is what it holds.
    """
    if type(value) is str:
        return None
    value = _dumped(value)
    if (answer := _answer(value)) is not None:
        items = [_dumped(item) for item in answer["content"]]
        if (data := answer.get("structuredContent")) is not None and not any(kind(item) == "text" for item in items):
            items.append(data)
        return [Part.of(item) for item in items] or None
    if kind(value) == "media":
        return [Part.of(value)]
    try:
        items = [_dumped(item) for item in value] if issubclass(type(value), list | tuple) else []  # type: ignore[attr-defined]
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's list
        return None
    return [Part.of(item) for item in items] if any(kind(item) == "media" for item in items) else None


def is_error(value: object) -> bool:
    """Whether a result says that its tool failed: an exception, or an MCP server's answer with `isError`."""
    if type(value) is str:
        return False
    if issubclass(type(value), BaseException):
        return True
    answer = _answer(_dumped(value))
    return answer is not None and answer.get("isError") is True


def _answer(value: object) -> dict[Any, Any] | None:
    try:
        if isinstance(value, Mapping) and "content" in value and set(value) <= _ANSWER:
            answer = dict(value)
            if isinstance(content := answer["content"], list | tuple) and all(kind(_dumped(one)) for one in content):
                return answer
    except Exception:  # noqa: BLE001, S110 - anything may go wrong in a stranger's mapping
        pass
    return None


def _dumped(value: Any) -> Any:  # noqa: ANN401 - any value at all
    """The dict of a pydantic model, such as the MCP library's; anything else as it is."""
    dump = getattr(type(value), "model_dump", None)
    if not callable(dump):
        return value
    try:
        # What a server did not say is not in what it said.
        return dump(value, exclude_none=True)
    except Exception:  # noqa: BLE001 - anything may go wrong in a stranger's method
        return value
