"""`whence diff`: what differs between two runs, or two versions of a file."""

from __future__ import annotations

import click

from whence.cli._complete import vertex_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json


@click.command("diff")
@click.argument("one", shell_complete=vertex_names)
@click.argument("other", shell_complete=vertex_names)
@log_option
@blobs_option
@json_option
def command(one: str, other: str, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Show what differs between two runs: parameters, inputs, code, outputs, exit status, commit.

    ONE and OTHER are activities (train.py#1, as `whence ls --operations` lists them), or files or versions of files;
    then the command compares the runs that made them. If inputs differ, it also compares the runs that made these.

    \b
      whence diff train.py#1 train.py#2
      whence diff metrics.json@v1 metrics.json@v2
    """
    with open_log(log, blobs) as opened:
        found = opened.diff(named(opened, one), named(opened, other))
    if as_json:
        emit_json(found.as_dict())
    else:
        click.echo(str(found))
