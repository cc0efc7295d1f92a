"""`ctxproto completion`: TAB in the shell."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from ctxproto.cli import usage


@click.command("completion", cls=usage.Command)
@click.argument("shell", type=usage.OneOf(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Prints a completion script.

    \b
    bash:  eval "$(ctxproto completion bash)"  in ~/.bashrc
    zsh:   eval "$(ctxproto completion zsh)"  in ~/.zshrc
    fish:  ctxproto completion fish > ~/.config/fish/completions/ctxproto.fish
    """  # noqa: D301 - click wants the character
    from ctxproto.cli import cli

    found = get_completion_class(shell)
    if found is None:
        raise click.UsageError(f"there is no completion for {shell}")
    click.echo(found(cli, {}, "ctxproto", "_CTXPROTO_COMPLETE").source())
