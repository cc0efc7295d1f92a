"""`ctxproto memory`: what agents remember, in a store in a file."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from ctxproto.cli import FAILED, FOUND, inputs, options, output, run, usage
from ctxproto.memory.records import KINDS
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ctxproto import MemoryRecord, MemoryStore

_Function = TypeVar("_Function", bound="Callable[..., Any]")


def _store(function: _Function) -> _Function:
    named = click.option("--store", metavar="FILE", help="The store.  [default: memory in the settings file]")
    return named(function)


_kind = click.option("--kind", type=usage.OneOf(KINDS), help="Of this kind alone.")
_as_json = click.option("--json", "as_json", is_flag=True, help="As JSON lines.")
_scope = click.argument("scope")


@click.group("memory", cls=usage.Group)
def command() -> None:
    """Writes, finds, lists, forgets and moves what agents remember.

    \b
    A SCOPE says whose memories:
      user_42                  that namespace alone
      user_42: or "user_42:*"  that and all below it
      "*"                      everything; nothing is everybody's by chance

    \b
    ctxproto memory add user_42 "Prefers short answers ..." --store m.db
    ctxproto memory search user_42: "which language" --store m.db
    """  # noqa: D301 - click wants the character


@command.command("add")
@click.argument("namespace")
@click.argument("text", required=False)
@_store
@click.option("--kind", type=usage.OneOf(KINDS), default="long_term", show_default=True, help="What it is.")
@click.option("--purpose", default="", metavar="TAG", help="What it is for.")
@click.option("--ttl", type=usage.WholeNumber(1, 999_999_999), help="Seconds after which it is gone by itself.")
@click.option("--ungated", is_flag=True, help="Write it whatever the gate says of it; it is redacted all the same.")
@options.policy_options
def add(
    namespace: str,
    text: str | None,
    store: str | None,
    kind: Any,
    purpose: str,
    ttl: int | None,
    ungated: bool,  # noqa: FBT001
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
    **given: Any,
) -> int:
    """Writes a memory, redacted, if the write gate is for it; prints its id.

    The text is TEXT, or standard input. What nearly repeats a memory of the namespace takes its place.

    Exits with 0, 1 when the gate is against it, 2 on wrong usage, 3 when the store cannot be used.
    """
    from ctxproto import MemoryContextGate

    settings = options.resolve(config_path, no_config, given)
    if text is None:
        inputs.default()
        text = sys.stdin.buffer.read().decode("utf-8", "replace").rstrip("\n")
    with _opened(store, settings, new=True) as memories:
        fields = {"kind": kind, "purpose": purpose, "ttl": ttl, "provenance": "user"}
        if ungated:
            click.echo(memories.save(namespace, text, **fields).memory_id)
            return 0
        there = memories.list(namespace)
        gate = MemoryContextGate(redactor=settings.redactor())
        verdict = gate.judge_write(text, namespace, provenance="user", existing=[one.content for one in there])
        if not verdict:
            output.note("not written", f"{verdict.rule}: {verdict.reason}")
            return FOUND
        if verdict.repeats is None:
            saved = memories.save(namespace, verdict.content, **fields)
        else:
            saved = memories.supersede(there[verdict.repeats].memory_id, namespace, verdict.content, **fields)
            output.info(f"in the place of {there[verdict.repeats].memory_id}")
        click.echo(saved.memory_id)
    return 0


@command.command("search")
@_scope
@click.argument("query")
@_store
@_kind
@click.option("--limit", type=usage.WholeNumber(1, 100_000), default=10, show_default=True, help="At most so many.")
@_as_json
@options.config_options
def search(
    scope: str,
    query: str,
    store: str | None,
    kind: Any,
    limit: int,
    as_json: bool,  # noqa: FBT001
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
) -> None:
    """Finds the memories of a scope that fit a query, the best first, with their relevance."""
    with _opened(store, options.resolve(config_path, no_config, {})) as memories:
        for hit in memories.search(query, scope, kind=kind, limit=limit):
            if as_json:
                click.echo(_line(hit.record, relevance=hit.relevance_score))
            else:
                click.echo(f"{hit.relevance_score:.2f}  {_shown(hit.record)}")


@command.command("list")
@_scope
@_store
@_kind
@click.option("--history", is_flag=True, help="Also those that were superseded or are not true now.")
@click.option("--limit", type=usage.WholeNumber(1, 999_999_999), help="At most so many, the latest.")
@_as_json
@options.config_options
def list_(
    scope: str,
    store: str | None,
    kind: Any,
    history: bool,  # noqa: FBT001
    limit: int | None,
    as_json: bool,  # noqa: FBT001
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
) -> None:
    """Lists the memories of a scope, the latest first."""
    with _opened(store, options.resolve(config_path, no_config, {})) as memories:
        found = memories.list(scope, kind=kind, history=history, limit=limit)
        for record in found:
            click.echo(_line(record) if as_json else _shown(record))
        if not as_json:
            output.info(_count(len(found)))


@command.command("forget")
@_scope
@click.argument("ids", metavar="[ID ...]", nargs=-1)
@_store
@click.option("--yes", is_flag=True, help="Do not ask.")
@click.option("--everything", is_flag=True, help='Let SCOPE be "*": the memories of everybody.')
@options.config_options
def forget(
    scope: str,
    ids: tuple[str, ...],
    store: str | None,
    yes: bool,  # noqa: FBT001
    everything: bool,  # noqa: FBT001
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
) -> int:
    """Deletes all memories of a scope, or those of it that are named, for good.

    Past ones go, too, and nothing of them is left in the file.

    Exits with 0, 2 on wrong usage, 3 when an id is not in the scope.
    """
    from ctxproto.memory.namespaces import Scope

    whose = Scope.of(scope, "SCOPE")
    if whose.namespace is None and not ids and not everything:
        raise click.UsageError('"*" is every memory of everybody: add --everything if that is what you want')
    with _opened(store, options.resolve(config_path, no_config, {})) as memories:
        number = len(ids) or sum(memories.stats(whose)[:3])
        if number and not yes:
            _ask(f"Delete {_count(number)} of {output.printable(str(whose))} for good?")
        if not ids:
            click.echo(_count(memories.forget(whose)))
            return 0
        deleted = sum(memories.delete(one, whose) for one in dict.fromkeys(ids))
        click.echo(_count(deleted))
        if deleted < len(set(ids)):
            output.error(f"{_count(len(set(ids)) - deleted)} of those that were named were not in the scope")
            return FAILED
    return 0


@command.command("stats")
@_scope
@_store
@_as_json
@options.config_options
def stats(scope: str, store: str | None, as_json: bool, config_path: str | None, no_config: bool) -> None:  # noqa: FBT001
    """Says how much a scope holds."""
    with _opened(store, options.resolve(config_path, no_config, {})) as memories:
        found = memories.stats(scope)._asdict()
    if as_json:
        click.echo(json.dumps(found))
        return
    for name, number in found.items():
        click.echo(f"{name + ':':11} {number:,}")


@command.command("check")
@_store
@options.config_options
def check(store: str | None, config_path: str | None, no_config: bool) -> None:  # noqa: FBT001
    """Reads the whole store and compares it with what was written.

    Exits with 0, 2 on wrong usage, 3 when it is damaged.
    """
    with _opened(store, options.resolve(config_path, no_config, {})) as memories:
        memories.check()
        click.echo(f"whole: {_count(sum(memories.stats('*')[:3]))}")


@command.command("export")
@_scope
@_store
@click.option("-o", "--output", "target", metavar="FILE", help="Write to FILE, whole or not at all.")
@options.config_options
def export(scope: str, store: str | None, target: str | None, config_path: str | None, no_config: bool) -> None:  # noqa: FBT001
    """Writes the memories of a scope as JSON lines, past ones too, the oldest first."""
    settings = options.resolve(config_path, no_config, {})
    path = Path(target) if target is not None else None
    inputs.check_apart([("--output", path)], [_path(store, settings), *settings.inputs])
    with _opened(store, settings) as memories:
        lines = memories.export(scope)
        if path is None:
            for line in lines:
                click.echo(line)
            return
        text = "".join(f"{line}\n" for line in lines)
        run.save(path, text)
        output.info(_count(text.count("\n")))


@command.command("import")
@_scope
@click.argument("file", metavar="[FILE|-]", required=False)
@_store
@options.policy_options
def import_(
    scope: str,
    file: str | None,
    store: str | None,
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
    **given: Any,
) -> None:
    """Writes what `export` gave, redacted: all of it, or nothing.

    A line that does not belong in the scope is an error, and so is an id that is there already.
    """
    settings = options.resolve(config_path, no_config, given)
    if file is None:
        (file,) = inputs.default()
    lines = _lines(sys.stdin.buffer if file == "-" else _read(file))
    with _opened(store, settings, new=True) as memories:
        click.echo(_count(memories.import_lines(lines, scope)))


def _path(store: str | None, settings: options.Settings) -> Path:
    found = store if store is not None else settings["memory"]
    if found is None:
        raise click.UsageError("name the store: --store FILE, or memory = ... in a settings file")
    return Path(found)


def _opened(store: str | None, settings: options.Settings, *, new: bool = False) -> MemoryStore:
    from ctxproto import MemoryStore, StoreError

    path = _path(store, settings)
    # A mistyped name is not to become a new, empty store.
    if not new and not path.exists():
        raise StoreError(f"{shown_path(path)}: there is no such file")
    return MemoryStore(path, redactor=settings.redactor() if new else None)


def _read(file: str) -> Iterable[bytes]:
    try:
        return Path(file).read_bytes().split(b"\n")
    except OSError as error:
        reason = error.strerror
    raise OSError(f"cannot read {shown_path(Path(file))}: {reason}")


def _lines(lines: Iterable[bytes]) -> list[str]:
    return [line.decode("utf-8", "replace") for line in lines if line.strip()]


def _ask(question: str) -> None:
    if not sys.stdin.isatty():
        raise click.UsageError("nobody can be asked here: add --yes if it is to be done")
    if not click.confirm(question, err=True):
        raise click.Abort


def _count(number: int) -> str:
    return f"{number:,} memory" if number == 1 else f"{number:,} memories"


def _line(record: MemoryRecord, **more: float) -> str:
    from ctxproto.memory.exchange import line_of

    line = line_of(record)
    return line if not more else f"{line[:-1]}, {json.dumps(more)[1:]}"


def _shown(record: MemoryRecord) -> str:
    first = output.printable(record.content.strip().split("\n", 1)[0])
    return f"{record.memory_id}  {record.created:%Y-%m-%d}  {output.printable(str(record.namespace))}  {first}"
