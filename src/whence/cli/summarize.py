"""`whence summarize`: show how files are usually made."""

from __future__ import annotations

from pathlib import Path

import click

from whence.cli._boundaries import Asked, parameters
from whence.cli._options import open_log
from whence.cli._output import emit_json, emit_table
from whence.progress import working
from whence.words import counted

_KEPT = ("entity=artifact", "activity=program")


@click.command("summarize")
@click.option(
    "--keep", metavar="KIND=PROPERTY", multiple=True,
    help="Properties that distinguish vertices; may be repeated. Default: entity=artifact and activity=program.",
)  # fmt: skip
@click.option(
    "-k",
    "steps",
    metavar="K",
    type=click.IntRange(min=0),
    default=0,
    help="Also compare the neighbours up to K steps away.",
)
@parameters
def command(
    keep: tuple[str, ...], steps: int, asked: Asked, out: Path | None, log: str | None, blobs: str | None, as_json: bool
) -> None:
    """Show how the destinations are usually made: compute a segment for each, and merge them into one graph.

    Each version of a file is a separate destination. The percentage of an edge is the share of segments that have it.
    The summary has no path that no segment has. It merges runs of the same program, whatever their parameters;
    --keep activity=command distinguishes them.

    \b
      whence summarize --src data.csv --dst model.bin
      whence summarize --src data.csv --dst model.bin --keep entity=artifact --keep activity=command -k 1
    """
    from whence.graph import summarize

    with working("finding the segments"), open_log(log, blobs) as opened:
        graph, src, dst = asked.of(opened)
        ends = graph.ids.of(graph.numbers(dst, "entity").tolist())
        segments = [each for each in (asked.segment(graph, src, [end]) for end in ends) if len(each)]
    with working(f"summarizing {counted(len(segments), 'segment')}"):
        summary = summarize(segments, keep=_kept_properties(keep or _KEPT), k=steps)
    if out is not None:
        summary.draw(out)
    if as_json:
        vertices = [
            {
                "id": each.id,
                "kind": each.kind,
                "label": each.label,
                "members": list(each.members),
                "frequency": each.frequency,
            }
            for each in summary.vertices
        ]
        edges = [
            {"source": each.source.id, "relation": each.relation, "target": each.target.id, "frequency": each.frequency}
            for each in summary.edges
        ]
        emit_json({"segments": len(segments), "vertices": vertices, "edges": edges, "exact": summary.exact})
        return
    names = summary.names
    rows = [
        (names[each.source.id], each.relation, names[each.target.id], f"{each.frequency:.0%}")
        for each in sorted(summary.edges, key=lambda edge: (-edge.frequency, edge.source.id, edge.target.id))
    ]
    emit_table(("source", "relation", "target", "share"), rows, numbers=("share",))
    if not segments:
        click.echo(f"None of {', '.join(ends)} came from {', '.join(src) or 'anything'}.", err=True)


def _kept_properties(pairs: tuple[str, ...]) -> dict[str, list[str]]:
    """Convert `--keep` to the argument of `summarize`.

    >>> _kept_properties(("entity=artifact", "activity=command", "activity=rate"))
    {'entity': ['artifact'], 'activity': ['command', 'rate']}
    """
    found: dict[str, list[str]] = {}
    for pair in pairs:
        kind, separator, name = pair.partition("=")
        if not separator or kind not in ("entity", "activity", "agent") or not name:
            raise click.UsageError(f"--keep takes entity=..., activity=... or agent=..., not {pair!r}")
        found.setdefault(kind, []).append(name)
    return found
