"""Users' functions over whole tables or groups: what they do inside is unknown."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Attr, Expr
from whence.rows.operators.base import Operator, require, require_operator

OF_BATCHES = ("MapInPandas(", "MapInArrow(", "PythonMapInArrow(")


@dataclass(frozen=True, slots=True)
class Opaque(Operator):
    """mapInPandas, mapInArrow, mapPartitions ...: any row may have come from any row; `why` says what it is.

    `by_row`: it is known to make each row of one row, in order, as `apply(axis=1)` of pandas API on Spark does. Then
    `annotated` may go around it: pairs of an input column, and the output column that has the same beside each row.
    `tried`, if it is not known: beside each row are those that give it by themselves, or its batch, or its partition.
    """

    inputs: tuple[Operator, ...]
    columns: tuple[Attr, ...]
    why: str
    origin: object = field(default=None, compare=False, repr=False)
    varies: str = field(default="", compare=False)  # why it may give something else for the same rows
    by_row: bool = False
    annotated: tuple[tuple[Attr, Attr], ...] = ()
    tried: bool = field(default=False, compare=False, repr=False)
    code: str = field(default="", compare=False)  # a hash of the function, the same in every session
    holds: tuple[str, ...] = field(default=(), compare=False, repr=False)  # data that the function brings along

    def __post_init__(self) -> None:
        require_operator("Opaque", *self.inputs)

    @property
    def triable(self) -> bool:
        """Whether it is a function of batches of rows, which can be called with fewer rows."""
        return len(self.inputs) == 1 and self.why.startswith(OF_BATCHES) and _unique_names(self.inputs[0].output)

    @property
    def output(self) -> tuple[Attr, ...]:
        return (*self.columns, *(out for _, out in self.annotated))


def _unique_names(attrs: tuple[Attr, ...]) -> bool:
    return len(set(attrs)) == len(attrs)


@dataclass(frozen=True, slots=True)
class GroupedMap(Operator):
    """applyInPandas, applyInArrow: a function of a group's rows; each row it gives comes from that group.

    `annotated` goes around the function: pairs of an input column of lists, and the output column that holds, beside
    each row the function gives, the elements of all lists of its group. With `tried` it is those of the rows that give
    the row again when the function is called with them alone, where there are such.
    """

    child: Operator
    keys: tuple[Expr, ...]
    columns: tuple[Attr, ...]
    function: Expr
    annotated: tuple[tuple[Attr, Attr], ...] = ()
    origin: object = field(default=None, compare=False, repr=False)
    tried: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_operator("GroupedMap", self.child)
        require("GroupedMap", self.keys, self.child)

    @property
    def output(self) -> tuple[Attr, ...]:
        return (*self.columns, *(out for _, out in self.annotated))


@dataclass(frozen=True, slots=True)
class Cogroup(Operator):
    """cogroup().applyInPandas: a function of the rows of one group on both sides."""

    left: Operator
    right: Operator
    left_keys: tuple[Expr, ...]
    right_keys: tuple[Expr, ...]
    columns: tuple[Attr, ...]
    function: Expr
    annotated: tuple[tuple[Attr, Attr], ...] = ()
    origin: object = field(default=None, compare=False, repr=False)
    tried: bool = field(default=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        require_operator("Cogroup", self.left, self.right)

    @property
    def output(self) -> tuple[Attr, ...]:
        return (*self.columns, *(out for _, out in self.annotated))
