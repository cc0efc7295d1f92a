"""`ctxproto audit`: what an audit log is worth."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from ctxproto.cli import FOUND, output, usage

_KEY = "CTXPROTO_AUDIT_KEY"


@click.group("audit", cls=usage.Group)
def command() -> None:
    """Look into the logs that `AuditLog` writes."""


@command.command("verify")
@click.argument("path", metavar="FILE")
@click.option("--head", metavar="HASH", help="A hash that the log had, kept elsewhere: what was cut off shows.")
@click.option("--json", "as_json", is_flag=True, help="Print the verdict as JSON.")
def verify(path: str, head: str | None, as_json: bool) -> int:  # noqa: FBT001
    """Checks a log with all its files: what was changed, removed, added, or put elsewhere.

    The key of its chain, where it has one, is in CTXPROTO_AUDIT_KEY.

    Exits with 0, 1 when something is wrong with the log, 2 on wrong usage, 3 when it cannot be read.
    """
    from ctxproto.audit.verify import verify_audit_log

    key = os.environ.get(_KEY)
    secret = None if key is None else key.encode("utf-8", "surrogateescape")
    verdict = verify_audit_log(Path(path), key=secret, head=head)
    if as_json:
        document: dict[str, Any] = {**verdict._asdict(), "problems": [one._asdict() for one in verdict.problems]}
        output.write_json(document, sys.stdout)
    for problem in verdict.problems:
        output.error(f"{output.printable(problem.file)}, line {problem.line}: {problem.what}")
    chained = "chained" if verdict.chained else "not chained: changes do not show"
    since = f" from line {verdict.first:,} on" if verdict.first else ""
    output.info(
        f"{output.count(verdict.records, 'line')}{since} in {output.count(verdict.files, 'file')}, {chained}, "
        f"{output.count(len(verdict.problems), 'problem')}"
    )
    return FOUND if verdict.problems else 0
