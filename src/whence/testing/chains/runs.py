"""The lineage of one run by brute force: whole rows by eager mode, cells by the interpreter of cells.

Equal rows of an output have no values that distinguish them. Each way to distribute their lineages among them is an
*assignment*, and an answer must be correct in one of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from whence.rows.questions.restrict import sources
from whence.testing.rows import annotated
from whence.testing.table_cells.operators import run
from whence.testing.table_cells.spark import tables

if TYPE_CHECKING:
    from whence.spark.pipeline import Pipeline

Cell = tuple[int, ...]
Cells = frozenset[Cell]
OfSources = Mapping[str, Cells]  # cells of each source
BOTH = "value+selection"


@dataclass(frozen=True)
class RunLineage:
    """For each output row: the whole rows of each source, and the cells for each column and type of lineage."""

    width: int
    rows: Sequence[OfSources]
    cells: Sequence[Mapping[tuple[int, str], OfSources]]

    def backward(self, source: str, cells: Iterable[Cell], lineage: str) -> Cells:
        """The source cells of some output cells; for whole rows, whole rows."""
        found: set[Cell] = set()
        for row, columns in by_row(cells).items():
            if len(columns) == self.width and lineage == BOTH:
                found |= self.rows[row].get(source, frozenset())
            else:
                for column in columns:
                    found |= self.cells[row][column, lineage].get(source, frozenset())
        return frozenset(found)

    def forward(self, source: str, width: int, cells: Iterable[Cell], lineage: str) -> Cells:
        """The output cells of cells of a source with `width` columns."""
        whole, part = set[Cell](), set[Cell]()
        for row, columns in by_row(cells).items():
            (whole if len(columns) == width and lineage == BOTH else part).update((row, each) for each in columns)
        found: set[Cell] = set()
        for row in range(len(self.rows)):
            if whole & self.rows[row].get(source, frozenset()):
                found |= {(row, column) for column in range(self.width)}
            for column in range(self.width):
                if part & self.cells[row][column, lineage].get(source, frozenset()):
                    found.add((row, column))
        return frozenset(found)


def by_row(cells: Iterable[Cell]) -> dict[int, set[int]]:
    """The columns of each row that are among the cells."""
    found: dict[int, set[int]] = {}
    for row, column in cells:
        found.setdefault(row, set()).add(column)
    return found


def lineages(pipeline: Pipeline, held: Sequence[Sequence[Any]]) -> Iterator[RunLineage]:
    """Yield the lineage of a run whose output has these rows, in their order: one for each assignment."""
    plan, jvm = pipeline.plan, pipeline.analysis.jvm
    rows, numbers = tables(plan, jvm)
    names = {each.occurrence: each.name for each in sources(plan)}
    places: dict[str, dict[str, int]] = {}
    for each in sources(plan):
        places.setdefault(each.name, {}).update((attr.name, at) for at, attr in enumerate(each.columns))
    whole: dict[str, list[OfSources]] = {}
    for row in annotated(SimpleNamespace(root=plan, jvm=jvm)):  # type: ignore[arg-type]  # all it looks at of a plan
        found = _united(
            (names[use], (numbers[names[use]][number], place))
            for use, ids in row.ids.items()
            for number in ids
            for place in places[names[use]].values()
        )
        whole.setdefault(key_of(row.values), []).append(found)
    parts: dict[str, list[Mapping[tuple[int, str], OfSources]]] = {}
    for each_row in run(plan, rows):
        cells = {
            (column, lineage): _united(
                (names[use], (number, places[names[use]][name]))
                for use, number, name in each_row.lineage(attr, lineage)
            )
            for column, attr in enumerate(plan.output)
            for lineage in ("value", BOTH)
        }
        parts.setdefault(key_of(each_row.values(plan.output)), []).append(cells)
    asked = [key_of(row) for row in held]
    for kind, known in (("eager mode", whole), ("the interpreter", parts)):
        counts, own = {key: len(each) for key, each in known.items()}, {key: asked.count(key) for key in asked}
        assert counts == own, f"{kind} gives other rows than the run: {counts}, not {own}"
    for one in _assigned(asked, whole):
        for other in _assigned(asked, parts):
            yield RunLineage(len(plan.output), one, other)


def _assigned(asked: Sequence[str], known: Mapping[str, Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """Yield each way to give every row one of the lineages of the rows that are equal to it."""
    ways = [_orders(known[key]) for key in dict.fromkeys(asked)]
    for chosen in itertools.product(*ways):
        left = {key: list(each) for key, each in zip(dict.fromkeys(asked), chosen, strict=True)}
        yield [left[key].pop(0) for key in asked]


def _orders(each: Sequence[Any]) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    if all(one == each[0] for one in each):
        return [tuple(each)]
    for order in itertools.permutations(each):
        if order not in found:
            found.append(order)
    return found


def _united(pairs: Iterable[tuple[str, Cell]]) -> OfSources:
    found: dict[str, set[Cell]] = {}
    for name, cell in pairs:
        found.setdefault(name, set()).add(cell)
    return {name: frozenset(cells) for name, cells in found.items()}


def key_of(values: Iterable[Any]) -> str:
    """A key to compare rows by: NULL and NaN are values, and 0.0 equals -0.0."""
    return repr([_comparable(each) for each in values])


def _comparable(value: Any) -> Any:
    if isinstance(value, float):
        return "NaN" if math.isnan(value) else round(value, 9) + 0.0
    return value
