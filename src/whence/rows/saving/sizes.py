"""Estimate the size of an intermediate result until a run has measured it."""

from __future__ import annotations

from collections.abc import Mapping

from whence.rows.expressions import Attr, Compare, Literal, conjuncts
from whence.rows.operators import (
    Aggregate,
    Distinct,
    Except,
    Expand,
    Filter,
    Generate,
    Intersect,
    Join,
    Limit,
    Operator,
    Source,
    Union,
    Values,
)

SOURCE = 1e6  # rows of a source of unknown size
EQUAL, OTHER = 0.1, 0.4  # fraction of the rows that satisfy a comparison
GROUPS = 0.1  # groups, as a fraction of the rows
MATCHED = 0.5  # fraction of the rows that a semi-join or an anti-join keeps
WIDTHS = {
    "boolean": 1, "byte": 1, "short": 2, "integer": 4, "date": 4, "float": 4, "long": 8, "double": 8, "timestamp": 8,
    "timestamp_ntz": 8,
}  # fmt: skip
TEXT, NESTED = 16, 64


def width(attr: Attr) -> int:
    """The approximate number of bytes of a value of the column."""
    if attr.dtype.startswith("decimal"):
        return 8
    return WIDTHS.get(attr.dtype, NESTED if attr.dtype.startswith("{") else TEXT)


class Sizes:
    """Estimates of the number of rows of an operator's output.

    `sources` has the row count of each source by name; `measured` has row counts of operators in earlier runs, by the
    operator as a string.
    """

    def __init__(self, sources: Mapping[str, float] | None = None, measured: Mapping[str, int] | None = None) -> None:
        self._sources, self._measured = sources or {}, measured or {}
        self._known: dict[int, tuple[Operator, float]] = {}

    def measured(self, op: Operator) -> int | None:
        """The row count of an operator in an earlier run, if known."""
        return self._measured.get(str(op))

    def rows(self, op: Operator) -> float:
        """The estimated row count of an operator's output."""
        known = self._known.get(id(op))
        if known is None:
            known = self._known[id(op)] = (op, max(1.0, self._rows(op)))  # with op, so that its id stays in use
        return known[1]

    def _rows(self, op: Operator) -> float:
        if self._measured and (found := self._measured.get(str(op))) is not None:
            return found
        if isinstance(op, Source):
            return self._sources.get(op.name, SOURCE)
        if isinstance(op, Values):
            return 1
        if isinstance(op, Join):
            return self._joined(op)
        below = [self.rows(child) for child in op.children]
        if isinstance(op, Filter):
            for fact in conjuncts(op.condition):
                below[0] *= EQUAL if isinstance(fact, Compare) and fact.op in ("=", "<=>") else OTHER
        elif isinstance(op, Aggregate | Distinct):
            return below[0] * GROUPS if not isinstance(op, Aggregate) or op.keys else 1
        elif isinstance(op, Limit):
            most = op.count.value if isinstance(op.count, Literal) else None
            return min(below[0], most) if isinstance(most, int) else below[0]
        elif isinstance(op, Expand):
            return below[0] * len(op.projections)
        elif isinstance(op, Generate):
            return below[0] * 3
        elif isinstance(op, Union):
            return sum(below)
        elif isinstance(op, Intersect | Except):
            return below[0] * MATCHED
        return below[0]

    def _joined(self, op: Join) -> float:
        left, right = self.rows(op.left), self.rows(op.right)
        if op.how in ("semi", "anti"):
            return left * MATCHED
        if op.how in ("single", "existence"):
            return left
        matched = left * right
        if any(isinstance(fact, Compare) and fact.op in ("=", "<=>") for fact in conjuncts(op.condition)):
            matched /= min(self._base(op.left), self._base(op.right))  # assume that the smaller table has the key
        if op.how == "left":
            return max(left, matched)
        if op.how == "right":
            return max(right, matched)
        return left + right if op.how == "full" else matched

    def _base(self, op: Operator) -> float:
        """The row count of the largest source below: an upper bound of the distinct values of a key."""
        if isinstance(op, Source):
            return self.rows(op)
        return max((self._base(child) for child in op.children), default=1.0)
