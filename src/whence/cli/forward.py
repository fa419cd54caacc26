"""`whence forward`: which cells a value went to."""

from __future__ import annotations

from pathlib import Path

import click

from whence.cli._ask import ask, parameters


@click.command("forward")
@parameters
def command(
    dataset: str,
    cells: str,
    to: str | None,
    out: Path | None,
    log: str | None,
    blobs: str | None,
    as_json: bool,
) -> None:
    """Which cells a value went to.

    Prints the cells of every final result, or of --to, that CELLS of DATASET contributed to.
    CELLS are written as in NumPy: 3,4 is one cell, 0:10,5 ten of them, :,0 a whole column.

    \b
      whence forward thermal 150,565
      whence forward thermal 0:10,: --to overview --json
    """
    ask("forward", dataset, cells, to, out, log, blobs, as_json)
