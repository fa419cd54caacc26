"""Frames of pandas API on Spark: the DataFrames behind them."""

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
    """The DataFrame of Spark, with the index as columns where it has names."""
    if not hasattr(df, "to_spark"):
        df = df.to_frame()
    names = list(df.index.names)
    if all(isinstance(name, str) for name in names) and not set(names) & set(df.columns):
        return df.to_spark(index_col=names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that an index without a name is left out
        return df.to_spark()


def without_index(java: Any) -> Any:
    """The plan of what was read, below the index that was attached to it; the plan itself if more was done to it."""
    found = java
    while _attaches(found):
        found = found.children().apply(0)
    return java if found.children().size() else found


def _attaches(java: Any) -> bool:
    """Whether a node only names rows, or numbers them."""
    kind = java.getClass().getSimpleName()
    if kind == "Project":
        return all(map(_passes, items(java.projectList())))
    if kind == "Window":
        return all("row_number()" in each.toString() for each in items(java.windowExpressions()))
    return kind in ATTACHING


def _passes(expr: Any) -> bool:
    """Whether a column is passed on, or one of those that pandas API on Spark adds."""
    kind = expr.getClass().getSimpleName()
    if kind == "Alias" and str(expr.name()).startswith(INTERNAL):
        return True
    return kind == "AttributeReference" or (kind == "Alias" and _passes(expr.child())) or not expr.deterministic()
