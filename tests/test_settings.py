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
        ({"profile": "strict"}, "profile is one of default, secrets, all, none, not a str of 6 characters"),
        ({"profile": "secret"}, "not a str of 6 characters; did you mean secrets?"),
        ({"profile": None}, "profile is one of default, secrets, all, none, not None"),
        ({"placeholder": "star"}, "placeholder is one of label, mask, partial, hash, vault or a Vault, not a str of 4"),
        ({"pii": "email"}, "pii is one of dangerous, all, none or a list of labels and rule ids, not a str of 5"),
        ({"pii": 1}, "pii is a list of str, not an int"),
        ({"pii": ["EMAIL", 2]}, "pii[1] is a str, not an int"),
        (
            {"pii": ["mails"]},
            "pii[0] is the label or the id of a rule for personal data, not this str of 5 characters; ",
        ),
        ({"pii": ["e_mail", "iban"]}, "pii[0] is the label or the id"),
        ({"pii": ["EMAIL", "Iban"]}, "pii[1] is the label"),
        ({"allow": {"values": []}}, "allow is an Allow, not a dict"),
        ({"allow": Allow(values="abc")}, "allow.values is a list of str or bytes, not a str of 3 characters"),
        ({"allow": Allow(values=[1])}, "allow.values[0] is str or bytes, not an int"),  # type: ignore[list-item]
        ({"allow": Allow(keys="abc")}, "allow.keys is a list of str, not a str of 3 characters"),
        ({"allow": Allow(keys=["\ud800"])}, "allow.keys[0] is a str without lone surrogates"),
        ({"allow": Allow(rules=["github_token"])}, "allow.rules[0] is the label or the id of a rule, "),
        ({"allow": Allow(rules=["github_token"])}, "not this str of 12 characters; did you mean GITHUB_TOKEN?"),
        (
            {"allow": Allow(patterns=["a", "b("])},
            "allow.patterns[1] is a regular expression, not this str of 2 characters",
        ),
        ({"allow": Allow(patterns=["a", "b("])}, "unclosed group at character 2"),
        ({"allow": Allow(inline=1)}, "allow.inline is True or False, not an int"),  # type: ignore[arg-type]
        ({"known_values": "secret value"}, "known_values is a list of str or bytes, not a str of 12 characters"),
        ({"known_values": ["12345"]}, "known_values[0] has 5 bytes, fewer than 6"),
        ({"known_values": ["long enough", "\u3000\t    "]}, "known_values[1] is blank"),
        ({"known_values": {"label": "secret value"}}, "the label known_values[0] is upper case letters, digits and _"),
        ({"known_values": {"LABEL": 1234567}}, "known_values[0] is str or bytes, not an int"),
        ({"known_values": None}, "known_values is a list of str or bytes, not None"),
        ({"key": b"short"}, "key has 5 bytes, fewer than 16"),
        ({"key": " " * 20}, "key is blank"),
        ({"key": 5}, "key is str or bytes, not an int"),
        ({"rules": 5}, "rules is a list of paths of rule files, not an int"),
        ({"rules": [5]}, "rules[0] is a path, not an int"),
        ({"rules": "/no/such/rules.toml"}, "cannot read the rule file /no/such/rules.toml: No such file or directory"),
        ({"rules": "\0.toml"}, r"cannot read the rule file \x00.toml: this is no path"),
        ({"rules": "correct horse"}, "rules[0]: cannot read the rule file a str of 13 characters: No such file"),
        ({"rules": "/"}, "cannot read the rule file /: Is a directory"),
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
    assert shown == "Allow(1 values, 1 patterns, 1 rules, 0 keys)"


def test_known_values_from_env() -> None:
    environ = {
        "DB_PASSWORD": "correct horse",
        "api_key": "battery staple",
        "MONKEY": "not a key at all",
        "KEYBOARD": "neither is this",
        "SHORT_TOKEN": "12345",
        "BLANK_TOKEN": " " * 9,
        "SECRET(1)": "no label for this",
    }
    assert known_values_from_env(environ) == {"DB_PASSWORD": "correct horse", "API_KEY": "battery staple"}
    Redactor(known_values=known_values_from_env())


def test_names_that_say_secret() -> None:
    value = "correct horse"
    secret = "PGPASSWORD APIKEY GH_PAT MYPASSWORD DB_PASS MYSQL_PWD KEY_PROD PASSWORD2 CLIENTSECRET AUTH deploy_token"
    public = "SSH_AUTH_SOCK GPG_KEY PWD OLDPWD MONKEY KEYBOARD GIT_AUTHOR TOKEN_FILE PATIENCE COMPASS SSH_PUBLIC_KEY"
    known = known_values_from_env(dict.fromkeys([*secret.split(), *public.split()], value))
    assert set(known) == {name.upper() for name in secret.split()}
    urls = {
        "DATABASE_URL": "postgres://me:correct%20horse@host/db",
        "CACHE": "redis://:battery-staple@host",
        "HOMEPAGE": "https://host:8080/me@home",
    }
    known = known_values_from_env(urls)
    assert known == {"DATABASE_URL": value, "CACHE": "battery-staple"}
    redacted = Redactor(profile="none", known_values=known).redact(f"{urls['DATABASE_URL']} has {value}").text
    assert redacted == "postgres://me:[DATABASE_URL:REDACTED]@host/db has [DATABASE_URL:REDACTED]"
