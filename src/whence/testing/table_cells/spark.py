"""The cells of all rows of a Spark pipeline: as the interpreter finds them, and as the rewritten plan does."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whence.rows import Attr, Named, Operator, Project, fresh, keep, walk
from whence.rows.cells import cells_of
from whence.rows.eager.ids import LIST, LONG, as_list
from whence.rows.operators import Source
from whence.spark.catalyst.frames import frame
from whence.testing.table_cells.cell import SourceCell
from whence.testing.table_cells.operators import run

if TYPE_CHECKING:
    from whence.spark.catalyst.jvm import Jvm

Numbers = Mapping[str, Mapping[int, int]]  # row numbers by row id, for each source
Lineages = tuple[frozenset[SourceCell], ...]  # the lineage of a row, one set for each column
CellsOfRow = tuple[tuple[Any, ...], Lineages]


def tables(plan: Operator, jvm: Jvm) -> tuple[dict[str, list[tuple[Any, ...]]], Numbers]:
    """Return the rows of each source in order, and the row number of each id."""
    widest: dict[str, Source] = {}
    for each in walk(plan):
        if isinstance(each, Source) and len(each.columns) > len(getattr(widest.get(each.name), "columns", ())):
            widest[each.name] = each
    rows, numbers = {}, {}
    for name, source in widest.items():
        row_id = fresh("_id", LONG, nullable=False)
        read = Project(replace(source, row_id=row_id), keep(*source.columns, row_id))
        found = sorted(frame(read, jvm).collect(), key=lambda row: row[-1])
        rows[name] = [tuple(row[:-1]) for row in found]
        numbers[name] = {row[-1]: number for number, row in enumerate(found)}
    return rows, numbers


def interpreted(plan: Operator, rows: Mapping[str, list[tuple[Any, ...]]], lineage: str) -> list[CellsOfRow]:
    """Return all output rows with the source cells of each cell, from the interpreter."""
    found = run(plan, rows)
    return [(row.values(plan.output), tuple(row.lineage(attr, lineage) for attr in plan.output)) for row in found]


def rewritten(
    plan: Operator, jvm: Jvm, numbers: Numbers, lineage: str, columns: Iterable[Attr] | None = None
) -> tuple[list[CellsOfRow], tuple[str, ...]]:
    """Return the same from the rewritten plan, for some columns; and why it may be a superset."""
    wanted = plan.output if columns is None else tuple(columns)
    noted = cells_of(plan, wanted, lineage)
    ids = list(dict.fromkeys(known for attr in wanted for known in noted.of(attr)))
    lists = tuple(Named(fresh("_ids", LIST), as_list(known.ids)) for known in ids)
    names = {each.occurrence: each for each in walk(plan) if isinstance(each, Source)}
    width, found = len(plan.output), []
    for row in frame(Project(noted.plan, (*keep(*plan.output), *lists)), jvm).collect():
        held = dict(zip(ids, row[width:], strict=True))
        found.append((tuple(row[:width]), tuple(_cells(noted.of(attr), held, names, numbers) for attr in wanted)))
    return found, noted.reasons


def _cells(terms: Any, held: Any, names: Mapping[int, Source], numbers: Numbers) -> frozenset[SourceCell]:
    return frozenset(
        (known.occurrence, numbers[names[known.occurrence].name][number], names[known.occurrence].columns[place].name)
        for known, places in terms.items()
        for number in held[known]
        for place in places
    )


def differences(one: Iterable[CellsOfRow], other: Iterable[CellsOfRow]) -> list[str]:
    """Describe the rows that are in only one of two answers."""
    first, second = (Counter(map(_text, each)) for each in (one, other))
    return [f"only in the first: {each}" for each in first - second] + [
        f"only in the second: {each}" for each in second - first
    ]


def _text(row: CellsOfRow) -> str:
    values = tuple(0.0 if value == 0 and isinstance(value, float) else value for value in row[0])
    return f"{values!r} {[sorted(each) for each in row[1]]}"
