"""Redact secrets and personal data from everything an LLM agent sees.

>>> import ctxproto
>>> ctxproto.redact("nothing to hide here").changed
False
"""

from ctxproto import _core
from ctxproto.errors import (
    BudgetError,
    ConfigError,
    ConfigTypeError,
    CtxprotoError,
    InputError,
    InputTypeError,
    InternalError,
    MemoryIdError,
    RoutingError,
    RuleError,
    StoreError,
    StreamError,
    VersionError,
)

__version__ = "0.1.0"

if _core.__version__ != __version__:
    raise VersionError(
        f"ctxproto {__version__} cannot use the native core {_core.__version__} at {_core.__file__}: reinstall ctxproto"
    )

from ctxproto._core import Finding, Redaction, Rule, Stream, Vault, build_info
from ctxproto.budget import BudgetChange, BudgetReport, TokenBudget
from ctxproto.memory.gate import MemoryContextGate, MemoryEntry, MemoryQueryResult, WriteVerdict
from ctxproto.memory.namespaces import Namespace, Scope
from ctxproto.memory.store import MemoryHit, MemoryRecord, MemoryStore
from ctxproto.messages.convert import PairingProblem, Repaired, convert, pairing_problems, repair_pairing
from ctxproto.messages.message import Message
from ctxproto.tokens import MessageCount, SdkObject, Tokenizer
from ctxproto.tools.calls import ToolCallRequest
from ctxproto.tools.envelope import ToolResultEnvelope
from ctxproto.tools.redact import Allow, Redactor, known_values_from_env, redact, scan
from ctxproto.tools.routing import Delivery, ToolCallRouter
from ctxproto.tools.trim import Loss, Replaced, Trimmed, Trimmer, trim

__all__ = [
    "Allow",
    "BudgetChange",
    "BudgetError",
    "BudgetReport",
    "ConfigError",
    "ConfigTypeError",
    "CtxprotoError",
    "Delivery",
    "Finding",
    "InputError",
    "InputTypeError",
    "InternalError",
    "Loss",
    "MemoryContextGate",
    "MemoryEntry",
    "MemoryHit",
    "MemoryIdError",
    "MemoryQueryResult",
    "MemoryRecord",
    "MemoryStore",
    "Message",
    "MessageCount",
    "Namespace",
    "PairingProblem",
    "Redaction",
    "Redactor",
    "Repaired",
    "Replaced",
    "RoutingError",
    "Rule",
    "RuleError",
    "Scope",
    "SdkObject",
    "StoreError",
    "Stream",
    "StreamError",
    "TokenBudget",
    "Tokenizer",
    "ToolCallRequest",
    "ToolCallRouter",
    "ToolResultEnvelope",
    "Trimmed",
    "Trimmer",
    "Vault",
    "VersionError",
    "WriteVerdict",
    "__version__",
    "build_info",
    "convert",
    "known_values_from_env",
    "pairing_problems",
    "redact",
    "repair_pairing",
    "scan",
    "trim",
]
