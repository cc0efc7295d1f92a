"""Trimming: a text within a budget of tokens, redacted before it is cut, with an account of what was lost."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeAlias, TypeVar

from ctxproto import _core, arguments
from ctxproto.errors import ConfigError, ConfigTypeError, InputTypeError, shown
from ctxproto.tokens import Tokenizer, default_tokenizer
from ctxproto.tools.redact import Redactor, default_redactor

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence

__all__ = ["STRATEGIES", "Loss", "Replaced", "Strategy", "Trimmed", "Trimmer", "trim"]

Strategy: TypeAlias = Literal[
    "auto", "first_n", "last_n", "head_tail", "lines", "json", "table", "diff", "field_whitelist", "summary"
]
STRATEGIES: tuple[str, ...] = Strategy.__args__  # type: ignore[attr-defined]
"""The strategies, by name."""

AnyText = TypeVar("AnyText", str, bytes)
AnyText_co = TypeVar("AnyText_co", str, bytes, covariant=True)


class Loss(NamedTuple):
    """What was kept of a text and what was not. Bytes, lines and ranges are those of the source, in UTF-8.

    Args:
        strategy: The strategy that was used; "whole" when nothing was left out.
        instead: Why it is not the one that was asked for, or None.
        tokens: Tokens of the result, counted.
        source_tokens: Tokens of the redacted source: counted when nothing was left out, else in proportion to bytes.
        source_tokens_exact: Whether they were counted.
        source_bytes, source_lines: The source, or what was read of it.
        kept_bytes, kept_lines: What was kept; a replaced value counts as kept, a line when a part of it was.
        dropped_bytes, dropped_lines: The source less what was kept.
        ranges: Where the source was left out: (first byte, one past the last), in order.
        units: What else the source is made of: (name, kept, total), such as ("rows", 20, 5000), or None.
        complete: Whether the source was read to its end.
    """

    strategy: str
    instead: str | None
    tokens: int
    source_tokens: int
    source_tokens_exact: bool
    source_bytes: int
    source_lines: int
    kept_bytes: int
    kept_lines: int
    dropped_bytes: int
    dropped_lines: int
    ranges: list[tuple[int, int]]
    units: tuple[str, int, int] | None
    complete: bool


class Replaced(NamedTuple):
    """A value that a placeholder stands for: label, rule id and keyed fingerprint, never the value."""

    label: str
    rule: str
    fingerprint: str


@dataclass(frozen=True, slots=True)
class Trimmed(Generic[AnyText_co]):
    """A text within its budget.

    Args:
        text: The text, the marker of what is missing first; the very object that was given when nothing was done to it.
        loss: What was lost.
        replaced: The values replaced in what was kept.
    """

    text: AnyText_co
    loss: Loss
    replaced: Sequence[Replaced]

    def __repr__(self) -> str:
        return f"<Trimmed: {self.loss.tokens} tokens, {self.loss.strategy}, {self.loss.dropped_bytes} bytes dropped>"


class Trimmer:
    r"""How texts are to be trimmed: checked once, used for many. Immutable, shared by threads.

    Args:
        max_tokens: The most tokens a result may take, marker included.
        strategy: "first_n" keeps the beginning, "last_n" the end, "head_tail" both; "lines" keeps errors, exit codes,
            totals and the last lines, then what is around them; "json" leaves valid JSON with its keys
            and shape; "table" keeps the header and rows, "diff" headers and changed lines; "field_whitelist" keeps the
            `fields` of JSON; "summary" says in one line what the text is; "auto" chooses by what the text is.
        fields: Paths for "field_whitelist": `a.b`, `items[0].id`, `items.*.id`, `"a.b".c`.
        patterns: Regular expressions for what is asked for, tried on each line, row or JSON value with its key: kept
            before anything else by "lines", "json", "table", "diff" and "auto".
        hint: What the marker says about getting the rest, such as a command that exists.
        tokenizer: What counts; `o200k_base` unless given. A function is asked some dozens of times a text, and
            what it raises comes through.
        redactor: Redacts before anything is cut; the default policy unless given. None leaves secrets in.

    Raises:
        ConfigError: An argument is not as it must be.

    >>> log = "all is well\n" * 500 + "ERROR: disk full\n" + "all is well\n" * 500 + "exit code 1\n"
    >>> result = Trimmer(60, strategy="lines").trim(log)
    >>> "ERROR: disk full" in result.text, "exit code 1" in result.text, result.loss.tokens <= 60
    (True, True, True)
    """

    __slots__ = ("_core", "_max_tokens", "_strategy")

    def __init__(
        self,
        max_tokens: int,
        *,
        strategy: Strategy = "auto",
        fields: Iterable[str] = (),
        patterns: Iterable[str] = (),
        hint: str | None = None,
        tokenizer: Tokenizer | None = None,
        redactor: Redactor | Literal["default"] | None = "default",
    ) -> None:
        self._strategy = arguments.one_of("strategy", strategy, STRATEGIES)
        self._max_tokens = arguments.number("max_tokens", max_tokens, 0)
        counter = counting("tokenizer", default_tokenizer() if tokenizer is None else tokenizer)
        if issubclass(type(redactor), str) and str.__str__(redactor) == "default":
            redactor = default_redactor()
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor or None, not {shown(redactor)}")
        paths = arguments.strings("fields", fields)
        if self._strategy == "field_whitelist" and not paths:
            raise ConfigError("fields is empty: field_whitelist would keep nothing")
        self._core = _core.Trimming(
            self._strategy,
            self._max_tokens,
            counter,
            redactor=redactor,
            fields=paths,
            patterns=arguments.strings("patterns", patterns),
            hint=None if hint is None else arguments.utf8("hint", hint),
        )

    @property
    def max_tokens(self) -> int:
        """The most tokens a result may take."""
        return self._max_tokens

    @property
    def strategy(self) -> str:
        """The strategy that was asked for."""
        return self._strategy

    def trim(self, text: AnyText) -> Trimmed[AnyText]:
        """Trims one text, str or bytes.

        Raises `BudgetError` when not even the marker fits, `InputTypeError` for other types.
        """
        return _trimmed(self._core.trim(text))

    def trim_iter(self, pieces: Iterable[AnyText], *, whole: bool = False) -> Trimmed[AnyText]:
        """Trims a text that comes in pieces, such as an open file, in memory that does not grow with it.

        The result is that of the whole text. "first_n", "last_n", "head_tail" and "lines" see it go by; the others hold
        up to 64 MiB, and a longer text is trimmed by "lines", which `loss.instead` says. "first_n" stops reading
        when more cannot change what is kept: the marker then gives no totals, and `loss.complete` is False. With
        `whole` it reads on to count them.
        """
        stream, iterator = self._core.stream(), None
        with suppress(TypeError):  # raised again below
            iterator = iter(pieces)
        if iterator is None:
            raise InputTypeError(f"trim_iter() takes an iterable of str or bytes, not {shown(pieces)}")
        return _trimmed(_fed(stream, iterator, whole=whole))

    async def trim_aiter(self, pieces: AsyncIterable[AnyText], *, whole: bool = False) -> Trimmed[AnyText]:
        """Trims a text that comes in pieces from an asynchronous iterable; see `trim_iter`.

        A generator is closed, also when its end was not reached.
        """
        stream = self._core.stream()
        if not hasattr(type(pieces), "__aiter__"):
            raise InputTypeError(f"trim_aiter() takes an asynchronous iterable of str or bytes, not {shown(pieces)}")
        iterator = aiter(pieces)
        stopped = False
        try:
            async for piece in iterator:
                if stopped := not stream.feed(piece) and not whole:
                    break
        finally:
            # Left to the collector, a generator would hold its file or connection until the loop ends.
            if (close := getattr(iterator, "aclose", None)) is not None:
                await close()
        return _trimmed(stream.finish(stopped=stopped))


def counting(argument: str, tokenizer: object) -> _core.Encoding | Callable[[str], int]:
    """What counts of a tokenizer: its encoding, or its function; `argument` is named in the `ConfigError`."""
    if not isinstance(tokenizer, Tokenizer):
        raise ConfigTypeError(f"{argument} is a Tokenizer, not {shown(tokenizer)}")
    return tokenizer.count if tokenizer.encoding is None else tokenizer.encoding


def trim(text: AnyText, max_tokens: int, *, strategy: Strategy = "auto", **options: Any) -> Trimmed[AnyText]:  # noqa: ANN401 - see Trimmer
    """Redacts a text by the default policy and trims it to `max_tokens`; `options` are those of `Trimmer`.

    >>> trim("short", 100).text
    'short'
    """
    return Trimmer(max_tokens, strategy=strategy, **options).trim(text)


# These see the text go by; the others hold all of it.
_IN_PIECES = frozenset({"first_n", "last_n", "head_tail", "lines"})


def trim_read(trimmer: Trimmer, read: Callable[[Callable[[bytes], object]], bool]) -> Trimmed[bytes] | None:
    """Trims what `read` hands, piece by piece, to the function it is given; None when it says that that is no text."""
    if trimmer.strategy in _IN_PIECES:
        stream = trimmer._core.stream()  # noqa: SLF001 - a method of the class but for its users
        return _trimmed(stream.finish()) if read(stream.feed) else None
    pieces: list[bytes] = []
    return trimmer.trim(b"".join(pieces)) if read(pieces.append) else None


def _fed(stream: _core.TrimStream, pieces: Iterator[Any], *, whole: bool) -> tuple[Any, tuple[Any, ...], list[Any]]:
    for piece in pieces:
        if not stream.feed(piece) and not whole:
            return stream.finish(stopped=True)
    return stream.finish()


def _trimmed(outcome: tuple[Any, tuple[Any, ...], list[tuple[str, str, str]]]) -> Trimmed[Any]:
    text, loss, found = outcome
    return Trimmed(text, Loss._make(loss), list(map(Replaced._make, found)))
