"""The methods of a log for Spark: make pipelines, list runs, make DataFrames of tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.store.values import name_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.pipeline import Pipeline
    from whence.spark.stored import Runs
    from whence.store import Store


class Pipelines:
    """The methods of a log for Spark."""

    _store: Store

    def pipeline(
        self,
        df: object,
        name: str | None = None,
        *,
        mode: str = "lazy",
        sources: Mapping[str, object] | None = None,
        save: str = "auto",
        witness: str = "rows",
    ) -> Pipeline:
        """Read a PySpark DataFrame as a pipeline that can be asked which source rows made an output row.

        `mode="eager"` computes the lineage of every row when it runs; `sources` names DataFrames that were read;
        `witness="group"` takes the whole group for min, max, first, last and any.
        """
        from whence.spark.pipeline import Pipeline

        return Pipeline(df, name, mode, sources, save, witness, self._store)

    def runs(self, pipeline: str | None = None) -> Runs:
        """Return the recorded runs of Spark pipelines, oldest first: all, or those of one pipeline.

        The list prints as a table. Each run answers the same questions as its pipeline, also in a program without the
        pipeline's code: `log.runs()[-1].backward({"city": "Oslo"}).pandas("orders")`. Spark is not needed if DuckDB
        gives the same answer.

        >>> import tempfile, whence as wh
        >>> with tempfile.TemporaryDirectory() as directory, wh.open(f"{directory}/a.whence") as log:
        ...     log.runs()
        no runs
        """
        from whence.spark.stored import Runs

        return Runs.of(self._store, None if pipeline is None else name_of(pipeline, "pipeline"))

    def to_spark(
        self, value: Any, spark: SparkSession | None = None, name: str | None = None,
        columns: Sequence[str] | None = None,
    ) -> DataFrame:  # fmt: skip
        """Make a Spark DataFrame of a pandas frame or an array of numbers, and keep its lineage.

        `name` is the name of the table, also as a source of pipelines; `columns` names the columns of an array. Without
        `spark` the active session is used. The log saves the rows as a Parquet file.
        """
        from whence.spark.tables.back import to_spark

        return to_spark(self._store, value, spark, name, columns)
