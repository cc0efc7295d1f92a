"""Settings files: which one holds, what it may say, how errors read."""

from __future__ import annotations

import json

import pytest
from cli_support import PLACEHOLDER, Cli, Tokens


def shown(cli: Cli, *args: str) -> dict[str, dict[str, object]]:
    settings: dict[str, dict[str, object]] = json.loads(cli("config", "show", "--json", *args).text)["settings"]
    return settings


def test_defaults(cli: Cli) -> None:
    settings = shown(cli, "--no-config")
    assert settings["pii"] == {"value": "dangerous", "source": "default"}
    assert "placeholder" in cli("config", "show", "--no-config").text


def test_the_nearest_file_wins_whole(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "pyproject.toml").write_text('[tool.ctxproto]\nplaceholder = "mask"\npii = "none"\n')
    deep = cli.cwd / "a" / "b"
    deep.mkdir(parents=True)
    text = token().encode()
    assert Cli(deep)("sanitize", stdin=text).text == "********"
    # A pyproject.toml that says nothing about us is passed by.
    (deep / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert Cli(deep)("sanitize", stdin=text).text == "********"
    (cli.cwd / "a" / "ctxproto.toml").write_text('placeholder = "partial"\n')
    assert Cli(deep)("sanitize", stdin=text).text == "ghp_********"
    assert shown(Cli(deep))["pii"]["source"] == "default"
    # In one directory our own file goes first; the command line goes before all.
    (cli.cwd / "a" / "pyproject.toml").write_text('[tool.ctxproto]\nplaceholder = "mask"\n')
    assert Cli(deep)("sanitize", stdin=text).text == "ghp_********"
    assert Cli(deep)("sanitize", "--placeholder", "label", stdin=text).text == PLACEHOLDER
    assert Cli(deep)("sanitize", "--no-config", stdin=text).text == PLACEHOLDER
    assert Cli(deep)("sanitize", "--config", "../../pyproject.toml", stdin=text).text == "********"


def test_lists_add_up_and_say_where_they_come_from(cli: Cli, token: Tokens) -> None:
    first, second = token(), token()
    (cli.cwd / "ctxproto.toml").write_text(f'threads = 2\n[allow]\nvalues = ["{first}"]\nkeys = ["fixture"]\n')
    result = cli("sanitize", "--allow", second, stdin=f"{first} {second} {token()}".encode())
    assert result.text == f"{first} {second} {PLACEHOLDER}"
    settings = shown(cli, "--allow", second, "--allow-key", "sample")
    assert settings["allow.keys"]["value"] == ["fixture", "sample"]
    assert str(settings["allow.keys"]["source"]).endswith("ctxproto.toml, command line")
    # Values may be somebody's test password.
    assert settings["allow.values"]["value"] == "2 values"


def test_rule_files_are_relative_to_the_file_that_names_them(cli: Cli) -> None:
    (cli.cwd / "ctxproto.toml").write_text('rules = ["mine.toml"]\n')
    (cli.cwd / "deep").mkdir()
    result = Cli(cli.cwd / "deep")("sanitize", stdin=b"x", code=2)
    assert str(cli.cwd / "mine.toml") in result.err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('placeholdr = "mask"', "line 1: there is no such key; did you mean placeholder?"),
        ("[alow]\nkeys = []", "ctxproto.toml, line 1: there is no such key; the keys are rules,"),
        ("[allow]\nvalue = []", "line 2: there is no such key; did you mean allow.values?"),
        ("zzz = 1", "the keys are rules, pii,"),
        ('placeholder = "vault"', "placeholder is one of label, mask, partial, hash"),
        ("threads = 0", "threads is a whole number from 1 to 1024"),
        ("threads = true", "threads is a whole number"),
        ("pii = 1", "pii is one of dangerous, all, none, or a list of labels"),
        ('rules = "x"', "rules is a list of strings"),
        ("known_env = 1", "known_env is true or false"),
        ('format = "xml"', "format is one of auto, text, json, jsonl"),
        ("allow = 1", "line 1: there is no such key"),
        ("= 1", "is not valid TOML: syntax error (at line 1, column 1)"),
    ],
)
def test_errors_name_the_file_and_the_key(cli: Cli, text: str, message: str) -> None:
    (cli.cwd / "ctxproto.toml").write_text(text)
    for command in ("sanitize", "scan"):
        result = cli(command, stdin=b"x", code=2)
        assert message in result.err
        assert "ctxproto.toml" in result.err
        assert result.out == b""


def test_a_file_that_is_not_there_or_says_nothing(cli: Cli) -> None:
    assert "cannot read no.toml: No such file" in cli("sanitize", "--config", "no.toml", stdin=b"", code=2).err
    (cli.cwd / "pyproject.toml").write_text("[project]\n")
    result = cli("sanitize", "--config", "pyproject.toml", stdin=b"", code=2)
    assert "has no table [tool.ctxproto]" in result.err
    result = cli("sanitize", "--config", "a", "--no-config", stdin=b"", code=2)
    assert "exclude each other" in result.err


def test_a_syntax_error_shows_nothing_of_the_file(cli: Cli, token: Tokens) -> None:
    secret = token()
    (cli.cwd / "ctxproto.toml").write_text(f'[allow]\nvalues = ["{secret}" "x"]\n')
    assert secret[4:12] not in cli("sanitize", stdin=b"", code=2).err
