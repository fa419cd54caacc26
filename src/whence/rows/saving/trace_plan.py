"""The trace plan: what is saved, and the predicates that lead from a row of a question to source rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from whence.rows.expressions import Attr, Compare, Expr, Param, conjunction
from whence.rows.operators import Operator, Source
from whence.rows.saving.paths import PlanPath

OUTPUT: PlanPath = (-1,)
"""The table with the rows of the question. Other tables are identified by their path in the plan."""

ANNOTATED: PlanPath = (-2,)
"""The table of all output rows with the ids of source rows, if the run annotated its rows."""


def param(table: PlanPath, attr: Attr) -> Param:
    """The parameter for the value of a column in a row of a table."""
    return Param(f"{'.'.join(map(str, table))}:{attr.id}", attr.dtype)


def selection(table: PlanPath, columns: Iterable[Attr]) -> Expr:
    """The predicate for rows that are equal to a row of a table in the given columns."""
    return conjunction(*(Compare("<=>", attr, param(table, attr)) for attr in dict.fromkeys(columns)))


@dataclass(frozen=True, slots=True)
class Saved:
    """An intermediate result: the `columns` of `operator`, which is the operator at `place`, widened.

    Of its rows, those matter for which `predicate` is true with some row of `table`. `sure`: every row of that table
    has at least one such row. `recomputed`: a run writes nothing; a question computes it from the files.
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
        """The indices of the columns in the operator's output."""
        output = self.operator.output
        return [output.index(attr) for attr in self.columns]


@dataclass(frozen=True, slots=True)
class Use:
    """One use of a source. The rows for which `predicate` is true with some row of `table` contributed."""

    source: Source
    table: PlanPath
    predicate: Expr


@dataclass(frozen=True, slots=True)
class Note:
    """The predicate at one operator, which `explain` shows."""

    place: PlanPath
    predicate: Expr


@dataclass(frozen=True, slots=True)
class TracePlan:
    """How questions are answered from saved results and sources.

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
        """The results that a run writes."""
        return () if self.unavailable_reason else tuple(each for each in self.saved if not each.recomputed)

    def with_recomputed(self, recomputed: Callable[[Saved], bool]) -> TracePlan:
        """Return the plan with those results recomputed on demand for which `recomputed` returns True."""
        return replace(self, saved=tuple(replace(each, recomputed=recomputed(each)) for each in self.saved))
