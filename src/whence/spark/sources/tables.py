"""Tables of a catalog or of another system: Hive tables, DataSource V2 tables, JDBC."""

from __future__ import annotations

from typing import Any, ClassVar

from whence.spark.sources.kind import Kind


class TableKind(Kind):
    """A Hive table, or a table of a DataSource V2 catalog."""

    nodes: ClassVar[frozenset[str]] = frozenset(
        {"HiveTableRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation"}
    )

    def format(self, leaf: Any) -> str:
        return "table"

    def name(self, leaf: Any) -> str | None:
        if leaf.nodeName() == "HiveTableRelation":
            return str(leaf.tableMeta().identifier().table())
        return str(leaf.name()).rsplit(".", 1)[-1].strip("`")


class RelationKind(Kind):
    """Any other relation that Spark reads, such as JDBC."""

    nodes: ClassVar[frozenset[str]] = frozenset({"LogicalRelation"})

    def format(self, leaf: Any) -> str:
        return "relation"

    def name(self, leaf: Any) -> str | None:
        table = leaf.catalogTable()
        return str(table.get().identifier().table()) if table.isDefined() else None
