"""`whence query`: follow cells along a path of datasets."""

from __future__ import annotations

from pathlib import Path

import click

from whence.cli._ask import above_option, emit_answers, out_option
from whence.cli._complete import dataset_names
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.progress import working


@click.command("query")
@click.argument("path", metavar="DATASET...", nargs=-1, required=True, shell_complete=dataset_names)
@click.option("--cells", required=True, help="Cells of the first dataset, written as in NumPy: 3,4 or 0:10,5 or :,0.")
@above_option
@out_option
@log_option
@blobs_option
@json_option
def command(
    path: tuple[str, ...],
    cells: str,
    above: float | None,
    out: Path | None,
    log: str | None,
    blobs: str | None,
    as_json: bool,
) -> None:
    """Which cells of the last DATASET the cells of the first one lead to.

    Each step from one DATASET to the next goes backward or forward, depending on which was made from the other.

    \b
      whence query spots filtered thermal --cells 0,:
    """
    with working(f"asking about {path[0]}"), open_log(log, blobs) as opened:
        found = {path[-1]: opened.query(path, cells, above=above)}
    emit_answers(found, out, {"path": list(path), "cells": cells} if as_json else None)
