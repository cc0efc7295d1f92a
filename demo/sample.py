"""Writes the sample that the demo cleans: tool logs and agent messages with made-up secrets planted in them.

Everything is generated from a seed. The secrets have their providers' public shape and open nothing; they are put
together here and now because a repository must not hold even their likeness.
"""

from __future__ import annotations

import base64
import json
import random
import string
import zlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ALPHANUMERIC = string.ascii_letters + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase
LINES = 300


class Maker:
    """Makes up secrets, and remembers them so that the demo can look for what is left."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)  # noqa: S311 - a sample has to be the same every time
        self.planted: list[str] = []

    def text(self, alphabet: str, length: int) -> str:
        """Random characters."""
        return "".join(self.random.choices(alphabet, k=length))

    def plant(self, secret: str) -> str:
        """Remembers a secret."""
        self.planted.append(secret)
        return secret

    def github(self) -> str:
        """A personal access token with its checksum."""
        body = self.text(ALPHANUMERIC, 30)
        crc, digits = zlib.crc32(body.encode()), ""
        for _ in range(6):
            crc, digit = divmod(crc, 62)
            digits = BASE62[digit] + digits
        return self.plant("gh" + "p_" + body + digits)

    def aws(self) -> str:
        """An access key id."""
        return self.plant("AK" + "IA" + self.text(string.ascii_uppercase + "234567", 16))

    def slack(self) -> str:
        """A bot token."""
        numbers = self.text("123456789", 12), self.text("123456789", 12)
        return self.plant("xo" + "xb-" + "-".join([*numbers, self.text(ALPHANUMERIC, 24)]))

    def jwt(self) -> str:
        """A signed token."""
        parts = [{"alg": "HS256", "typ": "JWT"}, {"sub": str(self.random.randrange(10**9)), "role": "admin"}]
        encoded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
        return self.plant(".".join([*encoded, self.text(ALPHANUMERIC + "-_", 43)]))

    def password(self) -> str:
        """Something a person made up."""
        words = self.random.sample(["Copper", "Lantern", "Orbit", "Maple", "Quartz", "Harbor", "Violet"], 2)
        return self.plant("".join(words) + self.text(string.digits, 3) + self.random.choice("!?%"))

    def card(self) -> str:
        """A card number with its check digit."""
        digits = [4, *(self.random.randrange(10) for _ in range(14))]
        doubled = [sum(divmod(2 * digit, 10)) if at % 2 == 0 else digit for at, digit in enumerate(digits)]
        return self.plant("".join(map(str, [*digits, -sum(doubled) % 10])))


def leaky_lines(make: Maker) -> list[Callable[[], str]]:
    """The ways in which secrets get into logs."""
    host = "db.internal.example.com"
    return [
        lambda: f"git clone https://x-access-token:{make.github()}@github.com/acme/billing.git",
        lambda: f'curl -H "Authorization: Bearer {make.jwt()}" https://api.example.com/v1/orders',
        lambda: f"export AWS_ACCESS_KEY_ID={make.aws()}",
        lambda: f"connecting to postgres://billing:{make.password()}@{host}:5432/billing",
        lambda: f"slack: posting with token {make.slack()} to #deploys",
        lambda: f"charge declined for card {make.card()} (code 51)",
        lambda: f'config loaded: {{"db": {{"user": "billing", "password": "{make.password()}"}}}}',
    ]


def plain_lines(make: Maker) -> list[Callable[[], str]]:
    """What logs mostly hold, much of it looking random."""
    pick = make.random.randrange
    return [
        lambda: f"GET /v1/orders/{pick(10**6)} 200 {pick(900)}ms trace={pick(16**32):032x}",
        lambda: f"checked out commit {pick(16**40):040x}",
        lambda: f"pulled image acme/billing@sha256:{pick(16**64):064x}",
        lambda: f"cache hit ratio {make.random.random():.3f}, {pick(10**5)} keys",
        lambda: f"retrying in {pick(30)}s: connection reset by peer",
        lambda: "password must have at least 12 characters",
    ]


def write(folder: Path, seed: int = 7) -> list[str]:
    """Writes the sample files into a folder and returns the planted secrets."""
    make = Maker(seed)
    leaky, plain = leaky_lines(make), plain_lines(make)
    log = []
    for number in range(LINES):
        line = make.random.choice(leaky if number % 12 == 5 else plain)()
        log.append(f"2026-03-14T09:{number // 60:02}:{number % 60:02}Z {make.random.choice(['INFO', 'WARN'])} {line}")
    messages = []
    for number in range(LINES // 5):
        line = make.random.choice(leaky if number % 6 == 2 else plain)()
        messages.append(
            {"role": "assistant", "content": None, "tool_calls": [{"id": f"call_{number}", "name": "bash"}]}
        )
        result = json.dumps({"exit": 0, "stdout": f"{line}\n"})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": result})
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "deploy.log").write_text("".join(f"{line}\n" for line in log), encoding="utf-8")
    (folder / "agent.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in messages), encoding="utf-8")
    return make.planted
