"""What the tests feed: secrets made at run time from their public shape, and text to hide them in."""

from __future__ import annotations

import random
import string
import zlib
from functools import cache

from ctxproto import Redactor, _core
from hypothesis import strategies as st

REDACTOR = Redactor()

ALPHANUMERIC = string.ascii_letters + string.digits
_BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


def github_token(body: str) -> str:
    """A GitHub token: prefix, 30 characters, and their CRC-32 in base 62, six digits."""
    crc, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        digits = _BASE62[digit] + digits
    return "gh" + f"p_{body}{digits}"


def random_token(seed: int) -> str:
    """A token as providers make them: of even letters, a detector may rightly take it for a placeholder."""
    return github_token("".join(random.Random(seed).choices(ALPHANUMERIC, k=30)))


github_tokens = st.integers(0, 2**32).map(random_token)


@cache
def _shaped_rules() -> list[str]:
    """Ids of the rules whose tokens are found wherever they stand, by form alone.

    A rule that fails its own test is that test's business (`ctxproto rules test`), and left out here.
    """
    failed = {rule for rule, _ in _core.rules_test(REDACTOR)}
    alone = [rule.id for rule in REDACTOR.rules if not rule.near and not rule.pii and rule.id not in failed]
    examples = {rule: _core._rule_example(REDACTOR, rule, 1) for rule in alone}
    return [rule for rule, example in examples.items() if example and b"://" not in example]


@st.composite
def tokens(draw: st.DrawFn) -> str:
    """A token of any provider."""
    rule = draw(st.sampled_from(_shaped_rules()))
    example = _core._rule_example(REDACTOR, rule, draw(st.integers(0, 2**32)))
    assert example is not None
    return example.decode()


# The public part of a token: anything longer from it must not be seen again.
PUBLIC_PREFIX = 4

words = st.sampled_from(
    [
        "INFO",
        "deploy",
        "ok",
        "größe",
        "日本",
        "🙂",
        "\uff21\uff22",
        "\n",
        "\r\n",
        "\t",
        "  ",
        '"',
        "\\",
        "=",
        "{",
        "}",
        "%20",
        "\x1b[0m",
    ]
)
any_text = st.one_of(st.text(max_size=40), st.text(st.characters(), max_size=20), words)


# Pieces of what tools print that open a value and do not end it, or stand where one begins.
HOSTILE = [
    *["<password>", "</string>", "password=", 'password="', "password='", "IDENTIFIED BY '", "<key>password</key>"],
    *["api_key = ", "Cookie: a=b; ", "Authorization: Bearer ", "-----BEGIN RSA PRIVATE KEY-----", "mysql -p"],
    *["curl -u bob:", "https://u:", "@h.example/", "secret: |\n  ", "hunter2x", "Zx81kQpLm2", "4111 1111 1111 1111"],
    *"\"'\\\n\t{}[]:, é\u200b\x00",
    *["\\n", "\\u0041", "&quot;"],
]
hostile_text = st.lists(st.sampled_from(HOSTILE), max_size=7).map("".join)


@st.composite
def planted(draw: st.DrawFn) -> tuple[str, list[str]]:
    """A text, and the tokens in it, each set apart by a space."""
    tokens = draw(st.lists(github_tokens, min_size=1, max_size=3))
    parts = [draw(any_text)]
    for token in tokens:
        parts += [" ", token, " ", draw(any_text)]
    return "".join(parts), tokens


# What `json.loads` can return.
keys = any_text | st.sampled_from(["password", "api_key", "token", "Authorization", "user", "url", "client_secret"])
json_leaves = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | any_text
    | github_tokens
)
json_values = st.recursive(
    json_leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)
hostile_json = st.recursive(
    hostile_text | st.none() | st.just(4111111111111111),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=8,
)
json_objects = st.recursive(json_leaves, lambda inner: st.dictionaries(keys, inner, max_size=4), max_leaves=20)
