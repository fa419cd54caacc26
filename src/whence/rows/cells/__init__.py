"""Cells of tables: rewrite the plan so that every row is annotated with the source cells of some of its cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from whence.errors import BadType, NotTraceable
from whence.rows import operators as o
from whence.rows.cells import groups, joins, opaque, rows, sets, windows
from whence.rows.cells.terms import ROWS, Ask, Item, Key, Known, Noted, Terms
from whence.rows.expressions import Attr

__all__ = ["LINEAGES", "RULES", "Item", "Known", "Noted", "Terms", "cells_of", "noted_cells"]

LINEAGES = ("value", "value+selection")

# The rewrite of each operator; `whence.rows.eager` has the same for rows.
RULES: dict[type[o.Operator], Callable[..., Noted]] = {
    o.Source: rows.source,
    o.Values: rows.values,
    o.Filter: rows.one_input,
    o.Project: rows.project,
    o.Sort: rows.one_input,
    o.Limit: rows.one_input,
    o.Sample: rows.one_input,
    o.Arrange: rows.one_input,
    o.Generate: rows.generate,
    o.Expand: rows.expand,
    o.Union: rows.union_all,
    o.Join: joins.join,
    o.Distinct: groups.distinct,
    o.Aggregate: groups.aggregate,
    o.Intersect: sets.intersect,
    o.Except: sets.subtract,
    o.Window: windows.window,
    o.Opaque: opaque.opaque,
    o.GroupedMap: opaque.grouped,
    o.Cogroup: opaque.cogrouped,
}


def cells_of(plan: o.Operator, columns: Iterable[Attr], lineage: str = "value+selection") -> Noted:
    """Rewrite the plan to have columns of ids, and return the terms with the cells of each given output column.

    With "value+selection", they include the cells that selected the row.

    >>> from whence.rows import Attr, Call, Named, Project, Source
    >>> a, b, c = (Attr(i, n, "long") for i, n in enumerate("abc"))
    >>> noted = cells_of(Project(Source("t", 0, (a, b)), (Named(c, Call("Add", (a, b), "long")),)), [c])
    >>> [(known.occurrence, sorted(places)) for known, places in noted.of(c).items()]
    [(0, [0, 1])]
    """
    if lineage not in LINEAGES:
        raise BadType(f"lineage is one of {', '.join(LINEAGES)}, not {lineage!r}")
    selection = lineage != "value"
    wanted = tuple(dict.fromkeys(columns))
    found = noted_cells(plan, (*wanted, *((ROWS,) if selection else ())), selection)
    notes = {attr: found.of(attr, ROWS) if selection else found.of(attr) for attr in wanted}
    return Noted(found.plan, notes, tuple(dict.fromkeys(found.reasons)))


def noted_cells(plan: o.Operator, keys: Iterable[Key], selection: bool) -> Noted:
    """Rewrite the plan, and return the cells of each key. The selection of the row is a key of its own, `ROWS`."""

    def down(operator: o.Operator, keys: Iterable[Key]) -> Noted:
        rule: Any = RULES.get(type(operator))
        if rule is None:
            raise NotTraceable(f"no lineage of the cells of {type(operator).__name__}")
        noted: Noted = rule(operator, Ask(frozenset(keys), selection, down))
        return noted

    return down(plan, keys)
