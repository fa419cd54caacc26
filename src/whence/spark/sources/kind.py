"""The interface of all kinds of sources: what whence needs to know about a leaf of a plan."""

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
    """A kind of source. Subclasses override methods; the defaults are correct for any kind.

    A leaf is Catalyst's object. To add a kind, write a module with a subclass and add a line to `registry.KINDS`.
    """

    nodes: ClassVar[frozenset[str]] = frozenset()
    """Catalyst's node names of its leaves."""

    def matches(self, leaf: Any) -> bool:
        """Whether a leaf with such a node name is of this kind."""
        return True

    def format(self, leaf: Any) -> str:
        """The format that `explain` shows."""
        return "memory"

    def name(self, leaf: Any) -> str | None:
        """The name of the leaf in a catalog."""
        return None

    def default_name(self, leaf: Any) -> str | None:
        """The name if neither the user nor a catalog gave one."""
        return None

    def paths(self, leaf: Any) -> tuple[str, ...]:
        """The files and directories that were given to Spark."""
        return ()

    def same_rows(self, one: Any, other: Any) -> bool:
        """Whether two leaves read the same rows, even if the relations are written differently."""
        return False

    def same_relation(self, one: Any, other: Any) -> bool:
        """Whether two leaves read the same rows with the same relation."""
        return False

    def same_read(self, one: Any, other: Any, same_object: Callable[[Any, Any], bool]) -> bool:
        """Whether two leaves come from the same call that read or made a DataFrame."""
        return False

    def past(self, leaf: Any) -> Past | None:
        """The history of its rows, if Spark computed them with something that has no plan."""
        return None

    def files_read(self, leaf: Any) -> frozenset[str]:
        """The files that it reads, if they are known."""
        return frozenset()

    def version(self, source: Source, jvm: Jvm) -> Version:
        """Its files as they are now. Empty for data in memory or in another system."""
        return frozenset()

    def version_read(self, leaf: Any) -> Version:
        """Its files as Spark listed them when the DataFrame was made."""
        return frozenset()

    def listing(self, leaf: Any) -> Listing | None:
        """The files that rows are numbered by; None if rows are numbered in the order of the scan."""
        return None

    def row_id(self, source: Source, jvm: Jvm) -> Any:
        """The expression of a row's id. It must be used directly above the source.

        The position in the scan does not depend on the query: Spark pushes no filter through a counting expression.
        """
        return jvm.parse("monotonically_increasing_id()")

    def relation(self, source: Source, jvm: Jvm) -> Any:
        """Catalyst's relation to read: the leaf itself, or a new one for a leaf of a stored plan."""
        return source.origin

    def reading(self, leaf: Any) -> tuple[str, dict[str, str]] | None:
        """The schema as Spark's JSON, and the options with which a later program can read the same rows; None if it
        cannot.
        """
        return None

    def local_files(self, source: Source) -> Files | None:
        """Its files for DuckDB; None if they are not all Parquet files on this machine."""
        return None


@dataclass(frozen=True, slots=True)
class Listing:
    """The files of a relation, and the value of each partition column for each file."""

    files: tuple[str, ...]
    uris: tuple[str, ...]  # the same files in the form of `_metadata`, where a blank is %20
    partition_values: dict[str, tuple[object, ...]]


@dataclass(frozen=True, slots=True)
class Past:
    """The history of a leaf: a description, the RDDs and files that contributed to it, and the ids of its columns.

    `whole` is true if all RDDs are known; a checkpoint forgets the RDDs that it was made from.
    """

    what: str
    rdds: frozenset[int] = frozenset()
    files: frozenset[str] = frozenset()
    columns: frozenset[int] = frozenset()
    whole: bool = False

    def shows(self, leaf: Any, files: frozenset[str]) -> bool:
        """Whether it is certain that a DataFrame with this leaf, read from these files, contributed to it."""
        if self.columns & column_ids(leaf):  # a checkpoint has the same column ids as its DataFrame
            return True
        if leaf.nodeName() == "LogicalRDD":
            return leaf.rdd().id() in self.rdds
        return bool(self.files & files)

    def excludes(self, leaf: Any, files: frozenset[str]) -> bool:
        """Whether it is certain that the leaf did not contribute. For rows in memory it never is."""
        known = leaf.nodeName() == "LogicalRDD" or bool(files)
        return self.whole and known and not self.shows(leaf, files)


def column_ids(leaf: Any) -> frozenset[int]:
    """The ids of its columns."""
    return frozenset(int(attr.exprId().id()) for attr in items(leaf.output()))
