"""A memory as stores keep it: its fields, what they may be, and their form in an export.

What is the same for every store, whatever it keeps them in.
"""

from __future__ import annotations

import json
import math
import uuid
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, InputError, shown
from ctxproto.memory.gate import PROVENANCES, MemoryQueryResult, share
from ctxproto.memory.namespaces import Namespace, Scope
from ctxproto.tools.redact import Redactor, default_redactor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["CONTENT_MAX", "KINDS", "Kind", "Maker", "MemoryHit", "MemoryRecord", "StoreStats", "record_of"]

Kind: TypeAlias = Literal["working", "long_term", "decision", "entity"]
KINDS: tuple[str, ...] = Kind.__args__  # type: ignore[attr-defined]

CONTENT_MAX = 1_000_000
"""Characters of a content, and of its metadata as JSON: a memory, not an archive."""

_PURPOSE_MAX = 200
_ID_MAX = 64
# A hundred years and more.
_FAR = 4_000_000_000

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // _TICK
_LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // _TICK


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """A memory as the store keeps it.

    Args:
        memory_id: Unique in the store.
        namespace: Whose it is.
        content: What is remembered, redacted.
        kind: "working" (notes of a step), "long_term", "decision" or "entity".
        purpose: A tag that says what it is for.
        importance: 0 to 1.
        provenance: Who said it.
        created: When it was written; like all times here with a time zone, UTC.
        valid_from: From when it is true.
        valid_to: Until when it is; None for no end.
        supersedes: The id of the memory whose place it took.
        superseded_by: The id of the memory that took its place.
        expires: When it is gone by itself.
        metadata: What else there is to say, as JSON has it; redacted.
    """

    memory_id: str
    namespace: Namespace
    content: str
    kind: str
    purpose: str
    importance: float
    provenance: str
    created: datetime
    valid_from: datetime
    valid_to: datetime | None
    supersedes: str | None
    superseded_by: str | None
    expires: datetime | None
    metadata: dict[str, Any]


@dataclass
class MemoryHit(MemoryQueryResult):
    """A memory that `MemoryStore.search` found: what the gate takes, and how it came to its score.

    Args:
        record: The whole memory.
        bm25: Its BM25 score among the memories that were searched.
        components: With `explain`, what the score was made of: "bm25", and that as relevance, "lexical"; "cosine", and
            that as relevance, "semantic", None without a vector; both as one, "relevance"; "recency" and "importance".
            With a reranker, that is what there was before it.
    """

    record: MemoryRecord
    bm25: float
    components: dict[str, float | None] = field(default_factory=dict)

    @classmethod
    def several(cls, found: Iterable[dict[str, Any]]) -> list[MemoryHit]:
        """The hits of what the native search gives: the attributes of each, and `_found`, of which its record is made
        when it is asked for. Most are read for their content alone.
        """
        hits = []
        for attributes in found:
            attributes["namespace"] = _name(attributes["namespace"])
            hit = object.__new__(cls)
            hit.__dict__ = attributes
            hits.append(hit)
        return hits

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - called for what is not there yet
        if name != "record" or "_found" not in self.__dict__:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        self.record = record_of(self.__dict__.pop("_found").row())
        return self.record

    def __getstate__(self) -> dict[str, Any]:
        """What is copied or pickled: all of it."""
        return {"record": self.record, **self.__dict__}


class StoreStats(NamedTuple):
    """How much is there.

    Args:
        current: Memories that are true now.
        past: Those that were superseded, or are not true now.
        expired: Those that nobody sees any more, not swept away yet.
        namespaces: Namespaces that hold any of them.
        bytes: Bytes of their contents and metadata.
    """

    current: int
    past: int
    expired: int
    namespaces: int
    bytes: int


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

    def imported(self, lines: object, scope: Scope) -> list[dict[str, Any]]:
        """The rows that the lines of an export hold; `InputError` names the line that is none, or belongs elsewhere."""
        return [self._imported(at, one, scope) for at, one in enumerate(arguments.several("lines", lines, "str"), 1)]

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

    def _imported(self, at: int, line: object, scope: Scope) -> dict[str, Any]:
        try:
            row = self._read(arguments.text("lines", line), scope)
        except ConfigError as error:
            why = str(error)
        except Exception:  # noqa: BLE001 - the error would show the line
            why = "it is no line of an export"
        else:
            return row
        raise InputError(f"lines: line {at}: {why}")

    def _read(self, line: str, scope: Scope) -> dict[str, Any]:
        given = json.loads(line)
        times = ("created", "valid_from", "valid_to", "expires")
        moments = {name: None if given[name] is None else datetime.fromisoformat(given[name]) for name in times}
        namespace = Namespace.checked("namespace", given["namespace"])
        if not scope.holds(namespace):
            raise ConfigError("its namespace is not in those that are named")
        created = moments["created"] or _EPOCH
        row = self.row(
            namespace.key,
            **{name: given[name] for name in ("content", "kind", "purpose", "importance", "provenance", "metadata")},
            valid_from=moments["valid_from"],
            valid_to=None,
            ttl=None,
        )
        ends = {name: None if moments[name] is None else ticks(name, moments[name]) for name in ("valid_to", "expires")}
        links = {name: None if given[name] is None else id_of(given[name]) for name in ("supersedes", "superseded_by")}
        return {**row, "id": id_of(given["memory_id"]), "created": ticks("created", created), **ends, **links}


def line_of(record: MemoryRecord) -> str:
    """A memory as a line of an export."""
    fields = {**asdict(record), "namespace": str(record.namespace)}
    line = json.dumps(fields, ensure_ascii=False, default=datetime.isoformat)
    # JSON takes them as they are, but to many readers they end a line.
    return line.translate(_LINE_ENDS)


_LINE_ENDS = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}


@lru_cache(maxsize=1024)
def _namespace(key: bytes) -> Namespace:
    # Most records of one read are of the same few.
    return Namespace.from_key(key)


@lru_cache(maxsize=1024)
def _name(key: bytes) -> str:
    return str(_namespace(key))


def record_of(row: Mapping[str, Any]) -> MemoryRecord:
    """The memory of a row."""
    return MemoryRecord(
        memory_id=row["id"],
        namespace=_namespace(bytes(row["namespace"])),
        content=row["content"],
        kind=row["kind"],
        purpose=row["purpose"],
        importance=row["importance"],
        provenance=row["provenance"],
        created=_EPOCH + row["created"] * _TICK,
        valid_from=_EPOCH + row["valid_from"] * _TICK,
        valid_to=None if row["valid_to"] is None else _EPOCH + row["valid_to"] * _TICK,
        supersedes=row["supersedes"],
        superseded_by=row["superseded_by"],
        expires=None if row["expires"] is None else _EPOCH + row["expires"] * _TICK,
        metadata={} if row["metadata"] == "{}" else json.loads(row["metadata"]),
    )


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
    if not _FIRST <= (found := (value - _EPOCH) // _TICK) <= _LAST:
        raise ConfigError(f"{argument} is in the years 1 to 9999 in UTC, not this one")
    return found


def moment(now: int, as_of: object, history: object) -> int | None:
    """The time at which a memory has to be true; None for any."""
    if type(history) is not bool:
        raise ConfigTypeError(f"history is a bool, not {shown(history)}")
    if as_of is not None:
        return ticks("as_of", as_of)
    return None if history else now
