"""One search of a store: its arguments, the vectors of its queries, several of them as one, and a reranker after it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, TypeAlias

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown
from ctxproto.memory.fields import kind_of, moment, span
from ctxproto.memory.gate import share
from ctxproto.memory.records import MemoryHit

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from ctxproto import _core
    from ctxproto.memory.embedders import Embedding
    from ctxproto.memory.graph import Graphs
    from ctxproto.memory.namespaces import Scope

__all__ = ["Reranker", "Search"]

Reranker: TypeAlias = "Callable[[str, list[str]], Iterable[float]]"

# What a relevance may be.
_SCALES = ("calibrated", "cosine")
# Rerankers read every text in full.
_RERANKED_MAX = 1_000


class Search:
    """The arguments of one search, checked; see `MemoryStore.search`."""

    def __init__(
        self,
        now: int,
        query: object,
        *,
        kind: object,
        as_of: object,
        limit: object,
        also: object,
        scale: object,
        mmr: object,
        recency: object,
        half_life: object,
        importance: object,
        reranker: object,
        explain: object,
    ) -> None:
        self._texts = _queries(query, also)
        self.raw = arguments.one_of("scale", scale, _SCALES) == "cosine"
        if reranker is not None and not callable(reranker):
            raise ConfigTypeError(f"reranker is a function, not {shown(reranker)}")
        if type(explain) is not bool:
            raise ConfigTypeError(f"explain is a bool, not {shown(explain)}")
        at, self._most = moment(now, as_of, history=False), arguments.number("limit", limit, 1)
        self._reranker: Reranker | None = reranker
        self._found = self._most if reranker is None else min(4 * self._most, _RERANKED_MAX)
        self._which = (now, at, kind_of(kind), self._found)
        self._how: dict[str, Any] = {
            "raw": self.raw,
            "mmr": share("mmr", mmr),
            "recency": _weight("recency", recency),
            "half_life": max(span("half_life", half_life), 1e-3) * 1_000_000,
            "importance": _weight("importance", importance),
            "explain": explain,
        }

    def run(
        self, core: _core.Records, scope: Scope, embedding: Embedding | None, graphs: Graphs | None
    ) -> list[MemoryHit]:
        """What a store finds, with its embedder and its graphs, where it has any."""
        texts = self._texts
        vectors = [None] * len(texts) if embedding is None or not embedding.fits(core) else embedding.each(texts)
        found = []
        for text, embedded in zip(texts, vectors, strict=True):
            near: list[int] = []
            if graphs is not None and embedded is not None:
                near = graphs.near(core, scope.key, embedded[1], core.pool(self._found))
            hits = core.search(scope.key, scope.below, text, *self._which, embedded=embedded, near=near, **self._how)
            found.append(MemoryHit.several(hits))
        best = found[0] if len(found) == 1 else _merged(found)
        return (best if self._reranker is None else _reranked(best, texts[0], self._reranker))[: self._most]


def _queries(query: object, also: object) -> list[str]:
    """The query and its other wordings, each once, in UTF-8."""
    texts = [
        arguments.text("query", query),
        *(arguments.text(f"also[{at}]", one) for at, one in enumerate(arguments.several("also", also, "str"))),
    ]
    return list(dict.fromkeys(text.encode("utf-8", "replace").decode() for text in texts))


def _merged(found: Sequence[list[MemoryHit]]) -> list[MemoryHit]:
    """The hits of several queries as those of one: each memory once, as the query found it that it fits best."""
    best: dict[str, MemoryHit] = {}
    for hits in found:
        for hit in hits:
            if hit.memory_id not in best or best[hit.memory_id].relevance_score < hit.relevance_score:
                best[hit.memory_id] = hit
    return sorted(best.values(), key=lambda hit: -hit.relevance_score)


def _reranked(hits: list[MemoryHit], query: str, reranker: Reranker) -> list[MemoryHit]:
    """The hits with the reranker's scores as their relevance, the best first."""
    if not hits:
        return hits
    given = reranker(query, [hit.content for hit in hits])
    many = hasattr(type(given), "__iter__") and not issubclass(type(given), str | bytes)
    try:
        numbers = [float(score) for score in given] if many else []
    except Exception:  # noqa: BLE001 - whatever it is, it may fail in any way
        numbers = []
    if len(numbers) != len(hits) or not all(0 <= number <= 1 for number in numbers):
        message = f"reranker returns a number from 0 to 1 for each of {len(hits)} texts here, not {shown(given)}"
        raise ConfigError(message) if many else ConfigTypeError(message)
    for hit, number in zip(hits, numbers, strict=True):
        hit.relevance_score = number
    return sorted(hits, key=lambda hit: -hit.relevance_score)


def _weight(argument: str, value: object) -> float:
    """A number from 0 to 100: what something counts beside 1 for the relevance."""
    if not issubclass(type(value), int | float) or issubclass(type(value), bool):
        raise ConfigTypeError(f"{argument} is a number, not {shown(value)}")
    if not (0 <= value <= _WEIGHT_MAX and math.isfinite(value)):  # type: ignore[operator,arg-type]
        raise ConfigError(f"{argument} is a number from 0 to {_WEIGHT_MAX}, not this one")
    return float(value)  # type: ignore[arg-type]


_WEIGHT_MAX = 100
