"""Forward answers: the output rows that rows of a source reached."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType


class OutputRows(Protocol):
    """Rows of the output, in Spark or in memory."""

    @property
    def names(self) -> list[str]:
        """The names of the columns."""

    def dataframe(self) -> DataFrame:
        """The rows as a DataFrame."""

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table."""

    def count(self) -> int:
        """The number of rows."""


class SparkRows:
    """Rows that Spark computes."""

    def __init__(self, rows: DataFrame) -> None:
        self._rows = rows

    @property
    def names(self) -> list[str]:
        return self._rows.columns

    def dataframe(self) -> DataFrame:
        return self._rows

    def arrow(self) -> pa.Table:
        unique = [f"c{index}" for index in range(len(self.names))]
        return self._rows.toDF(*unique).toArrow().rename_columns(self.names)

    def count(self) -> int:
        return self._rows.count()


class Reached:
    """The output rows whose lineage includes the given rows: `arrow()` in memory, `dataframe()` in Spark."""

    def __init__(self, source: str, rows: OutputRows, reasons: tuple[str, ...]) -> None:
        self.source = source
        self._rows, self._reasons = rows, reasons

    @property
    def precise(self) -> bool:
        """Whether the lineage of each of these rows certainly includes the given rows."""
        return not self._reasons

    @property
    def reason(self) -> str | None:
        """Why the answer is not precise; None if it is."""
        return "; ".join(self._reasons) or None

    @cached_property
    def _frame(self) -> DataFrame:
        return self._rows.dataframe()

    def dataframe(self) -> DataFrame:
        """The rows, with all columns of the output."""
        return self._frame

    def arrow(self) -> pa.Table:
        """The rows as an Arrow table. This needs no Spark if DuckDB found them."""
        return self._rows.arrow()

    def pandas(self) -> pd.DataFrame:
        """The rows as a pandas frame."""
        return self.arrow().to_pandas()

    def collect(self) -> list[Row]:
        """The rows as a list, like `DataFrame.collect`."""
        return self._frame.collect()

    def count(self) -> int:
        """The number of rows."""
        return self._rows.count()

    def toPandas(self) -> pd.DataFrame:  # the name in PySpark
        """The rows as Spark's `toPandas()` returns them."""
        return self._frame.toPandas()  # type: ignore[no-any-return,unused-ignore]  # as PySpark's version says

    def show(self, *args: Any, **options: Any) -> None:
        """Print the first rows, as a DataFrame does."""
        self._frame.show(*args, **options)

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return self._rows.names

    @property
    def schema(self) -> StructType:
        """The Spark schema of the rows."""
        return self._frame.schema

    def __repr__(self) -> str:
        how = "precise" if self.precise else f"a superset: {self.reason}"
        return f"<Reached from {self.source}: {', '.join(self.columns)}; {how}>"
