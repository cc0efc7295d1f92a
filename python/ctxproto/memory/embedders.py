"""Vectors of texts: any function that makes them, and how it is named, checked and calibrated."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, Protocol

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from ctxproto import _core

__all__ = ["Embedder", "HashEmbedder", "Model2VecEmbedder", "OpenAIEmbedder", "SentenceTransformerEmbedder"]


class Embedder(Protocol):
    """Whatever makes vectors of texts: a function that takes a list of str and returns a vector for each.

    Vectors are an array of shape (texts, dimensions) in float32 or float64, as numpy has it, or lists of numbers. They
    need not have length 1. An attribute `name` says which model it is; without one, `MemoryStore` is told.
    """

    def __call__(self, texts: list[str], /) -> Any:  # noqa: ANN401 - arrays of any library
        """A vector for each text, all of one length."""


class HashEmbedder:
    """Vectors by hashing words: the same everywhere, without a model. For tests; it knows no meaning.

    Args:
        dims: Numbers that a vector has.

    >>> one, other = HashEmbedder(64)(["green tea", "tea, green"])
    >>> one == other
    True
    """

    def __init__(self, dims: int = 256) -> None:
        self._dims = arguments.number("dims", dims, 1)
        self.name = f"hash-{self._dims}"

    def __call__(self, texts: Sequence[str], /) -> list[list[float]]:
        """A vector for each text."""
        return [self._one(text) for text in texts]

    def _one(self, text: str) -> list[float]:
        # A text without words has a direction, too.
        vector = [1e-3] + [0.0] * (self._dims - 1)
        for word in re.findall(r"\w+", text.lower()):
            number = int.from_bytes(hashlib.blake2b(word.encode("utf-8", "replace"), digest_size=8).digest())
            vector[(number >> 1) % self._dims] += 1.0 if number & 1 else -1.0
        return vector


class OpenAIEmbedder:
    """Vectors from an API as OpenAI has it, of any provider.

    Args:
        client: An `openai.OpenAI` client, or one like it: `client.embeddings.create(model=..., input=[...])`.
        model: The model's name.
        dimensions: How long the vectors are to be, for models that let one choose.
    """

    def __init__(self, client: Any, model: str, *, dimensions: int | None = None) -> None:  # noqa: ANN401 - any client
        self._client, self._model = client, arguments.utf8("model", model)
        self._more = {} if dimensions is None else {"dimensions": arguments.number("dimensions", dimensions, 1)}
        self.name = self._model if dimensions is None else f"{self._model}-{dimensions}"

    def __call__(self, texts: Sequence[str], /) -> list[list[float]]:
        """A vector for each text."""
        answer = self._client.embeddings.create(
            model=self._model, input=list(texts), encoding_format="float", **self._more
        )
        return [one.embedding for one in sorted(answer.data, key=lambda one: one.index)]


class SentenceTransformerEmbedder:
    """Vectors from a model of `sentence-transformers` (the extra of this name installs it).

    Args:
        model: A `SentenceTransformer`, or the path or name of one.
        name: What it is called in a store; the path or name unless given.
    """

    def __init__(self, model: Any, *, name: str | None = None) -> None:  # noqa: ANN401 - no import for a type
        if isinstance(model, str):
            from sentence_transformers import SentenceTransformer  # type: ignore[import-not-found,unused-ignore]

            self._model, named = SentenceTransformer(model), model
        else:
            self._model, named = model, ""
        self.name = arguments.utf8("name", named if name is None else name)

    def __call__(self, texts: Sequence[str], /) -> Any:  # noqa: ANN401 - a numpy array
        """A vector for each text."""
        return self._model.encode(list(texts), convert_to_numpy=True, show_progress_bar=False)


class Model2VecEmbedder:
    """Vectors from a static model of `model2vec` (the extra of this name installs it): fast on any CPU.

    Args:
        model: A `model2vec.StaticModel`, or the path or name of one.
        name: What it is called in a store; the path or name unless given.
    """

    def __init__(self, model: Any, *, name: str | None = None) -> None:  # noqa: ANN401 - no import for a type
        if isinstance(model, str):
            from model2vec import StaticModel  # type: ignore[import-not-found,unused-ignore]

            self._model, named = StaticModel.from_pretrained(model), model
        else:
            self._model, named = model, ""
        self.name = arguments.utf8("name", named if name is None else name)

    def __call__(self, texts: Sequence[str], /) -> Any:  # noqa: ANN401 - a numpy array
        """A vector for each text."""
        return self._model.encode(list(texts))


_NAME_MAX = 200


class Embedding:
    """An embedder and its name, as a store uses them."""

    def __init__(self, embedder: object, model: object) -> None:
        if not callable(embedder):
            raise ConfigTypeError(f"embedder is a function, not {shown(embedder)}")
        self._embedder = embedder
        try:
            named = embedder.name if model is None else model  # type: ignore[attr-defined]
        except Exception:  # noqa: BLE001 - an attribute may fail in any way
            named = None
        self.name = arguments.utf8("model", named)
        if not 1 <= len(self.name) <= _NAME_MAX:
            raise ConfigError(f"model has 1 to {_NAME_MAX} characters, not {len(self.name):,}")

    def of(self, texts: Iterable[str]) -> tuple[str, Any]:
        """The model's name, and what it made of the texts."""
        vectors: Any = self._embedder(list(texts))
        # Read more than once: a graph looks at them, too.
        return self.name, list(vectors) if hasattr(type(vectors), "__next__") else vectors

    def each(self, texts: Sequence[str]) -> list[tuple[str, object]]:
        """The same for each text by itself, from one call."""
        name, vectors = self.of(texts)
        if len(texts) == 1 or not hasattr(type(vectors), "__iter__"):
            return [(name, vectors)] * len(texts)
        rows = vectors.tolist() if hasattr(vectors, "tolist") else list(vectors)
        if len(rows) != len(texts):
            raise ConfigError(f"embedder is a function that returns {len(texts)} vectors here, not {len(rows)}")
        return [(name, rows[at : at + 1]) for at in range(len(texts))]

    def fits(self, core: _core.Records) -> bool:
        """Whether the store has vectors of this model; an error when it has those of another."""
        known = core.model()
        if known is not None and known[0] != self.name:
            raise ConfigError(
                f"embedder: the vectors of the store are of the model {known[0]!r}, not of {self.name!r}: "
                "nothing can be said of how alike they are. `embed(..., replace=True)` makes them anew"
            )
        return known is not None

    def introduce(self, core: _core.Records, *, replace: bool = False) -> None:
        """Tells the store of the model, if it does not know it, with what cosines unrelated texts of ours have."""
        core.introduce(*self._measured(_QUESTIONS, _STATEMENTS), replace)

    def calibrate(self, core: _core.Records, queries: Sequence[str], texts: Sequence[str]) -> None:
        """Tells the store what cosines unrelated texts have, from those that are given."""
        core.calibrate(*self._measured(queries, texts))

    def _measured(self, queries: Sequence[str], texts: Sequence[str]) -> tuple[str, tuple[int, int], object]:
        name, vectors = self.of([*queries, *texts])
        return name, (len(queries), len(texts)), vectors


# Each of one side has nothing to do with any of the other: together 256 pairs of unrelated texts.
_QUESTIONS = (
    "When did Anna start her new job at the hospital?",
    "Which database does the billing service use?",
    "How do I reset the password of my router?",
    "What did we decide about the colour of the logo?",
    "Who won the chess tournament last spring?",
    "Why does the nightly build fail on Windows?",
    "Where did they go on their honeymoon?",
    "What is the budget for the marketing campaign?",
    "Does Tom still play the violin?",
    "How many servers run in the Frankfurt region?",
    "What did the doctor say about the knee?",
    "Which books would she like for her birthday?",
    "Is the contract with the supplier signed yet?",
    "What time does the train to Madrid leave?",
    "How should errors of the API be logged?",
    "What does the dog eat in the morning?",
)
_STATEMENTS = (
    "The recipe needs two cups of flour and a pinch of salt.",
    "Rain is expected along the coast until Thursday.",
    "He repaired the fence before the sheep came back.",
    "The museum closes its medieval wing for renovation.",
    "Volcanic soil makes the island's wine taste of smoke.",
    "The old lighthouse was painted red and white again.",
    "Cyclists may use the bridge from the first of May.",
    "The telescope found a planet with three suns.",
    "Her grandmother taught her how to weave baskets.",
    "The orchestra tuned up while the hall filled slowly.",
    "Tomatoes ripen better when they hang in the sun.",
    "The parliament postponed the vote on fishing quotas.",
    "A layer of varnish protects the wooden floor.",
    "The goalkeeper saved two penalties in the second half.",
    "Migrating storks rest in the wetlands near the village.",
    "The sculptor left the statue unfinished on purpose.",
)
