"""The one exception tree: catch `CtxprotoError` for all of it, or the builtin that fits.

A message says what was wrong, where, and the limit. Of a value that was given it tells the type and the length, never
the value: what stands in the wrong place may be a secret. Where a typing error is likely it names the nearest of the
accepted choices instead. Paths are named, but as the default policy leaves them. All of this holds for the exceptions
behind an exception, too.

Calls that do not fit a signature (an unknown keyword, a missing argument) are Python's own `TypeError`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "ArtifactError",
    "BudgetError",
    "ConfigError",
    "ConfigTypeError",
    "CtxprotoError",
    "InputError",
    "InputTypeError",
    "InternalError",
    "MemoryIdError",
    "MissingFieldError",
    "RoutingError",
    "RuleError",
    "SchemaVersionError",
    "StoreError",
    "StreamError",
    "TaskIdError",
    "VersionError",
]


class CtxprotoError(Exception):
    """Base of every error that ctxproto raises on purpose."""


class ConfigError(CtxprotoError, ValueError):
    """An argument or a setting has a value that is not allowed."""


class ConfigTypeError(ConfigError, TypeError):
    """An argument or a setting is of a type that is not allowed."""


class RuleError(ConfigError):
    """A rule, a pattern of an allowlist or a rule file cannot be compiled, or names a rule that does not exist."""


class BudgetError(CtxprotoError, ValueError):
    """What must be kept takes more tokens than are allowed. The message names both numbers.

    Attributes:
        needed: The tokens that are needed at least, where they are known.
    """

    def __init__(self, message: str, needed: int | None = None) -> None:
        """Takes what to say."""
        super().__init__(message)
        self.needed = needed


class RoutingError(CtxprotoError, LookupError):
    """A tool call has no result. The message names the calls."""


class MemoryIdError(CtxprotoError, LookupError):
    """There is no memory of an id in the namespaces that were named, or another one has taken its place."""


class StoreError(CtxprotoError, OSError):
    """A store cannot be used: its file is damaged or no store at all, the disk is full, others keep writing to it."""


class ArtifactError(CtxprotoError, OSError):
    """An artifact cannot be read or written: it is not there, it is damaged, or its store fails.

    Attributes:
        artifact_id: The id in the envelope that refers to it, where it was read for one.
        absent: Whether it is not there, and nothing failed.
    """

    artifact_id: str | None = None
    absent: bool = False


class MissingFieldError(CtxprotoError, LookupError):
    """Fields that a step declares are in no artifact of the task.

    Attributes:
        missing: Their names.
    """

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        """Takes what to say."""
        super().__init__(message)
        self.missing = missing


class SchemaVersionError(CtxprotoError, ValueError):
    """A task's state is of a version that its reader does not know.

    Attributes:
        found: The version it is of.
    """

    def __init__(self, message: str, found: int | None = None) -> None:
        """Takes what to say."""
        super().__init__(message)
        self.found = found


class TaskIdError(CtxprotoError, LookupError):
    """There is no state of a task of this id."""


class InputError(CtxprotoError, ValueError):
    """A value cannot be worked on: it is nested too deep or refers to itself."""


class InputTypeError(CtxprotoError, TypeError):
    """A value is of a type that cannot be worked on: the text, a part of it, or the file around it."""


class StreamError(CtxprotoError, ValueError):
    """A stream is finished, or in use by another thread."""


class InternalError(CtxprotoError, RuntimeError):
    """A bug in ctxproto. The message names the place in its source."""


class VersionError(CtxprotoError, ImportError):
    """The native core is of another version than the Python package."""


def shown(value: object) -> str:
    """What a message may say of a value: its type, and its length where it has one."""
    kind = type(value)
    unit = "character" if issubclass(kind, str) else "byte" if issubclass(kind, bytes) else ""
    if not unit:
        return "None" if value is None else f"{_article(kind.__name__)} {kind.__name__}"
    # The length itself: a subclass may have another idea of it, or fail.
    length = str.__len__(value) if isinstance(value, str) else bytes.__len__(value)  # type: ignore[arg-type]
    return f"a {kind.__name__} of {length:,} {unit}{'' if length == 1 else 's'}"


def _article(word: str) -> str:
    return "an" if word[:1].lower() in set("aeio") else "a"


def nearest(value: object, choices: Iterable[str]) -> str:
    """`; did you mean ...?` when `value` is probably a mistyped one of `choices`, else nothing."""
    if not issubclass(type(value), str) or len(text := str.__str__(value)) > _TYPED_MAX:
        return ""
    import difflib

    folded = {choice.lower(): choice for choice in choices}
    near = difflib.get_close_matches(text.lower(), folded, n=1, cutoff=0.7)
    return f"; did you mean {folded[near[0]]}?" if near else ""


# Nobody types a longer name by hand.
_TYPED_MAX = 64
