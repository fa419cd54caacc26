"""The trace plan: what is saved, and how the row of a question leads to source rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from whence.rows.expressions import Attr, Compare, Expr, Param, conjunction
from whence.rows.operators import Operator, Source
from whence.rows.saving.paths import PlanPath

OUTPUT: PlanPath = (-1,)
"""The table of the rows of the question; other tables are identified by their place in the plan."""

ANNOTATED: PlanPath = (-2,)
"""The table of all output rows with the ids of source rows, where a run annotated its rows."""


def param(table: PlanPath, attr: Attr) -> Param:
    """The value that a row of a table has in a column."""
    return Param(f"{'.'.join(map(str, table))}:{attr.id}", attr.dtype)


def selection(table: PlanPath, columns: Iterable[Attr]) -> Expr:
    """The rows that agree with a row of a table in the given columns."""
    return conjunction(*(Compare("<=>", attr, param(table, attr)) for attr in dict.fromkeys(columns)))


@dataclass(frozen=True, slots=True)
class Saved:
    """An intermediate result: of the operator at `place`, widened to `operator`, the `columns`.

    The rows that matter are those for which `predicate` holds with some row of `table`. `sure`: there is at least one
    such row for every row of that table. `recomputed`: nothing is written; a question computes it from the files.
    """

    place: PlanPath
    operator: Operator
    columns: tuple[Attr, ...]
    table: PlanPath
    predicate: Expr
    sure: bool
    why: str
    cost: float
    recomputed: bool = False

    @property
    def places(self) -> list[int]:
        """Where the columns stand in the operator's output."""
        output = self.operator.output
        return [output.index(attr) for attr in self.columns]


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a source: the rows that contributed are those for which `predicate` holds with some row of `table`."""

    source: Source
    table: PlanPath
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Note:
    """The question at one operator: what `explain` shows."""

    place: PlanPath
    predicate: Expr


@dataclass(frozen=True, slots=True)
class TracePlan:
    """How lineage is answered from saved results and sources.

    `unavailable_reason` says why this is impossible; then the pipeline is replayed. A table comes before the tables
    that are searched with its rows. `limit_to_check` is a limit that the run must check: the plan is valid only if the
    order distinguishes the last row inside the limit from the first row outside.
    """

    saved: tuple[Saved, ...] = ()
    uses: tuple[Use, ...] = ()
    notes: tuple[Note, ...] = ()
    unavailable_reason: str | None = None
    limit_to_check: PlanPath | None = None

    @property
    def written(self) -> tuple[Saved, ...]:
        """What a run writes."""
        return () if self.unavailable_reason else tuple(each for each in self.saved if not each.recomputed)

    def with_recomputed(self, recomputed: Callable[[Saved], bool]) -> TracePlan:
        """The same plan, with the results recomputed on demand for which `recomputed` is true."""
        return replace(self, saved=tuple(replace(each, recomputed=recomputed(each)) for each in self.saved))
