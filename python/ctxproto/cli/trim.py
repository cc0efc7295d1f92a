"""`ctxproto trim`: files or a pipe within a budget of tokens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import click

from ctxproto.cli import FAILED, inputs, options, output, usage
from ctxproto.cli.count import tokenizer
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ctxproto.tools.trim import Trimmed, Trimmer

_CHUNK = 1 << 20
_STRATEGIES = (
    "auto", "first_n", "last_n", "head_tail", "lines", "json", "table", "diff", "field_whitelist", "summary",
)  # fmt: skip
# These see the text go by; the others hold all of it.
_IN_PIECES = frozenset({"first_n", "last_n", "head_tail", "lines"})


@click.command("trim", cls=usage.Command)
@click.argument("paths", metavar="[PATH ...|-]", nargs=-1)
@click.option("--tokens", type=click.IntRange(min=1), default=2000, show_default=True, help="The most for each input.")
@click.option("--strategy", type=usage.OneOf(_STRATEGIES), default="auto", show_default=True, help="What is kept.")
@click.option("--field", "fields", multiple=True, metavar="PATH", help="A field to keep, as items.*.id (repeatable).")
@click.option("--pattern", "patterns", multiple=True, metavar="REGEX", help="What to keep first (repeatable).")
@click.option("--encoding", metavar="NAME", help="What counts: o200k_base unless given.")
@click.option("--model", metavar="NAME", help="Count as this model does.")
@click.option("--report", metavar="FILE", help="Write what was lost to FILE, a JSON line for each input.")
@options.policy_options
def command(
    paths: tuple[str, ...],
    tokens: int,
    strategy: str,
    fields: tuple[str, ...],
    patterns: tuple[str, ...],
    encoding: str | None,
    model: str | None,
    report: str | None,
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
    **given: Any,
) -> int:
    """Redacts files, directories, patterns or a pipe and cuts each to a number of tokens.

    Errors, exit codes and last lines outlive the rest; JSON stays JSON. The first line says what is missing.

    \b
    pytest 2>&1 | ctxproto trim --tokens 800
    ctxproto trim response.json --strategy field_whitelist --field "items.*.id"

    Exits with 0, 2 on wrong usage, 3 when some inputs could not be read or trimmed.
    """  # noqa: D301 - click wants the character
    from ctxproto.errors import BudgetError
    from ctxproto.tools.trim import Trimmer

    paths = paths or inputs.default()
    inputs.check(paths)
    if fields and strategy != "field_whitelist":
        raise click.UsageError("--field goes with --strategy field_whitelist")
    if patterns and strategy not in ("auto", "lines", "json", "table", "diff"):
        raise click.UsageError("--pattern goes with --strategy auto, lines, json, table and diff")
    settings = options.resolve(config_path, no_config, given)
    trimmer = Trimmer(
        tokens,
        strategy=strategy,  # type: ignore[arg-type]
        fields=fields,
        patterns=patterns,
        tokenizer=tokenizer(encoding, model),
        redactor=settings.redactor(),
    )
    failed = 0
    lost = []
    stdin = paths == ("-",)
    expanded = inputs.Inputs(files=[Path("-")]) if stdin else inputs.expand(paths)
    for path, reason in expanded.failed:
        failed += 1
        output.error(f"{shown_path(path)}: {reason}")
    for path in expanded.files:
        name = shown_path(path)
        try:
            if stdin:
                trimmed = _trimmed(trimmer, sys.stdin.buffer)
            else:
                with path.open("rb") as file:
                    trimmed = _trimmed(trimmer, file)
        except OSError as error:
            failed += 1
            output.error(f"{name}: {error.strerror}")
            continue
        except BudgetError as error:
            failed += 1
            output.error(f"{name}: {error}")
            continue
        if len(expanded.files) > 1:
            click.echo(f"==> {name} <==")
        sys.stdout.flush()
        sys.stdout.buffer.write(trimmed.text)
        sys.stdout.buffer.flush()
        lost.append({"path": name, **trimmed.loss._asdict(), "replaced": len(trimmed.replaced)})
    if report:
        Path(report).write_text("".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lost), encoding="utf-8")
    return FAILED if failed else 0


def _trimmed(trimmer: Trimmer, file: BinaryIO) -> Trimmed[bytes]:
    if trimmer.strategy in _IN_PIECES:
        return trimmer.trim_iter(_chunks(file), whole=True)
    return trimmer.trim(file.read())


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
