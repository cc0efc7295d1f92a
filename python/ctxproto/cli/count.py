"""`ctxproto count`: tokens of files or a pipe."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from ctxproto.cli import FAILED, inputs, output, usage

if TYPE_CHECKING:
    from ctxproto.tokens import Tokenizer


def tokenizer(encoding: str | None, model: str | None) -> Tokenizer:
    """What `--encoding` and `--model` ask for."""
    from ctxproto.tokens import Tokenizer

    if encoding and model:
        raise click.UsageError("--encoding and --model exclude each other")
    return Tokenizer.for_model(model) if model else Tokenizer(encoding or "o200k_base")


@click.command("count", cls=usage.Command)
@click.argument("paths", metavar="[PATH ...|-]", nargs=-1)
@click.option("--encoding", metavar="NAME", help="An encoding, such as o200k_base (the default) or cl100k_base.")
@click.option(
    "--model", metavar="NAME", help="A model; those without a public tokenizer are estimated, and it is said."
)
@click.option("--json", "as_json", is_flag=True, help="As JSON lines.")
def command(paths: tuple[str, ...], encoding: str | None, model: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Counts the tokens of files, directories, patterns or a pipe, whatever their size.

    gzip and zstd are recognised. Links in directories are skipped, and so is binary data, which alone is an error.

    \b
    ctxproto count prompt.md
    kubectl logs app | ctxproto count --model gpt-4o

    Exits with 0, 2 on wrong usage, 3 when some inputs could not be read.
    """  # noqa: D301 - click wants the character
    paths = paths or inputs.default()
    inputs.check(paths)
    by = tokenizer(encoding, model)
    texts = inputs.Texts(paths)
    several = len(texts.files) > 1
    total = 0
    for name, tokens in texts.each(lambda reader: _count(by, reader)):
        total += tokens
        if as_json:
            told = {"path": name, "tokens": tokens, "encoding": by.name, "exact": by.exact}
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            click.echo(f"{tokens:>12}  {name}" if several else str(tokens))
    if several and not as_json:
        click.echo(f"{total:>12}  total")
    if not by.exact:
        output.info(f"an estimate: the model's tokenizer is not public ({by.name} scaled)")
    return FAILED if texts.failed else 0


def _count(by: Tokenizer, reader: inputs.Reader) -> int | None:
    counter = by.counter()
    return counter.count if reader(counter.feed) else None
