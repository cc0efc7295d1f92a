"""The examples run, and the README shows what is in them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def run(corpora: str) -> list[str]:
    example = ROOT / "examples" / "agent_loop.py"
    environ = {**os.environ, "CTXPROTO_CORPORA": corpora}
    done = subprocess.run([sys.executable, example], env=environ, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_loop_on_its_own_sample(tmp_path: Path) -> None:
    first, second, third, last = run(str(tmp_path))
    assert first.startswith("step 1: The cloud market size is projected at $832B")
    assert second == "step 1: redacted GITHUB_TOKEN in call_status_01"
    assert third == "step 2: {'market_size': '$832B', 'cagr': '18.4%'}, missing []"
    sent, whole = (int(word) for word in last.replace(";", "").split()[2:] if word.isdigit())
    assert sent < whole / 5
    assert last.endswith("memory read")


def test_the_loop_on_real_runs(corpora: Path) -> None:
    lines = run(str(corpora))[4:]
    assert len(lines) == 3
    for line in lines:
        numbers = [int(word) for word in line.replace(",", "").split() if word.isdigit()]
        sent, whole, most = numbers[-3:]
        assert most <= 3000
        assert sent < whole


def test_the_readme_shows_the_example() -> None:
    source = (ROOT / "examples" / "agent_loop.py").read_text(encoding="utf-8")
    shown = source.partition("# README:begin\n")[2].partition("# README:end")[0].strip()
    assert shown
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert shown in readme
