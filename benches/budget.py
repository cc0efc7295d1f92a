"""Fitting messages into a budget, beside LangChain: `benches/.venv-peers/bin/python benches/budget.py`.

Conversations of tau-bench's runs (`CTXPROTO_CORPORA`): one of 40 messages, and several in a row, up to
100,000 tokens. All count by o200k_base. LangChain's `trim_messages` (strategy "last", system kept, starts on
the user) counts by tiktoken, and by our own counter of texts. It drops messages, and knows no priorities.
Its messages are made beforehand. "first" is the first call with texts that were never counted, "again" the
median of calls with texts that were. The engines take turns.

The second table is what a provider's prompt cache sees: of the calls in all runs where something had to go,
those whose messages begin with all of the call before.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "python"), str(ROOT / "benches")]

from ctxproto import BudgetError, TokenBudget, Tokenizer, convert, pairing_problems  # noqa: E402

CORPORA = Path(os.environ.get("CTXPROTO_CORPORA") or ROOT / "../shared/corpora")
TOKENIZER = Tokenizer("o200k_base")
Chat = list[dict[str, Any]]
ROUNDS = 7


def runs() -> list[Chat]:
    """Runs of agents: tau-bench's, then SWE-agent's."""
    lines = (CORPORA / "agents/tau-bench-airline.jsonl").read_text(encoding="utf-8").splitlines()
    found = [json.loads(line)["messages"] for line in lines]
    found += [
        json.loads(file.read_bytes())["history"] for file in sorted(CORPORA.glob("agents/swe-agent/*.traj"))
    ]
    return [convert(run, "openai", "openai") for run in found]


def conversations() -> list[tuple[str, Chat, int]]:
    """Name, messages, budget."""
    tau = runs()[:-11]
    long = next(run for run in tau if len(run) >= 40)[:40]
    history = tau[0][:1]
    for run in tau:
        if TOKENIZER.count_messages(history).total > 100_000:
            break
        history = history + run[1:]
    tokens = TOKENIZER.count_messages(history).total
    return [
        ("40 messages that fit 8,000", long, 8000),
        ("40 messages into 4,000", long, 4000),
        (f"{tokens:,} tokens into 50,000", history, 50_000),
        (f"{tokens:,} tokens into 8,000", history, 8000),
    ]


def ours(messages: Chat, most: int, stride: int = 0) -> Callable[[], Any]:
    """A budget as `prepare_context` uses it: a fresh account each time."""
    budget = TokenBudget(most, stride=stride)

    def run() -> Any:
        return budget.fresh().flush(messages)

    problems = pairing_problems(run(), "openai")
    assert not problems, problems
    return run


def langchain(messages: Chat, most: int, count: Callable[[str], int]) -> Callable[[], Any] | None:
    """`trim_messages` with a counter of texts."""
    try:
        from langchain_core.messages import convert_to_messages, convert_to_openai_messages, trim_messages  # type: ignore[import-not-found]
    except ImportError:
        return None
    made = convert_to_messages(messages)

    def tokens(given: list[Any]) -> int:
        total = 3
        for message in given:
            chat: Any = convert_to_openai_messages(message)
            total += 3 + count(chat["role"]) + (count(chat["content"]) if chat["content"] else 0)
            for call in chat.get("tool_calls", ()):
                total += count(call["function"]["name"]) + count(call["function"]["arguments"])
            if "name" in chat:
                total += 1 + count(chat["name"])
        return total

    def run() -> Any:
        return trim_messages(
            made,
            max_tokens=most,
            token_counter=tokens,
            strategy="last",
            include_system=True,
            start_on="human",
        )

    assert tokens(run()) <= most
    return run


def exact() -> Callable[[str], int] | None:
    """The count of tiktoken."""
    try:
        import tiktoken  # noqa: F401

        from tokens import o200k_ranks, tiktoken_of
    except ImportError:
        return None
    encoding = tiktoken_of(o200k_ranks())
    return lambda text: len(encoding.encode_ordinary(text))


def warm(most: int, stride: int) -> tuple[int, int]:
    """Of the calls in all runs that are over budget: those that begin as the call before did, and all."""
    budget = TokenBudget(most, stride=stride)
    same = over = 0
    for run in runs():
        before: Chat | None = None
        for end in range(1, len(run) + 1):
            try:
                kept = budget.flush(run[:end])
            except BudgetError:
                continue
            if before is not None and budget.report is not None and budget.report.changes:
                over += 1
                same += kept[: len(before)] == before
            before = kept
    return same, over


def seconds(run: Callable[[], Any]) -> float:
    """Of one call."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def unseen(messages: Chat) -> Chat:
    """The same with a word in every text that no one has counted."""
    word = f" {time.perf_counter_ns()}"
    return [{**m, "content": m["content"] + word} if m.get("content") else m for m in messages]


def main() -> int:
    if not CORPORA.is_dir():
        print(f"no corpora at {CORPORA}: set CTXPROTO_CORPORA", file=sys.stderr)
        return 1
    count = exact()
    print(f"{'us a call':40}{'first':>12}{'again':>12}{'times ours':>12}")
    for name, messages, most in conversations():
        engines: dict[str, Callable[[], Any] | None] = {
            "ctxproto": ours(messages, most),
            "ctxproto, in steps": ours(messages, most, most // 4),
            "LangChain, tiktoken": langchain(messages, most, count) if count else None,
            "LangChain, our counter": langchain(messages, most, TOKENIZER.count),
        }
        taken: dict[str, list[float]] = {engine: [] for engine in engines}
        for _ in range(ROUNDS):
            for engine, run in engines.items():
                if run is None:
                    continue
                # As many calls as take some hundredths of a second.
                calls = max(1, min(200, int(0.03 / max(1e-6, seconds(run)))))
                taken[engine].append(statistics.median(seconds(run) for _ in range(calls)))
        first = statistics.median(
            seconds(partial(TokenBudget(most).flush, new)) for new in map(unseen, [messages] * 5)
        )
        base = statistics.median(taken["ctxproto"])
        print(name)
        for engine, times in taken.items():
            if not times:
                print(f"  {engine:38}{'absent':>12}")
                continue
            again = statistics.median(times)
            cold = f"{first * 1e6:,.0f}" if engine == "ctxproto" else ""
            print(f"  {engine:38}{cold:>12}{again * 1e6:>12,.0f}{again / base:>12.1f}")
    print(f"\n{'calls that begin as the one before':40}{'':>12}{'whole':>14}{'in steps':>14}")
    for most in (2000, 4000, 8000):
        shares = [f"{same} of {over}" for same, over in (warm(most, 0), warm(most, most // 4))]
        print(f"  {f'{most:,} tokens':50}{shares[0]:>14}{shares[1]:>14}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
