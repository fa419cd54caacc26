"""Windows: the row, and the rows of the frames."""

from __future__ import annotations

from dataclasses import replace

from whence.rows.eager.ids import LIST, Tagged, array_of, as_list, new_ids
from whence.rows.eager.rows import Tag
from whence.rows.expressions import Call, Expr, Frame, WindowCall, fresh
from whence.rows.operators import Named, Project, Window, keep

# The value depends on how many rows the partition has, whatever the frame Catalyst writes for them.
OF_PARTITION = frozenset({"NTile", "PercentRank", "CumeDist"})
LISTS = array_of(LIST)


def window(plan: Window, tag: Tag) -> Tagged:
    """Ids are collected over the same frames, in the same node, so that ties fall the same way."""
    below = tag(plan.child)
    frames = tuple(dict.fromkeys(map(frame_of, plan.functions)))
    reasons = below.reasons + tuple(filter(None, map(_vague, plan.functions)))
    calls: list[Named] = []
    lists: dict[int, list[Expr]] = {number: [as_list(each)] for number, each in below.ids.items()}
    for frame in frames:
        if frame.unit == "rows" and frame.lower == 0 and frame.upper == 0:
            continue
        for number, each in below.ids.items():
            column = fresh(f"_frame_{number}", LISTS if each.many else LIST)
            calls.append(Named(column, WindowCall("collect_list", (each.attr,), frame, column.dtype)))
            lists[number].append(Call("flatten", (column,), LIST) if each.many else column)
    ids = {number: new_ids(number) for number in below.ids}
    python = any(call.python for call in plan.functions)
    if python:  # Spark lets functions in Python stand beside no others
        inner = replace(plan, child=below.plan, calls=tuple(calls))
        whole = replace(plan, child=inner) if calls else replace(plan, child=below.plan)
    else:
        whole = replace(plan, child=below.plan, calls=(*plan.calls, *calls))
    joined = tuple(
        Named(ids[number].attr, Call("array_distinct", (Call("concat", tuple(each), LIST),), LIST))
        for number, each in lists.items()
    )
    return Tagged(Project(whole, (*keep(*plan.output), *joined)), ids, reasons)


def frame_of(call: WindowCall) -> Frame:
    """The rows that decide a window function's value."""
    if call.name in OF_PARTITION or _vague(call):
        return Frame("rows", None, None)
    return call.frame


def _vague(call: WindowCall) -> str | None:
    """Why the rows of the frame may be more than those that count."""
    if call.name in ("Lag", "Lead") and "ignoreNulls=true" in call.detail:
        return f"{call.name.lower()} that ignores nulls: the whole partition stands for the row it found"
    return None
