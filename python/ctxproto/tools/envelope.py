"""The envelope around a tool's result: what reaches the model was redacted and trimmed."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown
from ctxproto.tools import values
from ctxproto.tools.redact import Redactor, default_redactor, redactor_with
from ctxproto.tools.trim import Loss, Replaced, Strategy, Trimmed, Trimmer

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from ctxproto.tokens import Tokenizer

__all__ = ["ToolResultEnvelope"]


class ToolResultEnvelope:
    """A tool's result on its way to the model: redacted, trimmed, tied to its call (seed 000, section 3).

    `trim` and `redact_secrets` say what is wanted and return the envelope; the work is done once, when its outcome is
    asked for. Whatever the order of the two, the whole is redacted before it is cut, so no cut leaves half a secret.
    `to_context_chunk` redacts by the default policy, and keeps to `max_tokens` by "auto", when nobody asked for either.

    Args:
        tool_call_id: The id of the call that this is the result of.
        raw_result: Any value: str, bytes, dict, list, dataclass, pydantic model, exception, None, things that JSON has
            no form for, values inside themselves. A list of content parts with images or audio among them stays one:
            its texts are worked on, the other parts pass as they are.
        max_tokens: The tokens that its text may take, the marker of what is missing included.
        tokenizer: What counts them; `o200k_base` unless given.
        redactor: The policy; the default one unless given.
        is_error: The tool failed; an exception says so itself.

    Raises:
        ConfigError: An argument is not as it must be.

    >>> token = "ghp_" + "aB3dE6gH9jK1" * 3
    >>> envelope = ToolResultEnvelope("call_7a3f", {"status": 200, "token": token}, max_tokens=1500)
    >>> envelope.trim(strategy="first_n").redact_secrets().to_context_chunk()
    {'role': 'tool', 'tool_call_id': 'call_7a3f', 'content': '{"status": 200, "token": "[GITHUB_TOKEN:REDACTED]"}'}
    >>> [secret["label"] for secret in envelope._found_secrets]
    ['GITHUB_TOKEN']
    """

    DEFAULT_SECRET_PATTERNS: ClassVar[Sequence[tuple[str, str]]] = (
        (r"""(?:api[_-]?key|api_token|access_token|secret)["'\s:=]+([\w.-]{20,})""", "API_KEY"),
        (r"""(?:password|passwd|pwd)["'\s:=]+([^"'&\s]{4,})""", "PASSWORD"),
        (r"""(?:token|auth)["'\s:=]+([\w.-]{16,})""", "TOKEN"),
        (r"""(?:private[_-]?key|privkey)["'\s:=]+([\w+/=]{32,})""", "PRIVATE_KEY"),
        (r"""(?:bearer|basic)\s+([\w.=-]{16,})""", "AUTH_HEADER"),
        (r"gh[pousr]_[A-Za-z0-9]{36}", "GITHUB_TOKEN"),
        (r"glpat-[\w-]{20,}", "GITLAB_TOKEN"),
        (r"sk-[\w-]{20,}", "OPENAI_KEY"),
    )
    """The seed's labels with a pattern each, to read and to extend. Without `patterns` the built-in rules stand in
    their place: they find more, and leave alone what such patterns take wrongly."""

    __slots__ = ("_outcome", "_redactor", "_trimmer", "_with", "is_error", "max_tokens", "raw_result", "tool_call_id")

    def __init__(
        self,
        tool_call_id: str,
        raw_result: Any,  # noqa: ANN401 - any value at all
        max_tokens: int = 2000,
        *,
        tokenizer: Tokenizer | None = None,
        redactor: Redactor | None = None,
        is_error: bool = False,
    ) -> None:
        self.tool_call_id = arguments.text("tool_call_id", tool_call_id)
        self.raw_result = raw_result
        self.max_tokens = arguments.number("max_tokens", max_tokens, 1)
        self.is_error = is_error or values.is_error(raw_result)
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(redactor)}")
        self._redactor = redactor or default_redactor()
        self._trimmer: dict[str, Any] = {"strategy": "auto"}
        self._with = tokenizer
        self._outcome: list[Trimmed[str]] | None = None

    def trim(
        self,
        strategy: Strategy = "first_n",
        whitelist_fields: Iterable[str] | None = None,
        *,
        patterns: Iterable[str] = (),
        hint: str | None = None,
    ) -> Self:
        """Says how the result is to be shortened; see `Trimmer` for the strategies. Returns the envelope.

        Args:
            strategy: "first_n", "field_whitelist" and "summary" as in the seed, and the others of `Trimmer`.
            whitelist_fields: The fields that "field_whitelist" keeps, also as paths: `items.*.id`. A result that is no
                JSON is cut by its lines instead, and the report says so.
            patterns: What is asked for, and kept before anything else; see `Trimmer`.
            hint: What the marker says about getting the rest.
        """
        fields = [] if whitelist_fields is None else arguments.strings("whitelist_fields", whitelist_fields)
        if strategy == "field_whitelist" and not fields:
            raise ConfigError("whitelist_fields is empty: field_whitelist would keep nothing")
        arguments.one_of("strategy", strategy, Strategy.__args__)  # type: ignore[attr-defined]
        wanted = arguments.strings("patterns", patterns)
        self._trimmer = {"strategy": strategy, "fields": fields, "patterns": wanted, "hint": hint}
        self._outcome = None
        return self

    def redact_secrets(self, patterns: Iterable[tuple[str, str]] | None = None) -> Self:
        """Redacts, with `patterns` beside the rules when they are given. Returns the envelope.

        Args:
            patterns: Pairs of a regular expression (of Rust's regex crate: no look-around; in either case) and a label
                such as "ORDER_ID". Its first group is the secret when it has one, else all of the match.

        Raises:
            RuleError: A pattern cannot be compiled.
        """
        if patterns is not None and patterns is not self.DEFAULT_SECRET_PATTERNS:
            self._redactor = _compiled(_pairs(patterns))
        self._outcome = None
        return self

    def to_context_chunk(self, *, unredacted: bool = False) -> dict[str, Any]:
        """The result as an OpenAI tool message: within its budget, redacted, tied to its call.

        The result of a tool that failed begins with `[error] `. `unredacted` leaves the secrets in: what the model
        sees, others may see. Raises `BudgetError` when not even the marker of what is missing fits `max_tokens`.
        """
        outcome = self._made(None) if unredacted else self._texts()
        texts = [one.text for one in outcome]
        content: Any = texts[0] if texts else ""
        if (parts := values.parts(self.raw_result)) is not None:
            rest = iter(texts)
            content = [part if values.text_of(part) is None else {**part, "text": next(rest)} for part in parts]
        elif self.is_error and not content.startswith(_ERROR):
            content = _ERROR + content
        return {"role": "tool", "tool_call_id": self.tool_call_id, "content": content}

    def audit_report(self) -> dict[str, Any]:
        """What was detected and what was lost, without content.

        The seed's keys (tool_call_id, redacted, found_secrets, original_size and trimmed_size in characters), with
        is_error, tokens, and the `Loss` of each text as a dict under "loss".
        """
        outcome = self._texts()
        return {
            "tool_call_id": self.tool_call_id,
            "redacted": self._redacted,
            "found_secrets": self._found_secrets,
            "original_size": sum(len(text) for text in self._sources()),
            "trimmed_size": sum(len(one.text) for one in outcome),
            "is_error": self.is_error,
            "tokens": sum(one.loss.tokens for one in outcome),
            "loss": [one.loss._asdict() for one in outcome],
        }

    @property
    def loss(self) -> Loss | None:
        """What was lost of the (first) text; None when there is none."""
        return next((one.loss for one in self._texts()), None)

    @property
    def _found_secrets(self) -> list[dict[str, str]]:
        found: list[Replaced] = [replaced for one in self._texts() for replaced in one.replaced]
        return [replaced._asdict() for replaced in found]

    @property
    def _redacted(self) -> bool:
        return any(one.replaced for one in self._texts())

    @property
    def _trimmed(self) -> str | None:
        return next((one.text for one in self._texts()), None)

    def _sources(self) -> list[str]:
        parts = values.parts(self.raw_result)
        if parts is None:
            return [values.serialize(self.raw_result)]
        return [text for part in parts if (text := values.text_of(part)) is not None]

    def _texts(self) -> list[Trimmed[str]]:
        if self._outcome is None:
            self._outcome = self._made(self._redactor)
        return self._outcome

    def _made(self, redactor: Redactor | None) -> list[Trimmed[str]]:
        sources = self._sources()
        room = self.max_tokens
        if self.is_error and values.parts(self.raw_result) is None:
            room = max(1, room - _ERROR_TOKENS)
        made = []
        for at, source in enumerate(sources):
            # What one text leaves of its share, the next ones may take.
            share = max(1, room // (len(sources) - at))
            trimmer = Trimmer(share, tokenizer=self._with, redactor=redactor, **self._trimmer)
            made.append(trimmer.trim(source))
            room -= made[-1].loss.tokens
        return made

    def __repr__(self) -> str:
        return (
            f"<ToolResultEnvelope: {self.tool_call_id!r}, {type(self.raw_result).__name__}, {self.max_tokens} tokens>"
        )


_ERROR = "[error] "
_ERROR_TOKENS = 4


def _pairs(patterns: object) -> tuple[tuple[str, str], ...]:
    pairs = []
    for at, pair in enumerate(arguments.several("patterns", patterns, "(expression, label)")):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ConfigTypeError(f"patterns[{at}] is an expression and a label, not {shown(pair)}")
        pairs.append((arguments.text(f"patterns[{at}][0]", pair[0]), arguments.text(f"patterns[{at}][1]", pair[1])))
    return tuple(pairs)


@lru_cache(maxsize=64)
def _compiled(pairs: tuple[tuple[str, str], ...]) -> Redactor:
    quoted = [(json.dumps(f"(?i){pattern}"), json.dumps(label)) for pattern, label in pairs]
    rules = "".join(
        f'[[rule]]\nid = "envelope-{at}"\nlabel = {label}\nname = "Pattern of the caller"\npattern = {pattern}\n'
        for at, (pattern, label) in enumerate(quoted)
    )
    return redactor_with("patterns", rules)
