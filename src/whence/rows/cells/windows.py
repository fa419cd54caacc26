"""Windows: each function reads the rows of its own frame, or picks one of them; ranks read only their order.

before: Window sum(n) over (partition by city order by day) as total
after:  the same, with collect_list(id) over (the same) as the ids of `total`, for the source column n

`first`, `last`, `nth_value`, `lag` and `lead` pick a row, which `picked` finds.
"""

from __future__ import annotations

from dataclasses import replace

from whence.rows.cells.arguments import deciding_arguments, entering, value_arguments
from whence.rows.cells.reads import Reads, reads
from whence.rows.cells.terms import WHOLE, Ask, Key, Known, Masks, Noted, Terms, union
from whence.rows.eager.ids import LIST, array_of, new_ids
from whence.rows.eager.picked import picked
from whence.rows.expressions import Call, Expr, Frame, IsNull, Literal, WindowCall, fresh
from whence.rows.frames import COUNTS_NULLS, OFFSETS, frame_of, picks
from whence.rows.operators import Named, Project, Window, keep

RANKS = frozenset({"RowNumber", "Rank", "DenseRank", "NTile", "PercentRank", "CumeDist"})
NOTHING: Terms = {}


def window(plan: Window, ask: Ask) -> Noted:
    functions = plan.functions
    wanted = {
        named.attr: reads([named.expr], ask.selection, functions) for named in plan.calls if named.attr in ask.need
    }
    calls = list(dict.fromkeys(key for each in wanted.values() for key in each.keys))
    placing = reads((*plan.partition, *plan.order) if ask.selection and wanted else (), True)
    inside = {call: _inside(call, ask.selection) for call in calls if isinstance(call, WindowCall)}
    need = [key for each in inside.values() for part in each for key in part.keys]
    counts = [WHOLE] if any(_counts_rows(call) for call in inside) else []
    others = [key for key in calls if not isinstance(key, WindowCall)]
    below = ask.down(plan.child, (*ask.need, *need, *counts, *others, *placing.keys))

    masks = Masks()
    places = placing.terms(below, masks)
    frames = _Frames()
    notes: dict[Key, Terms] = {}
    for call, (args, default) in inside.items():
        if call.name in OFFSETS:
            found = frames.picked(call, union(args.terms(below, masks), places), default.terms(below, masks))
        elif picks(call):
            found = union(frames.picked(call, args.terms(below, masks)), frames.collected(places, frame_of(call)))
        else:
            where = _entered(call)
            terms = args.terms(below, masks, where)
            if _counts_rows(call):
                terms = union(terms, masks.masked(below.of(WHOLE), where))
            found = frames.collected(union(terms, places), frame_of(call))
        notes[call] = union(found, places)
    for key in others:
        notes[key] = below.of(key)
    child = masks.over(below.plan)
    if any(call.python for call in functions) and frames.calls:  # Spark allows Python functions only alone
        whole = replace(plan, child=replace(plan, child=child, calls=tuple(frames.calls)))
    else:
        whole = replace(plan, child=child, calls=(*plan.calls, *frames.calls))
    ready = Noted(whole, notes)
    outer = Masks()
    own: dict[Key, Terms] = {attr: each.terms(ready, outer) for attr, each in wanted.items()}
    own |= {key: terms for key, terms in below.notes.items() if key in ask.need}
    columns = (*keep(*dict.fromkeys(whole.output)), *frames.above)
    made = outer.over(Project(whole, columns) if frames.above else whole)
    reasons = (reason for each in (*wanted.values(), placing) for reason in each.reasons)
    more = tuple(reason for call, (args, _) in inside.items() for reason in (*args.reasons, *_superset(call)))
    return Noted(made, own, (*below.reasons, *reasons, *more))


def _inside(call: WindowCall, selection: bool) -> tuple[Reads, Reads]:
    """What a function reads in the rows of its frame, and in the current row if there is no such row."""
    none = Reads(())
    if call.name in RANKS:
        return none, none
    if call.name in OFFSETS:
        return reads(call.args[:1], selection), reads(call.args[2:3], selection)
    if call.name == COUNTS_NULLS:
        return reads(call.args, True) if selection else none, none
    args = none if _counts_rows(call) else reads(value_arguments(call), selection)
    conditions = (*deciding_arguments(call), *(() if call.where is None else (call.where,))) if selection else ()
    condition = reads(conditions, True)
    return Reads((*args.read, *condition.read), (*args.reasons, *condition.reasons)), none


def _counts_rows(call: WindowCall) -> bool:
    return call.name == "Count" and all(isinstance(arg, Literal) for arg in call.args)


def _entered(call: WindowCall) -> Expr | None:
    """The condition for rows of the frame that count: those that FILTER keeps and whose arguments are not NULL."""
    if call.python or call.name in RANKS or call.name == COUNTS_NULLS:
        return call.where
    return entering(call)


def _superset(call: WindowCall) -> tuple[str, ...]:
    if call.python:
        return (f"the Python function ({call.name}) is assumed to read all its arguments in all rows of its frame",)
    return ()


class _Frames:
    """Ids collected over frames, in the same operator as the functions, so that ties have the same order."""

    def __init__(self) -> None:
        self.calls: list[Named] = []
        self.above: list[Named] = []
        self._known: dict[tuple[Known, Frame], Known] = {}

    def collected(self, terms: Terms, frame: Frame) -> Terms:
        if frame.unit == "rows" and frame.lower == 0 and frame.upper == 0:
            return terms
        return {self._collect(known, frame): columns for known, columns in terms.items()}

    def _collect(self, known: Known, frame: Frame) -> Known:
        if (known, frame) not in self._known:
            column = fresh("_frame", array_of(LIST) if known.ids.many else LIST)
            self.calls.append(Named(column, WindowCall("collect_list", (known.ids.attr,), frame, column.dtype)))
            ids = new_ids(known.occurrence)
            lists = Call("flatten", (column,), LIST) if known.ids.many else column
            self.above.append(Named(ids.attr, Call("array_distinct", (lists,), LIST)))
            self._known[known, frame] = Known(ids, known.occurrence)
        return self._known[known, frame]

    def picked(self, call: WindowCall, terms: Terms, default: Terms = NOTHING) -> Terms:
        """The terms of the row that a function picks; if there is none, those of its default in the row itself."""
        if not terms and not default:
            return {}
        row, there = picked(call, [known.ids for known in terms])
        self.calls.append(row)
        found: dict[Known, frozenset[int]] = {}
        for (known, columns), ids in zip(terms.items(), there, strict=True):
            new = new_ids(known.occurrence, known.ids.many)
            self.above.append(Named(new.attr, ids))
            found[Known(new, known.occurrence)] = columns
        masks = Masks()
        defaults = masks.masked(default, IsNull(row.attr))
        self.above += masks.columns
        return union(found, defaults)
