"""Draw plans of whence's own operators, and expressions, with Hypothesis and without Spark."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

from hypothesis import strategies as st

from whence.rows import (
    AggCall,
    Aggregate,
    And,
    Attr,
    Call,
    Compare,
    Distinct,
    Expr,
    Filter,
    Frame,
    In,
    IsNull,
    Join,
    Literal,
    Named,
    Not,
    Operator,
    Or,
    Param,
    Project,
    SortKey,
    Source,
    Udf,
    Union,
    Window,
    WindowCall,
    keep,
)
from whence.rows.expressions import COMPARISONS

LONG = "long"
VALUES = st.one_of(st.none(), st.integers(0, 2))
ROWS = st.lists(st.tuples(VALUES, VALUES), max_size=4)
NAMES = ("r", "s", "t")
TYPES = st.one_of(
    st.sampled_from(["boolean", "integer", LONG, "double", "string", "date", "timestamp", "binary", "void"]),
    st.builds("decimal({},{})".format, st.integers(1, 38), st.integers(0, 9)),
    st.sampled_from(["interval day to second", "string collate UNICODE_CI", "char(3)"]),
    st.just(json.dumps({"type": "array", "elementType": LONG, "containsNull": True}, separators=(",", ":"))),
)
CONSTANTS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 63), (1 << 63) - 1),
    st.floats(),
    st.decimals(allow_nan=False, allow_infinity=False, min_value=-1000, max_value=1000),
    st.text(max_size=8),
    st.binary(max_size=8),
    st.dates(),
    st.datetimes(),
    st.timedeltas(),
)


def tables_of_plans() -> st.SearchStrategy[Mapping[str, Sequence[tuple[Any, ...]]]]:
    """Draw the rows of the tables that `plans` read."""
    return st.fixed_dictionaries(dict.fromkeys(NAMES, ROWS))


def expressions() -> st.SearchStrategy[Expr]:
    """Draw expressions of every type that contains no plan. They need not make sense."""
    columns = st.builds(Attr, st.integers(-5, 5), st.text(max_size=5), TYPES, st.booleans())
    leaves = st.one_of(
        columns,
        st.builds(Literal, CONSTANTS, TYPES),
        st.builds(Param, st.sampled_from(["v", "-1:3", "0.1:-4", ":2"]), TYPES),
    )
    return st.recursive(leaves, _larger, max_leaves=8)


def _larger(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    several = st.lists(inner, max_size=3).map(tuple)
    name, flag = st.text(max_size=6), st.booleans()
    frames = st.builds(Frame, st.sampled_from(["rows", "range"]), st.none() | st.integers(-9, 9), st.none() | name)
    return st.one_of(
        st.builds(Compare, st.sampled_from(COMPARISONS), inner, inner),
        st.builds(And, several),
        st.builds(Or, several),
        st.builds(Not, inner),
        st.builds(IsNull, inner),
        st.builds(In, inner, several),
        st.builds(SortKey, inner, flag, flag),
        st.builds(Call, name, several, TYPES, name, flag),
        st.builds(Udf, name, several, TYPES, name, flag, st.none(), name),
        st.builds(AggCall, name, several, TYPES, flag, st.none() | inner, name, flag, st.none(), name),
        st.builds(WindowCall, name, several, frames, TYPES, name, flag, st.none(), name),
    )


@st.composite
def plans(draw: st.DrawFn) -> Operator:
    """Draw filters, projections, joins, groups, unions and windows over three tables of two columns."""
    numbers, uses = count(100), count()

    def new(name: str) -> Attr:
        return Attr(next(numbers), name, LONG)

    def source() -> Operator:
        return Source(draw(st.sampled_from(NAMES)), next(uses), (new("k"), new("v")))

    def one(plan: Operator) -> Attr:
        return draw(st.sampled_from(plan.output))

    def step(plan: Operator) -> Operator:
        kind = draw(st.sampled_from(["filter", "project", "join", "group", "distinct", "union", "window"]))
        if kind == "filter":
            right: Expr = draw(st.one_of(st.just(Literal(1, LONG)), st.just(one(plan))))
            return Filter(plan, Compare(draw(st.sampled_from(["=", "<=>", "<", "!="])), one(plan), right))
        if kind == "project":
            kept = draw(st.lists(st.sampled_from(plan.output), min_size=1, max_size=3, unique=True))
            return Project(plan, tuple(Named(new(attr.name), attr) for attr in kept))
        if kind == "join":
            other = step(source()) if draw(st.booleans()) else source()
            how = draw(st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]))
            op = draw(st.sampled_from(["=", "=", "=", "<=>", "<"]))
            return Join(plan, other, how, Compare(op, one(plan), one(other)))
        if kind == "group":
            key, name = one(plan), draw(st.sampled_from(["Sum", "Count", "Min", "Max"]))
            named = Named(new("made"), AggCall(name, (one(plan),), LONG))
            return Aggregate(plan, (key,), (Named(new("key"), key), named) if draw(st.booleans()) else (named,))
        if kind == "distinct":
            return Distinct(plan, tuple(dict.fromkeys(plan.output)))
        if kind == "union":
            other = source()
            columns = draw(st.permutations(plan.output))[:2]
            left = Project(plan, tuple(Named(new("u"), attr) for attr in columns))
            right_columns = other.output[: len(columns)]
            return Union((left, Project(other, keep(*right_columns))), tuple(new("u") for _ in columns))
        frame, order = draw(
            st.sampled_from([(Frame("rows", None, None), ()), (Frame("range", None, 0), (SortKey(one(plan)),))])
        )
        over = Named(new("over"), WindowCall("Sum", (one(plan),), frame, LONG))
        return Window(plan, (over,), (one(plan),), order)

    plan = source()
    for _ in range(draw(st.integers(1, 5))):
        plan = step(plan)
    return plan
