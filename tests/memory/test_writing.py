"""The write gate on what agents really say: no outcome is lost, and little else gets in."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from ctxproto import MemoryContextGate

TEXTS = tomllib.loads((Path(__file__).parent / "judged.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("content", TEXTS["outcomes"])
def test_an_outcome_is_written(content: str) -> None:
    verdict = MemoryContextGate().judge_write(content, "u")
    assert (verdict.rule, verdict.accepted) == ("accepted", True)


@pytest.mark.parametrize("content", TEXTS["junk"])
def test_junk_is_not(content: str) -> None:
    verdict = MemoryContextGate().judge_write(content, "u")
    assert verdict.rule in {"raw_log", "reasoning", "chatter", "low_density"}


def test_a_short_fact_in_characters_that_are_words() -> None:
    gate = MemoryContextGate()
    assert gate.judge_write("用户喜欢简洁的中文回答,项目使用数据库部署在阿里云上每周二发布。", "u").accepted
    assert gate.judge_write("用户喜欢简洁的回答。", "u").rule == "fragment"


def test_what_is_nearly_the_same_in_characters_that_are_words() -> None:
    there = "用户喜欢简洁的中文回答,项目使用数据库部署在阿里云上每周二发布新版本代码审查由李雷负责。"
    verdict = MemoryContextGate().judge_write(there + "好", "u", existing=["x", there])
    assert (verdict.rule, verdict.repeats) == ("merge", 1)


def test_lone_surrogates_are_judged() -> None:
    text = "The user prefers short answers, and works \ud800 in Lisbon most of the year."
    verdict = MemoryContextGate().judge_write(text, "u", seen=["\ud800"], existing=["\udfff"])
    assert verdict.content == text.replace("\ud800", "?")
