"""`ctxproto config`: what holds here, and why."""

from __future__ import annotations

import json
from typing import Any

import click

from ctxproto.cli import options, output, usage


@click.group("config", cls=usage.Group)
def command() -> None:
    """Shows the settings."""


@command.command("show")
@click.option("--json", "as_json", is_flag=True, help="As one JSON document.")
@options.work_options
@options.placeholder_option
@options.policy_options
def show(as_json: bool, config_path: str | None, no_config: bool, **given: Any) -> None:  # noqa: FBT001
    """Shows every setting with its value and where that comes from."""
    settings = options.resolve(config_path, no_config, given).settings
    # What is allowed may be somebody's fixed test password: how many there are is enough.
    shown = {key: _shown(key, setting.value) for key, setting in settings.items()}
    if as_json:
        document = {key: {"value": shown[key], "source": setting.source} for key, setting in settings.items()}
        click.echo(json.dumps({"schema": 1, "settings": document}, indent=2, ensure_ascii=False))
        return
    lines = {key: "" if value is None else json.dumps(value, ensure_ascii=False) for key, value in shown.items()}
    width = max(len(line) for line in lines.values())
    for key, line in lines.items():
        click.echo(f"{key:15} {line:{width}}  {output.printable(settings[key].source)}")


def _shown(key: str, value: Any) -> Any:
    if key == "allow.values":
        return output.count(len(value), "value")
    # What looks like a secret all the same is not shown here either.
    from ctxproto.tools.redact import shown_value

    return shown_value(value)
