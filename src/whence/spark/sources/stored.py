"""Sources of a stored plan: what the run recorded about them, and how DuckDB or Spark reads them again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from whence.errors import NotTraceable
from whence.spark.sources.files import METADATA, FileKind
from whence.spark.sources.kind import Listing, Version

if TYPE_CHECKING:
    from whence.rows import Source
    from whence.spark.catalyst.jvm import Jvm

NODE = "StoredLeaf"


@dataclass(frozen=True, eq=False)
class StoredLeaf:
    """A leaf of a stored plan: its files in the order of numbering, and the schema and options that Spark read it with.

    If it cannot be read again, `lost` says why: its rows were in memory, or in another system.
    """

    format: str
    listing: Listing | None = None
    schema: str = ""  # Spark's JSON
    options: Mapping[str, str] = field(default_factory=dict)
    lost: str = ""

    def nodeName(self) -> str:  # the name of Catalyst's method
        return NODE


class StoredKind(FileKind):
    """Files that a run read, according to its record."""

    nodes: ClassVar[frozenset[str]] = frozenset({NODE})

    def matches(self, leaf: Any) -> bool:
        return True

    def format(self, leaf: Any) -> str:
        return str(leaf.format)

    def listing(self, leaf: Any) -> Listing | None:
        found: Listing | None = leaf.listing
        return found

    def version_read(self, leaf: Any) -> Version:
        return frozenset()  # the run's record has the versions

    def reading(self, leaf: Any) -> tuple[str, dict[str, str]] | None:
        return None if leaf.lost else (str(leaf.schema), dict(leaf.options))

    def relation(self, source: Source, jvm: Jvm) -> Any:
        leaf: Any = source.origin
        if leaf.lost:
            raise NotTraceable(f"source {source.name!r} cannot be read again: {leaf.lost}")
        if any(attr.name.lower() == METADATA for attr in source.columns):
            raise NotTraceable(f"source {source.name!r} was read with {METADATA}, which a stored run cannot read again")
        schema = jvm.class_("org.apache.spark.sql.types.DataType").fromJson(leaf.schema)
        reader = jvm.spark._jsparkSession.read().format(leaf.format).schema(schema)
        for name, value in leaf.options.items():
            reader = reader.option(name, value)
        gateway: Any = jvm.spark.sparkContext._gateway  # never None while the session runs
        paths = gateway.new_array(jvm.class_("java.lang.String"), len(source.paths))
        for place, path in enumerate(source.paths):
            paths[place] = path
        return reader.load(paths).queryExecution().analyzed()
