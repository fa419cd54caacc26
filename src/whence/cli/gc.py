"""`whence gc`: remove the blobs that nothing refers to."""

from __future__ import annotations

import click

from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json
from whence.progress import working


@click.command("gc")
@log_option
@blobs_option
@json_option
def command(log: str | None, blobs: str | None, as_json: bool) -> None:
    """Remove the blobs that nothing in the log refers to.

    \b
      whence gc
    """
    with working("collecting"), open_log(log, blobs) as opened:
        collected = opened.collect()
    if as_json:
        emit_json(collected.as_dict())
    else:
        click.echo(str(collected))
