"""A pipeline that can be asked where its rows come from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, NoSuchRow, UnknownName
from whence.rows import (
    TRUE,
    Attr,
    Filter,
    Limit,
    Literal,
    Named,
    Operator,
    Project,
    Source,
    disjunction,
    fresh,
    keep,
    walk,
)
from whence.rows.columns import ColumnLineage, columns
from whence.rows.determinism.clock import stopped, tells_time
from whence.rows.determinism.reasons import Cause
from whence.rows.duck import DuckQuery, count
from whence.rows.eager import WITNESSES, Tagged, eager
from whence.rows.eager.ids import LIST, LONG, as_list
from whence.rows.expressions import Call
from whence.rows.needed import has_user_code, needs_source
from whence.rows.pushdown import infer
from whence.rows.questions.restrict import restrict
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.questions.rows import Asked, described, is_simple, predicate
from whence.rows.saving import ANNOTATED, OUTPUT, Sizes, TracePlan, explained, trace_plan
from whence.spark.catalyst.plan import classic, read
from whence.spark.catalyst.write import frame
from whence.spark.lineage import LOST, Found, Lineage, Replayed, given, widest_first
from whence.spark.reached import Reached
from whence.spark.running.materialize import MANY, RunArtifacts, annotated, run_saving, surely_few
from whence.spark.running.outputs import holdable, local
from whence.spark.running.record import changed, record, recorded, sizes
from whence.spark.sources.versions import require_fresh_cache, require_unchanged, version_read
from whence.spark.tracing.annotated import AnnotatedOutput, row_id
from whence.spark.tracing.matching import Matcher, RowSet
from whence.spark.tracing.nondeterminism import Nondeterminism
from whence.spark.tracing.questions import asked_of, matching, written_out
from whence.spark.tracing.saved import AGAIN, SavedTracer, cheap_to_recompute, source_table, view
from whence.store.catalog.clock import now

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.store import Store

MODES = ("lazy", "eager")
SAVES = ("auto", "always", "never")
CUT_FOR = 20  # rows asked at once for which the sources are cut down


class Explanation(str):
    """Text that a notebook shows as it is."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


class Pipeline:
    """A DataFrame read into operators. `log.pipeline(df)` makes one."""

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
        for what, value, known in (("mode", mode, MODES), ("save", save, SAVES), ("witness", witness, WITNESSES)):
            if value not in known:
                raise BadType(f"{what} is one of {', '.join(known)}, not {value!r}")
        self.name, self.mode, self.save, self.witness = name, mode, save, witness
        self._df = classic(df)
        self._plan = read(self._df, sources)
        self.unpinned_plan = self._plan.root  # the plan before `current_timestamp()` is fixed to the time of a run
        self.pinned_time: datetime | None = None  # of the run that questions are about, if the plan reads the time
        self._tagged: dict[str, Tagged] = {}
        self._annotated: AnnotatedOutput | None = None  # the output rows with the ids of their source rows
        self._store = store
        self._looked = False
        self._artifacts: RunArtifacts | None = None
        self._trace_plan: TracePlan | None = None
        self._versions = {each.name: version_read(each, self._plan.jvm) for each in sources_of(self.plan)}
        require_fresh_cache(self._df, self._plan.jvm)

    @property
    def plan(self) -> Operator:
        """The operators."""
        return self._plan.root

    @property
    def sources(self) -> tuple[str, ...]:
        """The names of the sources, in the order in which the plan meets them."""
        return tuple(dict.fromkeys(each.name for each in sources_of(self.plan)))

    @property
    def called(self) -> str:
        """The name under which the log has it."""
        return self.name or "pipeline"

    @property
    def versions(self) -> dict[str, list[list[Any]]]:
        """The sources with their files as they were when the pipeline was read: name, bytes, milliseconds."""
        return {name: [list(each) for each in sorted(files)] for name, files in sorted(self._versions.items())}

    def explain(self) -> Explanation:
        """The operators, what is asked at each to trace a row, what a run saves and why, and what is not exact."""
        found = self._artifacts.trace_plan if self._artifacts is not None else self.trace_plan
        lines = [explained(self.plan, found)]
        if self.mode == "eager":
            lines.append("eager: a run annotates each row with the ids of its source rows")
        elif self._causes and self.save != "never":
            lines.append(f"a run annotates each row with the ids of its source rows: {self._causes[0].why}")
        elif self.save == "never" or found.unavailable_reason:
            why = found.unavailable_reason or "nothing is to be saved"
            lines.append(f"replayed: the pipeline runs again on the part of the sources that matters ({why})")
        else:
            written = len(found.written)
            lines.append(
                f"a run saves {written} intermediate result{'' if written == 1 else 's'}; rows are traced from there"
                if written
                else "a run saves nothing but its output"
            )
            if len(found.saved) > written:
                lines.append("results marked as recomputed are computed from the files; save='always' saves them, too")
        lines += [
            f"not saved: {failure}" for failure in (self._artifacts.failures if self._artifacts is not None else ())
        ]
        lines += [f"not reproducible: {reason}" for reason in self._nondeterminism.possible_reasons]
        lines += [f"a superset: {reason}" for reason in self._eager(self.witness).reasons]
        lines += [f"not traced further: {reason}" for reason in self._cuts]
        return Explanation("\n".join(lines))

    def columns(self) -> dict[str, ColumnLineage]:
        """For each output column, the source columns it comes from; a name that repeats gets `#2`, `#3`."""
        found: dict[str, ColumnLineage] = {}
        for attr, lineage in columns(self.plan):
            name, count = attr.name, 1
            while name in found:
                count += 1
                name = f"{attr.name}#{count}"
            found[name] = lineage
        return found

    def run(self, *, row_ids: bool = False) -> DataFrame:
        """The output. It is computed now, and what it takes to trace its rows is kept: in the log, if there is one.

        In eager mode that is the lineage of every row. With `save="never"` nothing is kept, and nothing is computed.
        With `row_ids=True` the output has one more column, `_row_id`, by which equal rows can be asked about one by
        one; the lineage of every row is kept for that.
        """
        if self.mode == "eager":
            if self._annotated is None or row_ids != (self._annotated.row_id is not None):
                self._artifacts = self._run_annotated(row_ids, saved=bool(self._nondeterminism.possible_reasons))
                self._annotated = self._read_back(self._artifacts)
            return self._shown_by(self._annotated)
        if self.save == "never":
            if row_ids:
                raise BadType("row_ids=True needs a run that is kept: leave save='never' out")
            return self._df
        self._require_unchanged()
        started = now()
        self._annotated = None
        if tells_time(self.unpinned_plan):
            self.pin_time(datetime.now(UTC))
        if row_ids or self._causes:
            run = self._run_annotated(row_ids, saved=True)
        else:
            df = self._df if self.pinned_time is None else frame(self.plan, self._plan.jvm).toDF(*self._df.columns)
            run = run_saving(df, self.plan, self.trace_plan, self.witness, self._plan.jvm, self._local, self._few())
        self._artifacts = run if self._store is None else record(self._store, self, run, started)
        if run.annotated:
            self._annotated = self._read_back(self._artifacts)
            return self._shown_by(self._annotated)
        assert run.output is not None
        return run.output

    def pin_time(self, time: datetime) -> None:
        """Fix `current_timestamp()` to the time of a run; questions are about that run from now on."""
        zone = str(self._df.sparkSession.conf.get("spark.sql.session.timeZone"))
        self.pinned_time = time
        self._plan = replace(self._plan, root=stopped(self.unpinned_plan, time, zone))
        self._trace_plan = None
        self._tagged.clear()
        for each in ("_nondeterminism", "_sizes", "_clear", "_view"):
            self.__dict__.pop(each, None)

    def backward(self, rows: object, witness: str | None = None, engine: str = "auto", *, one: bool = False) -> Lineage:
        """The source rows that made the given output rows: a dictionary, a Row, a tuple, or a list of them.

        Of rows that are given by some of their columns, all that agree are meant; with `one=True` that is an error.
        `engine` says who looks the source rows up: duckdb, spark, or auto for DuckDB where it means the same.
        """
        matched = Matcher(self._plan.jvm, engine)
        self._require_unchanged()
        run = self._traced(engine) if witness in (None, self.witness) else None
        asked = asked_of(self._askable, rows, self._df.sparkSession)
        if run is not None:
            output = self._output(run)
            found = self._meant(matched, output, asked, "the output")
            count = self._require_one(found.data.num_rows, asked, one)
            how = "saved" if run is self._artifacts else "replayed"
            doubted = has_user_code(self.plan) and needs_source(self.plan)
            answer = SavedTracer(run, matched, output).back(found)
            return Lineage(sources_of(self.plan), answer, self._cuts, how, count, doubted)
        tagged = self._replayed(asked, witness or self.witness)
        selected = matching(self._annotated_rows(tagged), asked, self._df.sparkSession)
        names = {number: f"_ids_{number}" for number in tagged.ids}
        lists = tuple(Named(fresh(names[number], LIST), as_list(each)) for number, each in tagged.ids.items())
        ids = Found(self._plan.jvm, frame(Project(selected, lists), self._plan.jvm), names)
        if not ids.rows:
            raise self._absent("the output", asked)
        count = self._require_one(ids.rows, asked, one)
        how = "annotated" if self._is_annotated(tagged) else "replayed"
        reasons = self._reasons(tagged)
        if ids.without and needs_source(self.plan):
            reasons = (*reasons, LOST)
        return Lineage(sources_of(self.plan), Replayed(self._plan.jvm, ids), reasons, how, count)

    def forward(self, source: str, row: object, witness: str | None = None, engine: str = "auto") -> Reached:
        """The output rows whose lineage holds the given rows of a source: `.dataframe()`, `.collect()`.

        `.precise` says whether these are all and only those; if not, `.reason` says why.
        """
        matched = Matcher(self._plan.jvm, engine)
        self._require_unchanged()
        uses = widest_first(each for each in sources_of(self.plan) if each.name == source)
        if not uses:
            raise UnknownName.of("source", source, self.sources)
        run = self._traced(engine) if witness in (None, self.witness) else None
        if run is not None:
            asked = asked_of(uses[0].columns, row, self._df.sparkSession)
            rows = self._meant(matched, source_table(uses[0]), asked, f"source {source!r}")
            reached = self._shown(SavedTracer(run, matched, self._output(run)).forth(source, rows))
            return Reached(source, matched.dataframe(reached), self._cuts)
        tagged = self._eager(witness or self.witness)
        wanted = self._source_ids(uses[0], row)
        numbers = Call("array", tuple(Literal(each, LONG) for each in wanted), LIST)
        held = (
            Call("arrays_overlap", (as_list(tagged.ids[each.occurrence]), numbers), "boolean")
            for each in uses
            if each.occurrence in tagged.ids
        )
        found = Filter(self._annotated_rows(tagged), disjunction(*held))
        rows_reached = frame(Project(found, keep(*self._askable)), self._plan.jvm)
        return Reached(source, rows_reached, self._reasons(tagged))

    @property
    def trace_plan(self) -> TracePlan:
        """What a run saves, and how rows are traced with it."""
        if self._trace_plan is None:
            found = trace_plan(self.plan, self.witness, self._sizes)
            self._trace_plan = found if self.save == "always" else found.with_virtual(cheap_to_recompute)
        return self._trace_plan

    # --- a run

    @property
    def annotated_plan(self) -> Operator:
        """The plan with the ids of source rows beside each row."""
        return self._eager(self.witness).plan

    def _run_annotated(self, row_ids: bool, *, saved: bool) -> RunArtifacts:
        """A run with ids."""
        wanted = row_id(self.plan.output) if row_ids else None
        possible_reasons = self._nondeterminism.possible_reasons
        why = (
            "row ids are shown"
            if row_ids
            else possible_reasons[0]
            if possible_reasons
            else "all lineage is materialized"
        )
        return replace(annotated(self._eager(self.witness), why, self._plan.jvm, saved=saved), row_id=wanted)

    def _read_back(self, run: RunArtifacts) -> AnnotatedOutput:
        """The rows with their ids as they were saved: what is cached may get lost, and would be something else then."""
        table, rows = run.results.get(ANNOTATED), run.output
        if table is not None:
            rows = Matcher(self._plan.jvm).dataframe(RowSet(table.columns, table.files))
        assert rows is not None
        return AnnotatedOutput(self._eager(self.witness), rows, run.row_id, mixed=table is not None)

    def _shown_by(self, annotated: AnnotatedOutput) -> DataFrame:
        return annotated.output(self.plan, self._df.columns, self._plan.jvm)

    def _local(self, rows: pa.Table) -> DataFrame | None:
        if self.pinned_time is not None:  # a pipeline that goes on from it would ask what time it is then
            return None
        return local(rows, self._df, self.plan, self._versions, self._plan.jvm)

    def _few(self) -> bool:
        """Whether the output is small for all that is known, and can be local data then."""
        known = self._sizes.measured(self.plan)
        return (
            self.pinned_time is None
            and holdable(self.plan)
            and (surely_few(self.plan) or (known is not None and known <= MANY))
        )

    @cached_property
    def _sizes(self) -> Sizes:
        return sizes(self, self._store)

    @cached_property
    def _nondeterminism(self) -> Nondeterminism:
        return Nondeterminism(self.plan, self._plan.jvm)

    @property
    def _causes(self) -> tuple[Cause, ...]:
        return self._nondeterminism.to_pin(picked=self.save == "always")

    # --- from what a run kept

    def _traced(self, engine: str) -> RunArtifacts | None:
        """What rows are traced with: what a run saved, or what is cheap to recompute from the sources."""
        run = self._known()
        if run is not None or self._annotated is not None or self.mode == "eager" or engine == "duckdb":
            return run
        if self._nondeterminism.reasons:
            return None
        found = self.trace_plan.with_virtual(cheap_to_recompute)
        if (
            found.unavailable_reason
            or found.written
            or (found.limit_to_check is not None and (engine == "spark" or not self._clear))
        ):
            return None
        return RunArtifacts(found)

    @cached_property
    def _clear(self) -> bool:
        """Whether every limit is known to take the same rows each time."""
        return self._view is not None and count(self._view, TRUE) is not None

    @cached_property
    def _view(self) -> DuckQuery | None:
        """The output as DuckDB computes it from the files, if it can."""
        found = view(self.plan, tuple(dict.fromkeys(self.plan.output)), every=True)
        return found if found is not None and found.readable(found.columns) and found.size() <= AGAIN else None

    def _known(self) -> RunArtifacts | None:
        """What a run kept, here or in the log, if it is enough to answer from."""
        if self.mode == "eager" or self.save == "never":
            return None
        if self._artifacts is None and self._store is not None and not self._looked:
            self._looked = True
            self._artifacts = recorded(self._store, self)
            if self._artifacts is not None and self._artifacts.annotated:
                self._annotated = self._read_back(self._artifacts)
        return self._artifacts if self._artifacts is not None and self._artifacts.complete else None

    def _output(self, run: RunArtifacts) -> RowSet:
        result = run.results.get(OUTPUT)
        if result is not None:
            return RowSet(result.columns, result.files)
        columns = tuple(dict.fromkeys(self.plan.output))
        if run.output is None:  # nothing has run
            return RowSet(columns, self._view or self.plan)
        rows = given(run.output)
        old = {attr: rows.columns[index] for index, attr in reversed(list(enumerate(self.plan.output)))}
        return RowSet(columns, Project(rows, tuple(Named(attr, old[attr]) for attr in columns)))

    def _meant(self, engine: Matcher, rows: RowSet, asked: tuple[Asked, ...], where: str) -> RowSet:
        """The whole rows of a table that are meant, in memory; `where` is what an error calls the table."""
        if written_out(asked):
            found = engine.matching(rows, (predicate(asked), None))
        else:
            found = RowSet(rows.columns, matching(engine.operator(rows), asked, self._df.sparkSession))
        if not found.here:
            found = RowSet(found.columns, engine.arrow(found))
        if not found.data.num_rows:
            if isinstance(rows.data, DuckQuery):  # Spark may let in what a tied limit left out
                return self._meant(engine, RowSet(rows.columns, engine.operator(rows)), asked, where)
            raise self._absent(where, asked)
        return found

    def _shown(self, rows: RowSet) -> RowSet:
        """Rows of the output with all its columns, those that are shown twice too."""
        if rows.columns == self.plan.output:
            return rows
        place = {attr: index for index, attr in enumerate(rows.columns)}
        if isinstance(rows.data, Operator):
            return RowSet(self.plan.output, rows.data)
        return RowSet(self.plan.output, rows.data.select([place[attr] for attr in self.plan.output]))

    # --- parts

    def _replayed(self, asked: tuple[Asked, ...], witness: str) -> Tagged:
        """The plan with ids, over no more of the sources than the rows asked about need.

        Cut-down sources give the same selected output (F(Op(G(T))) = F(Op(T))), so the ids are the same, too. A limit
        is the exception: a row that it left out would be let in, so the row has to be seen in the real output first.
        What may come out differently in every run is not cut down.
        """
        whole = self._eager(witness)
        if self._annotated is not None or self._nondeterminism.reasons or len(asked) > CUT_FOR or not is_simple(asked):
            return whole
        if any(isinstance(part, Limit) for part in walk(self.plan)):
            if len(asked) > 1:
                return whole
            if not frame(matching(self.plan, asked, self._df.sparkSession), self._plan.jvm).take(1):
                raise self._absent("the output", asked)
        found = [infer(self.plan, predicate((row,)), witness).restrict for row in asked]
        cut = {number: disjunction(*(each[number] for each in found)) for number in found[0]}
        return whole if all(each == TRUE for each in cut.values()) else eager(restrict(self.plan, cut), witness)

    def _require_unchanged(self) -> None:
        for source in sources_of(self.plan):
            require_unchanged(source, self._versions[source.name], self._plan.jvm)

    def _eager(self, witness: str) -> Tagged:
        if witness not in self._tagged:
            self._tagged[witness] = eager(self.plan, witness)
        return self._tagged[witness]

    def _annotated_rows(self, tagged: Tagged) -> Operator:
        """The rows with their ids: computed before, or to be computed."""
        return self._annotated.operator if self._annotated is not None and self._is_annotated(tagged) else tagged.plan

    def _source_ids(self, source: Source, row: object) -> list[int]:
        asked = asked_of(source.columns, row, self._df.sparkSession)
        row_id = fresh("_id", LONG, nullable=False)
        rows = matching(replace(source, row_id=row_id), asked, self._df.sparkSession)
        found = [each[0] for each in frame(Project(rows, keep(row_id)), self._plan.jvm).collect()]
        if not found:
            raise self._absent(f"source {source.name!r}", asked)
        return found

    def _reasons(self, tagged: Tagged) -> tuple[str, ...]:
        again = () if self._is_annotated(tagged) else self._nondeterminism.reasons
        return tuple(dict.fromkeys((*tagged.reasons, *self._cuts, *again)))

    @property
    def _cuts(self) -> tuple[str, ...]:
        """Where the plan ends and the lineage does not."""
        return tuple(dict.fromkeys(each.cut for each in sources_of(self.plan) if each.cut))

    def _is_annotated(self, tagged: Tagged) -> bool:
        return self._annotated is not None and self._annotated.tagged is tagged

    @property
    def _askable(self) -> tuple[Attr, ...]:
        """The columns of the output, and the ids of its rows where a run showed them."""
        shown = None if self._annotated is None else self._annotated.row_id
        return self.plan.output if shown is None else (*self.plan.output, shown)

    def _require_one(self, count: int, asked: tuple[Asked, ...], one: bool) -> int:
        if one and count > len(asked):
            raise NoSuchRow(
                f"{count} rows of the output are {described(asked[0])}: give more columns, to tell them apart; if they "
                "are equal, run with row_ids=True; or leave one=True out, to ask for all of them"
            )
        return count

    def _absent(self, where: str, asked: tuple[Asked, ...]) -> NoSuchRow:
        message = f"no row of {where} is {described(asked[0])}"
        if len(asked) > 1:
            message += f" or one of the {len(asked) - 1} others"
        if self._nondeterminism.possible_reasons and self._annotated is None:
            message += f"; it may have been in another run, because {self._nondeterminism.possible_reasons[0]}"
        elif self._nondeterminism.possible_reasons:
            reason = self._nondeterminism.possible_reasons[0]
            message += f"; questions are about the rows that run() returned, because {reason}"
        if self._store is not None and self._artifacts is None and self.save != "never":
            message += changed(self._store, self)
        return NoSuchRow(message)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.explain())}</pre>"

    def __repr__(self) -> str:
        return f"<Pipeline {self.name or ''} over {', '.join(self.sources) or 'nothing'}>".replace("  ", " ")
