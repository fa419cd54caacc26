"""Answers: for each source, the rows that contributed."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from whence.errors import UnknownName
from whence.rows import FALSE, Attr, Compare, Filter, In, Join, Literal, Operator, Project, Source, Values, fresh, keep
from whence.rows.eager.ids import LONG
from whence.spark.identity import with_files
from whence.spark.lower import frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.jvm import Jvm


FEW = 1000  # ids that go into a predicate
COLLECTED = 200_000  # ids that are kept here; more stay with Spark


class Found:
    """The ids that a question found, for each use of a source: here, or with Spark where they are many."""

    def __init__(self, jvm: Jvm, ids: DataFrame, columns: Mapping[int, str]) -> None:
        """`ids` has a column of lists for each use; `columns` names it."""
        from pyspark.sql import functions as F

        self._jvm, self._columns = jvm, columns
        self._ids = ids.persist()
        weakref.finalize(self, _forget, self._ids)
        sizes = [F.coalesce(F.sum(F.size(F.col(name))), F.lit(0)) for name in columns.values()]
        self.rows, *counts = self._ids.agg(F.count(F.lit(1)), *sizes).collect()[0]
        self._here: dict[int, list[int]] | None = None
        if sum(counts) <= COLLECTED:
            sets: dict[int, set[int]] = {number: set() for number in columns}
            for row in self._ids.collect():
                for number, name in columns.items():
                    sets[number].update(row[name])
            self._here = {number: sorted(each) for number, each in sets.items()}
            self._ids.unpersist()

    def rows_of(self, source: Source, numbers: Iterable[int], row_id: Attr) -> Operator:
        """The source's rows, with their ids, whose ids were found for any of the uses."""
        rows: Operator = replace(source, row_id=row_id)
        numbers = [number for number in numbers if number in self._columns]
        if not numbers:  # no row of this source is in the lineage of anything
            return Filter(rows, FALSE)
        if self._here is not None:
            ids = sorted({each for number in numbers for each in self._here.get(number, ())})
            if len(ids) <= FEW:
                return Filter(rows, In(row_id, tuple(Literal(each, LONG) for each in ids)) if ids else FALSE)
            wanted = given(_table(self._jvm, ids))
        else:
            wanted = given(self._exploded(numbers))
        return Join(rows, wanted, "semi", Compare("=", row_id, wanted.output[0]))

    def _exploded(self, numbers: Iterable[int]) -> DataFrame:
        from pyspark.sql import functions as F

        names = [self._columns[number] for number in numbers]
        return self._ids.select(F.explode(F.array_distinct(F.flatten(F.array(*names)))).alias("_id")).distinct()


class Lineage(Mapping[str, "DataFrame"]):
    """The source rows of an output row: `lin["orders"]` is a DataFrame with all columns of the source."""

    def __init__(self, jvm: Jvm, sources: tuple[Source, ...], found: Found, reasons: tuple[str, ...]) -> None:
        self._jvm, self._found, self._reasons = jvm, found, reasons
        self._sources: dict[str, list[Source]] = {}
        for source in sources:
            self._sources.setdefault(source.name, []).append(source)
        self._frames: dict[str, DataFrame] = {}

    @property
    def precise(self) -> bool:
        """Whether these rows are the lineage, and not more."""
        return not self._reasons

    @property
    def reason(self) -> str | None:
        """Why it is not precise: at which operator, and what it does."""
        return "; ".join(self._reasons) or None

    def __getitem__(self, name: str) -> DataFrame:
        if name not in self._sources:
            raise UnknownName.of("source", name, self._sources)
        if name not in self._frames:
            self._frames[name] = self._rows(self._sources[name])
        return self._frames[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)

    @property
    def occurrences(self) -> dict[str, list[DataFrame]]:
        """The rows of each use of a source by itself: a self-join has two."""
        return {name: [self._rows([each]) for each in uses] for name, uses in self._sources.items()}

    def identified(self, name: str) -> DataFrame:
        """The rows of a source with their identity: columns `_file` and `_row`, or `_row` alone without files."""
        if name not in self._sources:
            raise UnknownName.of("source", name, self._sources)
        return self._rows(self._sources[name], identity=True)

    def _rows(self, uses: list[Source], identity: bool = False) -> DataFrame:
        source = uses[0]
        row_id = fresh("_row", LONG, nullable=False)
        rows = self._found.rows_of(source, [each.occurrence for each in uses], row_id)
        if identity:
            return with_files(frame(rows, self._jvm), source)
        return frame(Project(rows, keep(*source.columns)), self._jvm)

    def __repr__(self) -> str:
        how = "precise" if self.precise else f"a superset: {self.reason}"
        return f"<Lineage in {', '.join(self._sources)}; {how}>"


def given(df: DataFrame) -> Values:
    """A DataFrame as an operator that nothing is asked of."""
    from whence.spark.nodes import output_of

    java: Any = df._jdf.queryExecution().analyzed()
    columns: tuple[Attr, ...] = output_of(java)
    return Values(columns, java)


def _table(jvm: Jvm, ids: list[int]) -> DataFrame:
    import pandas as pd

    return jvm.spark.createDataFrame(pd.DataFrame({"_id": ids}))


def _forget(ids: DataFrame) -> None:
    try:
        ids.unpersist()
    except Exception:  # the session may be gone, and with it what it held
        return
