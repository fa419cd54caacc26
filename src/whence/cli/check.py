"""`whence check`: verify the log."""

from __future__ import annotations

import click

from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json


@click.command("check")
@log_option
@blobs_option
@json_option
def command(log: str | None, blobs: str | None, as_json: bool) -> None:
    """Verify every reference and every checksum of the log.

    If something is wrong, says what to do and exits with status 1. Changes nothing.

    \b
      whence check
      whence check --json
    """
    with open_log(log, blobs) as opened:
        report = opened.check()
    if as_json:
        emit_json(report.as_dict())
    else:
        click.echo(str(report))
    if not report.ok:
        raise SystemExit(1)
