"""Window functions that return the value of one row: which row it is.

before: Window last(n) ignore nulls over (order by day) as filled
after:  the same, with last(if(n is not null, struct(id), null)) ignore nulls over (the same) as the row that it took
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from whence.rows.eager.ids import Ids, struct_of
from whence.rows.expressions import Call, Expr, IsNull, Literal, WindowCall, fresh
from whence.rows.frames import skips_nulls
from whence.rows.operators import Named


def picked(call: WindowCall, ids: Sequence[Ids]) -> tuple[Named, list[Expr]]:
    """Return a column with the row that a function picks, NULL if there is none, and the given ids of that row.

    The function itself picks the row: it is called with a struct of ids instead of the value.
    """
    fields: list[Expr] = [Literal("row", "string"), Literal(True, "boolean")]
    types = {"row": "boolean"}
    for place, each in enumerate(ids):
        fields += [Literal(f"i{place}", "string"), each.attr]
        types[f"i{place}"] = each.attr.dtype
    struct = struct_of(types)
    none = Literal(None, struct)
    row: Expr = Call("named_struct", tuple(fields), struct)
    if skips_nulls(call):
        row = Call("if", (IsNull(call.args[0]), none, row), struct)
    # The default of lag and lead is no row.
    rest = (*call.args[1:2], none) if len(call.args) > 2 else call.args[1:]
    column = fresh("_picked", struct)
    there: list[Expr] = [Call("field", (column,), each.attr.dtype, f"i{place}") for place, each in enumerate(ids)]
    return Named(column, replace(call, args=(row, *rest), dtype=struct)), there
