"""The command line: `ctxproto COMMAND`.

Commands are imported when they are called, so that `--help` and completion stay fast.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

import click

from ctxproto import __version__
from ctxproto.cli import usage

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]

FOUND, USAGE, FAILED, INTERRUPTED = 1, 2, 3, 130

# One table for help, completion and dispatch: name -> (module, what it does).
_COMMANDS = {
    "sanitize": ("sanitize", "Replace secrets and personal data in files or a pipe"),
    "scan": ("scan", "Find them and say where; exit with 1 if there are any"),
    "count": ("count", "Count the tokens of files or a pipe"),
    "trim": ("trim", "Redact files or a pipe and cut them to a number of tokens"),
    "audit": ("audit", "Check that an audit log is whole and unchanged"),
    "snapshot": ("snapshot", "Show what a model saw, or what differs between two calls"),
    "memory": ("memory", "Write, find, list and forget what agents remember"),
    "rules": ("rules", "List, show, check and test the rules"),
    "config": ("config", "Show the settings and where they come from"),
    "completion": ("completion", "Print a completion script for a shell"),
}


class ReaderGone(Exception):  # noqa: N818
    """Whoever read the output has seen enough: not an error."""


class _Commands(usage.Group):
    def invoke(self, ctx: click.Context) -> object:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # click would take it for an error and exit with 1.
            raise ReaderGone from None

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in _COMMANDS:
            return None
        module = importlib.import_module(f"ctxproto.cli.{_COMMANDS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in _COMMANDS.items()])


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="ctxproto %(version)s")
def cli() -> None:
    """Keep secrets and personal data out of logs and of what an LLM agent sees.

    Exit status: 0 done, 1 something was found (scan) or turned away (memory add), 2 wrong usage or settings, 3 some
    inputs failed, 130 interrupted.
    """


def main(args: Sequence[str] | None = None) -> None:
    """Runs the command line and exits."""
    _occupy_closed_streams()
    status = _run(args)
    try:
        sys.stdout.flush()
    except OSError:
        # It was told, or nobody reads: the interpreter must not try again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(status)


def _occupy_closed_streams() -> None:
    """A standard stream that was closed must not become the number of the next file that is opened."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # The wrong way round for the first two: using them is still an error.
            mode = os.O_RDONLY if name == "stdout" else os.O_WRONLY
            descriptor = os.open(os.devnull, mode)
            if descriptor != number:
                os.dup2(descriptor, number)
                os.close(descriptor)
            if name == "stdout":
                # Fails when something is written: an output must not be lost in silence.
                sys.stdout = open(number, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
            elif name == "stderr":
                sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115


def _run(args: Sequence[str] | None) -> int:
    from ctxproto.cli import output
    from ctxproto.errors import ConfigError, CtxprotoError

    try:
        status = cli.main(args, prog_name="ctxproto", standalone_mode=False)
        sys.stdout.flush()
    except click.ClickException as error:
        error.show()
        return USAGE
    except click.exceptions.Exit as end:
        return end.exit_code
    except (click.Abort, KeyboardInterrupt):
        output.error("interrupted")
        return INTERRUPTED
    except (ReaderGone, BrokenPipeError):
        # Nothing must be flushed into the closed pipe at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except ConfigError as error:
        output.error(str(error))
        return USAGE
    except CtxprotoError as error:
        output.error(str(error))
        return FAILED
    except OSError as error:
        # Our own have a message; the system's would add the file's name.
        output.error(error.strerror or str(error))
        return FAILED
    except Exception as error:  # noqa: BLE001 - a traceback would show what the error quotes
        output.error(f"bug in ctxproto ({_origin(error)}): please report it")
        return FAILED
    return status if isinstance(status, int) else 0


def _origin(error: Exception) -> str:
    """What kind of error it is and where it began, without its message."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} at {os.path.basename(frame.filename)}:{frame.lineno}"  # noqa: PTH119
