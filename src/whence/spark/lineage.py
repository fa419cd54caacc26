"""Answers to backward questions: for each source, the rows that contributed."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Any, Protocol

from whence.errors import UnknownName
from whence.rows import FALSE, Attr, Compare, Filter, In, Join, Literal, Operator, Project, Source, Values, fresh, keep
from whence.rows.eager.ids import LONG
from whence.spark.catalyst.frames import frame
from whence.spark.progress import seen
from whence.spark.sources.row_ids import named, united, with_files

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.selection import Selection
    from whence.spark.catalyst.jvm import Jvm


LITERAL_IDS = 1000  # up to this many ids become literals in a predicate; more become a table
NOTEBOOK_ROWS = 20  # rows of each source that a notebook shows
LOST = "no source row was found, but there must be one: a function returned another value than in the run"
COLLECTED = 200_000  # up to this many ids are collected; more stay in Spark


class Found:
    """The ids that a question found, for each use of a source: in memory, or in Spark if there are many.

    `rows` counts the output rows of the question, `without` those without any id.
    """

    def __init__(self, jvm: Jvm, ids: DataFrame, columns: Mapping[int, str]) -> None:
        """`ids` has a column of lists for each use of a source; `columns` has their names."""
        from pyspark.sql import functions as F

        self._jvm, self._columns = jvm, columns
        self._ids = ids.persist()
        weakref.finalize(self, _forget, self._ids)
        sizes = [F.coalesce(F.sum(F.size(F.col(name))), F.lit(0)) for name in columns.values()]
        some = [F.size(F.col(name)) > 0 for name in columns.values()]
        without = F.count_if(~reduce(or_, some)) if some else F.lit(0)
        self.rows, self.without, *counts = self._ids.agg(F.count(F.lit(1)), without, *sizes).collect()[0]
        self._here: dict[int, list[int]] | None = None
        if sum(counts) <= COLLECTED:
            sets: dict[int, set[int]] = {number: set() for number in columns}
            for row in self._ids.collect():
                for number, name in columns.items():
                    sets[number].update(row[name])
            self._here = {number: sorted(each) for number, each in sets.items()}
            self._ids.unpersist()

    @classmethod
    def of(cls, jvm: Jvm, here: dict[int, list[int]]) -> Found:
        """Make it from ids that are already known, sorted, for each use of a source."""
        made = cls.__new__(cls)
        made._jvm, made._columns, made._here = jvm, dict.fromkeys(here, ""), here
        return made

    def rows_of(self, source: Source, numbers: Iterable[int], row_id: Attr) -> Operator:
        """The rows of a source, with their ids, that were found for any of the uses."""
        rows: Operator = replace(source, row_id=row_id)
        numbers = [number for number in numbers if number in self._columns]
        if not numbers:  # this source contributed to no row
            return Filter(rows, FALSE)
        if self._here is not None:
            ids = sorted({each for number in numbers for each in self._here.get(number, ())})
            return rows_by_id(self._jvm, source, ids, row_id)
        wanted = given(self._exploded(numbers))
        return Join(rows, wanted, "semi", Compare("=", row_id, wanted.output[0]))

    def _exploded(self, numbers: Iterable[int]) -> DataFrame:
        from pyspark.sql import functions as F

        names = [self._columns[number] for number in numbers]
        return self._ids.select(F.explode(F.array_distinct(F.flatten(F.array(*names)))).alias("_id")).distinct()


def rows_by_id(jvm: Jvm, source: Source, ids: list[int], row_id: Attr) -> Operator:
    """The rows of a source with one of the ids."""
    rows: Operator = replace(source, row_id=row_id)
    if len(ids) <= LITERAL_IDS:
        return Filter(rows, In(row_id, tuple(Literal(each, LONG) for each in ids)) if ids else FALSE)
    wanted = given(_table(jvm, ids))
    return Join(rows, wanted, "semi", Compare("=", row_id, wanted.output[0]))


class Answer(Protocol):
    """The source rows that a question found."""

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        """The rows of a source for any of the given uses; with `identity` also `_file` and `_row`."""

    def arrow(self, uses: list[Source]) -> pa.Table:
        """The same rows as an Arrow table."""

    def identities(self, uses: list[Source]) -> pa.Table:
        """Only the columns `_file` and `_row`, as an Arrow table."""

    def some(self, uses: list[Source]) -> bool:
        """Whether there are any rows."""


class Replayed:
    """Source rows given by their ids, from a run with annotated rows."""

    def __init__(self, jvm: Jvm, found: Found) -> None:
        self._jvm, self._found = jvm, found

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        source, row_id = uses[0], fresh("_row", LONG, nullable=False)
        rows = self._found.rows_of(source, [each.occurrence for each in uses], row_id)
        if identity:
            return with_files(frame(rows, self._jvm), source)
        return frame(Project(rows, keep(*source.columns)), self._jvm)

    def arrow(self, uses: list[Source]) -> pa.Table:
        names = [attr.name for attr in uses[0].columns]
        unique = [f"c{index}" for index in range(len(names))]
        return self.dataframe(uses, False).toDF(*unique).toArrow().rename_columns(names)

    def identities(self, uses: list[Source]) -> pa.Table:
        row_id = fresh("_row", LONG, nullable=False)
        rows = self._found.rows_of(uses[0], [each.occurrence for each in uses], row_id)
        return named(united(frame(Project(rows, keep(row_id)), self._jvm).toArrow().column(0)), uses[0])

    def some(self, uses: list[Source]) -> bool:
        return bool(self.dataframe(uses, False).take(1))


class Lineage(Mapping[str, "DataFrame"]):
    """The source rows of an output row: `lin["orders"]` is a DataFrame with all columns of the source."""

    def __init__(
        self,
        sources: tuple[Source, ...],
        answer: Answer,
        reasons: tuple[str, ...],
        how: str,
        rows: int,
    ) -> None:
        """`reasons` say why the answer is a superset; without any, it is precise."""
        self._answer, self._reasons = answer, reasons
        self.rows = rows  # the number of output rows in the question
        # "saved": from what a run saved; "annotated": from annotated rows; "replayed": by running the pipeline again on
        # a part of the sources
        self.how = how
        self._sources: dict[str, list[Source]] = {}
        for source in sources:
            self._sources.setdefault(source.name, []).append(source)
        self._frames: dict[str, DataFrame] = {}
        self._ask_cells: Callable[[], Lineage] | None = None
        self._cells: Lineage | None = None  # computed when it is first needed

    @property
    def precise(self) -> bool:
        """Whether these rows are exactly the lineage."""
        return not self._reasons

    @property
    def reason(self) -> str | None:
        """Why the answer is not precise; None if it is."""
        return "; ".join(self._reasons) or None

    @property
    def notes(self) -> tuple[str, ...]:
        """Where the lineage ends in rows that the program made and did not name."""
        return tuple(
            f"{name} holds rows that the program passed to createDataFrame, and how they were made was not recorded: "
            f"hand rows over with log.to_spark or inside log.capture(), or name them with sources={{...}}"
            for name, uses in self._sources.items()
            if uses[0].is_anonymous
        )

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._frames:
            self._frames[name] = self._answer.dataframe(self._uses(name), False)
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def occurrences(self) -> dict[str, list[DataFrame]]:
        """The rows of each use of a source: a self-join has two."""
        return {name: [self._answer.dataframe([each], False) for each in uses] for name, uses in self._sources.items()}

    def identified(self, name: str) -> DataFrame:
        """Return the rows of a source with the columns `_file` and `_row` (without files, only `_row`)."""
        return self._answer.dataframe(self._uses(name), True)

    def identities(self, name: str) -> pa.Table:
        """Return only `_file` and `_row` of the rows of a source (without files, only `_row`)."""
        return self._answer.identities(self._uses(name))

    def use_identities(self, use: Source) -> pa.Table:
        """Like `identities`, for one use of a source."""
        return self._answer.identities([use])

    def cells(self, name: str) -> Selection:
        """Return the cells of a source in the lineage of all columns of the rows, as a selection over (row, column)."""
        return self._in_cells().cells(name)

    def columns(self, name: str) -> list[str]:
        """Return the names of the columns of a source that have a cell in the answer."""
        return self._in_cells().columns(name)

    def asking_cells(self, ask: Callable[[], Lineage]) -> Lineage:
        """Return this answer with a function that finds its cells."""
        self._ask_cells = ask
        return self

    def _in_cells(self) -> Lineage:
        if self._cells is None:
            assert self._ask_cells is not None
            self._cells = self._ask_cells()
        return self._cells

    def arrow(self, name: str) -> pa.Table:
        """Return the rows of a source as an Arrow table, which is the fastest form."""
        with seen(f"looking for the rows of {name}"):
            return self._answer.arrow(self._uses(name))

    def pandas(self, name: str) -> pd.DataFrame:
        """The rows of a source as a pandas frame."""
        return self.arrow(name).to_pandas()

    def has_no_rows(self) -> bool:
        """Whether no row of any source was found. This reads the data."""
        return not any(self._answer.some(self._uses(name)) for name in self)

    def answered_by(self, change: Callable[[Answer], Answer]) -> Lineage:
        """Return the same lineage with another answer object."""
        sources = tuple(source for uses in self._sources.values() for source in uses)
        return Lineage(sources, change(self._answer), self._reasons, self.how, self.rows)

    def _uses(self, name: str) -> list[Source]:
        if name not in self._sources:
            raise UnknownName.of("source", name, self._sources)
        return widest_first(self._sources[name])

    def __repr__(self) -> str:
        how = "precise" if self.precise else f"a superset: {self.reason}"
        rows = "a row" if self.rows == 1 else f"{self.rows} rows"
        ends = "".join(f"; {each}" for each in self.notes)
        return f"<Lineage of {rows} in {', '.join(self._sources)}; {how}{ends}>"

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> object:
        from whence.shown import bundle

        return bundle(self)

    def _repr_html_(self) -> str:
        import html

        how = "precise" if self.precise else f"a superset: {html.escape(str(self.reason))}"
        parts = [f"<p>{how}</p>", *(f"<p>{html.escape(each)}</p>" for each in self.notes)]
        for name in self._sources:
            rows = self.arrow(name)
            shown = rows.slice(0, NOTEBOOK_ROWS).to_pandas().to_html(index=False, border=0)
            more = f" (the first {NOTEBOOK_ROWS} are shown)" if len(rows) > NOTEBOOK_ROWS else ""
            parts.append(f"<p><b>{html.escape(name)}</b>: {len(rows)} rows{more}</p>{shown}")
        return "".join(parts)


def widest_first(uses: Iterable[Source]) -> list[Source]:
    """The uses of a source, with the one that has the most columns first: some uses also have `_metadata`."""
    return sorted(uses, key=lambda each: -len(each.columns))


def given(df: DataFrame) -> Values:
    """A DataFrame as a source operator."""
    from whence.spark.catalyst.operators import output_of

    java: Any = df._jdf.queryExecution().analyzed()
    columns: tuple[Attr, ...] = output_of(java)
    return Values(columns, java)


def _table(jvm: Jvm, ids: list[int]) -> DataFrame:
    import pandas as pd

    return jvm.spark.createDataFrame(pd.DataFrame({"_id": ids}))


def _forget(ids: DataFrame) -> None:
    try:
        ids.unpersist()
    except Exception:  # the session may have stopped, which frees the cache
        return
