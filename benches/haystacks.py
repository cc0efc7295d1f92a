"""The texts to work on: real ones from a directory of corpora, generated ones from a seed.

A haystack is a directory of documents. The corpora are not part of this repository: they are read from
`CTXPROTO_CORPORA` (default `../shared/corpora`). Generated documents are the same on every machine; the
secrets in them are random strings of the right form, made anew at every run and never stored here.
"""

from __future__ import annotations

import base64
import json
import os
import random
import string
import sysconfig
import zlib
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SEED = 20240229
ALNUM = string.ascii_letters + string.digits
BASE62 = string.digits + string.ascii_uppercase + string.ascii_lowercase


class Absent(Exception):
    """The source of a haystack is not on this machine."""


def corpora() -> Path:
    """The corpora directory."""
    path = Path(os.environ.get("CTXPROTO_CORPORA") or ROOT / "../shared/corpora").resolve()
    if not path.is_dir():
        raise Absent(
            f"no corpora at {path}: set CTXPROTO_CORPORA to the directory that holds logs/, agents/, secrets/"
        )
    return path


def _files(*patterns: str) -> list[str]:
    files = [file for pattern in patterns for file in sorted(corpora().glob(pattern))]
    if not files:
        raise Absent(f"nothing matches {' '.join(patterns)} in {corpora()}")
    return [file.read_bytes().decode("utf-8", "replace") for file in files]


def logs() -> list[str]:
    """Ten systems' logs, a document each; no secret in them."""
    return _files("logs/*.log")


def agents() -> list[str]:
    """Agent runs: a JSON lines file of chat messages and tool calls, and trajectories as JSON documents."""
    return _files("agents/*.jsonl", "agents/swe-agent/*.traj")


def stdlib() -> list[str]:
    """Source code of this Python's standard library, about 4 MB of it."""
    directory = Path(sysconfig.get_paths()["stdlib"])
    texts, size = [], 0
    for file in sorted(directory.glob("*.py")) + sorted(directory.glob("[a-s]*/*.py")):
        texts.append(file.read_bytes().decode("utf-8", "replace"))
        size += len(texts[-1])
        if size > 4_000_000:
            break
    return texts


VENDORS = (
    "adobe airtable algolia alibaba anthropic asana atlassian auth0 aws azure beamer bitbucket bittrex"
    " cisco cloudflare codecov cohere coinbase confluent contentful databricks datadog defined"
    " digitalocean discord doppler dropbox duffel dynatrace easypost etsy facebook fastly finicity finnhub"
    " flickr flutterwave flyio freshbooks gcp github gitlab gitter gocardless grafana harness hashicorp"
    " heroku hubspot huggingface infracost intercom jfrog jwt kraken kubernetes kucoin launchdarkly linear"
    " linkedin lob mailchimp mailgun mapbox mattermost messagebird microsoft netlify newrelic notion npm"
    " nuget nytimes octopus okta openai openshift plaid planetscale postman prefect privateai pulumi pypi"
    " rapidapi readme rubygems scalingo sendbird sendgrid sendinblue sentry shippo shopify sidekiq slack"
    " snyk sonar sourcegraph square stripe sumologic telegram travisci trello twilio twitch twitter"
    " typeform vault yandex zendesk"
).split()

DETECTOR = """package {vendor}

import (
	"context"
	"fmt"
	"net/http"

	"regexp"
)

type Scanner struct{{ client *http.Client }}

// Ensure the Scanner satisfies the interface at compile time.
var _ detectors.Detector = (*Scanner)(nil)

var (
	defaultClient = common.SaneHttpClient()
	// The {Vendor} API token is {length} characters and stands near the word {vendor}.
	keyPat    = regexp.MustCompile(near("{vendor}", "{other}") + `\\b([0-9a-z]{{{length}}})\\b`)
	secretPat = regexp.MustCompile(near("{vendor}_secret") + `\\b([A-Za-z0-9_-]{{{longer}}})\\b`)
)

// Keywords are used for efficiently pre-filtering chunks.
func (d Scanner) Keywords() []string {{
	return []string{{"{vendor}", "{vendor}_api_key", "{other}_token"}}
}}

// FromData will find and optionally verify {Vendor} secrets in a given set of bytes.
func (d Scanner) FromData(ctx context.Context, verify bool, data []byte) (results []Result, err error) {{
	for _, match := range keyPat.FindAllStringSubmatch(string(data), -1) {{
		token := strings.TrimSpace(match[1])
		result := Result{{DetectorType: kind.{Vendor}, Raw: []byte(token)}}
		if verify {{
			req, err := http.NewRequest("GET", "https://api.{vendor}.com/v{digit}/{noun}", nil)
			if err != nil {{
				continue
			}}
			req.Header.Add("Authorization", fmt.Sprintf("Bearer %s", token))
			req.Header.Set("{Vendor}-Secret-Key", secretKey(token))
			res, err := d.client.Do(req) // {vendor} answers 401 to a wrong password
			if err == nil && res.StatusCode >= 200 && res.StatusCode < 300 {{
				result.Verified = true
			}}
		}}
		results = append(results, result)
	}}
	return results, nil
}}

// page reads every row of one reply until the server says that there are no more of them.
func (d Scanner) page(ctx context.Context, rows *[]Row, first, last int) error {{
	for number := first; number <= last; number++ {{
		body, err := io.ReadAll(io.LimitReader(d.client.Body(number), {length} << 10))
		if err != nil {{
			return fmt.Errorf("row %d of %d: %w", number, last, err)
		}}
		var row Row
		if err := json.Unmarshal(body, &row); err != nil || row.Number != number {{
			continue // a row that does not parse is one that was never written
		}}
		*rows = append(*rows, row)
	}}
	sort.Slice(*rows, func(i, j int) bool {{ return (*rows)[i].Number < (*rows)[j].Number }})
	return nil
}}

var (
	validPattern = `[{{"_id":"{hex32}","name":"{Vendor}","type":"Detector","api":true,"secret":"{alnum40}"}}]`
	keyPattern   = "{vendor}_key={alnum32}"
	urlPattern   = "{vendor}.com?token={lower20} {vendor}-api-key: {alnum36}"
)

func Test{Vendor}_Pattern(t *testing.T) {{
	tests := []struct {{
		name  string
		input string
		want  []string
	}}{{
		{{name: "valid pattern", input: fmt.Sprintf("{vendor} = '%s'", valid), want: []string{{valid}}}},
		{{name: "invalid pattern", input: fmt.Sprintf("{vendor} = '%s'", invalid), want: nil}},
	}}
	for _, test := range tests {{
		t.Run(test.name, func(t *testing.T) {{
			if diff := cmp.Diff(run(t, test.input), test.want); diff != "" {{
				t.Errorf("%s diff: (-want +got)\n%s", test.name, diff)
			}}
		}})
	}}
}}
"""


def source() -> list[str]:
    """Go code of secret detectors and their tests, a file each: key words everywhere, random test values."""
    rng = random.Random(SEED)
    nouns = ("users", "account", "tokens", "projects", "keys/verify", "me", "teams?limit=1", "apps")
    texts = []
    for i in range(300):
        vendor = VENDORS[i % len(VENDORS)]
        length = rng.choice((32, 36, 40, 48, 64))
        texts.append(
            DETECTOR.format(
                vendor=vendor,
                Vendor=vendor.capitalize(),
                other=rng.choice(VENDORS),
                noun=rng.choice(nouns),
                length=length,
                longer=length + 8,
                digit=rng.randrange(1, 5),
                hex32=_chars(rng, string.hexdigits[:16], 32),
                alnum40=_chars(rng, ALNUM, 40),
                alnum32=_chars(rng, ALNUM, 32),
                alnum36=_chars(rng, ALNUM, 36),
                lower20=_chars(rng, string.ascii_lowercase + string.digits, 20),
            )
        )
    return texts


def _chars(rng: random.Random, alphabet: str, n: int) -> str:
    return "".join(rng.choices(alphabet, k=n))


def _github(rng: random.Random) -> str:
    """A classic GitHub token: 30 random characters and the base 62 CRC-32 of them."""
    body = _chars(rng, ALNUM, 30)
    crc, check = zlib.crc32(body.encode()), ""
    for _ in range(6):
        crc, digit = divmod(crc, 62)
        check = BASE62[digit] + check
    return "ghp_" + body + check


def _jwt(rng: random.Random) -> str:
    def part(value: dict[str, object]) -> str:
        return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")

    claims = {"sub": _chars(rng, string.digits, 10), "iat": rng.randrange(1_600_000_000, 1_700_000_000)}
    return f"{part({'alg': 'HS256', 'typ': 'JWT'})}.{part(claims)}.{_chars(rng, ALNUM + '-_', 43)}"


# Kinds that every secret scanner knows, in their published form.
TOKENS: list[Callable[[random.Random], str]] = [
    _github,
    lambda rng: "AKIA" + _chars(rng, string.ascii_uppercase + "234567", 16),
    lambda rng: "glpat-" + _chars(rng, ALNUM, 20),
    lambda rng: (
        f"xoxb-{_chars(rng, string.digits, 12)}-{_chars(rng, string.digits, 12)}-{_chars(rng, ALNUM, 24)}"
    ),
    lambda rng: "sk_live_" + _chars(rng, ALNUM, 24),
    lambda rng: "AIza" + _chars(rng, ALNUM, 35),
    lambda rng: f"SG.{_chars(rng, ALNUM, 22)}.{_chars(rng, ALNUM, 43)}",
    lambda rng: "dop_v1_" + _chars(rng, "0123456789abcdef", 64),
    _jwt,
]
CARRIERS = (
    'export API_TOKEN="{}"\n',
    '{{"level": "info", "msg": "retry with {}"}}\n',
    '{{"name": "production", "auth": "{}"}}\n',
    "{} # rotate me before the release\n",
    "curl -s -H 'X-Api-Token: {}' localhost/v1\n",
)


def _token(rng: random.Random) -> str:
    # The short kinds more often, so that there is one in 74 bytes or so, as in a leaked list of keys.
    kind = rng.choices(TOKENS, weights=(4, 5, 5, 2, 5, 4, 1, 1, 1))[0]
    return kind(rng)


DENSE_TOKENS = 8_000


def dense() -> list[str]:
    """Mostly secrets, exactly `DENSE_TOKENS` of them, one in 74 bytes or so; documents of 4 KB."""
    rng = random.Random(SEED)
    lines = [rng.choice(CARRIERS).format(_token(rng)) for _ in range(DENSE_TOKENS)]
    return ["".join(lines[i : i + 56]) for i in range(0, DENSE_TOKENS, 56)]


WORDS = (
    "the order was placed and then changed to a later flight because the customer asked for it please"
    " confirm that total price before you continue with reservation number passenger baggage economy"
    " business return date status delivered pending cancelled shipped request finished after retry"
    " connection closed by peer worker started cache miss reading block from disk node joined cluster"
    " leader elected snapshot written index rebuilt query took"
).split()


def _prose(rng: random.Random) -> str:
    return " ".join(rng.choices(WORDS, k=rng.randrange(8, 24))).capitalize() + ".\n"


def _log_line(rng: random.Random) -> str:
    clock = ":".join(f"{rng.randrange(n):02}" for n in (24, 60, 60))
    stamp = f"2024-05-{rng.randrange(1, 29):02} {clock}"
    name = rng.choice(
        ("nova.compute.manager", "org.apache.hadoop.mapred.Task", "kernel", "sshd", "dfs.DataNode")
    )
    return f"{stamp},{rng.randrange(1000):03} {rng.choice(('INFO', 'WARN', 'DEBUG'))} {name}: {_prose(rng)}"


def _json_line(rng: random.Random) -> str:
    row = {
        "id": rng.randrange(10_000_000),
        "status": rng.choice(("delivered", "pending", "cancelled")),
        "items": [{"name": rng.choice(WORDS), "price": round(rng.random() * 500, 2)} for _ in range(3)],
        "note": _prose(rng).strip(),
    }
    return json.dumps(row) + "\n"


def json_lines(n: int) -> list[str]:
    """`n` rows as a tool answers them, a JSON object each."""
    rng = random.Random(SEED)
    return [_json_line(rng) for _ in range(n)]


def _message(rng: random.Random, size: int) -> str:
    line = rng.choice((_prose, _log_line, _json_line))
    text = ""
    while len(text) < size:
        text += line(rng)
    return text[:size]


def messages() -> list[str]:
    """512 clean messages of 2 KiB: prose, log lines or JSON, as tools answer."""
    rng = random.Random(SEED)
    return [_message(rng, 2048) for _ in range(512)]


def many() -> list[str]:
    """4,096 messages of 4 KiB, one in eight with a secret in it: what a fleet sends in a second or two."""
    rng = random.Random(SEED)
    texts = [_message(rng, 4096) for _ in range(4096)]
    return [f"{text} {_token(rng)}\n" if i % 8 == 0 else text for i, text in enumerate(texts)]


def tiny() -> list[str]:
    """One short message, for cold starts."""
    return ["The build finished after 12 s.\n"]


HAYSTACKS: dict[str, Callable[[], list[str]]] = {
    "logs": logs,
    "agents": agents,
    "source": source,
    "stdlib": stdlib,
    "dense": dense,
    "messages": messages,
    "many": many,
    "tiny": tiny,
}


def write(name: str, directory: Path) -> Path:
    """Puts a haystack's documents under `directory`, returns where."""
    texts = HAYSTACKS[name]()
    target = directory / name
    target.mkdir(parents=True, exist_ok=True)
    for i, text in enumerate(texts):
        (target / f"{i:06}.txt").write_bytes(text.encode())
    return target
