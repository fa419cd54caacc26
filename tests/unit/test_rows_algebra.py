"""The algebra: nodes check what they are made of, trees are rebuilt without being changed, text says what is there."""

from __future__ import annotations

import pytest

from whence.errors import BadType
from whence.rows import (
    FALSE,
    TRUE,
    AggCall,
    Aggregate,
    And,
    Attr,
    Call,
    Compare,
    Distinct,
    Expr,
    Filter,
    IsNull,
    Join,
    Literal,
    Named,
    Not,
    Operator,
    Outer,
    Project,
    ScalarQuery,
    Source,
    Tree,
    Union,
    conjunction,
    conjuncts,
    disjunction,
    fresh,
    keep,
    transform,
    walk,
)
from whence.rows.questions.restrict import restrict, sources

A, B, C = (Attr(number, name, "long") for number, name in enumerate("abc", start=1))
T = Source("t", 0, (A, B))
U = Source("u", 1, (C,))


def test_attributes_are_their_id() -> None:
    assert Attr(1, "other", "string") == A
    assert len({A, Attr(1, "other", "string"), B}) == 2
    assert fresh("x", "long") != fresh("x", "long")
    with pytest.raises(BadType, match="integer"):
        Attr("a", "a", "long")  # type: ignore[arg-type]  # what is tested


@pytest.mark.parametrize(
    "make",
    [
        lambda: Filter(T, Compare("=", C, C)),
        lambda: Project(T, keep(C)),
        lambda: Join(T, U, "inner", Compare("=", A, fresh("x", "long"))),
        lambda: Join(T, U, "outer"),
        lambda: Join(T, U, "semi", None, fresh("flag", "boolean")),
        lambda: Union((T, U), (A, B)),
        lambda: Distinct(T, (C,)),
        lambda: Aggregate(T, (C,), ()),
        lambda: Compare("==", A, B),
        lambda: Filter("t", TRUE),  # type: ignore[arg-type]  # what is tested
    ],
)
def test_nonsense_is_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(BadType):
        make()


def test_transform_rebuilds_and_leaves_the_old() -> None:
    plan = Filter(Join(T, U, "inner", Compare("=", A, C)), Compare("<", B, Literal(3, "long")))
    new = Attr(9, "new", "long")

    def change(part: Tree) -> Tree:
        return new if part == B else part

    changed = transform(plan, change)
    assert new in changed.output
    assert B not in changed.output
    assert B in plan.output
    assert transform(plan, lambda part: part) is plan


def test_origin_survives_but_does_not_count() -> None:
    one, two = (Call("Year", (A,), "integer", origin=origin) for origin in (object(), object()))
    assert one == two
    moved = transform(one, lambda part: B if part == A else part)
    assert moved.args == (B,)
    assert moved.origin is one.origin
    assert Call("Like", (A, B), "boolean", detail="escape=/") != Call("Like", (A, B), "boolean")


def test_conjunction_is_flat() -> None:
    a, b = IsNull(A), IsNull(B)
    both = conjunction(a, And((b, a)), TRUE, None)
    assert conjuncts(both) == (a, b)
    assert conjunction() == TRUE
    assert conjunction(a, FALSE) == FALSE
    assert disjunction(a) == a
    assert disjunction() == FALSE
    assert disjunction(a, TRUE, b) == TRUE


def test_outer_references_belong_to_the_query_around() -> None:
    inner = Filter(U, Compare("=", C, Outer(A)))
    scalar = ScalarQuery(Aggregate(inner, (), (Named(fresh("m", "long"), AggCall("Max", (C,), "long")),)), "long")
    assert scalar.attrs == {A}
    outer = Filter(T, Compare("<", B, scalar))
    assert U in list(walk(outer))
    assert outer.children == (T,)


def test_witnessed_needs_every_call() -> None:
    largest, total = AggCall("Max", (B,), "long"), AggCall("Sum", (B,), "long")
    out = [fresh(name, "long") for name in "xyz"]

    def group(*exprs: Expr) -> Aggregate:
        return Aggregate(T, (A,), tuple(Named(attr, expr) for attr, expr in zip(out, exprs, strict=False)))

    assert group(A, largest).witnessed
    assert group(A, largest).key_outputs == {out[0]: A}
    assert not group(A, largest, total).witnessed
    assert not group(A).witnessed
    assert group(Call("Add", (largest, total), "long")).calls == (largest, total)


def test_outer_joins_make_columns_nullable() -> None:
    left, right = Source("l", 0, (Attr(1, "a", "long", False),)), Source("r", 1, (Attr(2, "b", "long", False),))
    nullable = {how: [attr.nullable for attr in Join(left, right, how).output] for how in ("inner", "left", "full")}
    assert nullable == {"inner": [False, False], "left": [False, True], "full": [True, True]}


def test_restrict_filters_the_source_it_names() -> None:
    plan: Operator = Join(T, U, "inner", Compare("=", A, C))
    changed = restrict(plan, {1: Not(IsNull(C)), 0: TRUE})
    assert changed == Join(T, Filter(U, Not(IsNull(C))), "inner", Compare("=", A, C))
    assert [each.name for each in sources(changed)] == ["t", "u"]


def test_text() -> None:
    total = AggCall("Sum", (Call("Multiply", (A, B), "long"),), "long", where=Not(IsNull(B)))
    plan = Aggregate(Filter(T, And((Compare("=", A, Literal("x", "string")), IsNull(B)))), (A,), (
        *keep(A), Named(Attr(5, "total", "long"), total),
    ))  # fmt: skip
    assert str(plan).splitlines() == [
        "Aggregate by a#1: a#1, sum(a#1 * b#2) filter (b#2 is not null) as total#5",
        "  Filter (a#1 = 'x') and (b#2 is null)",
        "    Source t (memory): a#1, b#2",
    ]
