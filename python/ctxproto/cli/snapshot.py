"""`ctxproto snapshot`: what a model saw."""

from __future__ import annotations

import difflib
import json
from pathlib import Path
from typing import Any

import click

from ctxproto.cli import FOUND, output, usage


@click.group("snapshot", cls=usage.Group)
def command() -> None:
    """Shows the snapshots of contexts that `ContextDebugKit` writes, and what differs between two."""


@command.command("show")
@click.argument("path", metavar="FILE")
@click.option("--json", "as_json", is_flag=True, help="Print the snapshot as JSON.")
def show(path: str, as_json: bool) -> None:  # noqa: FBT001
    """Prints a snapshot: each message with its role and tokens, then what was decided."""
    import sys

    snapshot = _loaded(path)
    if as_json:
        output.write_json(snapshot, sys.stdout)
        return
    click.echo("\n".join(_lines(snapshot)))


@command.command("diff")
@click.argument("before", metavar="FILE")
@click.argument("after", metavar="FILE")
def diff(before: str, after: str) -> int:
    """Prints what differs between the messages of two snapshots.

    Exits with 0 when nothing does, 1 when something does, 2 on wrong usage, 3 when one cannot be read.
    """
    first, second = (_lines(_loaded(path)) for path in (before, after))
    changed = list(difflib.unified_diff(first, second, output.name(before), output.name(after), lineterm=""))
    for line in changed:
        click.echo(line)
    return FOUND if changed else 0


def _loaded(path: str) -> dict[str, Any]:
    from ctxproto.debug import ContextDebugKit

    return ContextDebugKit.load_snapshot(Path(path))


def _lines(snapshot: dict[str, Any]) -> list[str]:
    from ctxproto.tokens import default_tokenizer

    tokenizer = default_tokenizer()
    lines = [f"step {snapshot.get('step')}: {snapshot.get('message_count')} messages"]
    for at, message in enumerate(snapshot["messages"]):
        held = dict(message) if isinstance(message, dict) else {"content": message}
        role, content = held.pop("role", None), held.pop("content", None)
        text = content if isinstance(content, str) else "" if content is None else _json(content)
        lines.append(f"--- [{at}] {role}, {output.count(tokenizer.count(text), 'token')}")
        lines += text.splitlines()
        lines += [f"{name}: {_json(value)}" for name, value in held.items()]
    lines += [f"* {_json(entry)}" for entry in snapshot.get("audit_trail", [])]
    return [output.printable(line) for line in lines]


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)
