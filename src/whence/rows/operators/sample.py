"""Rows drawn at random."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Attr
from whence.rows.operators.base import Operator, require_operator


@dataclass(frozen=True, slots=True)
class Sample(Operator):
    """A random fraction of the rows. A seed draws the same rows only from the same partitions in the same order."""

    child: Operator
    lower: float
    upper: float
    replacement: bool
    seed: int
    origin: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_operator("Sample", self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.child.output
