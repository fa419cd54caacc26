"""`whence show`: one dataset, what it was made from and what was made from it."""

from __future__ import annotations

import click

from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json


@click.command("show")
@click.argument("dataset")
@log_option
@blobs_option
@json_option
def command(dataset: str, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Show one dataset: its shape, what it was made from, what was made from it, and how small that is stored."""
    with open_log(log, blobs) as opened:
        description = opened.show(named(opened, dataset))
    if as_json:
        emit_json(description.as_dict())
    else:
        click.echo(str(description))
