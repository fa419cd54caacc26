"""Add the row ids of sources to each row, through operators that only combine rows."""

from __future__ import annotations

from dataclasses import replace

from whence.rows.expressions import Attr, fresh
from whence.rows.operators import Arrange, Filter, Join, Named, Operator, Project, Source
from whence.rows.operators.join import LEFT_ONLY


def annotated(op: Operator) -> tuple[Operator, dict[int, Attr]]:
    """Add a column for each use of a source, by occurrence: the id of its row, or NULL.

    Below an aggregate, and on the right of a semi, anti or existence join, many rows make one output row, so there is
    no column.

    >>> from whence.rows import Attr, Project, Source, keep
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> _, numbers = annotated(Project(Source("t", 0, (a, b)), keep(a)))
    >>> list(numbers)
    [0]
    """
    if isinstance(op, Source):
        if op.is_domain_copy or op.row_id is not None:
            return op, {}
        number = fresh("_row", "long", nullable=False)
        return replace(op, row_id=number), {op.occurrence: number}
    if isinstance(op, Filter | Arrange):
        child, numbers = annotated(op.child)
        return replace(op, child=child), numbers
    if isinstance(op, Project):
        child, numbers = annotated(op.child)
        return replace(
            op, child=child, columns=(*op.columns, *(Named(each, each) for each in numbers.values()))
        ), numbers
    if isinstance(op, Join):
        left, numbers = annotated(op.left)
        right, more = (op.right, {}) if op.how in LEFT_ONLY else annotated(op.right)
        if not numbers.keys() & more.keys():
            return replace(op, left=left, right=right), numbers | more
    return op, {}
