"""Read documents into plans. A document is untrusted data: each part is checked, and none is run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from whence.errors import BadType, Damaged, FutureVersion
from whence.rows.documents.fields import ATTRS, EXPR, FLAG, OPERATOR, PATH, TEXT, Field, many, optional, part
from whence.rows.documents.nodes import BY_NAME, NodeKind
from whence.rows.documents.origins import OWN_FUNCTIONS, NotHeld
from whence.rows.documents.writing import DEEPEST, FORMAT, MOST_PARTS, OPAQUE, VERSION
from whence.rows.expressions import AggCall, Attr, Call, Literal, Udf, WindowCall, fresh
from whence.rows.operators import Operator, Source
from whence.rows.saving import OUTPUT, PlanPath, Saved, TracePlan, Use

MOST_NODES = 500_000


@dataclass(frozen=True, slots=True)
class StoredPlan:
    """A plan that was read from a document, and its trace plan, if the document has one."""

    plan: Operator
    trace: TracePlan | None


def read_plan(document: object, leaves: Mapping[int, object] | None = None, *, new_columns: bool = True) -> StoredPlan:
    """Read the plan in a document.

    `leaves` has the origins of its sources, by occurrence. Columns get new ids in this process, which are unique; with
    `new_columns=False` they have the ids in the document.

    >>> from whence.rows import Attr, Filter, IsNull, Source
    >>> from whence.rows.documents import plan_document
    >>> a = Attr(0, "a", "long")
    >>> print(read_plan(plan_document(Filter(Source("t", 0, (a,)), IsNull(a))), new_columns=False).plan)
    Filter a#0 is null
      Source t (memory): a#0
    """
    top = _fields(document, {"format", "version", "plan", "trace", "nodes"}, "the stored plan")
    if top["format"] != FORMAT:
        raise Damaged(f"this is not a stored plan: its format is {str(top['format'])[:40]!r}")
    if type(top["version"]) is not int or top["version"] < 1:
        raise Damaged(f"the stored plan has no version: {str(top['version'])[:40]!r}")
    if top["version"] > VERSION:
        raise FutureVersion(
            f"the plan was stored by a newer whence, in version {top['version']}; this one reads {VERSION}: upgrade"
        )
    reader = _Reader(top["nodes"], leaves or {}, new_columns)
    try:
        plan = OPERATOR.read(top["plan"], reader, "plan")
        return StoredPlan(plan, None if top["trace"] is None else _trace(top["trace"], reader))
    except BadType as error:  # operators validate their fields
        raise Damaged(f"the stored plan is not valid: {error}") from error


class _Reader:
    """Reads the nodes from first to last. Each may refer only to earlier ones, so there are no cycles."""

    def __init__(self, nodes: object, leaves: Mapping[int, object], new_columns: bool) -> None:
        if not isinstance(nodes, list) or len(nodes) > MOST_NODES:
            raise Damaged(f"the nodes of a stored plan are a list of at most {MOST_NODES:,}")
        self._leaves, self._new = leaves, new_columns
        self._columns: dict[int, int] = {}
        self._made: list[Any] = []
        self._depths: list[int] = []
        self._sizes: list[int] = []
        self._used: list[int] = []  # the nodes that the current node refers to
        for number, node in enumerate(nodes):
            where = f"node {number} of the stored plan"
            try:
                self._made.append(self._node(node, where))
            except BadType as error:
                raise Damaged(f"{where} is not valid: {error}") from error
            deep = 1 + max((self._depths[each] for each in self._used), default=0)
            size = 1 + sum(self._sizes[each] for each in self._used)
            if deep > DEEPEST:
                raise Damaged(f"{where}: there are more than {DEEPEST} nested parts")
            if size > MOST_PARTS:
                raise Damaged(f"{where}: it has more than {MOST_PARTS:,} parts, if what is shared is written out")
            self._depths.append(deep)
            self._sizes.append(size)

    def node(self, number: object, kind: type, where: str) -> Any:
        """Return an earlier node; raise unless it has the type."""
        if type(number) is not int or not 0 <= number < len(self._made):
            raise Damaged(f"{where}: the number of an earlier node is expected, not {str(number)[:60]!r}")
        found = self._made[number]
        if not isinstance(found, kind):
            raise Damaged(f"{where}: node {number} is {type(found).__name__} where {kind.__name__} is expected")
        self._used.append(number)
        return found

    def column(self, number: int) -> int:
        if not self._new:
            return number
        if number not in self._columns:
            self._columns[number] = fresh("", "void").id
        return self._columns[number]

    def _node(self, node: object, where: str) -> Any:
        self._used = []
        name = node.get("node") if isinstance(node, dict) else None
        kind = BY_NAME.get(name) if isinstance(name, str) else None
        if kind is None or not isinstance(node, dict):
            raise Damaged(f"{where} has a kind that this version of whence does not know: {str(name)[:40]!r}")
        where = f"{where} ({kind.name})"
        given = {}
        for key, value in node.items():
            if key in kind.fields:
                given[key] = kind.fields[key].read(value, self, f"{where}, field {key!r}")
            elif key not in ("node", OPAQUE):
                raise Damaged(f"{where} has a field that this version of whence does not know: {str(key)[:40]!r}")
        missing = [key for key in kind.fields if key not in given and key not in kind.defaults]
        if missing:
            raise Damaged(f"{where} lacks {', '.join(missing)}")
        opaque = optional(TEXT).read(node.get(OPAQUE), self, f"{where}, field {OPAQUE!r}")
        _require_pairs(given.get("annotated", ()), where)
        return self._with_origin(kind, given, opaque)

    def _with_origin(self, kind: NodeKind, given: dict[str, Any], opaque: str | None) -> Any:
        """Make the node. If its class has an origin, it gets one that says what the document lacks."""
        if not _has_origin(kind.made):
            return kind.made(**given)
        origin: object = NotHeld(opaque or "the log does not hold its code")
        if kind.made is Source:
            origin = self._leaves.get(given["occurrence"])
        elif issubclass(kind.made, Call | AggCall | WindowCall):
            own = opaque is None and given["name"] in OWN_FUNCTIONS and kind.made is not Udf
            origin = None if own else NotHeld(opaque or f"it calls Spark's {given['name']}")
        elif kind.made is Literal:
            origin = NotHeld("a constant of the pipeline")
        return kind.made(**given, origin=origin)


def _has_origin(made: Any) -> bool:
    return any(each.name == "origin" for each in fields(made))


def _require_pairs(given: tuple[tuple[Attr, ...], ...], where: str) -> None:
    if any(len(each) != 2 for each in given):
        raise Damaged(f"{where}: columns with ids are in pairs")


SAVED: dict[str, Field] = {
    "place": PATH,
    "operator": OPERATOR,
    "columns": ATTRS,
    "table": PATH,
    "predicate": EXPR,
    "sure": FLAG,
    "why": TEXT,
    "recomputed": FLAG,
}
USE: dict[str, Field] = {"source": part(Source), "table": PATH, "predicate": EXPR}


def _trace(given: object, reader: _Reader) -> TracePlan:
    parts = _fields(given, {"saved", "uses", "unavailable_reason"}, "the trace plan")
    saved = many(_record(SAVED)).read(parts["saved"], reader, "the trace plan, saved")
    uses = many(_record(USE)).read(parts["uses"], reader, "the trace plan, uses")
    reason = optional(TEXT).read(parts["unavailable_reason"], reader, "the trace plan")
    made = TracePlan(tuple(Saved(**each, cost=0.0) for each in saved), tuple(Use(**each) for each in uses), (), reason)
    _require_tables(made)
    return made


def _require_tables(trace: TracePlan) -> None:
    """Raise unless each table comes before the tables that are searched with its rows.

    Otherwise a question might not end.
    """
    known: set[PlanPath] = {OUTPUT}
    for saved in trace.saved:
        lost = set(saved.columns) - set(saved.operator.output)
        if saved.table not in known or saved.place in known or lost:
            raise Damaged(f"the trace plan is not valid at {saved.place}")
        known.add(saved.place)
    for use in trace.uses:
        if use.table not in known:
            raise Damaged(f"the trace plan is not valid at source {use.source.name!r}")


def _record(kinds: dict[str, Field]) -> Field:
    def read(given: Any, reader: Any, where: str) -> dict[str, Any]:
        parts = _fields(given, set(kinds), where)
        return {name: kind.read(parts[name], reader, f"{where}, {name}") for name, kind in kinds.items()}

    return Field(lambda value, _: value, read)


def _fields(given: object, names: set[str], where: str) -> dict[str, Any]:
    """Check that it is a JSON object with exactly these fields."""
    if not isinstance(given, dict):
        raise Damaged(f"{where} is not an object: {type(given).__name__}")
    if set(given) != names:
        odd = sorted(str(each)[:40] for each in set(given) ^ names)
        raise Damaged(f"{where} has missing or unknown fields: {', '.join(odd)}")
    return given
