"""An agent loop, whole: parallel tools, memory, a task of two steps, and an account of what the model saw.

`python examples/agent_loop.py` runs it on a sample of its own and, where there are recorded runs of real agents
(`CTXPROTO_CORPORA`, by default ../shared/corpora: tau-bench's), on some of these. The model is scripted: it
answers as the recording did, and refuses what an API would refuse. Put yours in its place.
"""

from __future__ import annotations

import json
import os
import random
import string
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ctxproto import (
    ContextDebugKit,
    ContextPolicy,
    ContextProtocol,
    InMemoryArtifactStore,
    MemoryStore,
    TaskStateEnvelope,
    Tokenizer,
    ToolCallRequest,
    pairing_problems,
)

HERE = Path(__file__).resolve().parent
Message = dict[str, Any]
Model = Callable[[list[Message]], Message]
Tools = Callable[[ToolCallRequest], Any]
PROMPT = "You help. You look things up before you answer."


# README:begin
def answer(protocol: ContextProtocol, model: Model, tools: Tools, history: list[Message], question: str) -> str:
    """Answers a question: the model is called until it asks for no more tools."""
    messages = protocol.prepare_context(question, memory_query=question, history=history, system_prompt=PROMPT)
    history.append({"role": "user", "content": question})
    while (reply := model(messages)).get("tool_calls"):
        calls = ToolCallRequest.parse_all(reply)
        with ThreadPoolExecutor() as pool:
            results = [protocol.handle_tool_result(*pair) for pair in zip(calls, pool.map(tools, calls))]
        history.append(reply)
        messages = protocol.prepare_context(tool_results=results, history=history, system_prompt=PROMPT)
        history += [result.to_context_chunk() for result in results]
    history.append(reply)
    return str(reply["content"])


# README:end


class Recording:
    """A model and tools that answer as they did in a recorded run, and count."""

    def __init__(self, run: list[Message]) -> None:
        self.replies = iter([message for message in run if message["role"] == "assistant"])
        self.results = {message["tool_call_id"]: message["content"] for message in run if message["role"] == "tool"}
        self.calls, self.tokens, self.most = 0, 0, 0
        self.tokenizer = Tokenizer()

    def model(self, messages: list[Message]) -> Message:
        """The next reply. What an API would refuse, or a secret in what it is sent, ends the run."""
        problems = pairing_problems(messages, "openai", pending=False)
        if problems or ContextDebugKit.find_secrets(messages):
            raise RuntimeError(f"the model was sent what it must not be: {problems or 'a secret'}")
        reply = next(self.replies)
        tokens = self.tokenizer.count_messages(messages).total
        self.calls, self.tokens, self.most = self.calls + 1, self.tokens + tokens, max(self.most, tokens)
        return reply

    def tools(self, call: ToolCallRequest) -> Any:
        """What the tool returned."""
        return self.results[call.id]


def replay(run: list[Message], policy: ContextPolicy, name: str) -> str:
    """Goes through a recorded conversation, question by question; says what was sent, against all of it each time."""
    recording, history = Recording(run), list[Message]()
    protocol = ContextProtocol(policy=policy, conversation_id=name)
    if run[0]["role"] == "system":
        history.append(run[0])
    for question in (message["content"] for message in run if message["role"] == "user"):
        try:
            answer(protocol, recording.model, recording.tools, history, question)
        except StopIteration:
            break  # the recording ends with a question
    whole = sum(
        recording.tokenizer.count_messages(run[:at]).total for at, one in enumerate(run) if one["role"] == "assistant"
    )
    return (
        f"{name}: {recording.calls} calls of the model, {recording.tokens:,} tokens sent instead of {whole:,}, "
        f"{recording.most:,} at most"
    )


def two_steps(run: list[Message]) -> Iterator[str]:
    """One step looks things up, with tools in parallel; the next one works with two fields of what was found."""
    memory, artifacts = MemoryStore(":memory:"), InMemoryArtifactStore()
    policy = ContextPolicy(max_context_tokens=2000, max_tool_tokens=300, relevance_threshold=0.3)
    recording, history = Recording(run), list[Message]()
    question = next(message["content"] for message in run if message["role"] == "user")

    # Step 1: the results go to the model trimmed and redacted, and to the store as they are.
    search = ContextProtocol(memory_backend=memory, artifact_store=artifacts, policy=policy, task_id="search")
    state = TaskStateEnvelope("search", artifact_store=artifacts)

    def kept(call: ToolCallRequest) -> Any:
        result = json.loads(recording.tools(call))
        state.store_artifact(call.name, result, f"what {call.name} returned")
        return result

    said = answer(search, recording.model, kept, history, question)
    search.register_task(state)
    yield f"step 1: {said}"
    for entry in search.audit_trail:
        if entry["action"] == "secret_redacted":
            yield f"step 1: redacted {', '.join(entry['labels'])} in {entry.get('tool_call_id') or entry['place']}"
    search.persist_memory(said, search.memory_gate.resolve_namespace("default"))

    # Step 2, perhaps in another process: it declares what it needs, and never sees the rest.
    report = ContextProtocol(memory_backend=memory, artifact_store=artifacts, policy=policy, task_id="report")
    fields = report.get_task_state("search", ["market_size", "cagr"])
    yield f"step 2: {dict(fields)}, missing {list(fields.missing)}"
    messages = report.prepare_context(
        f"Project five years from {json.dumps(fields)}.", task_state=state, memory_query="cloud market size"
    )
    tokens = Tokenizer().count_messages(messages).total
    whole = Tokenizer().count("".join(recording.results.values()))
    recalled = any(entry["action"] == "memory_read" for entry in messages.audit_trail)
    yield f"step 2: {tokens} tokens sent, where the artifacts have {whole}; memory {'read' if recalled else 'not read'}"


def sample() -> list[Message]:
    """The bundled run; the secret in it is made now."""
    draw, digits = random.Random(7), string.digits + string.ascii_uppercase + string.ascii_lowercase
    body, end = "".join(draw.choices(digits, k=30)), ""
    crc = zlib.crc32(body.encode())
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        end = digits[digit] + end
    text = (HERE / "sample_run.json").read_text(encoding="utf-8")
    run: list[Message] = json.loads(text.replace("SECRET", "gh" + f"p_{body}{end}"))
    return run


def recorded(most: int = 3) -> list[list[Message]]:
    """Real runs, where there are some."""
    corpora = Path(os.environ.get("CTXPROTO_CORPORA") or HERE / "../../shared/corpora")
    path = corpora / "agents/tau-bench-airline.jsonl"
    lines = path.read_text(encoding="utf-8").splitlines()[:most] if path.is_file() else []
    return [json.loads(line)["messages"] for line in lines]


def main() -> None:
    """Runs all of it."""
    for line in two_steps(sample()):
        print(line)
    policy = ContextPolicy(max_context_tokens=3000, max_tool_tokens=400)
    for at, run in enumerate(recorded()):
        print(replay(run, policy, f"tau-bench run {at}"))


if __name__ == "__main__":
    main()
