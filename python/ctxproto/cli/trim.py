"""`ctxproto trim`: files or a pipe within a budget of tokens."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click

from ctxproto.cli import FAILED, inputs, options, run, usage
from ctxproto.cli.count import tokenizer

_STRATEGIES = (
    "auto", "first_n", "last_n", "head_tail", "lines", "json", "table", "diff", "field_whitelist", "summary",
)  # fmt: skip


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

    Errors, exit codes and last lines outlive the rest; JSON stays JSON. The first line says what is missing. gzip and
    zstd are recognised. Links in directories are skipped, and so is binary data, which alone is an error.

    \b
    pytest 2>&1 | ctxproto trim --tokens 800
    ctxproto trim response.json --strategy field_whitelist --field "items.*.id"

    Exits with 0, 2 on wrong usage, 3 when some inputs could not be read or trimmed.
    """  # noqa: D301 - click wants the character
    from ctxproto.tools.trim import Trimmer, trim_read

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
    texts = inputs.Texts(paths)
    report_path = Path(report) if report is not None else None
    inputs.check_apart([("--report", report_path)], [*texts.files, *settings.inputs])
    lost = []
    for name, trimmed in texts.each(lambda reader: trim_read(trimmer, reader)):
        if len(texts.files) > 1:
            click.echo(f"==> {name} <==")
        sys.stdout.flush()
        sys.stdout.buffer.write(trimmed.text)
        sys.stdout.buffer.flush()
        lost.append({"path": name, **trimmed.loss._asdict(), "replaced": len(trimmed.replaced)})
    if report_path is not None:
        run.save(report_path, "".join(json.dumps(one, ensure_ascii=False) + "\n" for one in lost))
    return FAILED if texts.failed else 0
