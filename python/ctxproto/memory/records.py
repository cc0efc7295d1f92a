"""A memory as stores give it: what was kept, and what a search found.

What is the same for every store, whatever it keeps them in.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ctxproto.memory.gate import MemoryQueryResult
from ctxproto.memory.namespaces import Namespace

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["EPOCH", "KINDS", "TICK", "Kind", "MemoryHit", "MemoryRecord", "StoreStats", "record_of"]

Kind: TypeAlias = Literal["working", "long_term", "decision", "entity"]
KINDS: tuple[str, ...] = Kind.__args__  # type: ignore[attr-defined]

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
TICK = timedelta(microseconds=1)
"""Times are numbers of these since `EPOCH` where they are kept."""


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
        fields = self.__dict__
        # Set before the other is gone: another thread may ask for it, too.
        if name == "record" and (found := fields.get("_found")) is not None:
            fields["record"] = record_of(found.row())
            fields.pop("_found", None)
        if name not in fields:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return fields[name]

    def __getstate__(self) -> dict[str, Any]:
        """What is copied or pickled: all of it."""
        state = {"record": self.record, **self.__dict__}
        # Another thread may be about to take it away.
        state.pop("_found", None)
        return state


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
        created=EPOCH + row["created"] * TICK,
        valid_from=EPOCH + row["valid_from"] * TICK,
        valid_to=None if row["valid_to"] is None else EPOCH + row["valid_to"] * TICK,
        supersedes=row["supersedes"],
        superseded_by=row["superseded_by"],
        expires=None if row["expires"] is None else EPOCH + row["expires"] * TICK,
        metadata={} if row["metadata"] == "{}" else json.loads(row["metadata"]),
    )
