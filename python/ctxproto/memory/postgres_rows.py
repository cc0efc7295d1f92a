"""How memories stand in PostgreSQL: the tables, and their rows as the native store has them."""

from __future__ import annotations

import json
import sys
from array import array
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from ctxproto import _core
from ctxproto.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

# Its name, the length of its vectors, and what cosines unrelated texts have.
Model: TypeAlias = "tuple[str, int, float, float]"

# Of a longer word, only the beginning is looked up: an index entry has its limit.
_WORD_MAX = 100

# Text of a caller's is bytea: a str may hold a NUL, which text may not. The index holds the beginning of a key alone,
# for an entry has at most 2,704 bytes: what the beginnings leave open, the whole keys decide.
TABLES = """
CREATE TABLE IF NOT EXISTS ctxproto_memories (
    seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    id bytea NOT NULL UNIQUE,
    namespace bytea NOT NULL,
    content bytea NOT NULL,
    kind text NOT NULL,
    purpose bytea NOT NULL,
    importance double precision NOT NULL,
    provenance text NOT NULL,
    created bigint NOT NULL,
    valid_from bigint NOT NULL,
    valid_to bigint,
    supersedes bytea,
    superseded_by bytea,
    expires bigint,
    metadata text NOT NULL,
    words text[] NOT NULL
);
CREATE INDEX IF NOT EXISTS ctxproto_of_namespace ON ctxproto_memories (substring(namespace FOR 1000), seq);
CREATE INDEX IF NOT EXISTS ctxproto_of_words ON ctxproto_memories USING gin (words);
CREATE INDEX IF NOT EXISTS ctxproto_of_expiry ON ctxproto_memories (expires) WHERE expires IS NOT NULL;
CREATE TABLE IF NOT EXISTS ctxproto_model (
    one integer PRIMARY KEY CHECK (one = 1),
    name bytea NOT NULL,
    dims integer NOT NULL,
    low double precision NOT NULL,
    high double precision NOT NULL
)
"""
VECTORS = """
CREATE EXTENSION IF NOT EXISTS vector;
CREATE TABLE IF NOT EXISTS ctxproto_vectors (
    seq bigint PRIMARY KEY REFERENCES ctxproto_memories ON DELETE CASCADE,
    embedding vector NOT NULL
)
"""

_TEXTS = ("id", "content", "purpose", "supersedes", "superseded_by")
FIELDS = (
    "id", "namespace", "content", "kind", "purpose", "importance", "provenance", "created", "valid_from", "valid_to",
    "supersedes", "superseded_by", "expires", "metadata",
)  # fmt: skip
COLUMNS = ", ".join(f"m.{name}" for name in FIELDS)
IN_SCOPE = """
    substring(m.namespace FOR 1000) BETWEEN substring(%(first)s::bytea FOR 1000) AND substring(%(end)s::bytea FOR 1000)
    AND m.namespace >= %(first)s AND m.namespace < %(end)s
"""
ALIVE = f"{IN_SCOPE} AND (m.expires IS NULL OR m.expires > %(now)s)"
WANTED = f"""{ALIVE}
    AND (%(at)s::bigint IS NULL OR (m.valid_from <= %(at)s AND (m.valid_to IS NULL OR m.valid_to > %(at)s)))
    AND (%(kind)s::text IS NULL OR m.kind = %(kind)s)
"""


def scope(key: bytes, below: bool, now: int | None = None) -> dict[str, Any]:
    """The range of keys of a scope: no UTF-8 has a byte of 0xFF, no key lies between one and itself with a NUL."""
    scope: dict[str, Any] = {"first": key, "end": key + (b"\xff" if below else b"\0")}
    return scope if now is None else scope | {"now": now}


def kept(row: Mapping[str, Any]) -> dict[str, Any]:
    """A memory of the native store as the table has it."""
    texts = {name: None if row[name] is None else row[name].encode() for name in _TEXTS}
    return {**row, **texts, "words": _beginnings(_core.memory_words(row["content"]))}


def told(row: Mapping[str, Any]) -> dict[str, Any]:
    """A memory of the table as the native store has it."""
    texts = {name: None if row[name] is None else bytes(row[name]).decode() for name in _TEXTS}
    return {**{name: row[name] for name in FIELDS}, **texts, "namespace": bytes(row["namespace"])}


def measured(name: str, sides: tuple[int, int], vectors: object) -> Model:
    """The model of vectors of unrelated texts, so many on each side, as the native store measures it."""
    native = _core.Records(None, 0.0)
    native.introduce(name, sides, vectors, False)
    return cast("Model", native.model())


def _beginnings(words: Iterable[str]) -> list[str]:
    return sorted({word[:_WORD_MAX] for word in words})


def asked(query: str) -> list[str]:
    """The words that a query asks for, as the table has them."""
    return _beginnings(_core.query_words(query))


def literals(vectors: object) -> list[str]:
    """Vectors as pgvector reads them."""
    rows: Any = vectors.tolist() if hasattr(vectors, "tolist") else vectors
    return [json.dumps([float(number) for number in row]) for row in rows]


def numbers(sent: Iterable[bytes], dims: int) -> memoryview[float]:
    """Rows of numbers of what `vector_send` gives: after four bytes, big-endian ones of four bytes each."""
    rows = [bytes(one)[4:] for one in sent]
    if any(len(row) != 4 * dims for row in rows):
        raise StoreError("damaged: a vector is not as it was written")
    found = array("f", b"".join(rows))
    if sys.byteorder == "little":
        found.byteswap()
    return memoryview(found).cast("B").cast("f", (len(rows), dims))
