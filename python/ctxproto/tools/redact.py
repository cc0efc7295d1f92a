"""The redactor: validated settings in front of the native one."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, NoReturn, TypeAlias, TypeVar, overload

from ctxproto import _core
from ctxproto._core import Vault
from ctxproto.errors import ConfigError
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
_LABEL = re.compile(r"[A-Z][A-Z0-9_]{0,63}")
_SECRET_NAME = re.compile(r"(?i)(?:^|_)(?:key|token|secret|pass(?:word|wd|phrase)?|pwd|credentials?|auth|dsn)(?:_|$)")

# Not a setting: fingerprints of one process are comparable, those of two are not unless a key is given.
_PROCESS_KEY = os.urandom(32)


class Allow(NamedTuple):
    """What is declared harmless.

    Args:
        values: Exact values.
        patterns: Regular expressions that a value must match from end to end.
        rules: Rule ids or labels that are switched off.
        keys: Names whose values are never findings, in any case.
        inline: Honour `ctxproto:allow` comments in the text itself. Whoever writes the text can then hide anything.
    """

    values: Sequence[str | bytes] = ()
    patterns: Sequence[str] = ()
    rules: Sequence[str] = ()
    keys: Sequence[str] = ()
    inline: bool = False

    def __repr__(self) -> str:
        # Allowed values are harmless only where they were declared.
        return (
            f"Allow({len(self.values)} values, {len(self.patterns)} patterns, rules={self.rules!r}, keys={self.keys!r})"
        )


class Redactor(_core.Redactor):
    """A policy, compiled once and shared by threads; it never changes.

    Building one takes some 10 ms; keep it. All settings are checked here, and a `ConfigError` names the argument and
    what it may be.

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

    >>> redactor = Redactor(pii="none", known_values={"DB_PASSWORD": "correct horse"}, placeholder="vault")
    >>> result = redactor.redact("login with correct horse")
    >>> "horse" in result.text, redactor.vault.restore(result.text)
    (False, 'login with correct horse')
    """

    __slots__ = ()

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
        builtin, profile_pii = _PROFILES[_one_of("profile", profile, _PROFILES)]
        vault = Vault() if placeholder == "vault" else placeholder if isinstance(placeholder, Vault) else None
        return super().__new__(
            cls,
            builtin=builtin,
            rule_files=_rule_files(rules),
            pii=profile_pii if pii is None else _pii(pii),
            allow=_allow(allow),
            known_values=_known_values(known_values),
            placeholder=_one_of("placeholder", "vault" if vault else placeholder, _PLACEHOLDERS),
            vault=vault,
            key=_key(key),
        )

    def redact_iter(self, pieces: Iterable[AnyText], *, format: Format = "auto") -> Iterator[AnyText]:
        """Redacts an iterable of pieces, such as an open file, one after the other.

        The pieces that come out, joined, are the redaction of the pieces that went in, joined.
        """
        stream = self.stream(format=format)
        for piece in pieces:
            if out := stream.feed(piece):
                yield out
        if out := stream.finish():
            yield out

    async def redact_aiter(self, pieces: AsyncIterable[AnyText], *, format: Format = "auto") -> AsyncIterator[AnyText]:
        """Redacts an asynchronous iterable of pieces, such as the body of a response; see `redact_iter`."""
        stream = self.stream(format=format)
        async for piece in pieces:
            if out := stream.feed(piece):
                yield out
        if out := stream.finish():
            yield out

    @overload
    def reader(self, file: Readable[str], *, format: Format = "auto") -> io.TextIOWrapper: ...
    @overload
    def reader(self, file: Readable[bytes], *, format: Format = "auto") -> io.BufferedIOBase: ...
    def reader(self, file: Any, *, format: Format = "auto") -> Any:
        """Wraps a readable file: what is read from the wrapper is redacted.

        A text file gives a text file, a binary one a binary one. Closing the wrapper leaves the file open.
        """
        return files.reader(file, self.stream(format=format))

    def writer(self, file: Writable, *, format: Format = "auto") -> files.Writer:
        """Wraps a writable file, text or binary: what is written to the wrapper arrives redacted.

        The end of the text is held back until the wrapper is closed, which leaves the file open: use it in a `with`.
        """
        return files.Writer(file, self.stream(format=format))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, _memo: object) -> Self:
        return self

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Redactor cannot be pickled, it may hold known values: build one in each process")

    def __repr__(self) -> str:
        return f"<Redactor: {len(self.rules)} rules>"


@cache
def _default() -> Redactor:
    return Redactor()


@overload
def redact(text: str, *, format: Format = "auto") -> Redaction[str]: ...
@overload
def redact(text: Buffer, *, format: Format = "auto") -> Redaction[bytes]: ...
def redact(text: Any, *, format: Format = "auto") -> Redaction[Any]:
    """Redacts one text under the default policy; see `Redactor.redact`.

    >>> redact("nothing to hide").text
    'nothing to hide'
    """
    return _default().redact(text, format=format)


def scan(text: str | Buffer, *, format: Format = "auto") -> tuple[Finding, ...]:
    """Finds what `redact` would replace, under the default policy; see `Redactor.scan`.

    >>> scan("nothing to hide")
    ()
    """
    return _default().scan(text, format=format)


def known_values_from_env(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The values of environment variables whose names say that they are secret, for `known_values`.

    Names are matched by their words (KEY, TOKEN, SECRET, PASSWORD, ...); the label of a value is its variable's name.
    Values shorter than 6 bytes are left out.

    >>> known_values_from_env({"DEPLOY_TOKEN": "correct horse", "HOME": "/root", "API_KEY": "none"})
    {'DEPLOY_TOKEN': 'correct horse'}
    """
    environ = os.environ if environ is None else environ
    return {
        name.upper(): value
        for name, value in environ.items()
        if _SECRET_NAME.search(name) and _LABEL.fullmatch(name.upper()) and len(_encoded(value)) >= _KNOWN_VALUE_MIN
    }


def _one_of(argument: str, value: object, allowed: Iterable[str]) -> str:
    allowed = tuple(allowed)
    if isinstance(value, str) and value in allowed:
        return value
    raise ConfigError(f"{argument} is one of {', '.join(allowed)}, not {_shown(value)}")


def _shown(value: object) -> str:
    # A secret given for the wrong argument must not end in a log.
    if isinstance(value, str) and re.fullmatch(r"[a-z_-]{0,20}", value):
        return repr(value)
    return f"this {type(value).__name__}"


def _strings(argument: str, values: object) -> list[str]:
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        found = list(values)
        if all(isinstance(value, str) for value in found):
            return found
    raise ConfigError(f"{argument} is a list of str")


def _pii(pii: object) -> str | list[str]:
    if isinstance(pii, str):
        return _one_of("pii", pii, _PII_SETS)
    return _strings("pii", pii)


def _rule_files(rules: object) -> list[tuple[str, str]]:
    if isinstance(rules, str | os.PathLike):
        rules = [rules]
    if not isinstance(rules, Iterable) or isinstance(rules, bytes):
        raise ConfigError("rules is a path or a list of paths of rule files")
    files = []
    for path in rules:
        if not isinstance(path, str | os.PathLike):
            raise ConfigError(f"rules holds paths, not {_shown(path)}")
        try:
            with open(path, encoding="utf-8") as file:  # noqa: PTH123 - pathlib takes as long to import as all of us
                files.append((os.fspath(path), file.read()))
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
            raise ConfigError(f"cannot read the rule file {os.fspath(path)}: {reason}") from None
    return files


def _allow(allow: Allow | None) -> tuple[list[bytes], list[str], list[str], list[str], bool]:
    if allow is None:
        allow = Allow()
    if not isinstance(allow, Allow):
        raise ConfigError(f"allow is an Allow, not {_shown(allow)}")
    values = [_value("allow.values", value) for value in _several("allow.values", allow.values)]
    patterns, rules, keys = (_strings(f"allow.{name}", getattr(allow, name)) for name in ("patterns", "rules", "keys"))
    return values, patterns, rules, keys, bool(allow.inline)


def _known_values(known: object) -> list[tuple[str, bytes]]:
    if isinstance(known, Mapping):
        pairs = list(known.items())
    else:
        pairs = [("KNOWN_VALUE", value) for value in _several("known_values", known)]
    values = []
    for label, value in pairs:
        if not isinstance(label, str) or not _LABEL.fullmatch(label):
            raise ConfigError(
                f"a label in known_values is upper case letters, digits and _, up to 64, not {_shown(label)}"
            )
        encoded = _value("known_values", value)
        if len(encoded) < _KNOWN_VALUE_MIN:
            raise ConfigError(
                f"a value in known_values ({label}) has {len(encoded)} bytes, fewer than {_KNOWN_VALUE_MIN}: "
                "it would be found in ordinary text"
            )
        values.append((label, encoded))
    return values


def _several(argument: str, values: object) -> list[object]:
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return list(values)
    raise ConfigError(f"{argument} is a list of str or bytes, not one {type(values).__name__}")


def _value(argument: str, value: object) -> bytes:
    if isinstance(value, str):
        return _encoded(value)
    if isinstance(value, bytes):
        return value
    raise ConfigError(f"{argument} holds str or bytes, not {type(value).__name__}")


def _key(key: object) -> bytes:
    if key is None:
        return _PROCESS_KEY
    encoded = _value("key", key)
    if len(encoded) < _KEY_MIN:
        raise ConfigError(f"key has {len(encoded)} bytes, fewer than {_KEY_MIN}: it could be guessed")
    from hashlib import sha256

    return sha256(encoded).digest()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")
