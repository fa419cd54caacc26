"""Runs that annotate their rows with the ids of source rows, and the output of such a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.errors import BadType
from whence.rows import (
    AggCall,
    Arrange,
    Attr,
    Call,
    Filter,
    Limit,
    Named,
    Operator,
    Project,
    Sort,
    SortKey,
    fresh,
    keep,
    like,
    walk,
)
from whence.rows.eager import Tagged
from whence.rows.saving import ANNOTATED, PlanPath, TracePlan
from whence.spark.catalyst.frames import frame
from whence.spark.lineage import given
from whence.spark.running.artifacts import Held, Result, RunArtifacts, described_jobs, first_line, row_count, written

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm

ROW_ID = "_row_id"


@dataclass(frozen=True, slots=True)
class AnnotatedOutput:
    """The annotated rows of a run: the columns of its tagged plan, then an increasing row id. `row_id` is the column
    that shows it to users.
    """

    tagged: Tagged
    read: Callable[[], DataFrame]
    row_id: Attr | None
    table: Result | None  # the files, in any order, if the rows are in files

    @property
    def rows(self) -> DataFrame:
        """The rows as a DataFrame."""
        return self.read()

    @property
    def operator(self) -> Operator:
        """The rows as an operator with the columns of the tagged plan, and the row ids."""
        rows = given(self.rows)
        wanted = (*self.tagged.plan.output, *(() if self.row_id is None else (self.row_id,)))
        return Project(rows, tuple(Named(old, new) for old, new in zip(wanted, rows.columns, strict=False)))

    def output(self, plan: Operator, names: list[str], jvm: Jvm) -> DataFrame:
        """The plan's own columns with these names, in the plan's order of rows, and the row ids if they are shown."""
        rows = given(self.rows)
        place = {attr: index for index, attr in reversed(list(enumerate(self.tagged.plan.output)))}
        chosen = [rows.columns[place[attr]] for attr in plan.output]
        if self.row_id is not None:
            chosen.append(rows.columns[-1])
            names = [*names, ROW_ID]
        shown = tuple(Named(like(attr), attr) for attr in chosen)
        in_order = (
            Sort(rows, (SortKey(rows.columns[-1]),), everywhere=True)
            if self.table is not None and _has_order(plan)
            else rows
        )
        return frame(Project(in_order, shown), jvm).toDF(*names)


def _has_order(plan: Operator) -> bool:
    """Whether the plan defines an order of its rows."""
    while isinstance(plan, Project | Filter | Limit | Arrange):
        plan = plan.child
    return isinstance(plan, Sort)


def row_id_column(columns: tuple[Attr, ...]) -> Attr:
    """Return the column for row ids. Raise if the output already has a column of that name."""
    if any(attr.name.lower() == ROW_ID for attr in columns):
        raise BadType(f"the output already has a column {ROW_ID!r}: rename it to use row_ids=True")
    return fresh(ROW_ID, "long", nullable=False)


def run_annotated(tagged: Tagged, why: str, jvm: Jvm, *, saved: bool, row_id: Attr | None) -> RunArtifacts:
    """Run a pipeline with the ids of source rows; the output also has an increasing id of each row.

    The output is cached. With `saved` it is also written to files, because another run could give another output, or
    make the same output from other rows.
    """
    held = Held()
    place = Named(fresh("_place", "long", nullable=False), Call("monotonically_increasing_id", (), "long", pure=False))
    columns = tuple(map(like, (*tagged.plan.output, place.attr)))  # the plan may have a column twice
    below, known = tagged.plan, keep(*tagged.plan.output)
    if any(isinstance(part, AggCall) and part.python for part in walk(below)):
        # Catalyst would push the row id into the aggregate, which Spark does not support for one in Python.
        first = frame(below, jvm)
        held.persist(first)
        below = given(first)
        known = tuple(Named(like(attr), attr) for attr in below.output)
    rows = frame(Project(below, (*known, place)), jvm)
    held.persist(rows)
    plan = TracePlan(unavailable_reason=why)
    results: dict[PlanPath, Result] = {}
    failures: list[str] = []
    with described_jobs(jvm, "the pipeline, with the ids of source rows"):
        if not saved:
            rows.count()
            return RunArtifacts(plan, results, rows, (), (held,), annotated=True, row_id=row_id)
        try:
            paths = written(rows, len(columns), held.folder / "annotated")
            results[ANNOTATED] = Result(paths, columns, tuple(range(len(columns))), row_count(paths))
        except Exception as error:  # saving must not fail the pipeline; an error of the pipeline itself occurs again
            failures.append(f"the output with the ids of source rows could not be saved: {first_line(error)}")
            rows.count()
    return RunArtifacts(plan, results, rows, tuple(failures), (held,), annotated=True, row_id=row_id)
