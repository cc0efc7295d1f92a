"""What a caller says of a memory, checked and redacted: the rows that stores write, and what reads ask for."""

from __future__ import annotations

import json
import math
import uuid
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown
from ctxproto.memory.gate import PROVENANCES, share
from ctxproto.memory.records import EPOCH, KINDS, TICK
from ctxproto.tools.redact import Redactor, default_redactor

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["CONTENT_MAX", "Maker", "id_of", "kind_of", "limit_of", "moment", "seconds", "span", "ticks"]

CONTENT_MAX = 1_000_000
"""Characters of a content, and of its metadata as JSON: a memory, not an archive."""

_PURPOSE_MAX = 200
_ID_MAX = 64
# A hundred years and more.
_FAR = 4_000_000_000

_FIRST = (datetime.min.replace(tzinfo=UTC) - EPOCH) // TICK
_LAST = (datetime.max.replace(tzinfo=UTC) - EPOCH) // TICK


class Maker:
    """Makes rows of what a caller gives: everything checked, and redacted.

    Args:
        redactor: What contents, purposes and metadata go through; the default policy unless given.
        clock: What tells the time, in seconds since 1970.
    """

    def __init__(self, redactor: object, clock: Callable[[], float]) -> None:
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(redactor)}")
        if not callable(clock):
            raise ConfigTypeError(f"clock is a function, not {shown(clock)}")
        self._redactor = redactor or default_redactor()
        self._clock = clock

    def now(self) -> int:
        """The time in microseconds."""
        told: object = self._clock()
        if not issubclass(type(told), int | float) or issubclass(type(told), bool):
            raise ConfigTypeError(f"clock tells a number of seconds, not {shown(told)}")
        if not math.isfinite(told) or not _FIRST <= told * 1_000_000 <= _LAST:  # type: ignore[arg-type, operator]
            raise ConfigError("clock tells seconds since 1970, in the years 1 to 9999; not these")
        return round(told * 1_000_000)  # type: ignore[operator]

    def row(
        self,
        key: bytes,
        *,
        content: object,
        kind: object,
        purpose: object,
        importance: object,
        provenance: object,
        valid_from: object,
        valid_to: object,
        ttl: object,
        metadata: object,
    ) -> dict[str, Any]:
        """A new memory."""
        now = self.now()
        start = now if valid_from is None else ticks("valid_from", valid_from)
        end = None if valid_to is None else ticks("valid_to", valid_to)
        if end is not None and end <= start:
            raise ConfigError("valid_to is not after valid_from: it would never be true")
        return {
            "id": uuid.uuid4().hex,
            "namespace": key,
            "content": self._content(content),
            "kind": arguments.one_of("kind", kind, KINDS),
            "purpose": self._purpose(purpose),
            "importance": share("importance", importance),
            "provenance": arguments.one_of("provenance", provenance, PROVENANCES),
            "created": now,
            "valid_from": start,
            "valid_to": end,
            "supersedes": None,
            "superseded_by": None,
            "expires": None if ttl is None else _end(now, ttl),
            "metadata": self._metadata({} if metadata is None else metadata),
        }

    def change(
        self,
        now: int,
        *,
        content: object,
        kind: object,
        purpose: object,
        importance: object,
        valid_to: object,
        ttl: object,
        metadata: object,
    ) -> dict[str, Any]:
        """What of a memory is to be another; None for what stays. Times are in tuples of one."""
        return {
            "content": None if content is None else self._content(content),
            "kind": kind_of(kind),
            "purpose": None if purpose is None else self._purpose(purpose),
            "importance": None if importance is None else share("importance", importance),
            "valid_to": None if valid_to is None else (ticks("valid_to", valid_to),),
            "expires": None if ttl is None else (_end(now, ttl),),
            "metadata": None if metadata is None else self._metadata(metadata),
        }

    def _content(self, value: object) -> str:
        text = _utf8("content", value)
        if not 1 <= len(text) <= CONTENT_MAX:
            raise ConfigError(f"content has 1 to {CONTENT_MAX:,} characters, not {len(text):,}")
        return self._redactor.redact(text).text

    def _purpose(self, value: object) -> str:
        text = _utf8("purpose", value)
        if len(text) > _PURPOSE_MAX:
            raise ConfigError(f"purpose has at most {_PURPOSE_MAX} characters, not {len(text):,}")
        return self._redactor.redact(text).text

    def _metadata(self, value: object) -> str:
        if not issubclass(type(value), dict):
            raise ConfigTypeError(f"metadata is a dict, not {shown(value)}")
        try:
            plain = json.loads(json.dumps(value, allow_nan=False))
            made = json.dumps(self._redactor.redact_json(plain).value, ensure_ascii=False)
        except Exception:  # noqa: BLE001 - the error would show what stands in it
            made = ""
        if not made or not arguments.is_utf8(made):
            raise ConfigError("metadata is a dict of what JSON has a form for, in UTF-8; not this one")
        if len(made) > CONTENT_MAX:
            raise ConfigError(f"metadata has at most {CONTENT_MAX:,} characters as JSON, not {len(made):,}")
        return made


def _utf8(argument: str, value: object) -> str:
    text = arguments.text(argument, value)
    if not arguments.is_utf8(text):
        raise ConfigError(f"{argument} is a str without lone surrogates, not this one of {shown(text)[6:]}")
    return text


def id_of(value: object) -> str:
    """The id of a memory, checked."""
    text = _utf8("memory_id", value)
    if not 1 <= len(text) <= _ID_MAX:
        raise ConfigError(f"memory_id has 1 to {_ID_MAX} characters, not {len(text):,}")
    return text


def kind_of(value: object) -> str | None:
    """A kind, or None for all of them."""
    return None if value is None else arguments.one_of("kind", value, KINDS)


def limit_of(value: object) -> int | None:
    """A number of memories, or None for all."""
    return None if value is None else arguments.number("limit", value, 1)


def seconds(argument: str, value: object) -> float:
    """A length of time."""
    if not issubclass(type(value), int | float) or issubclass(type(value), bool):
        raise ConfigTypeError(f"{argument} is a number of seconds, not {shown(value)}")
    if not 0 <= value <= _FAR:  # type: ignore[operator]
        raise ConfigError(f"{argument} is a number of seconds from 0 to {_FAR:,}, not this one")
    return float(value)  # type: ignore[arg-type]


def span(argument: str, value: object) -> float:
    """A length of time, in seconds or as a timedelta."""
    return seconds(argument, value.total_seconds() if isinstance(value, timedelta) else value)


def _end(now: int, ttl: object) -> int:
    return min(now + round(span("ttl", ttl) * 1_000_000), _LAST)


def ticks(argument: str, value: object) -> int:
    """A time in microseconds since 1970."""
    if type(value) is not datetime:
        raise ConfigTypeError(f"{argument} is a datetime with a time zone, not {shown(value)}")
    if value.tzinfo is None or value.utcoffset() is None:
        raise ConfigError(f"{argument} has a time zone: without one nobody knows when it is")
    # What is near the first or the last moment may be beyond it in UTC.
    if not _FIRST <= (found := (value - EPOCH) // TICK) <= _LAST:
        raise ConfigError(f"{argument} is in the years 1 to 9999 in UTC, not this one")
    return found


def moment(now: int, as_of: object, history: object) -> int | None:
    """The time at which a memory has to be true; None for any."""
    if type(history) is not bool:
        raise ConfigTypeError(f"history is a bool, not {shown(history)}")
    if as_of is not None:
        return ticks("as_of", as_of)
    return None if history else now
