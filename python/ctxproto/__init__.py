"""Redact secrets and personal data from everything an LLM agent sees.

>>> import ctxproto
>>> ctxproto.redact("nothing to hide here").changed
False
"""

import importlib
import typing

from ctxproto import _core
from ctxproto.errors import (
    ArtifactError,
    BudgetError,
    ConfigError,
    ConfigTypeError,
    CtxprotoError,
    InputError,
    InputTypeError,
    InternalError,
    MemoryIdError,
    MissingFieldError,
    RoutingError,
    RuleError,
    SchemaVersionError,
    StoreError,
    StreamError,
    TaskIdError,
    VersionError,
)

__version__ = "0.1.0"

if _core.__version__ != __version__:
    raise VersionError(
        f"ctxproto {__version__} cannot use the native core {_core.__version__} at {_core.__file__}: reinstall ctxproto"
    )

from ctxproto._core import Finding, Redaction, Rule, Stream, Vault, build_info
from ctxproto.tools.redact import Allow, Redactor, known_values_from_env, redact, scan

if typing.TYPE_CHECKING:
    from ctxproto.assembly import PreparedContext
    from ctxproto.async_protocol import AsyncContextProtocol
    from ctxproto.audit.log import AuditLog
    from ctxproto.audit.records import AuditContext, AuditRecord, AuditSink
    from ctxproto.audit.verify import AuditProblem, AuditVerdict, verify_audit_log
    from ctxproto.budget import BudgetChange, BudgetReport, TokenBudget
    from ctxproto.debug import ContextDebugKit, Leak
    from ctxproto.memory.embedders import (
        Embedder,
        HashEmbedder,
        Model2VecEmbedder,
        OpenAIEmbedder,
        SentenceTransformerEmbedder,
    )
    from ctxproto.memory.gate import MemoryContextGate, MemoryEntry, MemoryQueryResult, WriteVerdict
    from ctxproto.memory.namespaces import Namespace, Scope
    from ctxproto.memory.postgres import PostgresMemoryStore
    from ctxproto.memory.records import MemoryHit, MemoryRecord
    from ctxproto.memory.store import MemoryStore
    from ctxproto.messages.convert import PairingProblem, Repaired, convert, pairing_problems, repair_pairing
    from ctxproto.messages.message import Message
    from ctxproto.protocol import ContextProtocol
    from ctxproto.tasks.files import FileArtifactStore, FsspecArtifactStore
    from ctxproto.tasks.policy import ContextPolicy, ToolRule
    from ctxproto.tasks.state import ArtifactRef, DeclaredFields, TaskStateEnvelope
    from ctxproto.tasks.stores import ArtifactStore, ArtifactUri, InMemoryArtifactStore
    from ctxproto.telemetry import OpenTelemetrySink
    from ctxproto.tokens import MessageCount, SdkObject, Tokenizer
    from ctxproto.tools.calls import ToolCallRequest
    from ctxproto.tools.envelope import ToolResultEnvelope
    from ctxproto.tools.routing import Delivery, ToolCallRouter
    from ctxproto.tools.trim import Loss, Replaced, Trimmed, Trimmer, trim


__all__ = [
    "Allow",
    "ArtifactError",
    "ArtifactRef",
    "ArtifactStore",
    "ArtifactUri",
    "AsyncContextProtocol",
    "AuditContext",
    "AuditLog",
    "AuditProblem",
    "AuditRecord",
    "AuditSink",
    "AuditVerdict",
    "BudgetChange",
    "BudgetError",
    "BudgetReport",
    "ConfigError",
    "ConfigTypeError",
    "ContextDebugKit",
    "ContextPolicy",
    "ContextProtocol",
    "CtxprotoError",
    "DeclaredFields",
    "Delivery",
    "Embedder",
    "FileArtifactStore",
    "Finding",
    "FsspecArtifactStore",
    "HashEmbedder",
    "InMemoryArtifactStore",
    "InputError",
    "InputTypeError",
    "InternalError",
    "Leak",
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
    "MissingFieldError",
    "Model2VecEmbedder",
    "Namespace",
    "OpenAIEmbedder",
    "OpenTelemetrySink",
    "PairingProblem",
    "PostgresMemoryStore",
    "PreparedContext",
    "Redaction",
    "Redactor",
    "Repaired",
    "Replaced",
    "RoutingError",
    "Rule",
    "RuleError",
    "SchemaVersionError",
    "Scope",
    "SdkObject",
    "SentenceTransformerEmbedder",
    "StoreError",
    "Stream",
    "StreamError",
    "TaskIdError",
    "TaskStateEnvelope",
    "TokenBudget",
    "Tokenizer",
    "ToolCallRequest",
    "ToolCallRouter",
    "ToolResultEnvelope",
    "ToolRule",
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
    "verify_audit_log",
]

# Where names come from that are loaded when they are asked for (PEP 562): who redacts a pipe needs no memory.
_LATER = {
    "ctxproto.assembly": ("PreparedContext",),
    "ctxproto.async_protocol": ("AsyncContextProtocol",),
    "ctxproto.audit.log": ("AuditLog",),
    "ctxproto.audit.verify": ("AuditProblem", "AuditVerdict", "verify_audit_log"),
    "ctxproto.audit.records": ("AuditContext", "AuditRecord", "AuditSink"),
    "ctxproto.budget": ("BudgetChange", "BudgetReport", "TokenBudget"),
    "ctxproto.debug": ("ContextDebugKit", "Leak"),
    "ctxproto.memory.embedders": (
        "Embedder",
        "HashEmbedder",
        "Model2VecEmbedder",
        "OpenAIEmbedder",
        "SentenceTransformerEmbedder",
    ),
    "ctxproto.memory.gate": ("MemoryContextGate", "MemoryEntry", "MemoryQueryResult", "WriteVerdict"),
    "ctxproto.memory.namespaces": ("Namespace", "Scope"),
    "ctxproto.memory.postgres": ("PostgresMemoryStore",),
    "ctxproto.memory.records": ("MemoryHit", "MemoryRecord"),
    "ctxproto.memory.store": ("MemoryStore",),
    "ctxproto.messages.convert": ("PairingProblem", "Repaired", "convert", "pairing_problems", "repair_pairing"),
    "ctxproto.messages.message": ("Message",),
    "ctxproto.protocol": ("ContextProtocol",),
    "ctxproto.tasks.files": ("FileArtifactStore", "FsspecArtifactStore"),
    "ctxproto.tasks.policy": ("ContextPolicy", "ToolRule"),
    "ctxproto.tasks.state": ("ArtifactRef", "DeclaredFields", "TaskStateEnvelope"),
    "ctxproto.tasks.stores": ("ArtifactStore", "ArtifactUri", "InMemoryArtifactStore"),
    "ctxproto.telemetry": ("OpenTelemetrySink",),
    "ctxproto.tokens": ("MessageCount", "SdkObject", "Tokenizer"),
    "ctxproto.tools.calls": ("ToolCallRequest",),
    "ctxproto.tools.envelope": ("ToolResultEnvelope",),
    "ctxproto.tools.routing": ("Delivery", "ToolCallRouter"),
    "ctxproto.tools.trim": ("Loss", "Replaced", "Trimmed", "Trimmer", "trim"),
}
_PLACES = {name: module for module, names in _LATER.items() for name in names}


if not typing.TYPE_CHECKING:  # a checker sees the imports above, and no others

    def __getattr__(name: str) -> object:
        if (module := _PLACES.get(name)) is None:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value: object = getattr(importlib.import_module(module), name)
        globals()[name] = value
        return value

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
