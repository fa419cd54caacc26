"""What a run saves, for plans built by hand: the results are found by reasoning, and by rows that are traced."""

from __future__ import annotations

import pytest
from hypothesis import assume, event, given, settings
from hypothesis import strategies as st

from whence.rows import (
    TRUE,
    AggCall,
    Aggregate,
    Attr,
    Compare,
    Distinct,
    Expr,
    Filter,
    Frame,
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
    conjunction,
    keep,
)
from whence.rows.saving import OUTPUT, Sizes, TracePlan, trace_plan
from whence.testing.interpreter import Tables, run, trace
from whence.testing.strategies.plans import plans, tables_of_plans

LONG = "long"
# orders(o, who, day) and items(i, item, price): i is the order of an item.
ORDER, WHO, DAY = Attr(1, "o", LONG), Attr(2, "who", "string"), Attr(3, "day", "date")
OF, ITEM, PRICE = Attr(11, "i", LONG), Attr(12, "item", "string"), Attr(13, "price", LONG)
ORDERS, ITEMS = Source("orders", 0, (ORDER, WHO, DAY)), Source("items", 1, (OF, ITEM, PRICE))
SAME = Compare("=", ORDER, OF)
N, TOTAL, MOST = Attr(21, "n", LONG), Attr(22, "total", LONG), Attr(23, "most", LONG)


def call(name: str, of: Expr) -> AggCall:
    return AggCall(name, (of,), LONG)


def grouped(child: Operator, key: Attr, *, shown: bool = True, of: Attr = PRICE) -> Aggregate:
    """The sum of each group; the key may not be shown."""
    return Aggregate(child, (key,), (*(keep(key) if shown else ()), Named(TOTAL, call("Sum", of))))


def saved(plan: Operator, **options: object) -> list[tuple[tuple[int, ...], set[str]]]:
    """Where results are saved, and with which columns."""
    found = trace_plan(plan, **options)  # type: ignore[arg-type] # types are checked at run time
    assert found.unavailable_reason is None
    return [(each.place, {attr.name for attr in each.columns}) for each in found.saved]


def predicates(found: TracePlan) -> dict[str, str]:
    return {use.source.name: str(use.predicate) for use in found.uses}


# --- nothing has to be saved


@pytest.mark.parametrize(
    "plan",
    [
        ORDERS,
        Filter(ORDERS, Compare("=", ORDER, Literal(3, LONG))),
        Project(ORDERS, keep(WHO)),
        Join(ORDERS, ITEMS, "inner", SAME),
        Join(ORDERS, ITEMS, "left", SAME),
        Project(Join(ORDERS, ITEMS, "inner", SAME), keep(ORDER, ITEM)),
        Project(Join(ORDERS, ITEMS, "inner", SAME), keep(WHO, OF)),
        Join(ORDERS, ITEMS, "semi", SAME),
        Join(ORDERS, ITEMS, "anti", SAME),
        grouped(ITEMS, OF),
        Distinct(Project(ITEMS, keep(ITEM)), (ITEM,)),
        Sort(ORDERS, (SortKey(DAY),)),
    ],
    ids=lambda plan: type(plan).__name__,
)
def test_a_plan_whose_steps_are_precise_saves_nothing(plan: Operator) -> None:
    assert saved(plan) == []


def test_one_side_of_an_equality_is_enough() -> None:
    """The output shows i; o is equal to it, so the orders are known, too."""
    found = trace_plan(Project(Join(ORDERS, ITEMS, "inner", SAME), keep(WHO, OF)))
    assert "o#1 <=> :-1:11" in predicates(found)["orders"]


# --- a join key that is not shown


def test_the_join_keys_that_a_projection_drops_are_saved_at_the_projection() -> None:
    plan = Project(Join(ORDERS, ITEMS, "inner", SAME), keep(WHO, ITEM))
    ((place, columns),) = saved(plan)
    assert place == ()
    assert columns in ({"who", "item", "o"}, {"who", "item", "i"}), "one of two equal columns is enough"


def test_a_join_below_a_group_is_saved_below_the_group() -> None:
    """The key tells the group; which pairs are in it, the order's number tells."""
    ((place, columns),) = saved(grouped(Join(ORDERS, ITEMS, "inner", SAME), WHO))
    assert place == (0,)
    assert columns in ({"who", "o"}, {"who", "i"})


def test_a_join_above_a_group_needs_nothing_if_its_key_is_shown() -> None:
    totals = grouped(ITEMS, OF)
    assert saved(Join(ORDERS, totals, "inner", SAME)) == []
    ((place, columns),) = saved(Project(Join(ORDERS, totals, "inner", SAME), keep(WHO, TOTAL)))
    assert place == ()
    assert {"who", "total"} < columns


def test_a_filter_above_the_join_makes_a_smaller_result() -> None:
    """Saved where there are fewest rows: above the filter, though the join is what is not precise."""
    few = Filter(Join(ORDERS, ITEMS, "inner", SAME), Compare("=", ITEM, Literal("pen", "string")))
    ((place, _),) = saved(grouped(few, WHO))
    assert place == (0,)
    assert isinstance(trace_plan(grouped(few, WHO)).saved[0].operator, Filter)


def test_a_measured_size_moves_the_result() -> None:
    """Where a run saw that the filter lets everything through and the join below drops rows, the join is saved."""
    joined = Join(ORDERS, ITEMS, "inner", SAME)
    above = Filter(joined, Compare("=", ITEM, Literal("pen", "string")))
    plan = grouped(above, WHO)
    sizes = Sizes(measured={str(joined): 10, str(above): 1_000_000})
    ((place, _),) = saved(plan, sizes=sizes)
    assert place == (0, 0)


# --- groups


def test_a_group_key_that_is_not_shown_is_saved_with_the_group() -> None:
    """Two groups may have the same total: the key that `widened` adds tells them apart."""
    ((place, columns),) = saved(grouped(ITEMS, OF, shown=False))
    assert place == ()
    assert columns == {"total", "_key"}


def test_a_group_of_groups_saves_the_key_in_between() -> None:
    inner = grouped(ITEMS, OF)
    outer = Aggregate(inner, (TOTAL,), (*keep(TOTAL), Named(N, call("Count", OF))))
    ((place, columns),) = saved(outer)
    assert place == (0,)
    assert columns == {"total", "i"}


def test_a_group_that_shows_the_inner_key_saves_nothing() -> None:
    inner = grouped(ITEMS, OF)
    assert saved(Aggregate(inner, (OF,), (*keep(OF), Named(N, call("Max", TOTAL))))) == []


def test_min_and_max_need_the_value_that_is_attained() -> None:
    shown = Aggregate(ITEMS, (OF,), (*keep(OF), Named(MOST, call("Max", PRICE))))
    assert saved(shown) == []
    ((place, columns),) = saved(Project(shown, keep(OF)))
    assert (place, columns) == ((), {"i", "most"})
    assert saved(Project(shown, keep(OF)), witness="group") == [], "the whole group counts: its key is enough"


# --- joins that only let rows through


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_a_semi_join_below_a_group_is_saved_with_its_key(how: str) -> None:
    plan = grouped(Join(ORDERS, ITEMS, how, SAME), WHO, of=ORDER)
    assert saved(plan) == [((0,), {"who", "o"})]


def test_an_anti_join_contributes_no_rows_of_its_right_side() -> None:
    found = trace_plan(Join(ORDERS, ITEMS, "anti", SAME))
    assert predicates(found)["items"] == "False"


# --- windows, sets, limits


def window(child: Operator, frame: Frame, order: tuple[SortKey, ...] = ()) -> Window:
    return Window(child, (Named(TOTAL, WindowCall("Sum", (PRICE,), frame, LONG)),), (OF,), order)


def test_a_window_needs_the_columns_that_it_is_partitioned_by() -> None:
    whole = window(ITEMS, Frame("rows", None, None))
    assert saved(whole) == []
    found = trace_plan(Project(whole, keep(ITEM, TOTAL)))
    assert found.unavailable_reason is None
    ((place, columns),) = saved(Project(whole, keep(ITEM, TOTAL)))
    assert place == ()
    assert columns == {"item", "total", "i"}


def test_a_running_window_needs_its_order_too() -> None:
    running = window(ITEMS, Frame("range", None, 0), (SortKey(PRICE),))
    ((place, columns),) = saved(Project(running, keep(OF, ITEM, TOTAL)))
    assert (place, columns) == ((), {"i", "item", "total", "price"})


def test_each_branch_of_a_union_saves_its_own() -> None:
    other = Source("old_items", 2, tuple(Attr(30 + n, f"x{n}", a.dtype) for n, a in enumerate(ITEMS.columns)))
    both = Union(
        (grouped(ITEMS, OF, shown=False), grouped(other, other.columns[0], shown=False, of=other.columns[2])), (N,)
    )
    assert [place for place, _ in saved(both)] == [(0,), (1,)]


def test_a_branch_that_cannot_have_made_the_row_is_false() -> None:
    """Above the union stands `channel = 'web'`; the second branch says 'store'."""
    channel = Attr(40, "channel", "string")

    def branch(source: Source, name: str) -> Operator:
        return Project(
            source,
            (Named(Attr(50 + source.occurrence, "c", "string"), Literal(name, "string")), *keep(source.columns[0])),
        )

    both = Union((branch(ORDERS, "web"), branch(ITEMS, "store")), (channel, N))
    found = trace_plan(Filter(both, Compare("=", channel, Literal("web", "string"))))
    assert predicates(found)["items"] == "False"
    assert predicates(found)["orders"] != "False"


def test_a_limit_over_rows_that_cannot_be_equal_needs_no_check() -> None:
    totals = grouped(Join(ORDERS, ITEMS, "inner", SAME), WHO)
    found = trace_plan(Limit(Sort(totals, (SortKey(TOTAL),)), Literal(2, "integer")))
    assert found.limit_to_check is None
    assert [each.place for each in found.saved] == [(0, 0, 0)]


def test_a_limit_over_rows_that_may_be_equal_is_checked_by_the_run() -> None:
    """Nothing is saved at the limit or above it, and a sorted result would lose its order."""
    pairs = Project(Join(ORDERS, ITEMS, "inner", SAME), keep(WHO, ITEM))
    found = trace_plan(Limit(Sort(pairs, (SortKey(ITEM),)), Literal(2, "integer")))
    assert found.unavailable_reason is None
    assert found.limit_to_check == ()
    assert [each.place for each in found.saved] == [(0, 0)]


def test_a_limit_without_an_order_is_left_to_replay() -> None:
    limited = Limit(ITEMS, Literal(2, "integer"))
    assert trace_plan(grouped(limited, OF)).unavailable_reason is not None
    assert trace_plan(grouped(limited, OF)).written == ()


# --- what is chosen can be chosen again


def test_what_a_run_saved_is_found_again() -> None:
    plan = grouped(Filter(Join(ORDERS, ITEMS, "inner", SAME), Compare("=", ITEM, Literal("pen", "string"))), WHO)
    first = trace_plan(plan)
    chosen = {each.place: each.places for each in first.saved}
    again = trace_plan(plan, chosen=chosen)
    assert [(each.place, each.columns) for each in again.saved] == [(each.place, each.columns) for each in first.saved]
    assert [str(use.predicate) for use in again.uses] == [str(use.predicate) for use in first.uses]


def test_a_table_comes_before_what_is_searched_with_its_rows() -> None:
    inner = grouped(Join(ORDERS, ITEMS, "inner", SAME), WHO)
    outer = Aggregate(inner, (TOTAL,), (*keep(TOTAL), Named(N, call("Count", WHO))))
    seen = {OUTPUT}
    for each in trace_plan(outer).saved:
        assert each.table in seen
        seen.add(each.place)
    assert len(seen) == 3


# --- whatever is chosen: the rows are those of the oracle


@settings(max_examples=300, deadline=None)
@given(plans(), tables_of_plans(), st.sampled_from(["rows", "group"]))
def test_whatever_is_saved_tracing_gives_the_rows_of_the_oracle(plan: Operator, tables: Tables, witness: str) -> None:
    found = trace_plan(plan, witness)
    event(f"{len(found.saved)} saved" if found.unavailable_reason is None else "left to replay")
    assume(found.unavailable_reason is None)
    output = run(plan, tables, witness)
    shown = tuple(dict.fromkeys(plan.output))
    for asked in {row.shown(shown) for row in output}:
        equal = [row for row in output if row.shown(shown) == asked]
        expected = frozenset().union(*(row.lineage for row in equal))
        assert trace(found, plan, tables, [equal[0].values]) == expected


@settings(max_examples=100, deadline=None)
@given(plans(), tables_of_plans())
def test_a_question_about_all_rows_gives_all_their_rows(plan: Operator, tables: Tables) -> None:
    found = trace_plan(plan)
    assume(found.unavailable_reason is None)
    output = run(plan, tables)
    expected = frozenset().union(*(row.lineage for row in output))
    assert trace(found, plan, tables, [row.values for row in output]) == expected


def test_the_property_would_notice_a_wrong_predicate() -> None:
    """The check itself: a use that selects every row is not the lineage."""
    from dataclasses import replace

    tables: Tables = {"items": [(1, "pen", 5), (2, "ink", 5)]}
    plan = grouped(ITEMS, OF)
    found = trace_plan(plan)
    (row,) = [each for each in run(plan, tables) if each.values[OF] == 1]
    assert trace(found, plan, tables, [row.values]) == row.lineage
    wrong = replace(found, uses=tuple(replace(use, predicate=conjunction(TRUE)) for use in found.uses))
    assert trace(wrong, plan, tables, [row.values]) != row.lineage
