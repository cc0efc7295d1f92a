"""The envelope around a tool's result: what reaches the model was redacted and trimmed."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ctxproto import arguments
from ctxproto.errors import BudgetError, ConfigError, ConfigTypeError, shown
from ctxproto.tokens import Tokenizer, default_tokenizer
from ctxproto.tools import values
from ctxproto.tools.parts import Part, parts
from ctxproto.tools.parts import is_error as tells_error
from ctxproto.tools.redact import Redactor, default_redactor
from ctxproto.tools.trim import STRATEGIES, Loss, Replaced, Strategy, Trimmed, Trimmer, counting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

__all__ = ["ToolResultEnvelope"]


class ToolResultEnvelope:
    """A tool's result on its way to the model: redacted, trimmed, tied to its call (seed 000, section 3).

    `trim` and `redact_secrets` say what is wanted and return the envelope; the work is done once, when its outcome is
    asked for. Whatever the order of the two, the whole is redacted before it is cut, so no cut leaves half a secret.
    `to_context_chunk` redacts by the default policy, and keeps to `max_tokens` by "auto", when nobody asked for either.

    Args:
        tool_call_id: The id of the call that this is the result of.
        raw_result: Any value: str, bytes, dict, list, dataclass, pydantic model, exception, None, things that JSON has
            no form for, values inside themselves. A list of content parts with images, audio or files among them, one
            such part, and an MCP server's answer stay parts: their texts (those of documents and resources too) are
            redacted and share `max_tokens`, all other strings are redacted, and base64 media passes as it is.
        max_tokens: The tokens that its text may take, all that is added to it included.
        tokenizer: What counts them; `o200k_base` unless given.
        redactor: The policy; the default one unless given.
        is_error: The tool failed; an exception and an MCP answer with `isError` say so themselves.

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

    __slots__ = (
        "__weakref__", "_is_error", "_outcome", "_redactor", "_tokenizer", "_trimmer", "max_tokens", "raw_result",
        "tool_call_id",
    )  # fmt: skip

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
        if not isinstance(is_error, bool):
            raise ConfigTypeError(f"is_error is True or False, not {shown(is_error)}")
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(redactor)}")
        self._is_error = is_error or tells_error(raw_result)
        self._redactor = redactor or default_redactor()
        self._tokenizer = default_tokenizer() if tokenizer is None else tokenizer
        self._trimmer: dict[str, Any] = {"strategy": "auto"}
        counting("tokenizer", self._tokenizer)
        self._outcome: _Outcome | None = None

    @property
    def is_error(self) -> bool:
        """Whether the tool failed: the model is told so."""
        return self._is_error

    @is_error.setter
    def is_error(self, failed: bool) -> None:
        self._is_error, self._outcome = failed, None

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
        arguments.one_of("strategy", strategy, STRATEGIES)
        fields = [] if whitelist_fields is None else arguments.strings("whitelist_fields", whitelist_fields)
        if strategy == "field_whitelist" and not fields:
            raise ConfigError("whitelist_fields is empty: field_whitelist would keep nothing")
        before = self._trimmer
        try:
            self._trimmer = {
                "strategy": arguments.text("strategy", strategy),
                "fields": tuple(fields),
                "patterns": tuple(arguments.strings("patterns", patterns)),
                "hint": None if hint is None else arguments.utf8("hint", hint),
            }
            # What is wrong is told where it is given.
            self._trimmer_for(self.max_tokens, self._redactor)
        except BaseException:
            self._trimmer = before
            raise
        self._outcome = None
        return self

    def redact_secrets(self, patterns: Iterable[tuple[str, str]] | None = None) -> Self:
        """Redacts, with `patterns` beside the rules when they are given. Returns the envelope.

        Args:
            patterns: As in `Redactor.with_patterns`; those of several calls add up.

        Raises:
            RuleError: A pattern cannot be compiled.
        """
        if patterns is not None and patterns is not self.DEFAULT_SECRET_PATTERNS:
            self._redactor = self._redactor.with_patterns(patterns)
        self._outcome = None
        return self

    def to_context_chunk(self, *, unredacted: bool = False) -> dict[str, Any]:
        """The result as an OpenAI tool message: within its budget, redacted, tied to its call.

        The result of a tool that failed begins with `[error] `. `unredacted` leaves the secrets in: what the model
        sees, others may see. Raises `BudgetError` when not even the marker of what is missing fits `max_tokens`.
        """
        outcome = self._made(None) if unredacted else self._made_once()
        content = list(outcome.content) if isinstance(outcome.content, list) else outcome.content
        return {"role": "tool", "tool_call_id": self.tool_call_id, "content": content}

    def audit_report(self) -> dict[str, Any]:
        """What was detected and what was lost, without content.

        The seed's keys (tool_call_id, redacted, found_secrets, original_size and trimmed_size in characters), with
        is_error, tokens, and the `Loss` of each text as a dict under "loss".
        """
        outcome = self._made_once()
        return {
            "tool_call_id": self.tool_call_id,
            "redacted": self._redacted,
            "found_secrets": self._found_secrets,
            "original_size": outcome.size,
            "trimmed_size": sum(len(one.text) for one in outcome.texts),
            "is_error": self.is_error,
            "tokens": sum(one.loss.tokens for one in outcome.texts),
            "loss": [one.loss._asdict() for one in outcome.texts],
        }

    @property
    def loss(self) -> Loss | None:
        """What was lost of the (first) text; None when there is none."""
        return next((one.loss for one in self._made_once().texts), None)

    @property
    def _found_secrets(self) -> list[dict[str, str]]:
        outcome = self._made_once()
        found = [replaced for one in outcome.texts for replaced in one.replaced]
        return [replaced._asdict() for replaced in [*found, *outcome.replaced]]

    @property
    def _redacted(self) -> bool:
        return bool(self._found_secrets)

    @property
    def _trimmed(self) -> str | None:
        return next((one.text for one in self._made_once().texts), None)

    def _made_once(self) -> _Outcome:
        if self._outcome is None:
            self._outcome = self._made(self._redactor)
        return self._outcome

    def _made(self, redactor: Redactor | None) -> _Outcome:
        taken = parts(self.raw_result)
        if taken is None:
            source = values.serialize(self.raw_result)
            (text,) = made = self._shared([source], redactor)
            return _Outcome(text.text, made, [], len(source))
        if self.is_error and not taken[0].is_text:
            # The mark needs a place.
            taken.insert(0, Part.of(""))
        sources = [text for part in taken for _, text in part.texts]
        made = self._shared(sources, redactor)
        texts, content, replaced = iter(made), [], []
        for part in taken:
            frame = part.frame
            if redactor is not None:
                redacted = redactor.redact_json(frame)
                frame = redacted.value
                replaced += [Replaced(one.label, one.rule, one.fingerprint) for one in redacted.findings]
            content.append(part.filled(frame, [next(texts).text for _ in part.texts]))
        return _Outcome(content, made, replaced, sum(map(len, sources)))

    def _shared(self, sources: list[str], redactor: Redactor | None) -> list[Trimmed[str]]:
        """The texts within `max_tokens` together, the first with the mark of an error."""
        made: dict[int, Trimmed[str]] = {}
        room, short = self.max_tokens, ""
        # The shortest first: what they leave of their shares, the longer ones may take.
        for at in sorted(range(len(sources)), key=lambda at: len(sources[at])):
            share = room // (len(sources) - len(made))
            try:
                made[at] = (self._marked if self.is_error and at == 0 else self._within)(sources[at], share, redactor)
            except BudgetError as error:
                needed = error.needed or share + 1
                short = f"{needed} are needed" + (f" for one of {len(sources)} texts" if len(sources) > 1 else "")
                break
            room -= made[at].loss.tokens
        if short:
            raise BudgetError(f"a budget of {self.max_tokens} tokens is too small: {short}", needed)
        return [made[at] for at in range(len(sources))]

    def _marked(self, source: str, most: int, redactor: Redactor | None) -> Trimmed[str]:
        """The text behind the mark of an error, both within the budget."""
        if source.startswith(_ERROR):
            return self._within(source, most, redactor)
        taken = self._tokenizer.count(_ERROR.rstrip())
        room, needed = most - taken, 1
        while room >= 0:
            try:
                made = self._within(source, room, redactor)
            except BudgetError as error:
                needed = error.needed or needed
                break
            text = _ERROR + made.text if made.text else _ERROR.rstrip()
            tokens = self._tokenizer.count(text)
            if tokens <= most:
                return Trimmed(text, made.loss._replace(tokens=tokens), made.replaced)
            room -= tokens - most
        raise BudgetError("not even the mark of an error fits", taken + needed)

    def _within(self, source: str, most: int, redactor: Redactor | None) -> Trimmed[str]:
        return self._trimmer_for(most, redactor).trim(source)

    def _trimmer_for(self, most: int, redactor: Redactor | None) -> Trimmer:
        return _trimmer(most, tokenizer=self._tokenizer, redactor=redactor, **self._trimmer)

    def __repr__(self) -> str:
        return (
            f"<ToolResultEnvelope: {self.tool_call_id!r}, {type(self.raw_result).__name__}, {self.max_tokens} tokens>"
        )


# Results of one policy are trimmed alike, and checking how takes as long as trimming a short one.
@lru_cache(maxsize=64)
def _trimmer(most: int, **options: Any) -> Trimmer:  # noqa: ANN401 - see Trimmer
    return Trimmer(most, **options)


class _Outcome(NamedTuple):
    """What came of a result: the message's content, its texts, the values replaced elsewhere, characters given."""

    content: Any
    texts: list[Trimmed[str]]
    replaced: list[Replaced]
    size: int


_ERROR = "[error] "
