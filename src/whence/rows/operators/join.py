"""Joins."""

from __future__ import annotations

from dataclasses import dataclass, replace

from whence.errors import BadType
from whence.rows.expressions.base import Attr, Expr
from whence.rows.operators.base import Operator, require_operator

# single: a left join whose right side has at most one match for each row; a scalar subquery becomes one. existence:
# every left row, with a column that says whether it has a match; EXISTS or IN below an OR becomes one.
JOINS = ("inner", "cross", "left", "right", "full", "single", "semi", "anti", "existence")
LEFT_ONLY = frozenset({"semi", "anti", "existence"})


@dataclass(frozen=True, slots=True)
class Join(Operator):
    """Any join. A null-aware anti-join (NOT IN) is an anti-join whose condition is `a = b OR (a = b) IS NULL`."""

    left: Operator
    right: Operator
    how: str
    condition: Expr | None = None
    flag: Attr | None = None  # of an existence join

    def __post_init__(self) -> None:
        require_operator("Join", self.left, self.right)
        if self.how not in JOINS:
            raise BadType(f"no join {self.how!r}: it is one of {', '.join(JOINS)}")
        if (self.flag is not None) != (self.how == "existence"):
            raise BadType(f"only an existence join has a flag: {self.how}")
        both = frozenset(self.left.output) | frozenset(self.right.output)
        missing = (self.condition.attrs if self.condition is not None else frozenset()) - both
        if missing:
            raise BadType(f"the join reads {', '.join(map(str, missing))}, which neither side has")

    @property
    def output(self) -> tuple[Attr, ...]:
        if self.how in ("semi", "anti"):
            return self.left.output
        if self.flag is not None:
            return (*self.left.output, self.flag)
        left, right = self.left.output, self.right.output
        if self.how in ("right", "full"):
            left = tuple(replace(attr, nullable=True) for attr in left)
        if self.how in ("left", "full", "single"):
            right = tuple(replace(attr, nullable=True) for attr in right)
        return (*left, *right)
