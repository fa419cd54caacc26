"""Which source columns each output column comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce

from whence.rows import operators as o
from whence.rows.expressions import Attr, Udf
from whence.rows.tree import Tree

Column = tuple[str, str]  # source, column
NONE: frozenset[Column] = frozenset()


@dataclass(frozen=True, slots=True)
class ColumnLineage:
    """`direct` are the columns that the values are computed from; `through` are the columns that select rows."""

    direct: frozenset[Column]
    through: frozenset[Column]

    def __repr__(self) -> str:
        def shown(columns: frozenset[Column]) -> str:
            return ", ".join(f"{source}.{column}" for source, column in sorted(columns)) or "nothing"

        return f"from {shown(self.direct)}; through {shown(self.through)}"


def columns(plan: o.Operator) -> tuple[tuple[Attr, ColumnLineage], ...]:
    """The lineage of each output column, in order.

    >>> from whence.rows import Attr, Compare, Filter, Literal, Named, Project, Source
    >>> a, b, c = (Attr(i, n, "long") for i, n in enumerate("abc"))
    >>> rows = Filter(Source("t", 0, (a, b)), Compare(">", b, Literal(0, "long")))
    >>> columns(Project(rows, (Named(c, a),)))[0][1]
    from t.a; through t.b
    """
    direct, through = _lineage(plan)
    return tuple((attr, ColumnLineage(direct.get(attr, NONE), through)) for attr in plan.output)


Direct = dict[Attr, frozenset[Column]]


def _lineage(plan: o.Operator) -> tuple[Direct, frozenset[Column]]:
    if isinstance(plan, o.Source):
        return {attr: frozenset({(plan.name, attr.name)}) for attr in plan.columns}, NONE
    below: Direct = {}
    through = NONE
    parts = [_lineage(child) for child in plan.children]
    for direct, conditions in parts:
        below |= direct
        through |= conditions
    through |= _columns_read(below, *_conditions(plan))
    if isinstance(plan, o.Project):
        return {named.attr: _columns_read(below, named.expr) for named in plan.columns}, through
    if isinstance(plan, o.Aggregate):
        return {named.attr: _columns_read(below, named.expr) for named in plan.outputs}, through
    if isinstance(plan, o.Window):
        return below | {named.attr: _columns_read(below, named.expr) for named in plan.calls}, through
    if isinstance(plan, o.Union):
        return _of_union(plan, [direct for direct, _ in parts]), through
    if isinstance(plan, o.Intersect):
        pairs = zip(plan.output, plan.left.output, plan.right.output, strict=True)
        return {out: below.get(a, NONE) | below.get(b, NONE) for out, a, b in pairs}, through
    if isinstance(plan, o.Generate):
        return below | dict.fromkeys(plan.columns, _columns_read(below, plan.generator)), through
    if isinstance(plan, o.Expand):
        columns_ = zip(plan.columns, *plan.projections, strict=True)
        return {attr: _columns_read(below, *exprs) for attr, *exprs in columns_}, through
    if isinstance(plan, o.Opaque | o.GroupedMap | o.Cogroup):
        everything = reduce(frozenset.union, below.values(), NONE)
        return dict.fromkeys(plan.output, everything), through
    if isinstance(plan, o.Join) and plan.flag is not None:
        return below | {plan.flag: _columns_read(below, *_conditions(plan))}, through
    return below, through


def _conditions(plan: o.Operator) -> tuple[Tree, ...]:
    """The expressions that determine which rows there are, or which rows belong together."""
    if isinstance(plan, o.Filter):
        return (plan.condition,)
    if isinstance(plan, o.Join):
        return () if plan.condition is None else (plan.condition,)
    if isinstance(plan, o.Aggregate | o.Distinct | o.GroupedMap):
        return plan.keys
    if isinstance(plan, o.Window):
        return (*plan.partition, *plan.order)
    if isinstance(plan, o.Cogroup):
        return (*plan.left_keys, *plan.right_keys)
    if isinstance(plan, o.Limit) and isinstance(plan.child, o.Sort):
        return plan.child.keys
    if isinstance(plan, o.Intersect | o.Except):
        return (*plan.left.output, *plan.right.output)
    return ()


def _columns_read(below: Direct, *trees: Tree) -> frozenset[Column]:
    return reduce(frozenset.union, (below.get(attr, NONE) for tree in trees for attr in read_by(tree)), NONE)


def read_by(tree: Tree) -> Iterator[Attr]:
    """The attributes that a tree reads. For a translated function, only the arguments that its value depends on."""
    left = [tree]  # an explicit stack, because expressions may nest deeper than Python's recursion limit
    while left:
        part = left.pop()
        if isinstance(part, Attr):
            yield part
        left.extend(part.read if isinstance(part, Udf) else part.parts())


def _of_union(plan: o.Union, parts: list[Direct]) -> Direct:
    found: Direct = dict.fromkeys(plan.columns, NONE)
    for child, direct in zip(plan.inputs, parts, strict=True):
        for out, attr in zip(plan.columns, child.output, strict=True):
            found[out] |= direct.get(attr, NONE)
    return found
