"""Every pushdown rule, judged by the solver: sound always, exact where it says so."""

from __future__ import annotations

from itertools import combinations

import pytest

from whence.rows import (
    TRUE,
    AggCall,
    Aggregate,
    And,
    Attr,
    Call,
    Compare,
    Distinct,
    Except,
    Expand,
    Expr,
    Filter,
    Frame,
    Generate,
    Intersect,
    IsNull,
    Join,
    Limit,
    Literal,
    Named,
    Not,
    Operator,
    Or,
    Param,
    Project,
    Sort,
    SortKey,
    Source,
    Union,
    Window,
    WindowCall,
    conjunction,
    conjuncts,
    fresh,
    keep,
)
from whence.rows.pushdown import Aim, Pushed, infer, push, row_selection
from whence.testing.proofs import equivalent

A, B, C, D = (Attr(i, name, "long") for i, name in enumerate("abcd", 1))
T, U = Source("t", 0, (A, B)), Source("u", 1, (C, D))
KEY = Compare("=", A, C)
NULL_AWARE = Or((KEY, IsNull(KEY)))
SUM, COUNT = AggCall("Sum", (B,), "long"), AggCall("Count", (Literal(1, "integer"),), "long")
LEAST, MOST = AggCall("Min", (B,), "long"), AggCall("Max", (B,), "long")
M, N, K = Attr(11, "m", "long"), Attr(12, "n", "long"), Attr(13, "k", "long")
FLAG = Attr(14, "flag", "boolean")
XS = Attr(15, "xs", '{"type":"array","elementType":"long","containsNull":true}')
E = Attr(16, "e", "long")
LISTS = Source("lists", 2, (A, XS))


def grouped(*calls: AggCall, key: bool = True) -> Aggregate:
    """One aggregate a column, with the key or without."""
    made = tuple(Named(attr, call) for attr, call in zip((M, N), calls, strict=False))
    return Aggregate(T, (A,), (Named(K, A), *made) if key else made)


def window_call(name: str, lower: int | None, upper: int | None, unit: str = "range") -> WindowCall:
    return WindowCall(name, (B,), Frame(unit, lower, upper), "long")


def windowed(name: str, lower: int | None, upper: int | None, key: SortKey | None = None) -> Window:
    """A sum over a frame that is a range, partitioned by a, ordered by b."""
    return Window(T, (Named(M, window_call(name, lower, upper)),), (A,), (key or SortKey(B),))


OPERATORS: dict[str, Operator] = {
    "filter": Filter(T, Compare(">", B, Literal(3, "long"))),
    "filter by null": Filter(T, Not(IsNull(B))),
    "project": Project(T, (Named(M, A), Named(N, Call("Add", (A, B), "long")))),
    "sort": Sort(T, ()),
    "union": Union((T, U), (M, N)),
    "expand": Expand(T, ((A, Literal(0, "long")), (Literal(None, "long"), Literal(1, "long"))), (M, N)),
    "inner join": Join(T, U, "inner", KEY),
    "inner join with a filter": Join(T, U, "inner", And((KEY, Compare("<", D, Literal(5, "long"))))),
    "inner join by inequality": Join(T, U, "inner", Compare("<", B, D)),
    "cross join": Join(T, U, "cross"),
    "left join": Join(T, U, "left", KEY),
    "left join with a filter": Join(T, U, "left", And((KEY, Compare(">", D, Literal(2, "long"))))),
    "right join": Join(T, U, "right", KEY),
    "full join": Join(T, U, "full", KEY),
    "single join": Join(T, U, "single", KEY),
    "semi join": Join(T, U, "semi", KEY),
    "semi join by inequality": Join(T, U, "semi", And((KEY, Compare("!=", B, D)))),
    "anti join": Join(T, U, "anti", KEY),
    "null-aware anti join": Join(T, U, "anti", NULL_AWARE),
    "existence join": Join(T, U, "existence", KEY, FLAG),
    "sum": grouped(SUM),
    "sum and count": grouped(SUM, COUNT),
    "sum without its key": grouped(SUM, key=False),
    "min": grouped(LEAST),
    "min and max": grouped(LEAST, MOST),
    "min and sum": grouped(LEAST, SUM),
    "distinct": Distinct(T, (A, B)),
    "distinct on a key": Distinct(T, (A,)),
    "intersect": Intersect(T, U),
    "except": Except(T, U),
    "intersect all": Intersect(T, U, all=True),
    "except all": Except(T, U, all=True),
    "full join with a filter": Join(T, U, "full", And((KEY, Compare("<", B, D)))),
    "full join, null-safe": Join(T, U, "full", Compare("<=>", A, C)),
    "window over a partition": windowed("Sum", None, None),
    "running window": windowed("Sum", None, 0),
    "window to the end, descending": windowed("Sum", 0, None, SortKey(B, ascending=False, nulls_first=False)),
    "window with nulls last": windowed("Sum", None, 0, SortKey(B, nulls_first=False)),
    "window with nulls first, descending": windowed("Sum", None, 0, SortKey(B, ascending=False, nulls_first=True)),
    "window without partition, two keys": Window(
        T, (Named(M, window_call("Sum", None, 0)),), (), (SortKey(A), SortKey(B))
    ),
    "ranks": Window(T, (Named(M, window_call("Rank", None, 0, "rows")),), (A,), (SortKey(B),)),
    "numbers of rows that may be tied": Window(
        T, (Named(M, window_call("RowNumber", None, 0, "rows")),), (A,), (SortKey(B),)
    ),
    "window by an expression": Window(T, (Named(M, window_call("Sum", None, None)),), (Call("Mod", (A,), "long"),), ()),
    "explode": Generate(LISTS, Call("Explode", (XS,), "long"), (E,), (A,)),
    "explode outer": Generate(LISTS, Call("Explode", (XS,), "long"), (E,), (A,), outer=True),
}


def questions(op: Operator) -> list[Expr]:
    """One row; some of its columns; nothing; a condition that pins nothing; one value or another."""
    out = [row_selection(op), TRUE]
    for count in range(1, len(op.output)):
        out += [row_selection(op, columns) for columns in combinations(op.output, count)]
    numbers = [attr for attr in op.output if attr.dtype == "long"]
    out.append(Compare(">", numbers[0], Param("x", "long")))
    first, last = op.output[0], op.output[-1]
    either = Or((IsNull(numbers[-1]), Compare("<=>", last, Param("y", last.dtype))))
    return [*out, And((Compare("<=>", first, Param("x", first.dtype)), either))]


CASES = [
    pytest.param(op, question, id=f"{name}-{i}")
    for name, op in OPERATORS.items()
    for i, question in enumerate(questions(op))
]


@pytest.mark.parametrize(("op", "question"), CASES)
def test_restricting_keeps_the_selected_output(op: Operator, question: Expr) -> None:
    assert equivalent(op, question, push(op, question, Aim.RESTRICT), Aim.RESTRICT)


@pytest.mark.parametrize("witness", ["rows", "group"])
@pytest.mark.parametrize(("op", "question"), CASES)
def test_precise_is_precise(op: Operator, question: Expr, witness: str) -> None:
    pushed = push(op, question, Aim.LINEAGE, witness)
    assert pushed.precise == (not pushed.why)
    if pushed.precise:
        assert equivalent(op, question, pushed, Aim.LINEAGE, witness=witness)


SUBQUERIES = {
    "of its own row": Join(T, U, "single", KEY),
    "of everything": Join(T, Aggregate(U, (), (Named(M, AggCall("Sum", (D,), "long")),)), "single"),
}


@pytest.mark.parametrize("op", SUBQUERIES.values(), ids=SUBQUERIES)
def test_a_row_compared_with_a_scalar_subquery(op: Join) -> None:
    value = op.right.output[-1]
    row = row_selection(op, (A, B))
    compared = conjunction(row, Compare(">", B, value))
    pushed = push(op, compared)
    assert pushed.precise
    assert equivalent(op, compared, pushed, Aim.LINEAGE)
    assert not push(op, conjunction(row_selection(op, (A,)), Compare(">", B, value))).precise


IMPRECISE = ("sum without its key", "distinct on a key", "full join, null-safe", "numbers of rows that may be tied")
PRECISE = [name for name in OPERATORS if name not in IMPRECISE]


@pytest.mark.parametrize("name", PRECISE)
def test_a_whole_row_is_pushed_precisely(name: str) -> None:
    op = OPERATORS[name]
    assert push(op, row_selection(op)).precise


def test_the_judge_refutes() -> None:
    join = OPERATORS["inner join"]
    question = row_selection(join)
    right = push(join, question).inputs[1]
    assert not equivalent(join, question, Pushed((TRUE, right), assumes_row_exists=True), Aim.LINEAGE)
    anti = OPERATORS["anti join"]
    question = row_selection(anti)
    pushed = push(anti, question, Aim.LINEAGE)
    assert not equivalent(anti, question, pushed, Aim.RESTRICT), "an anti-join needs the rows that do not contribute"


def test_a_limit_needs_rows_that_differ() -> None:
    ordered = Limit(Sort(grouped(SUM), ()), Literal(3, "integer"))
    assert push(ordered, row_selection(ordered)).precise
    plain = Limit(Sort(T, ()), Literal(3, "integer"))
    assert not push(plain, row_selection(plain)).precise
    assert push(plain, row_selection(plain), Aim.RESTRICT).inputs == (TRUE,)


def test_a_pipeline_is_walked_to_its_sources() -> None:
    plan = Sort(Filter(OPERATORS["inner join"], Compare(">", D, Literal(0, "long"))), ())
    inference = infer(plan)
    assert inference.precise
    assert set(inference.lineage) == {0, 1}
    assert set(conjuncts(inference.lineage[1])) >= {Compare("<=>", C, Param("p3", "long"))}


def test_a_key_projected_away_is_named() -> None:
    inference = infer(Project(OPERATORS["inner join"], keep(B, D)))
    assert not inference.precise
    assert inference.reasons[0].startswith("Join: ")


def test_the_other_branch_of_a_union_is_not_taken_on_trust() -> None:
    """The row came through one branch; in the other a join may have only one of its two sides."""
    left, right = Source("v", 2, (fresh("e", "long"), fresh("f", "long"))), Source("w", 3, (fresh("g", "long"),))
    other = Project(Join(left, right, "inner", Compare("=", left.output[0], right.output[0])), keep(*left.output))
    inference = infer(Union((T, other), (M, N)))
    assert not inference.precise
    assert "may come from another branch" in inference.reasons[0]


def test_what_an_anti_join_looks_at_contributes_nothing_but_is_needed() -> None:
    inference = infer(OPERATORS["anti join"])
    assert inference.precise
    assert inference.lineage[1] == Literal(False, "boolean")
    assert inference.restrict[1] == Compare("=", Param("p1", "long"), C)


def test_a_pivot_is_proven_where_the_group_says_whether_a_row_is_listed() -> None:
    """Which rows count depends on whether there is a listed one: with that known, the predicate is exact."""
    from whence.rows import AggCall, Aggregate, Attr, Compare, Literal, Named, Source, disjunction, keep
    from whence.rows.pushdown import Aim, push, row_selection
    from whence.testing.proofs import equivalent

    a, b, n, flag = Attr(1, "a", "long"), Attr(2, "b", "long"), Attr(3, "n", "long"), Attr(4, "f", "boolean")
    listed = disjunction(*(Compare("<=>", b, Literal(value, "long")) for value in (3, 4)))
    total = Named(n, AggCall("Sum", (b,), "long"))
    plain = Aggregate(Source("t", 0, (a, b)), (a,), (*keep(a), total), listed)
    asked = row_selection(plain)
    assert not push(plain, asked).precise
    assert plain.any_listed is not None
    flagged = Aggregate(plain.child, plain.keys, (*plain.outputs, Named(flag, plain.any_listed)), listed)
    asked = row_selection(flagged, (a, flag))
    pushed = push(flagged, asked)
    assert pushed.precise
    assert equivalent(flagged, asked, pushed, Aim.LINEAGE)
