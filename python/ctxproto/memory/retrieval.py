"""What surrounds the native search: several queries as one, and a reranker after it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from ctxproto.memory.records import MemoryHit

__all__ = ["merged", "queries", "reranked", "weight"]

SCALES = ("calibrated", "cosine")
"""What a relevance may be."""


def queries(query: object, also: object) -> list[str]:
    """The query and its other wordings, each once, in UTF-8."""
    texts = [
        arguments.text("query", query),
        *(arguments.text(f"also[{at}]", one) for at, one in enumerate(arguments.several("also", also, "str"))),
    ]
    return list(dict.fromkeys(text.encode("utf-8", "replace").decode() for text in texts))


def merged(found: Sequence[list[MemoryHit]]) -> list[MemoryHit]:
    """The hits of several queries as those of one: each memory once, as the query found it that it fits best."""
    best: dict[str, MemoryHit] = {}
    for hits in found:
        for hit in hits:
            if hit.memory_id not in best or best[hit.memory_id].relevance_score < hit.relevance_score:
                best[hit.memory_id] = hit
    return sorted(best.values(), key=lambda hit: -hit.relevance_score)


def reranked(hits: list[MemoryHit], query: str, reranker: Callable[[str, list[str]], Any]) -> list[MemoryHit]:
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


def weight(argument: str, value: object) -> float:
    """A number from 0 to 100: what something counts beside 1 for the relevance."""
    if not issubclass(type(value), int | float) or issubclass(type(value), bool):
        raise ConfigTypeError(f"{argument} is a number, not {shown(value)}")
    if not (0 <= value <= _WEIGHT_MAX and math.isfinite(value)):  # type: ignore[operator,arg-type]
        raise ConfigError(f"{argument} is a number from 0 to {_WEIGHT_MAX}, not this one")
    return float(value)  # type: ignore[arg-type]


_WEIGHT_MAX = 100
