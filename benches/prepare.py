"""`prepare_context` on real agent runs: `python benches/prepare.py [PART ...]`, by default all four.

- prefixes: every prefix of every run, with secrets planted, at four budgets. What comes out must be accepted
  by the validators of all four formats, be within its budget, and hold no planted secret. Instructions that
  alone take more than half of a budget are left out. What must stay and still does not fit is an error.
- speed: beside langchain-core's `trim_messages` with exact counts, LlamaIndex's `ChatMemoryBuffer` and
  headroom's `compress`, which only shorten a list of messages; each where it is installed.
- conversations: ten thousand in one process, on one thread and on two.
- pipelines: the article's two examples on real data, tokens and needles.

Needs `CTXPROTO_CORPORA` (default `../shared/corpora`); exits 1 when something that must hold does not.
"""
# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
import os
import random
import re
import resource
import statistics
import string
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))
os.environ |= {"HEADROOM_TELEMETRY": "off", "HF_HUB_OFFLINE": "1"}

from ctxproto import (  # noqa: E402
    BudgetError,
    ContextPolicy,
    ContextProtocol,
    InMemoryArtifactStore,
    MemoryStore,
    TaskStateEnvelope,
    Tokenizer,
    ToolCallRequest,
    convert,
    pairing_problems,
)

CORPORA = Path(os.environ.get("CTXPROTO_CORPORA") or ROOT / "../shared/corpora")
BUDGETS = (1000, 2000, 4000, 8000)
FORMATS = ("openai", "responses", "anthropic", "gemini")
Messages = list[dict[str, Any]]


def github_token(draw: random.Random) -> str:
    """A token as GitHub makes them, with its checksum."""
    digits = string.digits + string.ascii_uppercase + string.ascii_lowercase
    body, out = "".join(draw.choices(digits, k=30)), ""
    crc = zlib.crc32(body.encode())
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        out = digits[digit] + out
    return "gh" + f"p_{body}{out}"


def runs() -> Iterator[Messages]:
    """The agent runs, as OpenAI's chat messages."""
    for path in sorted(CORPORA.glob("agents/*.jsonl")):
        for line in path.read_text().splitlines():
            yield json.loads(line)["messages"]
    for path in sorted(CORPORA.glob("agents/*/*.traj")):
        history = json.loads(path.read_text()).get("history", [])
        yield [chat(message) for message in history if isinstance(message.get("content"), str)]


def chat(message: dict[str, Any]) -> dict[str, Any]:
    """A message of SWE-agent, with what OpenAI's API knows of it."""
    made = {"role": message["role"], "content": message["content"]}
    if message.get("tool_calls"):
        made["tool_calls"] = message["tool_calls"]
    if message["role"] == "tool":
        made["tool_call_id"] = message["tool_call_ids"][0]
    return made


def planted(run: Messages, draw: random.Random) -> tuple[Messages, list[str]]:
    """The run with a secret in every third message but the first."""
    tokens, out = [], [dict(run[0])]
    for at, message in enumerate(run[1:]):
        made = dict(message)
        if at % 3 == 1 and isinstance(made.get("content"), str):
            tokens.append(github_token(draw))
            made["content"] += f" (token {tokens[-1]})"
        out.append(made)
    return out, tokens


# ---- every prefix ----------------------------------------------------------------------------------------


def prefixes() -> bool:
    """Every prefix of every run at every budget."""
    draw, tokenizer = random.Random(5), Tokenizer()
    sums = {most: Counter[str]() for most in BUDGETS}
    for run in runs():
        messages, tokens = planted(run, draw)
        for most, seen in sums.items():
            protocol = ContextProtocol(most)
            bare = tokenizer.count_messages(messages[:1]).total > most / 2 and messages[0]["role"] == "system"
            for end in range(1 + bare, len(messages) + 1):
                seen["prefixes"] += 1
                try:
                    made = protocol.prepare_context(history=messages[bare:end])
                except BudgetError:
                    seen["do not fit"] += 1
                    continue
                seen["over budget"] += tokenizer.count_messages(made).total > most
                text = json.dumps(made)
                seen["secrets left"] += sum(token[4:] in text for token in tokens)
                for name in FORMATS:
                    form: Any = convert(list(made), "openai", name)  # type: ignore[arg-type]
                    seen[f"refused by {name}"] += bool(pairing_problems(form, name))  # type: ignore[arg-type]
    columns = ["prefixes", "do not fit", "over budget", "secrets left", *(f"refused by {n}" for n in FORMATS)]
    print("| budget | " + " | ".join(columns) + " |\n| --- |" + " ---: |" * len(columns))
    for most, seen in sums.items():
        print(f"| {most:,} tokens | " + " | ".join(f"{seen[name]:,}" for name in columns) + " |")
    return all(not any(seen[name] for name in columns[2:]) for seen in sums.values())


# ---- speed -----------------------------------------------------------------------------------------------


def microseconds(work: Callable[[], object], rounds: int) -> float:
    """The median."""
    taken = []
    for _ in range(rounds):
        start = time.perf_counter_ns()
        work()
        taken.append((time.perf_counter_ns() - start) / 1000)
    return statistics.median(taken)


def history(tokens: int) -> Messages:
    """Messages of many runs, one after another."""
    tokenizer, out, sum_ = Tokenizer(), [], 0
    for run in runs():
        for message in run[1:]:
            out.append(message)
            sum_ += tokenizer.count_messages([message]).total
            if sum_ > tokens:
                return out
    return out


def speed() -> bool:
    """One call, warm, beside peers."""
    long = history(100_000)
    short = long[:40]
    tokenizer = Tokenizer()
    raw = [message["content"] for message in long if message["role"] == "tool"][:3]
    calls = [ToolCallRequest(f"call_{at}", "look_up", {"at": at}) for at in range(3)]
    memory, artifacts = MemoryStore(":memory:"), InMemoryArtifactStore()
    for at in range(50):
        memory.save(
            "user_default:session_current",
            f"Passenger {at} prefers window seats and flies to Boston with {at} bags.",
        )
    state = TaskStateEnvelope("task", artifact_store=artifacts)
    state.store_artifact("results", {"rows": list(range(500))}, "forty reports")
    protocol = ContextProtocol(8000, memory, artifacts)

    def layers() -> object:
        results = [protocol.handle_tool_result(call, text) for call, text in zip(calls, raw, strict=True)]
        return protocol.prepare_context(
            "Book it.", results, state, "You are an agent. " * 40, "window seats Boston", history=short
        )

    def without_memory() -> object:
        results = [protocol.handle_tool_result(call, text) for call, text in zip(calls, raw, strict=True)]
        return protocol.prepare_context("Book it.", results, state, "You are an agent. " * 40, history=short)

    wide = ContextProtocol(200_000)
    rows: list[tuple[str, Callable[[], object], int, float | None]] = [
        ("40 messages, 8k tokens, all layers", layers, 300, 300),
        ("the same without memory", without_memory, 300, 300),
        (
            "the search alone",
            lambda: memory.search("window seats Boston", namespace="user_default:"),
            300,
            None,
        ),
        ("100k tokens of history, kept", lambda: wide.prepare_context("Go on.", history=long), 50, 2000),
        ("100k tokens of history, to 8k", lambda: protocol.prepare_context("Go on.", history=long), 50, 2000),
    ]
    print("| prepare_context, warm | us | at most |\n| --- | ---: | ---: |")
    met = True
    for name, work, rounds, most in rows:
        work()
        taken = microseconds(work, rounds)
        met &= most is None or taken <= most
        print(f"| {name} | {taken:,.0f} | {'' if most is None else f'{most:,.0f}'} |")
    print("\n| the same history, us | ctxproto | " + " | ".join(PEERS) + " |")
    print("| --- | ---: |" + " ---: |" * len(PEERS))
    for name, messages, most in (
        ("40 messages to 2k tokens", short, 2000),
        ("100k to 8k tokens", long, 8000),
    ):
        one = ContextProtocol(most)
        one.prepare_context(history=messages)
        ours = microseconds(lambda one=one, messages=messages: one.prepare_context(history=messages), 51)  # type: ignore[misc]
        cells = []
        for make in PEERS.values():
            try:
                peer = make(messages, most, tokenizer)
                peer()
                taken = microseconds(peer, 5)
                met &= taken >= 20 * ours
                cells.append(f"{taken:,.0f} ({taken / ours:,.0f}x)")
            except ImportError:
                cells.append("absent")
        print(f"| {name} | {ours:,.0f} | " + " | ".join(cells) + " |")
    return met


def exact() -> Callable[[str], list[int]]:
    """tiktoken, by the vocabulary that is inside."""
    from tokens import o200k_ranks, tiktoken_of

    encoding = tiktoken_of(o200k_ranks())
    return lambda text: encoding.encode(text, disallowed_special=())


def langchain(messages: Messages, most: int, _: Tokenizer) -> Callable[[], object]:
    """`trim_messages` with exact counts: tiktoken, as OpenAI's cookbook counts messages."""
    from langchain_core.messages import convert_to_messages, trim_messages

    given, encode = convert_to_messages(messages), exact()

    def one(message: Any) -> int:
        calls = [call["name"] + json.dumps(call["args"]) for call in getattr(message, "tool_calls", [])]
        return 3 + sum(len(encode(text)) for text in (str(message.content), *calls))

    return lambda: trim_messages(
        given,
        max_tokens=most,
        token_counter=lambda those: 3 + sum(map(one, those)),
        strategy="last",
        start_on="human",
        include_system=True,
    )


def llama_index(messages: Messages, most: int, _: Tokenizer) -> Callable[[], object]:
    """`ChatMemoryBuffer`, with tiktoken as it comes."""
    from llama_index.core.llms import ChatMessage
    from llama_index.core.memory import ChatMemoryBuffer

    given = [
        ChatMessage(role=message["role"], content=message["content"], additional_kwargs={})
        for message in messages
    ]
    buffer = ChatMemoryBuffer.from_defaults(chat_history=given, token_limit=most, tokenizer_fn=exact())
    return lambda: buffer.get()


def headroom(messages: Messages, most: int, _: Tokenizer) -> Callable[[], object]:
    """`compress`, which knows no budget, its model for prose off."""
    from headroom import compress

    return lambda: compress(
        [dict(message) for message in messages], model="gpt-4o", kompress_model="disabled", model_limit=most
    )


PEERS: dict[str, Callable[[Messages, int, Tokenizer], Callable[[], object]]] = {
    "langchain-core": langchain,
    "llama-index": llama_index,
    "headroom": headroom,
}


# ---- conversations ---------------------------------------------------------------------------------------


def conversations(number: int = 10_000) -> bool:
    """Ten thousand conversations of three calls over one policy, all kept, each with texts of its own.

    Each call brings what an agent's does: three messages more, and a tool's result of 20 KB.
    """
    all_runs = [run for run in runs() if len(run) > 12]
    logs = [
        path.read_bytes().decode("utf-8", "replace")[:20_000] for path in sorted(CORPORA.glob("logs/*.log"))
    ]
    policy = ContextPolicy(max_context_tokens=8000, max_tool_tokens=800)

    def talk(at: int) -> ContextProtocol:
        run, log = all_runs[at % len(all_runs)], logs[at % len(logs)]
        protocol = ContextProtocol(policy=policy, conversation_id=str(at))
        own = [{**message, "content": f"{message.get('content')} ({at})"} for message in run[1:12]]
        for end in (4, 8, 11):
            call = ToolCallRequest(f"call_{at}_{end}", "read_log")
            result = protocol.handle_tool_result(call, f"log {at}, part {end}\n{log}")
            protocol.prepare_context("Go on.", [result], history=own[:end], system_prompt="You are an agent.")
        return protocol

    def on(threads: int, share: int) -> float:
        def work(first: int) -> None:
            for at in range(first, share, threads):
                talk(at)

        workers = [threading.Thread(target=work, args=(first,)) for first in range(threads)]
        start = time.perf_counter()
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return time.perf_counter() - start

    on(1, 200)
    ratios = [on(1, 400) / on(2, 400) for _ in range(7)]
    held: list[ContextProtocol] = []
    sizes = []
    start = time.perf_counter()
    for at in range(number):
        held.append(talk(at))
        if (at + 1) % (number // 5) == 0:
            sizes.append(resident())
    taken = time.perf_counter() - start
    each = (sizes[-1] - sizes[0]) / (len(held) * 4 / 5)
    ratio = statistics.median(ratios)
    print(
        f"{number:,} conversations of three calls in {taken:.1f} s, "
        f"{taken / number / 3 * 1e6:,.0f} us a call;"
    )
    print(
        f"MB resident after each fifth: {', '.join(f'{size / 1e6:.0f}' for size in sizes)}; "
        f"{each:,.0f} B each."
    )
    print(f"Two threads: {ratio:.2f}x one (of {', '.join(f'{one:.2f}' for one in sorted(ratios))}).")
    return ratio >= 1.8


def resident() -> int:
    """Bytes of this process in memory."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


# ---- the article's pipelines -----------------------------------------------------------------------------


def pipelines() -> bool:
    """Three tools in three steps, and artifacts over three steps."""
    return all([tools(), handed_on()])


def tools() -> bool:
    """Nine results of 800 tokens each in one context, and the history, against all of it raw."""
    from needles import Result, Text, needles, texts

    tokenizer = Tokenizer()
    real = [text for text in texts() if tokenizer.count(text.body) > 5000]
    saved, kept, asked_kept = [], [], []
    policy = ContextPolicy(max_context_tokens=14_000, max_tool_tokens=800)
    before = history(5000)
    for at in range(0, len(real) - 8, 9):
        nine: list[Text] = real[at : at + 9]
        protocol = ContextProtocol(policy=policy)
        calls = [ToolCallRequest(f"call_{n}", "look_up") for n in range(9)]
        wanted = [[needle for needle in needles(text) if needle.question is None] for text in nine]
        asked = [[needle for needle in needles(text) if needle.question] for text in nine]
        past = list(before)
        for step in range(0, 9, 3):
            results = []
            for n in range(step, step + 3):
                envelope = protocol.handle_tool_result(calls[n], nine[n].body)
                words = [needle.question for needle in asked[n][:3] if needle.question]
                results.append(envelope.trim("auto", patterns=[re.escape(word) for word in words]))
            made = protocol.prepare_context(history=past, tool_results=results)
            past = list(made)
        outs = [message["content"] for message in past if message["role"] == "tool"][-9:]
        raw = sum(tokenizer.count(text.body) for text in nine) + tokenizer.count_messages(before).total
        saved.append(1 - made.report.tokens / raw)
        for n, text in enumerate(nine):
            result = Result(text, outs[n])
            kept += [result.holds(needle) for needle in wanted[n]]
            asked_kept += [result.holds(needle) for needle in asked[n][:3]]
    share = statistics.mean(saved)
    print(
        f"3 tools x 3 steps, {len(saved)} pipelines of real results: {share:.1%} fewer tokens "
        f"(at least 81 %); "
        f"of what was asked for {statistics.mean(asked_kept):.1%} kept, "
        f"of all other needles {statistics.mean(kept):.1%}."
    )
    return share >= 0.81


def handed_on() -> bool:
    """Three steps over a shop's data: fields that are asked for, against the artifacts carried whole."""
    tokenizer, store = Tokenizer(), InMemoryArtifactStore()
    products = json.loads((CORPORA / "artifacts/retail-products.json").read_text())
    chosen = dict(list(products.items())[:6])
    first = TaskStateEnvelope("search", artifact_store=store)
    first.store_artifact("products", chosen, "the shop's products, with variants and prices")
    names = first.declare_fields(["*.name", "*.product_id"], missing="error")
    second = TaskStateEnvelope("extract", parent_task_id="search", artifact_store=store)
    prices = first.declare_fields(["*.variants.*.price"], missing="error")["*.variants.*.price"]
    second.store_artifact("prices", {"lowest": min(prices), "highest": max(prices), "all": prices}, "prices")
    fields = second.declare_fields(["lowest", "highest"], missing="error")
    protocol = ContextProtocol(8000, artifact_store=store)
    made = protocol.prepare_context(
        f"Report. {json.dumps(fields)} {json.dumps(names['*.name'])}",
        task_state=second,
        system_prompt="You are terse.",
    )
    carried = tokenizer.count(json.dumps(chosen)) + tokenizer.count(json.dumps({"all": prices, **fields}))
    seen = tokenizer.count_messages(made).total
    right = fields == {"lowest": min(prices), "highest": max(prices)}
    right &= names["*.name"] == [product["name"] for product in chosen.values()]
    share = 1 - seen / carried
    print(
        f"Artifacts over 3 steps: {carried:,} tokens carried, {seen:,} referred to: "
        f"{share:.1%} fewer (at least 92 %)."
    )
    return share >= 0.92 and right


PARTS = {"prefixes": prefixes, "speed": speed, "conversations": conversations, "pipelines": pipelines}


def main() -> int:
    if not any(CORPORA.glob("agents/*.jsonl")):
        print(f"prepare: skipped, no agent runs under {CORPORA} (set CTXPROTO_CORPORA)", file=sys.stderr)
        return 0
    chosen = sys.argv[1:] or list(PARTS)
    met = {}
    for name in chosen:
        print(f"\n## {name}\n")
        met[name] = PARTS[name]()
    missed = [name for name, held in met.items() if not held]
    print(f"\n{'NOT MET: ' + ', '.join(missed) if missed else 'All that must hold holds.'}")
    return bool(missed)


if __name__ == "__main__":
    sys.exit(main())
