"""The leaves of a plan: which source each one is, and what it is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from whence.errors import BadType, NotTraceable
from whence.rows import Attr, Source
from whence.spark.catalyst.jvm import items

if TYPE_CHECKING:
    from whence.spark.catalyst.operators import PlanNode

# What may stand between a view and its only leaf for the view's name to be the source's.
TRANSPARENT = frozenset({"SubqueryAlias", "View", "Project"})
STREAMING = frozenset({"StreamingRelation", "StreamingRelationV2", "StreamingExecutionRelation"})


def view_names(java: Any) -> dict[int, str]:
    """For the first column of each leaf that is a view by itself: the name of that view, the innermost if several."""
    flat = json.loads(java.toJSON())
    names: dict[int, str] = {}

    def visit(at: int, name: str | None) -> int:
        fields = flat[at]
        kind = fields["class"].rsplit(".", 1)[-1]
        if kind == "View":
            name = fields["desc"]["identifier"]["table"]
        elif kind == "Project" and any(_computes(each) for each in fields["projectList"]):
            name = None
        elif fields["num-children"] == 0 and name is not None:
            for each in fields.get("output") or ():
                names[each[0]["exprId"]["id"]] = name
        elif kind not in TRANSPARENT:
            name = None
        end = at + 1
        for _ in range(fields["num-children"]):
            end = visit(end, name)
        return end

    visit(0, None)
    return names


def _computes(entry: list[dict[str, Any]]) -> bool:
    kinds = [each["class"].rsplit(".", 1)[-1] for each in entry]
    return any(kind not in ("Alias", "AttributeReference", "Cast", "UpCast") for kind in kinds)


class Sources:
    """Numbers the uses of sources, and gives all uses of one source one name."""

    def __init__(self, given: Mapping[str, Any], computed: Callable[[Any], bool]) -> None:
        """`given` are the plans of sources that have names; `computed` says of a leaf that it is no source."""
        self._leaves: list[tuple[Any, str]] = []
        self.views: dict[int, str] = {}
        self.count = 0
        for name, java in given.items():
            self._leaves.append((_leaf(name, java, computed), name))

    def read(self, node: PlanNode, columns: tuple[Attr, ...]) -> Source:
        """One use of a source."""
        if node.fields.get("isStreaming"):
            raise NotTraceable("a streaming source has no last row to ask about: trace the batch that it writes")
        paths = tuple(_paths(node))
        occurrence, self.count = self.count, self.count + 1
        name = self._name(node, columns, paths)
        return Source(name, occurrence, columns, _format(node), paths, origin=node.java)

    def _name(self, node: PlanNode, columns: tuple[Attr, ...], paths: tuple[str, ...]) -> str:
        for leaf, name in self._leaves:
            if leaf.sameResult(node.java):
                return name
        wanted = (self.views.get(columns[0].id) if columns else None) or _table(node) or _stem(paths)
        taken = {name for _, name in self._leaves}
        if wanted is None:
            wanted = next(f"source_{n}" for n in range(1, self.count + 2) if f"source_{n}" not in taken)
        elif wanted in taken:  # two sources of one name: orders/a.parquet and old/a.parquet
            wanted = next(f"{wanted}_{n}" for n in range(2, self.count + 3) if f"{wanted}_{n}" not in taken)
        self._leaves.append((node.java, wanted))
        return wanted


def _leaf(name: str, java: Any, computed: Callable[[Any], bool]) -> Any:
    while java.children().size() == 1 and java.nodeName() in TRANSPARENT:
        java = java.children().apply(0)
    if java.children().size() or computed(java):
        raise BadType(f"sources={{{name!r}: ...}} names a DataFrame that is computed: give the one that was read")
    return java


def _format(node: PlanNode) -> str:
    if node.kind == "LogicalRelation":
        relation = node.java.relation()
        if hasattr(relation, "fileFormat") and _paths(node):
            text = str(relation.fileFormat().toString()).lower()
            return next((each for each in ("parquet", "csv", "json", "orc", "text") if each in text), text)
        return "relation"
    if node.kind in ("HiveTableRelation", "DataSourceV2Relation", "DataSourceV2ScanRelation"):
        return "table"
    return "memory"


def _paths(node: PlanNode) -> list[str]:
    if node.kind != "LogicalRelation":
        return []
    relation = node.java.relation()
    if "HadoopFsRelation" not in relation.getClass().getName():
        return []
    return [str(path.toString()) for path in items(relation.location().rootPaths())]


def _table(node: PlanNode) -> str | None:
    if node.kind in ("LogicalRelation", "HiveTableRelation"):
        table = node.java.catalogTable() if node.kind == "LogicalRelation" else None
        if table is not None and table.isDefined():
            return str(table.get().identifier().table())
        if node.kind == "HiveTableRelation":
            return str(node.java.tableMeta().identifier().table())
    if node.kind.startswith("DataSourceV2"):
        return str(node.java.name()).rsplit(".", 1)[-1].strip("`")
    return None


def _stem(paths: tuple[str, ...]) -> str | None:
    for last in _last_parts(paths):
        stem = last.split(".", 1)[0]
        if stem:
            return stem
    return None


def _last_parts(paths: tuple[str, ...]) -> Iterator[str]:
    parts = [unquote(urlparse(path).path).rstrip("/").split("/") for path in paths]
    if len(parts) == 1:
        yield parts[0][-1]
    elif parts:  # several files of one directory: the directory's name
        common = [each[0] for each in zip(*parts, strict=False) if len(set(each)) == 1]
        yield from reversed(common)
