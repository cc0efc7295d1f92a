"""`ctxproto scan`: says where something is, and leaves it there."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ctxproto.cli import FAILED, FOUND, baseline, inputs, options, output, run, sarif, usage

if TYPE_CHECKING:
    from typing import Self

    from ctxproto import Finding


@click.command("scan", cls=usage.Command)
@click.argument("paths", metavar="[PATH ...|-]", nargs=-1)
@click.option(
    "--output-format",
    type=usage.OneOf(["text", "json", "jsonl", "sarif"]),
    default="text",
    show_default=True,
    help="How findings are written.",
)
@click.option("-o", "--output", "out", metavar="FILE", help="Write them to FILE instead of standard output.")
@click.option("--baseline", "known", metavar="FILE", help="Leave out what FILE says was found before.")
@click.option("--write-baseline", metavar="FILE", help="Write all that is found now to FILE, and exit with 0.")
@click.option("--no-inline-allow", is_flag=True, help="Do not honour ctxproto:allow comments in the inputs.")
@options.work_options
@options.policy_options
def command(
    paths: tuple[str, ...],
    output_format: str,
    out: str | None,
    known: str | None,
    write_baseline: str | None,
    no_inline_allow: bool,  # noqa: FBT001
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
    **given: Any,
) -> int:
    """Finds secrets and personal data in files, directories, patterns or a pipe; changes nothing.

    A finding names its rule and place, never its value; fingerprints are comparable between runs that use
    one baseline or one CTXPROTO_KEY. Binary data and links in directories are skipped, and said so.

    \b
    ctxproto scan .
    ctxproto scan . --write-baseline known.json
    ctxproto scan . --baseline known.json --output-format sarif -o found.sarif

    Exits with 0 when nothing was found, 1 when something was, 2 on wrong usage, 3 when some inputs could not be
    read, whatever was found in the others. In JSON, "complete" says that none failed and nothing stopped the run.
    """  # noqa: D301 - click wants the character
    paths = paths or inputs.default()
    inputs.check(paths)
    settings = options.resolve(config_path, no_config, given)
    own = [Path(path) if path not in (None, run.STDIN) else None for path in (out, write_baseline, known)]
    piped = paths == (run.STDIN,)
    expanded = inputs.Inputs() if piped else inputs.expand(paths, exclude=[path for path in own if path is not None])
    read = [*(paths if piped else expanded.files), *settings.inputs]
    inputs.check_apart([("-o", own[0]), ("--write-baseline", own[1])], read)
    # A baseline may be brought up to date; findings are none.
    inputs.check_apart([("-o", own[0])], [own[2]] if own[2] is not None else [])
    base = baseline.load(known, write_baseline)
    account = run.Account(settings.redactor(key=base.key if base else None, inline=not no_inline_allow))
    old = 0

    def each(entry: run.Entry) -> None:
        nonlocal old
        # Everything goes into a new baseline; only what the old one did not have is told.
        if base is not None:
            old += base.sift(entry)
        if output_format in {"text", "jsonl"}:
            for found in entry.findings:
                writer.line(_text(entry, found) if output_format == "text" else _json_line(entry, found))

    with _Writer(out) as writer:
        try:
            if piped:
                each(run.pipe(account, settings, options.DETAILS, write=False))
            else:
                account.add_inputs(expanded)
                jobs: list[run.Job] = [(path, "scan", None) for path in expanded.files]
                run.files(account, jobs, settings, options.DETAILS, each)
            account.ended = True
            if output_format == "json":
                writer.document(account.document("scan"))
            elif output_format == "sarif":
                writer.document(sarif.document(account))
        finally:
            _summary(account, old)
    if base is not None and write_baseline is not None:
        base.save()
    if account.failed:
        return FAILED
    return FOUND if account.findings and write_baseline is None else 0


class _Writer:
    """Standard output, or a file that appears when all of it is written."""

    def __init__(self, out: str | None) -> None:
        self._path = None if out in (None, run.STDIN) else Path(str(out))
        self._text = io.StringIO() if self._path else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._path and self._text and kind is None:
            run.save(self._path, self._text.getvalue())

    def line(self, text: str) -> None:
        """Writes a line at once."""
        print(text, file=self._text or sys.stdout, flush=self._text is None)

    def document(self, document: dict[str, Any]) -> None:
        """Writes one JSON document."""
        output.write_json(document, self._text or sys.stdout)


def _text(entry: run.Entry, found: Finding) -> str:
    place = f"{entry.path}:{found.line}:{found.column}"
    key = f" at {output.printable(found.key_path)}" if found.key_path else ""
    return f"{place}: {found.rule} {found.label}{key} {found.fingerprint}"


def _json_line(entry: run.Entry, found: Finding) -> str:
    return json.dumps({"schema": 1, "path": entry.path, **run.finding(found)}, ensure_ascii=False)


def _summary(account: run.Account, old: int) -> None:
    hit = account.number("found")
    parts = [output.count(account.findings, "finding") + (f" in {output.count(hit, 'input')}" if hit else "")]
    if old:
        parts.append(f"{old:,} known from the baseline")
    parts += [f"{account.number(status)} {status}" for status in ("skipped", "failed") if account.number(status)]
    size = sum(entry.bytes_text for entry in account.entries)
    begin = "scanned" if account.ended else "stopped after"
    done = account.number("clean", "found")
    output.info(f"{begin} {output.count(done, 'input')} ({output.size(size)}): {', '.join(parts)}")
    output.table(account.by_label())
    for entry in account.entries:
        if entry.total > len(entry.findings):
            listed = f"only the first {len(entry.findings):,} of {entry.total:,} findings are listed"
            output.warning(f"{entry.path}: {listed}")
