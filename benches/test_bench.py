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
