"""Trace rows through saved results: predicates lead from table to table, and the pipeline does not run again."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from whence.rows import FALSE, Attr, Expr, Operator, Param, Source, fresh, walk
from whence.rows.duck import Files, loosened
from whence.rows.saving import OUTPUT, PlanPath, Saved, Use, annotated, param
from whence.spark.sources.row_ids import ROW, local_files, named, united, with_files
from whence.spark.tracing.matching import Clause, Matcher, RowSet, bound
from whence.spark.tracing.recompute import duck_query

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.running.artifacts import RunArtifacts

READ = 200_000  # up to this many rows are read by number; more, by predicate
MANY = 100_000  # if DuckDB finds more rows than this and a DataFrame is needed, Spark reads them itself


class Results:
    """The tables of a trace plan: the output, saved results, and recomputed results."""

    def __init__(self, run: RunArtifacts, engine: Matcher, output: RowSet) -> None:
        """`output` is the table of all output rows."""
        self._run, self.engine, self._output = run, engine, output
        self.uses = {use.source.occurrence: use for use in run.trace_plan.uses}
        self.saved = {each.place: each for each in run.trace_plan.saved}

    def back(self, asked: RowSet) -> SavedAnswer:
        """Return the source rows that made these output rows."""
        return SavedAnswer(self, asked)

    def forth(self, source: str, rows: RowSet) -> RowSet:
        """Return the output rows that these source rows reached. The rows have the columns of the source's widest
        use.
        """
        clauses = []
        for use in self._run.trace_plan.uses:
            if use.source.name == source and use.predicate != FALSE:
                by, names = rows.renamed()
                attrs = {own: names[first] for own, first in zip(use.source.columns, rows.columns, strict=False)}
                clauses.append(self._up(use.table, use.predicate, by, attrs))
        return self.engine.matching(self._output, *(clauses or [(FALSE, None)]))

    def _up(self, place: PlanPath, predicate: Expr, by: RowSet, attrs: dict[Attr, Expr]) -> Clause:
        """Return the clause on the output that follows from a predicate over rows below and rows of the table at
        `place`.
        """
        own = self.table(place)
        where = bound(predicate, {param(place, attr).name: attr for attr in own.columns}, attrs)
        if place == OUTPUT:
            return where, by
        found, names = self.engine.matching(own, (where, by)).renamed()
        saved = self.saved[place]
        return self._up(saved.table, saved.predicate, found, names)

    def table(self, place: PlanPath) -> RowSet:
        """All rows of a table: a saved result, a recomputed one, or the output."""
        if place == OUTPUT:
            return self._output
        saved = self.saved[place]
        if saved.recomputed:
            return RowSet(saved.columns, duck_query(saved.operator, saved.columns) or saved.operator)
        result = self._run.results[place]
        return RowSet(result.columns, result.files)


class SavedAnswer:
    """The answer to one question: for each use of a source, a predicate and the rows that it is matched with."""

    def __init__(self, results: Results, asked: RowSet) -> None:
        self._results, self._engine = results, results.engine
        self._rows: dict[PlanPath, RowSet] = {OUTPUT: asked}
        self._whole: dict[PlanPath, RowSet] = {}  # like `_rows`, with all columns
        self._numbers: dict[int, pa.ChunkedArray] = {}  # numbers of source rows, by use
        self._uses = results.uses

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        """The rows of a source that contributed through any of its uses."""
        found = self._found(uses, identity)
        if found.in_memory and found.data.num_rows > MANY and not identity and self._engine.engine == "auto":
            # DuckDB finds a million rows faster than Spark, but Spark takes far longer to convert them to a DataFrame.
            spark = Matcher(self._engine.jvm, "spark")
            return spark.dataframe(spark.matching(source_table(uses[0]), *self._clauses(uses)))
        frame = self._engine.dataframe(found)
        return with_files(frame, uses[0]) if identity else frame

    def arrow(self, uses: list[Source]) -> pa.Table:
        """The same rows as an Arrow table."""
        return self._engine.arrow(self._found(uses, False))

    def identities(self, uses: list[Source]) -> pa.Table:
        """The identities of these rows, without their values."""
        found = self._which(uses)
        if found is None:
            found = united(self._engine.arrow(self._found(uses, True)).column(ROW))
        return named(found, uses[0])

    def some(self, uses: list[Source]) -> bool:
        """Whether there are any rows."""
        found = self._found(uses, False)
        return bool(found.data.num_rows) if found.in_memory else not self._engine.dataframe(found).isEmpty()

    def _clauses(self, uses: list[Source]) -> list[Clause]:
        known = (self._uses[each.occurrence] for each in uses if each.occurrence in self._uses)
        clauses = [self._clause(use, uses[0].columns) for use in known if use.predicate != FALSE]
        return clauses or [(FALSE, None)]

    def _found(self, uses: list[Source], identity: bool) -> RowSet:
        first = uses[0]
        rows = source_table(first)
        numbers = self._which(uses)
        if numbers is not None and len(numbers) <= READ:
            found = self._engine.numbered(rows, numbers, identity)
            if found is not None:
                return found
        clauses = self._clauses(uses)
        if not identity:
            return self._engine.matching(rows, *clauses)
        if isinstance(rows.data, Files) and self._engine.engine != "spark":
            found = self._engine.matching(rows, *clauses, identity=True)
            if found.here:  # otherwise Spark answered, and it must number the rows first
                return found
        return self._engine.matching(source_table(first, True), *clauses)

    def _which(self, uses: list[Source]) -> pa.ChunkedArray | None:
        """The numbers of the rows: those that came with the rows of a table, or those that DuckDB finds. None if only
        Spark can.
        """
        known = [self._uses[each.occurrence] for each in uses if each.occurrence in self._uses]
        parts = []
        for use in known:
            if use.predicate == FALSE:
                continue
            self._of(use.table)
            number = use.source.occurrence
            if number not in self._numbers:
                found = self._engine.numbers(source_table(uses[0]), self._clause(use, uses[0].columns))
                if found is None:
                    return None
                self._numbers[number] = found
            parts.append(self._numbers[number])
        return united(*parts)

    def _clause(self, use: Use, columns: tuple[Attr, ...]) -> Clause:
        attrs: dict[Attr, Expr] = dict(
            zip(use.source.columns, columns, strict=False)
        )  # only `_metadata` can be missing
        return self._bound(use.table, use.predicate, attrs)

    def _bound(self, place: PlanPath, predicate: Expr, attrs: dict[Attr, Expr] | None = None) -> Clause:
        asked = {part.name for part in walk(predicate) if isinstance(part, Param)}
        rows = self._of(place)
        if not asked <= {param(place, attr).name for attr in rows.columns}:
            rows = self._all_of(place)
        if not asked:
            # The predicate does not depend on a row of the table, but the table must not be empty.
            where = bound(predicate, {}, attrs)
            if isinstance(rows.data, Operator):
                return where, rows.renamed()[0]
            return (where if rows.data.num_rows else FALSE), None
        by, names = rows.renamed()
        return bound(predicate, {param(place, attr).name: new for attr, new in names.items()}, attrs), by

    def _of(self, place: PlanPath) -> RowSet:
        """The rows of a table that belong to the question, with the columns that the next predicates need."""
        if place not in self._rows:
            saved = self._results.saved[place]
            clause = self._bound(saved.table, saved.predicate)
            self._rows[place] = self._computed(saved, clause) or self._all_of(place)
        return self._rows[place]

    def _all_of(self, place: PlanPath) -> RowSet:
        """The same rows with all columns."""
        if place not in self._whole:
            saved = self._results.saved[place]
            clause = self._bound(saved.table, saved.predicate)
            self._whole[place] = self._engine.matching(self._results.table(place), clause)
        return self._whole[place]

    def _computed(self, saved: Saved, clause: Clause) -> RowSet | None:
        """Return the rows of a recomputed result, with the numbers of the source rows that made them.

        A source whose row numbers are known needs no columns of the result.
        """
        if not saved.recomputed or self._engine.engine == "spark":
            return None
        operator, numbers = annotated(saved.operator)
        if not numbers:
            return None
        below = [each.predicate for each in self._results.saved.values() if each.table == saved.place]
        below += [use.predicate for at, use in self._uses.items() if use.table == saved.place and at not in numbers]
        asked = {part.name for predicate in below for part in walk(predicate) if isinstance(part, Param)}
        kept = tuple(attr for attr in saved.columns if param(saved.place, attr).name in asked)
        read = clause[0].attrs
        reached = tuple(attr for attr in saved.columns if attr in read and attr not in kept)
        columns = (*kept, *numbers.values(), *reached)
        # If the row certainly exists, and only one row matches before other rows are filtered out, that one is the row.
        alone = clause[1] is not None and clause[1].here and clause[1].data.num_rows == 1
        loose = loosened(operator) if saved.sure and alone else None
        found = None if loose is None else self._rows_in(loose, columns, len(kept) + len(numbers), clause)
        if found is None or found.data.num_rows != 1:
            found = self._rows_in(operator, columns, len(kept) + len(numbers), clause)
        if found is None:
            return None
        for place, occurrence in enumerate(numbers, len(kept)):
            self._numbers[occurrence] = found.data.column(place)
        return RowSet(kept, found.data.select(range(len(kept))))

    def _rows_in(self, operator: Operator, columns: tuple[Attr, ...], width: int, clause: Clause) -> RowSet | None:
        """Return the rows of an operator that belong to the question, with its first columns; None if only Spark
        can.
        """
        made = duck_query(operator, columns)
        if made is None or not made.readable(columns):
            return None
        found = self._engine.matching(RowSet(columns, made), clause, columns=columns[:width])
        return found if found.here else None


def source_table(source: Source, numbered: bool = False) -> RowSet:
    """All rows of a source: its files if they are local Parquet, else an operator."""
    files = None if numbered else local_files(source)
    if files is not None:
        return RowSet(source.columns, files, source)
    if not numbered:
        return RowSet(source.columns, source)
    row_id = fresh(ROW, "long", nullable=False)
    return RowSet((*source.columns, row_id), replace(source, row_id=row_id))
