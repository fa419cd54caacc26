"""User functions over tables or groups. Their effect on rows is unknown."""

from __future__ import annotations

from dataclasses import dataclass, field

from whence.rows.expressions.base import Attr, Expr
from whence.rows.operators.base import Operator, require, require_operator

OF_BATCHES = ("MapInPandas(", "MapInArrow(", "PythonMapInArrow(")


@dataclass(frozen=True, slots=True)
class Opaque(Operator):
    """mapInPandas, mapInArrow, mapPartitions ...: any output row may come from any input row. `why` names the function.

    If `by_row`, it makes each row from one row, in order, as `apply(axis=1)` of pandas API on Spark does. `annotated`
    then has pairs of an input column and an output column, which has the same value for each row. If `tried`,
    annotations are found by calling the function with fewer rows: each output row gets those of the rows that produce
    it alone, or of its batch, or of its partition.
    """

    inputs: tuple[Operator, ...]
    columns: tuple[Attr, ...]
    why: str
    origin: object = field(default=None, compare=False, repr=False)
    varies: str = field(default="", compare=False)  # why it may return other rows for the same input
    by_row: bool = False
    annotated: tuple[tuple[Attr, Attr], ...] = ()
    tried: bool = field(default=False, compare=False, repr=False)
    code: str = field(default="", compare=False)  # a hash of the function, the same in every session
    holds: tuple[str, ...] = field(default=(), compare=False, repr=False)  # data that the function contains

    def __post_init__(self) -> None:
        require_operator("Opaque", *self.inputs)

    @property
    def triable(self) -> bool:
        """Whether it is a function of batches of rows, so that it can be called with fewer rows."""
        return len(self.inputs) == 1 and self.why.startswith(OF_BATCHES) and _unique_names(self.inputs[0].output)

    @property
    def output(self) -> tuple[Attr, ...]:
        return (*self.columns, *(out for _, out in self.annotated))


def _unique_names(attrs: tuple[Attr, ...]) -> bool:
    return len(set(attrs)) == len(attrs)


@dataclass(frozen=True, slots=True)
class GroupedMap(Operator):
    """applyInPandas, applyInArrow: a function of the rows of a group. Each row that it returns comes from that group.

    `annotated` has pairs of an input column of lists and an output column. The output column has, for each row that the
    function returns, the elements of all lists of its group. If `tried`, it has only those of the rows that produce the
    row again when the function is called with them alone, if there are such rows.
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
    """cogroup().applyInPandas: a function of the rows of a group on both sides."""

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
