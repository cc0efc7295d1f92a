"""Token counting against other tokenizers: `benches/.venv-peers/bin/python benches/tokens.py`.

Each engine counts the same texts by o200k_base on one thread, a process a text, the engines taking
turns. "first" is the first pass of a fresh tokenizer, "best" the best of five. Texts: this Python's
sources, the texts of installed packages (markdown), the JSON and logs of the corpora
(`CTXPROTO_CORPORA`), Japanese made from a word list. An engine whose count differs from tiktoken's
is marked.
"""

from __future__ import annotations

import functools
import multiprocessing
import os
import random
import statistics
import sys
import sysconfig
import tempfile
import threading
import time
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

from ctxproto import Tokenizer, _core  # noqa: E402

Count = Callable[[str], int]
CORPORA = Path(os.environ.get("CTXPROTO_CORPORA") or ROOT / "../shared/corpora")
SIZE = 4_000_000


def read(files: list[Path], size: int = SIZE) -> str:
    """The files joined, up to a size."""
    text = ""
    for file in files:
        text += file.read_bytes().decode("utf-8", "replace")
        if len(text) > size:
            break
    return text[:size]


def japanese() -> str:
    """Sentences of common words, the same at every run."""
    draw = random.Random(7)
    nouns = (
        "私 会社 電話 時間 問題 世界 東京 日本語 情報 システム データ サーバー エラー 設定 結果 方法".split()
    )
    verbs = "使います 見ました 考えています 変更してください 確認できません 送信された".split()

    def sentence() -> str:
        one, two, three = draw.sample(nouns, 3)
        return f"{one}は{two}の{three}を{draw.choice(verbs)}。"

    return "\n".join("".join(sentence() for _ in range(6)) for _ in range(12_000))[: SIZE // 3]


def texts() -> dict[str, str]:
    """What is counted."""
    library = Path(sysconfig.get_paths()["stdlib"])
    packages = Path(sysconfig.get_paths()["purelib"])
    return {
        "code": read(sorted(library.glob("*.py")) + sorted(library.glob("[a-s]*/*.py"))),
        "markdown": read(sorted(packages.rglob("*.md")) + sorted(packages.rglob("METADATA"))),
        "JSON": read([*sorted(CORPORA.glob("artifacts/*.json")), *sorted(CORPORA.glob("agents/*/*.traj"))]),
        "logs": read(sorted(CORPORA.glob("logs/*.log"))),
        "Japanese": japanese(),
    }


def o200k_ranks() -> dict[bytes, int]:
    """The ranks of o200k_base, from our own copy: nothing is downloaded."""
    native = _core.Encoding("o200k_base")
    return {native.decode([token]): token for token in range(199_998)}


def tiktoken_of(ranks: dict[bytes, int]) -> Any:
    """Tiktoken with these ranks."""
    import tiktoken

    return tiktoken.Encoding("o200k", pat_str="|".join(_PATTERN), mergeable_ranks=ranks, special_tokens={})


def engines() -> dict[str, Callable[[], Count]]:
    """How to make a fresh one of each that is installed."""
    ranks = o200k_ranks()
    lines = b"".join(b64encode(token) + f" {rank}\n".encode() for token, rank in ranks.items())
    found: dict[str, Callable[[], Count]] = {"ctxproto": lambda: Tokenizer("o200k_base").count}
    try:
        import tiktoken  # noqa: F401

        def make_tiktoken() -> Count:
            encoding = tiktoken_of(ranks)
            return lambda text: len(encoding.encode_to_numpy(text))

        found["tiktoken"] = make_tiktoken
    except ImportError:
        pass
    try:
        import quicktok  # type: ignore[import-not-found]

        found["quicktok"] = lambda: quicktok.get_encoding("o200k_base").count
    except ImportError:
        pass
    try:
        from rs_bpe.bpe import openai  # type: ignore[import-not-found]

        found["rs-bpe"] = lambda: openai.o200k_base().count
    except ImportError:
        pass
    try:
        import splintr  # type: ignore[import-not-found]

        def make_splintr() -> Count:
            encode = splintr.Tokenizer.from_pretrained("o200k_base").encode
            return lambda text: len(encode(text))

        found["splintr"] = make_splintr
    except ImportError:
        pass
    try:
        import gigatoken  # type: ignore[import-not-found]

        path = Path(tempfile.mkdtemp()) / "o200k_base.tiktoken"
        path.write_bytes(lines)

        def make_gigatoken() -> Count:
            tokenizer = gigatoken.Tokenizer.from_tiktoken(path)
            return lambda text: len(tokenizer.encode(text))

        found["gigatoken"] = make_gigatoken
    except ImportError:
        pass
    return found


_PATTERN = [
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
    r"""\p{N}{1,3}""",
    r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
    r"""\s*[\r\n]+""",
    r"""\s+(?!\S)""",
    r"""\s+""",
]


def seconds(count: Count, text: str) -> tuple[float, int]:
    """The time of one pass, and the count."""
    start = time.perf_counter()
    tokens = count(text)
    return time.perf_counter() - start, tokens


def rates(makers: dict[str, Callable[[], Count]]) -> None:
    """MB/s of every engine over every text, a process a text: no cache knows another."""
    print("| MB/s, first / best of 5 | " + " | ".join(makers) + " |")
    print("| --- |" + " ---: |" * len(makers), flush=True)
    for name, text in texts().items():
        child = multiprocessing.get_context("fork").Process(target=rate, args=(makers, name, text))
        child.start()
        child.join()


def rate(makers: dict[str, Callable[[], Count]], name: str, text: str) -> None:
    """The row of one text."""
    size = len(text.encode()) / 1e6
    passes: dict[str, list[float]] = {engine: [] for engine in makers}
    counts: dict[str, int] = {}
    live: dict[str, Count] = {}
    for _ in range(5):
        for engine, make in makers.items():
            if engine not in live:
                live[engine] = make()
                live[engine]("warm the tables, not the text")
            try:
                taken, counts[engine] = seconds(live[engine], text)
            except Exception as error:
                print(f"{engine}: {type(error).__name__}", file=sys.stderr)
            else:
                passes[engine].append(taken)
    want = counts.get("tiktoken")
    cells = []
    for engine, times in passes.items():
        if not times:
            cells.append("fails")
            continue
        wrong = "" if want in (None, counts[engine]) else " (differs)"
        cells.append(f"{size / times[0]:.0f} / {size / min(times):.0f}{wrong}")
    print(f"| {name}, {size:.1f} MB | " + " | ".join(cells) + " |", flush=True)


def worst(makers: dict[str, Callable[[], Count]]) -> None:
    """Milliseconds for one MB of what is hardest."""
    draw = random.Random(1)
    letters = "abcdefghijklmnopqrstuvwxyz"
    cases = {
        "one letter": "a" * 10**6,
        "spaces": " " * 10**6,
        "`^`": "^" * 10**6,
        "random a-z": "".join(draw.choices(letters, k=10**6)),
        "base64": b64encode(draw.randbytes(750_000)).decode(),
        "newlines": "\n" * 10**6,
    }
    print("\n| 1 MB, ms | " + " | ".join(makers) + " |")
    print("| --- |" + " ---: |" * len(makers))
    for name, text in cases.items():
        cells = []
        for make in makers.values():
            count = make()
            count("warm")
            try:
                cells.append(f"{seconds(count, text)[0] * 1e3:.0f}")
            except Exception:
                cells.append("fails")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)


def microseconds(work: Callable[[], object], rounds: int = 41) -> float:
    """The median of `rounds`, after one that is not counted."""
    work()
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1e6


def limits_and_threads() -> None:
    """Limits, two threads."""
    tokenizer = Tokenizer()
    text = read(sorted(CORPORA.glob("logs/*.log")))
    small, large = text[:80_000], text * (10**9 // len(text))
    for name, one in (("80 KB", small), ("1 GB", large)):
        took = microseconds(functools.partial(tokenizer.limit, one, 1500))
        print(f"limit of 1,500 tokens, {name}: {took:.0f} us")
    del large
    alone = min(seconds(tokenizer.count, text)[0] for _ in range(5))
    ratios = []
    for _ in range(5):
        threads = [threading.Thread(target=tokenizer.count, args=(text,)) for _ in range(2)]
        start = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        ratios.append(2 * alone / (time.perf_counter() - start))
    print(
        f"two threads over {len(text) / 1e6:.1f} million characters of log: {statistics.median(ratios):.2f}x"
    )


if __name__ == "__main__":
    all_engines = engines()
    rates(all_engines)
    worst(all_engines)
    print()
    limits_and_threads()
