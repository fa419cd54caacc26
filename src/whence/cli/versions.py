"""`whence versions`: list the versions of a file."""

from __future__ import annotations

import click

from whence.cli._complete import dataset_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._project import emit_things


@click.command("versions")
@click.argument("file", shell_complete=dataset_names)
@log_option
@blobs_option
@json_option
def command(file: str, log: str | None, blobs: str | None, as_json: bool) -> None:
    """List the versions of a file, oldest first: one for each content that it had.

    The last column marks the latest version.

    \b
      whence versions model.bin
    """
    with open_log(log, blobs) as opened:
        emit_things(opened.versions(named(opened, file)), as_json, "none")
