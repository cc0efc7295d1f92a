"""Artifacts that were read: JSON to look fields up in, as a policy leaves it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from ctxproto import _core
from ctxproto.errors import InternalError
from ctxproto.tools import values

if TYPE_CHECKING:
    from ctxproto.tools.redact import Redactor

__all__ = ["NOTHING", "Document", "decoded"]


class Document:
    """An artifact that was read, and what a policy leaves of it."""

    __slots__ = ("_lookups", "_text")

    def __init__(self, text: str) -> None:
        lookup = _core.Lookup.read(text)
        self._text = text if lookup else _as_json(text)
        self._lookups: dict[Redactor | None, _core.Lookup] = {None: lookup or _read(self._text)}

    def lookup(self, redactor: Redactor | None) -> _core.Lookup:
        """What fields are looked up in; with no redactor, the artifact as it is."""
        if (held := self._lookups.get(redactor)) is None:
            assert redactor is not None  # noqa: S101 - that one is there from the beginning
            # The whole is redacted, then fields are taken: what stands around a value says what it is.
            redaction = redactor.redact(self._text)
            held = _read(redaction.text) if redaction.changed else self._lookups[None]
            self._lookups[redactor] = held
        return held


def _read(text: str) -> _core.Lookup:
    lookup = _core.Lookup.read(text)
    if lookup is None:
        raise InternalError("an artifact was JSON, and is none redacted")
    return lookup


NOTHING = _read("{}")
"""A document without fields."""


def _as_json(text: str) -> str:
    """A text that is no JSON to the letter: what Python's parser takes for it (NaN), or the text itself."""
    try:
        parsed = json.loads(text)
    except (ValueError, RecursionError):
        parsed = {"_raw": text}
    return values.serialize(parsed)


def decoded(text: str) -> Any:  # noqa: ANN401 - whatever JSON can be
    """A value as Python has it."""
    try:
        return json.loads(text, strict=False)
    except (ValueError, RecursionError):
        # An escape that is none, a number of thousands of digits, depths: what is written is all there is to say.
        return text
