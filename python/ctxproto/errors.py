"""The one exception tree: catch `CtxprotoError` for all of it, or the builtin that fits.

A message says what was wrong, where, and the limit. It never quotes text that was being redacted.
"""

__all__ = [
    "ConfigError",
    "CtxprotoError",
    "InputError",
    "InputTypeError",
    "InternalError",
    "RuleError",
    "StreamError",
    "VersionError",
]


class CtxprotoError(Exception):
    """Base of every error that ctxproto raises on purpose."""


class ConfigError(CtxprotoError, ValueError):
    """An argument or a setting has a value that is not allowed."""


class RuleError(ConfigError):
    """A rule, an allowlist or a rule file cannot be compiled."""


class InputError(CtxprotoError, ValueError):
    """A value cannot be worked on: it is nested too deep or refers to itself."""


class InputTypeError(CtxprotoError, TypeError):
    """A value is of a type that cannot be worked on."""


class StreamError(CtxprotoError, ValueError):
    """A stream is finished, or in use by another thread."""


class InternalError(CtxprotoError, RuntimeError):
    """A bug in ctxproto. The message names the place in its source."""


class VersionError(CtxprotoError, ImportError):
    """The native core is of another version than the Python package."""
