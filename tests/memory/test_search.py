"""Search by words and vectors: what is found, what a score means, and what is refused."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import math
import pickle
import random
import signal
import subprocess
import sys
from array import array
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import ctxproto
import pytest
from ctxproto import ConfigError, HashEmbedder, MemoryStore
from hypothesis import given
from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = (
    "Green tea is made with water below its boiling point.",
    "The service listens on port 8080 behind a proxy.",
    "Anna moved from Lisbon to Madrid in the spring.",
    "The nightly build needs the newest compiler.",
    "A ceremony around tea takes hours in Kyoto.",
)


class Drawn:
    """An embedder with directions by choice: texts of one topic are alike, others are not."""

    name = "drawn"

    def __init__(self, **topics: str) -> None:
        self.topics = topics
        self.calls: list[list[str]] = []

    def __call__(self, texts: list[str]) -> list[list[float]]:
        self.calls.append(list(texts))
        return [self.one(text) for text in texts]

    def one(self, text: str) -> list[float]:
        draw = random.Random(text)
        vector = [draw.gauss(0, 0.03) for _ in range(32)]
        for at, words in enumerate(self.topics.values()):
            vector[at] += 1.0 * any(word in text.lower() for word in words.split())
        return vector


def opened(**more: Any) -> MemoryStore:
    store = MemoryStore(":memory:", **more)
    for text in TEXTS:
        store.save("user_1:s", text)
    return store


def contents(hits: list[ctxproto.MemoryHit] | list[ctxproto.MemoryRecord]) -> list[str]:
    return [hit.content for hit in hits]


def fitting(store: MemoryStore, query: str, scope: str) -> set[str]:
    return {hit.content for hit in store.search(query, scope) if hit.relevance_score >= 0.75}


def test_meaning_is_found_without_a_word_in_common() -> None:
    store = opened(embedder=Drawn(drinks="tea beverage", travel="moved relocation"))
    hits = store.search("favourite beverage", "user_1:", explain=True)
    assert set(contents(hits)[:2]) == {TEXTS[0], TEXTS[4]}
    assert hits[0].relevance_score >= 0.75
    assert hits[0].components["lexical"] == 0
    assert hits[0].components["semantic"] == pytest.approx(1)
    assert not store.search("favourite beverage", "user_12:")
    assert not opened().search("favourite beverage", "user_1:")


def test_words_and_vectors_count_both() -> None:
    store = opened(embedder=Drawn(drinks="tea beverage"))
    best, *others = store.search("a ceremony beverage", "user_1:", explain=True)
    assert best.content == TEXTS[4]
    assert best.components["lexical"]
    assert best.components["semantic"]
    assert all(other.relevance_score < best.relevance_score for other in others)


@given(
    texts=st.lists(st.text("abc de", min_size=1, max_size=20), min_size=1, max_size=8),
    query=st.text("abc de", max_size=12),
    weights=st.tuples(*[st.sampled_from([0.0, 0.5, 3.0])] * 2),
    scale=st.sampled_from(["calibrated", "cosine"]),
)
def test_scores_are_shares_in_order(texts: list[str], query: str, weights: tuple[float, float], scale: Any) -> None:
    store = MemoryStore(":memory:", embedder=HashEmbedder(16))
    for at, text in enumerate(texts):
        store.save("a", text, importance=at / len(texts))
    recency, importance = weights
    hits = store.search(query, "a", recency=recency, importance=importance, scale=scale, explain=True, limit=5)
    scores = [hit.relevance_score for hit in hits]
    assert scores == sorted(scores, reverse=True)
    assert len({hit.memory_id for hit in hits}) == len(hits) <= 5
    for hit in hits:
        parts = hit.components
        assert all(
            value is not None and 0 <= value <= 1 + 1e-9
            for key, value in parts.items()
            if key not in {"bm25", "cosine"}
        )
        total = (parts["relevance"] or 0) + recency * (parts["recency"] or 0) + importance * (parts["importance"] or 0)
        assert hit.relevance_score == pytest.approx(total / (1 + recency + importance))


def test_new_and_important_ones_come_first_when_that_counts() -> None:
    now = [1_000_000.0]
    store = MemoryStore(":memory:", clock=lambda: now[0])
    store.save("a", "tea of long ago", importance=1.0)
    now[0] += 86_400
    store.save("a", "tea of today, and more words", importance=0.0)
    assert contents(store.search("tea", "a"))[0] == "tea of long ago"
    assert contents(store.search("tea", "a", recency=1, half_life=3_600))[0] == "tea of today, and more words"
    assert contents(store.search("tea", "a", recency=1, half_life=3_600, importance=5))[0] == "tea of long ago"
    recency = [hit.components["recency"] for hit in store.search("tea", "a", half_life=86_400, explain=True)]
    assert recency == [pytest.approx(0.5), 1.0]


def test_not_twice_the_same() -> None:
    store = MemoryStore(":memory:", embedder=Drawn(drinks="tea", place="kyoto", milk="milk"))
    for text in ("tea tea kyoto", "tea tea kyoto .", "tea with milk and some sugar today"):
        store.save("a", text)
    assert set(contents(store.search("tea kyoto", "a", limit=2, mmr=1.0))) == {"tea tea kyoto", "tea tea kyoto ."}
    assert "tea with milk and some sugar today" in contents(store.search("tea kyoto", "a", limit=2, mmr=0.3))


def test_other_wordings_and_a_reranker() -> None:
    store = opened()
    assert contents(store.search("nothing", "user_1:", also=["compiler", "Lisbon"])) != []
    both = store.search("compiler", "user_1:", also=["Lisbon", "compiler"])
    assert sorted(contents(both)) == sorted([TEXTS[3], TEXTS[2]])
    seen: list[list[str]] = []

    def shortest(query: str, texts: list[str]) -> list[float]:
        assert query == "tea port"
        seen.append(texts)
        return [1 / len(text) for text in texts]

    hits = store.search("tea port", "user_1:", limit=1, reranker=shortest)
    assert contents(hits) == [min(seen[0], key=len)]
    assert hits[0].relevance_score == 1 / len(hits[0].content)
    assert len(seen[0]) == 3


def test_the_queries_of_one_search_are_embedded_by_one_call() -> None:
    embedder = Drawn(drinks="tea beverage", build="compiler toolchain")
    store = opened(embedder=embedder)
    embedder.calls.clear()
    found = contents(store.search("beverage", "user_1:", also=["toolchain"], limit=3))
    assert embedder.calls == [["beverage", "toolchain"]]
    assert {TEXTS[0], TEXTS[4], TEXTS[3]} == set(found)


def test_vectors_of_another_model_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    opened_with = MemoryStore(path, embedder=HashEmbedder(16))
    opened_with.save("a", "green tea")
    other = MemoryStore(path, embedder=Drawn(drinks="tea beverage"))
    for call in (
        lambda: other.save("a", "more"),
        lambda: other.search("tea", "a"),
        lambda: other.embed("*"),
        lambda: other.calibrate(["q"], "a"),
    ):
        with pytest.raises(ConfigError, match=r"embedder: .*'hash-16', not of 'drawn'"):
            call()
    assert contents(other.list("a")) == ["green tea"]
    # Without an embedder the words are still there.
    assert contents(MemoryStore(path).search("tea", "a")) == ["green tea"]
    assert other.embed("*", replace=True) == 1
    assert contents(other.search("beverage", "a")) == ["green tea"]
    with pytest.raises(ConfigError, match="'drawn', not of 'hash-16'"):
        opened_with.search("tea", "a")


def test_the_same_name_with_another_length_is_refused() -> None:
    length = [8]
    store = MemoryStore(":memory:", embedder=lambda texts: [[1.0] * length[0]] * len(texts), model="m")
    store.save("a", "tea")
    length[0] = 9
    with pytest.raises(ConfigError, match=r"embedder: .*8 numbers each"):
        store.save("a", "tea")
    with pytest.raises(ConfigError, match=r"embedder: .*8 numbers each"):
        store.search("tea", "a")
    assert len(store.list("a")) == 1


def test_what_was_written_before_is_embedded_later(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    plain = MemoryStore(path)
    for at, text in enumerate(TEXTS):
        plain.save(f"user_{at % 2}", text)
    embedder = Drawn(drinks="tea beverage")
    store = MemoryStore(path, embedder=embedder)
    assert store.search("beverage", "*") == []
    assert store.embed("user_0", batch=2) == 3
    assert fitting(store, "beverage", "*") == {TEXTS[0], TEXTS[4]}
    assert store.embed("*") == 2
    assert store.embed("*") == 0
    assert sorted(text for call in embedder.calls[1:] for text in call if text in TEXTS) == sorted(TEXTS)


def test_vectors_follow_what_a_memory_says() -> None:
    store = MemoryStore(":memory:", embedder=Drawn(drinks="tea beverage", travel="moved relocation"))
    saved = store.save("a", "green tea")
    store.update(saved.memory_id, "a", content="Anna moved")
    assert (fitting(store, "relocation", "a"), fitting(store, "beverage", "a")) == ({"Anna moved"}, set())
    new = store.supersede(saved.memory_id, "a", "tea again")
    assert (fitting(store, "relocation", "a"), fitting(store, "beverage", "a")) == (set(), {"tea again"})
    store.delete(new.memory_id, "a")
    assert store.search("beverage", "a") == []


def test_what_an_embedder_gets_is_redacted() -> None:
    embedder = Drawn()
    token = "ghp_" + "".join(
        random.Random(3).choices("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789", k=36)
    )
    saved = MemoryStore(":memory:", embedder=embedder).save("a", f"The token is {token} for now.")
    assert embedder.calls[-1] == [saved.content]
    assert not any(token in text for call in embedder.calls for text in call)


def test_a_failing_embedder_changes_nothing() -> None:
    fails = [False]

    def embedder(texts: list[str]) -> list[list[float]]:
        if fails[0]:
            raise ConnectionError("no network")
        return HashEmbedder(8)(texts)

    store = MemoryStore(":memory:", embedder=embedder, model="m")
    saved = store.save("a", "tea")
    fails[0] = True
    for call in (
        lambda: store.save("a", "more"),
        lambda: store.update(saved.memory_id, "a", content="more"),
        lambda: store.supersede(saved.memory_id, "a", "more"),
        lambda: store.search("tea", "a"),
    ):
        with pytest.raises(ConnectionError):
            call()
    fails[0] = False
    assert contents(store.search("tea", "a")) == ["tea"]


@pytest.mark.parametrize(
    "shape",
    [
        lambda rows: rows,
        lambda rows: [tuple(row) for row in rows],
        lambda rows: [array("d", row) for row in rows],
        lambda rows: memoryview(array("f", itertools.chain(*rows))).cast("B").cast("f", (len(rows), len(rows[0]))),
        lambda rows: memoryview(array("d", itertools.chain(*rows))).cast("B").cast("d", (len(rows), len(rows[0]))),
        lambda rows: (row for row in rows),
    ],
)
def test_vectors_of_any_shape(shape: Any) -> None:
    hashing = HashEmbedder(16)
    store = MemoryStore(":memory:", embedder=lambda texts: shape(hashing(texts)), model="m")
    for text in TEXTS:
        store.save("a", text)
    same = MemoryStore(":memory:", embedder=hashing)
    for text in TEXTS:
        same.save("a", text)
    for also in ((), ("proxy", "Kyoto")):
        one, other = (s.search("tea", "a", explain=True, also=also) for s in (store, same))
        assert contents(one) == contents(other)
        for a, b in zip(one, other, strict=True):
            assert a.components["cosine"] == pytest.approx(b.components["cosine"], abs=1e-6)


@pytest.mark.parametrize("bad", [[[]], [[math.nan] * 4], [[0.0] * 4], [[1.0, 2.0], [1.0]], [["x"]], [[1.0]] * 999])
def test_vectors_that_are_none_are_refused(bad: Any) -> None:
    store = MemoryStore(":memory:", embedder=lambda _: bad, model="m")
    with pytest.raises(ConfigError, match="embedder"):
        store.save("a", "tea")
    assert store.list("a") == []


def test_a_threshold_on_cosines_needs_vectors() -> None:
    with pytest.raises(ConfigError, match="scale"):
        opened().search("tea", "user_1:", scale="cosine")
    with pytest.raises(ConfigError, match="embedder"):
        opened().embed("*")
    with pytest.raises(ConfigError, match="model"):
        MemoryStore(":memory:", model="m")
    store = opened(embedder=Drawn(drinks="tea beverage"))
    hits = store.search("beverage", "user_1:", scale="cosine", explain=True)
    assert len(hits) == len(TEXTS)
    assert hits[0].relevance_score == hits[0].components["cosine"]
    assert store.search("beverage", "user_1:", scale="cosine")[-1].relevance_score < 0.5


def test_calibration_says_what_unrelated_texts_have_in_common() -> None:
    """An embedder whose vectors all point one way: only what is beyond that counts."""

    def crowded(texts: list[str]) -> list[list[float]]:
        return [[3.0, *vector] for vector in Drawn(drinks="tea beverage")(texts)]

    store = opened(embedder=crowded, model="crowded")
    low, high = store.calibrate(["Where is the compiler?", "Who moved?"], "user_1:")
    assert 0.85 < low < high < 1
    hits = store.search("beverage", "user_1:", explain=True)
    assert set(contents(hits)[:2]) == {TEXTS[0], TEXTS[4]}
    assert all(hit.relevance_score < 0.75 for hit in hits[2:])
    with pytest.raises(ConfigError, match="queries"):
        store.calibrate([], "user_1:")


def test_threads_search_while_others_write() -> None:
    store = MemoryStore(":memory:", embedder=HashEmbedder(32))

    def writes(owner: int) -> None:
        for at in range(60):
            saved = store.save(f"u{owner}", f"tea number {at} of {owner}")
            assert contents(store.search(f"tea {at}", f"u{owner}", limit=1)) == [saved.content]
            if at % 3 == 0:
                store.delete(saved.memory_id, f"u{owner}")
                assert saved.content not in contents(store.search(f"tea {at}", f"u{owner}"))
            assert all(hit.content.endswith(f"of {owner}") for hit in store.search("tea", f"u{owner}"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(writes, range(4)))


def test_another_process_writes(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    store = MemoryStore(path, embedder=HashEmbedder(32))
    kept = store.save("a", "tea that stays")
    gone = store.save("a", "tea that goes")
    assert len(store.search("tea", "a")) == 2
    code = (
        "import sys; from ctxproto import MemoryStore, HashEmbedder\n"
        "s = MemoryStore(sys.argv[1], embedder=HashEmbedder(32))\n"
        "s.delete(sys.argv[2], 'a'); s.save('a', 'tea from elsewhere'); s.save('b', 'tea of b')\n"
    )
    subprocess.run([sys.executable, "-c", code, str(path), gone.memory_id], check=True)
    hits = store.search("tea", "a", explain=True)
    assert set(contents(hits)) == {kept.content, "tea from elsewhere"}
    assert all(hit.components["cosine"] is not None for hit in hits)


def test_adapters_ask_as_their_libraries_want() -> None:
    class Answers:
        def create(self, **asked: Any) -> Any:
            assert asked == {"model": "small", "input": ["a", "b"], "encoding_format": "float", "dimensions": 2}
            return SimpleNamespace(data=[SimpleNamespace(index=at, embedding=[at, 1.0]) for at in (1, 0)])

    openai = ctxproto.OpenAIEmbedder(SimpleNamespace(embeddings=Answers()), "small", dimensions=2)
    assert openai(["a", "b"]) == [[0, 1.0], [1, 1.0]]
    assert openai.name == "small-2"

    class Encodes:
        def encode(self, texts: list[str], **more: Any) -> list[list[float]]:
            assert more in ({}, {"convert_to_numpy": True, "show_progress_bar": False})
            return [[float(len(text)), 1.0] for text in texts]

    for adapter in (ctxproto.SentenceTransformerEmbedder, ctxproto.Model2VecEmbedder):
        embedder = adapter(Encodes(), name="lengths")
        store = MemoryStore(":memory:", embedder=embedder)
        assert store.save("a", "tea").content == "tea"
        assert embedder(["tea"]) == [[3.0, 1.0]]
        with pytest.raises(ConfigError, match="model"):
            MemoryStore(":memory:", embedder=adapter(Encodes()))


@pytest.mark.parametrize("bad", [[[math.nan] * 8], [[0.0] * 8], [[1.0] * 9], [], ["x"]])
def test_a_change_whose_vector_is_none_is_no_change(bad: Any) -> None:
    """Not the content without its vector, either: a write that fails has changed nothing."""
    answers: list[Any] = []
    store = MemoryStore(
        ":memory:", embedder=lambda texts: answers.pop() if answers else HashEmbedder(8)(texts), model="m"
    )
    saved = store.save("a", "green tea")
    calls: tuple[Any, ...] = (
        lambda: store.update(saved.memory_id, "a", content="milk"),
        lambda: store.supersede(saved.memory_id, "a", "milk"),
    )
    for call in calls:
        answers.append(bad)
        with pytest.raises(ConfigError, match="embedder"):
            call()
    assert store.list("a", history=True) == [saved]
    assert store.search("tea", "a", explain=True)[0].components["cosine"] is not None


def test_no_measure_deletes_vectors() -> None:
    """An embedder whose vectors have another length now: told so, and everybody's vectors are as they were."""
    dims = [8]
    store = MemoryStore(":memory:", embedder=lambda texts: HashEmbedder(dims[0])(texts), model="m")
    store.save("a", "green tea")
    store.save("b", "black tea")
    dims[0] = 9
    with pytest.raises(ConfigError, match="8 numbers each"):
        store.calibrate(["q"], "a")
    dims[0] = 8
    assert [hit.components["cosine"] is None for hit in store.search("tea", "*", explain=True)] == [False] * 2
    dims[0] = 9
    assert store.embed("*", replace=True) == 2
    assert [hit.components["cosine"] is None for hit in store.search("tea", "*", explain=True)] == [False] * 2


def test_who_comes_second_with_another_model_deletes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "m.db"
    first = MemoryStore(path, embedder=HashEmbedder(8))

    def late(texts: list[str]) -> list[list[float]]:
        # What others do while this one makes the vectors by which it is introduced.
        if not first.list("*"):
            first.save("a", "green tea")
            first.calibrate(["q"], "a")
        return HashEmbedder(8)(texts)

    for model in ("other", "hash-8"):
        with MemoryStore(path, embedder=late, model=model) as second:
            if model == "other":
                with pytest.raises(ConfigError, match=r"embedder: .*\"hash-8\", 8 numbers each"):
                    second.save("b", "black tea")
                known = first._core.model()
            else:
                second.save("b", "black tea")
    assert first._core.model() == known
    assert all(hit.components["cosine"] is not None for hit in first.search("tea", "*", explain=True))


@pytest.mark.parametrize("count", [1, 3])
def test_a_vector_for_each_wording_and_no_more(count: int) -> None:
    extra = [False]
    store = MemoryStore(
        ":memory:",
        embedder=lambda texts: HashEmbedder(8)(texts)[:1] * count if extra[0] else HashEmbedder(8)(texts),
        model="m",
    )
    store.save("a", "tea")
    extra[0] = True
    with pytest.raises(ConfigError, match=r"embedder .* 2 vectors here"):
        store.search("tea", "a", also=["milk"])


def test_many_hits_are_not_compared_with_each_other() -> None:
    """With some thousands that takes minutes that no Ctrl-C ends; and of so many none is left out for another."""
    store = MemoryStore(":memory:", embedder=HashEmbedder(8))
    rows = [{**store._maker.row(b"a\0", **ROW), "content": f"tea {at % 7}"} for at in range(1_200)]
    store._core.insert(rows, None)
    assert store.embed("a", batch=1_200) == 1_200
    for limit in (1_100, 10_000):
        diverse, plain = (store.search("tea 3", "a", limit=limit, mmr=mmr) for mmr in (0.1, 1.0))
        assert diverse == plain
        assert len(plain) == min(limit, 1_200)


ROW: dict[str, Any] = {
    "content": "x", "kind": "working", "purpose": "", "importance": 0.5, "provenance": "agent",
    "valid_from": None, "valid_to": None, "ttl": None, "metadata": None,
}  # fmt: skip


@given(st.booleans())
def test_a_hit_is_whole_wherever_it_goes(explain: bool) -> None:
    """Its record is made when somebody asks for it; copies, pickles and comparisons do."""
    with MemoryStore(":memory:", embedder=HashEmbedder(8), clock=lambda: 1e9) as store:
        saved = store.save("a:b", "green tea", metadata={"n": 1})

        def hit() -> Any:
            return store.search("tea", "a:", explain=explain)[0]

        for other in (copy.copy(hit()), copy.deepcopy(hit()), pickle.loads(pickle.dumps(hit()))):
            assert other == hit()
            assert other.record == saved
            assert vars(other).keys() == {field.name for field in dataclasses.fields(other)}
        assert dataclasses.asdict(hit())["record"]["metadata"] == {"n": 1}
        assert dataclasses.replace(hit(), content="milk").record == saved
        assert "green tea" in repr(hit())
        with pytest.raises(AttributeError, match="nothing"):
            _ = hit().nothing


def test_a_hit_is_pickled_while_another_thread_makes_its_record() -> None:
    with MemoryStore(":memory:") as store:
        store.save("a", "green tea")
        hit = store.search("tea", "a")[0]
        found = vars(hit)["_found"]
        record = hit.record
        # The other thread has made the record, and is about to take this away.
        vars(hit)["_found"] = found
        assert pickle.loads(pickle.dumps(hit)).record == copy.copy(hit).record == record


def test_ctrl_c_ends_the_first_search_of_very_many(tmp_path: Path) -> None:
    """It reads all of them, on a thread of its own; what it had read by then is read again."""
    with MemoryStore(tmp_path / "m.db") as store:
        row = store._maker.row(b"u\0", **ROW)
        store._core.insert([{**row, "id": str(at), "content": f"green tea {at}"} for at in range(40_000)])

    class EnoughError(Exception):
        pass

    def enough(*_: object) -> None:
        raise EnoughError

    with MemoryStore(tmp_path / "m.db") as store:
        before = signal.signal(signal.SIGALRM, enough)
        try:
            signal.setitimer(signal.ITIMER_REAL, 0.03)
            with pytest.raises(EnoughError):
                deque((store.search("tea 7", "u") for _ in itertools.count()), maxlen=0)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)
            signal.signal(signal.SIGALRM, before)
        assert store.search("tea 7", "u")[0].content == "green tea 7"
