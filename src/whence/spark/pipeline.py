"""The class `Pipeline`: a Spark plan that answers where its rows come from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, UnknownName, WhenceError
from whence.relation import Relation
from whence.relation.tables import chosen_columns
from whence.rows import Operator
from whence.rows.columns import ColumnLineage
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import TracePlan
from whence.spark.analysis import Analysis, Settings
from whence.spark.catalyst.plan import classic, read
from whence.spark.cell_questions import BOTH, CellQuestions
from whence.spark.explanation import Explanation, explanation
from whence.spark.lineage import Lineage, widest_first
from whence.spark.progress import seen
from whence.spark.reached import Reached
from whence.spark.running.artifacts import RunArtifacts
from whence.spark.running.execute import run, run_eager
from whence.spark.running.find import find
from whence.spark.running.subject import Subject
from whence.spark.sessions.failures import said_if_stopped
from whence.spark.sources.caches import require_fresh_cache
from whence.spark.sources.checkpoints import remember_checkpoints
from whence.spark.sources.versions import version_read
from whence.spark.tables import by_tasks
from whence.spark.tables.asking import remember
from whence.spark.tables.cell_pairs import cell_pairs
from whence.spark.tables.handing import Materialized, as_numpy, as_pandas, columns_meant
from whence.spark.tables.ordered import Ordered, materialized, ordered
from whence.spark.tables.recording import record_tables
from whence.spark.tracing.choose import tracer_for
from whence.spark.tracing.matching import Matcher
from whence.spark.tracing.tracer import Asking, Tracer
from whence.store.recording.tables import Table, record_value

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from whence.store import Store


class Pipeline:
    """A DataFrame read into operators. `log.pipeline(df)` makes one.

    It holds two values: the analysis of the plan, and the subject of questions, which is the last run, in this process
    or in the log. A run replaces the subject; nothing else changes.
    """

    def __init__(
        self,
        df: object,
        name: str | None = None,
        mode: str = "lazy",
        sources: Mapping[str, object] | None = None,
        save: str = "auto",
        witness: str = "rows",
        store: Store | None = None,
    ) -> None:
        remember_checkpoints()
        settings = Settings(name, mode, save, witness)
        frame = classic(df)
        plan = read(frame, sources)
        versions = {each.name: version_read(each, plan.jvm) for each in sources_of(plan.root)}
        self._analysis = Analysis(frame, plan.jvm, plan.root, versions, settings, store)
        self._subject: Subject | None = None  # set by the first run or question
        require_fresh_cache(frame, plan.jvm)

    @property
    def name(self) -> str | None:
        """The name that the user gave."""
        return self._analysis.settings.name

    @property
    def mode(self) -> str:
        """`lazy` or `eager`, as given."""
        return self._analysis.settings.mode

    @property
    def save(self) -> str:
        """`auto`, `always` or `never`, as given."""
        return self._analysis.settings.save

    @property
    def witness(self) -> str:
        """`rows` or `group`, as given."""
        return self._analysis.settings.witness

    @property
    def analysis(self) -> Analysis:
        """The plan and what is inferred from it; its time is fixed to that of the last run, if there is one."""
        return self._analysis if self._subject is None else self._subject.analysis

    @property
    def artifacts(self) -> RunArtifacts | None:
        """What the last run saved, if there is one."""
        return None if self._subject is None else self._subject.run

    @property
    def plan(self) -> Operator:
        """The operators. If they read the clock, the time is that of the last run."""
        return self.analysis.plan

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources, in the order of the plan."""
        return self._analysis.source_names

    @property
    def versions(self) -> dict[str, list[list[Any]]]:
        """The sources with their files when the pipeline was read: name, size in bytes, time in milliseconds."""
        return self._analysis.files

    @property
    def trace_plan(self) -> TracePlan:
        """What a run saves, and how rows are traced with it."""
        return self.analysis.trace_plan

    def columns(self) -> dict[str, ColumnLineage]:
        """Return for each output column the source columns it comes from; a repeated name gets `#2`, `#3`."""
        return self.analysis.columns()

    def explain(self) -> Explanation:
        """Describe the operators with the predicate at each that traces a row, what a run saves, and what is not exact.

        It also says how a question would be answered now, and why not in a faster way. It does not run Spark.
        """
        try:
            return explanation(self._subject or find(self._analysis))
        except WhenceError as error:  # a question would fail with it
            return Explanation(f"{explanation(Subject(self._analysis))}\nthe run in the log cannot be read: {error}")

    @said_if_stopped
    def run(self, *, row_ids: bool = False) -> DataFrame:
        """Compute the output, and save what is needed to trace its rows: in the log, if there is one.

        In eager mode that is the lineage of every row. With `save="never"`, nothing is saved or computed. With
        `row_ids=True` the output has an additional column `_row_id`, which tells equal rows apart; the lineage of every
        row is saved for that.
        """
        with seen(f"running {self.name or 'the pipeline'}"):
            return self._run(row_ids=row_ids)

    def _run(self, *, row_ids: bool) -> DataFrame:
        settings = self._analysis.settings
        if settings.mode == "eager":
            known = self._subject.annotated if self._subject is not None else None
            if known is None or row_ids != (known.row_id is not None):
                self._subject = run_eager(self._analysis, row_ids=row_ids)
        elif settings.save == "never":
            if row_ids:
                raise BadType("row_ids=True needs saved results: leave out save='never'")
            return self._analysis.df
        else:
            self._subject = run(self._analysis, row_ids=row_ids)
        assert self._subject is not None
        self._remember()
        return self._subject.output()

    @said_if_stopped
    def backward(
        self,
        rows: object,
        witness: str | None = None,
        engine: str = "auto",
        *,
        one: bool = False,
        columns: Sequence[str] | None = None,
        lineage: str = BOTH,
    ) -> Lineage:
        """Find the source rows that made the given output rows: a dictionary, a Row, a tuple, or a list of them.

        If you give only some columns of a row, the question is about all rows with these values; with `one=True` it is
        an error if there are several. `engine` chooses what finds the source rows: duckdb, spark, or auto, which takes
        DuckDB if it gives the same rows as Spark.

        `witness="group"` takes the whole group for min, max, first, last and any. `witness="rows"`, given here, also
        tries functions of groups (`applyInPandas`) on fewer rows: if the rows that such a function kept give the row
        again by themselves, these are the answer, and `how` of the answer says so; otherwise it is the group.

        With `columns` the question is about these cells of the rows. The answer has the source rows with a cell that
        they come from, and `.cells(source)`. `lineage="value"` leaves out the cells that only influenced the selection:
        those of conditions, of keys of joins and groups, and of sort orders.
        """
        with seen("looking for source rows"):
            return self._backward(rows, witness, engine, one, columns, lineage)

    def _backward(
        self, rows: object, witness: str | None, engine: str, one: bool, columns: Sequence[str] | None, lineage: str
    ) -> Lineage:
        if columns is None and lineage == BOTH:
            found = self._tracer(witness, engine).backward(rows, one=one)
            return found.asking_cells(lambda: CellQuestions(self._known(), engine).backward(rows))
        self._analysis.require_unchanged()
        return CellQuestions(self._known(), engine, witness).backward(rows, columns, lineage, one=one)

    @said_if_stopped
    def forward(
        self,
        source: str,
        row: object,
        witness: str | None = None,
        engine: str = "auto",
        *,
        columns: Sequence[str] | None = None,
        lineage: str = BOTH,
    ) -> Reached:
        """Find the output rows whose lineage has the given rows of a source: `.dataframe()`, `.collect()`.

        `.precise` says whether the rows are exact; if not, `.reason` says why. With `columns` or
        `lineage="value"` the question is about these cells of the source's rows; `.cells()` and `.columns` of the
        answer are the output cells that they reached.
        """
        matcher = Matcher(self._analysis.jvm, engine)
        uses = widest_first(each for each in self._analysis.sources if each.name == source)
        if not uses:
            raise UnknownName.of("source", source, self.sources)
        if columns is None and lineage == BOTH:
            return self._tracer(witness, matcher.engine).forward(uses, row)
        self._analysis.require_unchanged()
        return CellQuestions(self._known(), engine, witness).forward(uses, row, columns, lineage)

    @said_if_stopped
    def materialize(self, *, engine: str = "auto") -> Materialized:
        """Store the lineage of every row and cell of the output; later questions need neither Spark nor the files.

        It needs a run with the ids of source rows, unless the last run has them, and may need another run for each kind
        of cell lineage. If the sources are large, or with engine="spark", Spark's tasks write rows and their lineage to
        the log, so that they need not fit into this process. That makes a new run, with its own order of rows and
        without cells. `explain` says which way is used, and why.
        """
        store = self._require_log("materialize")
        if by_tasks.chosen(self._analysis, engine)[0] == "spark":
            stored = by_tasks.materialize(store, self._analysis)
            if stored is not None:
                return Materialized.of(store, *stored, (by_tasks.ROWS_ALONE,))
        found = materialized(self._analysis, self._known())
        self._subject = found.subject
        assert found.subject.run is not None
        cells, missing = cell_pairs(found)
        made, table = record_tables(
            store, found.subject.analysis, found.subject.run, found.pairs, found.reasons, cells=cells
        )
        self._remember()
        return Materialized.of(store, made, table, missing)

    @said_if_stopped
    def to_pandas(self, name: str | None = None) -> pd.DataFrame:
        """Return the output like `toPandas()`, and link its rows to the log, so that they can be traced.

        The rows are those of the last run, or of a new one. Every call returns them in the same order.
        """
        found, made, table = self._handed_over("to_pandas")
        frame = as_pandas(found.rows, self._analysis)
        record_value(
            self._require_log("to_pandas"), name or f"{table.name}_frame", frame, Relation.identity(table.shape), made,
            "to_pandas", table.columns,
        )  # fmt: skip
        return frame

    @said_if_stopped
    def to_numpy(self, columns: Sequence[str] | str | None = None, name: str | None = None) -> NDArray[np.float64]:
        """Return columns of the output as an array of floats, linked to the log; NULL becomes NaN.

        The rows are those of the last run, or of a new one, in the order of `to_pandas`.
        """
        names = self._analysis.df.columns
        places = columns_meant(columns, names)
        found, made, table = self._handed_over("to_numpy")
        array = as_numpy(found.rows, places, [names[place] for place in places])
        record_value(
            self._require_log("to_numpy"), name or f"{table.name}_array", array,
            chosen_columns(table.rows, len(names), places), made, "to_numpy", None,
        )  # fmt: skip
        return array

    def _handed_over(self, method: str) -> tuple[Ordered, str, Table]:
        store = self._require_log(method)
        found = ordered(self._analysis, self._known())
        self._subject = found.subject
        assert found.subject.run is not None
        made, table = record_tables(store, found.subject.analysis, found.subject.run, found.pairs, found.reasons)
        self._remember()
        return found, made, table

    def _remember(self) -> None:
        """Let this pipeline answer questions about the tables of the run for as long as it exists."""
        store, run = self._analysis.store, self.artifacts
        if store is not None and run is not None:
            remember(store, run.recorded, self)

    def _require_log(self, method: str) -> Store:
        store = self._analysis.store
        if store is None:
            raise BadType(f"{method} records rows in a log, and this pipeline has none: make it with log.pipeline(df)")
        store.database.require_writable()
        return store

    def _known(self) -> Subject:
        """The subject of questions: the last run in this process, or else in the log. The log is searched once."""
        if self._subject is None:
            self._subject = find(self._analysis)
        return self._subject

    def _tracer(self, witness: str | None, engine: str) -> Tracer:
        """The first tracer that can answer."""
        wanted = witness or self._analysis.settings.witness
        asking = Asking(Matcher(self._analysis.jvm, engine), wanted, tried=witness == "rows")
        self._analysis.require_unchanged()
        return tracer_for(self._known(), asking)

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.explain())}</pre>"

    def _repr_svg_(self) -> str | None:
        from whence.spark.picture import svg_of_operators

        return svg_of_operators(self.plan)

    def __repr__(self) -> str:
        return f"<Pipeline {self.name or ''} over {', '.join(self.sources) or 'nothing'}>".replace("  ", " ")
