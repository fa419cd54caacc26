"""The interpreter of annotated cells against lineage found by hand: one test for each line of the table of cells."""

from __future__ import annotations

from typing import Any

from whence.rows import (
    AggCall,
    Aggregate,
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
    Operator,
    Project,
    Sort,
    SortKey,
    Source,
    Union,
    Window,
    WindowCall,
    disjunction,
    keep,
)
from whence.testing.table_cells import run

LONG = "long"
K, V, W = Attr(1, "k", "string"), Attr(2, "v", LONG), Attr(3, "w", LONG)
K2, V2 = Attr(11, "k2", "string"), Attr(12, "v2", LONG)
T, U = Source("t", 0, (K, V, W)), Source("u", 1, (K2, V2))
OUT, MORE = Attr(21, "out", LONG), Attr(22, "more", LONG)
ROWS: dict[str, list[tuple[Any, ...]]] = {
    "t": [("a", 1, 10), ("a", 2, None), ("b", None, 30), ("b", 4, 40)],
    "u": [("a", 7), ("a", 8), ("c", 9)],
}
RUNNING = Frame("rows", None, 0)


def number(value: int | None) -> Literal:
    return Literal(value, LONG)


def cells(text: str) -> set[tuple[int, int, str]]:
    """`v0 w0,1 k2:0`: columns and their rows; those that end in 2 are of the second source."""
    found = set()
    for part in text.split():
        column, rows = part.split(":")
        found |= {(1 if column.endswith("2") else 0, int(row), column) for row in rows.split(",")}
    return found


def lineage(plan: Operator, at: int, attr: Attr = OUT) -> tuple[Any, set[Any], set[Any]]:
    """Of one cell: its value, its value lineage, and what selection adds to that."""
    row = run(plan, ROWS)[at]
    value = row.lineage(attr, "value")
    return row.cells[attr].value, set(value), set(row.lineage(attr) - value)


def computed(expr: Expr, child: Operator = T) -> Project:
    return Project(child, (Named(OUT, expr),))


def test_an_expression_reads_the_cells_of_its_row() -> None:
    assert lineage(computed(Call("Add", (V, W), LONG)), 0) == (11, cells("v:0 w:0"), set())
    assert lineage(computed(number(5)), 0) == (5, set(), set())


def test_of_case_the_branch_that_was_taken() -> None:
    case = Call(
        "CaseWhen", (Compare("=", V, number(1)), W, Compare("=", K, Literal("b", "string")), V, number(0)), LONG
    )
    assert lineage(computed(case), 0) == (10, cells("w:0"), cells("v:0"))
    assert lineage(computed(case), 1) == (0, set(), cells("v:1 k:1"))
    assert lineage(computed(case), 3) == (4, cells("v:3"), cells("k:3"))


def test_of_if_and_coalesce_too() -> None:
    assert lineage(computed(Call("If", (IsNull(W), V, W), LONG)), 1) == (2, cells("v:1"), cells("w:1"))
    assert lineage(computed(Call("Coalesce", (W, V), LONG)), 0) == (10, cells("w:0"), set())
    assert lineage(computed(Call("Coalesce", (W, V), LONG)), 1) == (2, cells("v:1"), cells("w:1"))


def test_a_filter_adds_the_cells_of_its_condition() -> None:
    assert lineage(Filter(T, Compare(">", V, number(1))), 0, K) == ("a", cells("k:1"), cells("v:1"))


def test_a_join_keeps_to_its_side() -> None:
    joined = Join(T, U, "inner", Compare("=", K, K2))
    assert lineage(joined, 1, V) == (1, cells("v:0"), cells("k:0 k2:1"))
    assert lineage(joined, 1, V2) == (8, cells("v2:1"), cells("k:0 k2:1"))
    outer = Join(T, U, "left", Compare("=", K, K2))
    assert lineage(outer, 5, V2) == (None, set(), cells("k:3"))


def test_a_sum_reads_what_entered_it() -> None:
    total = Aggregate(T, (K,), (*keep(K), Named(OUT, AggCall("Sum", (W,), LONG))))
    assert lineage(total, 0) == (10, cells("w:0"), cells("k:0,1"))
    assert lineage(total, 0, K) == ("a", cells("k:0,1"), set())


def test_a_filter_clause_leaves_rows_out() -> None:
    some = AggCall("Sum", (V,), LONG, where=Compare(">", W, number(30)))
    total = Aggregate(T, (K,), (Named(OUT, some),))
    assert lineage(total, 0) == (None, set(), cells("k:0,1"))
    assert lineage(total, 1) == (4, cells("v:3"), cells("k:2,3 w:3"))


def test_min_and_max_read_their_witnesses() -> None:
    most = Aggregate(T, (), (Named(OUT, AggCall("Max", (V,), LONG)), Named(MORE, AggCall("Min", (W,), LONG))))
    assert lineage(most, 0) == (4, cells("v:3"), set())
    assert lineage(most, 0, MORE) == (10, cells("w:0"), set())


def test_max_by_reads_the_row_that_the_other_column_chooses() -> None:
    by_w = Aggregate(T, (K,), (Named(OUT, AggCall("MaxBy", (V, W), LONG)),))
    assert lineage(by_w, 0) == (1, cells("v:0"), cells("k:0,1 w:0")), "a row without w is left out"
    assert lineage(by_w, 1) == (4, cells("v:3"), cells("k:2,3 w:3"))
    smallest = Aggregate(T, (K,), (Named(OUT, AggCall("MinBy", (V, W), LONG)),))
    assert lineage(smallest, 1) == (None, cells("v:2"), cells("k:2,3 w:2")), "NULL may be the value that is chosen"


def test_lists_and_percentiles_read_what_is_not_null() -> None:
    middle = AggCall("Percentile", (V, Literal(0.5, "double"), number(1)), "double")
    for call, value in ((AggCall("CollectSet", (V,), "array<long>"), [1, 2]), (middle, 1.5)):
        grouped = Aggregate(T, (K,), (Named(OUT, call),))
        assert lineage(grouped, 0) == (value, cells("v:0,1"), cells("k:0,1"))
        assert lineage(grouped, 1)[1] == cells("v:3")


def test_maps_and_shifts_read_their_arguments() -> None:
    of_map = Call("GetMapValue", (Call("CreateMap", (number(1), V, number(2), W), "map<long,long>"), number(2)), LONG)
    assert lineage(computed(of_map), 0) == (10, cells("v:0 w:0"), set())
    assert lineage(computed(Call("ShiftRight", (W, number(1)), LONG)), 0) == (5, cells("w:0"), set())


def test_a_count_of_rows_reads_whole_rows() -> None:
    counted = Aggregate(T, (K,), (Named(OUT, AggCall("Count", (Literal(1, "integer"),), LONG)),))
    assert lineage(counted, 1) == (2, cells("k:2,3 v:2,3 w:2,3"), set())
    of_column = Aggregate(T, (K,), (Named(OUT, AggCall("Count", (V,), LONG)),))
    assert lineage(of_column, 1) == (1, cells("v:3"), cells("k:2,3"))
    of_nothing = Aggregate(T, (K,), (Named(OUT, AggCall("Sum", (number(1),), LONG)),))
    assert lineage(of_nothing, 1) == (2, set(), cells("k:2,3"))


def test_rows_of_a_group_keep_what_selected_them() -> None:
    some = Filter(T, Compare(">", V, number(1)))
    total = Aggregate(some, (), (Named(OUT, AggCall("Sum", (W,), LONG)),))
    assert lineage(total, 0) == (40, cells("w:3"), cells("v:1,3"))


def over(name: str, *args: Expr, frame: Frame = RUNNING) -> WindowCall:
    return WindowCall(name, args, frame, LONG)


def windowed(*calls: WindowCall) -> Window:
    named = tuple(Named(attr, call) for attr, call in zip((OUT, MORE), calls, strict=False))
    return Window(T, named, (K,), (SortKey(V),))


def test_a_window_function_reads_its_own_frame() -> None:
    two = windowed(over("Sum", W), over("Sum", V, frame=Frame("rows", 0, 0)))
    assert lineage(two, 1) == (10, cells("w:0"), cells("k:0,1 v:0,1"))
    assert lineage(two, 1, MORE) == (2, cells("v:1"), cells("k:1"))
    assert lineage(two, 1, W) == (None, cells("w:1"), set())


def test_a_filter_of_a_window_function_leaves_rows_out() -> None:
    """w > 30 holds in the last row alone: of the others neither value nor condition counts."""
    some = WindowCall("Sum", (V,), RUNNING, LONG, where=Compare(">", W, number(30)))
    assert lineage(windowed(some), 3) == (4, cells("v:3"), cells("k:2,3 v:2 w:3"))
    assert lineage(windowed(some), 1) == (None, set(), cells("k:0,1 v:0,1"))
    rows = WindowCall("Count", (Literal(1, "integer"),), RUNNING, LONG, where=Compare(">", W, number(30)))
    assert lineage(windowed(rows), 3)[:2] == (1, cells("k:3 v:3 w:3"))


def test_lag_reads_one_row() -> None:
    before = windowed(over("Lag", V, Literal(1, "integer"), W, frame=Frame("rows", -1, -1)))
    assert lineage(before, 1) == (1, cells("v:0"), cells("k:0,1 v:1"))
    assert lineage(before, 0) == (10, cells("w:0"), cells("k:0 v:0"))


def test_ranks_read_the_order_alone() -> None:
    for name in ("RowNumber", "Rank", "DenseRank"):
        assert lineage(windowed(over(name)), 3) == (2, set(), cells("k:2,3 v:2,3"))
    (size,) = (over("NTile", Literal(2, "integer")),)
    assert lineage(windowed(size), 0) == (1, set(), cells("k:0,1 v:0,1"))


def test_windows_upon_windows() -> None:
    numbered = Window(T, (Named(OUT, over("RowNumber")),), (), (SortKey(V),))
    total = Window(numbered, (Named(MORE, over("Sum", W, frame=Frame("rows", -1, 0))),), (), (SortKey(OUT),))
    assert lineage(total, 3, MORE)[:2] == (40, cells("w:3"))
    assert lineage(total, 1, MORE)[:2] == (40, cells("w:0,2"))


def test_distinct_reads_all_duplicates() -> None:
    once = Distinct(Project(T, keep(K)), (K,))
    assert lineage(once, 1, K) == ("b", cells("k:2,3"), set())
    some = Distinct(T, (K,))
    assert lineage(some, 0, V) == (1, cells("v:0,1"), cells("k:0,1"))


def test_a_union_reads_its_branch() -> None:
    both = Union((Project(T, keep(K, V)), U), (Attr(31, "k", "string"), OUT))
    assert lineage(both, 3) == (4, cells("v:3"), set())
    assert lineage(both, 4) == (7, cells("v2:0"), set())


def test_intersect_reads_both_sides_and_except_the_left() -> None:
    left, right = Project(T, keep(K)), Project(U, keep(K2))
    assert lineage(Intersect(left, right), 0, K) == ("a", cells("k:0,1 k2:0,1"), set())
    assert lineage(Except(left, right), 0, K) == ("b", cells("k:2,3"), set())


def test_explode_reads_the_expanded_cells() -> None:
    array = Call("CreateArray", (V, W), "array")
    exploded = Generate(T, Call("Explode", (array,), LONG), (OUT,), (K,))
    assert lineage(exploded, 1) == (10, cells("v:0 w:0"), set())
    assert lineage(exploded, 1, K) == ("a", cells("k:0"), cells("v:0 w:0"))


def test_an_expanded_row_reads_its_projection() -> None:
    expanded = Expand(T, ((K, V), (K, W)), (Attr(41, "k", "string"), OUT))
    assert lineage(expanded, 0) == (1, cells("v:0"), set())
    assert lineage(expanded, 1) == (10, cells("w:0"), set())


def test_of_a_pivot_the_rows_of_its_own_value() -> None:
    """v = 1 and v = 4 become columns; the row of v = 2 contributes nothing, not even its key."""
    listed = disjunction(*(Compare("<=>", V, number(value)) for value in (1, 4)))
    array = Attr(51, "pivoted", '{"type":"array","elementType":"long","containsNull":true}')
    first = AggCall("PivotFirst", (V, W), array.dtype)
    pivoted = Aggregate(T, (K,), (*keep(K), Named(array, first)), listed)
    items = [Call("GetArrayItem", (array, Literal(at, "integer")), LONG) for at in (0, 1)]
    shown = Project(pivoted, (*keep(K), Named(OUT, items[0]), Named(MORE, items[1])))
    assert lineage(shown, 0) == (10, cells("w:0"), cells("v:0 k:0"))
    assert lineage(shown, 0, MORE) == (None, set(), cells("k:0"))
    assert lineage(shown, 1, MORE) == (40, cells("w:3"), cells("v:3 k:3"))
    assert lineage(shown, 0, K) == ("a", cells("k:0"), set())


def test_semi_joins_select() -> None:
    semi = Join(T, U, "semi", Compare("=", K, K2))
    assert lineage(semi, 1, V) == (2, cells("v:1"), cells("k:1 k2:0,1"))
    anti = Join(T, U, "anti", Compare("=", K, K2))
    assert lineage(anti, 1, V) == (4, cells("v:3"), cells("k:3"))
    alone = Join(T, U, "semi")
    assert lineage(alone, 0, V) == (1, cells("v:0"), cells("k2:0,1,2 v2:0,1,2"))


def test_the_flag_of_an_existence_join_is_selection_alone() -> None:
    flag = Attr(61, "found", "boolean")
    some = Join(T, U, "existence", Compare("=", K, K2), flag)
    assert lineage(some, 0, flag) == (True, set(), cells("k:0 k2:0,1"))
    assert lineage(some, 0, V) == (1, cells("v:0"), set())
    either = Filter(some, disjunction(flag, Compare("=", V, number(4))))
    assert lineage(either, 2, W) == (40, cells("w:3"), cells("k:3 v:3"))


def test_a_scalar_subquery_reads_its_value() -> None:
    least = Aggregate(U, (K2,), (*keep(K2), Named(OUT, AggCall("Min", (V2,), LONG))))
    scalar = Join(T, least, "single", Compare("=", K, K2))
    assert lineage(scalar, 0) == (7, cells("v2:0"), cells("k:0 k2:0,1"))
    assert lineage(scalar, 0, V) == (1, cells("v:0"), set())
    assert lineage(scalar, 3) == (None, set(), cells("k:3"))


def test_a_limit_adds_what_the_rows_are_ordered_by() -> None:
    top = Limit(Sort(T, (SortKey(V, False, False),)), Literal(1, "integer"))
    assert lineage(top, 0, W) == (40, cells("w:3"), cells("v:3"))


def test_the_copy_of_a_source_that_says_what_to_compute_for_contributes_nothing() -> None:
    copy = Source("t", 2, (K, V, W), is_domain_copy=True)
    assert lineage(copy, 0, V) == (1, set(), set())
