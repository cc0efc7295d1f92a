"""Help, version, completion, rules: and that all of it is there at once."""

from __future__ import annotations

import ast
import re
import subprocess
import sys

import pytest
from cli_support import Cli, environment


def test_version_and_help(cli: Cli) -> None:
    assert re.fullmatch(r"ctxproto \d+\.\d+\.\d+\n", cli("--version").text)
    assert "sanitize" in cli("--help").text
    assert cli("-h").text == cli("--help").text
    for command in ("sanitize", "scan", "rules", "rules list", "config", "config show", "completion", "memory",
        "memory add", "memory search", "memory list", "memory forget", "memory stats", "memory check", "memory export",
        "memory import"):  # fmt: skip
        text = cli(*command.split(), "--help").text
        assert "Usage: ctxproto" in text
        assert max(map(len, text.splitlines())) <= 80


def test_help_loads_little() -> None:
    code = """
import sys
from ctxproto.cli import main
try:
    main(sys.argv[1:])
except SystemExit:
    pass
parts = {name.split(".")[1] for name in sys.modules if name.startswith("ctxproto.")}
print("loaded", sorted(parts), "asyncio" in sys.modules, "numpy" in sys.modules)
"""
    for arguments in ([], ["sanitize"]):
        command = [sys.executable, "-c", code, *arguments, "--help"]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, check=True)
        parts = ["_core", "arguments", "cli", "config", "errors", "tokens", "tools"]
        assert "Usage: ctxproto" in done.stdout
        *_, last = done.stdout.splitlines()
        assert last.endswith("False False")
        assert set(ast.literal_eval(last.removeprefix("loaded ").removesuffix(" False False"))) <= set(parts)


def test_no_or_wrong_commands(cli: Cli) -> None:
    assert "Commands:" in cli(code=2).err + cli(code=None).text
    assert "did you mean sanitize?" in cli("sanitise", code=2).err
    assert "there is no such command; the commands are sanitize," in cli("zzz", code=2).err


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).text
    assert "_CTXPROTO_COMPLETE" in script
    if shell == "bash":
        subprocess.run(["bash", "-n"], input=script.encode(), check=True)
    assert "it is one of bash, zsh, fish, not a str of 4" in cli("completion", "tcsh", code=2).err
    assert "eval" in cli("completion", "--help").text


def test_completion_itself(cli: Cli) -> None:
    env = {"_CTXPROTO_COMPLETE": "bash_complete", "COMP_WORDS": "ctxproto sa", "COMP_CWORD": "1"}
    assert "sanitize" in cli(env=env).text
    env = {"_CTXPROTO_COMPLETE": "bash_complete", "COMP_WORDS": "ctxproto scan --base", "COMP_CWORD": "2"}
    assert "--baseline" in cli(env=env).text


def test_rules_list_and_show(cli: Cli) -> None:
    lines = cli("rules", "list").text.splitlines()
    assert any("GITHUB_TOKEN" in line for line in lines)
    some = lines[0].split()[0]
    shown = cli("rules", "show", some).text
    assert f"id:      {some}" in shown
    assert "no such active rule; did you mean github-pat?" in cli("rules", "show", "github-patt", code=2).err


def test_rules_check(cli: Cli) -> None:
    (cli.cwd / "broken.toml").write_text("[[rules]\n")
    assert "broken.toml" in cli("rules", "check", "broken.toml", code=2).err
    assert "missing.toml" in cli("rules", "check", "missing.toml", code=2).err
    rule = '[[rule]]\nid = "mine"\nname = "Our own key"\nlabel = "OUR_KEY"\nshape = "mine_ digit{12}"\n'
    (cli.cwd / "mine.toml").write_text(rule)
    assert cli("rules", "check", "mine.toml").text == "mine.toml: 1 rule\n"
    assert cli("sanitize", "--rules", "mine.toml", stdin=b"a mine_123456789012 b").text == "a [OUR_KEY:REDACTED] b"
