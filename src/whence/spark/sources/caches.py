"""Cached DataFrames: Spark answers from a cache instead of the files, even if the files have changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.errors import SourceChanged
from whence.spark.catalyst.jvm import items
from whence.spark.sources.files import state
from whence.spark.sources.registry import kind_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm


def require_fresh_cache(df: DataFrame, jvm: Jvm) -> None:
    """Raise if Spark would read a cache of files that have changed since.

    Spark uses a cached DataFrame for any other that reads the same paths, however old the cache is.
    """
    if jvm.spark._jsparkSession.sharedState().cacheManager().isEmpty():
        return
    plan = jvm.frame(df._jdf.queryExecution().analyzed())._jdf.queryExecution().withCachedData()
    for cached in items(plan.collectLeaves()):
        if cached.nodeName() != "InMemoryRelation":
            continue
        for leaf in items(cached.cacheBuilder().logicalPlan().collectLeaves()):
            for file, size, changed in sorted(kind_of(leaf).version_read(leaf)):
                if state(file, jvm) != (size, changed):
                    raise SourceChanged(
                        f"{file} has changed since Spark cached a DataFrame that reads it, and Spark would read the"
                        " cache: unpersist that DataFrame, or spark.catalog.clearCache(), and read the file again"
                    )
