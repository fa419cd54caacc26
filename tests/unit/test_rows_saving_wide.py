"""Choosing what to save takes steps in proportion to the columns, and does not double with every join."""

from __future__ import annotations

import cProfile

from whence.rows import (
    AggCall,
    Aggregate,
    Attr,
    Call,
    Compare,
    Join,
    Literal,
    Named,
    Operator,
    Project,
    Source,
    Union,
    conjuncts,
    keep,
    walk,
)
from whence.rows.saving import trace_plan


def joined(joins: int, columns: int) -> Operator:
    """A wide table joined with small ones by keys that the output does not show."""
    wide = tuple(Attr(1000 + each, f"c{each}", "long") for each in range(columns))
    plan: Operator = Source("wide", 0, wide)
    shown = list(wide[joins:])
    for number in range(joins):
        key, value = (Attr(10 * number + place, name, "long") for place, name in enumerate("kv"))
        plan = Join(plan, Source(f"u{number}", number + 1, (key, value)), "inner", Compare("=", wide[number], key))
        plan = Project(plan, keep(*(attr for attr in plan.output if attr != key)))
        shown.append(value)
    return Project(plan, keep(*shown))


def steps(plan: Operator) -> int:
    profile = cProfile.Profile()
    profile.enable()
    trace_plan(plan)
    profile.disable()
    return sum(each.callcount for each in profile.getstats())


def test_twice_the_columns_take_about_twice_the_steps() -> None:
    assert steps(joined(2, 24)) < 3 * steps(joined(2, 12))


def test_twice_the_joins_take_no_more_than_a_power_of_the_steps() -> None:
    few, many = steps(joined(4, 20)), steps(joined(8, 20))
    assert many < 12 * few
    assert trace_plan(joined(2, 12)).unavailable_reason is None


def test_a_table_of_300_columns_and_30_joins_is_not_given_up() -> None:
    """The saved result has what the question reads and the 30 join keys, which nothing else shows."""
    found = trace_plan(joined(30, 300))
    assert found.unavailable_reason is None
    (saved,) = found.saved
    assert saved.place == ()
    assert len(saved.columns) == 270 + 30 + 30
    assert len(found.uses) == 31


def test_columns_that_nothing_decides_by_are_left_out_of_the_tries() -> None:
    """Fifty times the columns take far less than fifty times the steps, where a group shows two of them."""

    def counted(columns: int) -> Operator:
        rows = joined(3, columns)
        shown = rows.output[0]
        count = Named(Attr(5000, "n", "long"), AggCall("Count", (shown,), "long"))
        return Aggregate(rows, (shown,), (*keep(shown), count))

    (saved,) = trace_plan(counted(200)).saved
    assert len(saved.columns) == 1 + 3, "the group's key and the keys of the joins"
    assert steps(counted(200)) < 25 * steps(counted(4))


def test_unions_within_unions_take_steps_in_proportion() -> None:
    def nested(unions: int) -> Operator:
        columns = (Attr(10_000 + each, "c", "long") for each in range(10_000))
        plan: Operator = Source("t0", 0, (next(columns), next(columns)))
        for number in range(1, unions + 1):
            other = Source(f"t{number}", number, (next(columns), next(columns)))
            plan = Union((plan, other), (next(columns), next(columns)))
        return plan

    assert len(trace_plan(nested(40)).uses) == 41
    assert steps(nested(80)) < 3 * steps(nested(40))


def in_turn(columns: int) -> Operator:
    """Each column is computed from the one before it: `df.withColumn("c2", F.col("c1") + 1)`."""
    plan: Operator = Source("t", 0, (Attr(1, "c0", "long"),))
    for number in range(1, columns):
        made = Call("Add", (plan.output[-1], Literal(number, "long")), "long")
        plan = Project(plan, (*keep(*plan.output), Named(Attr(number + 1, f"c{number}", "long"), made)))
    return plan


def test_columns_that_are_computed_from_each_other_take_steps_as_their_expressions_grow() -> None:
    """The expressions of n columns have n^2 parts, and each of n operators would copy all of them."""
    assert steps(in_turn(80)) < 6 * steps(in_turn(40))
    (found,) = trace_plan(in_turn(4)).uses
    facts = conjuncts(found.predicate)
    assert [sum(isinstance(part, Call) for part in walk(fact)) for fact in facts] == [0, 1, 2, 3]
    assert all(fact.attrs == {Attr(1, "c0", "long")} for fact in facts)
    assert [sum(1 for _ in walk(fact)) for fact in facts] == [fact.size for fact in facts]
