"""A budget of tokens for what a model is sent: groups of messages go by priority, and nothing goes unsaid."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ctxproto import _core, arguments
from ctxproto.errors import BudgetError, ConfigError, ConfigTypeError, shown
from ctxproto.tokens import Tokenizer, default_tokenizer
from ctxproto.tools.redact import Redactor, default_redactor
from ctxproto.tools.trim import STRATEGIES, counting

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Self

    from ctxproto.tokens import SdkObject

__all__ = ["CATEGORIES", "BudgetChange", "BudgetReport", "TokenBudget"]

CATEGORIES: Mapping[str, int] = {
    "system": 0,
    "user_messages": 0,
    "tool_results": 1,
    "task_state": 1,
    "memory": 2,
    "history": 3,
}
"""The categories and their priorities: 0 is critical and never goes, 3 goes first."""

# What is shortened before it goes, and how. Instructions and what the user asks are not: half of them is another order.
_SHORTENED = {"tool_results": "auto", "task_state": "auto", "memory": "auto", "history": "auto"}
# It keeps fields, which are those of one tool.
_STRATEGIES = tuple(name for name in STRATEGIES if name != "field_whitelist")


class BudgetChange(NamedTuple):
    """What was done to messages, and why; groups of one category that went one after the other are told together.

    Args:
        action: "dropped"; "shortened" (their texts were trimmed); "cut" (calls that nobody answered were taken out of
            a message); "moved" (a late result was put to its call).
        reason: "budget"; "leading" (what they reply to was dropped); "orphan" (a result of no call); "duplicate" (a
            second result of a call); "unanswered" (calls without a result, and more came after them); "late".
        messages: The indices of the messages in what was given.
        category: Their category: that of the first.
        tokens_before: What they took.
        tokens: What they take now.
    """

    action: Literal["dropped", "shortened", "cut", "moved"]
    reason: Literal["budget", "leading", "orphan", "duplicate", "unanswered", "late"]
    messages: tuple[int, ...]
    category: str
    tokens_before: int
    tokens: int


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """What a `flush` did: numbers, no content.

    Args:
        max_tokens: The budget.
        reserve: What of it is kept for the answer.
        tokens_before: What everything took: messages, tools, and what stands around them.
        tokens: What it takes now; `max_tokens - reserve` at most.
        changes: What was done, in the order of the messages; empty when nothing was.
        first_changed: The index of the first message that is not what it was: from there on a provider's prompt cache
            has to read again. None when nothing changed.
    """

    max_tokens: int
    reserve: int
    tokens_before: int
    tokens: int
    changes: tuple[BudgetChange, ...]
    first_changed: int | None


class TokenBudget:
    """Keeps what is sent to a model within a number of tokens (seed 000, section 6).

    Messages are those of OpenAI's chat API; `ctxproto.messages` converts the others. Tool calls and their results
    stay or go together: no result stays without its call, and no call without its result but at the end, where it is
    pending. When all of it is too much, whole groups go: those of the lowest priority first (3 before 2 before 1), the
    oldest first within one. The group at which enough has gone is shortened instead, by the strategy of its
    category. Never dropped are critical groups (priority 0), pending calls, and the last group, which the model is to
    go on from; of these, what has a strategy is shortened when nothing else is left. What the model said is never
    shortened, and a conversation that begins with its user still does afterwards. What is not touched are the same
    objects as before.

    Counts are those of `Tokenizer.count_messages`: exact for texts, an estimate for images and files. A text that was
    counted before costs its hash.

    Args:
        max_tokens: The size of the model's window, or what of it you want to use.
        reserve: Tokens of it that are kept free for the answer.
        tools: The definitions of the tools that are sent along; they take tokens, too.
        tokenizer: What counts; `o200k_base` unless given.
        redactor: Redacts texts before they are shortened; the default policy unless given. None leaves secrets in.
        strategies: How the texts of a category are shortened, where that is not the default: one of
            `ctxproto.tools.trim`'s strategies but "field_whitelist", or None for not at all. By default "system" and
            "user_messages" are not, and all others are by "auto".
        stride: Above 0, groups go in steps of so many tokens, and none is shortened but those that cannot go. A
            conversation that grows is then cut at the same place for many calls, and a provider's prompt cache
            stays warm meanwhile. A quarter of `max_tokens` is a good one.

    Raises:
        ConfigError: An argument is not as it must be.
        BudgetError: `reserve` and `tools` alone take more than `max_tokens`.

    >>> budget = TokenBudget(max_tokens=100)
    >>> chat = [{"role": "system", "content": "You are terse."}]
    >>> chat += [{"role": "user", "content": "Tell me more. " * 20}, {"role": "assistant", "content": "No. " * 10}]
    >>> chat += [{"role": "user", "content": "Why?"}]
    >>> [message["content"] for message in budget.flush(chat)]
    ['You are terse.', 'Why?']
    >>> budget.report.tokens, f"{budget.utilization:.0%}", budget.report.first_changed
    (17, '17%', 1)
    >>> for change in budget.report.changes:
    ...     print(change.action, change.reason, change.messages, change.tokens_before)
    dropped budget (1,) 85
    dropped leading (2,) 25
    """

    __slots__ = ("_allocations", "_core", "_fixed", "_max_tokens", "_priorities", "_report", "_reserve", "_stride")

    def __init__(
        self,
        max_tokens: int = 8000,
        *,
        reserve: int = 0,
        tools: Iterable[Mapping[str, Any]] = (),
        tokenizer: Tokenizer | None = None,
        redactor: Redactor | Literal["default"] | None = "default",
        strategies: Mapping[str, str | None] | None = None,
        stride: int = 0,
    ) -> None:
        self._max_tokens = arguments.number("max_tokens", max_tokens, 1)
        self._reserve = arguments.number("reserve", reserve, 0)
        self._stride = arguments.number("stride", stride, 0)
        tokenizer = default_tokenizer() if tokenizer is None else tokenizer
        counter = counting("tokenizer", tokenizer)
        if issubclass(type(redactor), str) and str.__str__(redactor) == "default":
            redactor = default_redactor()
        if redactor is not None and not isinstance(redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor or None, not {shown(redactor)}")
        self._fixed = tokenizer.count_messages([], tools).total - tokenizer.count_messages([]).total
        if self._reserve + self._fixed > self._max_tokens:
            raise BudgetError(
                f"reserve ({self._reserve}) and tools ({self._fixed}) take more than max_tokens ({self._max_tokens})",
                self._reserve + self._fixed,
            )
        self._core = _core.Flusher(counter, _shortened(strategies), redactor)
        self._allocations: dict[str, int] = {}
        self._priorities = dict(CATEGORIES)
        self._report: BudgetReport | None = None

    def fresh(self) -> Self:
        """Another one with the same settings, and nothing registered: an account for one call."""
        other = copy.copy(self)
        other._allocations, other._priorities, other._report = {}, dict(CATEGORIES), None  # noqa: SLF001 - its own
        return other

    def register(self, category: str, tokens: int, priority: int = 0) -> bool:
        """Puts tokens of a category on the account; the category has this priority from now on.

        It is always recorded, and `flush` is what enforces. The first one after a `flush` begins a new account.

        Args:
            category: One of `CATEGORIES`, or a name of your own.
            tokens: How many.
            priority: 0 critical (system prompt, current user message), 1 high (tool results, task state), 2 medium
                (memory), 3 low (history).

        Returns:
            Whether all that is registered fits.

        >>> budget = TokenBudget(max_tokens=1000, reserve=200)
        >>> budget.register("system", 300), budget.register("memory", 600, priority=2), budget.utilization
        (True, False, 0.9)
        """
        name = arguments.utf8("category", category)
        tokens = arguments.number("tokens", tokens, 0)
        priority = arguments.number("priority", priority, 0)
        if priority > _LAST:
            raise ConfigError(
                f"priority is an int from 0 to {_LAST}, not {priority if priority < 10**9 else 'this one'}"
            )
        if self._report is not None:
            self._allocations, self._priorities, self._report = {}, dict(CATEGORIES), None
        self._allocations[name] = self._allocations.get(name, 0) + tokens
        self._priorities[name] = priority
        return sum(self._allocations.values()) + self._fixed <= self._max_tokens - self._reserve

    def flush(
        self,
        messages: Iterable[Mapping[str, Any] | SdkObject],
        categories: Iterable[str | None] | None = None,
        *,
        cached: int = 0,
    ) -> list[Any]:
        """The messages that fit: a new list, in the order that was given.

        Args:
            messages: Chat messages in OpenAI's form, as dicts or as the objects of its SDK. They are not changed.
            categories: The category of each message, or None for the one of its place: "system" for system
                and developer messages, "user_messages" for the last user message, "tool_results" for calls and results
                after it, "history" for the rest. A group has the most important priority of its members.
            cached: How many of the first messages are in a provider's prompt cache: they are touched when nothing
                else is left.

        Raises:
            BudgetError: What must stay does not fit. The message names what it takes, category by category.
            ConfigError: An argument is not as it must be.
        """
        given = arguments.several("messages", messages, "messages")
        names = None if categories is None else self._names(categories, len(given))
        kept, before, after, changes, first = self._core.flush(
            given,
            names,
            self._priorities,
            self._max_tokens - self._reserve,
            self._fixed,
            stride=self._stride,
            cached=arguments.number("cached", cached, 0),
        )
        told = tuple(map(BudgetChange._make, changes))
        self._report = BudgetReport(self._max_tokens, self._reserve, before, after, told, first)
        return kept

    @property
    def report(self) -> BudgetReport | None:
        """What the last `flush` did; None when there was none, or when something was registered since."""
        return self._report

    @property
    def max_tokens(self) -> int:
        """The budget."""
        return self._max_tokens

    @property
    def utilization(self) -> float:
        """The share of `max_tokens` that is taken: by what `flush` returned, or by what is registered before it."""
        used = sum(self._allocations.values()) + self._fixed if self._report is None else self._report.tokens
        return used / self._max_tokens

    def _names(self, categories: Iterable[str | None], count: int) -> Sequence[str | None]:
        names = arguments.several("categories", categories, "str or None")
        if len(names) != count:
            raise ConfigError(f"categories has one for each message, {count}, not {len(names)}")
        with suppress(Exception):  # told below: a stranger's hash may fail
            if self._priorities.keys() >= {*names} - {None} and {type(name) for name in names} <= {str, type(None)}:
                return names  # type: ignore[return-value]
        known = tuple(self._priorities)
        return [
            None if name is None else arguments.one_of(f"categories[{at}]", name, known, " or one that is registered")
            for at, name in enumerate(names)
        ]

    def __repr__(self) -> str:
        return f"<TokenBudget: {self._max_tokens} tokens, {self.utilization:.0%} used>"


_LAST = 3


def _shortened(strategies: Mapping[str, str | None] | None) -> dict[str, str]:
    """The strategy of each category that has one."""
    chosen: dict[str, str | None] = dict(_SHORTENED)
    if strategies is not None:
        if not issubclass(type(strategies), Mapping):
            raise ConfigTypeError(f"strategies is a mapping of categories to strategies, not {shown(strategies)}")
        for key, value in dict(strategies).items():
            category = arguments.utf8("a key of strategies", key)
            where = f"strategies[{category!r}]" if category in CATEGORIES else "a value of strategies"
            chosen[category] = None if value is None else arguments.one_of(where, value, _STRATEGIES, " or None")
    return {category: strategy for category, strategy in chosen.items() if strategy is not None}
