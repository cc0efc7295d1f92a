"""Conversations: real ones, where they are at hand, and made ones with what the real ones lack."""

from __future__ import annotations

import copy
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import convert
from hypothesis import strategies as st

if TYPE_CHECKING:
    import random

    from ctxproto.messages.convert import Format

Chat = list[dict[str, Any]]
FORMATS: tuple[Format, ...] = ("openai", "responses", "anthropic", "gemini")


def real_runs() -> list[Chat]:
    """Runs of agents: 100 of tau-bench, 11 of SWE-agent."""
    path = Path(os.environ.get("CTXPROTO_CORPORA") or "../shared/corpora").resolve() / "agents"
    if not path.is_dir():
        pytest.skip(f"no corpora at {path.parent}: set CTXPROTO_CORPORA")
    lines = (path / "tau-bench-airline.jsonl").read_text(encoding="utf-8").splitlines()
    runs = [json.loads(line)["messages"] for line in lines]
    runs += [json.loads(file.read_text(encoding="utf-8"))["history"] for file in sorted(path.glob("swe-agent/*.traj"))]
    return [convert(run, "openai", "openai") for run in runs]


def a_call(call_id: str, name: str = "search", arguments: str = '{"q":1}') -> dict[str, Any]:
    return {"id": call_id, "type": "function", "function": {"name": name, "arguments": arguments}}


def asks(*ids: str, content: str | None = None) -> dict[str, Any]:
    return {"role": "assistant", "content": content, "tool_calls": [a_call(call_id) for call_id in ids]}


def result(call_id: str, content: Any = "done") -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content}


def says(role: str, content: Any = "some words") -> dict[str, Any]:
    return {"role": role, "content": content}


# Blank ones are refused by some APIs.
_texts = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=30).filter(str.strip)
_json = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | _texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_texts, inner, max_size=3),
    max_leaves=6,
)
_images = st.sampled_from(["data:image/png;base64,iVBORw0KGgo=", "https://example.com/cat.jpg"]).map(
    lambda url: {"type": "image_url", "image_url": {"url": url}}
)
_ids = st.sampled_from(["call_a", "call_b", "call_c", "toolu_1"])


@st.composite
def conversations(draw: st.DrawFn) -> Chat:
    """Whole conversations, with parallel calls, ids that repeat, images, and nothing wrong."""
    chat: Chat = [says("system", text) for text in draw(st.lists(_texts, max_size=2))]
    for _ in range(draw(st.integers(1, 4))):
        text = st.builds(lambda text: {"type": "text", "text": text}, _texts)
        parts = draw(_texts | st.lists(text | _images, min_size=2, max_size=4))
        chat.append(says("user", parts))
        for ids in draw(st.lists(st.lists(_ids, min_size=1, max_size=3, unique=True), max_size=2)):
            arguments = [json.dumps(draw(st.dictionaries(_texts, _json, max_size=2))) for _ in ids]
            names = [draw(st.sampled_from(["search", "read"])) for _ in ids]
            calls = [a_call(*call) for call in zip(ids, names, arguments, strict=True)]
            chat.append({"role": "assistant", "content": draw(st.none() | _texts), "tool_calls": calls})
            chat += [result(call_id, draw(st.just("") | _texts)) for call_id in draw(st.permutations(ids))]
        chat.append(says("assistant", draw(_texts)))
    return chat


def with_parallel_calls(chat: Chat, draw: random.Random) -> Chat:
    """A real run whose turns of one call each, where two follow each other, are one turn of parallel calls."""
    merged: Chat = []
    for message in copy.deepcopy(chat):
        before = merged[-2] if len(merged) > 1 and merged[-1]["role"] == "tool" else None
        ids = {call["id"] for call in (before or {}).get("tool_calls") or []}
        new = [call["id"] for call in message.get("tool_calls") or []]
        if before and ids and new and not ids & set(new) and draw.random() < 0.7:
            # The call goes to the turn before; its result follows.
            before["tool_calls"] += message["tool_calls"]
            continue
        if message["role"] == "tool" and merged[-1]["role"] == "tool" and draw.random() < 0.5:
            merged.insert(-1, message)
        else:
            merged.append(message)
    return merged


def damaged(chat: Chat, draw: random.Random) -> Chat:
    """Some messages are missing, there twice, in another place, or late."""
    chat = copy.deepcopy(chat)
    for _ in range(draw.randrange(1, 5)):
        if not chat:
            break
        at = draw.randrange(len(chat))
        match draw.randrange(4):
            case 0:
                del chat[at]
            case 1:
                chat.insert(draw.randrange(len(chat) + 1), copy.deepcopy(chat[at]))
            case 2:
                chat.insert(draw.randrange(len(chat)), chat.pop(at))
            case 3 if chat[at]["role"] == "tool":
                chat.insert(min(len(chat), at + draw.randrange(1, 6)), chat.pop(at))
    return chat


def with_thoughts_and_blanks(chat: Chat, thought: dict[str, Any], draw: random.Random) -> Chat:
    """Messages that say nothing, and thoughts at any place of a turn, its calls before or behind them."""
    chat = copy.deepcopy(chat)
    for message in chat:
        if message["role"] in ("user", "assistant") and draw.random() < 0.2:
            message["content"] = draw.choice(["", " ", [], [{"type": "text", "text": ""}]])
        if message["role"] == "assistant" and draw.random() < 0.4:
            said = message["content"]
            parts = [{"type": "text", "text": said}] if isinstance(said, str) and said else []
            parts.insert(draw.randrange(len(parts) + 1), dict(thought))
            message["content"] = parts
            for call in message.get("tool_calls") or []:
                call["position"] = draw.randrange(len(parts) + 1)
    return chat


def comparable(chat: Chat) -> Chat:
    """Chat messages whose arguments are parsed."""
    chat = copy.deepcopy(chat)
    for message in chat:
        for call in message.get("tool_calls") or []:
            call["function"]["arguments"] = json.loads(call["function"]["arguments"])
    return chat
