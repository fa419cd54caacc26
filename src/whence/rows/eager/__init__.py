"""Eager lineage: rewrite the plan so that every row is annotated with the ids of its source rows."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from whence.errors import BadType, NotTraceable
from whence.rows import operators as o
from whence.rows.eager import groups, joins, opaque, rows, sets, windows
from whence.rows.eager.ids import IdColumns, Ids, Tagged
from whence.rows.questions.restrict import sources

__all__ = ["FUNCTIONS", "RULES", "WITNESSES", "IdColumns", "Ids", "Tagged", "eager"]

FUNCTIONS = (o.GroupedMap, o.Cogroup, o.Opaque)
WITNESSES = ("rows", "group")  # for min, max, first, last, any: the rows that attain the value, or the whole group

# The rewrite of each operator. Only that of Aggregate depends on `witness`.
RULES: dict[type[o.Operator], Callable[..., Tagged]] = {
    o.Source: rows.source,
    o.Values: rows.values,
    o.Filter: rows.one_input,
    o.Project: rows.project,
    o.Sort: rows.one_input,
    o.Limit: rows.one_input,
    o.Sample: rows.one_input,
    o.Arrange: rows.one_input,
    o.Generate: rows.generate,
    o.Expand: rows.expand,
    o.Union: rows.union,
    o.Join: joins.join,
    o.Distinct: groups.distinct,
    o.Aggregate: groups.aggregate,
    o.Intersect: sets.intersect,
    o.Except: sets.subtract,
    o.Window: windows.window,
    o.Opaque: opaque.opaque,
    o.GroupedMap: opaque.grouped,
    o.Cogroup: opaque.cogrouped,
}


def eager(plan: o.Operator, witness: str = "rows", *, tried: bool = False) -> Tagged:
    """Rewrite the plan so that its output has an additional column of ids for each use of a source.

    If `tried`, user functions of groups are also called with fewer rows, to find rows that produce an output row alone.

    >>> from whence.rows import AggCall, Aggregate, Attr, Named, Source, keep
    >>> a, n = Attr(1, "a", "long"), Attr(2, "n", "long")
    >>> count = Aggregate(Source("t", 0, (a,)), (a,), (*keep(a), Named(n, AggCall("Count", (a,), "long"))))
    >>> print(eager(count).plan)
    Aggregate by a#1: a#1, count(a#1) as n#2, collect_set(_id_0#-...) as _ids_0#-...
      Source t (memory): a#1, _id_0#-...
    """
    if witness not in WITNESSES:
        raise BadType(f"witness is one of {', '.join(WITNESSES)}, not {witness!r}")
    known: dict[int, Ids] = {}

    def tag(operator: o.Operator) -> Tagged:
        rule: Any = RULES.get(type(operator))
        if rule is None:
            raise NotTraceable(f"no eager lineage of {type(operator).__name__}")
        if isinstance(operator, o.Aggregate):
            rule = partial(rule, witness=witness)
        elif isinstance(operator, FUNCTIONS):
            rule = partial(rule, tried=tried)
        tagged: Tagged = rule(operator, tag)
        known.update(tagged.ids)
        return tagged

    tagged = tag(plan)
    numbers = {each.occurrence for each in sources(plan)}
    assert set(tagged.ids) <= numbers
    return tagged
