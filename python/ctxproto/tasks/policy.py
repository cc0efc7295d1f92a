"""What a task lets into its context, declared once and enforced by the layers below (seed 000, section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from ctxproto import arguments
from ctxproto.budget import TokenBudget
from ctxproto.errors import ConfigTypeError, shown
from ctxproto.memory.gate import MemoryContextGate
from ctxproto.tokens import Tokenizer, default_tokenizer
from ctxproto.tools.envelope import ToolResultEnvelope
from ctxproto.tools.redact import Redactor, default_redactor
from ctxproto.tools.trim import STRATEGIES, Strategy, Trimmer

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["ContextPolicy", "ToolRule", "default_policy"]


@dataclass(frozen=True, kw_only=True)
class ToolRule:
    """How the results of one tool are trimmed, where that is not as a policy has it for all.

    Args:
        max_tokens: What a result may take; the policy's unless given.
        strategy: One of `Trimmer`'s strategies.
        fields: The fields that "field_whitelist" keeps, as paths.
        patterns: What is kept before anything else; see `Trimmer`.
        hint: What the marker says about getting the rest.

    Raises:
        ConfigError: An argument is not as it must be.
    """

    max_tokens: int | None = None
    strategy: Strategy = "auto"
    fields: Iterable[str] = ()
    patterns: Iterable[str] = ()
    hint: str | None = None

    def __post_init__(self) -> None:
        """Checks all of it."""
        for name in ("fields", "patterns"):
            object.__setattr__(self, name, tuple(arguments.strings(name, getattr(self, name))))
        most = _ANY if self.max_tokens is None else arguments.number("max_tokens", self.max_tokens, 1)
        Trimmer(
            most,
            strategy=self.strategy,
            fields=self.fields,
            patterns=self.patterns,
            hint=self.hint,
            redactor=None,
        )


_ANY = 1000


@dataclass(frozen=True, kw_only=True)
class ContextPolicy:
    """The rules of a task: what is trimmed, redacted, read and written, and how much of it.

    Checked and compiled once; any number of conversations and threads share one.

    Args:
        max_context_tokens: What a context may take.
        reserve: What of it stays free for the answer.
        tools: The definitions of the tools that are sent along; they take tokens, too.
        tokenizer: What counts; `o200k_base` unless given.
        redactor: What everything goes through; the default policy unless given.
        max_tool_tokens: What each tool's result may take.
        tool_strategy: How a result is shortened: one of `Trimmer`'s strategies but "field_whitelist".
        tool_rules: How the results of some tools are, by their names; for calls that are given as `ToolCallRequest`s.
        shorten: How the messages of a category are shortened when the context is too long; see `TokenBudget`.
        stride: Above 0, messages are dropped in steps of so many tokens, for prompt caches; see `TokenBudget`.
        read_memory, write_memory: Whether memory may be read and written at all.
        relevance_threshold: The least relevance of a memory that is read.
        max_memory_tokens: What the memories of one context may take.

    Raises:
        ConfigError: An argument is not as it must be.
        BudgetError: `reserve` and `tools` alone take more than `max_context_tokens`.

    >>> policy = ContextPolicy(max_context_tokens=4000, max_tool_tokens=500, write_memory=False)
    >>> policy.budget().max_tokens, policy.gate().stats["max_memory_tokens"]
    (4000, 1000)
    """

    max_context_tokens: int = 8000
    reserve: int = 0
    tools: Iterable[Mapping[str, Any]] = field(default=(), repr=False)
    tokenizer: Tokenizer | None = None
    redactor: Redactor | None = None
    max_tool_tokens: int = 2000
    tool_strategy: Strategy = "auto"
    tool_rules: Mapping[str, ToolRule] = field(default_factory=dict)
    shorten: Mapping[str, str | None] | None = None
    stride: int = 0
    read_memory: bool = True
    write_memory: bool = True
    relevance_threshold: float = 0.75
    max_memory_tokens: int = 1000
    _budget: TokenBudget = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Checks all of it."""
        for name in ("read_memory", "write_memory"):
            if not isinstance(getattr(self, name), bool):
                raise ConfigTypeError(f"{name} is True or False, not {shown(getattr(self, name))}")
        if self.redactor is not None and not isinstance(self.redactor, Redactor):
            raise ConfigTypeError(f"redactor is a Redactor, not {shown(self.redactor)}")
        # Read once, for they may be a generator.
        object.__setattr__(self, "tools", tuple(arguments.several("tools", self.tools, "tool definitions")))
        arguments.number("max_context_tokens", self.max_context_tokens, 1)
        arguments.number("max_tool_tokens", self.max_tool_tokens, 1)
        budget = TokenBudget(
            self.max_context_tokens,
            reserve=self.reserve,
            tools=self.tools,
            tokenizer=self.tokenizer,
            redactor=self.redact_with,
            strategies=self.shorten,
            stride=self.stride,
        )
        object.__setattr__(self, "_budget", budget)
        self.gate()
        if not issubclass(type(self.tool_rules), Mapping):
            raise ConfigTypeError(f"tool_rules is a mapping of names to ToolRules, not {shown(self.tool_rules)}")
        rules = {arguments.text("a name in tool_rules", name): rule for name, rule in self.tool_rules.items()}
        for rule in rules.values():
            if not isinstance(rule, ToolRule):
                raise ConfigTypeError(f"a rule in tool_rules is a ToolRule, not {shown(rule)}")
        object.__setattr__(self, "tool_rules", rules)
        # The fields that field_whitelist would keep differ from tool to tool.
        arguments.one_of("tool_strategy", self.tool_strategy, [one for one in STRATEGIES if one != "field_whitelist"])
        Trimmer(self.max_tool_tokens, strategy=self.tool_strategy, tokenizer=self.count_with, redactor=None)

    @property
    def redact_with(self) -> Redactor:
        """What everything goes through."""
        return self.redactor or default_redactor()

    @property
    def count_with(self) -> Tokenizer:
        """What counts."""
        return self.tokenizer or default_tokenizer()

    def budget(self) -> TokenBudget:
        """A budget for one context."""
        return self._budget.fresh()

    def gate(self) -> MemoryContextGate:
        """A gate for one conversation."""
        return MemoryContextGate(
            self.relevance_threshold, self.max_memory_tokens, tokenizer=self.tokenizer, redactor=self.redact_with
        )

    def envelope(
        self,
        tool_call_id: str,
        raw_result: Any,  # noqa: ANN401 - any value at all
        max_tokens: int | None = None,
        *,
        is_error: bool = False,
        tool: str | None = None,
    ) -> ToolResultEnvelope:
        """The envelope of the result of a tool, which has a rule of its own or none."""
        rule = self.tool_rules.get(tool) if tool is not None else None
        if max_tokens is None:
            max_tokens = self.max_tool_tokens if rule is None or rule.max_tokens is None else rule.max_tokens
        envelope = ToolResultEnvelope(
            tool_call_id,
            raw_result,
            max_tokens,
            tokenizer=self.count_with,
            redactor=self.redact_with,
            is_error=is_error,
        )
        if rule is None:
            return envelope.trim(self.tool_strategy)
        return envelope.trim(rule.strategy, rule.fields, patterns=rule.patterns, hint=rule.hint)


@cache
def default_policy() -> ContextPolicy:
    """The policy of those who declare none."""
    return ContextPolicy()
