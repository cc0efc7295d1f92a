"""`ctxproto rules`: what is looked for."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ctxproto.cli import FAILED, USAGE, options, output, usage
from ctxproto.errors import ConfigError, nearest
from ctxproto.tools.redact import shown_path

if TYPE_CHECKING:
    from ctxproto import Rule


@click.group("rules", cls=usage.Group)
def command() -> None:
    """Lists, shows, checks and tests the rules: what is looked for."""


@command.command("list")
@click.option("--json", "as_json", is_flag=True, help="As JSON lines.")
@options.policy_options
def list_(as_json: bool, config_path: str | None, no_config: bool, **given: Any) -> None:  # noqa: FBT001
    """Lists the active rules: id, label, description."""
    rules = options.resolve(config_path, no_config, given).redactor().rules
    if as_json:
        for rule in rules:
            click.echo(json.dumps(_fields(rule), ensure_ascii=False))
        return
    ids = max((len(rule.id) for rule in rules), default=0)
    labels = max((len(rule.label) for rule in rules), default=0)
    for rule in rules:
        click.echo(f"{rule.id:{ids}}  {rule.label:{labels}}  {rule.name}")
    output.info(output.count(len(rules), "rule"))


@command.command("show")
@click.argument("rule")
@options.policy_options
def show(rule: str, config_path: str | None, no_config: bool, **given: Any) -> None:  # noqa: FBT001
    """Shows one rule, by its id or label."""
    rules = options.resolve(config_path, no_config, given).redactor().rules
    shown = [one for one in rules if rule in (one.id, one.label)]
    if not shown:
        near = nearest(rule, [name for one in rules for name in (one.id, one.label)])
        raise ConfigError(f"there is no such active rule{near or '; see ctxproto rules list'}")
    for one in shown:
        for key, value in _fields(one).items():
            for line in value if isinstance(value, list) else [value]:
                click.echo(f"{key + ':':8} {output.printable(line)}")
        click.echo()


@command.command("check")
@click.argument("files", metavar="FILE ...", nargs=-1, required=True)
def check(files: tuple[str, ...]) -> int:
    """Checks rule files, ours or gitleaks'.

    Says what cannot be compiled or honoured.

    Exits with 0 when all of it is understood, 2 when a file cannot be used, 3 when parts of it are left out.
    """
    from ctxproto import Redactor

    status = 0
    for file in files:
        try:
            redactor = Redactor(profile="none", rules=[Path(file)])
        except ConfigError as error:
            output.error(str(error))
            status = USAGE
            continue
        for sentence in redactor.warnings:
            output.warning(sentence)
            status = status or FAILED
        left_out = f", {output.count(len(redactor.warnings), 'warning')}" if redactor.warnings else ""
        click.echo(f"{shown_path(file)}: {output.count(len(redactor.rules), 'rule')}{left_out}")
    return status


@command.command("test")
@options.policy_options
def test(config_path: str | None, no_config: bool, **given: Any) -> int:  # noqa: FBT001
    """Tests the active rules.

    Each is held against examples and near misses that are generated from its own form. Exits with 3 when one fails.
    """
    from ctxproto import _core

    redactor = options.resolve(config_path, no_config, given).redactor()
    failures = _core.rules_test(redactor)
    for rule, reason in failures:
        output.error(f"{rule}: {reason}")
    click.echo(f"{output.count(len(redactor.rules), 'rule')} tested, {len(failures)} failed")
    return FAILED if failures else 0


def _fields(rule: Rule) -> dict[str, Any]:
    kind = "personal data" if rule.pii else "secret"
    fields: dict[str, Any] = {
        "id": rule.id,
        "label": rule.label,
        "name": rule.name,
        "kind": kind,
        "source": rule.source,
        "form": rule.form,
    }
    if rule.near:
        fields["near"] = rule.near
    if rule.check:
        fields["check"] = rule.check
    return fields
