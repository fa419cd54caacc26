"""Answers in the other direction: the output rows that rows of a source reached."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, Row
    from pyspark.sql.types import StructType


class Reached:
    """The output rows whose lineage holds the rows asked about. `dataframe()` has them as a DataFrame."""

    def __init__(self, source: str, rows: DataFrame, reasons: tuple[str, ...]) -> None:
        self.source = source
        self._rows, self._reasons = rows, reasons

    @property
    def precise(self) -> bool:
        """Whether the rows asked about are in the lineage of each of these rows for sure."""
        return not self._reasons

    @property
    def reason(self) -> str | None:
        """Why it is not precise: at which operator, and what it does."""
        return "; ".join(self._reasons) or None

    def dataframe(self) -> DataFrame:
        """The rows, with all columns of the output."""
        return self._rows

    def collect(self) -> list[Row]:
        return self._rows.collect()

    def count(self) -> int:
        return self._rows.count()

    def toPandas(self) -> pd.DataFrame:  # as PySpark calls it
        return self._rows.toPandas()  # type: ignore[no-any-return,unused-ignore] # as PySpark's version says

    def show(self, *args: Any, **options: Any) -> None:
        """Print the first rows, as a DataFrame does."""
        self._rows.show(*args, **options)

    @property
    def columns(self) -> list[str]:
        return self._rows.columns

    @property
    def schema(self) -> StructType:
        return self._rows.schema

    def __repr__(self) -> str:
        how = "precise" if self.precise else f"a superset: {self.reason}"
        return f"<Reached from {self.source}: {', '.join(self.columns)}; {how}>"
