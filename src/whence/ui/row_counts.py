"""Counting the output rows of each operator of a stored run, with DuckDB if it gives the same rows as Spark."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import WhenceError
from whence.rows import Limit, Operator, Source, walk
from whence.rows.duck.asking import count
from whence.rows.expressions import TRUE
from whence.rows.questions.restrict import sources as sources_of
from whence.spark.tracing.recompute import AGAIN, duck_query

if TYPE_CHECKING:
    from whence.spark.stored.run import StoredRun


@dataclass(frozen=True, slots=True)
class Counted:
    """The number of output rows of an operator, or why they were not counted."""

    rows: int | None
    why: str = ""


def row_counts(run: StoredRun) -> list[Counted]:
    """Return the counts in the order of the printed plan, operators before inputs; empty without a stored plan."""
    try:
        plan = run._analysis.plan
        lost = {name: str(error) for name, error in run._lost().items()}
    except WhenceError:
        return []
    found: list[Counted] = []

    def add(operator: Operator, top: bool) -> None:
        known = run.rows if top else None
        found.append(_counted(run, operator, lost) if known is None else Counted(known))
        for each in operator.children:
            add(each, False)

    add(plan, True)
    return found


def _counted(run: StoredRun, operator: Operator, lost: dict[str, str]) -> Counted:
    gone = next((lost[each.name] for each in sources_of(operator) if each.name in lost), None)
    if gone is not None:
        return Counted(None, gone)
    if isinstance(operator, Source) and not operator.cut:
        rows = run.source_rows(operator.name)
        if rows is not None:
            return Counted(rows)
    if any(isinstance(each, Limit) for each in walk(operator)):
        return Counted(None, "a limit may take other rows each time")
    query = duck_query(operator, operator.output[:1], every=True) if operator.output else None
    if query is None or not query.readable(query.columns):
        return Counted(None, "DuckDB cannot compute it as Spark does")
    if query.size() > AGAIN:
        return Counted(None, "its sources are too large to be read again for this")
    rows = count(query, TRUE)
    return Counted(rows) if rows is not None else Counted(None, "DuckDB cannot compute it as Spark does")
