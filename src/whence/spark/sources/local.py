"""Rows in memory: `createDataFrame` of pandas or Arrow data, `spark.range`, or a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from whence.spark.catalyst.jvm import items
from whence.spark.sources.kind import Kind, Past

INDEX = "__index_level_"  # prefix of index columns in pandas API on Spark


class LocalKind(Kind):
    """Local data. It may also be a small frame that pandas API on Spark computed in Python."""

    nodes: ClassVar[frozenset[str]] = frozenset({"LocalRelation"})

    def same_read(self, one: Any, other: Any, same_object: Callable[[Any, Any], bool]) -> bool:
        return same_object(one.data(), other.data())

    def past(self, leaf: Any) -> Past | None:
        if any(str(attr.name()).startswith(INDEX) for attr in items(leaf.output())):
            return Past(
                "pandas API on Spark computes frames of up to compute.shortcut_limit rows in Python, unless that option"
                " is 0 or the function has a type hint for its result"
            )
        return None


class RangeKind(Kind):
    """The numbers of `spark.range`."""

    nodes: ClassVar[frozenset[str]] = frozenset({"Range"})


class CacheKind(Kind):
    """A cache that is itself a leaf of a plan."""

    nodes: ClassVar[frozenset[str]] = frozenset({"InMemoryRelation"})
