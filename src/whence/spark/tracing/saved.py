"""The tracer that answers from the saved results of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from whence.errors import NotTraceable
from whence.rows import Named, Operator, Project
from whence.rows.duck import DuckQuery, Files
from whence.rows.needed import has_user_code, needs_source
from whence.rows.questions.rows import Asked
from whence.rows.saving import OUTPUT
from whence.spark.lineage import LOST, Lineage, given
from whence.spark.reached import Reached
from whence.spark.tracing.matching import Matched, RowSet
from whence.spark.tracing.questions import RowNumbers, asked_of, clause_of, matching
from whence.spark.tracing.results import Results, source_table
from whence.spark.tracing.tracer import Asking, absent, require_one

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.rows.saving import TracePlan
    from whence.spark.running.artifacts import RunArtifacts
    from whence.spark.running.subject import Subject


class SavedTracer:
    """Follows predicates from the output through the saved results of a run to the sources, or back."""

    title: ClassVar[str] = "what a run saved"
    how: ClassVar[str] = "saved"

    def __init__(self, subject: Subject, asking: Asking) -> None:
        self._subject, self._asking = subject, asking
        self._analysis, self._matcher = subject.analysis, asking.matcher

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        settings, run = self._analysis.settings, self._subject.run
        if settings.mode == "eager":
            return "with mode='eager' a run annotates its rows instead"
        if settings.save == "never":
            return "with save='never' a run saves nothing"
        if run is None:
            return "no run of this pipeline over these files is known"
        if self._asking.witness != settings.witness:
            return f"it was saved for witness={settings.witness!r}"
        if not run.complete:
            return run.trace_plan.unavailable_reason or "; ".join(run.failures)
        return self._not_in_arrow(run.trace_plan)

    def _not_in_arrow(self, plan: TracePlan) -> str | None:
        """The reason if a table has a column of a user-defined type, such as vectors: Arrow has no such type."""
        tables = (self._analysis.plan.output, *(each.columns for each in plan.saved))
        for attr in (attr for table in tables for attr in table):
            if '"udt"' in attr.dtype:
                return f"the column {attr.name!r} has values of a user-defined type"
        return None

    def backward(self, rows: object, *, one: bool = False) -> Lineage:
        analysis, run = self._analysis, self._run()
        output = self._output(run)
        if isinstance(rows, RowNumbers):
            found = self._numbered(output, rows)
            count = found.data.num_rows
        else:
            asked = asked_of(analysis.plan.output, rows, analysis.session)
            found = self._meant(output, asked, "the output")
            count = require_one(found.data.num_rows, asked, one)
        answer = Results(run, self._matcher, output).back(found)
        lineage = Lineage(analysis.sources, answer, analysis.cuts, self.how, count)
        if has_user_code(analysis.plan) and needs_source(analysis.plan) and lineage.has_no_rows():
            return Lineage(analysis.sources, answer, (*analysis.cuts, LOST), self.how, count)
        return lineage

    def forward(self, uses: Sequence[Source], row: object) -> Reached:
        analysis, run, source = self._analysis, self._run(), uses[0]
        table = source_table(source)
        if isinstance(row, RowNumbers):
            rows = self._numbered(table, row)
        else:
            rows = self._meant(table, asked_of(source.columns, row, analysis.session), f"source {source.name!r}")
        results = Results(run, self._matcher, self._output(run))
        reached = results.forth(source.name, rows)
        return Reached(source.name, Matched(self._matcher, self._shown(reached)), analysis.cuts)

    def _run(self) -> RunArtifacts:
        assert self._subject.run is not None
        return self._subject.run

    def _output(self, run: RunArtifacts) -> RowSet:
        """The table of all output rows: saved, as a DataFrame of the run, or computed from the files if nothing has
        run.
        """
        result, plan = run.results.get(OUTPUT), self._analysis.plan
        if result is not None:
            return RowSet(result.columns, result.files)
        columns = tuple(dict.fromkeys(plan.output))
        if run.output is None:
            return RowSet(columns, self._analysis.output_query or plan)
        rows = given(run.output)
        old = {attr: rows.columns[index] for index, attr in reversed(list(enumerate(plan.output)))}
        return RowSet(columns, Project(rows, tuple(Named(attr, old[attr]) for attr in columns)))

    def _numbered(self, table: RowSet, rows: RowNumbers) -> RowSet:
        """The rows of a table with these numbers, in memory."""
        found = self._matcher.numbered(table, rows.array(), identity=False)
        if found is None and isinstance(table.data, Files) and table.read is None:  # a saved output with nested types
            return RowSet(table.columns, self._matcher.arrow(table).take(rows.array()))
        if found is None:
            raise NotTraceable("these rows cannot be given by number: give them by their columns")
        return found

    def _meant(self, rows: RowSet, asked: tuple[Asked, ...], where: str) -> RowSet:
        """The complete rows of a table that match the question, in memory. Errors call the table `where`."""
        matcher, clause = self._matcher, clause_of(asked)
        if clause is None or (matcher.engine == "spark" and clause[1] is not None):
            found = RowSet(rows.columns, matching(matcher.operator(rows), asked, self._analysis.session))
        else:
            found = matcher.matching(rows, clause)
        if not found.here:
            found = RowSet(found.columns, matcher.arrow(found))
        if not found.data.num_rows:
            if isinstance(rows.data, DuckQuery):  # among equal rows, the limit of Spark and of DuckDB may differ
                return self._meant(RowSet(rows.columns, matcher.operator(rows)), asked, where)
            raise absent(self._subject, where, asked)
        return found

    def _shown(self, rows: RowSet) -> RowSet:
        """Output rows with all columns of the output, also those that it has twice."""
        output = self._analysis.plan.output
        if rows.columns == output:
            return rows
        place = {attr: index for index, attr in enumerate(rows.columns)}
        if isinstance(rows.data, Operator):
            return RowSet(output, rows.data)
        return RowSet(output, rows.data.select([place[attr] for attr in output]))
