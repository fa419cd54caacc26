"""`whence backward`: which cells a value came from."""

from __future__ import annotations

from pathlib import Path

import click

from whence.cli._ask import ask, parameters


@click.command("backward")
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
    """Which cells a value came from.

    Prints the cells of every source of the data, or of --to, that contributed to CELLS of DATASET.
    CELLS are written as in NumPy: 3,4 is one cell, 0:10,5 ten of them, :,0 a whole column.

    \b
      whence backward spots 0,:
      whence backward spots 0,: --to thermal --out pixels.png
    """
    ask("backward", dataset, cells, to, out, log, blobs, as_json)
