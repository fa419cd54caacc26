"""The parameters for the cells of a question: 3,1 for an array, --row city=Oslo for a table."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whence.cli._complete import dataset_names
from whence.cli._names import named

if TYPE_CHECKING:
    from whence.log import Log
    from whence.store.derivations.adjacency import Lineage

Command = TypeVar("Command", bound=Callable[..., Any])
LINEAGES: tuple[Lineage, ...] = ("value", "value+selection")
NEGATIVE = re.compile(r"-\d+([,:]|$)")

_PARAMETERS: tuple[Callable[[Any], Any], ...] = (
    click.argument("dataset", shell_complete=dataset_names),
    click.argument("cells", required=False, callback=lambda _, __, value: value and value.strip()),
    click.option(
        "--row",
        "pairs",
        multiple=True,
        metavar="COLUMN=VALUE",
        help="For a table: a value of the row to ask about. Repeat it for more columns of the same row; not all are"
        " needed.",
    ),
    click.option("--null", "nulls", multiple=True, metavar="COLUMN", help="A column that is NULL in the rows."),
    click.option("--columns", metavar="NAME,NAME", help="For a table: only these columns of the row."),
    click.option(
        "--lineage",
        type=click.Choice(LINEAGES),
        default=LINEAGES[-1],
        help="value leaves out cells that only influenced the selection (conditions, keys, masks).",
    ),
)


class AboutCells(click.Command):
    """A command that accepts -1,0 as cells, not as an option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; a space before the minus sign keeps click from reading it as an option."""
        return super().parse_args(ctx, [f" {each}" if NEGATIVE.match(each) else each for each in args])


def about_cells(command: Command) -> Command:
    """Add the parameters for cells to a command."""
    for parameter in reversed(_PARAMETERS):
        command = parameter(command)
    return command


def meant(
    log: Log, dataset: str, cells: str | None, pairs: tuple[str, ...], nulls: tuple[str, ...], columns: str | None
) -> tuple[str, object, list[str] | None]:
    """Return the dataset, the cells and the columns, as `log.backward` accepts them."""
    start = named(log, dataset)
    shown = log.show(start).dataset
    chosen = None if columns is None else [each.strip() for each in columns.split(",") if each.strip()]
    if pairs or nulls:
        if cells is not None:
            raise click.UsageError(f"give either CELLS ({cells}) or --row, not both")
        return start, _row(shown.properties, pairs, nulls), chosen
    if cells is None and shown.shape and chosen is None:
        what = "--row COLUMN=VALUE, or " if shown.kind == "table" else ""
        raise click.UsageError(
            f"say which cells of {dataset!r} to ask about: {what}3,4 or 0:10,5 or ... for all of them"
        )
    return start, cells, chosen


def _row(properties: Any, pairs: tuple[str, ...], nulls: tuple[str, ...]) -> dict[str, object]:
    """Return the row, its values converted to the types of the columns if the log has these."""
    from whence.rows import fresh
    from whence.rows.questions.text import read_pairs

    split = []
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise click.UsageError(f"--row is given as COLUMN=VALUE, such as --row city=Oslo, not {pair!r}")
        split.append((name, value))
    known = zip(properties.get("columns", ()), properties.get("types", ()), strict=False)
    return read_pairs([fresh(name, dtype) for name, dtype in known], split, nulls)
