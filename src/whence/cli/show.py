"""`whence show`: describe one dataset or run, with its inputs and outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from whence.cli._complete import vertex_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json
from whence.errors import UnknownName

if TYPE_CHECKING:
    from whence.log import Log


@click.command("show")
@click.argument("name", shell_complete=vertex_names)
@log_option
@blobs_option
@json_option
def command(name: str, log: str | None, blobs: str | None, as_json: bool) -> None:
    """Show one dataset: its shape, what it was made from, what was made from it, and the stored size of each relation.

    The name of a file means its latest version. NAME may also be a run, such as train.py#3: then the command shows its
    command line and other properties, what it used and generated, and who ran it.

    \b
      whence show report
      whence show model.bin@v2
      whence show train.py#3
    """
    with open_log(log, blobs) as opened:
        try:
            description = opened.show(named(opened, name))
        except UnknownName:
            described = _describe_run(opened, name)
            if described is None:
                raise
            _emit_fields(described, as_json)
            return
    if as_json:
        emit_json(description.as_dict())
    else:
        click.echo(str(description))


def _describe_run(log: Log, name: str) -> dict[str, Any] | None:
    """Describe a run; None if there is no run with that name."""
    graph = log.graph
    if name not in graph or graph[name].kind != "activity":
        return None
    edges = graph.edges
    return {
        "activity": name,
        "by": [target for source, relation, target in edges if source == name and relation == "wasAssociatedWith"],
        "used": [target for source, relation, target in edges if source == name and relation == "used"],
        "generated": [source for source, relation, target in edges if target == name and relation == "wasGeneratedBy"],
        "properties": dict(graph[name].properties),
    }


def _emit_fields(described: dict[str, Any], as_json: bool) -> None:
    if as_json:
        emit_json(described)
        return
    click.echo(described["activity"])
    for title in ("by", "used", "generated"):
        click.echo(f"  {title}: {', '.join(described[title]) or 'nothing that was recorded'}")
    for name, value in described["properties"].items():
        click.echo(f"  {name}: {value}")
