"""DISTINCT and dropDuplicates."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions.base import Attr
from whence.rows.operators.base import Operator, require, require_operator


@dataclass(frozen=True, slots=True)
class Distinct(Operator):
    """One row for each value of the keys: all columns (DISTINCT) or some (dropDuplicates: Spark picks the row)."""

    child: Operator
    keys: tuple[Attr, ...]

    def __post_init__(self) -> None:
        require_operator("Distinct", self.child)
        require("Distinct", self.keys, self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output

    @property
    def picks(self) -> tuple[Attr, ...]:
        """The columns whose value Spark picks from any of the duplicates."""
        keys = frozenset(self.keys)
        return tuple(attr for attr in self.output if attr not in keys)
