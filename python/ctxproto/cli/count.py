"""`ctxproto count`: tokens of files or a pipe."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, BinaryIO

import click

from ctxproto.cli import FAILED, inputs, output, usage
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from ctxproto.tokens import Tokenizer

_CHUNK = 1 << 20


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

    \b
    ctxproto count prompt.md
    kubectl logs app | ctxproto count --model gpt-4o

    Exits with 0, 2 on wrong usage, 3 when some inputs could not be read.
    """  # noqa: D301 - click wants the character
    paths = paths or inputs.default()
    inputs.check(paths)
    by = tokenizer(encoding, model)
    failed = total = 0

    def tell(name: str, tokens: int) -> None:
        if as_json:
            told = {"path": name, "tokens": tokens, "encoding": by.name, "exact": by.exact}
            click.echo(json.dumps(told, ensure_ascii=False))
        else:
            click.echo(f"{tokens:>12}  {name}" if len(found) > 1 else str(tokens))

    if paths == ("-",):
        found: list[object] = [None]
        tell("-", _count(by, sys.stdin.buffer))
    else:
        expanded = inputs.expand(paths)
        found = list(expanded.files)
        for path, reason in expanded.failed:
            failed += 1
            output.error(f"{shown_path(path)}: {reason}")
        for path in expanded.files:
            try:
                with path.open("rb") as file:
                    tokens = _count(by, file)
            except OSError as error:
                failed += 1
                output.error(f"{shown_path(path)}: {error.strerror}")
                continue
            total += tokens
            tell(shown_path(path), tokens)
        if len(found) > 1 and not as_json:
            click.echo(f"{total:>12}  total")
    if not by.exact:
        output.info(f"an estimate: the model's tokenizer is not public ({by.name} scaled)")
    return FAILED if failed else 0


def _count(by: Tokenizer, file: BinaryIO) -> int:
    counter = by.counter()
    while chunk := file.read(_CHUNK):
        counter.feed(chunk)
    return counter.count
