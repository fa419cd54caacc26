"""The columns that have a part in what operators decide: the others cannot make a trace precise or spoil it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whence.rows.expressions import Attr
from whence.rows.operators import (
    Aggregate,
    Arrange,
    Filter,
    Join,
    Operator,
    Project,
    Sort,
    Source,
    Union,
    Values,
    Window,
)
from whence.rows.saving.widen import BLOCK
from whence.rows.tree import walk


def relevant(op: Operator) -> frozenset[Attr]:
    """The columns that operators below decide by, and the columns that these are computed from, or that are computed
    from these.

    Of an operator that is not known here, all columns are relevant.

    >>> from whence.rows import Attr, Filter, IsNull, Named, Project, Source, keep
    >>> a, b, c = (Attr(number, name, "long") for number, name in enumerate("abc"))
    >>> rows = Filter(Project(Source("t", 0, (a, b)), (*keep(b), Named(c, a))), IsNull(c))
    >>> sorted(attr.name for attr in relevant(rows))
    ['a', 'c']
    """
    found: set[Attr] = set()
    linked: dict[Attr, set[Attr]] = {}
    for part in walk(op):
        if isinstance(part, Operator):
            found.update(_decided_by(part))
            for attr, others in _links(part):
                for other in others:
                    linked.setdefault(attr, set()).add(other)
                    linked.setdefault(other, set()).add(attr)
    waiting = list(found)
    while waiting:
        more = linked.get(waiting.pop(), set()) - found
        found |= more
        waiting += more
    return frozenset(found)


def _decided_by(op: Operator) -> Iterator[Attr]:
    """The columns that an operator decides by: which rows it lets through, joins or groups."""
    if isinstance(op, Filter):
        yield from op.condition.attrs
    elif isinstance(op, Join):
        yield from () if op.condition is None else op.condition.attrs
        yield from () if op.flag is None else (op.flag,)
    elif isinstance(op, Aggregate):
        yield from (attr for key in op.keys for attr in key.attrs)
        yield from telling(op)
    elif not isinstance(op, Project | Sort | Arrange | Union | Source | Values):
        yield from op.output
        for child in op.children:
            yield from child.output


def _links(op: Operator) -> Iterator[tuple[Attr, Iterable[Attr]]]:
    """Each column that an operator makes, and those that it is made of."""
    if isinstance(op, Project):
        yield from ((column.attr, column.expr.attrs) for column in op.columns if column.attr != column.expr)
    elif isinstance(op, Aggregate):
        yield from ((attr, key.attrs) for attr, key in op.key_outputs.items())
    elif isinstance(op, Union):
        for child in op.inputs:
            yield from ((new, (old,)) for new, old in zip(op.columns, child.output, strict=True))


def asked_below(op: Operator) -> frozenset[Attr]:
    """The columns that joins, groups and windows below decide by: what precise lineage most likely needs."""
    found: set[Attr] = set()
    for part in walk(op):
        if isinstance(part, Join) and part.condition is not None:
            found |= part.condition.attrs
        elif isinstance(part, Aggregate):
            found |= {attr for key in part.keys for attr in key.attrs} | telling(part)
        elif isinstance(part, Window):
            found |= {attr for expr in part.partition for attr in expr.attrs}
    return frozenset(found)


def telling(op: Aggregate) -> set[Attr]:
    """The output columns that tell a group: its keys, and the values that rows of it attain."""
    return {
        column.attr for column in op.outputs if column.expr in op.keys or (op.witnessed and column.expr in op.calls)
    }


def origins(op: Operator, attrs: Iterable[Attr]) -> dict[Attr, set[Attr]]:
    """Each column with what it was called below."""
    found = {attr: {attr} for attr in attrs}
    called = {attr: attr for attr in found}  # what each column is called at the operator
    _descend(op, called, found)
    return found


def _descend(op: Operator, called: Mapping[Attr, Attr], found: dict[Attr, set[Attr]]) -> None:
    if not called or not isinstance(op, BLOCK):
        return
    if isinstance(op, Project):
        made = {column.attr: column.expr for column in op.columns}
        below = {attr: made.get(name) for attr, name in called.items()}
        called = {attr: expr for attr, expr in below.items() if isinstance(expr, Attr)}
        for attr, name in called.items():
            found[attr].add(name)
        _descend(op.child, called, found)
    elif isinstance(op, Join):
        left = frozenset(op.left.output)
        _descend(op.left, {attr: name for attr, name in called.items() if name in left}, found)
        _descend(op.right, {attr: name for attr, name in called.items() if name not in left}, found)
    else:
        _descend(op.child, called, found)
