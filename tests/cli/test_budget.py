"""`ctxproto count` and `ctxproto trim`."""

from __future__ import annotations

import gzip
import json
import random
import string
import subprocess
import sys
from typing import TYPE_CHECKING

from ctxproto import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

LOG = "".join(f"step {n} is done\n" for n in range(4000)) + "ERROR: disk full\nexit code 1\n"


def run(*args: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "ctxproto.cli", *args]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=60, check=False)


def test_count(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(LOG)
    (tmp_path / "b.txt").write_text("hello")
    want = Tokenizer().count(LOG)
    assert run("count", stdin=LOG).stdout == f"{want}\n"
    both = run("count", str(tmp_path))
    assert [int(line.split()[0]) for line in both.stdout.splitlines()] == [want, 1, want + 1]
    told = json.loads(run("count", "--json", "--model", "claude-sonnet-4", str(tmp_path / "b.txt")).stdout)
    assert (told["exact"], told["encoding"]) == (False, "o200k_base")
    assert run("count", "--encoding", "nope", stdin="x").returncode == 2
    assert run("count", "--encoding", "gpt2", "--model", "gpt-4", stdin="x").returncode == 2
    assert run("count", str(tmp_path / "none")).returncode == 3


def test_trim(tmp_path: Path) -> None:
    secret = "ghp_" + "".join(random.Random(4).choices(string.ascii_letters + string.digits, k=36))
    done = run("trim", "--tokens", "120", "--no-config", stdin=f"token {secret}\n{LOG}")
    assert done.returncode == 0, done.stderr
    assert Tokenizer().count(done.stdout) <= 120
    assert "ERROR: disk full" in done.stdout
    assert done.stdout.endswith("exit code 1\n")
    assert secret not in done.stdout
    (tmp_path / "rows.json").write_text(json.dumps({"items": [{"id": n, "x": "y" * 99} for n in range(9)]}))
    report = tmp_path / "report.jsonl"
    done = run(
        "trim", "--strategy", "field_whitelist", "--field", "items.*.id", "--report", str(report), "--no-config",
        str(tmp_path / "rows.json"),
    )  # fmt: skip
    assert json.loads(done.stdout) == {"items": [{"id": n} for n in range(9)]}
    assert json.loads(report.read_text())["strategy"] == "field_whitelist"
    assert run("trim", "--tokens", "2", "--no-config", stdin=LOG).returncode == 3
    assert run("trim", "--field", "a", stdin="x").returncode == 2
    assert run("trim", "--tokens", "0", stdin="x").returncode == 2


def compressed(text: bytes) -> dict[str, bytes]:
    gzipped = gzip.compress(text)
    # A zstd frame of one raw block: magic, descriptor (single segment, 4 bytes of size), size, block header.
    header = (1 | len(text) << 3).to_bytes(3, "little")
    raw = b"\x28\xb5\x2f\xfd" + bytes([0xA0]) + len(text).to_bytes(4, "little") + header + text
    return {"a.gz": gzipped, "a.zst": raw, "a.txt": ("\ufeff" + text.decode()).encode("utf-16-le")}


def test_what_holds_the_text_does_not_matter(tmp_path: Path) -> None:
    text = b"ERROR: disk full\n" * 30
    want = Tokenizer().count(text)
    for name, data in compressed(text).items():
        path = tmp_path / name
        path.write_bytes(data)
        counted = run("count", str(path))
        assert abs(int(counted.stdout) - want) <= 1, (name, counted)
        for strategy in ("auto", "lines", "last_n"):
            trimmed = run("trim", "--no-config", "--strategy", strategy, str(path))
            assert trimmed.stdout.removeprefix("\ufeff") == text.decode(), name


def test_binary_data_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "b").write_bytes(b"\x7fELF\0\0\0")
    for command in (["count"], ["trim", "--no-config"]):
        alone = run(*command, str(tmp_path / "b"))
        assert (alone.returncode, alone.stdout) == (3, "")
        assert "binary data" in alone.stderr
    (tmp_path / "a").write_text("hello")
    (tmp_path / "link").symlink_to("a")
    for command in (["count"], ["trim", "--no-config"]):
        several = run(*command, str(tmp_path))
        assert several.returncode == 0
        assert "b: binary data" in several.stderr
        assert "link: symbolic link" in several.stderr


def test_a_lost_output_is_no_success(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("hello\n")
    for command in ("count", "trim --no-config", "scan", "rules list", "--version"):
        for close in (">&-", ">/dev/full"):
            path = "" if command in {"rules list", "--version"} else "a"
            line = f"{sys.executable} -m ctxproto.cli {command} {path} {close}"
            done = subprocess.run(["sh", "-c", line], cwd=tmp_path, capture_output=True, timeout=60, check=False)
            # Nothing found is nothing written.
            assert done.returncode == (0 if command == "scan" else 3), (line, done)
            assert b"Traceback" not in done.stderr
            assert b"Exception ignored" not in done.stderr
