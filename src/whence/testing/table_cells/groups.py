"""Groups and windows over annotated cells: the rows that a function reads."""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cmp_to_key, partial
from typing import Any

from whence.rows import operators as o
from whence.rows.expressions import AggCall, Attr, Compare, Expr, Literal, Or, SortKey, WindowCall
from whence.rows.frames import frame_of
from whence.rows.tree import Tree
from whence.testing.table_cells.cell import NONE, Cell, CellRow, Cells, united
from whence.testing.table_cells.expressions import cell_of
from whence.testing.table_cells.functions import cast, divided, less, same

RANKS = frozenset({"RowNumber", "Rank", "DenseRank", "NTile", "PercentRank", "CumeDist"})
WITNESSED = frozenset({"Min", "Max"})
PICKED = frozenset({"First", "Last", "AnyValue"})  # they may pick NULL as a value
CHOSEN = frozenset({"MaxBy", "MinBy"})  # the first argument of a row, chosen by the second


def groups(keys: Iterable[Expr], rows: Iterable[CellRow]) -> list[list[CellRow]]:
    """Group the rows by keys; NULLs are one key, and so are NaNs and zeros."""
    found: dict[Any, list[CellRow]] = {}
    keys = tuple(keys)
    for row in rows:
        found.setdefault(tuple(hashed(cell_of(key, row.cells).value) for key in keys), []).append(row)
    return list(found.values())


def hashed(value: Any) -> Any:
    """Return a key that is the same for equal values."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN", None
    return tuple(map(hashed, value)) if isinstance(value, list) else value


def aggregate(plan: o.Aggregate, rows: list[CellRow]) -> list[CellRow]:
    """One row for each group."""
    return [_group(plan, group) for group in (groups(plan.keys, rows) if plan.keys else [rows])]


def _group(plan: o.Aggregate, group: list[CellRow]) -> CellRow:
    counted = group
    if plan.listed is not None:  # a pivot: rows whose value is not listed contribute nothing
        listed = [row for row in group if cell_of(plan.listed, row.cells).value is True]
        counted = listed or group
    known: dict[Tree, Cell] = {}
    for key in plan.keys:
        cells = [cell_of(key, row.cells) for row in counted]
        first = cell_of(key, group[0].cells).value
        known[key] = Cell(first, united(each.cells for each in cells), united(each.selection for each in cells))
    for call in plan.calls:
        known[call] = _called(plan, call, group)
    keys = united(known[key].read for key in plan.keys)
    return CellRow(
        {named.attr: cell_of(named.expr, known) for named in plan.outputs},
        united(row.selection for row in counted) | keys,
        united(row.whole for row in counted),
    )


def _called(plan: o.Aggregate, call: AggCall, group: list[CellRow]) -> Cell:
    if call.name == "PivotFirst":
        return _pivoted(plan, call, group)
    rows, decided = group, NONE
    if call.where is not None:
        conditions = [cell_of(call.where, row.cells) for row in group]
        rows = [row for row, each in zip(group, conditions, strict=True) if each.value is True]
    args = [[cell_of(arg, row.cells) for arg in call.args] for row in rows]
    if call.name in CHOSEN:
        return _chosen(call, rows, args)
    skips = call.name not in PICKED or "ignoreNulls=true" in call.detail
    entered = [at for at, each in enumerate(args) if not skips or all(arg.value is not None for arg in each)]
    value = _summed(call, [args[at][0].value for at in entered] if call.args else [])
    if call.name == "Count" and all(isinstance(arg, Literal) for arg in call.args):
        cells = united(rows[at].whole for at in entered)
    else:
        if call.name in WITNESSED | PICKED:
            entered = [at for at in entered if same(args[at][0].value, value)]
        cells = united(arg.cells for at in entered for arg in args[at])
    decided = united(arg.selection for at in entered for arg in args[at])
    if call.where is not None:
        decided |= united(cell_of(call.where, rows[at].cells).read for at in entered)
    return Cell(value, cells, decided)


def _chosen(call: AggCall, rows: list[CellRow], args: list[list[Cell]]) -> Cell:
    """`max_by(a, b)`: the `a` of the rows with the largest `b`, which selects them. Rows without a `b` are left out."""
    entered = [at for at, (_, by) in enumerate(args) if by.value is not None]
    best = _best([args[at][1].value for at in entered], largest=call.name == "MaxBy")
    there = [at for at in entered if same(args[at][1].value, best)]
    value = args[there[0]][0].value if there else None
    there = [at for at in there if same(args[at][0].value, value)]
    decided = united((args[at][0].selection | args[at][1].read) for at in there)
    if call.where is not None:
        decided |= united(cell_of(call.where, rows[at].cells).read for at in there)
    return Cell(value, united(args[at][0].cells for at in there), decided)


def _best(values: list[Any], largest: bool) -> Any:
    best = values[0] if values else None
    for each in values[1:]:
        best = each if less(*((best, each) if largest else (each, best))) else best
    return best


def _pivoted(plan: o.Aggregate, call: AggCall, group: list[CellRow]) -> Cell:
    """A list with a value for each value of the pivot, from the rows that have it."""
    assert plan.listed is not None
    listed = plan.listed.args if isinstance(plan.listed, Or) else (plan.listed,)
    key, value = call.args
    items = []
    for each in listed:
        assert isinstance(each, Compare)
        item = Cell(None)
        for row in group:
            own = cell_of(value, row.cells)
            if cell_of(each, row.cells).value is True and own.value is not None:
                item = Cell(own.value, own.cells, own.selection | cell_of(key, row.cells).read)
        items.append(item)
    cells, selection = united(each.cells for each in items), united(each.selection for each in items)
    return Cell([each.value for each in items], cells, selection, tuple(items))


def _summed(call: AggCall | WindowCall, values: list[Any]) -> Any:
    """The result of an aggregate function of the values that it counts."""
    name = call.name
    if isinstance(call, AggCall) and call.distinct:
        values = list({hashed(value): value for value in values}.values())
    if name == "Count":
        return len(values)
    if name == "CountIf":
        return values.count(True)
    if name == "CollectList":
        return values
    if name == "CollectSet":
        return list({hashed(value): value for value in values}.values())
    if not values:
        return None
    if name == "Percentile":
        return _percentile(call, values)
    if name in ("BoolAnd", "BoolOr"):
        return (all if name == "BoolAnd" else any)(values)
    if name == "Median":
        return float(statistics.median(values))
    if name in ("Min", "Max"):
        return _best(values, largest=name == "Max")
    if name == "Sum":
        total = sum(values[1:], values[0])
        return cast(total, call.dtype) if isinstance(total, Decimal) else total
    if name == "Average":
        count = Decimal(len(values)) if isinstance(values[0], Decimal) else len(values)
        return cast(divided(sum(values[1:], values[0]), count), call.dtype)
    if name in PICKED:
        return values[-1] if name == "Last" else values[0]
    raise NotImplementedError(f"the aggregate {name}")


def _percentile(call: AggCall | WindowCall, values: list[Any]) -> float:
    """The value at a share of the way from the smallest to the largest, between two neighbours if need be."""
    share = cell_of(call.args[1], {}).value
    ordered = sorted(map(float, values), key=cmp_to_key(lambda a, b: -1 if less(a, b) else int(less(b, a))))
    place = (len(ordered) - 1) * float(share)
    low, high = ordered[math.floor(place)], ordered[math.ceil(place)]
    return low if low == high else low + (place - math.floor(place)) * (high - low)


def window(plan: o.Window, rows: list[CellRow]) -> Iterator[CellRow]:
    """Yield every row, with one more cell for each function."""
    for group in groups(plan.partition, rows):
        ordered = sorted(group, key=cmp_to_key(partial(compare, plan.order)))
        for at, row in enumerate(ordered):
            cells = dict(row.cells)
            for named in plan.calls:
                assert isinstance(named.expr, WindowCall)
                cells[named.attr] = _windowed(plan, named.expr, ordered, at)
            yield CellRow(cells, row.selection, row.whole)


def _windowed(plan: o.Window, call: WindowCall, rows: list[CellRow], at: int) -> Cell:
    frame = [rows[each] for each in _frame(plan, call, rows, at)]
    decided = united(_placed(plan, row) for row in [*frame, rows[at]])
    if call.name in RANKS:
        return Cell(_ranked(plan, call, rows, at), NONE, decided)
    if call.name in ("Lag", "Lead"):
        return _at_offset(plan, call, rows, at)
    if call.where is not None:
        frame = [row for row in frame if cell_of(call.where, row.cells).value is True]
    args = [[cell_of(arg, row.cells) for arg in call.args] for row in frame]
    if call.name in CHOSEN:
        return _chosen_over(call, frame, args, decided)
    skips = call.name not in PICKED | {"NthValue"} or "ignoreNulls=true" in call.detail
    entered = [at for at, each in enumerate(args) if not skips or all(arg.value is not None for arg in each)]
    if call.name in PICKED or call.name == "NthValue":
        entered = _one_of(call, entered)
        value = args[entered[0]][0].value if entered else None
    else:
        value = _summed(call, [args[at][0].value for at in entered])
    if call.name == "Count" and all(isinstance(arg, Literal) for arg in call.args):
        cells = united(frame[at].whole for at in entered)
    else:
        cells = united(arg.cells for at in entered for arg in args[at])
    if call.where is not None:
        decided |= united(cell_of(call.where, frame[at].cells).read for at in entered)
    return Cell(value, cells, decided | united(arg.selection for at in entered for arg in args[at]))


def _one_of(call: WindowCall, entered: list[int]) -> list[int]:
    """The row that `first`, `last` or `nth_value` takes, if there is one."""
    if call.name == "Last":
        return entered[-1:]
    place = 1
    if call.name == "NthValue":
        count = call.args[1]
        assert isinstance(count, Literal)
        assert isinstance(count.value, int)
        place = count.value
    return entered[place - 1 : place]


def _at_offset(plan: o.Window, call: WindowCall, rows: list[CellRow], at: int) -> Cell:
    """`lag` and `lead`: the row that many rows away; of those with a value, if nulls are ignored. Or the default."""
    assert call.frame.lower is not None
    left = _distance(call.frame.lower)
    step = 1 if left > 0 else -1
    place: int | None = at
    while left and place is not None:
        place = place + step if 0 <= place + step < len(rows) else None
        if place is not None and (
            "ignoreNulls=true" not in call.detail or cell_of(call.args[0], rows[place].cells).value is not None
        ):
            left -= step
    own = _placed(plan, rows[at])
    if place is None:
        return cell_of(call.args[2], rows[at].cells).selected(own)
    return cell_of(call.args[0], rows[place].cells).selected(own | _placed(plan, rows[place]))


def _chosen_over(call: WindowCall, frame: list[CellRow], args: list[list[Cell]], decided: Cells) -> Cell:
    """`max_by` over a frame: as for `max`, all rows of the frame count, unless they have nothing to order them by."""
    there = [(row, own, by) for row, (own, by) in zip(frame, args, strict=True) if by.value is not None]
    best = _best([by.value for _, _, by in there], largest=call.name == "MaxBy")
    value = next((own.value for _, own, by in there if same(by.value, best)), None)
    decided |= united(own.selection | by.read for _, own, by in there)
    if call.where is not None:
        decided |= united(cell_of(call.where, row.cells).read for row, _, _ in there)
    return Cell(value, united(own.cells for _, own, _ in there), decided)


def _placed(plan: o.Window, row: CellRow) -> Cells:
    """The cells that determine a row's position: its partition and order keys."""
    return united(cell_of(each, row.cells).read for each in (*plan.partition, *plan.order))


def _frame(plan: o.Window, call: WindowCall, rows: list[CellRow], at: int) -> list[int]:
    frame = frame_of(call)
    if frame.unit == "rows":
        first = 0 if frame.lower is None else at + _distance(frame.lower)
        last = len(rows) - 1 if frame.upper is None else at + _distance(frame.upper)
        return [each for each in range(len(rows)) if first <= each <= last]
    return [
        each
        for each in range(len(rows))
        if (frame.lower is None or _beyond(plan, rows[each], rows[at], _distance(frame.lower)) >= 0)
        and (frame.upper is None or _beyond(plan, rows[each], rows[at], _distance(frame.upper)) <= 0)
    ]


def _distance(bound: int | str) -> int:
    """A bound as an integer. Spark casts it to the type of a wider order key, which makes it a string."""
    if isinstance(bound, int):
        return bound
    cast = re.fullmatch(r"cast\((-?\d+) as \w+\)", bound)
    if cast is None:
        raise NotImplementedError(f"the bound {bound} of a frame")
    return int(cast[1])


def _beyond(plan: o.Window, row: CellRow, current: CellRow, by: int) -> int:
    """Compare a row with the position at a distance from the current row; NULLs are at distance 0 from NULLs."""
    if by == 0:
        return compare(plan.order, row, current)
    (key,) = plan.order
    one, other = cell_of(key, row.cells).value, cell_of(key, current.cells).value
    if one is None or other is None:
        return compare(plan.order, row, current)
    bound = other + by if key.ascending else other - by
    if same(one, bound):
        return 0
    return -1 if less(one, bound) == key.ascending else 1


def _ranked(plan: o.Window, call: WindowCall, rows: list[CellRow], at: int) -> Any:
    before = [each for each in rows if compare(plan.order, each, rows[at]) < 0]
    if call.name == "RowNumber":
        return at + 1
    if call.name == "Rank":
        return len(before) + 1
    if call.name == "DenseRank":
        return len(groups([key.expr for key in plan.order], before)) + 1
    if call.name == "PercentRank":
        return len(before) / (len(rows) - 1) if len(rows) > 1 else 0.0
    if call.name == "CumeDist":
        return sum(compare(plan.order, each, rows[at]) <= 0 for each in rows) / len(rows)
    if call.name == "NTile":
        (size,) = call.args
        assert isinstance(size, Literal)
        assert isinstance(size.value, int)
        each, more = divmod(len(rows), size.value)
        large = more * (each + 1)
        return at // (each + 1) + 1 if at < large else more + (at - large) // each + 1
    raise NotImplementedError(f"the window function {call.name}")


def compare(keys: Sequence[SortKey], one: CellRow, other: CellRow) -> int:
    """Compare two rows by sort keys."""
    for key in keys:
        a, b = cell_of(key, one.cells).value, cell_of(key, other.cells).value
        if same(a, b):
            continue
        if a is None or b is None:
            return -1 if (a is None) == key.nulls_first else 1
        return -1 if less(a, b) == key.ascending else 1
    return 0


def distinct(columns: Iterable[Attr], keys: Iterable[Attr], rows: list[CellRow]) -> list[CellRow]:
    """Return one row for all rows with equal keys, with the cells of all."""
    keys, columns = tuple(keys), tuple(columns)
    made = []
    for group in groups(keys, rows):
        decided = united(row.cells[key].read for row in group for key in keys) | united(row.selection for row in group)
        cells = {attr: joined([row.cells[attr] for row in group]) for attr in columns}
        made.append(CellRow(cells, decided, united(row.whole for row in group)))
    return made


def joined(cells: Sequence[Cell]) -> Cell:
    """The first value, with the source cells of all."""
    return Cell(cells[0].value, united(each.cells for each in cells), united(each.selection for each in cells))
