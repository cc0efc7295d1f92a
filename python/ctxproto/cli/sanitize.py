"""`ctxproto sanitize`: the same files, with nothing dangerous left in them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import click

from ctxproto.cli import FAILED, inputs, options, output, run, usage
from ctxproto.tools.redact import shown_path


@click.command("sanitize", cls=usage.Command)
@click.argument("paths", metavar="[PATH ...|-]", nargs=-1)
@click.option(
    "-o",
    "--output",
    "out",
    metavar="OUT",
    help="A file for one input, a directory for several or for a directory.",
)
@click.option("--in-place", is_flag=True, help="Rewrite the inputs; those without findings are not touched.")
@click.option("--report", metavar="FILE", help="Write what was found where (JSON, never a value) to FILE.")
@options.work_options
@options.placeholder_option
@options.policy_options
def command(
    paths: tuple[str, ...],
    out: str | None,
    in_place: bool,  # noqa: FBT001
    report: str | None,
    config_path: str | None,
    no_config: bool,  # noqa: FBT001
    **given: Any,
) -> int:
    """Replaces secrets and personal data in files, directories, patterns or a pipe.

    A single file, or standard input, goes to standard output unless -o or --in-place says otherwise. gzip and
    zstd are recognised and kept. Links in directories are skipped, and so is binary data (a NUL near the beginning);
    binary data that should go to standard output is an error instead. An output file appears whole or not at all.

    \b
    ctxproto sanitize logs/ -o clean/ --report report.json
    ctxproto sanitize --in-place 'logs/**/*.log'
    kubectl logs app | ctxproto sanitize > app.log

    Exits with 0 when all of it is done, whatever was found, 2 on wrong usage, 3 when some inputs failed.
    """  # noqa: D301 - click wants the character
    paths = paths or inputs.default()
    settings = options.resolve(config_path, no_config, given)
    report_path = Path(report) if report is not None else None
    _check(paths, out, in_place)
    # An output that somebody reads must not be empty without an error.
    account = run.Account(settings.redactor(), binary_fails=not in_place and out in (None, run.STDIN))
    details = options.DETAILS if report_path else 0
    piped = paths == (run.STDIN,)
    jobs = [] if piped else _jobs(account, paths, out, in_place, report_path)
    targets = [("-o", target) for _, _, target in jobs]
    read = [path for path, _, _ in jobs] if jobs else paths
    inputs.check_apart([*targets, ("--report", report_path)], [*map(os.fsdecode, read), *settings.inputs])
    try:
        if piped:
            run.pipe(account, settings, details, write=True)
        else:
            run.files(account, jobs, settings, details)
        account.ended = True
    finally:
        # Also after an interrupt: what was done stays done.
        _summary(account)
        if report_path is not None:
            document = json.dumps(account.document("sanitize"), indent=2, ensure_ascii=False)
            run.save(report_path, document + "\n")
    return FAILED if account.failed else 0


def _check(paths: tuple[str, ...], out: str | None, in_place: bool) -> None:  # noqa: FBT001
    if in_place and out is not None:
        raise click.UsageError("-o and --in-place exclude each other")
    inputs.check(paths)
    if run.STDIN in paths:
        if in_place:
            raise click.UsageError("standard input cannot be rewritten in place")
        if out not in (None, run.STDIN):
            raise click.UsageError("standard input goes to standard output; redirect it instead of -o")


def _jobs(
    account: run.Account,
    paths: tuple[str, ...],
    out: str | None,
    in_place: bool,  # noqa: FBT001
    report: Path | None,
) -> list[run.Job]:
    to_stdout = out in (None, run.STDIN) and not in_place
    target = None if out is None or to_stdout else Path(out)
    found = inputs.expand(paths, exclude=[path for path in (target, report) if path is not None])
    if to_stdout and not found.single:
        raise click.UsageError("several inputs, or a directory, need -o DIRECTORY or --in-place")
    account.add_inputs(found)
    if to_stdout:
        return [(path, "print", None) for path in found.files]
    if target is None:
        return [(path, "replace", None) for path in found.files]
    if found.single and not target.is_dir() and not str(out).endswith("/"):
        return [(path, "write", target) for path in found.files]
    if target.exists() and not target.is_dir():
        raise click.UsageError(f"{shown_path(target)} is not a directory, and several inputs need one")
    return [(path, "write", inputs.mirrored(path, found.base, target)) for path in found.files]


def _summary(account: run.Account) -> None:
    changed = account.number("found")
    parts = [
        f"{output.count(account.findings, 'finding')} replaced"
        + (f" in {output.count(changed, 'input')}" if changed else ""),
    ]
    parts += [f"{account.number(status)} {status}" for status in ("skipped", "failed") if account.number(status)]
    size = sum(entry.bytes_text for entry in account.entries)
    begin = "sanitized" if account.ended else "stopped after"
    done = account.number("clean", "found")
    output.info(f"{begin} {output.count(done, 'input')} ({output.size(size)}): {', '.join(parts)}")
    output.table(account.by_label())
