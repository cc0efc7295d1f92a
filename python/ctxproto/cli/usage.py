"""Commands and options whose errors do not repeat what was typed: it may be a secret in the wrong place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from ctxproto.errors import nearest, shown

if TYPE_CHECKING:
    from collections.abc import Iterable


class Command(click.Command):
    """A command that tells its usage errors without their values."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, but for the messages."""
        ctx.allow_extra_args = True
        rest = _parsed(super().parse_args, ctx, args)
        if rest and not ctx.resilient_parsing:
            number = "one more argument" if len(rest) == 1 else f"{len(rest)} more arguments"
            raise click.UsageError(f"there is {number} than {ctx.command_path} takes", ctx)
        return rest


class Group(click.Group):
    """A group of such commands."""

    command_class = Command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """As click's, but for the messages."""
        return _parsed(super().parse_args, ctx, args)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click's, but for the message."""
        names = self.list_commands(ctx)
        if args and args[0] not in names and not ctx.resilient_parsing:
            near = nearest(args[0], names) or f"; the commands are {', '.join(names)}"
            raise click.UsageError(f"there is no such command{near}", ctx)
        return super().resolve_command(ctx, args)


def _parsed(parse: Any, ctx: click.Context, args: list[str]) -> list[str]:
    near: list[str] = []
    try:
        return list(parse(ctx, args))
    except click.NoSuchOption as error:
        near = sorted(error.possibilities or [])
    # Outside of the handler: the error that was caught carries what was typed.
    hint = f"; did you mean {' or '.join(near)}?" if near else f"; see {ctx.command_path} --help"
    raise click.UsageError(f"there is no such option{hint}", ctx)


class OneOf(click.Choice):  # type: ignore[type-arg, unused-ignore] # generic from click 8.2 on
    """One of some words."""

    def __init__(self, choices: Iterable[str]) -> None:
        """Takes the words."""
        super().__init__(list(choices))

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """As click's, but for the message."""
        if value not in self.choices:
            words = ", ".join(self.choices)
            self.fail(f"it is one of {words}, not {shown(value)}{nearest(value, self.choices)}", param, ctx)
        return value


class WholeNumber(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A whole number in a range."""

    name = "number"

    def __init__(self, least: int, most: int) -> None:
        """Takes the limits, both included."""
        self._least, self._most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Reads decimal digits."""
        if isinstance(value, int):
            return value
        digits = value if value.isascii() and value.isdigit() and len(value) < 10 else "-1"
        if not self._least <= int(digits) <= self._most:
            self.fail(f"it is a whole number from {self._least} to {self._most}, not {shown(value)}", param, ctx)
        return int(digits)

    def get_metavar(self, param: click.Parameter, ctx: click.Context | None = None) -> str:  # noqa: ARG002
        """What help shows for the value."""
        return "N"
