"""Union, intersection and difference: columns correspond by position."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.errors import BadType
from whence.rows.expressions.base import Attr
from whence.rows.operators.base import Operator, require_operator


@dataclass(frozen=True, slots=True)
class Union(Operator):
    """UNION ALL: all rows of all inputs. UNION is a Distinct over it. Columns are new attributes or the first's."""

    inputs: tuple[Operator, ...]
    columns: tuple[Attr, ...]

    def __post_init__(self) -> None:
        require_operator("Union", *self.inputs)
        for each in self.inputs:
            _same_width("Union", len(self.columns), each)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.columns


@dataclass(frozen=True, slots=True)
class Intersect(Operator):
    """Rows of the left that are also on the right; NULLs are equal. `all=True` keeps duplicates, the smaller count."""

    left: Operator
    right: Operator
    all: bool = False

    def __post_init__(self) -> None:
        require_operator("Intersect", self.left, self.right)
        _same_width("Intersect", len(self.left.output), self.right)

    @property
    def output(self) -> tuple[Attr, ...]:
        pairs = zip(self.left.output, self.right.output, strict=True)
        return tuple(replace(a, nullable=a.nullable and b.nullable) for a, b in pairs)


@dataclass(frozen=True, slots=True)
class Except(Operator):
    """Rows of the left that are not on the right. With `all=True`, each right row removes one equal left row."""

    left: Operator
    right: Operator
    all: bool = False

    def __post_init__(self) -> None:
        require_operator("Except", self.left, self.right)
        _same_width("Except", len(self.left.output), self.right)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.left.output


def _same_width(what: str, width: int, other: Operator) -> None:
    if len(other.output) != width:
        raise BadType(f"the inputs of {what} have {width} and {len(other.output)} columns")
