"""Answer cell questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import BadType
from whence.rows import FALSE, Filter
from whence.rows.cells import LINEAGES
from whence.rows.questions.from_pandas import MISSING
from whence.rows.questions.rows import is_simple
from whence.spark.cell_lineage import CellLineage, ReachedCells
from whence.spark.tracing.cells import CellTracer, FoundCells, covering, named_columns, require_lineage
from whence.spark.tracing.choose import tracer_for
from whence.spark.tracing.matching import Matcher, RowSet
from whence.spark.tracing.questions import asked_of
from whence.spark.tracing.replayed import RESTRICTED_FOR, ReplayTracer
from whence.spark.tracing.tracer import Asking

if TYPE_CHECKING:
    from whence.rows import Attr, Source
    from whence.rows.cells.static import Place
    from whence.spark.running.subject import Subject

BOTH = LINEAGES[-1]


class CellQuestions:
    """Answers cell questions about one subject. The cells of a min or max are always those that attain it."""

    def __init__(self, subject: Subject, engine: str, witness: str | None = None) -> None:
        if witness not in (None, "rows"):
            raise BadType(
                "cell questions about min and max always use the cells that attain them: leave out"
                f" witness={witness!r}, or ask about rows, without columns and lineage"
            )
        self._subject, self._analysis = subject, subject.analysis
        self._matcher = Matcher(subject.analysis.jvm, engine)
        self._asking = Asking(self._matcher, covering(subject))
        self._tracer = CellTracer(subject, self._asking)

    def backward(
        self, rows: object, columns: Sequence[str] | None = None, lineage: str = BOTH, *, one: bool = False
    ) -> CellLineage:
        """Return the source cells of some columns of output rows."""
        require_lineage(lineage)
        wanted = named_columns(self._analysis.plan.output, columns, "the output", self._case_sensitive)
        known = self._tracer.from_rows(wanted, lineage)
        each = None if known is None else self._one_by_one(known[0], rows)
        if known is None or each is None:
            found = self._of_groups(rows, wanted, lineage, one) or self._tracer.replayed(rows, wanted, lineage, one=one)
        else:
            tracer = tracer_for(self._subject, replace(self._asking, witness=self._analysis.settings.witness))
            parts = [self._tracer.in_rows(*known, tracer.backward(row, one=one), shown) for row, shown in each]
            found = FoundCells.united(parts)
        return CellLineage(self._analysis.sources, self._matcher, found)

    def _of_groups(self, rows: object, columns: tuple[Attr, ...], lineage: str, one: bool) -> FoundCells | None:
        """Return the cells of groups, if DuckDB can find them. The rows of the question are found as for any
        question.
        """
        asked = asked_of(self._analysis.plan.output, rows, self._analysis.session)
        flat = self._tracer.flat(asked, columns, lineage)
        if flat is None:
            return None
        tracer = tracer_for(self._subject, replace(self._asking, witness=self._analysis.settings.witness))
        if isinstance(tracer, ReplayTracer):  # Spark must run anyway
            return None
        return self._tracer.in_groups(flat, tracer.backward(rows, one=one))

    def _one_by_one(self, places: frozenset[Place], rows: object) -> list[tuple[object, Mapping[Attr, object]]] | None:
        """Split the question into rows with the output values that determine which cells contribute. If no values are
        needed, all rows stay together.

        Return None if a row of the question lacks such a value, or if there are too many rows.
        """
        needed = {place.attained[1] for place in places if place.attained is not None}
        if not needed:
            return [(rows, {})]
        output = self._analysis.plan.output
        asked = asked_of(output, rows, self._analysis.session)
        values = [dict(row) for row in asked]
        if len(asked) > RESTRICTED_FOR or not is_simple(asked) or len({attr.name for attr in output}) < len(output):
            return None
        if not all(needed <= row.keys() and MISSING not in row.values() for row in values):
            return None
        return [({attr.name: value for attr, value in row.items()}, row) for row in values]

    def forward(self, uses: Sequence[Source], row: object, columns: Sequence[str] | None, lineage: str) -> ReachedCells:
        """Return the output cells that cells of source rows reached."""
        require_lineage(lineage)
        name, own = uses[0].name, uses[0].columns
        wanted = named_columns(own, columns, f"source {name!r}", self._case_sensitive)
        rows = tracer_for(self._subject, self._asking).forward(uses, row).collect()
        output = self._analysis.plan.output
        if not rows:
            held = np.zeros((0, len(output)), bool)
            return ReachedCells(
                name, self._matcher, RowSet(output, Filter(self._analysis.plan, FALSE)), held, self._analysis.cuts
            )
        ids = self._tracer.source_ids(uses[0], row)
        places = tuple(own.index(attr) for attr in wanted)
        found, held, reasons = self._tracer.reached(uses, ids, places, [tuple(each) for each in rows], lineage)
        return ReachedCells(name, self._matcher, found, held, reasons)

    @property
    def _case_sensitive(self) -> bool:
        return self._analysis.session.conf.get("spark.sql.caseSensitive") == "true"
