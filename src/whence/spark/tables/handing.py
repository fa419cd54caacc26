"""Hand-overs from Spark: the output of a run as a pandas frame or an array, whose rows the log can trace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import BadType, UnknownName

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from whence.spark.analysis import Analysis
    from whence.store import Store
    from whence.store.recording.tables import Table


@dataclass(frozen=True)
class Materialized:
    """What was stored of a run's lineage: the dataset, and for each source the number of tuples and bytes.

    `missing` says which cells are not stored, and why; the run answers questions about these.
    """

    dataset: str
    rows: int
    sources: Mapping[str, tuple[int, int]]  # pairs of rows, and bytes
    missing: tuple[str, ...] = ()

    @classmethod
    def of(cls, store: Store, dataset: str, table: Table, missing: tuple[str, ...] = ()) -> Materialized:
        """Read the counts and sizes from the log."""
        from whence.store.catalog import statements

        with store.database.read() as connection:
            found = statements.derivations(connection, output=dataset)
        shapes = store.reader.shapes(each.input for each in found)
        cells = {each.input: max(1, len(table.columns) * shapes[each.input][1]) for each in found}
        sources = {each.input: (each.tuples // cells[each.input], each.size) for each in found}
        return cls(dataset, table.rows, sources, missing)

    @property
    def bytes(self) -> int:
        """The bytes that the relations use in the log."""
        return sum(size for _, size in self.sources.values())

    @property
    def bytes_per_row(self) -> float:
        """The bytes for each output row."""
        return self.bytes / max(1, self.rows)

    def __repr__(self) -> str:
        tuples = sum(count for count, _ in self.sources.values())
        return (
            f"<{self.dataset!r}: the lineage of {self.rows:,} rows, {tuples:,} pairs of rows in {self.bytes:,} bytes, "
            f"{self.bytes_per_row:.2f} a row{''.join(f'; {each}' for each in self.missing)}>"
        )


def as_pandas(rows: pa.Table, analysis: Analysis) -> pd.DataFrame:
    """Convert the rows as `toPandas()` does."""
    import pandas as pd
    from pyspark.sql.pandas.types import _create_converter_to_pandas

    settings = analysis.df.sparkSession.conf
    zone = str(settings.get("spark.sql.session.timeZone"))
    structs = str(settings.get("spark.sql.execution.pandas.structHandlingMode"))
    if structs == "legacy":
        structs = "dict" if settings.get("spark.sql.execution.arrow.pyspark.enabled") == "true" else "row"
    held = (each.to_pandas(coerce_temporal_nanoseconds=True, date_as_object=True) for each in rows.columns)
    series = [
        _create_converter_to_pandas(field.dataType, field.nullable, timezone=zone, struct_in_pandas=structs)(column)
        for column, field in zip(held, analysis.df.schema.fields, strict=True)
    ]
    made = pd.concat(series, axis=1)
    made.columns = pd.Index(analysis.df.columns)
    return made


def as_numpy(rows: pa.Table, places: Sequence[int], names: Sequence[str]) -> NDArray[np.float64]:
    """Convert numeric columns to an array of floats; NULL becomes NaN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    made = np.empty((rows.num_rows, len(places)), np.float64)
    for at, place in enumerate(places):
        column = rows.column(place)
        kind = column.type
        number = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        if not (number or pa.types.is_boolean(kind)):
            raise BadType(
                f"column {names[at]!r} holds {kind}, which is not a number: name the columns to hand over, such as "
                "p.to_numpy(['age']), or cast it in the pipeline"
            )
        floats = pc.cast(column.cast(pa.int8()) if pa.types.is_boolean(kind) else column, pa.float64(), safe=False)
        made[:, at] = floats.to_numpy(zero_copy_only=False) if isinstance(floats, pa.Array) else floats.to_numpy()
    return made


def columns_meant(columns: Sequence[str] | str | None, names: Sequence[str]) -> list[int]:
    """The indices of columns given by name, or of all columns if none are given."""
    if columns is None:
        return list(range(len(names)))
    wanted = [columns] if isinstance(columns, str) else list(columns)
    if not wanted:
        raise BadType("no columns were given to hand over")
    places = []
    for each in wanted:
        if each not in names:
            raise UnknownName.of("column", each, names)
        if list(names).count(each) > 1:
            raise BadType(f"{list(names).count(each)} columns are called {each!r}: rename them in the pipeline")
        places.append(list(names).index(each))
    return places
