"""The sources of a plan: which leaf is which source, and their names."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, NotTraceable, UnknownName
from whence.rows import Attr, Source
from whence.spark.catalyst.jvm import items
from whence.spark.catalyst.shared import CUT
from whence.spark.sources.kind import Kind, column_ids
from whence.spark.sources.registry import kind_of

if TYPE_CHECKING:
    from whence.spark.catalyst.operators import PlanNode

# A view gives its name to its only leaf if only these nodes are between them.
TRANSPARENT = frozenset({"SubqueryAlias", "View", "Project"})


def view_names(java: Any, compact: Callable[[Any], Any]) -> dict[int, str]:
    """Map columns of each leaf that is a view by itself to the name of the view, the innermost if there are several.

    Only views are converted to JSON, in the form that `compact` makes: 200 calls of `withColumn` would give 20,000
    columns.
    """
    names: dict[int, str] = {}
    below = [java]
    while below:
        node = below.pop()
        if node.nodeName() == "View":
            names.update(_names_in_view(compact(node)))
        else:
            below.extend(items(node.children()))
    return names


def _names_in_view(java: Any) -> dict[int, str]:
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
    """Numbers the uses of sources, and gives all uses of one source the same name."""

    def __init__(
        self, given: Mapping[str, Any], computed: Callable[[Any], bool], same_object: Callable[[Any, Any], bool]
    ) -> None:
        """`given` are the plans of sources with names. `computed` tells whether a leaf is not a source. `same_object`
        tells whether two JVM references are the same object.
        """
        self._leaves: list[_Leaf] = []
        self._same_object = same_object
        self.views: dict[int, str] = {}
        self.count = 0
        self.given = {name: _leaf_of_plan(name, java, computed) for name, java in given.items()}
        self._used: set[str] = set()
        self._cuts: list[str] = []
        self.notes: dict[int, str] = {}  # by RDD id: why a checkpoint with a known plan is not followed

    def read(self, node: PlanNode, columns: tuple[Attr, ...]) -> Source:
        """Read one use of a source."""
        if node.fields.get("isStreaming"):
            raise NotTraceable("whence does not trace streaming sources: trace the batch that it writes")
        kind = kind_of(node.java)
        paths = kind.paths(node.java)
        occurrence, self.count = self.count, self.count + 1
        given = self.given_name(node.java)
        name = self._name(node.java, kind, columns, given)
        cut = "" if given is not None else self._cut(node.java, name)
        return Source(name, occurrence, columns, kind.format(node.java), paths, origin=node.java, cut=cut)

    def given_name(self, leaf: Any) -> str | None:
        """The name that the user gave to a leaf. If several names fit the same file, the one given for this
        DataFrame.
        """
        names = [name for name, java in self.given.items() if _reads_same_rows(java, leaf)]
        if len(names) > 1:
            names = [name for name in names if self._same_read(self.given[name], leaf)] or names
        return names[0] if names else None

    def require_used(self) -> None:
        """Raise if a name was given to a DataFrame that the plan does not read."""
        unused = [name for name in self.given if name not in self._used]
        if not unused:
            return
        found = list(dict.fromkeys(each.name for each in self._leaves))
        read = f"The plan reads {', '.join(found)}" if found else "The plan reads no source"
        ends = "".join(f". {cut}" for cut in self._cuts)
        raise UnknownName(
            f"sources={{{unused[0]!r}: ...}} names a DataFrame that the pipeline does not read. {read}{ends}. Rows"
            " that went through toPandas() or collect() are a new source: name the DataFrame made from them"
        )

    def use(self, name: str) -> None:
        """Note that the pipeline uses a given source."""
        self._used.add(name)

    def _cut(self, leaf: Any, name: str) -> str:
        before = kind_of(leaf).past(leaf)
        if before is None:
            return ""
        what = self.notes.get(int(leaf.rdd().id()), before.what) if self.notes else before.what
        said = (
            f"the rows of {name} were made outside Spark's plan: {what}. Name the DataFrames that they come "
            "from with sources={...}, or name this one if the lineage should end here"
        )
        self._cuts.append(said)
        return said

    def _name(self, leaf: Any, kind: Kind, columns: tuple[Attr, ...], given: str | None) -> str:
        explicit = given or (self.views.get(columns[0].id) if columns else None) or kind.name(leaf)
        if given is not None:
            self.use(given)
        for place, each in enumerate(self._leaves):
            if _same_relation(each.java, leaf) and (explicit is None or each.explicit in (None, explicit)):
                self._leaves[place] = replace(each, explicit=explicit or each.explicit)
                return each.name
        wanted = explicit or kind.default_name(leaf)
        taken = {each.name for each in self._leaves} | (self.given.keys() - {given})
        if wanted is None:
            wanted = next(f"source_{n}" for n in range(1, self.count + 2) if f"source_{n}" not in taken)
        elif wanted in taken:  # two sources with the same name
            wanted = next(f"{wanted}_{n}" for n in range(2, self.count + 3) if f"{wanted}_{n}" not in taken)
        self._leaves.append(_Leaf(leaf, wanted, explicit))
        return wanted

    def _same_read(self, one: Any, other: Any) -> bool:
        """Whether both come from the same call that read or made a DataFrame, in this plan or another."""
        if column_ids(one) & column_ids(other):
            return True
        kind = kind_of(one)
        return kind is kind_of(other) and kind.same_read(one, other, self._same_object)


@dataclass(frozen=True, slots=True)
class _Leaf:
    """A source that was found: one of its leaves, its name, and the name that the user or the catalog gave."""

    java: Any
    name: str
    explicit: str | None


def _reads_same_rows(one: Any, other: Any) -> bool:
    """Whether two leaves read the same rows."""
    if one.sameResult(other):
        return True
    kind = kind_of(one)
    return kind is kind_of(other) and kind.same_rows(one, other)


def _same_relation(one: Any, other: Any) -> bool:
    """Whether two leaves read the same rows with the same relation."""
    if one.sameResult(other):
        return True
    kind = kind_of(one)
    return kind is kind_of(other) and kind.same_relation(one, other)


def _leaf_of_plan(name: str, java: Any, computed: Callable[[Any], bool]) -> Any:
    while java.children().size() == 1 and java.nodeName() in TRANSPARENT:
        java = java.children().apply(0)
    if java.children().size() or computed(java):
        raise BadType(f"sources={{{name!r}: ...}} names a DataFrame that is computed: name one that is read")
    return java
