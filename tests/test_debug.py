"""The debug kit: a judge that shares nothing with the redactor, snapshots, traces, the plugin of pytest."""

from __future__ import annotations

import json
import random
import re
import string
from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import (
    ConfigError,
    ContextDebugKit,
    ContextProtocol,
    InputError,
    Redactor,
    StoreError,
    _core,
)
from ctxproto.cli import main
from hypothesis import given
from hypothesis import strategies as st
from strategies import REDACTOR, github_tokens, random_token

if TYPE_CHECKING:
    from pathlib import Path

pytest_plugins = ["pytester"]

MADE = string.ascii_letters + string.digits


def made(seed: int, length: int) -> str:
    """A value as machines make them: letters and digits."""
    return "a1" + "".join(random.Random(seed).choices(MADE, k=length - 2))


def secrets() -> list[tuple[str, str]]:
    body = made(7, 40)
    return [
        (random_token(1), "GITHUB_TOKEN"),
        ("glpat-" + made(1, 20), "GITLAB_TOKEN"),
        ("sk-" + made(2, 21), "OPENAI_KEY"),
        ("sk-" + "prod-" + made(3, 18), "OPENAI_KEY"),
        ("sk-" + "ant-" + made(3, 40), "ANTHROPIC_KEY"),
        ("AIza" + made(4, 35), "GOOGLE_API_KEY"),
        ("AKIA" + made(5, 16).upper(), "AWS_KEY"),
        ("xoxb-" + made(6, 24), "SLACK_TOKEN"),
        (f"password={body[:12]}", "PASSWORD"),
        (f'{{\\"password\\": \\"{body[:12]}\\"}}', "PASSWORD"),
        (f"api_key: {body}", "API_KEY"),
        (f"Authorization: Bearer {body}", "AUTH_HEADER"),
        (f"postgres://bob:{body[:9]}@db.example/x", "URL_PASSWORD"),
        ("-----BEGIN RSA " + f"PRIVATE KEY-----\n{body}", "PRIVATE_KEY"),
        ("123-45-" + "6789", "SSN"),
        ("4539 5787 6362 " + "1486", "CREDIT_CARD"),
    ]


@pytest.mark.parametrize(("secret", "label"), secrets(), ids=lambda value: value if value.isupper() else "")
def test_the_judge_finds_by_itself_what_nobody_redacted(
    secret: str, label: str, capsys: pytest.CaptureFixture[str]
) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": json.dumps({"x": secret})}}
    for message in (
        {"role": "tool", "content": f"see {secret} there"},
        {"role": "user", "content": [{"type": "text", "text": secret}]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "user", "content": "x", "name": secret},
    ):
        assert not ContextDebugKit.assert_no_secrets([{"role": "system", "content": "x"}, message])
        said = capsys.readouterr().out
        assert f"message[1] (role={message['role']}): [{label}]" in said
        longest = max(re.findall(r"[A-Za-z0-9]{6,}|[\d -]{6,}", secret), key=len)
        assert not any(longest[at : at + 6] in said for at in range(len(longest) - 5))


def test_a_value_under_a_key_that_says_so() -> None:
    for key, label in (("password", "PASSWORD"), ("api_key", "API_KEY"), ("access_token", "API_KEY")):
        (leak, *_) = ContextDebugKit.find_secrets([{"role": "tool", "content": [{key: made(11, 24)}]}])
        assert (leak.label, leak.place, leak.length) == (label, f"content[0].{key}", 24)


@pytest.mark.parametrize(
    "text",
    [
        "basic configuration_settings of the project",
        "pwd: /home/user/project",
        "password: required, type string",
        'password = os.environ["DB_PASSWORD"]',
        "password=${DB_PASSWORD} token=$TOKEN",
        "the token: a_word_that_is_long_enough",
        "secret: [API_KEY:REDACTED], password=[PASSWORD:REDACTED] and Bearer [AUTH_HEADER:3f9a12c4]",
        "password: ********",
        "postgres://user:***@host/db https://example.com:8080/path@2",
        "order 1234 5678 9012 3456 is no card, 2024-01-02-3333 no number",
        "task-force-risk-sk-learn-based-approaches",
        "0000000000000000",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert ContextDebugKit.find_secrets([{"role": "tool", "content": text}]) == []


def test_real_runs_are_clean(corpora: Path) -> None:
    lines = (corpora / "agents" / "tau-bench-airline.jsonl").read_text().splitlines()
    messages = [message for line in lines for message in json.loads(line)["messages"]]
    assert ContextDebugKit.find_secrets(messages) == []


@given(github_tokens, st.text(max_size=30), st.integers(0, 3))
def test_what_the_redactor_left_is_clean_to_the_judge(token: str, around: str, depth: int) -> None:
    text: Any = f"{around} {token} {around}"
    for _ in range(depth):
        text = json.dumps({"a": text})
    messages = [{"role": "tool", "content": text}]
    assert ContextDebugKit.find_secrets(messages)
    assert ContextDebugKit.find_secrets(REDACTOR.redact_json(messages).value) == []


def test_the_judge_sees_what_a_blind_redactor_does_not() -> None:
    assert not ContextDebugKit.assert_no_secrets(
        [{"role": "tool", "content": Redactor(profile="none").redact(random_token(2)).text}]
    )
    # And by providers' own examples, all but a few of the kinds that it names.
    names = {"github-pat": 0, "gitlab-pat": 0, "slack-bot-token": 0, "openai-key": 0, "aws-access-key": 0}
    for rule in [rule.id for rule in REDACTOR.rules if rule.id in names]:
        for seed in range(20):
            example = _core._rule_example(REDACTOR, rule, seed)
            assert example is None or ContextDebugKit.find_secrets([{"role": "tool", "content": example.decode()}])


def test_patterns_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    messages = [{"role": "user", "content": "ORD-7125 of ada"}]
    assert ContextDebugKit.assert_no_secrets(messages)
    assert not ContextDebugKit.assert_no_secrets(messages, [(r"ord-\d+", "ORDER_ID")])
    assert "[ORDER_ID] 8 characters in content" in capsys.readouterr().out
    with pytest.raises(ConfigError, match=r"patterns\[0\] is no regular expression"):
        ContextDebugKit.find_secrets([], [("(", "X")])


def test_snapshots_are_redacted_whole_and_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    token = random_token(3)
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": f"mine is {token}"},
        {"role": "assistant", "content": None},
    ]
    path = ContextDebugKit.dump_context_snapshot(messages, 7, str(tmp_path / "snapshots"))
    assert re.fullmatch(r"step_0007_\d{8}_\d{6}_\d{6}\.json", path.name)
    assert "📸 Context snapshot saved:" in capsys.readouterr().out
    assert token[4:] not in path.read_text()
    snapshot = ContextDebugKit.load_snapshot(path)
    assert snapshot["messages"][0]["content"] == "mine is [GITHUB_TOKEN:REDACTED]"
    assert (snapshot["step"], snapshot["message_count"]) == (7, 2)
    assert snapshot["total_tokens_est"] > 5
    assert messages[0]["content"] == f"mine is {token}"
    assert path.stat().st_mode & 0o077 == 0
    prepared = ContextProtocol().prepare_context("hello")
    trail = ContextDebugKit.load_snapshot(ContextDebugKit.dump_context_snapshot(prepared, 8, tmp_path))["audit_trail"]
    assert trail == prepared.audit_trail
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="not written"):
        ContextDebugKit.dump_context_snapshot([], 1, tmp_path / "file")
    with pytest.raises(InputError, match="no snapshot"):
        ContextDebugKit.load_snapshot(tmp_path / "file")
    with pytest.raises(StoreError, match="cannot be read"):
        ContextDebugKit.load_snapshot(tmp_path / "none")


def test_a_trace_tells_roles_and_decisions() -> None:
    protocol = ContextProtocol()
    envelope = protocol.handle_tool_result("c1", f"token {random_token(1)}")
    messages = protocol.prepare_context("q", [envelope], system_prompt="s")
    trace = ContextDebugKit.trace_context_routing(messages, protocol.audit_trail, 3)
    assert (trace["step"], trace["message_roles"], trace["system_messages"]) == (3, ["system", "user", "user"], 1)
    assert [entry["labels"] for entry in trace["active_decisions"]["redactions"]] == [["GITHUB_TOKEN"]]
    assert trace["audit_events"] == protocol.audit_trail
    json.dumps(trace)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = ContextDebugKit.dump_context_snapshot([{"role": "user", "content": "one\ntwo\x1b[31m"}], 1, tmp_path)
    second = ContextDebugKit.dump_context_snapshot([{"role": "user", "content": "one\nthree"}], 2, tmp_path)
    capsys.readouterr()

    def run(*args: object) -> tuple[Any, str]:
        with pytest.raises(SystemExit) as end:
            main(["snapshot", *map(str, args)])
        return end.value.code, capsys.readouterr().out

    status, out = run("show", first)
    assert (status, out.splitlines()[:2]) == (0, ["step 1: 1 messages", "--- [0] user, 7 tokens"])
    assert "\\x1b" in out
    assert json.loads(run("show", first, "--json")[1])["step"] == 1
    status, out = run("diff", first, second)
    assert status == 1
    assert "+three" in out.splitlines()
    assert run("diff", first, first) == (0, "")
    assert run("show", tmp_path)[0] == 3


def test_the_fixture(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        TOKEN = "gh" + "p_" + "aB3dE6gH9jK1" * 3

        def test_clean(assert_context_clean):
            assert_context_clean([{"role": "user", "content": "hello"}])

        def test_leak(assert_context_clean):
            assert_context_clean([{"role": "tool", "content": TOKEN}])
        """
    )
    result = pytester.runpytest_subprocess()
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*in message*role=tool*GITHUB_TOKEN* 40 characters in content*"])
    assert "dE6gH9" not in result.stdout.str().replace('"aB3dE6gH9jK1" * 3', "")
