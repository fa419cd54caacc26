"""The columns that conditions and keys depend on; others cannot make a trace precise or imprecise."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from whence.rows import operators as o
from whence.rows.expressions import Attr
from whence.rows.saving.widen import BLOCK
from whence.rows.tree import walk


def relevant(op: o.Operator) -> frozenset[Attr]:
    """Return the columns that conditions and keys below read, the columns that these are computed from, and the columns
    that are computed from these.

    All columns of other operators are relevant.

    >>> from whence.rows import Attr, Filter, IsNull, Named, Project, Source, keep
    >>> a, b, c = (Attr(number, name, "long") for number, name in enumerate("abc"))
    >>> rows = Filter(Project(Source("t", 0, (a, b)), (*keep(b), Named(c, a))), IsNull(c))
    >>> sorted(attr.name for attr in relevant(rows))
    ['a', 'c']
    """
    found: set[Attr] = set()
    linked: dict[Attr, set[Attr]] = {}
    for part in walk(op):
        if isinstance(part, o.Operator):
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


def _decided_by(op: o.Operator) -> Iterator[Attr]:
    """The columns that determine which rows an operator keeps, joins or groups."""
    if isinstance(op, o.Filter):
        yield from op.condition.attrs
    elif isinstance(op, o.Join):
        yield from () if op.condition is None else op.condition.attrs
        yield from () if op.flag is None else (op.flag,)
    elif isinstance(op, o.Aggregate):
        yield from (attr for key in op.keys for attr in key.attrs)
        yield from identifying(op)
    elif not isinstance(op, o.Project | o.Sort | o.Arrange | o.Union | o.Source | o.Values):
        yield from op.output
        for child in op.children:
            yield from child.output


def _links(op: o.Operator) -> Iterator[tuple[Attr, Iterable[Attr]]]:
    """Each column that an operator computes, with the columns in its expression."""
    if isinstance(op, o.Project):
        yield from ((column.attr, column.expr.attrs) for column in op.columns if column.attr != column.expr)
    elif isinstance(op, o.Aggregate):
        yield from ((attr, key.attrs) for attr, key in op.key_outputs.items())
    elif isinstance(op, o.Union):
        for child in op.inputs:
            yield from ((new, (old,)) for new, old in zip(op.columns, child.output, strict=True))


def asked_below(op: o.Operator) -> frozenset[Attr]:
    """The columns in conditions and keys of joins, groups and windows below, which precise lineage likely needs."""
    found: set[Attr] = set()
    for part in walk(op):
        if isinstance(part, o.Join) and part.condition is not None:
            found |= part.condition.attrs
        elif isinstance(part, o.Aggregate):
            found |= {attr for key in part.keys for attr in key.attrs} | identifying(part)
        elif isinstance(part, o.Window):
            found |= {attr for expr in part.partition for attr in expr.attrs}
    return frozenset(found)


def identifying(op: o.Aggregate) -> set[Attr]:
    """The output columns that identify a group: its keys, and the values that some of its rows attain."""
    return {
        column.attr for column in op.outputs if column.expr in op.keys or (op.witnessed and column.expr in op.calls)
    }


def origins(op: o.Operator, attrs: Iterable[Attr]) -> dict[Attr, set[Attr]]:
    """Map each column to the attributes that it is a copy of, in the operators below."""
    found = {attr: {attr} for attr in attrs}
    called = {attr: attr for attr in found}  # the attribute of each column at the current operator
    _add_origins(op, called, found)
    return found


def _add_origins(op: o.Operator, called: Mapping[Attr, Attr], found: dict[Attr, set[Attr]]) -> None:
    if not called or not isinstance(op, BLOCK):
        return
    if isinstance(op, o.Project):
        made = {column.attr: column.expr for column in op.columns}
        below = {attr: made.get(name) for attr, name in called.items()}
        called = {attr: expr for attr, expr in below.items() if isinstance(expr, Attr)}
        for attr, name in called.items():
            found[attr].add(name)
        _add_origins(op.child, called, found)
    elif isinstance(op, o.Join):
        left = frozenset(op.left.output)
        _add_origins(op.left, {attr: name for attr, name in called.items() if name in left}, found)
        _add_origins(op.right, {attr: name for attr, name in called.items() if name not in left}, found)
    else:
        _add_origins(op.child, called, found)
