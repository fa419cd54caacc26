"""The leaves of a plan: which source each one is, and what it is called."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlparse

from whence.errors import BadType, NotTraceable, UnknownName
from whence.rows import Attr, Source
from whence.spark.catalyst.jvm import items
from whence.spark.catalyst.shared import CUT
from whence.spark.sources.cuts import column_ids, past

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
    cut = any(each.get("name") == CUT for each in entry)
    return cut or any(kind not in ("Alias", "AttributeReference", "Cast", "UpCast") for kind in kinds)


class Sources:
    """Numbers the uses of sources, and gives all uses of one source one name."""

    def __init__(
        self, given: Mapping[str, Any], computed: Callable[[Any], bool], same_object: Callable[[Any, Any], bool]
    ) -> None:
        """`given` are the plans of sources that have names; `computed` says of a leaf that it is no source.

        `same_object`: whether two references to the JVM lead to one object.
        """
        self._leaves: list[_Leaf] = []
        self._same_object = same_object
        self.views: dict[int, str] = {}
        self.count = 0
        self.given = {name: _leaf(name, java, computed) for name, java in given.items()}
        self._used: set[str] = set()
        self._cuts: list[str] = []

    def read(self, node: PlanNode, columns: tuple[Attr, ...]) -> Source:
        """One use of a source."""
        if node.fields.get("isStreaming"):
            raise NotTraceable("a streaming source has no last row to ask about: trace the batch that it writes")
        paths = tuple(_paths(node))
        occurrence, self.count = self.count, self.count + 1
        given = self.given_name(node.java)
        name = self._name(node, columns, paths, given)
        cut = "" if given is not None else self._cut(node.java, name)
        return Source(name, occurrence, columns, _format(node), paths, origin=node.java, cut=cut)

    def given_name(self, leaf: Any) -> str | None:
        """The name that the user gave to a leaf. Of several names for one file, the name of that very DataFrame."""
        names = [name for name, java in self.given.items() if _same(java, leaf)]
        if len(names) > 1:
            names = [name for name in names if self._same_read(self.given[name], leaf)] or names
        return names[0] if names else None

    def require_used(self) -> None:
        """Raise if a name was given to something that the plan does not read."""
        unused = [name for name in self.given if name not in self._used]
        if not unused:
            return
        found = list(dict.fromkeys(each.name for each in self._leaves))
        read = f"The plan reads {', '.join(found)}" if found else "The plan reads no source"
        ends = "".join(f". {cut}" for cut in self._cuts)
        raise UnknownName(
            f"sources={{{unused[0]!r}: ...}} names a DataFrame that the pipeline does not read. {read}{ends}. Rows "
            "that went through toPandas() or collect() are a new source: name the DataFrame that was made of them"
        )

    def use(self, name: str) -> None:
        """Note that a given source had a part in the pipeline."""
        self._used.add(name)

    def _cut(self, leaf: Any, name: str) -> str:
        before = past(leaf)
        if before is None:
            return ""
        said = (
            f"the rows of {name} were made outside Spark's plan: {before.what}. Name the DataFrames that they come "
            "from with sources={...}, or this one, if the lineage is to end here"
        )
        self._cuts.append(said)
        return said

    def _name(self, node: PlanNode, columns: tuple[Attr, ...], paths: tuple[str, ...], given: str | None) -> str:
        explicit = given or (self.views.get(columns[0].id) if columns else None) or _table(node)
        if given is not None:
            self.use(given)
        for place, each in enumerate(self._leaves):
            if _same_relation(each.java, node.java) and (explicit is None or each.explicit in (None, explicit)):
                self._leaves[place] = replace(each, explicit=explicit or each.explicit)
                return each.name
        wanted = explicit or _stem(paths)
        taken = {each.name for each in self._leaves} | (self.given.keys() - {given})
        if wanted is None:
            wanted = next(f"source_{n}" for n in range(1, self.count + 2) if f"source_{n}" not in taken)
        elif wanted in taken:  # two sources of one name: orders/a.parquet and old/a.parquet
            wanted = next(f"{wanted}_{n}" for n in range(2, self.count + 3) if f"{wanted}_{n}" not in taken)
        self._leaves.append(_Leaf(node.java, wanted, explicit))
        return wanted

    def _same_read(self, one: Any, other: Any) -> bool:
        """Whether both come from one call that read or made a DataFrame, in this plan or another."""
        if column_ids(one) & column_ids(other):
            return True
        kind = one.nodeName()
        if kind == "LogicalRDD":
            return bool(one.rdd().id() == other.rdd().id())
        if kind == "LocalRelation":
            return self._same_object(one.data(), other.data())
        if not (_reads_files(one) and _reads_files(other)):
            return False
        return self._same_object(one.relation().location(), other.relation().location())


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A source that was met: a leaf of it, its name, and the name that the user or the catalog gave to it."""

    java: Any
    name: str
    explicit: str | None


def _same(one: Any, other: Any) -> bool:
    """Whether two leaves read the same rows: `_metadata` beside the columns, or a path spelled in SQL, is no matter."""
    if one.sameResult(other):
        return True
    if not (_reads_files(one) and _reads_files(other)):
        return False
    one, other = one.relation(), other.relation()
    return bool(
        one.fileFormat().getClass().getName() == other.fileFormat().getClass().getName()
        and one.dataSchema().equals(other.dataSchema())
        and one.partitionSchema().equals(other.partitionSchema())
        and _roots(one) == _roots(other)
        and one.options().removed("path").equals(other.options().removed("path"))
    )


def _same_relation(one: Any, other: Any) -> bool:
    """The same, where the relation is spelled the same way, too."""
    if one.sameResult(other):
        return True
    return _reads_files(one) and _reads_files(other) and bool(one.relation().equals(other.relation()))


def _reads_files(leaf: Any) -> bool:
    return leaf.nodeName() == "LogicalRelation" and "HadoopFsRelation" in leaf.relation().getClass().getName()


def _roots(relation: Any) -> set[str]:
    return {str(path.toString()) for path in items(relation.location().rootPaths())}


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
