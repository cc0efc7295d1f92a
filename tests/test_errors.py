"""What errors are and say: one tree, the fitting builtin, the parameter's name, and nothing of a value."""

from __future__ import annotations

import asyncio
import io
import random
import string
import tempfile
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import ctxproto
import pytest
from ctxproto import (
    Allow,
    ContextPolicy,
    ContextProtocol,
    CtxprotoError,
    Finding,
    Redactor,
    TokenBudget,
    Tokenizer,
    ToolCallRequest,
    ToolCallRouter,
    ToolResultEnvelope,
    Trimmer,
    Vault,
    convert,
    known_values_from_env,
)
from strategies import random_token

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

REDACTOR = Redactor()
GATE = ctxproto.MemoryContextGate()
STORE = ctxproto.MemoryStore(":memory:")
ARTIFACTS = ctxproto.InMemoryArtifactStore()
PROTOCOL = ContextProtocol(memory_backend=ctxproto.MemoryStore(":memory:"), artifact_store=ARTIFACTS)
RESULT = PROTOCOL.handle_tool_result("c", "raw")
TASK = ctxproto.TaskStateEnvelope("task", artifact_store=ARTIFACTS)
PROTOCOL.register_task(TASK)
HASHING = ctxproto.HashEmbedder(8)
EMBEDDED = ctxproto.MemoryStore(":memory:", embedder=HASHING)
FOUND = ctxproto.MemoryStore(":memory:")
FOUND.save("a", "tea")
ANYTHING: Any = object()


def LOG(**options: Any) -> None:  # noqa: N802 - it stands where a class does
    with tempfile.TemporaryDirectory() as directory:
        ctxproto.AuditLog(Path(directory) / "audit.jsonl", **options).close()


class HostileStr(str):
    """A str that fails or lies whenever it is asked."""

    __slots__ = ()

    def refuse(self, *_: object) -> Any:
        raise AssertionError("the text itself is what counts")

    __str__ = __repr__ = __eq__ = __len__ = __iter__ = __getitem__ = __contains__ = __format__ = refuse
    encode = isascii = upper = lower = casefold = strip = startswith = refuse  # type: ignore[assignment]
    __hash__ = str.__hash__


class Liar:
    """Says it is a str."""

    @property
    def __class__(self) -> Any:
        return str

    @__class__.setter
    def __class__(self, _: object) -> None: ...


class Closed:
    """Neither shown nor compared."""

    def refuse(self, *_: object) -> Any:
        raise AssertionError("nobody asked")

    __str__ = __repr__ = __eq__ = __bool__ = __len__ = refuse
    __hash__ = None  # type: ignore[assignment]


def strange() -> list[Any]:
    """Values that no parameter expects, or that few do."""
    return [
        None,
        True,
        0,
        -1,
        10**400,
        1.5,
        float("nan"),
        Decimal("1.5"),
        "",
        " ",
        "x",
        "\ud800",
        "\udcff.toml",
        "a\0b",
        "huge" * 300_000,
        HostileStr("hostile text"),
        HostileStr("\ud800"),
        b"",
        b"\xff\0",
        bytearray(b"bytes"),
        memoryview(b"abcd").cast("I"),
        [],
        [None],
        [1],
        ["\ud800"],
        ["x", b"y", 3],
        [HostileStr("hostile text")],
        [["nested"]],
        (),
        {},
        {1: 2},
        {"\ud800": "x"},
        {"LABEL": None},
        {"LABEL": "\ud800"},
        {HostileStr("API_TOKEN"): HostileStr("hostile value")},
        {"set"},
        object(),
        Liar(),
        Closed(),
        print,
        int,
        ...,
        Vault(),
        Allow(),
        Path("no such path"),
        io.StringIO("text"),
        io.BytesIO(b"data"),
        REDACTOR,
    ]


async def _all(pieces: Any) -> list[Any]:
    return [piece async for piece in pieces]


class _File:
    """Reads what is put in."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def read(self, _size: int) -> Any:
        given, self.given = self.given, ""
        return given


def names_nothing(path: Any) -> bool:
    """Whether no store can be made there: of what names a file, none may be left behind."""
    if not issubclass(type(path), str):
        return not isinstance(path, Path)
    text = str.__str__(path)
    return not text or any(one in text for one in "\0\ud800\udcff")


def quiet(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Nothing is there, and that is no wonder."""
    try:
        call(*args, **options)
    except (ctxproto.MemoryIdError, ctxproto.ArtifactError, ctxproto.TaskIdError):
        return


def fitting(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """What is too long for its budget is no wrong argument."""
    try:
        call(*args, **options)
    except ctxproto.BudgetError:
        return


def fits(call: Callable[..., Any], *args: Any, **options: Any) -> None:
    """Versions that are none of the task's are no mistake of the caller."""
    try:
        call(*args, **options)
    except ctxproto.SchemaVersionError:
        return


def no_directory(path: Any) -> bool:
    """Whether nothing is made at such a place."""
    return names_nothing(path) and not isinstance(path, Path)


def user(block: Any) -> dict[str, Any]:
    return {"role": "user", "content": [block]}


def answer(content: Any) -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": "a", "content": content}


def named(name: Any) -> dict[str, Any]:
    return {"function_response": {"name": name}}


def output(value: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": "a", "output": value}


# Every public parameter: how it is given, and what its errors call it.
PARAMETERS: dict[str, tuple[Callable[[Any], Any], str]] = {
    "Redactor.profile": (lambda x: Redactor(profile=x), "profile"),
    "Redactor.rules": (lambda x: Redactor(rules=x), "rules"),
    "Redactor.pii": (lambda x: Redactor(pii=x), "pii"),
    "Redactor.allow": (lambda x: Redactor(allow=x), "allow"),
    "Redactor.known_values": (lambda x: Redactor(known_values=x), "known_values"),
    "Redactor.placeholder": (lambda x: Redactor(placeholder=x), "placeholder"),
    "Redactor.key": (lambda x: Redactor(key=x), "key"),
    "Allow.values": (lambda x: Redactor(allow=Allow(values=x)), "allow.values"),
    "Allow.patterns": (lambda x: Redactor(allow=Allow(patterns=x)), "allow.patterns"),
    "Allow.rules": (lambda x: Redactor(allow=Allow(rules=x)), "allow.rules"),
    "Allow.keys": (lambda x: Redactor(allow=Allow(keys=x)), "allow.keys"),
    "Allow.inline": (lambda x: Redactor(allow=Allow(inline=x)), "allow.inline"),
    "with_patterns.patterns": (lambda x: REDACTOR.with_patterns(x), "patterns"),
    "Envelope.tool_call_id": (lambda x: ToolResultEnvelope(x, "raw"), "tool_call_id"),
    "Envelope.max_tokens": (lambda x: ToolResultEnvelope("c", "raw", x), "max_tokens"),
    "Envelope.tokenizer": (lambda x: ToolResultEnvelope("c", "raw", tokenizer=x), "tokenizer"),
    "Envelope.redactor": (lambda x: ToolResultEnvelope("c", "raw", redactor=x), "redactor"),
    "Envelope.is_error": (lambda x: ToolResultEnvelope("c", "raw", is_error=x), "is_error"),
    "envelope.trim.strategy": (lambda x: ToolResultEnvelope("c", "raw").trim(x), "strategy"),
    "envelope.trim.fields": (lambda x: ToolResultEnvelope("c", "raw").trim("auto", x), "fields"),
    "envelope.trim.patterns": (lambda x: ToolResultEnvelope("c", "raw").trim(patterns=x), "patterns"),
    "envelope.trim.hint": (lambda x: ToolResultEnvelope("c", "raw").trim(hint=x), "hint"),
    "envelope.redact_secrets.patterns": (lambda x: ToolResultEnvelope("c", "raw").redact_secrets(x), "patterns"),
    "Router.envelope": (lambda x: ToolCallRouter(x), "envelope"),
    "Router.max_tokens": (lambda x: ToolCallRouter(max_tokens=x), "max_tokens"),
    "count_messages.messages": (lambda x: Tokenizer().count_messages(x), "messages"),
    "count_messages.tools": (lambda x: Tokenizer().count_messages([], tools=x), "tools"),
    "for_model.model": (Tokenizer.for_model, "model"),
    "Trimmer.max_tokens": (lambda x: Trimmer(x), "max_tokens"),
    "Trimmer.strategy": (lambda x: Trimmer(9, strategy=x), "strategy"),
    "Trimmer.fields": (lambda x: Trimmer(9, fields=x), "fields"),
    "Trimmer.patterns": (lambda x: Trimmer(9, patterns=x), "patterns"),
    "Trimmer.hint": (lambda x: Trimmer(9, hint=x), "hint"),
    "Trimmer.tokenizer": (lambda x: Trimmer(9, tokenizer=x), "tokenizer"),
    "Trimmer.redactor": (lambda x: Trimmer(9, redactor=x), "redactor"),
    "Trimmer.trim.text": (lambda x: Trimmer(999).trim(x), "trim()"),
    "Trimmer.trim_iter.pieces": (lambda x: Trimmer(99, strategy="lines").trim_iter(x), "()"),
    "Trimmer.trim_aiter.pieces": (lambda x: asyncio.run(Trimmer(99, strategy="lines").trim_aiter(x)), "()"),
    "Tokenizer.encoding": (Tokenizer, "encoding"),
    "Tokenizer.from_callable.count": (Tokenizer.from_callable, "count"),
    "Tokenizer.from_callable.name": (lambda x: Tokenizer.from_callable(len, x), "name"),
    "Tokenizer.calibrated.usage": (lambda x: Tokenizer().calibrated(x), "usage"),
    "Tokenizer.count.text": (Tokenizer().count, "count()"),
    "Tokenizer.count_many.texts": (Tokenizer().count_many, "count_many()"),
    "Tokenizer.encode.text": (Tokenizer().encode, "encode()"),
    "Tokenizer.decode.tokens": (Tokenizer().decode, "tokens"),
    "Tokenizer.limit.text": (lambda x: Tokenizer().limit(x, 3), "limit()"),
    "Tokenizer.limit.most": (lambda x: Tokenizer().limit("x", x), "most"),
    "Counter.feed.piece": (lambda x: Tokenizer().counter().feed(x), "feed()"),
    "ToolCallRequest.parse.call": (ToolCallRequest.parse, "tool call"),
    "ToolCallRequest.parse_all.message": (ToolCallRequest.parse_all, "tool call"),
    "redact.text": (lambda x: REDACTOR.redact(x), "redact()"),
    "redact.format": (lambda x: REDACTOR.redact("x", format=x), "format"),
    "scan.text": (lambda x: REDACTOR.scan(x), "scan()"),
    "scan.format": (lambda x: REDACTOR.scan("x", format=x), "format"),
    "redact_many.texts": (lambda x: REDACTOR.redact_many(x), "redact_many()"),
    "redact_many.format": (lambda x: REDACTOR.redact_many(["x"], format=x), "format"),
    "redact_json.value": (lambda x: REDACTOR.redact_json(x), "redact_json()"),
    "stream.format": (lambda x: REDACTOR.stream(format=x), "format"),
    "feed.piece": (lambda x: REDACTOR.stream().feed(x), "feed()"),
    "redact_iter.pieces": (lambda x: list(REDACTOR.redact_iter(x)), "()"),
    "redact_iter.format": (lambda x: REDACTOR.redact_iter([], format=x), "format"),
    "redact_aiter.pieces": (lambda x: asyncio.run(_all(REDACTOR.redact_aiter(x))), "()"),
    "redact_aiter.format": (lambda x: REDACTOR.redact_aiter(x, format=x), "format"),
    "reader.file": (lambda x: REDACTOR.reader(x), "reader()"),
    "reader.read": (lambda x: REDACTOR.reader(_File(x)), "reader()"),
    "reader.format": (lambda x: REDACTOR.reader(io.StringIO(), format=x), "format"),
    "writer.file": (lambda x: REDACTOR.writer(x), "writer()"),
    "writer.write": (lambda x: REDACTOR.writer(io.StringIO()).write(x), "feed()"),
    "writer.format": (lambda x: REDACTOR.writer(io.StringIO(), format=x), "format"),
    "module.redact.text": (ctxproto.redact, "redact()"),
    "module.redact.format": (lambda x: ctxproto.redact("x", format=x), "format"),
    "module.scan.text": (ctxproto.scan, "scan()"),
    "module.scan.format": (lambda x: ctxproto.scan("x", format=x), "format"),
    "known_values_from_env.environ": (known_values_from_env, "environ"),
    "Vault.restore": (Vault().restore, "restore()"),
    "Finding.rule": (lambda x: Finding(x, "L", 0, 1), "rule"),
    "Finding.label": (lambda x: Finding("r", x, 0, 1), "label"),
    "Finding.start": (lambda x: Finding("r", "L", x, 1), "start"),
    "Finding.end": (lambda x: Finding("r", "L", 0, x), "end"),
    "Finding.line": (lambda x: Finding("r", "L", 0, 1, line=x), "line"),
    "Finding.column": (lambda x: Finding("r", "L", 0, 1, column=x), "column"),
    "Finding.key_path": (lambda x: Finding("r", "L", 0, 1, key_path=x), "key_path"),
    "Finding.fingerprint": (lambda x: Finding("r", "L", 0, 1, fingerprint=x), "fingerprint"),
    "Namespace": (ctxproto.Namespace, "namespace"),
    "Namespace.component": (lambda x: ctxproto.Namespace((x,)), "namespace[0]"),
    "Scope.of": (ctxproto.Scope.of, "namespace"),
    "gate.relevance_threshold": (lambda x: ctxproto.MemoryContextGate(relevance_threshold=x), "relevance_threshold"),
    "gate.max_memory_tokens": (lambda x: ctxproto.MemoryContextGate(max_memory_tokens=x), "max_memory_tokens"),
    "gate.tokenizer": (lambda x: ctxproto.MemoryContextGate(tokenizer=x), "tokenizer"),
    "gate.redactor": (lambda x: ctxproto.MemoryContextGate(redactor=x), "redactor"),
    "should_read.query": (lambda x: GATE.should_read(x, "a", []), "query"),
    "should_read.namespace": (lambda x: GATE.should_read("q", x, []), "namespace"),
    "should_read.memories": (lambda x: GATE.should_read("q", "a", x), "memories"),
    "should_write.content": (lambda x: GATE.should_write(x, "a"), "content"),
    "should_write.namespace": (lambda x: GATE.should_write("x", x), "namespace"),
    "judge_write.content": (lambda x: GATE.judge_write(x, "a"), "content"),
    "judge_write.namespace": (lambda x: GATE.judge_write("x", x), "namespace"),
    "judge_write.provenance": (lambda x: GATE.judge_write("x", "a", provenance=x), "provenance"),
    "judge_write.seen": (lambda x: GATE.judge_write("x", "a", seen=x), "seen"),
    "judge_write.existing": (lambda x: GATE.judge_write("x", "a", existing=x), "existing"),
    "resolve_namespace.user_id": (GATE.resolve_namespace, "user_id"),
    "resolve_namespace.session_id": (lambda x: GATE.resolve_namespace("u", x), "session_id"),
    "resolve_namespace.task_id": (lambda x: GATE.resolve_namespace("u", "s", x), "task_id"),
    "MemoryStore.path": (lambda x: ctxproto.MemoryStore(x if names_nothing(x) else ANYTHING), "path"),
    "forget.thorough": (lambda x: STORE.forget("nobody", thorough=x), "thorough"),
    # A str may be a server's name: what comes of it is in tests/memory/test_postgres.py.
    "PostgresMemoryStore.conninfo": (
        lambda x: ctxproto.PostgresMemoryStore(5 if isinstance(x, str) else x),  # type: ignore[arg-type]
        "conninfo",
    ),
    "MemoryStore.redactor": (lambda x: ctxproto.MemoryStore(":memory:", redactor=x), "redactor"),
    "MemoryStore.wait": (lambda x: ctxproto.MemoryStore(":memory:", wait=x), "wait"),
    "MemoryStore.clock": (lambda x: ctxproto.MemoryStore(":memory:", clock=x), "clock"),
    "save.namespace": (lambda x: STORE.save(x, "x"), "namespace"),
    "save.content": (lambda x: STORE.save("a", x), "content"),
    "save.kind": (lambda x: STORE.save("a", "x", kind=x), "kind"),
    "save.purpose": (lambda x: STORE.save("a", "x", purpose=x), "purpose"),
    "save.importance": (lambda x: STORE.save("a", "x", importance=x), "importance"),
    "save.provenance": (lambda x: STORE.save("a", "x", provenance=x), "provenance"),
    "save.valid_from": (lambda x: STORE.save("a", "x", valid_from=x), "valid_from"),
    "save.valid_to": (lambda x: STORE.save("a", "x", valid_to=x), "valid_to"),
    "save.ttl": (lambda x: STORE.save("a", "x", ttl=x), "ttl"),
    "save.metadata": (lambda x: STORE.save("a", "x", metadata=x), "metadata"),
    "store.get.memory_id": (lambda x: STORE.get(x, "a"), "memory_id"),
    "store.get.namespace": (lambda x: STORE.get("id", x), "namespace"),
    "store.update.memory_id": (lambda x: quiet(STORE.update, x, "a"), "memory_id"),
    "store.update.namespace": (lambda x: quiet(STORE.update, "id", x), "namespace"),
    "store.update.content": (lambda x: quiet(STORE.update, "id", "a", content=x), "content"),
    "store.update.kind": (lambda x: quiet(STORE.update, "id", "a", kind=x), "kind"),
    "store.update.purpose": (lambda x: quiet(STORE.update, "id", "a", purpose=x), "purpose"),
    "store.update.importance": (lambda x: quiet(STORE.update, "id", "a", importance=x), "importance"),
    "store.update.valid_to": (lambda x: quiet(STORE.update, "id", "a", valid_to=x), "valid_to"),
    "store.update.ttl": (lambda x: quiet(STORE.update, "id", "a", ttl=x), "ttl"),
    "store.update.metadata": (lambda x: quiet(STORE.update, "id", "a", metadata=x), "metadata"),
    "supersede.memory_id": (lambda x: quiet(STORE.supersede, x, "a", "x"), "memory_id"),
    "supersede.namespace": (lambda x: quiet(STORE.supersede, "id", x, "x"), "namespace"),
    "supersede.content": (lambda x: quiet(STORE.supersede, "id", "a", x), "content"),
    "list.namespace": (STORE.list, "namespace"),
    "list.kind": (lambda x: STORE.list("a", kind=x), "kind"),
    "list.as_of": (lambda x: STORE.list("a", as_of=x), "as_of"),
    "list.history": (lambda x: STORE.list("a", history=x), "history"),
    "list.limit": (lambda x: STORE.list("a", limit=x), "limit"),
    "search.query": (lambda x: STORE.search(x, "a"), "query"),
    "search.namespace": (lambda x: STORE.search("q", x), "namespace"),
    "search.kind": (lambda x: STORE.search("q", "a", kind=x), "kind"),
    "search.as_of": (lambda x: STORE.search("q", "a", as_of=x), "as_of"),
    "search.also": (lambda x: STORE.search("q", "a", also=x), "also"),
    "search.scale": (lambda x: STORE.search("q", "a", scale=x), "scale"),
    "search.mmr": (lambda x: STORE.search("q", "a", mmr=x), "mmr"),
    "search.recency": (lambda x: STORE.search("q", "a", recency=x), "recency"),
    "search.half_life": (lambda x: STORE.search("q", "a", half_life=x), "half_life"),
    "search.importance": (lambda x: STORE.search("q", "a", importance=x), "importance"),
    "search.reranker": (lambda x: STORE.search("q", "a", reranker=x), "reranker"),
    "search.explain": (lambda x: STORE.search("q", "a", explain=x), "explain"),
    "MemoryStore.embedder": (lambda x: ctxproto.MemoryStore(":memory:", embedder=x, model="m"), "embedder"),
    "MemoryStore.graph_from": (
        lambda x: ctxproto.MemoryStore(":memory:", graph_from=cast("Any", "none" if x is None else x)),
        "graph_from",
    ),
    "build_graph.namespace": (STORE.build_graph, ""),
    "MemoryStore.model": (lambda x: ctxproto.MemoryStore(":memory:", embedder=HASHING, model=x), "model"),
    "embedder's vectors": (
        lambda x: ctxproto.MemoryStore(":memory:", embedder=lambda _: x, model="m").save("a", "x"),
        "embedder",
    ),
    "reranker's scores": (lambda x: FOUND.search("tea", "a", reranker=lambda *_: x), "reranker"),
    "embed.namespace": (EMBEDDED.embed, "namespace"),
    "embed.replace": (lambda x: EMBEDDED.embed("a", replace=x), "replace"),
    "embed.batch": (lambda x: EMBEDDED.embed("a", batch=x), "batch"),
    "calibrate.queries": (lambda x: EMBEDDED.calibrate(x, "a"), "queries"),
    "calibrate.namespace": (lambda x: EMBEDDED.calibrate(["q"], x), "namespace"),
    "calibrate.limit": (lambda x: EMBEDDED.calibrate(["q"], "a", limit=x), "limit"),
    "HashEmbedder.dims": (lambda x: ctxproto.HashEmbedder(x), "dims"),
    "OpenAIEmbedder.model": (lambda x: ctxproto.OpenAIEmbedder(None, x), "model"),
    "OpenAIEmbedder.dimensions": (lambda x: ctxproto.OpenAIEmbedder(None, "m", dimensions=x), "dimensions"),
    "SentenceTransformerEmbedder.name": (lambda x: ctxproto.SentenceTransformerEmbedder(None, name=x), "name"),
    "Model2VecEmbedder.name": (lambda x: ctxproto.Model2VecEmbedder(None, name=x), "name"),
    "search.limit": (lambda x: STORE.search("q", "a", limit=x), "limit"),
    "delete.memory_id": (lambda x: STORE.delete(x, "a"), "memory_id"),
    "delete.namespace": (lambda x: STORE.delete("id", x), "namespace"),
    "forget.namespace": (STORE.forget, "namespace"),
    "namespaces.namespace": (STORE.namespaces, "namespace"),
    "stats.namespace": (STORE.stats, "namespace"),
    "export.namespace": (lambda x: list(STORE.export(x)), "namespace"),
    "import_lines.lines": (lambda x: STORE.import_lines(x, "a"), "lines"),
    "import_lines.namespace": (lambda x: STORE.import_lines([], x), "namespace"),
    "ArtifactStore.redactor": (lambda x: ctxproto.InMemoryArtifactStore(redactor=x), "redactor"),
    "FileArtifactStore.directory": (
        lambda x: ctxproto.FileArtifactStore(x if no_directory(x) else ANYTHING),
        "directory",
    ),
    "FsspecArtifactStore.url": (lambda x: ctxproto.FsspecArtifactStore(x if no_directory(x) else ANYTHING), "url"),
    "artifacts.put.value": (lambda x: ARTIFACTS.put(x), "an artifact"),
    "artifacts.put_stream.pieces": (lambda x: ARTIFACTS.put_stream(x), "piece"),
    "artifacts.put_stream.kind": (lambda x: ARTIFACTS.put_stream([], kind=x), "kind"),
    "artifacts.save.key": (lambda x: ARTIFACTS.save(x, 1), "pointer"),
    "artifacts.read.pointer": (lambda x: quiet(ARTIFACTS.read, x), "pointer"),
    "artifacts.open.pointer": (lambda x: quiet(ARTIFACTS.open, x), "pointer"),
    "artifacts.delete.pointer": (lambda x: ARTIFACTS.delete(x), "pointer"),
    "TaskState.task_id": (ctxproto.TaskStateEnvelope, "task_id"),
    "TaskState.parent_task_id": (lambda x: ctxproto.TaskStateEnvelope("t", x), "parent_task_id"),
    "TaskState.artifact_store": (lambda x: ctxproto.TaskStateEnvelope("t", artifact_store=x), "artifact_store"),
    "TaskState.redactor": (lambda x: ctxproto.TaskStateEnvelope("t", redactor=x), "redactor"),
    "add_artifact.artifact_type": (lambda x: TASK.add_artifact(x, "p", "s", 1), "artifact_type"),
    "add_artifact.pointer": (lambda x: TASK.add_artifact("k", x, "s", 1), "pointer"),
    "add_artifact.summary": (lambda x: TASK.add_artifact("k", "p", x, 1), "summary"),
    "add_artifact.size_bytes": (lambda x: TASK.add_artifact("k", "p", "s", x), "size_bytes"),
    "add_artifact.schema_keys": (lambda x: TASK.add_artifact("k", "p", "s", 1, x), "schema_keys"),
    "store_artifact.artifact_type": (lambda x: TASK.store_artifact(x, 1, "s"), "artifact_type"),
    "store_artifact.summary": (lambda x: TASK.store_artifact("k", 1, x), "summary"),
    "declare_fields.field_names": (lambda x: TASK.declare_fields(x), "field_names"),
    "declare_fields.missing": (lambda x: TASK.declare_fields([], missing=x), "missing"),
    "declare_fields.version": (lambda x: fits(TASK.declare_fields, [], version=x), "known"),
    "declare_fields.unredacted": (lambda x: TASK.declare_fields([], unredacted=x), "unredacted"),
    "check_version.known": (lambda x: fits(TASK.check_version, x), "known"),
    "from_dict.data": (lambda x: ctxproto.TaskStateEnvelope.from_dict(x), "data"),
    "AuditLog.path": (lambda x: ctxproto.AuditLog(x if no_directory(x) else ANYTHING), "path"),
    "AuditLog.max_bytes": (lambda x: LOG(max_bytes=x), "max_bytes"),
    "AuditLog.keep": (lambda x: LOG(keep=x), "keep"),
    "AuditLog.chain": (lambda x: LOG(chain=x), "chain"),
    "AuditLog.key": (lambda x: LOG(chain=True, key=x), "key"),
    "verify_audit_log.path": (lambda x: ctxproto.verify_audit_log(x if no_directory(x) else ANYTHING), "path"),
    "ContextPolicy.max_context_tokens": (lambda x: ContextPolicy(max_context_tokens=x), "max_context_tokens"),
    "ContextPolicy.reserve": (lambda x: fitting(ContextPolicy, reserve=x), "reserve"),
    "ContextPolicy.tools": (lambda x: fitting(ContextPolicy, tools=x), "tools"),
    "ContextPolicy.tool_rules": (lambda x: ContextPolicy(tool_rules=x), "tool_rules"),
    "ToolRule.max_tokens": (lambda x: ctxproto.ToolRule(max_tokens=x), "max_tokens"),
    "ToolRule.strategy": (lambda x: ctxproto.ToolRule(strategy=x), "strategy"),
    "ToolRule.fields": (lambda x: ctxproto.ToolRule(fields=x), "fields"),
    "ToolRule.patterns": (lambda x: ctxproto.ToolRule(patterns=x), "patterns"),
    "ToolRule.hint": (lambda x: ctxproto.ToolRule(hint=x), "hint"),
    "ContextPolicy.tokenizer": (lambda x: ContextPolicy(tokenizer=x), "tokenizer"),
    "ContextPolicy.redactor": (lambda x: ContextPolicy(redactor=x), "redactor"),
    "ContextPolicy.max_tool_tokens": (lambda x: ContextPolicy(max_tool_tokens=x), "max_tool_tokens"),
    "ContextPolicy.tool_strategy": (lambda x: ContextPolicy(tool_strategy=x), "strategy"),
    "ContextPolicy.shorten": (lambda x: ContextPolicy(shorten=x), "strategies"),
    "ContextPolicy.stride": (lambda x: ContextPolicy(stride=x), "stride"),
    "ContextPolicy.read_memory": (lambda x: ContextPolicy(read_memory=x), "read_memory"),
    "ContextPolicy.write_memory": (lambda x: ContextPolicy(write_memory=x), "write_memory"),
    "ContextPolicy.relevance_threshold": (lambda x: ContextPolicy(relevance_threshold=x), "relevance_threshold"),
    "ContextPolicy.max_memory_tokens": (lambda x: ContextPolicy(max_memory_tokens=x), "max_memory_tokens"),
    "ContextProtocol.max_context_tokens": (lambda x: ContextProtocol(x), "max_context_tokens"),
    "ContextProtocol.memory_backend": (lambda x: ContextProtocol(memory_backend=x), "memory_backend"),
    "ContextProtocol.artifact_store": (lambda x: ContextProtocol(artifact_store=x), "artifact_store"),
    "ContextProtocol.policy": (lambda x: ContextProtocol(policy=x), "policy"),
    "ContextProtocol.user_id": (lambda x: ContextProtocol(user_id=x), "user_id"),
    "ContextProtocol.session_id": (lambda x: ContextProtocol(session_id=x), "session_id"),
    "ContextProtocol.task_id": (lambda x: ContextProtocol(task_id=x), "task_id"),
    "ContextProtocol.conversation_id": (lambda x: ContextProtocol(conversation_id=x), "conversation_id"),
    "ContextProtocol.sinks": (lambda x: ContextProtocol(sinks=x), "sinks"),
    "prepare_context.user_message": (lambda x: fitting(PROTOCOL.prepare_context, x), "user_message"),
    "prepare_context.tool_results": (lambda x: PROTOCOL.prepare_context("q", x), "tool_results"),
    "prepare_context.task_state": (lambda x: PROTOCOL.prepare_context("q", None, x), "task_state"),
    "prepare_context.system_prompt": (lambda x: fitting(PROTOCOL.prepare_context, system_prompt=x), "system_prompt"),
    "prepare_context.memory_query": (lambda x: PROTOCOL.prepare_context(memory_query=x), "memory_query"),
    "prepare_context.history": (lambda x: PROTOCOL.prepare_context(history=x), "history"),
    "prepare_context.tool_calls": (lambda x: PROTOCOL.prepare_context("q", [RESULT], tool_calls=x), "tool call"),
    "prepare_context.cached": (lambda x: PROTOCOL.prepare_context(cached=x), "cached"),
    "handle_tool_result.tool_call_id": (lambda x: PROTOCOL.handle_tool_result(x, "raw"), "tool_call_id"),
    "handle_tool_result.max_tokens": (lambda x: PROTOCOL.handle_tool_result("c", "raw", x), "max_tokens"),
    "handle_tool_result.is_error": (lambda x: PROTOCOL.handle_tool_result("c", "raw", is_error=x), "is_error"),
    "query_memory.query_text": (lambda x: PROTOCOL.query_memory(x), "memory_query"),
    "query_memory.namespace": (lambda x: PROTOCOL.query_memory("q", x), "namespace"),
    "persist_memory.content": (lambda x: PROTOCOL.persist_memory(x), "content"),
    "persist_memory.namespace": (lambda x: PROTOCOL.persist_memory("content", x), "namespace"),
    "register_task.task_state": (lambda x: PROTOCOL.register_task(x), "task_state"),
    "get_task_state.task_id": (lambda x: quiet(PROTOCOL.get_task_state, x, []), "task_id"),
    "get_task_state.requested_fields": (lambda x: PROTOCOL.get_task_state("task", x), "field_names"),
    "assert_no_secrets.context": (ctxproto.ContextDebugKit.assert_no_secrets, "context"),
    "assert_no_secrets.patterns": (lambda x: ctxproto.ContextDebugKit.assert_no_secrets([], x), "patterns"),
    "dump_context_snapshot.output_dir": (
        lambda x: ctxproto.ContextDebugKit.dump_context_snapshot([], 1, x if no_directory(x) else ANYTHING),
        "output_dir",
    ),
    "trace_context_routing.context": (lambda x: ctxproto.ContextDebugKit.trace_context_routing(x, [], 1), "context"),
    "trace_context_routing.audit_trail": (
        lambda x: ctxproto.ContextDebugKit.trace_context_routing([], x, 1),
        "audit_trail",
    ),
    "trace_context_routing.step": (lambda x: ctxproto.ContextDebugKit.trace_context_routing([], [], x), "step"),
    "get_namespace_prefix.user_id": (GATE.get_namespace_prefix, "user_id"),
    "TokenBudget.max_tokens": (TokenBudget, "max_tokens"),
    "TokenBudget.reserve": (lambda x: TokenBudget(9, reserve=x), "reserve"),
    "TokenBudget.tools": (lambda x: TokenBudget(999, tools=x), "tools"),
    "TokenBudget.tokenizer": (lambda x: TokenBudget(9, tokenizer=x), "tokenizer"),
    "TokenBudget.redactor": (lambda x: TokenBudget(9, redactor=x), "redactor"),
    "TokenBudget.strategies": (lambda x: TokenBudget(9, strategies=x), "strategies"),
    "TokenBudget.strategy": (lambda x: TokenBudget(9, strategies={"memory": x}), "strategies['memory']"),
    "TokenBudget.stride": (lambda x: TokenBudget(9, stride=x), "stride"),
    "budget.register.category": (lambda x: TokenBudget().register(x, 1), "category"),
    "budget.register.tokens": (lambda x: TokenBudget().register("memory", x), "tokens"),
    "budget.register.priority": (lambda x: TokenBudget().register("memory", 1, x), "priority"),
    "flush.messages": (lambda x: TokenBudget().flush(x), "messages"),
    "flush.message": (lambda x: TokenBudget().flush([x]), "messages[0]"),
    "flush.role": (lambda x: TokenBudget().flush([{"role": x}]), "messages[0].role"),
    "flush.content": (lambda x: TokenBudget(10**7).flush([{"role": "user", "content": x}]), "messages[0].content"),
    "flush.tool_calls": (lambda x: TokenBudget().flush([{"role": "assistant", "tool_calls": x}]), "messages[0]"),
    "flush.tool_call_id": (lambda x: TokenBudget().flush([{"role": "tool", "tool_call_id": x}]), "messages[0]"),
    "flush.categories": (lambda x: TokenBudget().flush([], x), "categories"),
    "flush.category": (lambda x: TokenBudget().flush([{"role": "user"}], [x]), "categories[0]"),
    "flush.cached": (lambda x: TokenBudget().flush([], cached=x), "cached"),
    "Message.of.message": (ctxproto.Message.of, "a message"),
    "convert.messages": (lambda x: convert(x, "openai", "anthropic"), "messages"),
    "convert.message": (lambda x: convert([x], "openai", "gemini"), "messages[0]"),
    "convert.role": (lambda x: convert([{"role": x}], "openai", "openai"), "messages[0].role"),
    "convert.content": (
        lambda x: convert([{"role": "user", "content": x}], "openai", "anthropic"),
        "messages[0].content",
    ),
    "convert.tool_calls": (
        lambda x: convert([{"role": "assistant", "tool_calls": x}], "openai", "gemini"),
        "messages[0]",
    ),
    "convert.tool_call_id": (
        lambda x: convert([{"role": "tool", "tool_call_id": x}], "openai", "gemini"),
        "messages[0]",
    ),
    "convert.anthropic": (lambda x: convert(x, "anthropic", "openai"), "request"),
    "convert.anthropic.block": (lambda x: convert({"messages": [user(x)]}, "anthropic", "openai"), "messages[0]"),
    "convert.anthropic.result": (
        lambda x: convert({"messages": [user(answer(x))]}, "anthropic", "openai"),
        "messages[0]",
    ),
    "convert.gemini": (lambda x: convert(x, "gemini", "openai"), "request"),
    "convert.gemini.contents": (lambda x: convert({"contents": [x]}, "gemini", "openai"), "contents[0]"),
    "convert.gemini.part": (lambda x: convert({"contents": [{"parts": [x]}]}, "gemini", "gemini"), "contents[0].parts"),
    "convert.gemini.name": (
        lambda x: convert({"contents": [{"parts": [named(x)]}]}, "gemini", "openai"),
        "contents[0]",
    ),
    "convert.responses": (lambda x: convert(x, "responses", "openai"), "input"),
    "convert.responses.item": (lambda x: convert([x], "responses", "openai"), "input[0]"),
    "convert.responses.output": (lambda x: convert([output(x)], "responses", "openai"), "input[0]"),
    "convert.source": (lambda x: convert([], x, "openai"), "source"),
    "convert.target": (lambda x: convert([], "openai", x), "target"),
    "pairing_problems.messages": (lambda x: ctxproto.pairing_problems(x, "openai"), "messages"),
    "pairing_problems.anthropic": (lambda x: ctxproto.pairing_problems({"messages": [x]}, "anthropic"), "messages"),
    "pairing_problems.gemini": (lambda x: ctxproto.pairing_problems({"contents": [x]}, "gemini"), "contents"),
    "pairing_problems.responses": (lambda x: ctxproto.pairing_problems([x], "responses"), "input"),
    "pairing_problems.source": (lambda x: ctxproto.pairing_problems([], x), "source"),
    "repair_pairing.messages": (lambda x: ctxproto.repair_pairing(x, "openai"), "messages"),
    "repair_pairing.source": (lambda x: ctxproto.repair_pairing([], x), "source"),
    "get_namespace_prefix.session_id": (lambda x: GATE.get_namespace_prefix("u", x), "session_id"),
}


@pytest.mark.parametrize("name", PARAMETERS)
def test_anything_works_or_is_an_error_of_ours_that_names_the_parameter(name: str) -> None:
    call, called = PARAMETERS[name]
    refused = 0
    for at, value in enumerate(strange()):
        if name.endswith("_iter.pieces") and isinstance(value, HostileStr):
            continue  # an iterator's own errors are its own
        error = outcome(call, value)
        if error is not None:
            refused += 1
            assert isinstance(error, CtxprotoError), (at, repr(error))
            assert isinstance(error, TypeError | ValueError), (at, type(error))
            assert called in str(error), (at, str(error))
            assert error.__cause__ is error.__context__ is None
    assert refused or name == "Vault.restore"


def outcome(call: Callable[[Any], Any], value: Any) -> BaseException | None:
    try:
        call(value)
    except BaseException as error:  # noqa: BLE001 - whatever it is
        return error
    return None


@pytest.mark.parametrize("name", [name for name in PARAMETERS if not name.startswith("Vault")])
def test_a_wrong_type_is_a_type_error(name: str) -> None:
    with pytest.raises(TypeError) as caught:
        PARAMETERS[name][0](object())
    assert isinstance(caught.value, CtxprotoError)
    assert "object" in str(caught.value) or name == "reader.read"


@pytest.mark.parametrize("name", [n for n in PARAMETERS if n.endswith((".format", ".profile", ".placeholder", ".pii"))])
def test_an_unknown_word_is_a_value_error_and_no_type_error(name: str) -> None:
    with pytest.raises(ValueError, match="not a str of 4 characters") as caught:
        PARAMETERS[name][0]("zzzz")
    assert isinstance(caught.value, ctxproto.ConfigError)
    assert not isinstance(caught.value, TypeError)


def test_subclasses_of_str_are_taken_for_their_text() -> None:
    text = HostileStr("the known value")
    redactor = Redactor(
        profile=HostileStr("secrets"),  # type: ignore[arg-type]
        pii=[HostileStr("EMAIL")],
        allow=Allow(values=[text], patterns=[HostileStr("a+")], rules=[HostileStr("IBAN")], keys=[text]),
        known_values={HostileStr("LABEL"): HostileStr("another known value")},
        placeholder=HostileStr("mask"),
        key=HostileStr("k" * 16),
    )
    assert redactor.redact(HostileStr("see another known value")).text == "see ********"
    assert redactor.redact("x", format=HostileStr("text")).text == "x"  # type: ignore[call-overload]


def everything_said(error: BaseException | None) -> Iterator[str]:
    """All that a log could show of an error and of those behind it."""
    seen: set[int] = set()
    waiting = [error]
    while waiting:
        one = waiting.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        yield from (str(one), repr(one), repr(one.args), repr(vars(one)), repr(getattr(one, "__notes__", "")))
        # Attributes that the errors of the standard library carry.
        yield from (repr(getattr(one, name, "")) for name in ("object", "filename", "filename2", "doc", "msg", "text"))
        waiting += [one.__cause__, one.__context__]


def shapes(secret: str) -> list[Any]:
    """A secret in all the ways it may be given by mistake."""
    broken = secret + "\ud800"
    texts = [secret, broken, f"{secret}(", f"/tmp/{secret}/x", f"{secret}.toml", secret.encode(), HostileStr(secret)]
    return [
        *texts,
        *([text] for text in texts),
        *({text: 1} for text in texts),
        *({"LABEL": [text]} for text in texts),
        {secret: secret},
        {"API_KEY": [secret]},
        [[secret]],
        {secret},
        Path(secret),
        [Path(secret)],
        Allow(rules=[secret]),
        Allow(patterns=[f"(?{secret}"]),
        Allow(values=[[secret]], keys=[secret, 1]),  # type: ignore[list-item]
        object(),
    ]


# A token that every policy knows, and a password that none does.
SECRETS = [random_token(17), "".join(random.Random(17).choices(string.ascii_letters, k=14))]


@pytest.mark.parametrize("secret", SECRETS, ids=["token", "password"])
@pytest.mark.parametrize("name", PARAMETERS)
def test_no_error_shows_a_secret(name: str, secret: str) -> None:
    # A path is named when it looks like one (see ctxproto.errors), but what is known for a secret is taken out of it.
    known = secret.startswith("gh")
    for value in shapes(secret):
        if not known and "toml" in texts_in(value):
            continue
        if error := outcome(PARAMETERS[name][0], value):
            said = "\0".join(everything_said(error))
            body = secret[4:] if known else secret
            assert not any(body[at : at + 6] in said for at in range(len(body) - 5)), name


def texts_in(value: Any) -> str:
    """The texts of a list or a mapping, joined."""
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, dict):
        return texts_in([*value, *value.values()])
    return "".join(map(texts_in, value)) if type(value) in {list, set} else ""


def test_nothing_of_a_rule_file_that_is_none(tmp_path: Path) -> None:
    token = random_token(3)
    texts = [
        token,
        f"key = {token}",
        f'rule = "{token}"',
        f'[[rule]]\nid = "{token}"\n',
        f'[[rules]]\nregex = "({token}"\n',
    ]
    texts += [f'{token} = "{token}"', f'[[rule]]\nid = "a"\n{token} = 1\n', f'[extend]\npath = "{token}"\n[[rules]]\n']
    texts += [f'[[rules]]\nid = "{token}"\nregex = "a{{20}}"\n{token} = 1\n', '[[rule]]\nname = ["correct horse"]\n']
    texts += ['rule = "correct horse"\n', 'rules = [["correct horse"]]\n']
    path = tmp_path / "rules.toml"
    for text in texts:
        path.write_text(text)
        try:
            said = [" ".join(Redactor(rules=path).warnings)]
        except CtxprotoError as error:
            said = list(everything_said(error))
        assert token[4:12] not in "".join(said)
        assert "horse" not in "".join(said)
    path.write_bytes(b"\xff" + token.encode())
    with pytest.raises(ctxproto.ConfigError, match="it is not UTF-8") as caught:
        Redactor(rules=path)
    assert token[4:12] not in "".join(everything_said(caught.value))


def test_reprs_show_no_secret() -> None:
    token = random_token(4)
    vault = Vault()
    redactor = Redactor(known_values=[token], placeholder=vault, allow=Allow(values=["x" + token]))
    result = redactor.redact(f"see {token}")
    stream = redactor.stream()
    stream.feed(f"see {token} ")
    shown = [redactor, vault, result, result.findings, stream, redactor.rules, redactor.warnings]
    shown += [Allow([token], [token], [token], [token]), Allow(token, token, token, token)]
    assert not any(token[4:12] in repr(one) for one in shown)


def test_a_rule_file_of_any_name_and_no_end(tmp_path: Path) -> None:
    rule = b'[[rule]]\nid = "mine"\nname = "Mine"\nlabel = "MINE"\nshape = "mine_ alnum{32}"\n'
    path = tmp_path / "\udcff.toml"
    path.write_bytes(rule)
    (mine,) = Redactor(profile="none", rules=[path]).rules
    assert mine.source.endswith(r"\xff.toml")
    with pytest.raises(ctxproto.ConfigError, match="it is larger than 16 MiB"):
        Redactor(rules="/dev/zero")
