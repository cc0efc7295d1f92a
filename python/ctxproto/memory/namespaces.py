r"""Namespaces: tuples of components, compared whole, with the seed's string form as a view.

Between components stands a colon. In a component, a colon, a backslash and an asterisk are written with a backslash
before them, so that no id can forge a border: `user_42:session_abc` is two components, `user_42\:session_abc` one.
"""

from __future__ import annotations

import unicodedata
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from ctxproto import arguments
from ctxproto.errors import ConfigError, ConfigTypeError, shown

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Self

__all__ = ["MAX_BYTES", "MAX_COMPONENTS", "AnyNamespace", "AnyScope", "Namespace", "Scope"]

MAX_COMPONENTS = 16
"""Components that a namespace may have."""

MAX_BYTES = 512
"""Bytes of UTF-8 that a component may have: an id, not a text."""

AnyNamespace: TypeAlias = "str | Iterable[str] | Namespace"
"""What is taken for one namespace."""

_ESCAPED = str.maketrans({"\\": "\\\\", ":": "\\:", "*": "\\*"})


class Namespace(tuple[str, ...]):
    r"""Whose a memory is: `("user_42", "session_abc", "task_1")`, printed as `user_42:session_abc:task_1`.

    Equal when all components are, character by character: "é" as one character is not "é" as two, "A" not "a". Nothing
    in a component has a meaning: `..`, `%`, `_`, `[` are what they are.

    Args:
        components: The components, or their string form. Each is a str of 1 to `MAX_BYTES` bytes of UTF-8 without
            control characters; there are 1 to `MAX_COMPONENTS` of them.

    Raises:
        ConfigError: It is no such thing. The message names the component by its place.

    >>> one = Namespace("user_42:session_abc")
    >>> one, one == ("user_42", "session_abc"), str(one)
    (Namespace('user_42:session_abc'), True, 'user_42:session_abc')
    >>> str(Namespace(("a:b", "*")))
    'a\\:b:\\*'
    """

    __slots__ = ()

    def __new__(cls, components: AnyNamespace) -> Self:
        """Checks the components."""
        return cls.checked("namespace", components)

    @classmethod
    def checked(cls, argument: str, components: object) -> Self:
        """As the constructor; `argument` is what errors call it."""
        if type(components) is cls:
            return components
        if issubclass(type(components), str):
            found = _split(argument, str.__str__(components))
            if found[-1] in {"", None}:
                raise ConfigError(f"{argument} is one namespace here: it may not end with a colon or an asterisk")
            parts: list[object] = list(found)
        else:
            parts = arguments.several(argument, components, "str")
        if not 1 <= len(parts) <= MAX_COMPONENTS:
            raise ConfigError(f"{argument} has 1 to {MAX_COMPONENTS} components, not {len(parts)}")
        return super().__new__(cls, [component(f"{argument}[{at}]", part) for at, part in enumerate(parts)])

    def covers(self, other: Namespace) -> bool:
        """Whether `other` is this namespace or one below it.

        >>> Namespace("a").covers(Namespace("a:b")), Namespace("a").covers(Namespace("ab"))
        (True, False)
        """
        return tuple(other[: len(self)]) == tuple(self)

    @property
    def prefix(self) -> str:
        """The string form of this namespace and all below it, as `MemoryContextGate.get_namespace_prefix` gives it."""
        return f"{self}:"

    @property
    def key(self) -> bytes:
        """Bytes in the order of the components: the keys of what it covers begin with it, no other key does."""
        # No component holds a NUL, so that one ends it: `a` and `ab` differ before either ends.
        return b"".join(part.encode() + b"\0" for part in self)

    @classmethod
    def from_key(cls, key: bytes) -> Self:
        """The namespace of a `key`."""
        return cls.checked("key", key.decode().split("\0")[:-1])

    def __str__(self) -> str:
        return _written(self)

    def __repr__(self) -> str:
        return f"Namespace({str(self)!r})"


class Scope(NamedTuple):
    """What a read may see: one namespace, or that and all below it.

    Args:
        namespace: The namespace; None for everything there is.
        below: Whether what is below it is in, too.
    """

    namespace: Namespace | None
    below: bool = False

    @classmethod
    def of(cls, scope: AnyScope, argument: str = "namespace") -> Scope:
        """The scope that a string form or a namespace stands for.

        `user_42:` and `user_42:*` are a namespace with all below it, `user_42` that alone, `*` everything. Nothing, as
        in an empty str, is nobody's: a `ConfigError`.

        >>> Scope.of("user_42:")
        Scope(namespace=Namespace('user_42'), below=True)
        """
        if type(scope) is Scope:
            return scope
        if not issubclass(type(scope), str):
            return cls(Namespace.checked(argument, scope))
        text = str.__str__(scope)
        # Those of one conversation are named with every call.
        return (_scope if len(text) <= _SHORT else _scope.__wrapped__)(text, argument)

    def holds(self, namespace: Namespace) -> bool:
        """Whether it is in."""
        if self.namespace is None:
            return True
        return self.namespace.covers(namespace) if self.below else tuple(self.namespace) == tuple(namespace)

    @property
    def key(self) -> bytes:
        """The key of the namespace; empty for everything."""
        return b"" if self.namespace is None else self.namespace.key

    def __str__(self) -> str:
        return "*" if self.namespace is None else self.namespace.prefix if self.below else str(self.namespace)


@lru_cache(maxsize=4096)
def _scope(text: str, argument: str) -> Scope:
    parts = _split(argument, text)
    if parts == [None]:
        return Scope(None, below=True)
    below = parts[-1] in {"", None} and len(parts) > 1
    return Scope(Namespace.checked(argument, parts[:-1] if below else parts), below)


@lru_cache(maxsize=4096)
def _written(parts: tuple[str, ...]) -> str:
    # Most memories of one read are of the same few.
    return ":".join(part.translate(_ESCAPED) for part in parts)


AnyScope: TypeAlias = "str | Iterable[str] | Namespace | Scope"
"""What is taken for a scope."""


def component(argument: str, value: object) -> str:
    """One component, checked; `argument` is named in the error."""
    text = arguments.text(argument, value)
    if not text:
        raise ConfigError(f"{argument} is empty: nobody's memories have no namespace")
    if not arguments.is_utf8(text):
        raise ConfigError(f"{argument} is a str without lone surrogates, not this one of {shown(text)[6:]}")
    # Length first: what follows reads every character.
    if len(text) > MAX_BYTES or len(text.encode()) > MAX_BYTES:
        raise ConfigError(f"{argument} has at most {MAX_BYTES} bytes of UTF-8, not those of {shown(text)}")
    if any(unicodedata.category(character) == "Cc" for character in text):
        raise ConfigError(f"{argument} has no control characters, unlike this one of {shown(text)[6:]}")
    return text


def _split(argument: str, text: str) -> list[str | None]:
    """The components of a string form; None for the asterisk that stands alone at its end."""
    if len(text) > MAX_COMPONENTS * (2 * MAX_BYTES + 1):
        raise ConfigError(f"{argument} is longer than any namespace: {shown(text)}")
    parts: list[str | None] = []
    part: list[str] = []
    characters = iter(text)
    star = False
    for character in characters:
        if star:
            raise ConfigError(f"{argument} has an asterisk that is not its end: write \\* for one in an id")
        if character == "\\":
            escaped = next(characters, "")
            if not escaped or escaped not in "\\:*":
                raise ConfigError(f"{argument} has a backslash that escapes nothing: write \\\\ for one in an id")
            part.append(escaped)
        elif character == ":":
            parts.append("".join(part))
            part = []
        elif character == "*":
            star = True
            if part:
                raise ConfigError(f"{argument} has an asterisk in a component: write \\* for one in an id")
        else:
            part.append(character)
    return [*parts, None if star else "".join(part)]


def namespace_of(value: object) -> Namespace | None:
    """The namespace that a backend gave with a memory; None when it is none."""
    if not issubclass(type(value), str | tuple | list):
        return None
    # Those of one conversation are read again with every call.
    return _read(value) if type(value) is str and len(value) <= _SHORT else _read.__wrapped__(value)


_SHORT = 500


@lru_cache(maxsize=4096)
def _read(value: str) -> Namespace | None:
    try:
        return Namespace.checked("namespace", value)
    except (ConfigError, ConfigTypeError):
        return None
