"""GROUP BY: one output row for each group of rows."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.aggregates import AggCall
from whence.rows.expressions.base import Attr, Expr
from whence.rows.operators.base import Named, Operator, require, require_operator
from whence.rows.tree import Tree


@dataclass(frozen=True, slots=True)
class Aggregate(Operator):
    """GROUP BY. Without keys, all rows are one group, even if there are no rows. Grouping sets are an Expand below it.

    Keys are expressions over the input; outputs are expressions over the keys and aggregate calls. A pivot sets
    `listed`, which is true for rows whose value became a column. Other rows contribute to a group only if the group has
    no listed row.
    """

    child: Operator
    keys: tuple[Expr, ...]
    outputs: tuple[Named, ...]
    listed: Expr | None = None

    def __post_init__(self) -> None:
        require_operator("Aggregate", self.child)
        require("Aggregate", (*self.keys, *self.outputs), self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return tuple(column.attr for column in self.outputs)

    @property
    def calls(self) -> tuple[AggCall, ...]:
        """Every aggregate call in the outputs, each once."""
        found: dict[AggCall, None] = {}
        for column in self.outputs:
            _collect(column.expr, found)
        return tuple(found)

    @property
    def witnessed(self) -> bool:
        """Whether all calls are min, max, first, last or any, so that some rows of the group attain them."""
        return bool(self.calls) and all(call.witnessed for call in self.calls)

    @property
    def any_listed(self) -> AggCall | None:
        """The aggregate that says whether a group of a pivot has a listed row."""
        return None if self.listed is None else AggCall("bool_or", (self.listed,), "boolean")

    @property
    def key_outputs(self) -> dict[Attr, Expr]:
        """Map each output column that is a group key to the key, an expression over the input."""
        return {column.attr: column.expr for column in self.outputs if column.expr in self.keys}


def _collect(expr: Tree, found: dict[AggCall, None]) -> None:
    if isinstance(expr, AggCall):
        found[expr] = None
        return
    for part in expr.parts():
        if isinstance(part, Expr):
            _collect(part, found)
