"""`whence segment`: show how files or datasets were made from others."""

from __future__ import annotations

from pathlib import Path

import click
import numpy as np

from whence.cli._boundaries import Asked, parameters
from whence.cli._options import open_log
from whence.cli._output import MANY, emit_json, emit_table
from whence.cli._shell import spoken
from whence.graph.model import KINDS
from whence.progress import working


@click.command("segment")
@parameters
def command(asked: Asked, out: Path | None, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Show how the destinations were made, from everything or from given sources.

    Sources and destinations are datasets, files, or versions of files (model.bin@v2). Without --src, the answer is
    everything that the destinations came from; a file means its latest version. With --src, the answer has the paths
    between the two, similar paths, siblings made on the way, and the agents involved; a file means all its versions.
    Other inputs of the activities on the way are left out; the command names them, and --inputs adds them.

    \b
      whence segment --dst figure.png
      whence segment --src data.csv --dst model.bin
      whence segment --src data.csv --dst model.bin --exclude-agent bob --expand 2 --out made.svg
    """
    with working("finding the segment"), open_log(log, blobs) as opened:
        segment = asked.segment(*asked.now(opened))
    if out is not None:
        segment.draw(out)
    graph = segment.graph
    numbers = np.array(graph.in_order(segment.numbers), np.int32)
    rules = segment.rules_at(numbers)
    if as_json:
        vertices = [
            {"id": each.id, "kind": each.kind, "rule": rule or None, "properties": each.properties}
            for each, rule in zip(graph.vertices_at(numbers), rules, strict=True)
        ]
        edges = [{"source": source, "relation": kind, "target": target} for source, kind, target in segment.edges]
        emit_json(
            {"why": segment.why, "left_out": segment.left_out, "vertices": vertices, "edges": edges},
            is_large=len(numbers) > MANY,
        )
        return
    kinds = [KINDS[kind] for kind in graph.kinds[numbers].tolist()]
    emit_table(("id", "kind", "rule"), zip(graph.ids.of(numbers.tolist()), kinds, rules, strict=True))
    if not len(segment):
        click.echo(spoken(segment.why, ("--src", "--dst")), err=True)
    if segment.left_out:
        click.echo(spoken(segment.left_out_note("--inputs"), ("--src",)), err=True)
