"""Compare users' answers about cells with the interpreter's, for Spark pipelines over little data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from whence.rows.questions.restrict import sources
from whence.testing.rows import same_value
from whence.testing.table_cells.cell import CellRow
from whence.testing.table_cells.operators import run
from whence.testing.table_cells.spark import tables

if TYPE_CHECKING:
    from whence.rows import Operator
    from whence.spark.catalyst.jvm import Jvm
    from whence.spark.pipeline import Pipeline


@dataclass(slots=True)
class Judge:
    """All cells of a pipeline's output, and the tables that it reads."""

    plan: Operator
    rows: Sequence[CellRow]
    tables: Mapping[str, list[tuple[Any, ...]]]
    names: dict[int, str] = field(default_factory=dict)  # names of sources, by use
    places: dict[str, dict[str, int]] = field(default_factory=dict)  # indices of columns, by source

    @classmethod
    def of(cls, plan: Operator, jvm: Jvm) -> Judge:
        held, _ = tables(plan, jvm)
        made = cls(plan, run(plan, held), held)
        for source in sources(plan):
            made.names[source.occurrence] = source.name
            known = made.places.setdefault(source.name, {})
            known.update((attr.name, at) for at, attr in enumerate(source.columns))
        return made

    def backward_faults(
        self, pipeline: Pipeline, question: Mapping[str, Any], columns: Sequence[str], lineage: str, **options: Any
    ) -> list[str]:
        """Describe where the answer to a question about columns of some output rows is wrong."""
        wanted: dict[str, set[tuple[int, int]]] = {name: set() for name in self.places}
        for row in self.rows:
            if all(same_value(row.cells[self._attr(name)].value, value) for name, value in question.items()):
                for column in columns:
                    for use, number, name in row.lineage(self._attr(column), lineage):
                        source = self.names[use]
                        wanted[source].add((number, self.places[source][name]))
        answer = pipeline.backward(dict(question), columns=list(columns), lineage=lineage, **options)
        asked = f"{dict(question)}, columns={list(columns)}, lineage={lineage!r}"
        found = []
        for source, cells in wanted.items():
            given = set(map(tuple, answer.cells(source).cells().tolist()))
            if given != cells and (answer.precise or not cells <= given):
                found.append(f"{asked}: {source} has {sorted(given)}, not {sorted(cells)}; {answer.how}")
            names = [name for name, at in self.places[source].items() if any(at == place for _, place in given)]
            if sorted(answer.columns(source)) != sorted(names):
                found.append(f"{asked}: the columns of {source} are {answer.columns(source)}, not {names}")
            if len(answer.identities(source)) != len({number for number, _ in given}):
                found.append(f"{asked}: {source} has {len(answer.identities(source))} rows, which hold {sorted(given)}")
        return found

    def forward_faults(
        self, pipeline: Pipeline, source: str, number: int, columns: Sequence[str], lineage: str, **options: Any
    ) -> list[str]:
        """Describe where the answer to a question about cells of a source row is wrong."""
        row = self.tables[source][number]
        same = {at for at, each in enumerate(self.tables[source]) if all(map(same_value, each, row))}
        uses = {use for use, name in self.names.items() if name == source}
        asked = {(use, at, name) for use in uses for at in same for name in columns}
        wanted: Counter[str] = Counter()
        for each in self.rows:
            held = tuple(bool(asked & each.lineage(attr, lineage)) for attr in self.plan.output)
            if any(held):
                wanted[_shown(each.values(self.plan.output), held)] += 1
        answer = pipeline.forward(source, row, columns=list(columns), lineage=lineage, **options)
        mask = answer.cells().mask()  # type: ignore[attr-defined]  # it is about cells
        given = Counter(_shown(each, tuple(mask[at])) for at, each in enumerate(answer.collect()))
        if given != wanted and (answer.precise or wanted - given):
            return [f"{source} {row}, columns={columns}, lineage={lineage!r}: reaches {given}, not {wanted}"]
        return []

    def _attr(self, name: str) -> Any:
        (attr,) = [attr for attr in self.plan.output if attr.name == name]
        return attr


def _shown(values: Sequence[Any], held: Sequence[bool]) -> str:
    plain = [0.0 if value == 0 and isinstance(value, float) else value for value in values]
    return f"{plain} {[bool(each) for each in held]}"
