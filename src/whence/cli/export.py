"""`whence export`: the project graph as a file."""

from __future__ import annotations

from pathlib import Path

import click

from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json
from whence.progress import working


@click.command("export")
@click.argument("file", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--format", "form", type=click.Choice(("json", "provn", "xml", "rdf", "trig", "openlineage")),
    help="Default: by the suffix: .json, .provn, .xml, .ttl, .trig; .jsonl for OpenLineage; .svg, .png, .mmd, .dot.",
)  # fmt: skip
@log_option
@blobs_option
@json_option
def command(file: Path, form: str | None, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Export the project graph: as a PROV document, as OpenLineage events, or as a picture.

    \b
      whence export project.svg
      whence export project.provn
      whence export events.jsonl --format openlineage
    """
    with working(f"writing {file}"), open_log(log, blobs) as opened:
        graph = opened.graph
        opened.export(file, form)
    if as_json:
        emit_json({"file": str(file), "vertices": len(graph), "edges": len(graph.edge_table)})
    else:
        click.echo(f"wrote {len(graph):,} vertices and {len(graph.edge_table):,} edges to {file}")
