"""What a `Redactor` can be told, and what it answers to mistakes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ctxproto import Allow, ConfigError, Redactor, known_values_from_env

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"profile": "strict"}, "profile is one of default, secrets, all, none, not 'strict'"),
        ({"profile": None}, "profile is one of default, secrets, all, none, not this NoneType"),
        ({"placeholder": "star"}, "placeholder is one of label, mask, partial, hash, "),
        ({"placeholder": "A Secret!"}, "not this str"),
        ({"pii": "email"}, "pii is one of dangerous, all, none, not 'email'"),
        ({"pii": 1}, "pii is a list of str"),
        ({"pii": ["EMAIL", 2]}, "pii is a list of str"),
        ({"allow": {"values": []}}, "allow is an Allow, not this dict"),
        ({"allow": Allow(values="abc")}, "allow.values is a list of str or bytes, not one str"),
        ({"allow": Allow(values=[1])}, "allow.values holds str or bytes, not int"),  # type: ignore[list-item]
        ({"allow": Allow(keys="abc")}, "allow.keys is a list of str"),
        ({"known_values": "secret value"}, "known_values is a list of str or bytes, not one str"),
        ({"known_values": ["12345"]}, "known_values (KNOWN_VALUE) has 5 bytes, fewer than 6"),
        ({"known_values": {"label": "secret value"}}, "a label in known_values is upper case letters, digits and _"),
        ({"known_values": {"LABEL": 1234567}}, "known_values holds str or bytes, not int"),
        ({"known_values": None}, "known_values is a list of str or bytes, not one NoneType"),
        ({"key": b"short"}, "key has 5 bytes, fewer than 16"),
        ({"key": 5}, "key holds str or bytes, not int"),
        ({"rules": 5}, "rules is a path or a list of paths"),
        ({"rules": [5]}, "rules holds paths, not this int"),
        ({"rules": "/no/such/rules.toml"}, "cannot read the rule file /no/such/rules.toml: No such file or directory"),
    ],
)
def test_mistakes_name_the_argument_and_the_allowed(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError) as caught:
        Redactor(**settings)
    assert message in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_rule_file_must_be_utf8(tmp_path: Path) -> None:
    path = tmp_path / "rules.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match="it is not UTF-8"):
        Redactor(rules=[path])


def test_unknown_setting() -> None:
    with pytest.raises(TypeError, match="colour"):
        Redactor(colour="red")  # type: ignore[call-arg]
    with pytest.raises(TypeError):
        Redactor("default")  # type: ignore[call-arg]


@pytest.mark.parametrize("profile", ["default", "secrets", "all", "none"])
@pytest.mark.parametrize("placeholder", ["label", "mask", "partial", "hash"])
def test_every_profile_and_placeholder(profile: Any, placeholder: str) -> None:
    Redactor(profile=profile, placeholder=placeholder).redact("harmless")


def test_allow_shows_no_values() -> None:
    shown = repr(Allow(values=["something secret"], patterns=["a.*"], rules=["github-pat"]))
    assert "something" not in shown
    assert "github-pat" in shown


def test_known_values_from_env() -> None:
    environ = {
        "DB_PASSWORD": "correct horse",
        "api_key": "battery staple",
        "MONKEY": "not a key at all",
        "KEYBOARD": "neither is this",
        "SHORT_TOKEN": "12345",
        "SECRET(1)": "no label for this",
    }
    assert known_values_from_env(environ) == {"DB_PASSWORD": "correct horse", "API_KEY": "battery staple"}
    Redactor(known_values=known_values_from_env())
