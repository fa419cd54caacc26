"""Windows: the ids of the row, and of the rows of the frames.

before: Window sum(n) over (partition by city order by day) as total
after:  Window sum(n) over (partition by city order by day) as total, collect_list(id) over (the same) as ids
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.eager.ids import LIST, Tagged, array_of, as_list, listed, new_ids
from whence.rows.eager.picked import picked
from whence.rows.eager.rows import Tag
from whence.rows.expressions import Call, Expr, WindowCall, fresh
from whence.rows.frames import OFFSETS, frame_of, skips_nulls
from whence.rows.operators import Named, Project, Window, keep

LISTS = array_of(LIST)


def window(plan: Window, tag: Tag) -> Tagged:
    """Collect ids over the same frames in the same operator, so that ties have the same order."""
    below = tag(plan.child)
    found = [call for call in plan.functions if call.name in OFFSETS and skips_nulls(call)]
    frames = dict.fromkeys(frame_of(call) for call in plan.functions if call not in found)
    calls: list[Named] = []
    lists: dict[int, list[Expr]] = {number: [as_list(each)] for number, each in below.ids.items()}
    for call in found:
        row, ids_there = picked(call, list(below.ids.values()))
        calls.append(row)
        for (number, each), there in zip(below.ids.items(), ids_there, strict=True):
            lists[number].append(listed(there, each.many))
    for frame in frames:
        if frame.unit == "rows" and frame.lower == 0 and frame.upper == 0:
            continue
        for number, each in below.ids.items():
            column = fresh(f"_frame_{number}", LISTS if each.many else LIST)
            calls.append(Named(column, WindowCall("collect_list", (each.attr,), frame, column.dtype)))
            lists[number].append(Call("flatten", (column,), LIST) if each.many else column)
    ids = {number: new_ids(number) for number in below.ids}
    python = any(call.python for call in plan.functions)
    if python:  # Spark allows Python functions only without others
        inner = replace(plan, child=below.plan, calls=tuple(calls))
        whole = replace(plan, child=inner) if calls else replace(plan, child=below.plan)
    else:
        whole = replace(plan, child=below.plan, calls=(*plan.calls, *calls))
    joined = tuple(
        Named(ids[number].attr, Call("array_distinct", (Call("concat", tuple(each), LIST),), LIST))
        for number, each in lists.items()
    )
    return Tagged(Project(whole, (*keep(*plan.output), *joined)), ids, below.reasons)
