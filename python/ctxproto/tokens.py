"""Counting tokens: exactly for the encodings inside, with an estimate for models whose tokenizer is not public."""

from __future__ import annotations

import importlib.util
import re
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

from ctxproto import _core, arguments
from ctxproto.errors import ConfigError, ConfigTypeError, InputError, InputTypeError, shown

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from typing_extensions import Buffer

__all__ = ["ENCODINGS", "MessageCount", "SdkObject", "Tokenizer"]

ENCODINGS = ("o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base", "gpt2")
"""The encodings inside: nothing is downloaded."""

# OpenAI's old models, by their whole names.
_NAMES = {
    **dict.fromkeys(("davinci-002", "babbage-002"), "cl100k_base"),
    **dict.fromkeys(("text-davinci-002", "text-davinci-003", "davinci-codex", "cushman-codex"), "p50k_base"),
    **dict.fromkeys(("code-davinci-001", "code-davinci-002", "code-cushman-001", "code-cushman-002"), "p50k_base"),
    **dict.fromkeys(("text-davinci-edit-001", "code-davinci-edit-001"), "p50k_edit"),
    **dict.fromkeys(("davinci", "curie", "babbage", "ada"), "r50k_base"),
    **dict.fromkeys(("text-davinci-001", "text-curie-001", "text-babbage-001", "text-ada-001"), "r50k_base"),
    **dict.fromkeys((f"text-similarity-{name}-001" for name in ("davinci", "curie", "babbage", "ada")), "r50k_base"),
    **dict.fromkeys((f"text-search-{name}-doc-001" for name in ("davinci", "curie", "babbage", "ada")), "r50k_base"),
    **dict.fromkeys((f"code-search-{name}-code-001" for name in ("babbage", "ada")), "r50k_base"),
    **dict.fromkeys(("gpt2", "gpt-2"), "gpt2"),
}

# Families whose encoding is known: names that go on with anything else than a letter or a digit.
_FAMILIES = {
    "gpt-oss": "o200k_harmony",
    **dict.fromkeys(("gpt-5", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o", "o1", "o3", "o4-mini"), "o200k_base"),
    **dict.fromkeys(("gpt-4", "gpt-3.5", "gpt-35", "text-embedding-3", "text-embedding-ada-002"), "cl100k_base"),
}

_Weights: TypeAlias = tuple[float, float, float, float]


def _factor(factor: float) -> _Weights:
    return (factor, 0.0, 0.0, 0.0)


_EXACT = _factor(1.0)


# Beginnings of the names of others, which count otherwise and say so (`exact` is False): what a token of an encoding, a
# digit, a sign (of a row of the same the first) and a wide character (from U+3000 on) come to. Where four are given
# they are fitted to the family's public tokenizer on logs, JSON, code and prose (`ci/fit_estimates.py`); a factor alone
# is rough, from published comparisons. `calibrated` makes any of them your own.
_GEMMA = (0.98, 0.51, 0.23, -0.19)
_QWEN = (1.08, 0.47, -0.14, -0.16)
_LLAMA = (1.08, -0.06, -0.12, -0.10)
_MISTRAL = (1.06, 0.51, -0.07, 0.0)
_ESTIMATES: dict[str, tuple[str, _Weights]] = {
    "claude": ("o200k_base", _factor(1.2)),
    **dict.fromkeys(("claude-opus-4-7", "claude-sonnet-5"), ("o200k_base", _factor(1.55))),
    **dict.fromkeys(("gemini", "gemma"), ("o200k_base", _GEMMA)),
    **dict.fromkeys(("llama", "meta-llama", "code-llama", "codellama"), ("o200k_base", _LLAMA)),
    "qwen": ("o200k_base", _QWEN),
    "deepseek": ("o200k_base", (1.08, -0.04, -0.05, -0.18)),
    **dict.fromkeys(("kimi", "glm", "grok"), ("o200k_base", _factor(1.05))),
    **dict.fromkeys(("mistral", "mixtral", "codestral"), ("o200k_base", _MISTRAL)),
    "command": ("o200k_base", (1.01, 0.53, 0.08, -0.16)),
    "phi-4": ("cl100k_base", _factor(1.02)),
}
_BY_LENGTH = sorted((*_FAMILIES, *_ESTIMATES), key=len, reverse=True)

# Who serves a model, and where: `eu.anthropic.`, `us.meta.`.
_SERVED = re.compile(r"(?:[a-z][a-z-]*\.)+")
# A fine-tune's name begins with its model's.
_TUNED = re.compile(r"(?:^|[:/])ft:([^:/]+)")


class SdkObject(Protocol):
    """A message as an SDK holds it: a pydantic model. It is read as what the SDK would send."""

    def model_dump(self, *, mode: str, exclude_unset: bool) -> dict[str, Any]:
        """Its fields that were given, as JSON."""


class MessageCount(NamedTuple):
    """Tokens of messages: what their texts have, and what the API is likely to put around them.

    Args:
        text: Tokens of all texts, names, tool calls' arguments and tool definitions as JSON.
        framing: An estimate of what stands between them: roles, separators, the beginning of the reply; and of images.
        exact: Whether `text` is counted by the model's own encoding, and is all there is. `framing` never is exact.
    """

    text: int
    framing: int
    exact: bool

    @property
    def total(self) -> int:
        """Both together."""
        return self.text + self.framing


class Tokenizer:
    """Counts text as a model does. Immutable, shared by threads.

    Counts equal tiktoken's; names of special tokens in a text are ordinary text.

    Args:
        encoding: One of `ENCODINGS`, or any other name that an installed `tiktoken` knows (the extra
            `ctxproto[tiktoken]`).

    Raises:
        ConfigError: No encoding has this name.

    >>> tokenizer = Tokenizer("o200k_base")
    >>> tokenizer.count("Nothing to hide, nothing to count."), tokenizer.exact
    (8, True)
    >>> text = "one two three four"
    >>> text[: tokenizer.limit(text, 2)]
    'one two'
    """

    __slots__ = ("_core", "_function", "_name")

    def __init__(self, encoding: str = "o200k_base") -> None:
        name = arguments.text("encoding", encoding)
        self._name = name
        self._function: Callable[[str], int] | None = None
        if name in ENCODINGS:
            self._core: _core.Encoding | None = _core.Encoding(name)
        else:
            self._core = None
            self._function = _Tiktoken(name)

    @classmethod
    def for_model(cls, model: str) -> Tokenizer:
        """The tokenizer of a model by its API name.

        A date, who serves it (`openai/`, `openai:`, `eu.anthropic.`) and a fine-tune (`ft:`) may be part of the name.

        OpenAI's are exact. For Claude, Gemini, Llama, Mistral, Qwen, DeepSeek, Grok and others it is an estimate, with
        `exact` False. Raises `ConfigError` for a name that belongs to no known family.

        >>> Tokenizer.for_model("gpt-4o-mini").name, Tokenizer.for_model("claude-sonnet-4-5").exact
        ('o200k_base', False)
        """
        for name in _candidates(arguments.text("model", model).lower()):
            if (encoding := _NAMES.get(name)) is not None:
                return cls._with(encoding, _EXACT)
            for beginning in _BY_LENGTH:
                if not name.startswith(beginning):
                    continue
                if (estimate := _ESTIMATES.get(beginning)) is not None:
                    return cls._with(*estimate)
                if not name[len(beginning) :][:1].isalnum():
                    return cls._with(_FAMILIES[beginning], _EXACT)
        families = ", ".join(sorted({*_FAMILIES, *_ESTIMATES}))
        raise ConfigError(f"model is of no known family ({families}), given {shown(model)}")

    @classmethod
    def from_callable(cls, count: Callable[[str], int], name: str = "callable") -> Tokenizer:
        """A tokenizer that asks `count` for the tokens of a str: whatever counts for you.

        Its counts are taken as exact. `limit` and trimming find their place by asking it again and again, and take it
        that more text has more tokens. `encode`, `decode` and `counter` need an encoding.
        """
        if not callable(count):
            raise ConfigTypeError(f"count is a function of a str, not {shown(count)}")
        return cls._made(arguments.text("name", name), None, count)

    @classmethod
    def _with(cls, encoding: str, weights: _Weights) -> Tokenizer:
        return cls._made(encoding, _core.Encoding(encoding, weights=weights), None)

    @classmethod
    def _made(cls, name: str, core: _core.Encoding | None, function: Callable[[str], int] | None) -> Tokenizer:
        self = cls.__new__(cls)
        self._name, self._core, self._function = name, core, function
        return self

    def calibrated(self, usage: Iterable[tuple[str, int]]) -> Tokenizer:
        """An estimate that fits what a provider reported: `usage` is texts and the tokens each was billed.

        What it made of a text is multiplied by the sum of the reported tokens over the sum of its own. Raises
        `ConfigError` when that is not a number above 0.

        >>> text = "The quick brown fox jumps over the lazy dog. " * 20
        >>> tokenizer = Tokenizer().calibrated([(text, 241)])
        >>> tokenizer.count(text), tokenizer.exact
        (241, False)
        """
        pairs = arguments.several("usage", usage, "(text, tokens)")
        reported = counted = 0
        core = self._native("calibrated")
        for at, pair in enumerate(pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2 or not isinstance(pair[0], str | bytes):
                raise ConfigTypeError(f"usage[{at}] is a text and a number of tokens, not {shown(pair)}")
            counted += core.count(pair[0])
            reported += arguments.number(f"usage[{at}][1]", pair[1], 0)
        if not counted or not reported:
            raise ConfigError("usage has no tokens: nothing can be learnt from it")
        token, digit, sign, wide = (weight * reported / counted for weight in core.weights)
        return self._with(core.name, (token, digit, sign, wide))

    @property
    def name(self) -> str:
        """The encoding's name, or that of the function."""
        return self._name

    @property
    def encoding(self) -> _core.Encoding | None:
        """The native encoding; None where a function counts."""
        return self._core

    @property
    def exact(self) -> bool:
        """Whether counts are the model's own, not an estimate."""
        return self._core is None or self._core.exact

    def count(self, text: str | Buffer) -> int:
        """Tokens of a text (str or bytes). Lone surrogates and bytes that are no UTF-8 count as U+FFFD.

        Raises `InputTypeError` for other types.
        """
        if self._core is not None:
            return self._core.count(text)
        return self._asked(text)

    def count_many(self, texts: Iterable[str | Buffer]) -> list[int]:
        """The counts of many texts in their order, on all CPUs."""
        if self._core is not None:
            return self._core.count_many(texts)
        return [self._asked(text) for text in texts]

    def encode(self, text: str | Buffer, *, special: bool = False) -> list[int]:
        """The token ids of a text; with `special`, names such as `<|endoftext|>` stand for their tokens.

        Raises `ConfigError` for a tokenizer made from a function.
        """
        return self._native("encode").encode(text, special=special)

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of token ids; halves of characters become U+FFFD. Raises `InputError` for an unknown id."""
        return self.decode_bytes(tokens).decode("utf-8", "replace")

    def decode_bytes(self, tokens: Sequence[int]) -> bytes:
        """The bytes of token ids. Raises `InputError` for an unknown id."""
        ids = [
            arguments.number(f"tokens[{at}]", t, 0) for at, t in enumerate(arguments.several("tokens", tokens, "int"))
        ]
        if any(token >= 1 << 32 for token in ids):
            raise InputError("tokens holds a number that no token has")
        return self._native("decode").decode(ids)

    def limit(self, text: str | Buffer, most: int, *, tail: bool = False) -> int:
        """Where the longest prefix of at most `most` tokens ends; with `tail`, where the longest such suffix begins.

        In characters of a str, in bytes of bytes; never inside a character. No more is read than that takes. As more
        text can be fewer tokens, the longest is: the furthest place that fits before the end of the first token of the
        whole that does not.
        """
        most = arguments.number("most", most, 0)
        if self._core is None:
            return _core.limit_by(self._asked, text, most, tail=tail)
        return self._core.limit(text, most, tail=tail)

    def counter(self) -> _core.Counter:
        """A counter for text that arrives in pieces: `feed` each, then read `count`."""
        return self._native("counter").counter()

    def count_messages(
        self, messages: Iterable[Mapping[str, Any] | SdkObject], tools: Iterable[Mapping[str, Any]] = ()
    ) -> MessageCount:
        """Tokens of chat messages in OpenAI's form, and of tool definitions: texts counted, framing estimated.

        Also in the forms of Anthropic, Gemini and the Responses API: blocks of tool calls and results, thinking,
        documents. Arguments and results that are objects count as JSON. An image counts what OpenAI or Anthropic
        documents for its size, whichever is more; 85 in low detail; 1,600, the most of both, when its size is not
        there to be read, and so does anything else that is no text: audio, files, which may well take more. A part
        of an unknown kind counts as JSON. For all of these `exact` is False. Objects of the SDKs (pydantic models)
        count as what they would send. Raises `ConfigError` for a message that is no mapping, holds what is no text or
        part, or refers to itself.

        >>> Tokenizer().count_messages([{"role": "user", "content": "hello"}])
        MessageCount(text=2, framing=6, exact=True)
        """
        given = arguments.several("messages", messages, "messages")
        counter = self._asked if self._core is None else self._core
        text, framing, known = _core.count_messages(given, arguments.several("tools", tools, "mappings"), counter)
        return MessageCount(text, framing, self.exact and known)

    def _native(self, asked: str) -> _core.Encoding:
        if self._core is None:
            raise ConfigError(f"{asked}() needs an encoding: this tokenizer counts by a function")
        return self._core

    def _asked(self, text: object) -> int:
        if not isinstance(text, str | bytes):
            raise InputTypeError(f"count() takes str or bytes, not {shown(text)}")
        plain = text if isinstance(text, str) else text.decode("utf-8", "replace")
        assert self._function is not None  # noqa: S101 - one of the two is there
        return arguments.number("the count of the function", self._function(plain), 0)

    def __copy__(self) -> Tokenizer:
        return self

    def __deepcopy__(self, _memo: object) -> Tokenizer:
        return self

    def __reduce__(self) -> tuple[Callable[..., Tokenizer], tuple[object, ...]]:
        if self._core is not None:
            return _unpickled, (self._name, self._core.weights)
        if isinstance(self._function, _Tiktoken):
            return Tokenizer, (self._name,)
        return Tokenizer.from_callable, (self._function, self._name)

    def __repr__(self) -> str:
        return f"<Tokenizer: {self.name}{'' if self.exact else ', estimate'}>"


@cache
def default_tokenizer() -> Tokenizer:
    """The one that is used where none is given."""
    return Tokenizer()


def _candidates(model: str) -> Iterator[str]:
    """What of a name may be the model's own."""
    if (tuned := _TUNED.search(model)) is not None:
        yield tuned[1]
        return
    for name in model.rsplit("/", 1)[-1].split(":"):
        yield name
        yield _SERVED.sub("", name, count=1) if _SERVED.match(name) else name


def _unpickled(name: str, weights: _Weights) -> Tokenizer:
    return Tokenizer._with(name, weights)  # noqa: SLF001 - a method of the class but for the name that pickle needs


class _Tiktoken:
    """Counts by an encoding of tiktoken's."""

    __slots__ = ("_encoding",)

    def __init__(self, name: str) -> None:
        message = f"encoding is one of {', '.join(ENCODINGS)}, not {shown(name)}"
        if importlib.util.find_spec("tiktoken") is None:
            raise ConfigError(f"{message}; others need tiktoken: install ctxproto[tiktoken]")
        import tiktoken

        if name not in tiktoken.list_encoding_names():
            raise ConfigError(message)
        self._encoding = tiktoken.get_encoding(name)

    def __call__(self, text: str) -> int:
        return len(self._encoding.encode(text, disallowed_special=()))
