"""Shared by `whence segment` and `whence summarize`: sources, destinations and boundaries."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli._complete import vertex_names
from whence.cli._names import named
from whence.cli._options import blobs_option, json_option, log_option

if TYPE_CHECKING:
    from whence.graph import Boundary, Graph, Segment
    from whence.log import Log

_PARAMETERS: tuple[Callable[[Any], Any], ...] = (
    click.option(
        "--src", metavar="ID", multiple=True, shell_complete=vertex_names,
        help="A source; may be repeated. Default: all sources of the destinations.",
    ),
    click.option(
        "--dst", metavar="ID", multiple=True, required=True, shell_complete=vertex_names,
        help="A destination; may be repeated.",
    ),
    click.option("--inputs", is_flag=True, help="Add inputs of the activities that are on no path from the sources."),
    click.option(
        "--exclude-agent", "agents", metavar="NAME", multiple=True, help="Leave out the activities of this agent."
    ),
    click.option(
        "--exclude-relation", "relations", metavar="NAME", multiple=True, help="Leave out edges such as used."
    ),
    click.option(
        "--exclude-where", "places", metavar="PATTERN", multiple=True, help="Leave out files that match: 'tmp/*'."
    ),
    click.option(
        "--exclude-what", "things", metavar="PROPERTY=VALUE", multiple=True,
        help="Leave out vertices with this value of a property: 'exit_code=1'.",
    ),
    click.option("--after", metavar="TIME", help="Leave out what happened before; vertices without a time stay."),
    click.option("--before", metavar="TIME", help="Leave out what happened after; vertices without a time stay."),
    click.option(
        "--expand", metavar="K", type=click.IntRange(min=0), help="Add ancestors up to K activities further back."
    ),
    click.option(
        "--match", metavar="PROPERTY", multiple=True, help="Similar paths must also have equal values of this property."
    ),
    click.option(
        "--out", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
        help="Draw the graph: .svg, .png, .mmd or .dot.",
    ),
    log_option,
    blobs_option,
    json_option,
)  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """A question for segments, from the options."""

    src: tuple[str, ...]
    dst: tuple[str, ...]
    agents: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    things: tuple[str, ...] = ()
    after: str | None = None
    before: str | None = None
    expand: int | None = None
    match: tuple[str, ...] = ()
    inputs: bool = False

    def of(self, log: Log) -> tuple[Graph, list[str], list[str]]:
        """Return the graph of a log, and the names of the sources and destinations in it."""
        graph = log.graph
        src, dst = ([named(log, name) for name in names] for names in (self.src, self.dst))
        return graph, src, dst

    def now(self, log: Log) -> tuple[Graph, list[str], list[str]]:
        """Do the same; without sources, a file as destination means its version when it was last seen."""
        graph, src, dst = self.of(log)
        return graph, src, dst if src else [_last_seen(log, name) for name in dst]

    def segment(self, graph: Graph, src: list[str], dst: list[str]) -> Segment:
        """Return the segment between these."""
        from whence.graph import when, where, who

        exclude: list[object] = [who(name) for name in self.agents]
        exclude += self.relations
        exclude += [where(*self.places)] if self.places else []
        exclude += [_having(pair) for pair in self.things]
        if self.after is not None or self.before is not None:
            exclude.append(~when(after=self.after, before=self.before))
        return graph.segment(
            src or None, dst, exclude=exclude or None, expand=self.expand, match=list(self.match) or None,
            inputs=self.inputs,
        )  # fmt: skip


def parameters(function: Callable[..., None]) -> Callable[..., None]:
    """Add the options of both commands; the function gets them as one argument, `asked`."""

    @functools.wraps(function)
    def called(**given: Any) -> None:
        function(asked=Asked(**{each.name: given.pop(each.name) for each in fields(Asked)}), **given)

    for parameter in reversed(_PARAMETERS):
        called = parameter(called)
    return called


def _last_seen(log: Log, name: str) -> str:
    """Return the version of a file when it was last seen, and print it; return any other name unchanged."""
    if name in log.graph.ids:
        return name
    found = log.versions(name)
    [now] = [row["name"] for row in found.rows() if row["now"] == "yes"] or found[-1:]  # type: ignore[attr-defined]  # a `Listed`
    if len(found) > 1:
        click.echo(f"{now}, the latest of {name} (of {len(found)} versions)", err=True)
    return str(now)


def _having(pair: str) -> Boundary:
    from whence.graph import what

    name, separator, text = pair.partition("=")
    if not separator or not name:
        raise click.UsageError(f"--exclude-what takes a property and a value such as exit_code=1, not {pair!r}")
    as_text = what(**{name: text})
    try:
        return as_text | what(**{name: json.loads(text)})  # a number, true or false
    except json.JSONDecodeError:
        return as_text
