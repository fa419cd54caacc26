"""Extend relations between rows of tables to relations between their cells."""

from __future__ import annotations

from whence import _core
from whence.relation._relation import Relation


def over_columns(rows: Relation, out_columns: int, in_columns: int) -> Relation:
    """Every cell of an output row comes from every cell of its input rows in the relation.

    >>> rows = Relation.identity(3)
    >>> over_columns(rows, 2, 4)
    Relation((3, 2) <- (3, 4), 24 tuples in 1 box)
    """
    out_shape, in_shape = (*rows.out_shape, out_columns), (*rows.in_shape, in_columns)
    if 0 in out_shape + in_shape:
        return Relation.empty(out_shape, in_shape)
    out_view, in_view = rows._views
    outs, ins = len(out_view), len(in_view)
    # The same axes, with an axis of columns after those of the output, and one at the end.
    place = {**{axis: axis for axis in range(outs)}, **{axis: axis + 1 for axis in range(outs, outs + ins)}, -1: -1}
    table = _core.Table(out_shape, in_shape, (*out_view, out_columns), (*in_view, in_columns))
    every = (-1, 0, 0)
    for part in rows.parts():
        axes = [(place[parent], p, q) for parent, p, q in part.axes]
        lo, width = list(part.lo), list(part.width)
        axes[outs:outs], lo[outs:outs], width[outs:outs] = [every], [(0, 0)], [(out_columns - 1, 0)]
        table.add(part.rows, [*axes, every], [*lo, (0, 0)], [*width, (in_columns - 1, 0)])
    return Relation(out_shape, in_shape, table)


def chosen_columns(rows: int, columns: int, chosen: list[int]) -> Relation:
    """Return the relation of an array of some columns of a table, in the given order.

    >>> chosen_columns(3, 5, [4, 0]).backward([(2, 0)])
    Selection(shape=(3, 5), 1 cell: [2, 4])
    """
    out_shape, in_shape = (rows, len(chosen)), (rows, columns)
    every = (-1, 0, 0)
    made = [
        ([every, every, (0, 1, 1), every], [(0, rows - 1), (place, place), (0, 0), (column, column)])
        for place, column in enumerate(chosen)
    ]
    return Relation.from_rows(out_shape, in_shape, made)
