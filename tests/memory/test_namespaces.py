"""Namespaces are compared by components, whatever an id holds."""

from __future__ import annotations

import unicodedata

import pytest
from ctxproto import ConfigError, MemoryContextGate, Namespace, Scope
from hypothesis import given
from hypothesis import strategies as st

GATE = MemoryContextGate()

# Ids that took others' memories in one product or another.
HOSTILE = [
    "42", "421", "4", "42:session_abc", "42:", ":42", ":", "::", "a_b", "a-b", "team_a", "%", "_", "*", "?", "[", "]",
    "[a-z]", "..", ".", "/", "../43", "\\", "\\:", "\\\\", "a\\", "A", "a", "ab", "é",
    unicodedata.normalize("NFD", "é"),
    "ﬁ", "fi", "K", "\u212a", "\u200b", "\u202e", " ", "a ", " a", "'; DROP TABLE memories; --", '"', "null",
    "🙂" * 100,
]  # fmt: skip

components = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=8) | st.sampled_from(HOSTILE)
namespaces = st.lists(components, min_size=1, max_size=5).map(tuple)


@given(namespaces)
def test_the_string_form_and_the_key_round_trip(parts: tuple[str, ...]) -> None:
    one = Namespace(parts)
    assert one == parts
    assert Namespace(str(one)) == parts
    assert Namespace.from_key(one.key) == parts
    assert Scope.of(str(one)) == Scope(one, below=False)
    assert Scope.of(one.prefix) == Scope.of(one.prefix + "*") == Scope(one, below=True)
    assert Scope.of(str(Scope(one, below=True))) == (one, True)


@given(namespaces, namespaces)
def test_nothing_but_components_decides(one: tuple[str, ...], other: tuple[str, ...]) -> None:
    a, b = Namespace(one), Namespace(other)
    begins = other[: len(one)] == one
    assert a.covers(b) == begins == Scope.of(a.prefix).holds(b) == b.key.startswith(a.key)
    assert (str(a) == str(b)) == (one == other) == Scope.of(str(a)).holds(b) == (a.key == b.key)
    # The range of keys that a store reads.
    assert (a.key <= b.key < a.key + b"\xff") == begins
    assert (a.key < b.key) == ([c.encode() for c in one] < [c.encode() for c in other])


@given(components, components, components, components)
def test_no_id_forges_a_tier(user: str, session: str, other_user: str, other_session: str) -> None:
    one, other = GATE.resolve_namespace(user, session), GATE.resolve_namespace(other_user, other_session)
    assert (one == other) == ((user, session) == (other_user, other_session))
    assert Scope.of(GATE.get_namespace_prefix(user)).holds(Namespace(other)) == (user == other_user)
    assert Namespace(one) == (f"user_{user}", f"session_{session}")


@pytest.mark.parametrize("one", HOSTILE)
def test_hostile_ids_are_each_only_themselves(one: str) -> None:
    mine = Scope.of(GATE.get_namespace_prefix(one))
    assert [other for other in HOSTILE if mine.holds(Namespace(GATE.resolve_namespace(other, "s")))] == [one]


@pytest.mark.parametrize("bad", ["", "a\0b", "\n", "\x7f", "\x85", "\ud800", "x" * 10_240, "é" * 300])
def test_what_cannot_be_an_id_is_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match="user_id"):
        GATE.resolve_namespace(bad)
    with pytest.raises(ConfigError, match="session_id"):
        GATE.resolve_namespace("u", bad)
    with pytest.raises(ConfigError, match=r"namespace\[1\]"):
        Namespace(("u", bad))


@pytest.mark.parametrize("bad", ["", ":", "a::b", ":a", "a:*:b", "a*", "*a", "**", "*:", "a:**", "a\\", "a\\b", "a:::"])
def test_string_forms_that_say_nothing_clear_are_refused(bad: str) -> None:
    with pytest.raises(ConfigError, match="namespace"):
        Scope.of(bad)
    with pytest.raises(ConfigError, match="namespace"):
        Namespace(bad)


def test_everything_must_be_asked_for() -> None:
    assert Scope.of("*") == (None, True)
    assert Scope.of("*").holds(Namespace("anybody"))
    assert str(Scope.of("*")) == "*"
    for one in ("*", "a:*", "a:"):
        with pytest.raises(ConfigError):
            Namespace(one)
    empty: list[tuple[str, ...] | str] = [(), ""]
    for nobody in empty:
        with pytest.raises(ConfigError):
            Scope.of(nobody)
    with pytest.raises(ConfigError, match="1 to 16"):
        Namespace("a:" * 16 + "a")


def test_the_tiers_of_the_seed() -> None:
    assert GATE.resolve_namespace(user_id="42", session_id="abc", task_id="1") == "user_42:session_abc:task_1"
    assert GATE.resolve_namespace("42") == "user_42"
    assert GATE.resolve_namespace("42", task_id="1") == "user_42:task_1"
    assert GATE.get_namespace_prefix("42") == "user_42:"
    assert GATE.get_namespace_prefix("42", "abc") == "user_42:session_abc:"
