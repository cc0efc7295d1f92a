"""The hot paths of ctxproto: `pytest benches/test_bench.py --benchmark-enable`.

For watching one's own changes; the comparison with others is `benches/run.py`. Every one checks what it got.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import ctxproto
import pytest

sys.path.append(str(Path(__file__).resolve().parent))
import haystacks
import needles


@pytest.fixture(scope="module")
def messages() -> list[str]:
    return haystacks.messages()


@pytest.fixture(scope="module")
def redactor() -> ctxproto.Redactor:
    return ctxproto.Redactor()


@pytest.mark.benchmark(group="message")
def test_clean_message(benchmark: Any, redactor: ctxproto.Redactor, messages: list[str]) -> None:
    text = messages[0]
    assert benchmark(redactor.redact, text).text is text


@pytest.mark.benchmark(group="message")
def test_module_level_redact(benchmark: Any, messages: list[str]) -> None:
    assert not benchmark(ctxproto.redact, messages[0]).findings


@pytest.mark.benchmark(group="message")
def test_clean_message_scan(benchmark: Any, redactor: ctxproto.Redactor, messages: list[str]) -> None:
    assert not benchmark(redactor.scan, messages[0])


@pytest.mark.benchmark(group="message")
def test_clean_message_all_pii(benchmark: Any, messages: list[str]) -> None:
    text = messages[0]
    assert benchmark(ctxproto.Redactor(pii="all").redact, text).text is text


@pytest.mark.benchmark(group="parsed JSON")
def test_redact_json(benchmark: Any, redactor: ctxproto.Redactor) -> None:
    rows = [json.loads(line) for line in haystacks.json_lines(100)]
    assert not benchmark(redactor.redact_json, rows).findings


@pytest.mark.benchmark(group="throughput")
@pytest.mark.parametrize("name", ["source", "dense", "stdlib", "logs", "agents"])
def test_throughput(benchmark: Any, redactor: ctxproto.Redactor, name: str) -> None:
    try:
        documents = [text.encode() for text in haystacks.HAYSTACKS[name]()]
    except haystacks.Absent as absent:
        pytest.skip(str(absent))
    benchmark.extra_info["MB"] = sum(map(len, documents)) / 1e6
    found = benchmark(lambda: sum(len(redactor.redact(document).findings) for document in documents))
    if name == "dense":
        assert found == haystacks.DENSE_TOKENS


@pytest.mark.benchmark(group="many")
def test_redact_many(benchmark: Any, redactor: ctxproto.Redactor, messages: list[str]) -> None:
    assert not any(redaction.findings for redaction in benchmark(redactor.redact_many, messages))


@pytest.mark.benchmark(group="stream")
def test_stream_of_4_kib_chunks(benchmark: Any, redactor: ctxproto.Redactor, messages: list[str]) -> None:
    text = "".join(messages)
    chunks = [text[at : at + 4096] for at in range(0, len(text), 4096)]

    def stream() -> str:
        with_state = redactor.stream()
        return "".join([*(with_state.feed(chunk) for chunk in chunks), with_state.finish()])

    assert benchmark(stream) == text


@pytest.mark.benchmark(group="build")
def test_build_default_policy(benchmark: Any) -> None:
    benchmark(ctxproto.Redactor)


LOG = (
    "10:00 start of run 7\n"
    + "".join(f"10:{i:02} worker: invalid user {name} from 10.0.0.{i}\n" for i, name in enumerate("abcdefg"))
    + "10:20 ERROR disk /dev/sda1 is full\n10:21 ERROR disk /dev/sdb2 is full\n0 errors so far\n"
    + "10:30 queue depth was 42\n" * 1
    + "plain\nexit code 3\nbye\n"
)


def kinds(text: needles.Text) -> dict[str, list[needles.Needle]]:
    found: dict[str, list[needles.Needle]] = {kind: [] for kind in needles.KINDS}
    for needle in needles.needles(text):
        found[needle.kind].append(needle)
    return found


def test_needles_of_lines() -> None:
    text = needles.Text("logs", "made", LOG)
    found = kinds(text)
    # One for the users, who differ in a name; one for the disks, who differ in a number; none for no errors.
    assert [len(needle.forms) for needle in found["error"]] == [7, 2]
    assert [needle.forms for needle in found["outcome"]] == [("0 errors so far",), ("exit code 3",)]
    assert [needle.forms[0] for needle in found["last"]] == ["plain", "exit code 3", "bye"]
    numbers = {needle.question: needle.forms[0] for needle in found["number"]}
    assert numbers["queue depth was"] == "queue depth was 42"
    whole, cut = needles.Result(text, LOG), needles.Result(text, LOG.replace("was 42", "was 421"))
    assert all(whole.holds(needle) for needle in needles.needles(text))
    assert [needle.question for needle in needles.needles(text) if not cut.holds(needle)] == [
        "queue depth was"
    ]
    assert needles.needles(text) == needles.needles(text)


def test_needles_of_json() -> None:
    rows = [{"id": f"item-{i}", "price": i + 0.5, "status": "sold", "error": None} for i in range(20)]
    rows[7]["error"] = "no route"
    text = needles.Text("artifacts", "made", json.dumps({"rows": rows, "total": 20}, indent=2))
    found = kinds(text)
    assert [needle.forms for needle in found["error"]] == [('"error":"no route"',)]
    assert {needle.forms[0] for needle in found["outcome"]} == {'"status":"sold"', '"total":20'}
    assert len(found["number"]) == needles.NUMBERS
    for needle in found["number"]:
        price = needle.forms[0].removeprefix('"price":')
        assert needle.question == f"item-{int(float(price))}"
    # Blanks are no loss, a longer number is.
    assert all(
        needles.Result(text, json.dumps(json.loads(text.body))).holds(needle)
        for needle in needles.needles(text)
    )
    assert not needles.Result(text, '"total": 201').holds(needles.Needle("outcome", ('"total":20',)))


def test_no_trimmer_is_better_than_the_ceiling() -> None:
    text = needles.Text("logs", "made", LOG)
    wanted = needles.needles(text)
    for budget in (10, 40, 1000):
        top = needles.ceiling(budget, wanted).share()
        short = ctxproto.trim(text.body, max(budget, 30), strategy="lines").text
        held = [needles.Result(text, short).holds(needle) for needle in wanted if needle.kind != "number"]
        assert budget < 30 or (top is not None and top >= sum(held) / len(wanted))
