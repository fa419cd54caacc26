"""Shared by `whence ancestors`, `descendants`, `blame` and `versions`: commands that take names and print a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from whence.cli._complete import vertex_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json, emit_table

if TYPE_CHECKING:
    from whence.log import Log

COLUMNS = ("name", "kind", "about", "by", "when", "now")
revisions_option = click.option(
    "--revisions",
    is_flag=True,
    help="Also go from each version to the version that it replaced, even if no run read that one.",
)


def question(name: str, ask: Callable[[Log, list[str], bool], Any], help: str, *, none: str) -> click.Command:
    """Return a command that lists what is reached from NAMES."""

    @click.command(name, help=help)
    @click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=vertex_names)
    @revisions_option
    @log_option
    @blobs_option
    @json_option
    def command(names: Sequence[str], revisions: bool, log: str | None, blobs: str | None, as_json: bool) -> None:
        with open_log(log, blobs) as opened:
            found = ask(opened, [named(opened, each) for each in names], revisions)
            emit_things(found, as_json, none)

    return command


def emit_things(found: Any, as_json: bool, none: str) -> None:
    """Print a list of vertices as a table or as JSON."""
    rows = found.rows()
    if as_json:
        emit_json({"found": rows})
        return
    emit_table(COLUMNS, [[row[name] for name in COLUMNS] for row in rows])
    if not rows:
        click.echo(none, err=True)
