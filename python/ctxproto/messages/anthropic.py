"""Anthropic's Messages API: calls and results are blocks, results stand in the user's message, `system` apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ctxproto.errors import InputTypeError, shown
from ctxproto.messages import pieces
from ctxproto.messages.empty import blank

if TYPE_CHECKING:
    from ctxproto.messages.pieces import Dict

# Blocks that no other format has: they travel as they are.
_OWN = frozenset(
    {
        "thinking", "redacted_thinking", "document", "search_result", "server_tool_use", "container_upload",
        "web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result", "mcp_tool_use",
        "mcp_tool_result", "bash_code_execution_tool_result", "text_editor_code_execution_tool_result",
        "tool_reference", "tool_search_tool_result", "compaction",
    }
)  # fmt: skip

_NOT_IN_IDS = re.compile(r"[^a-zA-Z0-9_-]")
# Between an id that was there before, and its number; gone again on the way back.
_AGAIN = "-ctxproto-"
_NUMBERED = re.compile(_AGAIN + r"\d+\Z")


def from_anthropic(request: object) -> list[Dict]:
    """Reads `{"system": ..., "messages": [...]}`."""
    request = pieces.a_dict("request", request)
    system = pieces.parts("system", request.get("system"))
    # The ids that calls had before they were numbered.
    ids: dict[str, str] = {}
    chat: list[Dict] = [{"role": "system", "content": pieces.content([part])} for part in system]
    for at, message in enumerate(pieces.optional("messages", request.get("messages"))):
        where = f"messages[{at}]"
        if pieces.role(where, message, ("user", "assistant")) == "assistant":
            chat.append(_assistant(where, message, ids))
        else:
            chat.extend(_user(where, message, ids))
    return chat


def to_anthropic(messages: list[Dict]) -> Dict:
    """The request's `system` and `messages`. Instructions all go into `system`; ids that repeat get new ones."""
    system: list[Dict] = []
    turns: list[Dict] = []
    ids = _Ids()
    for at, message in enumerate(messages):
        where = f"messages[{at}]"
        match message["role"]:
            case "system" | "developer":
                system += _blocks(where, pieces.parts(where, message.get("content")))
            case "assistant":
                turns.append({"role": "assistant", "content": _said(where, message, ids)})
            case "tool":
                result = _result(where, message, ids)
                # All results of a turn stand in one message.
                if (
                    turns
                    and turns[-1]["role"] == "user"
                    and turns[-1]["content"][-1:]
                    and _is_result(turns[-1]["content"][-1])
                ):
                    turns[-1]["content"].append(result)
                else:
                    turns.append({"role": "user", "content": [result]})
            case _:
                blocks = _blocks(where, pieces.parts(where, message.get("content"))) or [{"type": "text", "text": ""}]
                before = messages[at - 1]["role"] if at else ""
                # What the user says after results stands in the same message.
                if before == "tool":
                    turns[-1]["content"] += blocks
                else:
                    turns.append({"role": "user", "content": blocks})
    return {**({"system": system} if system else {}), "messages": turns}


def _is_result(block: Dict) -> bool:
    return block.get("type") == "tool_result"


def _assistant(where: str, message: Dict, ids: dict[str, str]) -> Dict:
    parts: list[Dict] = []
    calls: list[Dict] = []
    for block in pieces.parts(where, message.get("content")):
        if block.get("type") == "tool_use":
            given = _text(where, block, "id")
            old = _NUMBERED.sub("", given)
            # Two calls of one turn stay two.
            ids[given] = given if any(call["id"] == old for call in calls) else old
            call = pieces.a_call(
                ids[given], _text(where, block, "name"), pieces.written(block.get("input")), len(parts)
            )
            calls.append({**call, **_marks(block)})
        else:
            parts.append(_part(block))
    return pieces.chat_assistant(parts, pieces.settled(calls, len(parts)))


def _user(where: str, message: Dict, ids: dict[str, str]) -> list[Dict]:
    found: list[Dict] = []
    parts: list[Dict] = []
    blocks = pieces.parts(where, message.get("content"))
    for block in blocks:
        if not _is_result(block):
            parts.append(_part(block))
            continue
        if parts:
            found.append({"role": "user", "content": pieces.content(parts)})
            parts = []
        content = pieces.content([_part(one) for one in pieces.parts(where, block.get("content"))])
        given = _text(where, block, "tool_use_id")
        result: Dict = {"role": "tool", "tool_call_id": ids.get(given, given), "content": content}
        if block.get("is_error") is True:
            result["is_error"] = True
        found.append({**result, **_marks(block)})
    if parts or not blocks:
        found.append({"role": "user", "content": pieces.content(parts)})
    return found


def _said(where: str, message: Dict, ids: _Ids) -> list[Dict]:
    blocks: list[Dict] = []
    ids.turn()
    for kind, one in pieces.in_order(_blocks(where, pieces.said(where, message)), pieces.calls_of(where, message)):
        if kind == "part":
            blocks.append(one)
            continue
        call_id, name, arguments = pieces.call_of(f"{where}.tool_calls", one)
        use = {"type": "tool_use", "id": ids.of_call(call_id), "name": name, "input": pieces.parsed(arguments)}
        blocks.append({**use, **_marks(one)})
    return blocks


def _result(where: str, message: Dict, ids: _Ids) -> Dict:
    call_id = message.get("tool_call_id")
    if type(call_id) is not str:
        raise InputTypeError(f"{where}.tool_call_id is a str, not {shown(call_id)}")
    content = message.get("content")
    result: Dict = {
        "type": "tool_result",
        "tool_use_id": ids.of_result(call_id),
        "content": content if type(content) is str else _said_by_tool(where, pieces.parts(where, content)),
    }
    if message.get("is_error") is True:
        result["is_error"] = True
    return {**result, **_marks(message)}


def _said_by_tool(where: str, parts: list[Dict]) -> list[Dict]:
    # A result may be empty, but no text in it.
    return [block for block in _blocks(where, parts) if not blank(block)]


def _blocks(where: str, parts: list[Dict]) -> list[Dict]:
    blocks = []
    for at, part in enumerate(parts):
        if (url := pieces.image_url(part)) is not None:
            data = pieces.data_url(url)
            source = {"type": "base64", "media_type": data[0], "data": data[1]} if data else {"type": "url", "url": url}
            blocks.append({"type": "image", "source": source, **_marks(part)})
        elif part.get("type") == "refusal":
            blocks.append({"type": "text", "text": part.get("refusal") or ""})
        elif part.get("type") == "text":
            blocks.append(pieces.only(part, "text", "citations", "cache_control"))
        elif part.get("type") in _OWN or part.get("type") == "image":
            blocks.append(part)
        elif part.get("type") not in pieces.THOUGHTS:
            raise pieces.no_form(f"{where}.content[{at}]", part, "anthropic")
    return blocks


def _part(block: Dict) -> Dict:
    source = block.get("source")
    if block.get("type") != "image" or not isinstance(source, Mapping):
        return block
    if source.get("type") == "base64":
        return pieces.image(f"data:{source.get('media_type')};base64,{source.get('data')}", _marks(block))
    return pieces.image(source["url"], _marks(block)) if isinstance(source.get("url"), str) else block


def _marks(block: Dict) -> Dict:
    """Where a prompt cache is to end."""
    return {"cache_control": block["cache_control"]} if "cache_control" in block else {}


def _text(where: str, block: Dict, key: str) -> str:
    value = block.get(key)
    if type(value) is not str:
        raise InputTypeError(f"a {block.get('type')} block of {where} has a str as its {key}, not {shown(value)}")
    return value


class _Ids:
    """Ids as the API wants them: of certain letters, and of one call each."""

    def __init__(self) -> None:
        self._used: set[str] = set()
        # Of the turn that goes on, and of those before: the new ids of an old one, in order.
        self._now: dict[str, list[str]] = {}
        self._before: dict[str, list[str]] = {}

    def turn(self) -> None:
        for old, new in self._now.items():
            self._before[old] = new + self._before.get(old, [])
        self._now = {}

    def of_call(self, old: str) -> str:
        base = new = _NOT_IN_IDS.sub("_", old) or "call"
        count = 1
        while new in self._used:
            count += 1
            new = f"{base}{_AGAIN}{count}"
        self._used.add(new)
        self._now.setdefault(old, []).append(new)
        return new

    def of_result(self, old: str) -> str:
        for turn in (self._now, self._before):
            if turn.get(old):
                return turn[old].pop(0)
        # A result of no call, or a second one: what is wrong stays wrong, and is for the validator to tell.
        return _NOT_IN_IDS.sub("_", old) or "call"
