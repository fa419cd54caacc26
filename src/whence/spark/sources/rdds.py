"""Rows of an RDD: Python data, or a *cut*, if Spark had the rows before and they went through something without a
plan.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from whence.spark.catalyst.jvm import items
from whence.spark.sources.kind import Kind, Past, column_ids

DERIVED = "org.apache.spark.sql.execution."  # RDDs of Spark SQL: a leaf above them was made from a DataFrame
READING = frozenset({"HadoopRDD", "NewHadoopRDD", "WholeTextFileRDD", "BinaryFileRDD"})
MOST_FILES = 10_000  # the most files of one scan that are read


class RddKind(Kind):
    """An RDD that was converted to a DataFrame, or a checkpoint."""

    nodes: ClassVar[frozenset[str]] = frozenset({"LogicalRDD"})

    def same_read(self, one: Any, other: Any, same_object: Callable[[Any, Any], bool]) -> bool:
        return bool(one.rdd().id() == other.rdd().id())

    def past(self, leaf: Any) -> Past | None:
        rdds, kinds, files = _ancestry_of_rdd(leaf.rdd())
        whole = not any("CheckpointRDD" in each for each in kinds)
        if not whole or "heckpoint at " in str(leaf.rdd().getCreationSite()):
            what = "they come from a checkpoint that was made before whence was imported, so its plan is not known"
            return Past(what, rdds, files, column_ids(leaf), whole)
        if any(each.startswith(DERIVED) for each in kinds):
            return Past("Python code made them from the RDD of a DataFrame", rdds, files, whole=True)
        if any(each.rsplit(".", 1)[-1] in READING for each in kinds):
            return Past("an RDD read them from files", rdds, files, whole=True)
        return None


def _ancestry_of_rdd(rdd: Any) -> tuple[frozenset[int], frozenset[str], frozenset[str]]:
    """The ids and classes of an RDD and all its ancestors, and the files that they scan."""
    numbers: set[int] = set()
    kinds: set[str] = set()
    files: set[str] = set()
    waiting = [rdd]
    while waiting:
        each = waiting.pop()
        number = int(each.id())
        if number in numbers:
            continue
        numbers.add(number)
        kind = str(each.getClass().getName())
        kinds.add(kind)
        if kind.endswith(".FileScanRDD"):
            files.update(_scanned(each))
        waiting += [dependency.rdd() for dependency in items(each.dependencies())]
    return frozenset(numbers), frozenset(kinds), frozenset(files)


def _scanned(rdd: Any) -> Iterable[str]:
    found = 0
    for partition in items(rdd.filePartitions()):
        for file in partition.files():
            yield str(file.toPath().toString())
            found += 1
            if found == MOST_FILES:
                return
