"""Frames of pandas API on Spark, and the Spark DataFrames behind them."""

from __future__ import annotations

import warnings
from typing import Any

from whence.spark.catalyst.jvm import items

INTERNAL = ("__index_level_", "__natural_order__")  # columns that pandas API on Spark adds
ATTACHING = frozenset({"AttachDistributedSequence", "SubqueryAlias", "View"})


def is_pandas(df: object) -> bool:
    """Whether it is a DataFrame or Series of pandas API on Spark."""
    return type(df).__module__.startswith("pyspark.pandas") and (hasattr(df, "to_spark") or hasattr(df, "to_frame"))


def as_spark(df: Any) -> Any:
    """Convert to a Spark DataFrame. An index with names becomes columns."""
    if not hasattr(df, "to_spark"):
        df = df.to_frame()
    names = list(df.index.names)
    if all(isinstance(name, str) for name in names) and not set(names) & set(df.columns):
        return df.to_spark(index_col=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # pandas API on Spark warns that an unnamed index is dropped
        return df.to_spark()


def without_index(java: Any) -> Any:
    """The plan below the index that pandas API on Spark attached; the plan itself if it does more than that."""
    found = java
    while _attaches(found):
        found = found.children().apply(0)
    return java if found.children().size() else found


def _attaches(java: Any) -> bool:
    """Whether a node only renames columns or numbers rows."""
    kind = java.getClass().getSimpleName()
    if kind == "Project":
        return all(map(_passes, items(java.projectList())))
    if kind == "Window":
        return all("row_number()" in each.toString() for each in items(java.windowExpressions()))
    return kind in ATTACHING


def _passes(expr: Any) -> bool:
    """Whether an expression is a plain column, or one that pandas API on Spark adds."""
    kind = expr.getClass().getSimpleName()
    if kind == "Alias" and str(expr.name()).startswith(INTERNAL):
        return True
    return kind == "AttributeReference" or (kind == "Alias" and _passes(expr.child())) or not expr.deterministic()
