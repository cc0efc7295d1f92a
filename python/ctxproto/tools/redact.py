"""The redactor: validated settings in front of the native one."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar, overload

from ctxproto import _core, arguments
from ctxproto._core import Vault
from ctxproto.errors import ConfigError, ConfigTypeError, InputTypeError, shown
from ctxproto.tools import files

if TYPE_CHECKING:
    import io
    from typing import Self

    from typing_extensions import Buffer

    from ctxproto._core import Finding, Redaction
    from ctxproto.tools.files import Readable, Writable

__all__ = ["Allow", "Redactor", "known_values_from_env", "redact", "scan"]

AnyText = TypeVar("AnyText", str, bytes)
Profile: TypeAlias = Literal["default", "secrets", "all", "none"]
Format: TypeAlias = Literal["auto", "text", "json", "jsonl"]
RulePath: TypeAlias = str | os.PathLike[str]

# What a profile stands for: whether the built-in rules are in, and which PII.
_PROFILES: dict[str, tuple[bool, str]] = {
    "default": (True, "dangerous"),
    "secrets": (True, "none"),
    "all": (True, "all"),
    "none": (False, "none"),
}
_PII_SETS = ("dangerous", "all", "none")
_PLACEHOLDERS = ("label", "mask", "partial", "hash", "vault")

# Shorter ones would be found in ordinary words and numbers.
_KNOWN_VALUE_MIN = 6
_KEY_MIN = 16
# All rules of ours are 200 kB.
_RULES_MAX = 16 << 20
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
# Names end words: DEPLOY_TOKEN, PGPASSWORD, APIKEY2; a word may stand before or after (KEY_PROD). PWD alone is a place.
_SECRET_NAME = re.compile(
    r"(?:(?:^|_)(?:key|pat|auth|pass|credentials?|dsn)|(?<=.)_pwd|(?:api|access|secret|private|encryption|signing)key"
    r"|token|secret|password|passwd|passphrase|pgpass)\d*(?:_|$)",
    re.IGNORECASE,
)
# Where something secret is or goes, or what is meant to be seen.
_PUBLIC_NAME = re.compile(r"(?:^|_)(?:sock|file|path|dir|public|pub|pubkey)(?:_|$)|^gpg_key(?:_id)?$", re.IGNORECASE)
_URL_PASSWORD = re.compile(r"[A-Za-z][\w+.-]*://[^\s/?#:@]*:([^\s/?#]+)@")

# Not a setting: fingerprints of one process are comparable, those of two are not unless a key is given.
_PROCESS_KEY = os.urandom(32)


class Allow(NamedTuple):
    """What is declared harmless; checked when a `Redactor` is built with it.

    Args:
        values: Exact values, str or bytes.
        patterns: Regular expressions (of Rust's regex crate: no look-around) that a value must match from end to end.
        rules: Rule ids or labels that are switched off, such as "GITHUB_TOKEN".
        keys: Names whose values are never findings, in any case: of JSON members, variables, headers.
        inline: Honour `ctxproto:allow` comments in the text itself. Whoever writes the text can then hide anything.
    """

    values: Sequence[str | bytes] = ()
    patterns: Sequence[str] = ()
    rules: Sequence[str] = ()
    keys: Sequence[str] = ()
    inline: bool = False

    def __repr__(self) -> str:
        # Allowed values are harmless only where they were declared, and one may stand in the wrong field.
        lists = ("values", "patterns", "rules", "keys")
        counts = [f"{_size(getattr(self, name))} {name}" for name in lists]
        return f"Allow({', '.join(counts)}{', inline' if self.inline is True else ''})"


def _size(values: object) -> str:
    return str(len(values)) if isinstance(values, list | tuple | set | frozenset) else "some"


class Redactor(_core.Redactor):
    """A policy, compiled once and shared by threads; it never changes.

    Building one takes some 10 ms; keep it. All settings are checked here.

    Args:
        profile: "default" is every secret and the PII that is dangerous by itself (card, SSN, IBAN); "secrets" leaves
            PII out, "all" takes all of it, "none" has no built-in rules, only `rules` and `known_values`.
        rules: Paths of rule files (TOML), ctxproto's own or gitleaks'. `warnings` says what could not be honoured.
        pii: "dangerous", "all", "none", or labels and rule ids such as ["EMAIL", "PHONE"]; overrides the profile.
        allow: What is declared harmless.
        known_values: Values known to be secret, of at least 6 bytes; a mapping gives each its label. They are found in
            their encoded forms too. See `known_values_from_env`.
        placeholder: "label" writes `[GITHUB_TOKEN:REDACTED]`, "mask" `****`, "partial" the token's public prefix and
            `****`, "hash" `[GITHUB_TOKEN:3f9a12c4]`, the same for equal values under one `key`. "vault", or a
            `Vault` to share, keeps the values: `redactor.vault.restore(...)` puts them back.
        key: At least 16 bytes of str or bytes, the key of fingerprints and hashes. Without it, one is drawn for each
            process.

    Raises:
        ConfigError: An argument has a value that is not allowed: the message names the argument and what it may be, and
            of what was given only the type and the length. A file of `rules` cannot be read.
        ConfigTypeError: An argument is of a type that is not allowed; a `ConfigError` and a `TypeError`.
        RuleError: A rule file or a pattern cannot be compiled, or `pii` or `allow.rules` names a rule that does not
            exist; a `ConfigError`.

    >>> redactor = Redactor(pii="none", known_values={"DB_PASSWORD": "correct horse"}, placeholder="vault")
    >>> result = redactor.redact("login with correct horse")
    >>> "horse" in result.text, redactor.vault.restore(result.text)
    (False, 'login with correct horse')
    """

    __slots__ = ("_settings",)

    # What the native redactor was made from.
    _settings: dict[str, Any]

    def __new__(
        cls,
        *,
        profile: Profile = "default",
        rules: RulePath | Iterable[RulePath] = (),
        pii: str | Iterable[str] | None = None,
        allow: Allow | None = None,
        known_values: Iterable[str | bytes] | Mapping[str, str | bytes] = (),
        placeholder: str | Vault = "label",
        key: str | bytes | None = None,
    ) -> Self:
        """Compiles the policy."""
        builtin, profile_pii = _PROFILES[arguments.one_of("profile", profile, _PROFILES)]
        vault, style = placeholder if type(placeholder) is Vault else None, "vault"
        if vault is None:
            style = arguments.one_of("placeholder", placeholder, _PLACEHOLDERS, " or a Vault")
            vault = Vault() if style == "vault" else None
        return cls._compiled(
            builtin=builtin,
            rule_files=_rule_files(rules),
            pii=profile_pii if pii is None else _pii(pii),
            allow=_allow(allow),
            known_values=_known_values(known_values),
            placeholder=style,
            vault=vault,
            key=_key(key),
        )

    @classmethod
    def _compiled(cls, **settings: Any) -> Self:  # noqa: ANN401 - see __new__
        self = _core.Redactor.__new__(cls, **settings)
        self._settings = settings
        return self

    def with_patterns(self, patterns: Iterable[tuple[str, str]]) -> Redactor:
        r"""This policy, with patterns of the caller beside its rules; all else stays, a vault is shared.

        Args:
            patterns: Pairs of a regular expression (of Rust's regex crate: no look-around; in either case) and a label
                such as "ORDER_ID". Its first group is the secret when it has one, else all of the match.

        Raises:
            ConfigError: `patterns` are no pairs of str.
            RuleError: A pattern cannot be compiled.

        >>> redactor = Redactor(profile="none").with_patterns([(r"ord-\d+", "ORDER_ID")])
        >>> redactor.with_patterns([(r"inv-\d+", "INVOICE_ID")]).redact("ORD-71 and INV-25").text
        '[ORDER_ID:REDACTED] and [INVOICE_ID:REDACTED]'
        """
        pairs = _pairs(patterns)
        return _with_patterns(self, pairs) if pairs else self

    def redact_iter(self, pieces: Iterable[AnyText], *, format: Format = "auto") -> Iterator[AnyText]:
        """Redacts an iterable of pieces, such as an open file, one after the other.

        The pieces that come out, joined, are the redaction of the pieces that went in, joined; there may be fewer of
        them. Raises `InputTypeError` for anything else than pieces that are all str or all bytes, `ConfigError` for an
        unknown `format`.
        """
        stream = self.stream(format=format)
        with suppress(TypeError):  # raised again below
            return _redacted(stream, iter(pieces))
        raise InputTypeError(f"redact_iter() takes an iterable of str or bytes, not {shown(pieces)}")

    def redact_aiter(self, pieces: AsyncIterable[AnyText], *, format: Format = "auto") -> AsyncIterator[AnyText]:
        """Redacts an asynchronous iterable of pieces, such as the body of a response; see `redact_iter`."""
        stream = self.stream(format=format)
        if not hasattr(type(pieces), "__aiter__"):
            raise InputTypeError(f"redact_aiter() takes an asynchronous iterable of str or bytes, not {shown(pieces)}")
        return _aredacted(stream, pieces)

    @overload
    def reader(self, file: Readable[str], *, format: Format = "auto") -> io.TextIOWrapper: ...
    @overload
    def reader(self, file: Readable[bytes], *, format: Format = "auto") -> io.BufferedIOBase: ...
    def reader(self, file: Any, *, format: Format = "auto") -> Any:
        """Wraps a readable file: what is read from the wrapper is redacted.

        A text file gives a text file, a binary one a binary one. Closing the wrapper leaves the file open. Raises
        `InputTypeError` for what cannot be read from.
        """
        return files.reader(file, self.stream(format=format))

    def writer(self, file: Writable, *, format: Format = "auto") -> files.Writer:
        """Wraps a writable file, text or binary: what is written to the wrapper arrives redacted.

        The end of the text is held back until the wrapper is closed, which leaves the file open: use it in a `with`.
        Raises `InputTypeError` for what cannot be written to.
        """
        return files.Writer(file, self.stream(format=format))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise InputTypeError("a Redactor cannot be pickled, it may hold known values: build one in each process")

    def __repr__(self) -> str:
        return f"<Redactor: {len(self.rules)} rules>"


def _redacted(stream: _core.Stream, pieces: Iterator[AnyText]) -> Iterator[AnyText]:
    for piece in pieces:
        if out := stream.feed(piece):
            yield out
    if out := stream.finish():
        yield out


async def _aredacted(stream: _core.Stream, pieces: AsyncIterable[AnyText]) -> AsyncIterator[AnyText]:
    async for piece in pieces:
        if out := stream.feed(piece):
            yield out
    if out := stream.finish():
        yield out


@cache
def default_redactor() -> Redactor:
    """The default policy, compiled once a process."""
    return Redactor()


# Compiling takes as long as for a new redactor, and callers give the same patterns for every result.
@lru_cache(maxsize=64)
def _with_patterns(redactor: Redactor, pairs: tuple[tuple[str, str], ...]) -> Redactor:
    settings = redactor._settings  # noqa: SLF001 - a function of the class but for the cache
    # Rules have names of their own, and so have those of the patterns that were added before.
    name = f"patterns-{len(settings['rule_files']) + 1}"
    rules = "".join(
        f"[[rule]]\nid = {_toml(f'{name}-{at}')}\nlabel = {_toml(label)}\n"
        f'name = "Pattern of the caller"\npattern = {_toml(f"(?i){pattern}")}\n'
        for at, (pattern, label) in enumerate(pairs)
    )
    return type(redactor)._compiled(**{**settings, "rule_files": [*settings["rule_files"], ("patterns", rules)]})  # noqa: SLF001


def _pairs(patterns: object) -> tuple[tuple[str, str], ...]:
    pairs = []
    for at, pair in enumerate(arguments.several("patterns", patterns, "(expression, label)")):
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise ConfigTypeError(f"patterns[{at}] is an expression and a label, not {shown(pair)}")
        expression, label = arguments.strings(f"patterns[{at}]", pair)
        pairs.append((expression, label))
    return tuple(pairs)


def _toml(text: str) -> str:
    """A string of TOML: as JSON writes it, but for one character."""
    import json

    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@overload
def redact(text: str, *, format: Format = "auto") -> Redaction[str]: ...
@overload
def redact(text: Buffer, *, format: Format = "auto") -> Redaction[bytes]: ...
def redact(text: Any, *, format: Format = "auto") -> Redaction[Any]:
    """Redacts one text under the default policy; see `Redactor.redact`, also for what is raised.

    >>> redact("nothing to hide").text
    'nothing to hide'
    """
    return default_redactor().redact(text, format=format)


def scan(text: str | Buffer, *, format: Format = "auto") -> tuple[Finding, ...]:
    """Finds what `redact` would replace, under the default policy; see `Redactor.scan`.

    >>> scan("nothing to hide")
    ()
    """
    return default_redactor().scan(text, format=format)


def known_values_from_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The values of environment variables whose names say that they are secret, for `known_values`.

    Names are matched by their words (KEY, TOKEN, SECRET, PASSWORD, ...), but for those of paths, sockets and public
    keys; of a URL in any other variable, its password is the value. The label of a value is its variable's name in
    upper case. Values that are blank or shorter than 6 bytes are left out. `environ` is `os.environ` unless given;
    raises `ConfigTypeError` when it is no mapping of str to str.

    >>> known_values_from_env({"DEPLOY_TOKEN": "correct horse", "HOME": "/root", "API_KEY": "none"})
    {'DEPLOY_TOKEN': 'correct horse'}
    """
    from urllib.parse import unquote

    if environ is None:
        environ = os.environ
    elif not issubclass(type(environ), Mapping):
        raise ConfigTypeError(f"environ is a mapping of str to str, not {shown(environ)}")
    known = {}
    for name, value in environ.items():
        name, value = arguments.text("a name in environ", name), arguments.text("a value in environ", value)
        label = name.upper()
        if not _SECRET_NAME.search(name) or _PUBLIC_NAME.search(name):
            value = unquote(password[1]) if (password := _URL_PASSWORD.match(value)) else ""
        if _LABEL.fullmatch(label) and _unusable(_encoded(value)) is None:
            known[label] = value
    return known


def shown_path(path: str | os.PathLike[str]) -> str:
    r"""A path as messages name it: as the default policy leaves it, for file names can hold secrets.

    Always valid text on one line; bytes that are not UTF-8 are shown as `\xff`.
    """
    given = os.fspath(path)
    text = given if isinstance(given, str) else given.decode("utf-8", "surrogateescape")
    text = "".join(c if c.isprintable() else _escaped(c) for c in text)
    return default_redactor().redact(text).text


def shown_value(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can be
    """A setting as it may be shown: JSON values, as the default policy leaves them."""
    return default_redactor().redact_json(value).value


def _escaped(character: str) -> str:
    # How Python holds the bytes of a file name that are not UTF-8.
    if "\udc80" <= character <= "\udcff":
        return f"\\x{ord(character) - 0xDC00:02x}"
    return character.encode("unicode_escape").decode()


def _pii(pii: object) -> str | list[str]:
    if issubclass(type(pii), str):
        return arguments.one_of("pii", pii, _PII_SETS, " or a list of labels and rule ids")
    return arguments.strings("pii", pii)


def _rule_files(rules: object) -> list[tuple[str, str]]:
    if _is_path(rules):
        rules = [rules]
    return [
        _rule_file(f"rules[{at}]", path)
        for at, path in enumerate(arguments.several("rules", rules, "paths of rule files"))
    ]


def _is_path(value: object) -> bool:
    return issubclass(type(value), str) or hasattr(type(value), "__fspath__")


def _rule_file(argument: str, given: object) -> tuple[str, str]:
    path = os.fspath(given) if _is_path(given) else given  # type: ignore[call-overload]
    if not issubclass(type(path), str):
        raise ConfigTypeError(f"{argument} is a path, not {shown(given)}")
    path = str.__str__(path)
    # Raised outside of the handlers: the errors caught there carry the path or what the file holds.
    reason, data = "", b""
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - pathlib takes as long to import as all of us
            data = file.read(_RULES_MAX + 1)
    except OSError as error:
        reason = error.strerror or "it cannot be read"
    except ValueError:
        reason = "this is no path"
    if len(data) > _RULES_MAX:
        reason = f"it is larger than {_RULES_MAX >> 20} MiB"
    text = data.decode("utf-8", "replace")
    if not reason and text.encode() != data:
        reason = "it is not UTF-8"
    if reason:
        raise ConfigError(f"{argument}: cannot read the rule file {_path_or_size(path)}: {reason}")
    # Rust's strings are UTF-8. A file that extends others is read by its name there.
    return (path if arguments.is_utf8(path) else shown_path(path)), text


def _path_or_size(path: str) -> str:
    # Where neither a file is nor the name looks like one, it may be anything.
    return shown_path(path) if path.lower().endswith(".toml") or os.path.lexists(path) else shown(path)


def _allow(allow: Allow | None) -> tuple[list[bytes], list[str], list[str], list[str], bool]:
    if allow is None:
        allow = Allow()
    if not issubclass(type(allow), Allow):
        raise ConfigTypeError(f"allow is an Allow, not {shown(allow)}")
    given = arguments.several("allow.values", allow.values, "str or bytes")
    values = [_value(f"allow.values[{at}]", value) for at, value in enumerate(given)]
    patterns, rules, keys = (
        arguments.strings(f"allow.{name}", getattr(allow, name)) for name in ("patterns", "rules", "keys")
    )
    if not isinstance(allow.inline, bool):
        raise ConfigTypeError(f"allow.inline is True or False, not {shown(allow.inline)}")
    return values, patterns, rules, keys, allow.inline


def _known_values(known: object) -> list[tuple[str, bytes]]:
    if issubclass(type(known), Mapping):
        pairs = list(known.items())  # type: ignore[attr-defined]
    else:
        pairs = [("KNOWN_VALUE", value) for value in arguments.several("known_values", known, "str or bytes")]
    values = []
    for at, (label, value) in enumerate(pairs):
        name = arguments.text(f"the label known_values[{at}]", label)
        if not _LABEL.fullmatch(name):
            raise ConfigError(
                f"the label known_values[{at}] is upper case letters, digits and _, up to 64, not {shown(name)}"
            )
        encoded = _value(f"known_values[{at}]", value)
        if reason := _unusable(encoded):
            raise ConfigError(f"known_values[{at}] {reason}: it would be found in ordinary text")
        values.append((name, encoded))
    return values


def _unusable(value: bytes) -> str | None:
    if len(value) < _KNOWN_VALUE_MIN:
        return f"has {_bytes(len(value))}, fewer than {_KNOWN_VALUE_MIN}"
    # Blank in characters, too: there are spaces beyond ASCII.
    return None if value.decode("utf-8", "replace").strip() else "is blank"


def _bytes(number: int) -> str:
    return f"{number} byte{'' if number == 1 else 's'}"


def _value(argument: str, value: object) -> bytes:
    if issubclass(type(value), str):
        return _encoded(str.__str__(value))
    if issubclass(type(value), bytes):
        return bytes(memoryview(value))  # type: ignore[arg-type]
    raise ConfigTypeError(f"{argument} is str or bytes, not {shown(value)}")


def _key(key: object) -> bytes:
    if key is None:
        return _PROCESS_KEY
    from hashlib import sha256

    return sha256(check_key("key", key)).digest()


def check_key(argument: str, key: object) -> bytes:
    """The bytes of a key that is long enough; `argument` is named in the `ConfigError`."""
    encoded = _value(argument, key)
    if len(encoded) < _KEY_MIN or not encoded.strip():
        reason = f"has {_bytes(len(encoded))}, fewer than {_KEY_MIN}" if len(encoded) < _KEY_MIN else "is blank"
        raise ConfigError(f"{argument} {reason}: it could be guessed")
    return encoded


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
