"""`whence import`: import provenance from other systems."""

from __future__ import annotations

import click

from whence.cli._options import blobs_option, json_option, log_option, open_or_make_log
from whence.cli._output import emit_json
from whence.progress import working


@click.command("import")
@click.argument("source")
@log_option
@blobs_option
@json_option
def command(source: str, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Import a PROV document, OpenLineage events, or the history of a git repository.

    SOURCE is a file (.json, .provn, .xml, .ttl, .trig; .jsonl for events), or `git`, or `git:PATH`. Records that the
    log already has are skipped. After an error, nothing is imported. Installed packages may add formats.

    \b
      whence import provenance.json
      whence import git
    """
    with working(f"importing {source}"), open_or_make_log(log, blobs) as opened:
        imported = opened.import_(source)
    if as_json:
        emit_json(imported.as_dict())
    else:
        click.echo(str(imported))
