"""`whence blame`: who is responsible for a file or dataset."""

from __future__ import annotations

from collections.abc import Sequence

import click

from whence.cli._complete import vertex_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json, emit_table
from whence.cli._project import revisions_option


@click.command("blame")
@click.argument("names", metavar="NAME...", nargs=-1, required=True, shell_complete=vertex_names)
@revisions_option
@log_option
@blobs_option
@json_option
def command(names: Sequence[str], revisions: bool, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Show who is responsible for files or datasets, and what each person ran or made.

    NAME is as for `whence ancestors`.

    \b
      whence blame results/metrics.json
    """
    with open_log(log, blobs) as opened:
        found = opened.blame([named(opened, each) for each in names], revisions=revisions)
    if as_json:
        emit_json({"agents": [{"agent": agent, "responsible_for": things} for agent, things in found.items()]})
        return
    emit_table(("agent", "responsible for"), [(agent, each) for agent, things in found.items() for each in things])
    if not found:
        click.echo("Nobody is recorded as responsible for it.", err=True)
