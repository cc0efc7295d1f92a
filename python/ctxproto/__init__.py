"""Redact secrets and personal data from everything an LLM agent sees.

>>> import ctxproto
>>> ctxproto.redact("nothing to hide here").changed
False
"""

from ctxproto import _core
from ctxproto.errors import (
    ConfigError,
    ConfigTypeError,
    CtxprotoError,
    InputError,
    InputTypeError,
    InternalError,
    RuleError,
    StreamError,
    VersionError,
)

__version__ = "0.1.0"

if _core.__version__ != __version__:
    raise VersionError(
        f"ctxproto {__version__} cannot use the native core {_core.__version__} at {_core.__file__}: reinstall ctxproto"
    )

from ctxproto._core import Finding, Redaction, Rule, Stream, Vault, build_info
from ctxproto.tools.redact import Allow, Redactor, known_values_from_env, redact, scan

__all__ = [
    "Allow",
    "ConfigError",
    "ConfigTypeError",
    "CtxprotoError",
    "Finding",
    "InputError",
    "InputTypeError",
    "InternalError",
    "Redaction",
    "Redactor",
    "Rule",
    "RuleError",
    "Stream",
    "StreamError",
    "Vault",
    "VersionError",
    "__version__",
    "build_info",
    "known_values_from_env",
    "redact",
    "scan",
]
