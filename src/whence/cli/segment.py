"""`whence segment`: how some things took part in making others."""

from __future__ import annotations

from pathlib import Path

import click

from whence.cli._boundaries import Asked, parameters
from whence.cli._options import open_log
from whence.cli._output import emit_json, emit_table


@click.command("segment")
@parameters
def command(asked: Asked, out: Path | None, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Show how the sources took part in making the destinations.

    Both are datasets, files, or versions of files (model.bin@v2); a file alone stands for all its versions. The answer
    has what lies on paths between them, on similar paths, siblings made on the way, and the agents involved.

    \b
      whence segment --src data.csv --dst model.bin
      whence segment --src data.csv --dst model.bin --exclude-agent bob --expand 2 --out made.svg
    """
    with open_log(log, blobs) as opened:
        segment = asked.segment(*asked.of(opened))
    if out is not None:
        segment.draw(out)
    rules = {name: rule for rule, names in segment.by_rule.items() for name in names}
    if as_json:
        vertices = [
            {"id": name, "kind": (v := segment.graph[name]).kind, "rule": rules.get(name), "properties": v.properties}
            for name in segment
        ]
        edges = [{"source": source, "relation": kind, "target": target} for source, kind, target in segment.edges]
        emit_json({"why": segment.why, "vertices": vertices, "edges": edges})
        return
    emit_table(("id", "kind", "rule"), [(name, segment.graph[name].kind, rules.get(name, "")) for name in segment])
    if not len(segment):
        click.echo(segment.why, err=True)
