"""Looking into contexts: a second opinion on secrets, snapshots, traces (seed 000, section 7)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, InputError, StoreError, shown
from ctxproto.tokens import default_tokenizer
from ctxproto.tools import values
from ctxproto.tools.redact import default_redactor

if TYPE_CHECKING:
    import os
    from collections.abc import Sequence

__all__ = ["ContextDebugKit", "Leak"]


class Leak(NamedTuple):
    """A secret in a context: where, never what.

    Args:
        message: The index of the message.
        role: Its role.
        place: Where in it, such as `content` or `tool_calls[0].function.arguments`.
        label: What it looks like.
        length: Its characters.
    """

    message: int
    role: str
    place: str
    label: str
    length: int


class ContextDebugKit:
    """Tests and debugs what goes into a context.

    `assert_no_secrets` is a judge of its own: it shares neither rules nor code with the redactor, so that what one of
    them does not see, the other may.

    >>> token = "ghp_" + "aB3dE6gH9jK1" * 3
    >>> ContextDebugKit.assert_no_secrets([{"role": "tool", "content": f"token {token}"}])
    ❌ SECRET LEAK in message[0] (role=tool): [GITHUB_TOKEN] 40 characters in content
    False
    >>> ContextDebugKit.assert_no_secrets([{"role": "tool", "content": "token [GITHUB_TOKEN:REDACTED]"}])
    ✅ assert_no_secrets: 1 messages, 0 secrets found
    True
    """

    DEFAULT_SECRET_PATTERNS: ClassVar[Sequence[tuple[str, str]]] = (
        # What is beside a name that says so, and looks as if it was made, not written.
        (r"""(?:api[_-]?key|apikey|api_token|access_token|secret)\w*[\\"'\s:=]+([\w.+/=-]{20,})""", "API_KEY"),
        (r"""(?:password|passwd|passphrase)[\\"'\s]*[:=][\\"'\s]*([^\\"'&\s,;<>]{6,})""", "PASSWORD"),
        (r"""(?:token|auth)[\\"'\s]*[:=][\\"'\s]*([\w.+/=-]{16,})""", "TOKEN"),
        (r"""(?:bearer|basic)\s+([\w.+/=-]{16,})""", "AUTH_HEADER"),
        (r"""(?:private[_-]?key|privkey)["'\s:=]+([\w+/=]{32,})""", "PRIVATE_KEY"),
        # What has a form of its own.
        (r"gh[pousr]_[A-Za-z0-9]{36}", "GITHUB_TOKEN"),
        (r"github_pat_\w{22,}", "GITHUB_TOKEN"),
        (r"glpat-[\w-]{20,}", "GITLAB_TOKEN"),
        (r"(?<![\w-])sk-ant-[\w-]{20,}", "ANTHROPIC_KEY"),
        (r"(?<![\w-])sk-(?!ant-)(?=[\w-]*\d)[\w-]{16,}", "OPENAI_KEY"),
        (r"AIza[\w-]{35}", "GOOGLE_API_KEY"),
        (r"(?<![A-Z0-9])(?:AKIA|ASIA)[A-Z0-9]{16}(?![A-Z0-9])", "AWS_KEY"),
        (r"xox[abeoprs]-[\w-]{10,}", "SLACK_TOKEN"),
        (r"(?<!\w)[rs]k_live_\w{16,}", "STRIPE_KEY"),
        (r"(?<!\w)hf_[A-Za-z]{30,}", "HUGGINGFACE_TOKEN"),
        (r"(?<!\w)npm_[A-Za-z0-9]{36}", "NPM_TOKEN"),
        (r"(?<!\w)SG\.[\w-]{16,}\.[\w-]{16,}", "SENDGRID_KEY"),
        (r"eyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}", "JWT"),
        (r"-----BEGIN [A-Z ]*PRIVATE KEY-----\s*[A-Za-z0-9+/=\\]", "PRIVATE_KEY"),
        (r"[a-z][a-z0-9+.-]*://[^\s/:@]*:([^\s/@]{3,})@", "URL_PASSWORD"),
        (r"(?<![\d-])\d{3}-\d{2}-\d{4}(?![\d-])", "SSN"),
        (r"(?<![\d.-])\d{4}[-\s]?\d{4}[-\s]?\d{4}[-\s]?\d{4}(?![\d.-])", "CREDIT_CARD"),
    )
    """Expressions and labels; the first group is the value where there is one."""

    @staticmethod
    def find_secrets(
        context: Iterable[Mapping[str, Any]], patterns: Iterable[tuple[str, str]] | None = None
    ) -> list[Leak]:
        """The secrets in all messages of a context: their contents, parts, calls, names, whatever holds text.

        Args:
            context: Messages.
            patterns: Expressions (of Python, in any case) and labels in the place of the default ones.

        Raises:
            ConfigError: An argument is not as it must be.
        """
        compiled = _DEFAULT if patterns is None else _compiled(patterns)
        leaks: dict[Leak, None] = {}
        for at, message in enumerate(arguments.several("context", context, "messages")):
            if not isinstance(message, Mapping):
                raise ConfigTypeError(f"context[{at}] is a message, not {shown(message)}")
            role = _named(str(message.get("role")), compiled)
            for place, key, text in _texts(values.plain(message), "", "", compiled):
                # Placeholders hold nothing, whatever stands before them.
                line = f"{key}: {_PLACEHOLDER.sub('[]', text)}" if key else _PLACEHOLDER.sub("[]", text)
                for expression, label, generic in compiled:
                    for match in expression.finditer(line):
                        value = match[1] if expression.groups else match[0]
                        if value and _fits(label, value, generic=generic):
                            leaks[Leak(at, role, place, label, len(value))] = None
        return list(leaks)

    @staticmethod
    def assert_no_secrets(
        context: Iterable[Mapping[str, Any]], patterns: Iterable[tuple[str, str]] | None = None
    ) -> bool:
        """Whether a context is clean; says where it is not, without a character of what it found.

        For tests: the fixture `assert_context_clean`, or `assert ContextDebugKit.assert_no_secrets(messages)`, of
        which pytest prints the messages as well when it fails. Takes what `find_secrets` takes.
        """
        messages = arguments.several("context", context, "messages")
        leaks = ContextDebugKit.find_secrets(messages, patterns)  # type: ignore[arg-type]
        for leak in leaks:
            print(f"❌ SECRET LEAK {told(leak)}")  # noqa: T201 - the seed's output
        if not leaks:
            print(f"✅ assert_no_secrets: {len(messages)} messages, 0 secrets found")  # noqa: T201
        return not leaks

    @staticmethod
    def dump_context_snapshot(
        context: Iterable[Mapping[str, Any]], step: int, output_dir: str | os.PathLike[str] = "./context_snapshots"
    ) -> Path:
        """Writes a context to a file of its own, redacted by the default policy; returns its path.

        The file appears whole or not at all, for its owner alone. It holds the seed's keys; tokens are counted. Of a
        `PreparedContext` it holds the audit trail, too.

        Raises:
            ConfigError: An argument is not as it must be.
            StoreError: The file cannot be written.
        """
        messages = arguments.several("context", context, "messages")
        number = arguments.number("step", step, 0)
        directory = Path(arguments.path("output_dir", output_dir))
        timestamp = datetime.now().strftime("%Y%m%d_%H%M%S_%f")
        redacted = default_redactor().redact_json([values.plain(message) for message in messages]).value
        snapshot: dict[str, Any] = {
            "step": number,
            "timestamp": timestamp,
            "message_count": len(redacted),
            "total_chars": sum(len(text) for message in redacted for _, _, text in _texts(message, "", "", [])),
            "total_tokens_est": default_tokenizer().count_messages(redacted).total,
            "messages": redacted,
        }
        if isinstance(trail := getattr(context, "audit_trail", None), list):
            # Ids are not ours to choose.
            snapshot["audit_trail"] = default_redactor().redact_json(values.plain(trail)).value
        path = directory / f"step_{number:04d}_{timestamp}.json"
        reason = _written(path, json.dumps(snapshot, indent=2, ensure_ascii=False))
        if reason:
            raise StoreError(f"the snapshot was not written: {reason}")
        print(f"📸 Context snapshot saved: {path} ({snapshot['total_tokens_est']} tokens est.)")  # noqa: T201
        return path

    @staticmethod
    def load_snapshot(path: str | os.PathLike[str]) -> dict[str, Any]:
        """Reads a snapshot.

        Raises:
            StoreError: The file cannot be read.
            InputError: It is no snapshot.
        """
        reason, snapshot = "", None
        try:
            text = Path(path).read_text(encoding="utf-8", errors="surrogatepass")
        except (OSError, ValueError, TypeError) as error:
            reason = (isinstance(error, OSError) and error.strerror) or "this is no path"
        if reason:
            raise StoreError(f"the snapshot cannot be read: {reason}")
        with suppress(ValueError, RecursionError):
            snapshot = json.loads(text)
        if not isinstance(snapshot, dict) or not isinstance(snapshot.get("messages"), list):
            raise InputError("the file is no snapshot of a context")
        return snapshot

    @staticmethod
    def trace_context_routing(
        context: Iterable[Mapping[str, Any]], audit_trail: Iterable[Mapping[str, Any]], step: int
    ) -> dict[str, Any]:
        """What happened while a context was put together: its roles, and the decisions by their kind; no content."""
        messages = arguments.several("context", context, "messages")
        events: list[Any] = arguments.several("audit_trail", audit_trail, "entries")
        roles = [message.get("role") if isinstance(message, Mapping) else None for message in messages]

        def of(action: str) -> list[Any]:
            return [event for event in events if isinstance(event, Mapping) and event.get("action") == action]

        return {
            "step": arguments.number("step", step, 0),
            "timestamp": datetime.now().isoformat(),
            "message_roles": roles,
            "message_count": len(messages),
            "tool_messages": roles.count("tool"),
            "system_messages": roles.count("system"),
            "audit_events": events,
            "active_decisions": {
                "redactions": of("secret_redacted"),
                "memory_reads": of("memory_read"),
                "task_state_injections": of("task_state_injected"),
                "budget_enforcements": of("messages_changed"),
            },
        }


def told(leak: Leak) -> str:
    """A leak in words."""
    return f"in message[{leak.message}] (role={leak.role}): [{leak.label}] {leak.length} characters in {leak.place}"


_PLACEHOLDER = re.compile(r"\[[A-Z][A-Z0-9_]{0,63}:[A-Za-z0-9_#-]{1,64}\]")
_WORDS_ONLY = re.compile(r"[A-Za-z]+(?:[._/-][A-Za-z]+)*\W*")
_GENERIC = frozenset({"API_KEY", "PASSWORD", "TOKEN", "AUTH_HEADER"})

_Compiled = tuple[re.Pattern[str], str, bool]


def _compiled(patterns: object, *, own: bool = False) -> list[_Compiled]:
    compiled = []
    for at, pair in enumerate(arguments.several("patterns", patterns, "(expression, label)")):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ConfigTypeError(f"patterns[{at}] is an expression and a label, not {shown(pair)}")
        expression, label = (arguments.text(f"patterns[{at}]", one) for one in pair)
        built = None
        with suppress(re.error, RecursionError, OverflowError):
            # What is written in capitals in a form of its own stays so.
            built = re.compile(expression, re.IGNORECASE if label in _GENERIC or not own else 0)
        if built is None:
            raise ConfigError(f"patterns[{at}] is no regular expression")
        compiled.append((built, label, own and label in _GENERIC))
    return compiled


_DEFAULT = _compiled(ContextDebugKit.DEFAULT_SECRET_PATTERNS, own=True)


def _fits(label: str, value: str, *, generic: bool) -> bool:
    """Whether a value is what its label says, not words, a path, a variable, or digits that are no card's."""
    if label == "CREDIT_CARD":
        digits = [int(digit) for digit in value if digit.isdigit()]
        doubled = [digit if at % 2 else digit * 2 - 9 * (digit > 4) for at, digit in enumerate(digits)]
        return sum(doubled) % 10 == 0 and len(set(digits)) > 2
    if label == "SSN":
        return value[:3] not in {"000", "666"} and value[0] != "9" and value[4:6] != "00" and value[7:] != "0000"
    if label == "URL_PASSWORD":
        return value[0] not in "$<{%*[" and value.strip("*xX.") != ""
    if not generic:
        return True
    made = any(map(str.isdigit, value)) and any(map(str.isalpha, value))
    return made and value[0] not in "/$<{%*[(." and not _WORDS_ONLY.fullmatch(value)


def _texts(
    value: Any,  # noqa: ANN401 - whatever JSON can be
    place: str,
    key: str,
    compiled: Sequence[_Compiled],
) -> Iterator[tuple[str, str, str]]:
    """All strings in a value: where they stand, under which key, and the text; and keys that are secrets."""
    if isinstance(value, str):
        yield place or "message", key, value
    elif isinstance(value, dict):
        for name, one in value.items():
            told = _named(str(name), compiled)
            inner = f"{place}.{told}" if place else told
            if told != name:
                yield inner, "", str(name)
            yield from _texts(one, inner, str(name), compiled)
    elif isinstance(value, list):
        for at, one in enumerate(value):
            yield from _texts(one, f"{place}[{at}]", key, compiled)


def _named(name: str, compiled: Sequence[_Compiled]) -> str:
    """A name that may be told: one that looks like a secret is none."""
    return "*" if any(expression.search(name) for expression, _, _ in compiled) else name


def _written(path: Path, text: str) -> str:
    """Writes a file at once; returns why that failed."""
    import tempfile

    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, temporary = tempfile.mkstemp(dir=path.parent, prefix=".")
        with open(descriptor, "w", encoding="utf-8", errors="surrogatepass") as file:  # noqa: PTH123 - a descriptor
            file.write(text)
        Path(temporary).replace(path)
    except OSError as error:
        if temporary:
            with suppress(OSError):
                Path(temporary).unlink()
        return error.strerror or "it cannot be written"
    return ""
