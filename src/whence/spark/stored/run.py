"""A run of a pipeline in the log, which answers questions from the log and the files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, Damaged, NotTraceable, SourceChanged, UnknownName, WhenceError
from whence.rows import fresh, like
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import ANNOTATED, OUTPUT, PlanPath
from whence.spark.cell_questions import BOTH, CellQuestions
from whence.spark.lineage import Lineage, widest_first
from whence.spark.running.annotated import row_id_column
from whence.spark.running.artifacts import Result, RunArtifacts, opened
from whence.spark.running.document import read_document
from whence.spark.running.subject import Subject
from whence.spark.sources.stored import StoredLeaf
from whence.spark.sources.versions import require_unchanged
from whence.spark.stored.analysis import StoredAnalysis
from whence.spark.stored.known import guarded
from whence.spark.stored.numbers import by_id, by_number, numbering, places_of
from whence.spark.stored.opaque import not_replayable
from whence.spark.tracing.choose import tracer_for
from whence.spark.tracing.matching import Matcher
from whence.spark.tracing.questions import RowNumbers
from whence.spark.tracing.replayed import ReplayTracer
from whence.spark.tracing.tracer import Asking, Tracer
from whence.store.catalog import runs

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows import Attr, Source
    from whence.spark.reached import Reached
    from whence.store import Store
    from whence.store.catalog.runs import Run

PLAN = "the plan of the run"


def open_run(store: Store, run: Run | int) -> StoredRun:
    """Open a run by its record or its id. Nothing is read before the first question."""
    if isinstance(run, int):
        found = {each.id: each for each in runs.listed(store)}
        if run not in found:
            raise UnknownName(f"there is no run {run}: log.runs() lists all runs")
        run = found[run]
    return StoredRun(store, run)


class StoredRun:
    """A run that is in the log.

    It answers the same questions as its pipeline, in a program without the pipeline's code. DuckDB answers if it gives
    the same results as Spark. Otherwise the active Spark session is used, or one is started; if pyspark is not
    installed, the error says so.
    """

    def __init__(self, store: Store, run: Run) -> None:
        self._store, self.record = store, run

    @property
    def id(self) -> int:
        """The id of the run in the log."""
        return self.record.id

    @property
    def pipeline(self) -> str:
        """The name of the pipeline."""
        return self.record.pipeline

    @property
    def created(self) -> str:
        """When it was recorded."""
        return self.record.created

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources that it read."""
        return self.record.sources

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the output's columns."""
        return tuple(attr.name for attr in self._output_columns)

    @property
    def rows(self) -> int | None:
        """The number of output rows; None if the output was not saved."""
        saved = self._saved.get(OUTPUT) or self._saved.get(ANNOTATED)
        return None if saved is None or "rows" not in saved else int(saved["rows"])

    def output_rows(self, numbers: object) -> pa.Table:
        """Return rows of the output by their numbers, from 0."""
        if self.rows is None:
            raise NotTraceable(
                f"the output of {self} was not saved, because it was too large. Give rows by their columns"
            )
        rows = RowNumbers.of(numbers, self.rows)
        return self._output.take(list(rows.numbers))

    def backward(
        self,
        rows: object = None,
        *,
        numbers: object = None,
        witness: str | None = None,
        engine: str = "auto",
        one: bool = False,
        columns: Sequence[str] | None = None,
        lineage: str = BOTH,
    ) -> Lineage:
        """Find the source rows of output rows, given as for `Pipeline.backward` or by their `numbers`."""
        asked = self._asked(rows, numbers, self.rows)
        lost = self._lost()
        if columns is not None or lineage != BOTH:
            for error in lost.values():
                raise error
            rows_asked = self._by_values(asked)
            return CellQuestions(self._subject, engine, witness).backward(rows_asked, columns, lineage, one=one)
        tracer = self._tracer(witness, engine, lost)
        if isinstance(tracer, ReplayTracer):  # a replay finds rows by their values
            asked = self._by_values(asked)
        return guarded(tracer.backward(asked, one=one), lost)

    def forward(
        self,
        source: str,
        rows: object = None,
        *,
        numbers: object = None,
        witness: str | None = None,
        engine: str = "auto",
        columns: Sequence[str] | None = None,
        lineage: str = BOTH,
    ) -> Reached:
        """Find the output rows that rows of a source reached, given by value or by `numbers` over all its files."""
        uses = self._uses(source)
        lost = self._lost()
        if source in lost:
            raise lost[source]
        asked = self._asked(rows, numbers, self.source_rows(source) if numbers is not None else None)
        if isinstance(asked, RowNumbers):
            asked = by_id(asked, uses[0], self._analysis.jvm)
        if columns is not None or lineage != BOTH:
            for error in lost.values():
                raise error
            if isinstance(asked, RowNumbers):
                raise NotTraceable("cell questions take rows by value: leave out numbers=")
            return CellQuestions(self._subject, engine, witness).forward(uses, asked, columns, lineage)
        return self._tracer(witness, engine, lost).forward(uses, asked)

    def source_rows(self, source: str) -> int | None:
        """Return the number of rows of a source; None if it is not Parquet on this machine."""
        found = numbering(self._uses(source)[0], self._analysis.jvm)
        return None if found is None else found.rows

    def source_numbers(self, lineage: Lineage, source: str) -> pa.ChunkedArray:
        """Return the numbers, from 0 over all files in order, of the rows of a source in an answer."""
        return by_number(lineage.identities(source), self._uses(source)[0], self._analysis.jvm)

    def reached_numbers(self, reached: Reached) -> pa.ChunkedArray:
        """Return the numbers, from 0, of the rows of the saved output in an answer. Equal rows are all included."""
        return places_of(reached.arrow(), self._output)

    def _uses(self, source: str) -> list[Source]:
        found = widest_first(each for each in self._analysis.sources if each.name == source)
        if not found:
            raise UnknownName.of("source", source, self._analysis.source_names)
        return found

    def _by_values(self, asked: object) -> object:
        """Convert row numbers of the output to rows given by value."""
        if not isinstance(asked, RowNumbers):
            return asked
        held = self._output.take(list(asked.numbers))
        return list(zip(*(column.to_pylist() for column in held.columns), strict=True))

    def _asked(self, rows: object, numbers: object, count: int | None) -> object:
        if (rows is None) == (numbers is None):
            raise BadType("give rows either by value or by numbers=, not both")
        return rows if numbers is None else RowNumbers.of(numbers, count)

    def _tracer(self, witness: str | None, engine: str, lost: Mapping[str, WhenceError]) -> Tracer:
        analysis = self._analysis
        asking = Asking(Matcher(analysis.jvm, engine), witness or analysis.settings.witness)
        found = tracer_for(self._subject, asking)
        read = _read_by(self._subject, found) if lost else set()
        for name, error in lost.items():
            if name in read:
                raise error
        missing = not_replayable(analysis.plan) if isinstance(found, ReplayTracer) else None
        if missing is not None:
            raise NotTraceable(
                f"{self} has to run again to answer this, but the log cannot run it: {missing}. Build the pipeline"
                " again, and use log.pipeline(df).backward(...)"
            )
        return found

    def _lost(self) -> dict[str, WhenceError]:
        """The sources that have changed, or that never were files, each with its error."""
        found: dict[str, WhenceError] = {}
        for source in self._analysis.sources:
            if source.name not in found:
                if isinstance(source.origin, StoredLeaf) and source.origin.lost:
                    why = f"source {source.name!r} cannot be read again: {source.origin.lost}"
                    found[source.name] = NotTraceable(why)
                    continue
                try:
                    require_unchanged(source, self._analysis.versions[source.name], self._analysis.jvm)
                except SourceChanged as error:
                    found[source.name] = _since(error, self.record.created)
        return found

    @cached_property
    def _saved(self) -> dict[PlanPath, dict[str, Any]]:
        return {tuple(each["place"]): each for each in self.record.document.get("saved", ())}

    @cached_property
    def _analysis(self) -> StoredAnalysis:
        with self._record_read():
            return self._read_analysis()

    def _read_analysis(self) -> StoredAnalysis:
        run = self.record
        held = run.document.get("plan")
        if not isinstance(held, dict) or "file" not in held:
            why = held.get("missing") if isinstance(held, dict) else "it was recorded by an older whence"
            raise NotTraceable(
                f"{self} cannot answer questions without its pipeline: {why}. Use log.pipeline(df).backward"
            )
        name = run.files[held["file"]]
        document = read_document(self._store.blobs.local(name, PLAN).read_bytes())
        versions = {
            source: frozenset((str(file), int(size), int(changed)) for file, size, changed in files)
            for source, files in run.document["sources"].items()
        }
        lost = {each.name for each in sources_of(document.stored.plan)} - versions.keys()
        if lost:
            raise Damaged(f"the record of {self} does not say how {', '.join(sorted(lost))} was read")
        return StoredAnalysis.of(document, versions, run.pipeline, self._store)

    @contextmanager
    def _record_read(self) -> Iterator[None]:
        """Raise Damaged if the catalog's record is not valid."""
        try:
            yield
        except WhenceError:
            raise
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            raise Damaged(f"the record of {self} is damaged: {type(error).__name__} {error}") from error

    @cached_property
    def _subject(self) -> Subject:
        with self._record_read():
            return self._read_subject()

    def _read_subject(self) -> Subject:
        analysis, document = self._analysis, self.record.document
        columns = {each.place: each.columns for each in analysis.trace_plan.saved}
        columns[OUTPUT] = self._picked(analysis.plan.output, OUTPUT)
        annotated, row_id = ANNOTATED in self._saved, None
        if annotated:
            held = (*analysis.annotated(analysis.settings.witness).plan.output, fresh("_place", "long", nullable=False))
            columns[ANNOTATED] = tuple(map(like, held))
            row_id = row_id_column(analysis.plan.output) if document.get("row_ids") else None
        results = {
            place: Result((), columns[place], tuple(each["columns"]), each["rows"])
            for place, each in self._saved.items()
            if place in columns
        }
        stored = [each for each in document["saved"] if tuple(each["place"]) in results]
        files = opened(self._store, self.record.files, stored, results)
        failures = tuple(map(str, document.get("failures", ())))
        run = RunArtifacts(analysis.trace_plan, files, None, failures, annotated=annotated, row_id=row_id)
        return Subject.of(analysis, run)

    def _picked(self, columns: tuple[Attr, ...], place: PlanPath) -> tuple[Attr, ...]:
        saved = self._saved.get(place)
        return () if saved is None else tuple(columns[index] for index in saved["columns"])

    @property
    def _output_columns(self) -> tuple[Attr, ...]:
        shown, row_id = self._analysis.plan.output, self._subject.run.row_id if self._subject.run else None
        return shown if row_id is None else (*shown, row_id)

    @cached_property
    def _output(self) -> pa.Table:
        """The saved output with all its columns, including duplicates."""
        import pyarrow.parquet as pq

        run = self._subject.run
        assert run is not None
        result = run.results.get(OUTPUT) or run.results[ANNOTATED]
        names = [f"c{index}" for index in range(len(result.columns))]
        if OUTPUT in run.results:
            held = pq.read_table(list(result.paths), columns=names)
            place = {attr: index for index, attr in enumerate(result.columns)}
        else:
            held = pq.read_table(list(result.paths), columns=names).sort_by(names[-1])
            tagged = self._analysis.annotated(self._analysis.settings.witness).plan.output
            place = {attr: index for index, attr in reversed(list(enumerate(tagged)))}
            if run.row_id is not None:
                place[run.row_id] = len(names) - 1
        chosen = [place[attr] for attr in self._output_columns]
        return held.select(chosen).rename_columns(list(self.columns))

    def as_dict(self) -> dict[str, Any]:
        """The record of the run as a dictionary for JSON."""
        return self.record.as_dict()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StoredRun) and (self.record, self._store) == (other.record, other._store)

    def __hash__(self) -> int:
        return hash((type(self), self.record.id))

    def __str__(self) -> str:
        return f"run {self.id} of {self.pipeline}"

    def __repr__(self) -> str:
        return f"<Run {self.id}: {self.record}, {self.created}>"


def _read_by(subject: Subject, tracer: Tracer) -> set[str]:
    """The sources that a tracer reads to compute an answer about any source."""
    from whence.spark.tracing.annotated import AnnotatedTracer
    from whence.spark.tracing.saved import SavedTracer

    everything: set[str] = {each.name for each in subject.analysis.sources}
    if type(tracer) is AnnotatedTracer:
        return set()
    if type(tracer) is not SavedTracer or subject.run is None or OUTPUT not in subject.run.results:
        return everything
    recomputed: list[Source] = [
        source for each in subject.run.trace_plan.saved if each.recomputed for source in sources_of(each.operator)
    ]
    return {source.name for source in recomputed}


def _since(error: SourceChanged, time: str) -> SourceChanged:
    text = str(error).replace("since the DataFrame was made", f"since the run of {time}").split(". An answer", 1)[0]
    return SourceChanged(
        f"{text}. whence can no longer find its rows. Restore the file to ask about it; other sources still work"
    )
