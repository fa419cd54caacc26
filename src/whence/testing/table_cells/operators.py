"""Run operators over rows of annotated cells."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cmp_to_key, partial, singledispatch
from typing import Any

from whence.rows import operators as o
from whence.rows.expressions import Attr, Call, Compare, Literal, conjuncts
from whence.rows.operators.join import LEFT_ONLY
from whence.testing.table_cells import groups as g
from whence.testing.table_cells.cell import NONE, Cell, CellRow, Cells, united
from whence.testing.table_cells.expressions import cell_of

Tables = Mapping[str, Sequence[tuple[Any, ...]]]
Rows = list[CellRow]


def run(plan: o.Operator, tables: Tables) -> Rows:
    """Return all rows of a plan's output. The tables have the columns of the widest use of each source.

    >>> from whence.rows import Attr, Compare, Filter, Source
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> (row,) = run(Filter(Source("t", 0, (a, b)), Compare(">", b, Literal(1, "long"))), {"t": [(1, 1), (2, 2)]})
    >>> row.cells[a].value, sorted(row.lineage(a, "value")), sorted(row.lineage(a))
    (2, [(0, 1, 'a')], [(0, 1, 'a'), (0, 1, 'b')])
    """
    if isinstance(plan, o.Source):
        return list(_source(plan, tables))
    return list(_run(plan, [run(child, tables) for child in plan.children]))


def _source(plan: o.Source, tables: Tables) -> Iterator[CellRow]:
    for number, values in enumerate(tables[plan.name]):
        known = () if plan.is_domain_copy else [(plan.occurrence, number, attr.name) for attr in plan.columns]
        cells = {attr: Cell(values[at], frozenset(known[at : at + 1])) for at, attr in enumerate(plan.columns)}
        yield CellRow(cells, NONE, frozenset(known))


@singledispatch
def _run(plan: o.Operator, below: list[Rows]) -> Any:
    raise NotImplementedError(type(plan).__name__)


@_run.register
def _(plan: o.Arrange, below: list[Rows]) -> Rows:
    return below[0]


@_run.register
def _(plan: o.Values, below: list[Rows]) -> Rows:
    if plan.columns:
        raise NotImplementedError("rows that a query spells out")
    return [CellRow({})]


@_run.register
def _(plan: o.Filter, below: list[Rows]) -> Iterator[CellRow]:
    for row in below[0]:
        held = cell_of(plan.condition, row.cells)
        if held.value is True:
            yield CellRow(row.cells, row.selection | held.read, row.whole)


@_run.register
def _(plan: o.Project, below: list[Rows]) -> Iterator[CellRow]:
    for row in below[0]:
        yield CellRow({named.attr: cell_of(named.expr, row.cells) for named in plan.columns}, row.selection, row.whole)


@_run.register
def _(plan: o.Sort, below: list[Rows]) -> Rows:
    return sorted(below[0], key=cmp_to_key(partial(g.compare, plan.keys)))


@_run.register
def _(plan: o.Limit, below: list[Rows]) -> Iterator[CellRow]:
    """The first rows; their sort keys are selection lineage."""
    skipped = _number(plan.offset) or 0
    count = _number(plan.count)
    for row in below[0][skipped : None if count is None else skipped + count]:
        keys = plan.child.keys if isinstance(plan.child, o.Sort) else ()
        yield CellRow(row.cells, row.selection | united(cell_of(key, row.cells).read for key in keys), row.whole)


def _number(expr: object) -> int | None:
    assert expr is None or isinstance(expr, Literal)
    value = None if expr is None else expr.value
    assert value is None or isinstance(value, int)
    return value


@_run.register
def _(plan: o.Union, below: list[Rows]) -> Iterator[CellRow]:
    for child, rows in zip(plan.inputs, below, strict=True):
        for row in rows:
            pairs = zip(plan.columns, child.output, strict=True)
            yield CellRow({new: row.cells[old] for new, old in pairs}, row.selection, row.whole)


@_run.register
def _(plan: o.Distinct, below: list[Rows]) -> Rows:
    return g.distinct(plan.output, plan.keys, below[0])


@_run.register
def _(plan: o.Aggregate, below: list[Rows]) -> Rows:
    return g.aggregate(plan, below[0])


@_run.register
def _(plan: o.Window, below: list[Rows]) -> Rows:
    return list(g.window(plan, below[0]))


@_run.register
def _(plan: o.Expand, below: list[Rows]) -> Iterator[CellRow]:
    for row in below[0]:
        for projection in plan.projections:
            cells = {attr: cell_of(expr, row.cells) for attr, expr in zip(plan.columns, projection, strict=True)}
            yield CellRow(cells, row.selection, row.whole)


@_run.register
def _(plan: o.Generate, below: list[Rows]) -> Iterator[CellRow]:
    """Each element comes from the cells of the list, which also selected the row: without an element, there is no
    row.
    """
    assert isinstance(plan.generator, Call)
    for row in below[0]:
        found = cell_of(plan.generator, row.cells)
        elements: list[tuple[Any, ...]] = [(each,) for each in found.value or ()]
        if plan.generator.name == "PosExplode":
            elements = [(place, *each) for place, each in enumerate(elements)]
        if plan.outer and not elements:
            elements = [(None,) * len(plan.columns)]
        for element in elements:
            cells = {attr: row.cells[attr] for attr in plan.kept}
            cells |= {
                attr: Cell(value, found.cells, found.selection)
                for attr, value in zip(plan.columns, element, strict=True)
            }
            yield CellRow(cells, row.selection | found.read, row.whole)


@_run.register
def _(plan: o.Intersect, below: list[Rows]) -> Iterator[CellRow]:
    """The equal rows of both sides."""
    left, right = (
        [_renamed(row, child.output, plan.output) for row in rows]
        for child, rows in zip((plan.left, plan.right), below, strict=True)
    )
    for one in g.groups(plan.output, left):
        (both,) = [group for group in g.groups(plan.output, [*one, *right]) if group[0] is one[0]]
        others = len(both) - len(one)
        if others:
            (row,) = g.distinct(plan.output, plan.output, both)
            yield from [row] * (min(len(one), others) if plan.all else 1)


@_run.register
def _(plan: o.Except, below: list[Rows]) -> Iterator[CellRow]:
    """The rows of the left. The right contributes nothing."""
    right = [_renamed(row, plan.right.output, plan.output) for row in below[1]]
    for one in g.groups(plan.output, below[0]):
        (both,) = [group for group in g.groups(plan.output, [*one, *right]) if group[0] is one[0]]
        others = len(both) - len(one)
        (row,) = g.distinct(plan.output, plan.output, one)
        yield from [row] * (len(one) - others if plan.all else 0 if others else 1)


def _renamed(row: CellRow, old: Sequence[Attr], new: Sequence[Attr]) -> CellRow:
    return CellRow({b: row.cells[a] for a, b in zip(old, new, strict=True)}, row.selection, row.whole)


@_run.register
def _(plan: o.Join, below: list[Rows]) -> Iterator[CellRow]:
    left, right = below

    def read(row: CellRow) -> Cells:
        """The cells that the condition reads on one side."""
        attrs = () if plan.condition is None else plan.condition.attrs
        return united(row.cells[attr].read for attr in attrs if attr in row.cells)

    def condition(one: CellRow, other: CellRow) -> Cell:
        known = {**one.cells, **other.cells}
        return Cell(True) if plan.condition is None else cell_of(plan.condition, known)

    missing_left = CellRow({attr: Cell(None) for attr in plan.left.output})
    missing_right = CellRow({attr: Cell(None) for attr in plan.right.output})
    pairs, met = [], set[int]()
    candidates = _candidates(plan, right)
    for one in left:
        matches = []
        for at, other in candidates(one):
            if condition(one, other).value is True:
                met.add(at)
                matches.append(other)
        if plan.how in LEFT_ONLY:
            yield from _let_through(plan, one, matches, read)
        else:
            outer = [missing_right] if plan.how in ("left", "full", "single") else []
            pairs += [(one, other) for other in matches or outer]
    if plan.how in ("right", "full"):
        pairs += [(missing_left, other) for at, other in enumerate(right) if at not in met]
    for one, other in pairs:
        keys = condition(one, other).read
        if plan.how == "single":  # it adds a value, and never selects the row
            value = {attr: cell.selected(keys | other.selection) for attr, cell in other.cells.items()}
            yield CellRow({**one.cells, **value}, one.selection, one.whole)
        else:
            selection = one.selection | other.selection | keys
            yield CellRow({**one.cells, **other.cells}, selection, one.whole | other.whole)


def _candidates(plan: o.Join, right: Rows) -> Callable[[CellRow], Iterable[tuple[int, CellRow]]]:
    """The rows that may match a left row: all, or those with its keys. This only saves time."""
    of_left, of_right = frozenset(plan.left.output), frozenset(plan.right.output)
    keys = []
    for each in conjuncts(plan.condition):
        if isinstance(each, Compare) and each.op == "=":
            for one, other in ((each.left, each.right), (each.right, each.left)):
                if one.attrs and other.attrs and one.attrs <= of_left and other.attrs <= of_right:
                    keys.append((one, other))
                    break
    every = list(enumerate(right))
    if not keys:
        return lambda _: every
    found: dict[Any, list[tuple[int, CellRow]]] = {}
    for at, row in every:
        found.setdefault(tuple(g.hashed(cell_of(key, row.cells).value) for _, key in keys), []).append((at, row))
    return lambda row: found.get(tuple(g.hashed(cell_of(key, row.cells).value) for key, _ in keys), ())


def _let_through(plan: o.Join, one: CellRow, matches: Rows, read: Any) -> Iterator[CellRow]:
    """Semi, anti and existence joins: the keys of the row and of its matches are selection lineage."""
    decided: Cells = read(one)
    if plan.how != "anti":
        for other in matches:
            decided |= read(other) | other.selection | (other.whole if plan.condition is None else NONE)
    if plan.flag is not None:
        flag = Cell(bool(matches), NONE, decided)
        yield CellRow({**one.cells, plan.flag: flag}, one.selection, one.whole)
    elif bool(matches) == (plan.how == "semi"):
        yield CellRow(one.cells, one.selection | decided, one.whole)
