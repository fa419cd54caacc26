"""Give each use of a relation its own columns, if it occurs twice in a plan with the same columns.

before: Join(Source t: a#1, Source t: a#1)
after:  Join(Source t: a#1, Source t: a#9)
"""

from __future__ import annotations

from dataclasses import replace

from whence.errors import NotTraceable
from whence.rows import (
    Aggregate,
    Arrange,
    Attr,
    Cogroup,
    Except,
    Filter,
    GroupedMap,
    Intersect,
    Join,
    Named,
    Opaque,
    Operator,
    Project,
    Source,
    Tree,
    Union,
    like,
    transform,
    walk,
)
from whence.spark.catalyst.operators import output_of


def separated(plan: Operator) -> Operator:
    """Return the plan such that every column is made by one operator only.

    Catalyst gives two uses of a relation different columns, with two exceptions. A union, intersection or difference of
    a frame with itself keeps them: these are two ordinary uses. And decorrelation puts a copy of the outer query into
    the subquery, below an aggregate that yields the distinct values of the correlated columns (a *domain*). That copy
    only says which values to compute for; its rows do not contribute.
    """
    return _distinguished(plan, frozenset())


def _distinguished(plan: Operator, outer: frozenset[int]) -> Operator:
    above: list[Project | Filter] = []  # an explicit stack, because plans of notebooks may have hundreds of steps
    while isinstance(plan, Project | Filter):
        above.append(plan)
        plan = plan.child
    found = _of_operator(plan, outer)
    for each in reversed(above):
        found = each if each.child is found else replace(each, child=found)
    return found


def _of_operator(plan: Operator, outer: frozenset[int]) -> Operator:
    if isinstance(plan, Join):
        right = _distinguished(plan.right, outer | _relation_columns(plan.left))
        left = _distinguished(plan.left, outer | _relation_columns(right))
        return replace(plan, left=left, right=right)
    if isinstance(plan, Union):
        return replace(plan, inputs=_branches(plan.inputs, outer))
    if isinstance(plan, Intersect | Except):
        left, right = _branches((plan.left, plan.right), outer)
        return replace(plan, left=left, right=right)
    if outer and isinstance(plan, Aggregate) and not plan.calls:
        below = _relation_columns(plan)
        if below and below <= outer:
            return _domain(plan)
    if isinstance(plan, Source) and _relation_columns(plan) & outer:
        raise NotTraceable(
            f"source {plan.name!r} is used twice with the same columns, and whence cannot distinguish the uses"
        )
    return plan.map_parts(lambda part: _distinguished(part, outer) if isinstance(part, Operator) else part)


def _branches(inputs: tuple[Operator, ...], outer: frozenset[int]) -> tuple[Operator, ...]:
    seen: frozenset[int] = frozenset()
    branches: list[Operator] = []
    for each in inputs:
        own = _relation_columns(each)
        branch = _distinguished(renewed(each)[0] if own & seen else each, outer)
        branches.append(branch)
        seen |= own
    return tuple(branches)


def _domain(plan: Aggregate) -> Operator:
    child, renamed = renewed(plan.child)

    def as_copy(part: Tree) -> Tree:
        return replace(part, is_domain_copy=True) if isinstance(part, Source) else part

    def change(part: Tree) -> Tree:
        return renamed.get(part, part) if isinstance(part, Attr) else part

    keys = tuple(transform(key, change) for key in plan.keys)
    outputs = tuple(Named(named.attr, transform(named.expr, change)) for named in plan.outputs)
    return Aggregate(transform(child, as_copy), keys, outputs)


def renewed(plan: Operator) -> tuple[Operator, dict[Attr, Attr]]:
    """Return the plan over new instances of its relations, with new column ids, and the map from old to new columns."""
    renamed: dict[Attr, Attr] = {}
    instances: dict[int, object] = {}
    for part in walk(plan):
        if isinstance(part, Opaque | GroupedMap | Cogroup):
            raise NotTraceable(
                f"{type(part).__name__} is used twice in the plan, and whence cannot distinguish the uses"
            )
        if isinstance(part, Source):
            java = part.origin.newInstance()  # type: ignore[attr-defined]  # Catalyst's MultiInstanceRelation
            columns = output_of(java)
            renamed |= dict(zip(part.columns, columns, strict=True))
            instances[columns[0].id] = java
    for part in walk(plan):
        if isinstance(part, Attr) and part not in renamed:
            renamed[part] = like(part)

    def change(part: Tree) -> Tree:
        if isinstance(part, Attr):
            return renamed[part]
        if isinstance(part, Source):
            return replace(part, origin=instances[part.columns[0].id])
        return part.child if isinstance(part, Arrange) else part  # its Catalyst object may refer to the old columns

    return transform(plan, change), renamed


def _relation_columns(plan: Operator) -> frozenset[int]:
    """The columns of all relations in the plan, without domain copies."""
    sources = (part for part in walk(plan) if isinstance(part, Source) and not part.is_domain_copy)
    return frozenset(attr.id for source in sources for attr in source.columns)
