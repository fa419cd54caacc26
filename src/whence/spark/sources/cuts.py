"""Leaves of a plan that are no beginning: rows that Spark had before, and that went through something with no plan."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from whence.spark.catalyst.jvm import items

DERIVED = "org.apache.spark.sql.execution."  # RDDs of Spark SQL: below a leaf they mean that a DataFrame was there
READING = frozenset({"HadoopRDD", "NewHadoopRDD", "WholeTextFileRDD", "BinaryFileRDD"})
INDEX = "__index_level_"  # how pandas API on Spark calls the columns of an index
FILES = 10_000  # files of one scan that are looked at


@dataclass(frozen=True, slots=True)
class Past:
    """What lies before a leaf: what it was, the RDDs and the files that had a part in it, and its columns' ids.

    `whole`: whether all RDDs are there; a checkpoint forgets those that it was made of.
    """

    what: str
    rdds: frozenset[int] = frozenset()
    files: frozenset[str] = frozenset()
    columns: frozenset[int] = frozenset()
    whole: bool = False

    def shows(self, leaf: Any) -> bool:
        """Whether it can be seen that a DataFrame that was read had a part in it."""
        if self.columns & column_ids(leaf):  # a checkpoint has the very columns of what it holds
            return True
        if leaf.nodeName() == "LogicalRDD":
            return leaf.rdd().id() in self.rdds
        return bool(self.files & _files(leaf))

    def excludes(self, leaf: Any) -> bool:
        """Whether it can be seen that it had no part in it: rows in memory leave no trace."""
        known = leaf.nodeName() == "LogicalRDD" or bool(_files(leaf))
        return self.whole and known and not self.shows(leaf)


def past(leaf: Any) -> Past | None:
    """What lies before a leaf that Spark itself computed; None for data that was read or given."""
    kind = leaf.nodeName()
    if kind == "LocalRelation":
        names = [str(attr.name()) for attr in items(leaf.output())]
        if any(name.startswith(INDEX) for name in names):
            return Past("pandas API on Spark computes frames of up to compute.shortcut_limit rows in Python")
        return None
    if kind != "LogicalRDD":
        return None
    rdds, kinds, files = _walk(leaf.rdd())
    whole = not any("CheckpointRDD" in each for each in kinds)
    if not whole or "heckpoint at " in str(leaf.rdd().getCreationSite()):
        return Past(
            "they are a checkpoint, which does not say what it was made of", rdds, files, column_ids(leaf), whole
        )
    if any(each.startswith(DERIVED) for each in kinds):
        return Past("Python code made them of the RDD of a DataFrame", rdds, files, whole=True)
    if any(each.rsplit(".", 1)[-1] in READING for each in kinds):
        return Past("an RDD read them from files", rdds, files, whole=True)
    return None


def column_ids(leaf: Any) -> frozenset[int]:
    """The ids of its columns."""
    return frozenset(int(attr.exprId().id()) for attr in items(leaf.output()))


def _walk(rdd: Any) -> tuple[frozenset[int], frozenset[str], frozenset[str]]:
    """The numbers and the classes of an RDD and all that it is made of, and the files that are scanned for it."""
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
            if found == FILES:
                return


def _files(leaf: Any) -> frozenset[str]:
    relation = leaf.relation() if leaf.nodeName() == "LogicalRelation" else None
    if relation is None or "HadoopFsRelation" not in relation.getClass().getName():
        return frozenset()
    return frozenset(str(each.getPath().toString()) for each in items(relation.location().allFiles()))
