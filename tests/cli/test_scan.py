"""`ctxproto scan`: what it says, in every form, and baselines."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any

import pytest
from cli_support import Cli, Tokens, files, gone

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def tree(cli: Cli, token: Tokens) -> list[str]:
    """Two files with three secrets, two of them equal, and a clean one."""
    first, second = token(), token()
    (cli.cwd / "src" / "sub").mkdir(parents=True)
    (cli.cwd / "src" / "a.log").write_text(f"x\n  t {first}\n")
    (cli.cwd / "src" / "sub" / "b.json").write_text(json.dumps({"m": [{"k": f"a {second}"}], "n": first}))
    (cli.cwd / "src" / "clean").write_text("nothing\n")
    return [first, second]


def test_text(cli: Cli, tree: list[str]) -> None:
    before = files(cli.cwd)
    result = cli("scan", "src", code=1)
    lines = result.text.splitlines()
    assert len(lines) == 3
    assert lines[0].startswith("src/a.log:2:5: ")
    assert all("GITHUB_TOKEN" in line for line in lines)
    assert "m[0].k" in lines[1]
    assert "scanned 3 inputs" in result.err
    assert "3 findings in 2 inputs" in result.err
    assert all(gone(secret, result.out, result.err) for secret in tree)
    assert files(cli.cwd) == before


def test_nothing_found_is_0(cli: Cli) -> None:
    (cli.cwd / "a").write_text("nothing")
    assert cli("scan", "a").out == b""
    assert cli("scan", stdin=b"nothing").out == b""


def test_failed_inputs_are_3_even_with_findings(cli: Cli, tree: list[str]) -> None:
    result = cli("scan", "src", "missing", code=3)
    assert len(result.text.splitlines()) == 3
    assert tree


def test_standard_input(cli: Cli, token: Tokens) -> None:
    result = cli("scan", "-", stdin=f"one\ntwo {token()}\n".encode(), code=1)
    assert result.text.startswith("-:2:5: ")


def test_json(cli: Cli, tree: list[str]) -> None:
    document = json.loads(cli("scan", "src", "--output-format", "json", code=1).text)
    assert document["schema"] == 1
    assert document["command"] == "scan"
    assert [(f["path"], f["status"], len(f["findings"])) for f in document["files"]] == [
        ("src/a.log", "found", 1),
        ("src/clean", "clean", 0),
        ("src/sub/b.json", "found", 2),
    ]
    assert all(gone(secret, json.dumps(document)) for secret in tree)


def test_json_lines(cli: Cli, tree: list[str]) -> None:
    result = cli("scan", "src", "--output-format", "jsonl", code=1)
    lines = [json.loads(line) for line in result.text.splitlines()]
    assert [(one["path"], one["line"], one["key_path"]) for one in lines] == [
        ("src/a.log", 2, None),
        ("src/sub/b.json", 1, "m[0].k"),
        ("src/sub/b.json", 1, "n"),
    ]
    assert lines[0]["fingerprint"] == lines[2]["fingerprint"] != lines[1]["fingerprint"]
    assert all(gone(secret, result.out) for secret in tree)


def check_sarif(document: dict[str, Any]) -> list[dict[str, Any]]:
    """The parts of the SARIF 2.1.0 schema that concern us: required properties, types, references."""
    assert document["version"] == "2.1.0"
    assert document["$schema"].endswith("sarif-schema-2.1.0.json")
    (run,) = document["runs"]
    assert run["columnKind"] in {"utf16CodeUnits", "unicodeCodePoints"}
    driver = run["tool"]["driver"]
    assert isinstance(driver["name"], str)
    assert set(driver) <= {"name", "version", "semanticVersion", "informationUri", "rules"}
    ids = [rule["id"] for rule in driver["rules"]]
    assert len(ids) == len(set(ids))
    for rule in driver["rules"]:
        assert set(rule) <= {
            "id",
            "name",
            "shortDescription",
            "fullDescription",
            "help",
            "defaultConfiguration",
        }
        assert isinstance(rule["shortDescription"]["text"], str)
        assert rule["defaultConfiguration"]["level"] in {"none", "note", "warning", "error"}
    for result in run["results"]:
        assert ids[result["ruleIndex"]] == result["ruleId"]
        assert isinstance(result["message"]["text"], str)
        for location in result["locations"]:
            place = location["physicalLocation"]
            uri = place["artifactLocation"]["uri"]
            assert uri.isascii()
            assert " " not in uri
            region = place["region"]
            assert region["startLine"] >= 1
            assert region["startColumn"] >= 1
        assert all(isinstance(value, str) for value in result["partialFingerprints"].values())
    for invocation in run["invocations"]:
        assert isinstance(invocation["executionSuccessful"], bool)
        for notification in invocation["toolExecutionNotifications"]:
            assert isinstance(notification["message"]["text"], str)
            assert notification["level"] in {"none", "note", "warning", "error"}
    results: list[dict[str, Any]] = run["results"]
    return results


def test_sarif(cli: Cli, tree: list[str]) -> None:
    (cli.cwd / "src" / "with space%.log").write_text(tree[0])
    (cli.cwd / "src" / "core").write_bytes(b"\0")
    result = cli("scan", "src", "missing", "--output-format", "sarif", code=3)
    document = json.loads(result.text)
    assert len(check_sarif(document)) == 4
    invocation = document["runs"][0]["invocations"][0]
    assert invocation["executionSuccessful"] is False
    assert len(invocation["toolExecutionNotifications"]) == 2
    assert all(gone(secret, result.out) for secret in tree)
    clean = json.loads(cli("scan", "src/clean", "--output-format", "sarif").text)
    assert check_sarif(clean) == []


@pytest.mark.parametrize("style", ["text", "json", "jsonl", "sarif"])
def test_output_to_a_file(cli: Cli, tree: list[str], style: str) -> None:
    env = {"CTXPROTO_KEY": "k" * 16}
    direct = cli("scan", "src", "--output-format", style, code=1, env=env)
    to_file = cli("scan", "src", "--output-format", style, "-o", "found", code=1, env=env)
    assert to_file.out == b""
    assert (cli.cwd / "found").read_bytes() == direct.out
    assert tree


def test_baseline_round_trip(cli: Cli, tree: list[str], token: Tokens) -> None:
    cli("scan", "src", "--write-baseline", "known.json", code=0)
    text = (cli.cwd / "known.json").read_text()
    document = json.loads(text)
    assert len(bytes.fromhex(document["salt"])) == 32
    assert len(document["findings"]) == 3
    assert all(gone(secret, text) for secret in tree)

    result = cli("scan", "src", "--baseline", "known.json")
    assert result.out == b""
    assert "3 known from the baseline" in result.err
    # From another directory, and with lines moved, they are the same findings.
    path = cli.cwd / "src" / "a.log"
    path.write_text("\n\n" + path.read_text())
    Cli(cli.cwd / "src")("scan", ".", "--baseline", "../known.json")

    # Something new is told, alone; so is something known in another file.
    new = token()
    path.write_text(path.read_text() + new + "\n")
    (cli.cwd / "src" / "copy").write_text(tree[0])
    lines = cli("scan", "src", "--baseline", "known.json", code=1).text.splitlines()
    assert [line.split(":")[0] for line in lines] == ["src/a.log", "src/copy"]
    report = json.loads(cli("scan", "src", "--baseline", "known.json", "--output-format", "json", code=1).text)
    assert report["summary"]["findings"] == 2

    # Written again, it keeps its salt: a small change stays a small diff.
    cli("scan", "src", "--write-baseline", "known.json")
    again = json.loads((cli.cwd / "known.json").read_text())
    assert again["salt"] == document["salt"]
    assert len(again["findings"]) == 5
    assert cli("scan", "src", "--baseline", "known.json").out == b""


def test_two_baselines_have_nothing_in_common(cli: Cli, tree: list[str]) -> None:
    prints = []
    for name in ("one.json", "two.json"):
        cli("scan", "src", "--write-baseline", name)
        prints.append({f["fingerprint"] for f in json.loads((cli.cwd / name).read_text())["findings"]})
    assert not prints[0] & prints[1]
    assert tree


def test_a_baseline_in_the_tree_is_not_scanned(cli: Cli, tree: list[str]) -> None:
    cli("scan", ".", "--write-baseline", "known.json")
    result = cli("scan", ".", "--baseline", "known.json")
    assert "scanned 3 inputs" in result.err
    assert tree


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "cannot read the baseline b.json: No such file or directory"),
        ("{", "b.json is not a baseline: it is not JSON"),
        ("[]", "b.json is not a baseline"),
        ('{"schema": 2}', "another version"),
        ('{"schema": 1, "salt": "00", "findings": []}', "its salt has 1 bytes, not 32"),
        ('{"schema": 1, "salt": "zz", "findings": []}', "b.json is not a baseline"),
    ],
)
def test_a_bad_baseline_is_2(cli: Cli, content: str | None, message: str) -> None:
    path: Path = cli.cwd / "b.json"
    if content is not None:
        path.write_text(content)
    assert message in cli("scan", "--baseline", "b.json", stdin=b"x", code=2).err


def test_inline_comments_count_in_a_scan_and_never_when_sanitizing(cli: Cli, token: Tokens) -> None:
    text = f'key = "{token()}"  # ctxproto:allow\n'.encode()
    cli("scan", stdin=text)
    cli("scan", "--no-inline-allow", stdin=text, code=1)
    assert b"REDACTED" in cli("sanitize", stdin=text).out


def test_threads_do_not_change_what_is_said(cli: Cli, token: Tokens) -> None:
    (cli.cwd / "in").mkdir()
    for i in range(30):
        (cli.cwd / "in" / f"{i:02}").write_text(f"{'x ' * 10_000 * (i % 4)}{token()}\n")
    env = {"CTXPROTO_KEY": "k" * 16}
    outs = {cli("scan", "in", "--threads", n, code=1, env=env).out for n in ("1", "2", "4")}
    assert len(outs) == 1


def test_sarif_names_a_file_byte_for_byte(cli: Cli, token: Tokens) -> None:
    secret = token()
    for name in (b"b\xff.log", b"a b.log", secret.encode()):
        (cli.cwd / os.fsdecode(name)).write_text(secret)
    (cli.cwd / "binary").write_bytes(b"\0")
    run = json.loads(cli("scan", ".", "--output-format", "sarif", code=1).text)["runs"][0]
    places = [result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for result in run["results"]]
    assert sorted(places) == ["%5BGITHUB_TOKEN%3AREDACTED%5D", "a%20b.log", "b%FF.log"]
    (note,) = run["invocations"][0]["toolExecutionNotifications"]
    assert note["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "binary"
