"""The catalogue of leaks that other stores had, against every call of every backend of ours: none."""

from __future__ import annotations

import itertools
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import ctxproto
import pytest
from ctxproto import MemoryIdError, Namespace, Scope
from memory_backends import BACKENDS

if TYPE_CHECKING:
    from collections.abc import Callable

LONG = "x" * 511

# Neither covers the other, and each pair, or one like it, was one and the same in some store.
PAIRS: list[tuple[tuple[str, ...], tuple[str, ...]]] = [
    (("user_42",), ("user_421",)),  # a string that begins alike
    (("a",), ("ab",)),
    (("foo",), ("foobar", "x")),
    (("acme",), ("acme-corp",)),
    (("john_doe",), ("john-doe",)),  # LIKE: _ is any character
    (("user%",), ("user-anything",)),  # LIKE: % is anything
    (("%",), ("a",)),
    (("_",), ("b",)),
    (("a*",), ("ab",)),  # GLOB
    (("a?",), ("ab",)),
    (("[ab]",), ("a",)),
    (("A",), ("a",)),  # LIKE folds ASCII
    (("İ",), ("i̇",)),  # lower case of the one is the other
    (("ß",), ("ss",)),
    (("K",), ("\u212a",)),  # KELVIN SIGN
    (("é",), (unicodedata.normalize("NFD", "é"),)),
    (("ﬁ",), ("fi",)),
    (("team", "a"), ("team_a",)),  # joined with _
    (("team", "a"), ("team:a",)),  # joined with :
    (("team", "a"), ("team/a",)),
    (("team", "a"), ("team.a",)),
    (("a:", "b"), ("a", ":b")),
    (("a\\", "b"), ("a\\:b",)),  # an escape that ends a component
    (("a", "b"), ("a", "bc")),
    (("a", "b", "c"), ("a", "c", "b")),
    (("..",), ("a",)),
    (("a", ".."), ("b",)),
    (("a", "..", "b"), ("b",)),
    ((".",), ("a",)),
    (("a/",), ("a",)),
    (("*",), ("a",)),
    (("\\*",), ("*",)),
    (("a:*",), ("a", "b")),  # an id that forges a prefix
    (("a:",), ("a", "b")),
    ((" ",), ("  ",)),
    (("a ",), ("a",)),
    (("'",), ("''",)),
    (("' OR 1=1 --",), ("a",)),
    (("$1",), ("a",)),
    (("\U0010ffff",), ("\uffff",)),  # order by UTF-16 is another
    (("a",), ("a\U0010ffff",)),  # the last key of a range
    ((LONG + "a",), (LONG + "b",)),
    (("user_1",), ("session_1", "user_1")),
    (("0",), ("00",)),
    (("1",), ("1.0",)),
    (("null",), ("None",)),
]

WORDS = "the port of the gateway is written in the runbook"


class Clock:
    now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Case:
    """A store with two owners: each with memories that are true, were superseded and end, there and below."""

    store: Any
    clock: Clock
    mine: Namespace
    theirs: Namespace

    def fill(self) -> None:
        for owner in (self.mine, self.theirs):
            for namespace in (owner, (*owner, "below")):
                old = self.store.save(namespace, f"{WORDS} of {len(owner)}", metadata={"words": WORDS})
                self.store.supersede(old.memory_id, namespace, f"{WORDS}, now")
                self.store.save(namespace, f"{WORDS} for a while", ttl=60)

    @property
    def scopes(self) -> list[Scope]:
        return [Scope(self.mine), Scope(self.mine, below=True)]

    def own(self, scope: Scope) -> int:
        """Namespaces of mine that a scope holds."""
        return 2 if scope.below else 1

    def others(self) -> list[Any]:
        """All that is theirs, whole."""
        found: list[Any] = self.store.list(Scope(self.theirs, below=True), history=True)
        return found

    def are_mine(self, namespaces: Any) -> None:
        for namespace in namespaces:
            assert self.mine.covers(Namespace.checked("namespace", namespace))


def get(case: Case) -> None:
    for scope, theirs in itertools.product(case.scopes, case.others()):
        assert case.store.get(theirs.memory_id, scope) is None


def list_(case: Case) -> None:
    for scope in case.scopes:
        found = case.store.list(scope, history=True)
        case.are_mine(record.namespace for record in found)
        assert len(found) == 3 * case.own(scope)


def search(case: Case) -> None:
    for scope in case.scopes:
        hits = case.store.search(WORDS, scope, limit=1_000)
        case.are_mine(hit.namespace for hit in hits)
        assert len(hits) == 2 * case.own(scope)


def scores(case: Case) -> None:
    """What is theirs does not even change a score."""
    before = [(hit.memory_id, hit.relevance_score) for hit in case.store.search("port runbook", case.scopes[1])]
    for n in range(4):
        case.store.save(case.theirs, f"port number {n}")
    assert [(hit.memory_id, hit.relevance_score) for hit in case.store.search("port runbook", case.scopes[1])] == before
    for record in case.others():
        if "number" in record.content:
            case.store.delete(record.memory_id, Scope(case.theirs))


def namespaces(case: Case) -> None:
    for scope in case.scopes:
        found = case.store.namespaces(scope)
        case.are_mine(found)
        assert len(found) == case.own(scope)


def stats(case: Case) -> None:
    for scope in case.scopes:
        before = case.store.stats(scope)
        assert before[:4] == (2 * case.own(scope), case.own(scope), 0, case.own(scope))
        extra = case.store.save(case.theirs, "more of theirs")
        assert case.store.stats(scope) == before
        case.store.delete(extra.memory_id, Scope(case.theirs))


def export(case: Case) -> None:
    for scope in case.scopes:
        lines = list(case.store.export(scope))
        assert len(lines) == 3 * case.own(scope)
        for line, theirs in itertools.product(lines, case.others()):
            assert theirs.memory_id not in line


def import_(case: Case) -> None:
    lines = [line.replace('"memory_id": "', '"memory_id": "new-') for line in case.store.export(Scope(case.theirs))]
    for scope in case.scopes:
        with pytest.raises(ctxproto.InputError, match="line 1"):
            case.store.import_lines(lines, scope)


def update(case: Case) -> None:
    for scope, theirs in itertools.product(case.scopes, case.others()):
        with pytest.raises(MemoryIdError):
            case.store.update(theirs.memory_id, scope, content="mine now", ttl=0)


def supersede(case: Case) -> None:
    for scope, theirs in itertools.product(case.scopes, case.others()):
        with pytest.raises(MemoryIdError):
            case.store.supersede(theirs.memory_id, scope, "mine now")


def delete(case: Case) -> None:
    for scope, theirs in itertools.product(case.scopes, case.others()):
        assert case.store.delete(theirs.memory_id, scope) is False


def forget(case: Case) -> None:
    exact, below = case.scopes
    assert case.store.forget(exact) == 3
    assert case.store.forget(below) == 3


def sweep(case: Case) -> None:
    """What ends is swept; what stays is whose it was, and stays."""
    mine = case.store.save(case.mine, "of mine, ends before", ttl=1)
    case.clock.now += 2
    assert case.store.sweep() == 1
    assert case.store.get(mine.memory_id, Scope(case.mine)) is None


OPERATIONS: list[Callable[[Case], None]] = [
    get, list_, search, scores, namespaces, stats, export, import_, update, supersede, delete, forget, sweep,
]  # fmt: skip


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.__name__.strip("_"))
def test_no_call_reaches_what_is_anothers(operation: Callable[[Case], None], backend: str) -> None:
    clock = Clock()
    with BACKENDS[backend](clock=clock) as store:
        for pair in PAIRS:
            for mine, theirs in (pair, pair[::-1]):
                case = Case(store, clock, Namespace(mine), Namespace(theirs))
                case.fill()
                before = case.others()
                assert len(before) == 6
                operation(case)
                assert case.others() == before, (mine, theirs)
                for owner in (mine, theirs):
                    store.forget(Scope(Namespace(owner), below=True))
                assert store.list("*", history=True) == []


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_is_no_namespace_is_nobodys(backend: str) -> None:
    """Neither everybody's nor the first one's: it is refused, in every call."""
    with BACKENDS[backend]() as store:
        saved = store.save("a", WORDS)
        for scope in ("", ":", "a::b", ":a", (), ("",), ("a", ""), "a\0", ("a", "\0"), "a\n", "x" * 10_000, "**", "*:a",
                      "a:*:b", "\\", "\ud800", None, 7, b"a"):  # fmt: skip
            for call in (
                lambda scope: store.get(saved.memory_id, scope),
                store.list,
                lambda scope: store.search(WORDS, scope),
                store.namespaces,
                store.stats,
                lambda scope: list(store.export(scope)),
                lambda scope: store.import_lines([], scope),
                lambda scope: store.update(saved.memory_id, scope, content="x"),
                lambda scope: store.supersede(saved.memory_id, scope, "x"),
                lambda scope: store.delete(saved.memory_id, scope),
                store.forget,
                lambda scope: store.save(scope, "x"),
            ):
                with pytest.raises(ctxproto.ConfigError, match="namespace"):
                    call(scope)
        assert store.list("*") == [saved]
