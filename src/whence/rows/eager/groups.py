"""Groups: collect the ids of all rows, or of the rows that attain the aggregates.

before: Aggregate by city: city, sum(n) as total
          Source sales: city, n
after:  Aggregate by city: city, sum(n) as total, collect_list(id) as ids
          Source sales: city, n, id
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.eager.ids import LIST, Tagged, array_of, as_list, gathered, new_ids, nothing, struct_of
from whence.rows.eager.rows import Tag
from whence.rows.expressions import (
    AggCall,
    Attr,
    Call,
    Compare,
    Expr,
    Frame,
    Literal,
    WindowCall,
    conjunction,
    disjunction,
    fresh,
)
from whence.rows.operators import Aggregate, Distinct, Named, Project, Window, keep


def distinct(plan: Distinct, tag: Tag) -> Tagged:
    """Collect the ids of all duplicates: the rows with equal keys."""
    below = tag(plan.child)
    ids, collect = gathered(below.ids)
    picked = {attr: fresh(attr.name, attr.dtype) for attr in dict.fromkeys(plan.picks)}
    firsts = tuple(Named(new, AggCall("first", (old,), old.dtype)) for old, new in picked.items())
    groups = Aggregate(below.plan, plan.keys, (*keep(*plan.keys), *firsts, *collect))
    columns = tuple(Named(attr, picked.get(attr, attr)) for attr in plan.output)
    return Tagged(Project(groups, (*columns, *keep(*(each.attr for each in ids.values())))), ids, below.reasons)


def aggregate(plan: Aggregate, tag: Tag, witness: str) -> Tagged:
    """Collect the ids of the group's rows, or of the rows that attain an aggregate.

    The latter if every aggregate is min, max, first, last or any.
    """
    below = tag(plan.child)
    if any(call.python for call in plan.calls):
        return _beside(plan, below)
    if plan.witnessed and witness == "rows" and below.ids:
        return _attained(plan, below)
    if plan.listed is not None:
        return _pivot_ids(plan, plan.listed, below)
    ids, collect = gathered(below.ids)
    return Tagged(Aggregate(below.plan, plan.keys, (*plan.outputs, *collect)), ids, below.reasons)


def _pivot_ids(plan: Aggregate, listed: Expr, below: Tagged) -> Tagged:
    """A pivot: collect the ids of the rows whose values are listed, or of all rows if none is."""
    masked = {number: replace(new_ids(number, each.many), many=each.many) for number, each in below.ids.items()}
    columns = tuple(
        Named(new.attr, Call("if", (listed, below.ids[number].attr, nothing(new.many)), new.attr.dtype))
        for number, new in masked.items()
    )
    rows = Project(below.plan, (*keep(*_unique(below.plan.output)), *columns))
    every, collect_every = gathered(below.ids)
    some, collect_some = gathered(masked)
    flag = fresh("_any_listed", "boolean")
    found = Named(flag, AggCall("bool_or", (listed,), "boolean"))
    groups = Aggregate(rows, plan.keys, (*plan.outputs, *collect_every, *collect_some, found), listed)
    ids = {number: new_ids(number) for number in below.ids}
    chosen = tuple(
        Named(new.attr, Call("if", (flag, some[number].attr, every[number].attr), LIST)) for number, new in ids.items()
    )
    return Tagged(Project(groups, (*keep(*plan.output), *chosen)), ids, below.reasons)


def _beside(plan: Aggregate, below: Tagged) -> Tagged:
    """Collect the ids with a window function, because Spark allows a Python aggregate only without other aggregates.

    They are the same for all rows of a group, so they can be additional group keys.
    """
    whole = Frame("rows", None, None)
    lists: dict[int, Attr] = {}
    for number, each in below.ids.items():
        lists[number] = fresh(f"_group_{number}", array_of(LIST) if each.many else LIST)
    calls = tuple(
        Named(lists[number], WindowCall("collect_list", (each.attr,), whole, lists[number].dtype))
        for number, each in below.ids.items()
    )
    rows = Window(below.plan, calls, plan.keys, ()) if calls else below.plan
    ids = {number: new_ids(number) for number in below.ids}
    merged = tuple(Named(new.attr, _distinct_ids(lists[number], below.ids[number].many)) for number, new in ids.items())
    ready = Project(rows, (*keep(*_unique(below.plan.output)), *merged))
    more = tuple(each.attr for each in ids.values())
    return Tagged(Aggregate(ready, (*plan.keys, *more), (*plan.outputs, *keep(*more))), ids, below.reasons)


def _distinct_ids(lists: Expr, many: bool) -> Expr:
    return Call("array_distinct", (Call("flatten", (lists,), LIST) if many else lists,), LIST)


def _attained(plan: Aggregate, below: Tagged) -> Tagged:
    """Collect the rows of each group as a list of (values, passes, ids), and keep those with the aggregate's value.

    If a FILTER clause removes all rows of the group, no row attains a value, and the whole group is kept.
    """
    calls = plan.calls
    results = [fresh(f"_value_{index}", call.dtype) for index, call in enumerate(calls)]
    fields: list[Expr] = []
    types: dict[str, str] = {}

    def field(name: str, value: Expr) -> None:
        fields.extend((Literal(name, "string"), value))
        types[name] = value.dtype

    for index, call in enumerate(calls):
        field(f"v{index}", call.args[0])
        where = _condition_of_call(plan, call)
        if where is not None:
            passes = Call("coalesce", (where, Literal(False, "boolean")), "boolean")
            field(f"p{index}", passes)
    for number, each in below.ids.items():
        field(f"i{number}", as_list(each))
    struct = struct_of(types)
    rows = fresh("_rows", array_of(struct))
    all_rows = Named(rows, AggCall("collect_list", (Call("named_struct", tuple(fields), struct),), rows.dtype))
    values = tuple(Named(attr, call) for attr, call in zip(results, calls, strict=True))
    groups = Aggregate(below.plan, plan.keys, (*plan.outputs, *values, all_rows), plan.listed)

    row = Call("variable", (), struct, "r")
    attains = []
    for index, (call, result) in enumerate(zip(calls, results, strict=True)):
        same = Compare("<=>", _field(row, f"v{index}"), result)
        attains.append(same if _condition_of_call(plan, call) is None else conjunction(_field(row, f"p{index}"), same))
    kept = Call("filter", (rows, Call("lambda", (disjunction(*attains), row), "boolean")), LIST)
    empty = Compare("=", Call("size", (kept,), "integer"), Literal(0, "integer"))
    witnesses = fresh("_witnesses", rows.dtype)
    chosen = Project(groups, (*keep(*_unique(plan.output)), Named(witnesses, Call("if", (empty, rows, kept), LIST))))
    ids = {number: new_ids(number) for number in below.ids}
    lists = tuple(Named(new.attr, _flattened_ids(witnesses, f"i{number}")) for number, new in ids.items())
    return Tagged(Project(chosen, (*keep(*plan.output), *lists)), ids, below.reasons)


def _condition_of_call(plan: Aggregate, call: AggCall) -> Expr | None:
    """The condition for rows that a call counts: of a FILTER clause, or for the value of its column in a pivot."""
    if plan.listed is not None and isinstance(call.args[0], Call) and call.args[0].name == "If":
        return call.args[0].args[0]
    return call.where


def _field(row: Expr, name: str) -> Expr:
    return Call("field", (row,), LIST, name)


def _flattened_ids(rows: Expr, name: str) -> Expr:
    row = Call("variable", (), LIST, "r")
    lists = Call("transform", (rows, Call("lambda", (_field(row, name), row), LIST)), LIST)
    return Call("array_distinct", (Call("flatten", (lists,), LIST),), LIST)


def _unique(attrs: tuple[Attr, ...]) -> tuple[Attr, ...]:
    return tuple(dict.fromkeys(attrs))
