"""Operators that make several rows of one."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.errors import BadType
from whence.rows.expressions.base import Attr, Expr
from whence.rows.operators.base import Operator, require, require_operator


@dataclass(frozen=True, slots=True)
class Generate(Operator):
    """Repeat each row for each element of a generator: explode, posexplode, inline, UDTFs. `outer` keeps empty ones."""

    child: Operator
    generator: Expr
    columns: tuple[Attr, ...]
    kept: tuple[Attr, ...]  # the input columns that are passed on
    outer: bool = False
    origin: object = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_operator("Generate", self.child)
        require("Generate", (self.generator, *self.kept), self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return (*self.kept, *self.columns)


@dataclass(frozen=True, slots=True)
class Expand(Operator):
    """Repeat each row for each projection: grouping sets, rollup, cube, unpivot, stack."""

    child: Operator
    projections: tuple[tuple[Expr, ...], ...]
    columns: tuple[Attr, ...]

    def __post_init__(self) -> None:
        require_operator("Expand", self.child)
        for projection in self.projections:
            if len(projection) != len(self.columns):
                raise BadType(f"a projection of Expand has {len(projection)} values for {len(self.columns)} columns")
        require("Expand", (expr for projection in self.projections for expr in projection), self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.columns
