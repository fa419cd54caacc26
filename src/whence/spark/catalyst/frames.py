"""Frames of operators. Few questions to a log need one, so the translation to Catalyst is imported when it is used."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.rows import Operator
    from whence.spark.catalyst.jvm import Jvm


def frame(plan: Operator, jvm: Jvm) -> DataFrame:
    """The DataFrame that runs an operator. Columns keep their order; names may repeat."""
    from whence.rows.unique_columns import unique_column_ids
    from whence.spark.catalyst.write import Plans

    return jvm.frame(Plans(jvm).lower(unique_column_ids(plan)))
