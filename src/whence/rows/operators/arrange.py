"""Repartition, coalesce and hints."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Attr
from whence.rows.operators.base import Operator, require_operator


@dataclass(frozen=True, slots=True)
class Arrange(Operator):
    """Repartition, coalesce or a hint.

    It changes no row, but operators that depend on the positions of rows (Sample) may give other results.
    """

    child: Operator
    what: str
    origin: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_operator("Arrange", self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output
