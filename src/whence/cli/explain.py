"""`whence explain`: the story of some cells, in sentences and a picture."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from whence.cli._cells import AboutCells, about_cells, meant
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json
from whence.progress import working

if TYPE_CHECKING:
    from whence.store.derivations.adjacency import Direction, Lineage


@click.command("explain", cls=AboutCells)
@about_cells
@click.option("--forward", is_flag=True, help="Explain where the cells went, instead of where they came from.")
@click.option(
    "--save",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the story to FILE: .html, .svg (the picture), .csv (the steps), .json or .txt.",
)
@log_option
@blobs_option
@json_option
def command(
    dataset: str,
    cells: str | None,
    pairs: tuple[str, ...],
    nulls: tuple[str, ...],
    columns: str | None,
    lineage: Lineage,
    forward: bool,
    save: Path | None,
    log: str | None,
    blobs: str | None,
    as_json: bool,
) -> None:
    """Explain in sentences where some cells came from.

    Names the datasets and commands between CELLS of DATASET and their sources, who ran the commands and when, the
    files and commits, and the steps that are not exact. With --forward, explains where the cells went.

    \b
      whence explain scores 3,1
      whence explain report --row city=Oslo --columns total --save story.html
    """
    with working(f"asking about {dataset}"), open_log(log, blobs) as opened:
        start, given, chosen = meant(opened, dataset, cells, pairs, nulls, columns)
        direction: Direction = "forward" if forward else "backward"
        story = opened.explain(start, given, direction=direction, columns=chosen, lineage=lineage)
    if save is not None:
        story.save(save)
        click.echo(f"wrote {save}", err=True)
    if as_json:
        emit_json(story.as_dict())
    else:
        click.echo(str(story))
