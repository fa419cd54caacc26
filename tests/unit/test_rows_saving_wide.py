"""Choosing what to save takes steps in proportion to the columns, and does not double with every join."""

from __future__ import annotations

import cProfile

from whence.rows import Attr, Compare, Join, Operator, Project, Source, keep
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
