"""What `whence segment` and `whence summarize` share: sources, destinations and boundaries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli._options import Command, blobs_option, json_option, log_option

if TYPE_CHECKING:
    from whence.graph import Graph, Segment

_PARAMETERS: tuple[Callable[[Any], Any], ...] = (
    click.option("--src", metavar="ID", multiple=True, required=True, help="A source; may be repeated."),
    click.option("--dst", metavar="ID", multiple=True, required=True, help="A destination; may be repeated."),
    click.option("--exclude-agent", "agents", metavar="NAME", multiple=True, help="Leave out what this agent did."),
    click.option(
        "--exclude-relation", "relations", metavar="NAME", multiple=True, help="Leave out edges such as used."
    ),
    click.option(
        "--exclude-where", "places", metavar="PATTERN", multiple=True, help="Leave out what lies there: 'tmp/*'."
    ),
    click.option("--after", metavar="TIME", help="Leave out what happened before."),
    click.option("--before", metavar="TIME", help="Leave out what happened after."),
    click.option("--expand", metavar="K", type=click.IntRange(min=0), help="Add what lies K activities further back."),
    click.option("--match", metavar="PROPERTY", multiple=True, help="Similar paths have to be alike in this, too."),
    click.option(
        "--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path), help="Draw it: .svg .png .mmd .dot"
    ),
    log_option,
    blobs_option,
    json_option,
)


def parameters(function: Command) -> Command:
    """The options of both commands."""
    for parameter in reversed(_PARAMETERS):
        function = parameter(function)
    return function


@dataclass(frozen=True)
class Asked:
    """A question for segments, as the options put it."""

    src: tuple[str, ...]
    agents: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    expand: int | None = None
    match: tuple[str, ...] = ()

    def segment(self, graph: Graph, dst: tuple[str, ...]) -> Segment:
        """The segment of one destination, or of several together."""
        from whence.graph import when, where, who

        exclude: list[object] = [who(name) for name in self.agents]
        exclude += self.relations
        exclude += [where(*self.places)] if self.places else []
        if self.after is not None or self.before is not None:
            exclude.append(~when(after=self.after, before=self.before))
        return graph.segment(self.src, dst, exclude=exclude or None, expand=self.expand, match=list(self.match) or None)
