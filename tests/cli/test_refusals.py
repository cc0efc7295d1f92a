"""The command line's errors show nothing of what was typed, and its exit status says what happened."""

from __future__ import annotations

import gzip
import json
import random
import string
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import Cli, Tokens, gone

if TYPE_CHECKING:
    from collections.abc import Iterator

# Nothing knows this one: it must not be repeated at all.
PASSWORD = "".join(random.Random(23).choices(string.ascii_letters, k=14))
TOKEN = Tokens(23)()


def calls(secret: str) -> Iterator[list[str]]:
    """A secret in the place of everything that is no path."""
    yield [secret]
    yield [f"--{secret}"]
    yield [f"-{secret}"]
    yield ["config", "show", f"--{secret}"]
    for command in ("sanitize", "scan", "rules list", "rules test"):
        words = command.split()
        yield [*words, f"--{secret}"]
        yield [*words, f"--{secret}={secret}"]
        yield [*words, f"--in-place={secret}"]
        yield [*words, f"--no-config={secret}"]
        for option in ("--pii", "--allow-rule"):
            yield [*words, option, secret]
        yield [*words, "--allow-pattern", f"({secret}"]
        for option in ("--format", "--threads", "--placeholder", "--output-format"):
            yield [*words, option, secret]
        for option in ("--rules", "--config"):
            yield [*words, option, f"{secret}.toml"]
    for words in (["memory"], ["memory", "list"], ["memory", "list", "u", "--store", "no.db"]):
        yield [*words, f"--{secret}"]
        yield [*words, "--kind", secret]
        yield [*words, "--limit", secret]
    yield ["memory", secret]
    yield ["memory", "check", secret]
    yield ["memory", "add", f"{secret}:", secret, "--store", "new.db"]
    yield ["memory", "add", "u", secret, "--ttl", secret, "--store", "new.db"]
    yield ["memory", "forget", f":{secret}", "--store", "new.db"]
    yield ["memory", "forget", "*", "--store", "new.db"]
    yield ["rules", secret]
    yield ["rules", "show", secret]
    yield ["rules", "show", "github-pat", secret]
    yield ["rules", "test", secret]
    yield ["config", secret]
    yield ["config", "show", secret]
    yield ["completion", secret]
    yield ["completion", "bash", secret]


def shows(secret: str, *texts: str) -> bool:
    return not gone(secret, *texts)


@pytest.mark.parametrize("secret", [TOKEN, PASSWORD], ids=["token", "password"])
def test_nothing_typed_is_repeated(cli: Cli, secret: str) -> None:
    for args in calls(secret):
        # A file's name is told, but as the policy leaves it.
        if secret == PASSWORD and {"--config", "--rules"} & set(args):
            continue
        result = cli(*args, code=None)
        assert result.code == 2, args
        assert not shows(secret, result.err, result.text), args
        assert "bug in ctxproto" not in result.err


def test_paths_are_told_as_the_policy_leaves_them(cli: Cli) -> None:
    for args in (
        ["sanitize", TOKEN],
        ["scan", f"{TOKEN}/*"],
        ["scan", "--config", f"{TOKEN}.toml", "-"],
        ["scan", "--rules", f"{TOKEN}.toml", "-"],
        ["scan", "--baseline", TOKEN, "-"],
        ["scan", "-o", f"{TOKEN}/x", "-"],
        ["scan", "--write-baseline", f"{TOKEN}/x", "-"],
        ["sanitize", "--report", f"{TOKEN}/x", "-"],
        ["rules", "check", f"{TOKEN}.toml"],
    ):
        result = cli(*args, code=None)
        assert result.code in (2, 3), args
        assert not shows(TOKEN, result.err, result.text), args
        assert "GITHUB_TOKEN:REDACTED" in result.err, args


@pytest.mark.parametrize("secret", [TOKEN, PASSWORD], ids=["token", "password"])
@pytest.mark.parametrize(
    "text",
    [
        '{0} = "x"',
        '"{0}" = 1',
        "[{0}]\nx = 1",
        "[allow]\n{0} = []",
        'pii = "{0}"',
        'pii = ["{0}"]',
        'pii = {{ a = "{0}" }}',
        'placeholder = "{0}"',
        'placeholder = ["{0}"]',
        'format = "{0}"',
        'threads = "{0}"',
        'known_env = "{0}"',
        'rules = "{0}"',
        'rules = ["{0}"]',
        'allow = "{0}"',
        'allow.values = "{0}"',
        'allow.values = [["{0}"]]',
        'allow.patterns = ["({0}"]',
        'allow.rules = ["{0}"]',
        'allow.keys = "{0}"',
        'pii = "{0}',
        "{0} = {0}",
        '"{0}" = 1\n"{0}" = 2',
        'x = "{0}"\n[x]\n',
    ],
)
def test_nothing_of_a_settings_file_is_repeated(cli: Cli, text: str, secret: str) -> None:
    (cli.cwd / "ctxproto.toml").write_text(text.format(secret))
    result = cli("scan", stdin=b"x", code=2)
    assert "ctxproto.toml" in result.err or "rules[0]" in result.err or "pii[0]" in result.err or "allow." in result.err
    assert not shows(secret, result.err)


@pytest.mark.parametrize("name", ["CTXPROTO_KEY", "NO_COLOR", "TERM", "CTXPROTO_NO_PROGRESS", "MY_TOKEN"])
def test_nothing_of_the_environment_is_repeated(cli: Cli, name: str) -> None:
    for value in (PASSWORD, TOKEN, "\udcff" + PASSWORD, ""):
        code = 2 if name == "CTXPROTO_KEY" and len(value) < 16 else 0
        result = cli("scan", "--known-env", stdin=b"x", env={name: value}, code=code)
        assert not value or not shows(value.lstrip("\udcff"), result.err)
        assert not code or "CTXPROTO_KEY has" in result.err
    assert "CTXPROTO_KEY is blank" in cli("scan", stdin=b"x", env={"CTXPROTO_KEY": " " * 20}, code=2).err


def test_known_values_that_are_not_utf8(cli: Cli) -> None:
    result = cli("sanitize", "--known-env", stdin=b"see caf\xe9 noir here", env={"MY_TOKEN": "caf\udce9 noir"})
    assert result.out == b"see [MY_TOKEN:REDACTED] here"
    result = cli(
        "sanitize", "--allow", b"caf\xe9 noir", "--known-env", stdin=b"caf\xe9 noir", env={"MY_TOKEN": "caf\udce9 noir"}
    )
    assert result.out == b"caf\xe9 noir"


@pytest.fixture
def inputs(cli: Cli, token: Tokens) -> Cli:
    (cli.cwd / "clean").write_text("nothing\n")
    (cli.cwd / "found").write_text(token())
    (cli.cwd / "binary").write_bytes(b"\x7fELF\0" + token().encode())
    (cli.cwd / "broken").write_bytes(gzip.compress(token().encode() * 99)[:40])
    (cli.cwd / "empty").mkdir()
    (cli.cwd / "bad.toml").write_text("[[rules]\n")
    return cli


# What is scanned, and the status: 3 goes before 1, and 2 is said before anything is read.
SCANS: list[tuple[list[str], int]] = [
    (["clean"], 0),
    (["empty"], 0),
    (["binary"], 0),
    (["clean", "binary"], 0),
    (["found"], 1),
    (["found", "clean", "binary"], 1),
    (["broken"], 3),
    (["missing"], 3),
    (["no/*/match"], 3),
    (["clean", "missing"], 3),
    (["found", "missing", "binary"], 3),
    (["found", "-o", "no/such/out"], 3),
    (["found", "--write-baseline", "known"], 0),
    (["found", "missing", "--write-baseline", "known"], 3),
    (["found", "--baseline", "missing"], 2),
    (["found", "--rules", "bad.toml"], 2),
    (["found", "--pii", "NOTHING"], 2),
    (["found", "--format", "xml"], 2),
    (["found", "-"], 2),
    (["missing", "--threads", "0"], 2),
]


@pytest.mark.parametrize("style", ["text", "json", "sarif"])
@pytest.mark.parametrize(("args", "code"), SCANS, ids=[" ".join(args) for args, _ in SCANS])
def test_what_a_scan_exits_with(inputs: Cli, args: list[str], code: int, style: str) -> None:
    result = inputs("scan", *args, "--output-format", style, code=code)
    if style == "text" or "-o" in args:
        return
    if code == 2:
        assert result.out == b""
        return
    document: dict[str, Any] = json.loads(result.text)
    if style == "sarif":
        assert document["runs"][0]["invocations"][0]["executionSuccessful"] is (code != 3)
        return
    # Complete: every input was worked on, or skipped for a reason that is told.
    assert document["complete"] is (code != 3)
    assert document["stopped"] is False
    statuses = {one["path"]: (one["status"], one["error"] is not None) for one in document["files"]}
    expected = {
        "clean": ("clean", False),
        "found": ("found", False),
        "binary": ("skipped", True),
        "broken": ("failed", True),
        "missing": ("failed", True),
        "no/*/match": ("failed", True),
    }
    assert all(statuses[name] == expected[name] for name in args if name in expected)
    summary = document["summary"]
    assert summary["files"] == len(statuses) == sum(summary[key] for key in ("clean", "found", "skipped", "failed"))


@pytest.mark.parametrize(
    ("args", "code"),
    [
        (["clean"], 0),
        (["found"], 0),
        (["binary"], 3),
        (["binary", "-o", "out"], 0),
        (["binary", "--in-place"], 0),
        (["found", "binary", "-o", "out"], 0),
        (["broken"], 3),
        (["found", "missing", "-o", "out"], 3),
        (["empty", "-o", "out"], 0),
        (["found", "--report", "no/such/report"], 3),
        (["found", "--report", "found"], 2),
        (["found", "clean"], 2),
        (["found", "--in-place", "-o", "out"], 2),
    ],
)
def test_what_sanitize_exits_with(inputs: Cli, args: list[str], code: int) -> None:
    inputs("sanitize", *args, code=code)


def test_standard_input_exits_as_a_file_does(inputs: Cli) -> None:
    for name in ("clean", "found", "binary", "broken"):
        data = (inputs.cwd / name).read_bytes()
        for command in ("scan", "sanitize"):
            by_name, by_pipe = inputs(command, name, code=None), inputs(command, stdin=data, code=None)
            assert by_pipe.code == by_name.code, (command, name)
            if command == "sanitize":
                assert by_pipe.out == by_name.out
