"""The tracer that answers from annotated rows: output rows saved with the ids of their source rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, ClassVar

from whence.errors import NotTraceable
from whence.rows import Attr, Filter, Literal, Named, Operator, Project, Source, disjunction, fresh, keep
from whence.rows.eager import Tagged
from whence.rows.eager.ids import LIST, LONG, as_list
from whence.rows.expressions import Call
from whence.rows.needed import needs_source
from whence.rows.questions.rows import Asked
from whence.spark.catalyst.frames import frame
from whence.spark.lineage import LOST, Found, Lineage, Replayed
from whence.spark.reached import Reached, SparkRows
from whence.spark.tracing.questions import RowNumbers, asked_of, matching
from whence.spark.tracing.saved_ids import Numbered, SavedIds, source_numbers
from whence.spark.tracing.tracer import Asking, absent, require_one

if TYPE_CHECKING:
    from whence.spark.running.subject import Subject


class AnnotatedTracer:
    """Reads the ids that a run saved with the rows of the question."""

    title: ClassVar[str] = "the ids of source rows that a run saved with its rows"
    how: ClassVar[str] = "annotated"

    def __init__(self, subject: Subject, asking: Asking) -> None:
        self._subject, self._asking = subject, asking
        self._analysis = subject.analysis

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        if self._subject.annotated is None:
            return "no run annotated its rows"
        witness = self._analysis.settings.witness
        return None if self._asking.witness == witness else f"they were saved for witness={witness!r}"

    def backward(self, rows: object, *, one: bool = False) -> Lineage:
        analysis, spark = self._analysis, self._analysis.session
        asked = rows if isinstance(rows, RowNumbers) else asked_of(self._askable(), rows, spark)
        kept = self._saved_ids()
        found = None if kept is None else self._from_saved_ids(kept, asked, one)
        if found is not None:
            return found
        if isinstance(asked, RowNumbers):
            raise NotTraceable("these rows cannot be given by number: give them by their columns")
        tagged = self._tagged(asked)
        selected = matching(self._rows(tagged), asked, spark)
        names = {number: f"_ids_{number}" for number in tagged.ids}
        lists = tuple(Named(fresh(names[number], LIST), as_list(each)) for number, each in tagged.ids.items())
        ids = Found(analysis.jvm, frame(Project(selected, lists), analysis.jvm), names)
        if not ids.rows:
            raise absent(self._subject, "the output", asked)
        count = require_one(ids.rows, asked, one)
        reasons = self._reasons(tagged)
        if ids.without and needs_source(analysis.plan):
            reasons = (*reasons, LOST)
        return Lineage(analysis.sources, Replayed(analysis.jvm, ids), reasons, self.how, count)

    def forward(self, uses: Sequence[Source], row: object) -> Reached:
        analysis = self._analysis
        tagged, kept = self._tagged(None), self._saved_ids()
        if kept is not None:
            asked = row if isinstance(row, RowNumbers) else asked_of(uses[0].columns, row, analysis.session)
            known = source_numbers(uses[0], asked, kept.matcher)
            if known is not None:
                if not isinstance(asked, RowNumbers) and not len(known):
                    raise absent(self._subject, f"source {uses[0].name!r}", asked)
                reached_here = kept.reached(uses, known, self._askable())
                return Reached(uses[0].name, reached_here, self._reasons(tagged))
        numbers = Call("array", tuple(Literal(each, LONG) for each in self._source_ids(uses[0], row)), LIST)
        held = (
            Call("arrays_overlap", (as_list(tagged.ids[each.occurrence]), numbers), "boolean")
            for each in uses
            if each.occurrence in tagged.ids
        )
        found = Filter(self._rows(tagged), disjunction(*held))
        reached = frame(Project(found, keep(*self._askable())), analysis.jvm)
        return Reached(uses[0].name, SparkRows(reached), self._reasons(tagged))

    def _from_saved_ids(self, kept: SavedIds, asked: tuple[Asked, ...] | RowNumbers, one: bool) -> Lineage | None:
        """Answer from the files of the run; return None if only Spark can read them."""
        analysis, rows = self._analysis, kept.rows(asked)
        if rows is None:
            return None
        if isinstance(asked, RowNumbers):
            count = rows.num_rows
        else:
            if not rows.num_rows:
                raise absent(self._subject, "the output", asked)
            count = require_one(rows.num_rows, asked, one)
        reasons = self._reasons(kept.tagged)
        if needs_source(analysis.plan) and kept.without(rows):
            reasons = (*reasons, LOST)
        answer = Numbered(analysis.jvm, kept.matcher, kept.ids(rows))
        return Lineage(analysis.sources, answer, reasons, self.how, count)

    def _saved_ids(self) -> SavedIds | None:
        """The files that the run wrote, or None if DuckDB may not read them."""
        output, matcher = self._subject.annotated, self._asking.matcher
        if output is None or output.table is None or not output.table.paths or matcher.engine == "spark":
            return None
        return SavedIds(output.table, output.tagged, output.row_id, matcher)

    def _askable(self) -> tuple[Attr, ...]:
        """The columns that a question may name: those of the output, and the row id if the run added it."""
        output = self._subject.annotated
        shown = None if output is None else output.row_id
        return self._analysis.plan.output if shown is None else (*self._analysis.plan.output, shown)

    def _tagged(self, asked: tuple[Asked, ...] | None) -> Tagged:
        """The plan with ids. `asked` are the rows of the question, or None for all rows."""
        assert self._subject.annotated is not None
        return self._subject.annotated.tagged

    def _rows(self, tagged: Tagged) -> Operator:
        """The rows with their ids."""
        assert self._subject.annotated is not None
        return self._subject.annotated.operator

    def _reasons(self, tagged: Tagged) -> tuple[str, ...]:
        """Why the ids may be a superset of the lineage."""
        return tuple(dict.fromkeys((*tagged.reasons, *self._analysis.cuts)))

    def _source_ids(self, source: Source, row: object) -> list[int]:
        analysis, spark = self._analysis, self._analysis.session
        asked = asked_of(source.columns, row, spark)
        row_id = fresh("_id", LONG, nullable=False)
        rows = matching(replace(source, row_id=row_id), asked, spark)
        found = [each[0] for each in frame(Project(rows, keep(row_id)), analysis.jvm).collect()]
        if not found:
            raise absent(self._subject, f"source {source.name!r}", asked)
        return found
