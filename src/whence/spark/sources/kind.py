"""What whence needs to know of a leaf of a plan, whatever kind of source it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from whence.spark.catalyst.jvm import items

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.rows.duck import Files
    from whence.spark.catalyst.jvm import Jvm

Version = frozenset[tuple[str, int, int]]  # file, bytes, milliseconds


class Kind:
    """A kind of source. Subclasses override what they know better; the answers here are right for any kind.

    A leaf is Catalyst's object. A new kind is a module with a subclass, and a line in `registry.KINDS`.
    """

    nodes: ClassVar[frozenset[str]] = frozenset()
    """The names that Catalyst gives to its leaves."""

    def matches(self, leaf: Any) -> bool:
        """Whether a leaf with such a name is of this kind."""
        return True

    def format(self, leaf: Any) -> str:
        """Its format, as `explain` shows it."""
        return "memory"

    def name(self, leaf: Any) -> str | None:
        """The name that the leaf has in a catalog."""
        return None

    def default_name(self, leaf: Any) -> str | None:
        """What it is called where neither the user nor a catalog named it."""
        return None

    def paths(self, leaf: Any) -> tuple[str, ...]:
        """The files and directories that it reads, as they were given to Spark."""
        return ()

    def same_rows(self, one: Any, other: Any) -> bool:
        """Whether two leaves read the same rows, spelled in the same way or not."""
        return False

    def same_relation(self, one: Any, other: Any) -> bool:
        """Whether two leaves read the same rows, and are spelled in the same way."""
        return False

    def same_read(self, one: Any, other: Any, same_object: Callable[[Any, Any], bool]) -> bool:
        """Whether two leaves come from one call that read or made a DataFrame."""
        return False

    def past(self, leaf: Any) -> Past | None:
        """What lies before its rows, if Spark computed them by something that has no plan."""
        return None

    def files_read(self, leaf: Any) -> frozenset[str]:
        """The files that it reads, as far as that is known."""
        return frozenset()

    def version(self, source: Source, jvm: Jvm) -> Version:
        """Its files as they are now. Nothing for what is in memory or in another system."""
        return frozenset()

    def version_read(self, leaf: Any) -> Version:
        """Its files as Spark listed them when the DataFrame was made."""
        return frozenset()

    def listing(self, leaf: Any) -> Listing | None:
        """The files by which rows are numbered; None if rows are numbered in the order of the scan."""
        return None

    def row_id(self, source: Source, jvm: Jvm) -> Any:
        """The expression of a row's identity, to stand directly above the source.

        The place in the scan does not depend on the query: no filter passes an expression that counts.
        """
        return jvm.parse("monotonically_increasing_id()")

    def relation(self, source: Source, jvm: Jvm) -> Any:
        """What Catalyst reads it by: the leaf itself, or for one that is of no session, a new one."""
        return source.origin

    def reading(self, leaf: Any) -> tuple[str, dict[str, str]] | None:
        """The schema, as Spark's JSON has it, and the options with which a later program reads the same, if it can."""
        return None

    def local_files(self, source: Source) -> Files | None:
        """Its files as DuckDB reads them; None if they are not all Parquet files on this machine."""
        return None


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a relation, and for each partition column its value for each file."""

    files: tuple[str, ...]
    uris: tuple[str, ...]  # the same as rows have them in `_metadata`: a blank is %20 there
    partition_values: dict[str, tuple[object, ...]]


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

    def shows(self, leaf: Any, files: frozenset[str]) -> bool:
        """Whether it can be seen that a DataFrame that was read, from these files, had a part in it."""
        if self.columns & column_ids(leaf):  # a checkpoint has the very columns of what it holds
            return True
        if leaf.nodeName() == "LogicalRDD":
            return leaf.rdd().id() in self.rdds
        return bool(self.files & files)

    def excludes(self, leaf: Any, files: frozenset[str]) -> bool:
        """Whether it can be seen that it had no part in it: rows in memory leave no trace."""
        known = leaf.nodeName() == "LogicalRDD" or bool(files)
        return self.whole and known and not self.shows(leaf, files)


def column_ids(leaf: Any) -> frozenset[int]:
    """The ids of its columns."""
    return frozenset(int(attr.exprId().id()) for attr in items(leaf.output()))
