"""Counting tokens: exactly for the encodings inside, with an estimate for models whose tokenizer is not public."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from ctxproto import _core, arguments
from ctxproto.errors import ConfigError, ConfigTypeError, InputError, InputTypeError, shown

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Buffer

__all__ = ["ENCODINGS", "MessageCount", "Tokenizer"]

ENCODINGS = ("o200k_base", "o200k_harmony", "cl100k_base", "p50k_base", "p50k_edit", "r50k_base", "gpt2")
"""The encodings inside: nothing is downloaded."""

# Beginnings of models' names, the longest first: the encoding, and how many tokens of the model come to one of it.
# OpenAI's are exact. The others count otherwise and say so (`exact` is False): their factors are rough, from published
# comparisons; `calibrated` makes them your own.
_MODELS: tuple[tuple[str, str, float], ...] = (
    ("gpt-oss", "o200k_harmony", 1.0),
    *((name, "o200k_base", 1.0) for name in ("gpt-5", "gpt-4.5", "gpt-4.1", "gpt-4o", "chatgpt-4o", "o1", "o3", "o4")),
    *((name, "cl100k_base", 1.0) for name in ("gpt-4", "gpt-3.5", "gpt-35", "text-embedding-")),
    *((name, "p50k_base", 1.0) for name in ("text-davinci-003", "text-davinci-002", "code-")),
    *((name, "r50k_base", 1.0) for name in ("text-davinci-001", "davinci", "curie", "babbage", "ada")),
    ("gpt2", "gpt2", 1.0),
    ("claude-opus-4-7", "o200k_base", 1.55),
    ("claude-sonnet-5", "o200k_base", 1.55),
    ("claude", "o200k_base", 1.2),
    ("gemini", "o200k_base", 1.05),
    ("gemma", "o200k_base", 1.05),
    ("llama", "o200k_base", 1.05),
    ("meta-llama", "o200k_base", 1.05),
    ("mistral", "o200k_base", 1.15),
    ("mixtral", "o200k_base", 1.15),
    ("codestral", "o200k_base", 1.15),
    ("qwen", "o200k_base", 1.05),
    ("deepseek", "o200k_base", 1.05),
    ("kimi", "o200k_base", 1.0 + 0.05),
    ("glm", "o200k_base", 1.05),
    ("grok", "o200k_base", 1.05),
    ("command", "o200k_base", 1.1),
    ("phi-4", "cl100k_base", 1.02),
)

# Framing of chat messages, as OpenAI's cookbook gives it; an estimate for all models.
_MESSAGE, _NAME, _REPLY, _TOOL = 3, 1, 3, 8


class MessageCount(NamedTuple):
    """Tokens of messages: what their texts have, and what the API is likely to put around them.

    Args:
        text: Tokens of all texts, names, tool calls' arguments and tool definitions as JSON.
        framing: An estimate of what stands between them: roles, separators, the beginning of the reply.
        exact: Whether `text` is counted by the model's own encoding. `framing` never is.
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

    Attributes:
        name: The encoding's name.

    Raises:
        ConfigError: No encoding has this name.

    >>> tokenizer = Tokenizer("o200k_base")
    >>> tokenizer.count("Nothing to hide, nothing to count."), tokenizer.exact
    (8, True)
    >>> text = "one two three four"
    >>> text[: tokenizer.limit(text, 2)]
    'one two'
    """

    __slots__ = ("_core", "_function", "name")

    def __init__(self, encoding: str = "o200k_base") -> None:
        name = arguments.text("encoding", encoding)
        self.name = name
        self._function: Callable[[str], int] | None = None
        if name in ENCODINGS:
            self._core: _core.Encoding | None = _core.Encoding(name)
        else:
            self._core = None
            self._function = _tiktoken(name)

    @classmethod
    def for_model(cls, model: str) -> Tokenizer:
        """The tokenizer of a model by its API name; a date, a provider (`openai/`) and a fine-tune may be part of it.

        OpenAI's are exact. For Claude, Gemini, Llama, Mistral, Qwen, DeepSeek, Grok and others it is an estimate, with
        `exact` False. Raises `ConfigError` for a name that belongs to no known family.

        >>> Tokenizer.for_model("gpt-4o-mini").name, Tokenizer.for_model("claude-sonnet-4-5").exact
        ('o200k_base', False)
        """
        name = arguments.text("model", model).lower().removeprefix("ft:").rsplit("/", 1)[-1]
        name = name.removeprefix("anthropic.").removeprefix("us.anthropic.").removeprefix("meta.")
        for beginning, encoding, factor in sorted(_MODELS, key=lambda m: -len(m[0])):
            if name.startswith(beginning):
                return cls._with(encoding, factor)
        families = ", ".join(sorted({m[0] for m in _MODELS}))
        raise ConfigError(f"model is of no known family ({families}), given {shown(model)}")

    @classmethod
    def from_callable(cls, count: Callable[[str], int], name: str = "callable") -> Tokenizer:
        """A tokenizer that asks `count` for the tokens of a str: whatever counts for you.

        Its counts are taken as exact. `encode`, `decode` and trimming need an encoding.
        """
        if not callable(count):
            raise ConfigTypeError(f"count is a function of a str, not {shown(count)}")
        return cls._made(arguments.text("name", name), None, count)

    @classmethod
    def _with(cls, encoding: str, factor: float) -> Tokenizer:
        return cls._made(encoding, _core.Encoding(encoding, factor=factor), None)

    @classmethod
    def _made(cls, name: str, core: _core.Encoding | None, function: Callable[[str], int] | None) -> Tokenizer:
        self = cls.__new__(cls)
        self.name, self._core, self._function = name, core, function
        return self

    def calibrated(self, usage: Iterable[tuple[str, int]]) -> Tokenizer:
        """An estimate that fits what a provider reported: `usage` is texts and the tokens each was billed.

        The factor is the sum of the reported tokens over that of the encoding's. Raises `ConfigError` when that is not
        a number above 0.

        >>> text = "The quick brown fox jumps over the lazy dog. " * 20
        >>> tokenizer = Tokenizer().calibrated([(text, 241)])
        >>> tokenizer.count(text), tokenizer.exact
        (241, False)
        """
        pairs = arguments.several("usage", usage, "(text, tokens)")
        reported = counted = 0
        base = _core.Encoding(self._native("calibrated").name)
        for at, pair in enumerate(pairs):
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                raise ConfigTypeError(f"usage[{at}] is a text and a number of tokens, not {shown(pair)}")
            counted += base.count(pair[0])
            reported += arguments.number(f"usage[{at}][1]", pair[1], 0)
        if not counted or not reported:
            raise ConfigError("usage has no tokens: nothing can be learnt from it")
        return self._with(base.name, reported / counted)

    @property
    def encoding(self) -> _core.Encoding | None:
        """The native encoding; None where a function counts."""
        return self._core

    @property
    def exact(self) -> bool:
        """Whether counts are the model's own, not an estimate."""
        return self._core is None or self._core.factor == 1.0

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
        return self._native("limit").limit(text, most, tail=tail)

    def counter(self) -> _core.Counter:
        """A counter for text that arrives in pieces: `feed` each, then read `count`."""
        return self._native("counter").counter()

    def count_messages(
        self, messages: Iterable[Mapping[str, Any]], tools: Iterable[Mapping[str, Any]] = ()
    ) -> MessageCount:
        """Tokens of chat messages in OpenAI's form, and of tool definitions: texts counted, framing estimated.

        Images and other parts without text count nothing. Raises `InputTypeError` when a message is no mapping.

        >>> Tokenizer().count_messages([{"role": "user", "content": "hello"}])
        MessageCount(text=2, framing=6, exact=True)
        """
        texts: list[str] = []
        framing = _REPLY
        for at, message in enumerate(arguments.several("messages", messages, "messages")):
            if not isinstance(message, Mapping):
                raise ConfigTypeError(f"messages[{at}] is a mapping, not {shown(message)}")
            framing += _MESSAGE + (_NAME if message.get("name") else 0)
            texts += _texts(message)
        for tool in arguments.several("tools", tools, "mappings"):
            framing += _TOOL
            texts.append(json.dumps(tool, ensure_ascii=False, default=str, separators=(",", ":")))
        return MessageCount(sum(self.count_many(texts)), framing, self.exact)

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

    def __repr__(self) -> str:
        return f"<Tokenizer: {self.name}{'' if self.exact else ', estimate'}>"


@cache
def default_tokenizer() -> Tokenizer:
    """The one that is used where none is given."""
    return Tokenizer()


def _texts(message: Mapping[str, Any]) -> list[str]:
    texts = [str(message.get("role", "")), str(message.get("name") or "")]
    content = message.get("content")
    if isinstance(content, str):
        texts.append(content)
    elif isinstance(content, list | tuple):
        parts = (part.get("text") for part in content if isinstance(part, Mapping))
        texts += [text for text in parts if isinstance(text, str)]
    for call in message.get("tool_calls") or ():
        function = call.get("function", {}) if isinstance(call, Mapping) else {}
        texts += [str(function.get("name", "")), str(function.get("arguments", ""))]
    return [text for text in texts if text]


def _tiktoken(name: str) -> Callable[[str], int]:
    message = f"encoding is one of {', '.join(ENCODINGS)}, not {shown(name)}"
    try:
        import tiktoken
    except ImportError:
        raise ConfigError(f"{message}; others need tiktoken: install ctxproto[tiktoken]") from None
    if name not in tiktoken.list_encoding_names():
        raise ConfigError(message)
    encoding = tiktoken.get_encoding(name)
    return lambda text: len(encoding.encode(text, disallowed_special=()))
