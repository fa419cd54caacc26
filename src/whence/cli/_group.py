"""The `whence` command: imports the module of a subcommand, and prints errors of whence as messages."""

from __future__ import annotations

import difflib
import functools
import importlib
import warnings
from collections.abc import Callable
from keyword import iskeyword
from typing import Any, NoReturn

import click

from whence.cli._shell import spoken
from whence.errors import WhenceError

# The order in `whence --help`: first steps, recording and questions, maintenance of the log, benchmarks.
COMMANDS: tuple[str, ...] = (
    "demo",
    "doctor",
    "ui",
    "run",
    "ls",
    "show",
    "backward",
    "forward",
    "explain",
    "query",
    "pipeline",
    "ancestors",
    "descendants",
    "blame",
    "versions",
    "diff",
    "segment",
    "summarize",
    "import",
    "export",
    "check",
    "delete",
    "gc",
    "bench",
)


class LazyGroup(click.Group):
    """A group whose subcommands are modules of `whence.cli`, imported on use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        found = importlib.import_module(f"whence.cli.{cmd_name}{'_' * iskeyword(cmd_name)}").command
        assert isinstance(found, click.Command)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their first sentences, which click would cut off."""
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, each.get_short_help_str(limit=200)) for name, each in found if each is not None])

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in COMMANDS:
            _unknown(args[0], ctx)
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.showwarning = functools.partial(_show_warning, warnings.showwarning)
                return super().invoke(ctx)
        except WhenceError as error:
            lines = [str(error), *getattr(error, "__notes__", ())]  # the notes name the file
            raise click.ClickException(spoken("\n".join(lines), _options_of_command(self, ctx))) from error


def _options_of_command(group: click.Group, ctx: click.Context) -> set[str]:
    """Return the options of the invoked command."""
    command = group.get_command(ctx, ctx.invoked_subcommand or "")
    return {option for each in (command.params if command else ()) for option in each.opts if option.startswith("--")}


def _show_warning(otherwise: Callable[..., None], message: Warning | str, category: type[Warning], *place: Any) -> None:
    """Print warnings of whence without their line of code, which is of no use on the command line."""
    if category.__module__.partition(".")[0] == "whence":
        click.echo(f"Warning: {message}", err=True)
    else:
        otherwise(message, category, *place)


def _unknown(name: str, ctx: click.Context) -> NoReturn:
    near = difflib.get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}?" if near else "`whence --help` lists them."
    raise click.UsageError(f"there is no command {name!r}; {hint}", ctx)


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name="whence", message="whence %(version)s")
def whence() -> None:
    """Where did this value come from, and where did it go?

    Commands read a log, the directory that `whence.open("project.whence")` makes. A command looks for it in
    --log, then in the environment variable WHENCE_LOG, then for a directory named *.whence here or above.

    \b
      whence demo                        see it work
      whence ls                          what the log holds
      whence backward spots 0,: --to X   which cells of X made row 0 of spots
    """
