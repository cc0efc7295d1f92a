"""Memory search: how well it finds, and how soon: `benches/.venv-peers/bin/python benches/memory.py`.

Quality: the turns of LoCoMo's conversations (`CTXPROTO_CORPORA`) are memories, each with its speaker and
the date of its session; its questions are queries. Recall of the turns that answer them, and what the gate
at 0.75 lets through; no LLM anywhere. Vectors by all-MiniLM-L6-v2 (`minilm.py`).

Speed: medians over 200 queries, on one thread, called from Python, everything warm. Texts of 25 words after
Zipf, vectors of 384 numbers around random centres. All engines answer the same queries; recall is that of
the ten closest. `--million` adds a million vectors.
"""

from __future__ import annotations

import functools
import importlib.util
import itertools
import json
import os
import random
import re
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

for threads in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(threads, "1")

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "python"))

try:
    import numpy as np
except ImportError:
    sys.exit("benches/memory.py: no numpy, so nothing is measured; see setup_peers.sh")
from ctxproto import MemoryContextGate, MemoryStore  # noqa: E402

from minilm import MiniLM, weights  # noqa: E402

CORPORA = Path(os.environ.get("CTXPROTO_CORPORA") or ROOT / "../shared/corpora")
DIMS = 384
QUERIES = 200
K = 10
# The `limit` of a search unless it is given.
DEFAULT = 50
Array = Any
Conversation = tuple[list[tuple[str, str]], list[tuple[str, set[str], bool]]]


class Known:
    """An embedder that has made its vectors before: what is timed is the search."""

    name = "known"

    def __init__(self, made: dict[str, Array]) -> None:
        self._made = made

    def __call__(self, texts: Sequence[str]) -> Array:
        """The vectors of known texts."""
        return np.stack([self._made[text] for text in texts])


ROW = {
    "kind": "decision",
    "purpose": "",
    "importance": 0.5,
    "provenance": "agent",
    "created": 1,
    "valid_from": 1,
    "valid_to": None,
    "supersedes": None,
    "superseded_by": None,
    "expires": None,
    "metadata": "{}",
}

# --- How well.


def conversations() -> list[Conversation]:
    """Of each its turns (id, text), and its questions (text, ids, whether they can be answered)."""
    found = []
    for one in json.loads((CORPORA / "memory/locomo.json").read_text("utf-8")):
        talk = one["conversation"]
        sessions = sorted(int(name[8:]) for name in talk if re.fullmatch(r"session_\d+", name))
        turns = [
            (turn["dia_id"], f"[{talk[f'session_{at}_date_time']}] {turn['speaker']}: {turn['text']}")
            for at in sessions
            for turn in talk[f"session_{at}"]
        ]
        known = {name for name, _ in turns}
        questions = []
        for question in one["qa"]:
            evidence = set(re.findall(r"D\d+:\d+", " ".join(question["evidence"]))) & known
            if evidence:
                questions.append((question["question"], evidence, question["category"] != 5))
        found.append((turns, questions))
    return found


def quality(model: MiniLM) -> None:
    """Recall of turns by words, by vectors and by both; then the gate."""
    talks = conversations()
    texts = {
        text for turns, questions in talks for text in [t for _, t in turns] + [q for q, _, _ in questions]
    }
    ordered = sorted(texts)
    made: dict[str, Array] = dict(zip(ordered, model(ordered), strict=True))

    def embedder(given: list[str]) -> Array:
        return np.stack([made[text] if text in made else model([text])[0] for text in given])

    hybrid = MemoryStore(":memory:", embedder=embedder, model="minilm")
    words = MemoryStore(":memory:")
    names: list[dict[str, str]] = []
    for at, (turns, _) in enumerate(talks):
        names.append({hybrid.save(f"talk:{at}", text).memory_id: name for name, text in turns})
        names[-1] |= {words.save(f"talk:{at}", text).memory_id: name for name, text in turns}
    searches: dict[str, Callable[[str, str], Any]] = {
        "words alone (BM25)": lambda q, n: words.search(q, n, limit=50),
        "vectors alone (cosine)": lambda q, n: hybrid.search(q, n, scale="cosine", mmr=1.0),
        "both": lambda q, n: hybrid.search(q, n, mmr=1.0),
    }
    answerable = sum(answer for _, questions in talks for _, _, answer in questions)
    turns_all = sum(len(turns) for turns, _ in talks)
    print(f"| LoCoMo, {turns_all:,} turns, {answerable} questions: recall | @5 | @10 | @20 |")
    print("| --- | ---: | ---: | ---: |")
    for name, search in searches.items():
        cells = [recall(talks, names, search, most) for most in (5, 10, 20)]
        print(f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)
    cells = []
    for most in (5, 10, 20):
        default = functools.partial(hybrid.search, limit=most)
        cells.append(recall(talks, names, default, most))
    print("| both, MMR 0.9 (the default) | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |", flush=True)
    print("\n| gate | recall | precision | returned | empty | returned on unanswerable |")
    print("| --- | ---: | ---: | ---: | ---: | ---: |")
    gated(talks, names, "score >= 0.75", searches["both"], 0.75)
    gated(talks, names, "score >= 0.85", searches["both"], 0.85)
    gated(talks, names, "cosine >= 0.75", searches["vectors alone (cosine)"], 0.75)
    for at, (_, questions) in enumerate(talks):
        hybrid.calibrate([question for question, _, _ in questions], f"talk:{at}", limit=200)
        break
    gated(talks, names, "score >= 0.75, calibrated on the first talk", searches["both"], 0.75)


def recall(
    talks: list[Conversation], names: list[dict[str, str]], search: Callable[[str, str], Any], most: int
) -> float:
    """The mean share of a question's turns among the first `most`."""
    shares = []
    for at, (_, questions) in enumerate(talks):
        for question, evidence, answer in questions:
            if answer:
                found = {names[at][hit.memory_id] for hit in search(question, f"talk:{at}")[:most]}
                shares.append(len(found & evidence) / len(evidence))
    return statistics.mean(shares)


def gated(
    talks: list[Conversation],
    names: list[dict[str, str]],
    label: str,
    search: Callable[[str, str], Any],
    threshold: float,
) -> None:
    """What a gate lets through, means over questions; precision over those that get anything."""
    gate = MemoryContextGate(relevance_threshold=threshold, max_memory_tokens=1_000_000)
    shares, precisions, counts, others = [], [], [], []
    for at, (_, questions) in enumerate(talks):
        for question, evidence, answer in questions:
            memories = gate.should_read(question, f"talk:{at}", search(question, f"talk:{at}"))[2]
            if not answer:
                others.append(len(memories))
                continue
            found = {names[at][hit.memory_id] for hit in memories}
            shares.append(len(found & evidence) / len(evidence))
            counts.append(len(found))
            if found:
                precisions.append(len(found & evidence) / len(found))
    row = [statistics.mean(shares), statistics.mean(precisions)]
    empty = sum(count == 0 for count in counts) / len(counts)
    print(
        f"| {label} | {row[0]:.3f} | {row[1]:.3f} | {statistics.mean(counts):.1f} | {empty:.1%} | "
        f"{statistics.mean(others):.1f} |",
        flush=True,
    )


# --- How soon.


def texts(count: int, words: int, draw: random.Random) -> list[str]:
    """Texts of words after Zipf, of 20,000 words that are the same at every call."""
    letters, spell = "abcdefghijklmnopqrstuvwxyz", random.Random(5)
    vocabulary = ["".join(spell.choices(letters, k=spell.randint(3, 9))) for _ in range(20_000)]
    shares = list(itertools.accumulate(1 / (at + 1) for at in range(len(vocabulary))))
    return [" ".join(draw.choices(vocabulary, cum_weights=shares, k=words)) for _ in range(count)]


def clustered(count: int) -> tuple[Array, Array]:
    """Unit vectors around centres, and queries of the same kind."""
    draw = np.random.default_rng(7)
    centres = draw.standard_normal((max(count // 100, 16), DIMS), np.float32)
    which = draw.integers(len(centres), size=count + QUERIES)
    made = centres[which] + draw.standard_normal((count + QUERIES, DIMS), np.float32)
    made /= np.linalg.norm(made, axis=1, keepdims=True)
    return made[:count], made[count:]


def filled(count: int) -> tuple[MemoryStore, list[str], Array, Array]:
    """A store with so many memories, queries with known vectors, and the vectors."""
    draw = random.Random(3)
    vectors, asked = clustered(count)
    contents = [f"{text} n{at}" for at, text in enumerate(texts(count, 24, draw))]
    queries = [f"{text} q{at}" for at, text in enumerate(texts(QUERIES, 5, draw))]
    known = Known(dict(zip([*contents, *queries], [*vectors, *asked], strict=True)))
    graph_from = 1 << 40 if importlib.util.find_spec("hnswlib") else None
    store = MemoryStore(":memory:", embedder=known, graph_from=graph_from)
    store._core.introduce("known", (100, QUERIES), np.concatenate([vectors[:100], asked]), False)
    for content in contents:
        store.save("user_42:session_1", content)
    store.search(queries[0], "user_42:")
    return store, queries, vectors, asked


def median_ms(work: Callable[[int], object], count: int = QUERIES) -> tuple[float, float]:
    """The median and the 95th percentile of one call each, in milliseconds."""
    work(0)
    taken = []
    for at in range(count):
        start = time.perf_counter()
        work(at)
        taken.append(time.perf_counter() - start)
    taken.sort()
    return taken[len(taken) // 2] * 1e3, taken[len(taken) * 95 // 100] * 1e3


def call(search: Callable[[Array], Array], asked: Array, at: int) -> Array:
    """One query of many."""
    return search(asked[at])


def engines(vectors: Array) -> dict[str, Callable[[Array], Array]]:
    """How each peer that is installed finds the ten closest of one query: their places."""
    found: dict[str, Callable[[Array], Array]] = {}

    def by_numpy(query: Array) -> Array:
        cosines = vectors @ query
        best = np.argpartition(-cosines, K)[:K]
        return best[np.argsort(-cosines[best])]

    found["numpy"] = by_numpy
    try:
        import faiss  # type: ignore[import-not-found,import-untyped,unused-ignore]

        faiss.omp_set_num_threads(1)
        flat = faiss.IndexFlatIP(DIMS)
        flat.add(vectors)
        found["faiss Flat"] = lambda query: flat.search(query[None], K)[1][0]
        faiss_graph = faiss.IndexHNSWFlat(DIMS, 16, faiss.METRIC_INNER_PRODUCT)
        faiss_graph.hnsw.efConstruction, faiss_graph.hnsw.efSearch = 200, 64
        faiss_graph.add(vectors)
        found["faiss HNSW ef 64"] = lambda query: faiss_graph.search(query[None], K)[1][0]
    except ImportError:
        pass
    try:
        import hnswlib  # type: ignore[import-not-found,import-untyped,unused-ignore]

        graph = hnswlib.Index("ip", DIMS)
        graph.init_index(len(vectors), ef_construction=200, M=16, random_seed=1)
        graph.add_items(vectors, num_threads=1)
        graph.set_ef(64)
        found["hnswlib ef 64"] = lambda query: graph.knn_query(query, K, num_threads=1)[0][0]
    except ImportError:
        pass
    try:
        from usearch.index import Index  # type: ignore[import-not-found,unused-ignore]

        usearch = Index(ndim=DIMS, metric="ip", connectivity=16, expansion_add=200, expansion_search=64)
        usearch.add(np.arange(len(vectors)), vectors, threads=1)
        found["usearch ef 64"] = lambda query: usearch.search(query, K, threads=1).keys
    except ImportError:
        pass
    return found


def whole(store: MemoryStore, queries: list[str], limit: int, at: int) -> Any:
    """Words, vectors, fusion, MMR, the best with all that is known of them."""
    return store.search(queries[at], "user_42:", limit=limit)


def by_words(store: MemoryStore, queries: list[str], at: int) -> Any:
    """Words alone, the ten best."""
    return store.search(queries[at], "user_42:", limit=K)


def by_bm25s(contents: list[str], queries: list[str]) -> Callable[[int], Any] | None:
    """The same by bm25s, when it is installed."""
    try:
        import bm25s  # type: ignore[import-not-found,import-untyped,unused-ignore]
    except ImportError:
        return None
    engine = bm25s.BM25()
    tokens = bm25s.tokenize(contents, stopwords=None, show_progress=False)
    engine.index(tokens, show_progress=False)

    def retrieve(at: int) -> Any:
        asked = bm25s.tokenize([queries[at]], stopwords=None, show_progress=False, return_ids=False)
        return engine.retrieve(asked, k=K, show_progress=False, n_threads=1)

    return retrieve


def proposed(store: MemoryStore, asked: Array, at: int) -> list[tuple[int, float]]:
    """The same by the graph."""
    assert store._graphs is not None
    now, query = store._maker.now(), asked[at : at + 1]
    near = store._graphs.near(store._core, b"user_42\0", query, K)
    return list(store._core.nearest(b"user_42\0", True, ("known", query), near, now, now, None, K))


def closest(store: MemoryStore, asked: Array, at: int) -> list[tuple[int, float]]:
    """What the peers give: the numbers of the ten closest."""
    now = store._maker.now()
    return list(store._core.nearest(b"user_42\0", True, ("known", asked[at : at + 1]), [], now, now, None, K))


def speed(sizes: Sequence[int]) -> None:
    """The whole search, and the search by vectors beside its peers."""
    peers: list[str] = []
    searches, words, rows = [], [], []
    for count in sizes:
        store, queries, vectors, asked = filled(count)
        times = [median_ms(functools.partial(whole, store, queries, limit)) for limit in (K, DEFAULT)]
        searches.append(f"| {count:,} | " + " | ".join(f"{p50:.2f} | {p95:.2f}" for p50, p95 in times) + " |")
        exact = [set(np.argsort(-(vectors @ query))[:K].tolist()) for query in asked]

        def share(found: list[set[int]], exact: list[set[int]] = exact) -> float:
            return statistics.mean(len(one & want) / K for one, want in zip(found, exact, strict=True))

        p50, _ = median_ms(functools.partial(closest, store, asked))
        own = [{number - 1 for number, _ in closest(store, asked, at)} for at in range(QUERIES)]
        cells = {"ctxproto": (p50, share(own))}
        if store._graphs is not None:
            store.build_graph("user_42")
            p50, _ = median_ms(functools.partial(proposed, store, asked))
            own = [{number - 1 for number, _ in proposed(store, asked, at)} for at in range(QUERIES)]
            cells["ctxproto, graph"] = (p50, share(own))
        store._embedding = None
        p50, _ = median_ms(functools.partial(by_words, store, queries))
        other = by_bm25s([record.content for record in store.list("user_42:")], queries)
        words.append(
            f"| {count:,} | {p50:.2f} | {'absent' if other is None else f'{median_ms(other)[0]:.2f}'} |"
        )
        del store
        for name, search in engines(vectors).items():
            p50, _ = median_ms(functools.partial(call, search, asked))
            cells[name] = (p50, share([{int(one) for one in search(query)} for query in asked]))
        peers = list(cells)
        told = " | ".join(f"{ms:.3f} ({part:.3f})" for ms, part in cells.values())
        rows.append(f"| {count:,} | {told} |")
        print(searches[-1], rows[-1], file=sys.stderr, flush=True)
    columns = " | ".join(f"{limit} hits, p50 | p95" for limit in (K, DEFAULT))
    print(f"| search (words, vectors, fusion, MMR), ms | {columns} |\n| --- |" + " ---: |" * 4)
    print("\n".join(searches))
    print("\n| words alone, the ten best, ms | ctxproto | bm25s |\n| --- | ---: | ---: |")
    print("\n".join(words))
    print("\n| the ten closest vectors, ms (recall) | " + " | ".join(peers) + " |")
    print("| --- |" + " ---: |" * len(peers))
    print("\n".join(rows), flush=True)


def tenants(count: int = 20_000, each: int = 50) -> None:
    """A million memories of 20,000 users in one file: each one's first search, its next; memory."""
    draw = random.Random(3)
    contents, queries = texts(2_000, 24, draw), texts(QUERIES, 5, draw)
    vectors, asked = clustered(2_000)
    known = Known(dict(zip([*contents, *queries], [*vectors, *asked], strict=True)))
    with tempfile.TemporaryDirectory() as folder:
        store = MemoryStore(Path(folder) / "m.db", embedder=known)
        store._core.introduce("known", (100, QUERIES), np.concatenate([vectors[:100], asked]), False)
        for first in range(0, count, 400):
            which = [
                (user, draw.randrange(len(contents)))
                for user in range(first, first + 400)
                for _ in range(each)
            ]
            rows = [
                {
                    **ROW,
                    "id": f"{at}-{first}",
                    "namespace": f"user_{user}\0".encode(),
                    "content": contents[text],
                }
                for at, (user, text) in enumerate(which)
            ]
            store._core.insert(rows, ("known", vectors[[text for _, text in which]]))
        first_ms: list[float] = []
        next_ms: list[float] = []
        for user in range(count):
            for taken in (first_ms, next_ms):
                start = time.perf_counter()
                store.search(queries[user % QUERIES], f"user_{user}:", limit=K)
                taken.append((time.perf_counter() - start) * 1e3)
        rss = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        alone = MemoryStore(Path(folder) / "alone.db", embedder=known)
        alone._core.introduce("known", (100, QUERIES), np.concatenate([vectors[:100], asked]), False)
        for content in contents[:each]:
            alone.save("user_7", content)
        rounds: list[tuple[float, float]] = []
        for _ in range(9):
            # Beside each other: what disturbs one disturbs the other.
            hot, _ = median_ms(lambda at: store.search(queries[at], "user_7:", limit=K))
            one, _ = median_ms(lambda at: alone.search(queries[at], "user_7:", limit=K))
            rounds.append((hot, one))
        hot, one = (statistics.median(times) for times in zip(*rounds, strict=True))
    print(
        f"\n{count * each:,} memories of {count:,} users in one file: first search of a user "
        f"{statistics.median(first_ms):.2f} ms, its next {statistics.median(next_ms):.2f}, one that searches "
        f"all the time {hot:.3f} (alone in a file {one:.3f}); at most {rss:.2f} GB of memory in all."
    )


if __name__ == "__main__":
    folder = weights()
    if not (CORPORA / "memory/locomo.json").exists():
        print("benches/memory.py: no LoCoMo in the corpora: no quality", file=sys.stderr)
    elif folder is None:
        print("benches/memory.py: no weights of MiniLM: no quality; see setup_peers.sh", file=sys.stderr)
    else:
        quality(MiniLM(folder))
        print()
    tenants()
    print()
    speed([1_000, 10_000, 100_000, *([1_000_000] if "--million" in sys.argv else [])])
