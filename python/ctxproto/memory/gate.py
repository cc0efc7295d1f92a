"""The gate between an agent and its memory: nothing is read and nothing written unless it is asked for and fit."""

from __future__ import annotations

import math
import re
import threading
from dataclasses import dataclass, field
from datetime import datetime
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from ctxproto import _core, arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown
from ctxproto.memory.namespaces import AnyNamespace, AnyScope, Namespace, Scope, component, namespace_of
from ctxproto.tokens import Tokenizer, default_tokenizer
from ctxproto.tools.redact import Redactor, default_redactor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["MemoryContextGate", "MemoryEntry", "MemoryQueryResult", "WriteVerdict"]

Provenance: TypeAlias = Literal["agent", "user", "tool", "system", "recalled"]
PROVENANCES: tuple[str, ...] = ("agent", "user", "tool", "system", "recalled")


@dataclass
class MemoryEntry:
    """A memory as it is kept (seed 000, section 2).

    Args:
        namespace: Whose it is, in the string form of `Namespace`.
        content: What is remembered.
        embedding: Its vector, when it has one.
        relevance_score: How well it fits the query that found it, 0 to 1.
        timestamp: When it was made; local time without a zone, as the seed has it.
    """

    namespace: str
    content: str
    embedding: list[float] | None = None
    relevance_score: float = 0.0
    timestamp: datetime = field(default_factory=datetime.now)


@dataclass
class MemoryQueryResult:
    """A memory that a search found (seed 000, section 4).

    Args:
        content: What is remembered.
        relevance_score: How well it fits, 0 to 1.
        namespace: Whose it is, in the string form of `Namespace`.
        memory_id: Its id in the store.
    """

    content: str
    relevance_score: float
    namespace: str
    memory_id: str


class WriteVerdict(NamedTuple):
    """What the gate says of something that is to be remembered; true when it may be.

    Args:
        accepted: Whether it may be written.
        rule: The rule that decided: "accepted", "secret", "fragment", "too_long", "low_density", "raw_log",
            "reasoning", "chatter", "echo", "duplicate", or "merge": accepted, in the place of what it nearly repeats.
        reason: The rule in words, with its numbers; nothing of the content.
        content: What to write: the content as the redactor leaves it; empty when rejected.
        labels: The labels of what was redacted.
        repeats: The place in `existing` of what it repeats, for "duplicate" and "merge".
    """

    accepted: bool
    rule: str
    reason: str
    content: str = ""
    labels: tuple[str, ...] = ()
    repeats: int | None = None

    def __bool__(self) -> bool:
        return self.accepted

    def __repr__(self) -> str:
        return f"<WriteVerdict: {self.rule}, {self.reason}>"


class MemoryContextGate:
    """Decides what is read from memory, what is written to it, and in whose namespace (seed 000, section 4).

    By default nothing is: a memory is read when it is visible, relevant and fits; a text is written when no rule is
    against it. Any thread may call it.

    Args:
        relevance_threshold: The least score of a memory that is read, 0 to 1.
        max_memory_tokens: The tokens that all memories of one read may take together, joined by newlines.
        tokenizer: What counts them; `o200k_base` unless given.
        redactor: What texts go through before they are written; the default policy unless given.

    Raises:
        ConfigError: An argument is not as it must be.

    >>> gate = MemoryContextGate(relevance_threshold=0.75, max_memory_tokens=1000)
    >>> namespace = gate.resolve_namespace(user_id="42", session_id="abc", task_id="1")
    >>> namespace, gate.get_namespace_prefix("42")
    ('user_42:session_abc:task_1', 'user_42:')
    >>> found = [MemoryQueryResult("Prefers pip-tools.", 0.9, "user_42", "m1"),
    ...     MemoryQueryResult("Likes tea.", 0.6, "user_42", "m2"),
    ...     MemoryQueryResult("Of somebody else.", 0.99, "user_421", "m3")]
    >>> gate.should_read("dependency management", namespace, found)
    (True, 0.9, [MemoryQueryResult(content='Prefers pip-tools.', ..., namespace='user_42', memory_id='m1')])
    >>> gate.should_write("Project X uses pip-tools, with hashes for every requirement.", namespace)
    True
    >>> gate.stats
    {'reads': 1, 'writes': 1, 'read_threshold': 0.75, 'max_memory_tokens': 1000}
    """

    def __init__(
        self,
        relevance_threshold: float = 0.75,
        max_memory_tokens: int = 1000,
        *,
        tokenizer: Tokenizer | None = None,
        redactor: Redactor | None = None,
    ) -> None:
        self.relevance_threshold = share("relevance_threshold", relevance_threshold)
        self.max_memory_tokens = arguments.number("max_memory_tokens", max_memory_tokens, 0)
        if tokenizer is not None and not isinstance(tokenizer, Tokenizer):
            raise ConfigTypeError(f"tokenizer is a Tokenizer, not {shown(tokenizer)}")
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(redactor)}")
        self._tokenizer = tokenizer or default_tokenizer()
        self._redactor = redactor or default_redactor()
        self._lock = threading.Lock()
        self._read_count = 0
        self._write_count = 0

    def should_read(
        self, query: str, namespace: AnyScope, memories: Iterable[MemoryQueryResult]
    ) -> tuple[bool, float, list[MemoryQueryResult]]:
        """Which of the memories that a search found may be read.

        Kept are those that are visible from `namespace`, score at least the threshold, and fit: the best first, equal
        ones in the order they came. One that does not fit is skipped; those after it still may. The kept ones, joined
        by newlines, never have more than `max_memory_tokens` tokens.

        Args:
            query: What was searched for.
            namespace: The reader. From a namespace, its own memories and those above it are visible: a task reads its
                own, its session's and its user's, and not those of another task or session, whatever the search
                found (seed 000, section 4: "visible only within the current task"). What is to be known everywhere
                is written to the user's namespace. To read all that a search of `user_42:` found, other sessions
                too, pass that prefix here as well.
            memories: Candidates. One without a valid namespace or with a score that is no number is left out.

        Returns:
            Whether anything is to be read, the best score (0.0 when nothing is), and the memories.

        Raises:
            ConfigError: An argument is not as it must be.
        """
        arguments.text("query", query)
        fit = self._fitting(Scope.of(namespace), arguments.several("memories", memories, "memories"))
        # Reversed, equal ones stay in their order, too.
        fit.sort(key=itemgetter(0), reverse=True)
        selected = self._within_budget(fit)
        if not selected:
            return False, 0.0, []
        with self._lock:
            self._read_count += 1
        return True, selected[0][0], [memory for _, _, memory in selected]

    def _fitting(self, scope: Scope, memories: Sequence[Any]) -> list[_Candidate]:
        """Those that are visible and relevant enough; what a store gives is looked at once."""
        found: list[_Candidate] = []
        seen: dict[str, bool] = {}
        for at, memory in enumerate(memories):
            try:
                score, text, theirs = memory.relevance_score, memory.content, memory.namespace
            except Exception:  # noqa: BLE001 - an object that is none may fail in any way
                text = None
            if type(text) is not str:
                text = _content_of(at, memory, text)
            if type(score) is not float:
                score = _number(score)
            # What is no number is not between any.
            if not self.relevance_threshold <= score < math.inf:
                continue
            if type(theirs) is not str:
                visible = _visible(scope, theirs)
            elif (known := seen.get(theirs)) is None:
                visible = seen[theirs] = _visible(scope, theirs)
            else:
                visible = known
            if visible:
                found.append((score, text, memory))
        return found

    def _within_budget(self, candidates: list[_Candidate]) -> list[_Candidate]:
        # Mostly all of them fit, and the text that they make is known from the call before.
        if sum(len(text) for _, text, _ in candidates) <= _TOKEN_MAX * self.max_memory_tokens and (
            self._joined(candidates) <= self.max_memory_tokens
        ):
            return candidates
        selected: list[_Candidate] = []
        # As it is put into the prompt: tokens reach over the borders, so the parts' sum is only a bound for the whole.
        used, exact = 0, True
        counts = self._tokenizer.count_many([text for _, text, _ in candidates])
        for one, alone in zip(candidates, counts, strict=True):
            if used + alone + 1 <= self.max_memory_tokens:
                selected.append(one)
                used, exact = used + alone + 1, False
                continue
            used, exact = used if exact else self._joined(selected), True
            # Cheap first: what has too many tokens by itself is not tried.
            if used + alone <= self.max_memory_tokens and (
                (tokens := self._joined([*selected, one])) <= self.max_memory_tokens
            ):
                selected.append(one)
                used = tokens
        while not exact and self._joined(selected) > self.max_memory_tokens:  # no tokenizer known does so
            selected.pop()
        return selected

    def _joined(self, selected: list[_Candidate]) -> int:
        return self._tokenizer.count("\n".join([text for _, text, _ in selected]))

    def should_write(self, content: str, namespace: AnyNamespace) -> bool:
        """Whether `content` may be written; `judge_write` says why, and what to write.

        Raises:
            ConfigError: An argument is not as it must be.
        """
        return self.judge_write(content, namespace).accepted

    def judge_write(
        self,
        content: str,
        namespace: AnyNamespace,
        *,
        provenance: Provenance = "agent",
        seen: Iterable[str] = (),
        existing: Iterable[MemoryQueryResult | MemoryEntry | str] = (),
    ) -> WriteVerdict:
        """Redacts what is to be remembered and judges it; the first rule that is against it decides.

        Args:
            content: What is to be remembered.
            namespace: Whose it will be: one namespace, no prefix.
            provenance: Who said it. What the system prompt said or memory recalled is never written again.
            seen: Texts that were put before the model, such as the system prompt and recalled memories: what only
                repeats one of them is an echo.
            existing: What the namespace remembers already: what says the same in the same words is a duplicate, what
                says it in nearly the same words is to be merged with it.

        Raises:
            ConfigError: An argument is not as it must be.
        """
        text = _utf8(arguments.text("content", content))
        Namespace.checked("namespace", namespace)
        who = arguments.one_of("provenance", provenance, PROVENANCES)
        before = [
            _utf8(arguments.text(f"seen[{at}]", one)) for at, one in enumerate(arguments.several("seen", seen, "str"))
        ]
        there = [_utf8(_content(at, one)) for at, one in enumerate(arguments.several("existing", existing, "memories"))]
        verdict = self._judged(text, who, before, there)
        if verdict.accepted:
            with self._lock:
                self._write_count += 1
        return verdict

    def _judged(self, raw: str, provenance: str, seen: list[str], existing: list[str]) -> WriteVerdict:
        # The raw length first: nobody waits for the redaction of a dump.
        if len(raw) > _LONGEST:
            return _no("too_long", f"{len(raw):,} characters, {_LONGEST:,} at most: a tool's raw output")
        if (length := _core.judged_length(raw)) < _SHORTEST:
            return _no("fragment", f"{length} characters, {_SHORTEST} at least")
        redaction = self._redactor.redact(raw)
        text, labels = redaction.text, tuple(dict.fromkeys(finding.label for finding in redaction.findings))
        if labels and _core.judged_length(_PLACEHOLDER.sub("", text)) < _SHORTEST:
            return _no("secret", f"hardly more than {len(redaction.findings)} redacted values", labels)
        rule, letters, repeats = _core.judge(text, seen, existing)
        if provenance in {"system", "recalled"} and rule in {"accepted", "merge", "duplicate"}:
            rule, repeats = "echo", None
        reason = _REASONS[rule].format(letters=letters or 0.0, at=repeats)
        if rule in {"accepted", "merge"}:
            return WriteVerdict(True, rule, reason, text, labels, repeats)
        return _no(rule, reason, labels, repeats)

    def resolve_namespace(self, user_id: str, session_id: str | None = None, task_id: str | None = None) -> str:
        """The namespace of a user, a session, a task, in the string form: `user_42:session_abc:task_1`.

        An id may hold anything but control characters; a colon in it stays inside its component. An empty id is a
        `ConfigError`, for it would stand for somebody with more rights; None leaves a tier out.
        """
        return str(self._tiers(("user", user_id), ("session", session_id), ("task", task_id)))

    def get_namespace_prefix(self, user_id: str, session_id: str | None = None) -> str:
        """What stands for a user or a session with all below, in a search: `user_42:`, `user_42:session_abc:`."""
        return self._tiers(("user", user_id), ("session", session_id)).prefix

    def _tiers(self, user: tuple[str, str], *others: tuple[str, str | None]) -> Namespace:
        given = [user, *((tier, name) for tier, name in others if name is not None)]
        return Namespace([f"{tier}_{component(f'{tier}_id', name)}" for tier, name in given])

    @property
    def stats(self) -> dict[str, Any]:
        """How often something was read and accepted for writing, and the limits."""
        with self._lock:
            return {
                "reads": self._read_count,
                "writes": self._write_count,
                "read_threshold": self.relevance_threshold,
                "max_memory_tokens": self.max_memory_tokens,
            }


# Characters of texts that may fit for each token: more are not counted as one.
_TOKEN_MAX = 8
# Characters, without the spaces around; those of a script without spaces count twice. Less is a fragment.
_SHORTEST = 50
_LONGEST = 50_000
_REASONS = {
    "accepted": "no rule is against it",
    "low_density": "{letters:.0%} letters, 30% at least",
    "raw_log": "a tool's output as it came: lines of a log, a trace, a diff, a listing or a JSON dump",
    "reasoning": "half of it or more are steps on the way, no outcome",
    "chatter": "half of it or more is what an assistant says to be polite",
    "echo": "it was put before the model, the model did not find it",
    "duplicate": "existing[{at}] says the same",
    "merge": "nearly what existing[{at}] says",
}
_PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]*:\w+\]|\*{4,}")


def _no(rule: str, reason: str, labels: tuple[str, ...] = (), repeats: int | None = None) -> WriteVerdict:
    return WriteVerdict(accepted=False, rule=rule, reason=reason, labels=labels, repeats=repeats)


def _visible(scope: Scope, namespace: object) -> bool:
    theirs = namespace_of(namespace)
    if theirs is None:
        return False
    return scope.holds(theirs) if scope.below or scope.namespace is None else theirs.covers(scope.namespace)


# The score, the content and the memory.
_Candidate: TypeAlias = tuple[float, str, Any]


def _content_of(at: int, memory: object, content: object) -> str:
    if not issubclass(type(content), str):
        raise ConfigTypeError(f"memories[{at}] is a MemoryQueryResult, not {shown(memory)}")
    return str.__str__(content)


def _number(score: Any) -> float:  # noqa: ANN401 - whatever a backend gives
    try:
        return float(score)
    except Exception:  # noqa: BLE001 - it may fail in any way
        return math.nan


def _utf8(text: str) -> str:
    """The text with a question mark for each lone surrogate."""
    return text if arguments.is_utf8(text) else text.encode("utf-8", "replace").decode()


def _content(at: int, memory: object) -> str:
    text = memory if issubclass(type(memory), str) else getattr(memory, "content", None)
    if not issubclass(type(text), str):
        raise ConfigTypeError(f"existing[{at}] is a memory or its text, not {shown(memory)}")
    return str.__str__(text)


def share(argument: str, value: object) -> float:
    """A number from 0 to 1."""
    if not issubclass(type(value), int | float) or issubclass(type(value), bool):
        raise ConfigTypeError(f"{argument} is a number, not {shown(value)}")
    if not 0 <= value <= 1:  # type: ignore[operator]
        raise ConfigError(f"{argument} is a number from 0 to 1, not this one")
    return float(value)  # type: ignore[arg-type]
