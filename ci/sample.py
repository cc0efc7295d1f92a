"""Writes the sample of `make demo`: tool logs and agent messages with planted secrets, none of which is real.

    python ci/sample.py build/sample
    python ci/sample.py --show build/sample build/clean
    python ci/sample.py --check build/sample.truth.json build/clean

The values are drawn from a seeded generator when this runs, so that no file of the repository holds anything
that looks like a secret, and every run writes the same bytes. The truth, written beside the sample, says what
was planted in which file; the check says what of it survived.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import zlib
from pathlib import Path

BASE62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
LOWER = "abcdefghijklmnopqrstuvwxyz0123456789"
HEX = "0123456789abcdef"
BASE64 = BASE62 + "+/"
SEED = 20

# A value is cut into pieces of this length for the check: no longer part of it may survive.
PIECE = 10


class Sample:
    """Draws values, remembers them, writes files."""

    def __init__(self, directory: Path) -> None:
        """Files go to `directory`."""
        self.directory = directory
        self.random = random.Random(SEED)  # noqa: S311 - the same every time
        self.planted: dict[str, list[dict[str, str]]] = {}
        self._pending: list[dict[str, str]] = []

    def chars(self, alphabet: str, length: int) -> str:
        """A random string."""
        return "".join(self.random.choice(alphabet) for _ in range(length))

    def plant(self, label: str, value: str, secret: str | None = None) -> str:
        """Remembers a value; `secret` is the part of it that must go, by default all."""
        self._pending.append({"label": label, "value": value if secret is None else secret})
        return value

    def write(self, name: str, text: str) -> None:
        """Writes a file and books what was planted since the last one to it."""
        path = self.directory / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        self.planted[name] = self._pending
        self._pending = []

    # Values in the public formats of their providers.

    def github(self) -> str:
        """A GitHub token: `ghp_`, 30 characters, and a CRC-32 of those in base 62."""
        body = self.chars(BASE62, 30)
        number, check = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            check = BASE62[digit] + check
        return self._prefixed("GITHUB_TOKEN", "ghp" + "_", body + check)

    def gitlab(self) -> str:
        """A GitLab personal access token."""
        return self._prefixed("GITLAB_TOKEN", "glpat" + "-", self.chars(BASE62, 20))

    def openai(self) -> str:
        """An OpenAI project key."""
        middle = "T3Blbk" + "FJ"
        body = self.chars(BASE62, 74) + middle + self.chars(BASE62, 74)
        return self._prefixed("OPENAI_KEY", "sk-" + "proj-", body)

    def anthropic(self) -> str:
        """An Anthropic API key."""
        return self._prefixed("API_KEY", "sk-ant" + "-api03-", self.chars(BASE62, 93) + "AA")

    def google(self) -> str:
        """A Google API key."""
        return self._prefixed("GOOGLE_API_KEY", "AI" + "za", self.chars(BASE62, 35))

    def aws(self) -> tuple[str, str]:
        """An AWS access key id and its secret."""
        key = self._prefixed("AWS_ACCESS_KEY", "AK" + "IA", self.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16))
        return key, self.plant("AWS_SECRET_KEY", self.chars(BASE64, 40))

    def slack(self) -> str:
        """A Slack bot token."""
        body = f"{self.chars('123456789', 12)}-{self.chars('123456789', 13)}-{self.chars(BASE62, 24)}"
        return self._prefixed("SLACK_TOKEN", "xox" + "b-", body)

    def stripe(self) -> str:
        """A Stripe secret key."""
        return self._prefixed("STRIPE_KEY", "sk_" + "live_", self.chars(BASE62, 24))

    def npm(self) -> str:
        """An npm access token."""
        body = self.chars(BASE62, 30)
        number, check = zlib.crc32(body.encode()), ""
        for _ in range(6):
            number, digit = divmod(number, 62)
            check = BASE62[digit] + check
        return self._prefixed("NPM_TOKEN", "npm" + "_", body + check)

    def jwt(self) -> str:
        """A signed JSON web token."""

        def part(value: object) -> str:
            return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

        header = part({"alg": "HS256", "typ": "JWT"})
        claims = part({"sub": self.chars(LOWER, 12), "exp": 1790000000, "scope": "deploy"})
        signature = self.chars(BASE62, 43)
        return self.plant("JWT", f"{header}.{claims}.{signature}", signature)

    def password(self) -> str:
        """Something a password manager would make."""
        return self.plant("PASSWORD", self.chars(BASE62 + "%!_", 18).replace("%", "7") + "aQ9")

    def private_key(self) -> list[str]:
        """The lines of a PEM block."""
        lines = [self.plant("PRIVATE_KEY", self.chars(BASE64, 64)) for _ in range(12)]
        kind = "RSA PRIVATE " + "KEY"
        return [f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"]

    def card(self) -> str:
        """A card number with its Luhn digit."""
        digits = [4] + [self.random.randrange(10) for _ in range(14)]
        total = sum(d if i % 2 else (2 * d - 9 if d > 4 else 2 * d) for i, d in enumerate(digits))
        text = "".join(map(str, [*digits, -total % 10]))
        return self.plant("CREDIT_CARD", "-".join(text[i : i + 4] for i in range(0, 16, 4)))

    def ssn(self) -> str:
        """A social security number in a range that was given out."""
        r = self.random
        return self.plant("SSN", f"{r.randrange(100, 600)}-{r.randrange(10, 99)}-{r.randrange(1000, 9999)}")

    def _prefixed(self, label: str, prefix: str, body: str) -> str:
        self._pending.append({"label": label, "value": body})
        return prefix + body


def stamp(sample: Sample, minute: int) -> str:
    """A time stamp; the sample plays on one morning."""
    second, milli = sample.random.randrange(60), sample.random.randrange(1000)
    return f"2026-03-14T09:{minute % 60:02}:{second:02}.{milli:03}Z"


def app_log(sample: Sample) -> str:
    """A service's log as a terminal shows it, colours and all."""
    levels = [("32", "INFO "), ("32", "INFO "), ("36", "DEBUG"), ("33", "WARN ")]
    events = [
        lambda: f"http GET /v1/orders/{sample.random.randrange(10**6)} 200 {sample.random.randrange(900)}ms",
        lambda: f"db pool size=20 idle={sample.random.randrange(20)} waiting=0",
        lambda: f"cache hit key=session:{sample.chars(HEX, 12)} ttl={sample.random.randrange(3600)}",
        lambda: f"job {sample.chars(HEX, 8)}-{sample.chars(HEX, 4)} finished in {sample.random.randrange(9000)}ms",
        lambda: f"image sha256:{sample.chars(HEX, 64)} already present",
        lambda: f"trace_id={sample.chars(HEX, 32)} span_id={sample.chars(HEX, 16)} sampled=true",
    ]
    lines = []
    for minute in range(70):
        colour, level = sample.random.choice(levels)
        event = sample.random.choice(events)()
        lines.append(f"\x1b[2m{stamp(sample, minute)}\x1b[0m \x1b[{colour}m{level}\x1b[0m orders: {event}")
        if minute == 11:
            dsn = f"postgres://orders:{sample.password()}@db.internal:5432/orders?sslmode=require"
            lines.append(f"{stamp(sample, minute)} \x1b[36mDEBUG\x1b[0m orders: connecting to {dsn}")
        if minute == 23:
            lines.append(
                f"{stamp(sample, minute)} \x1b[31mERROR\x1b[0m billing: charge failed "
                f"card={sample.card()} key={sample.stripe()} status=402"
            )
        if minute == 37:
            lines.append(
                f"{stamp(sample, minute)} \x1b[33mWARN \x1b[0m mirror: token \x1b[1m{sample.github()}\x1b[0m expires"
            )
    return "\n".join(lines) + "\n"


def stack_trace(sample: Sample) -> str:
    """A Python and a Java stack trace with values in their messages."""
    return f"""Traceback (most recent call last):
  File "/srv/worker/main.py", line 118, in handle
    client.push(payload, token=settings.deploy_token)
  File "/srv/worker/client.py", line 52, in push
    raise AuthError(f"401 for {{url}} with token {{token}}")
worker.client.AuthError: 401 for https://gitlab.example.com/api/v4/projects/7 with token {sample.gitlab()}

Exception in thread "main" java.sql.SQLException: Access denied for jdbc:mysql://db.internal/app?user=app&password={
        sample.password()
    }
\tat com.mysql.cj.jdbc.exceptions.SQLError.createSQLException(SQLError.java:130)
\tat com.example.app.Pool.open(Pool.java:77)
\tat com.example.app.Main.main(Main.java:21)
Caused by: java.lang.IllegalStateException: session expired: {sample.jwt()}
\t... 3 more
"""


def environment(sample: Sample) -> str:
    """What `env` prints in a build container."""
    key, secret = sample.aws()
    return f"""CI=true
HOME=/home/build
LANG=C.UTF-8
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
GIT_SHA={sample.chars(HEX, 40)}
AWS_REGION=eu-central-1
AWS_ACCESS_KEY_ID={key}
AWS_SECRET_ACCESS_KEY={secret}
OPENAI_API_KEY={sample.openai()}
ANTHROPIC_API_KEY={sample.anthropic()}
GOOGLE_MAPS_KEY={sample.google()}
SLACK_BOT_TOKEN={sample.slack()}
DATABASE_URL=mysql://root:{sample.password()}@10.0.3.7:3306/app
REDIS_URL=redis://cache.internal:6379/0
SECRET_KEY_BASE={sample.plant("API_KEY", sample.chars(HEX, 64))}
FEATURE_FLAGS=new-cart,fast-search
PASSWORD_FILE=/run/secrets/password
"""


def kubectl(sample: Sample) -> str:
    """`kubectl get secret -o yaml` and a listing around it."""

    def encoded(value: str) -> str:
        coded = base64.b64encode(value.encode()).decode()
        return sample.plant("SECRET", coded, coded.rstrip("="))

    pods = "\n".join(
        f"orders-{sample.chars(LOWER, 9)}-{sample.chars(LOWER, 5)}   1/1     Running   {i}          {i + 3}d"
        for i in range(8)
    )
    return f"""$ kubectl get pods -n shop
NAME                      READY   STATUS    RESTARTS   AGE
{pods}
$ kubectl get secret orders -n shop -o yaml
apiVersion: v1
kind: Secret
metadata:
  name: orders
  namespace: shop
  uid: {sample.chars(HEX, 8)}-{sample.chars(HEX, 4)}-4{sample.chars(HEX, 3)}-8{sample.chars(HEX, 3)}-{
        sample.chars(HEX, 12)
    }
type: Opaque
data:
  password: {encoded(sample.chars(BASE62, 20))}
  api-token: {encoded(sample.chars(BASE62, 32))}
"""


def curl(sample: Sample) -> str:
    """`curl -v` with every kind of credential a request can carry."""
    basic = base64.b64encode(f"admin:{sample.chars(BASE62, 16)}".encode()).decode()
    return f"""* Host api.example.com:443 was resolved.
* Connected to api.example.com (203.0.113.7) port 443
> POST /v2/deploy?ref=main&access_token={sample.plant("TOKEN", sample.chars(BASE62, 40))} HTTP/2
> Host: api.example.com
> User-Agent: curl/8.5.0
> Accept: */*
> Authorization: Bearer {sample.jwt()}
> Proxy-Authorization: Basic {sample.plant("AUTH_HEADER", basic, basic.rstrip("="))}
> Cookie: session={sample.plant("COOKIE", sample.chars(BASE62, 48))}; theme=dark
> X-Api-Key: {sample.plant("API_KEY", sample.chars(BASE62, 36))}
>
< HTTP/2 200
< content-type: application/json
< etag: "{sample.chars(HEX, 32)}"
< set-cookie: session={sample.plant("COOKIE", sample.chars(BASE62, 48))}; Path=/; HttpOnly; Secure
<
{{"status":"queued","id":"{sample.chars(HEX, 24)}"}}
* Connection #0 to host api.example.com left intact
"""


def terraform(sample: Sample) -> str:
    """A plan that shows what it should not."""
    lines = sample.private_key()
    pem = "\n".join(f"          {line}" for line in lines)
    return f"""Terraform will perform the following actions:

  # aws_db_instance.main will be updated in-place
  ~ resource "aws_db_instance" "main" {{
        id                  = "db-{sample.chars("ABCDEFGHIJKLMNOPQRSTUVWXYZ", 26)}"
      ~ password            = "{sample.password()}"
        allocated_storage   = 100
        storage_encrypted   = true
    }}

  # tls_private_key.deploy will be created
  + resource "tls_private_key" "deploy" {{
      + algorithm       = "RSA"
      + private_key_pem = <<-EOT
{pem}
        EOT
    }}

Plan: 1 to add, 1 to change, 0 to destroy.
"""


def build_log(sample: Sample) -> str:
    """A CI job that installs, tests and publishes."""
    packages = ["requests", "urllib3", "certifi", "idna", "attrs", "click", "rich", "numpy"]
    installed = "\n".join(
        f"#{n} Collecting {package}=={sample.random.randrange(1, 4)}.{sample.random.randrange(30)}.0\n"
        f"#{n}   sha256: {sample.chars(HEX, 64)}"
        for n, package in enumerate(packages, 7)
    )
    tests = "\n".join(f"tests/test_{name}.py ........ [{i * 10}%]" for i, name in enumerate(packages, 2))
    return f"""Run actions/checkout
Syncing repository: shop/orders at {sample.chars(HEX, 40)}
git clone https://build:{sample.github()}@github.com/shop/orders.git
{installed}
$ pytest -q
{tests}
128 passed in 41.20s
$ echo "//registry.example.com/:_authToken={sample.npm()}" > .npmrc
$ docker login -u build -p {sample.password()} registry.example.com
Login Succeeded
$ helm upgrade orders ./chart --set image.tag={sample.chars(HEX, 12)} --set db.password={sample.password()}
Release "orders" has been upgraded. Happy Helming!
"""


def transcript(sample: Sample) -> str:
    """An agent's messages, one JSON document a line: tool calls, results, JSON inside JSON."""
    lines: list[dict[str, object]] = [
        {"role": "system", "content": "You are a careful operator. Never repeat credentials."},
        {"role": "user", "content": "Deploy orders to staging and tell me what changed."},
    ]
    for step in range(24):
        call = f"call_{sample.chars(BASE62, 8)}"
        result: object = {"ok": True, "step": step, "files": [f"chart/values-{step}.yaml"], "ms": step * 37}
        if step == 4:
            result = {"stdout": f"export GITHUB_TOKEN={sample.github()}\nexport PORT=8080\n", "exit": 0}
        if step == 9:
            result = {"config": json.dumps({"user": "deploy", "password": sample.password(), "retries": 3})}
        if step == 14:
            result = {"headers": {"authorization": f"Bearer {sample.jwt()}", "accept": "application/json"}}
        if step == 19:
            result = {"rows": [{"name": "A. Example", "ssn": sample.ssn(), "card": sample.card()}]}
        function = {"name": "run", "arguments": json.dumps({"command": f"make step-{step}"})}
        lines.append({"role": "assistant", "tool_calls": [{"id": call, "type": "function", "function": function}]})
        lines.append({"role": "tool", "tool_call_id": call, "content": json.dumps(result)})
    lines.append({"role": "assistant", "content": "Done: three replicas run the new image, no errors since."})
    return "".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines)


def write(directory: Path) -> None:
    """Writes the sample and the truth about it."""
    sample = Sample(directory)
    for name, make in {
        "app/orders.log": app_log,
        "app/crash.txt": stack_trace,
        "ci/build.log": build_log,
        "ci/env.txt": environment,
        "ops/curl.txt": curl,
        "ops/kubectl.txt": kubectl,
        "ops/terraform.txt": terraform,
        "agent/transcript.jsonl": transcript,
    }.items():
        sample.write(name, make(sample))
    truth = truth_path(directory)
    truth.write_text(json.dumps(sample.planted, indent=1) + "\n", encoding="utf-8")
    number = sum(map(len, sample.planted.values()))
    print(f"{directory}: {len(sample.planted)} files with {number} planted values")


def truth_path(directory: Path) -> Path:
    """Where the truth about a sample stands: outside of it, or it would be sanitized too."""
    return directory.with_name(directory.name + ".truth.json")


def show(before: Path, after: Path) -> None:
    """Shows a few lines as they were and as they are."""
    for path in sorted(path for path in before.rglob("*") if path.is_file()):
        name = path.relative_to(before)
        old = path.read_text(encoding="utf-8").splitlines()
        new = (after / name).read_text(encoding="utf-8").splitlines()
        changed = [(a, b) for a, b in zip(old, new, strict=False) if a != b]
        print(f"\n{name}: {len(changed)} of {len(old)} lines changed, for example")
        for a, b in changed[:2]:
            # Around the first difference, and without the colours that the log brings along.
            start = max(0, next((i for i, (x, y) in enumerate(zip(a, b, strict=False)) if x != y), 0) - 50)
            for sign, line in (("-", a), ("+", b)):
                print(f"  {sign} {line[start : start + 100].replace(chr(27), '^[')}")
    print()


def check(truth: Path, clean: Path) -> int:
    """Says which planted values survived in `clean`, whole or in part; never prints one."""
    survived = 0
    planted = json.loads(truth.read_text(encoding="utf-8"))
    for name, values in planted.items():
        text = (clean / name).read_text(encoding="utf-8")
        for one in values:
            value = one["value"]
            pieces = {value[i : i + PIECE] for i in range(max(1, len(value) - PIECE + 1))}
            if any(piece in text for piece in pieces):
                survived += 1
                print(f"survived: {one['label']} in {name}", file=sys.stderr)
        if name.endswith(".jsonl"):
            for line in text.splitlines():
                json.loads(line)
    total = sum(map(len, planted.values()))
    print(f"{total - survived} of {total} planted values are gone")
    return 1 if survived else 0


if __name__ == "__main__":
    if len(sys.argv) == 2:
        write(Path(sys.argv[1]))
    elif len(sys.argv) == 4 and sys.argv[1] == "--show":
        show(Path(sys.argv[2]), Path(sys.argv[3]))
    elif len(sys.argv) == 4 and sys.argv[1] == "--check":
        sys.exit(check(Path(sys.argv[2]), Path(sys.argv[3])))
    else:
        sys.exit(__doc__)
