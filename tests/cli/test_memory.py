"""`ctxproto memory`, through the command itself."""

from __future__ import annotations

import json
import os
import pty
from typing import TYPE_CHECKING

import pytest
from cli_support import gone
from ctxproto import MemoryStore

if TYPE_CHECKING:
    from cli_support import Cli, Tokens

FACT = "The user prefers short answers in German and works from Lisbon."
OTHER = "Project X uses pip-tools for its dependencies, with hashes for every requirement."
HERE = ("--store", "m.db")


@pytest.fixture
def filled(cli: Cli) -> Cli:
    cli("memory", "add", "user_42", FACT, *HERE)
    cli("memory", "add", "user_42:session_a", *HERE, stdin=OTHER.encode())
    cli("memory", "add", "user_421", "Of somebody else: the short answers are in French, always.", *HERE)
    return cli


def contents(cli: Cli, scope: str, *more: str) -> list[str]:
    lines = cli("memory", "list", scope, "--json", *HERE, *more).text.splitlines()
    return [json.loads(line)["content"] for line in lines]


def test_what_is_added_is_found_listed_counted_and_forgotten(filled: Cli) -> None:
    assert contents(filled, "user_42:") == [OTHER, FACT]
    assert contents(filled, "user_42") == [FACT]
    found = filled("memory", "search", "user_42:", "short answers", *HERE).text.splitlines()
    assert len(found) == 1
    assert FACT in found[0]
    hit = json.loads(filled("memory", "search", "user_42:", "short answers", "--json", *HERE).text)
    assert (hit["content"], hit["namespace"], 0 < hit["relevance"] <= 1) == (FACT, "user_42", True)
    assert json.loads(filled("memory", "stats", "user_42:", "--json", *HERE).text)["current"] == 2
    assert "current:    2\n" in filled("memory", "stats", "user_42:*", *HERE).text
    assert filled("memory", "check", *HERE).text == "whole: 3 memories\n"
    assert filled("memory", "forget", "user_42:", "--yes", *HERE).text == "2 memories\n"
    assert len(contents(filled, "*")) == 1


def test_the_gate_says_no(filled: Cli, token: Tokens) -> None:
    step = "Let me check the file first. Then let me read it once more."
    refused = filled("memory", "add", "user_42", step, *HERE, code=1)
    assert refused.err.startswith("not written: ")
    assert "reasoning" in refused.err
    assert refused.text == ""
    assert "duplicate" in filled("memory", "add", "user_42", FACT, *HERE, code=1).err
    filled("memory", "add", "user_42", "too short", "--ungated", *HERE)
    nearly = filled("memory", "add", "user_42:session_a", f"{OTHER} Indeed.", *HERE)
    assert "in the place of" in nearly.err
    assert contents(filled, "user_42:session_a") == [f"{OTHER} Indeed."]
    assert len(contents(filled, "user_42:session_a", "--history")) == 2
    secret = token()
    for more in ([], ["--ungated"]):
        filled("memory", "add", "user_7", f"{OTHER} {len(more)} The deploy token is {secret}.", *more, *HERE)
    assert gone(secret, *(path.read_bytes() for path in filled.cwd.iterdir()))


def test_nothing_is_forgotten_by_chance(filled: Cli) -> None:
    assert "--everything" in filled("memory", "forget", "*", "--yes", *HERE, code=2).err
    assert "--yes" in filled("memory", "forget", "user_42:", *HERE, code=2).err
    assert "SCOPE[0] is empty" in filled("memory", "forget", "", "--yes", *HERE, code=2).err
    assert len(contents(filled, "*")) == 3
    (one,) = (json.loads(line)["memory_id"] for line in filled("memory", "export", "user_42", *HERE).text.splitlines())
    # Of somebody else's scope.
    assert filled("memory", "forget", "user_421:", one, "--yes", *HERE, code=3).text == "0 memories\n"
    assert len(contents(filled, "*")) == 3
    assert filled("memory", "forget", "user_42:", one, "--yes", *HERE).text == "1 memory\n"
    assert filled("memory", "forget", "*", "--yes", "--everything", *HERE).text == "2 memories\n"


@pytest.mark.parametrize(("answer", "left"), [(b"n\n", 3), (b"\n", 3), (b"y\n", 1)])
def test_who_can_be_asked_is_asked(filled: Cli, answer: bytes, left: int) -> None:
    mine, theirs = pty.openpty()
    process = filled.start("memory", "forget", "user_42:", *HERE, stdin=theirs, stdout=theirs, stderr=theirs)
    os.close(theirs)
    os.write(mine, answer)
    assert process.wait() == (0 if left == 1 else 130)
    os.close(mine)
    assert len(contents(filled, "*")) == left


def test_export_and_import(filled: Cli) -> None:
    whole = filled("memory", "export", "*", *HERE).out
    assert len(whole.splitlines()) == 3
    filled("memory", "export", "*", "-o", "all.jsonl", *HERE)
    assert (filled.cwd / "all.jsonl").read_bytes() == whole
    assert "overwrite" in filled("memory", "export", "*", "-o", "m.db", *HERE, code=2).err
    assert filled("memory", "import", "*", "all.jsonl", "--store", "new.db").text == "3 memories\n"
    assert filled("memory", "export", "*", "--store", "new.db").out == whole
    assert filled("memory", "import", "*", "--store", "third.db", stdin=whole).text == "3 memories\n"
    again = filled("memory", "import", "*", "all.jsonl", "--store", "new.db", code=3)
    assert "already" in again.err
    assert "line" in filled("memory", "import", "user_42:", "all.jsonl", "--store", "fourth.db", code=3).err
    assert "no such" in filled("memory", "import", "*", "missing.jsonl", "--store", "new.db", code=3).err.lower()


def test_a_store_is_named_and_never_made_by_reading(cli: Cli) -> None:
    assert "--store FILE" in cli("memory", "list", "u", code=2).err
    for words in (["list", "u"], ["search", "u", "x"], ["stats", "u"], ["check"], ["export", "u"], ["forget", "u"]):
        assert "no such file" in cli("memory", *words, *HERE, code=3).err
    assert list(cli.cwd.iterdir()) == []
    (cli.cwd / "m.db").write_bytes(b"not a store")
    for words in (["list", "u"], ["check"], ["add", "u", FACT]):
        assert "m.db: damaged, or no memory store" in cli("memory", *words, *HERE, code=3).err
    assert (cli.cwd / "m.db").read_bytes() == b"not a store"


def test_the_settings_name_the_store(cli: Cli) -> None:
    (cli.cwd / "ctxproto.toml").write_text('memory = "kept/m.db"\n')
    (cli.cwd / "kept").mkdir()
    (cli.cwd / "below").mkdir()
    cli("memory", "add", "u", FACT)
    cli.cwd /= "below"
    assert FACT in cli("memory", "list", "u").text
    assert "m.db" in cli("config", "show").text
    assert "memory is the path of a store" in cli("memory", "list", "u", code=2).err if _set(cli, "memory = 5") else ""


def _set(cli: Cli, text: str) -> bool:
    return bool((cli.cwd / "ctxproto.toml").write_text(text))


def test_nothing_that_a_memory_holds_steers_the_terminal(cli: Cli) -> None:
    evil = "\x1b[2J\x1b]0;title\x07 this memory clears the screen of whoever lists it, line one\nline two"
    cli("memory", "add", "u", "--ungated", *HERE, stdin=evil.encode())
    for words in (["list", "u"], ["search", "u", "clears"]):
        text = cli("memory", *words, *HERE).text
        assert "\x1b" not in text
        assert text.count("\n") == 1
    with MemoryStore(cli.cwd / "m.db") as store:
        assert store.list("u")[0].content == evil
