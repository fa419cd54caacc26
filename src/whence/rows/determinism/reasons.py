"""Why another run of a pipeline may return another result."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows import operators as o
from whence.rows.columns import read_by
from whence.rows.expressions import AggCall, Attr, Call, Udf, WindowCall
from whence.rows.frames import frame_of, picks
from whence.rows.printing import line
from whence.rows.pushdown.unique import unique
from whence.rows.tree import Tree, walk

STEADY = (o.Source, o.Filter, o.Project, o.Arrange)  # these keep the positions of rows
ONE_TO_ONE = (o.Filter, o.Project, o.Sort, o.Limit, o.Arrange)  # these return at most one row for each input row
# These read only some columns of their input.
NARROW = (o.Filter, o.Project, o.Sort, o.Arrange, o.Join, o.Aggregate, o.Window, o.Generate)
MOVING = frozenset({"Repartition", "RepartitionByExpression", "RebalancePartitions"})
NUMBERED = "DistributedSequenceID"  # the position of a row in the order of the rows; it changes if rows are missing
ORDERED = "MonotonicallyIncreasingID"  # it has the order of the rows; its values depend on how they are partitioned
ORDER_PASSES = (o.Filter, o.Project, o.Arrange, o.Sort, o.Join, o.Union)  # their rows do not depend on the order
PICKED = frozenset({"First", "Last", "AnyValue", "MaxBy", "MinBy", "Mode"})  # the last three if there are ties


@dataclass(frozen=True, slots=True)
class Cause:
    """Why another run could return another result. If `tied`, only if the order of this window has ties.

    `picked`: Spark picks one of several rows that are equal in what counts; usually, it is the same one each time.
    """

    why: str
    tied: o.Window | None = None
    picked: bool = False


def unpinned(plan: o.Operator) -> tuple[str, ...]:
    """Say why another run could make an equal output row from other source rows; empty if it cannot.

    A limit without an order, `first` and dropDuplicates pick rows. This is harmless if the output shows what was
    picked: the row of the question exists, or it does not. It matters if rows are combined further up, and if a limit
    takes the first of repartitioned rows: with additional id columns, Spark distributes them differently. A column that
    nothing reads is harmless, too, whatever its value. pandas API on Spark numbers rows in such a column and sorts by
    it in the end, which affects only the order of the output. It also orders windows by it: this is the order of the
    rows in their files, which is the same in each run.

    >>> from whence.rows import AggCall, Aggregate, Attr, Limit, Literal, Named, Source
    >>> three = Limit(Source("t", 0, (Attr(1, "a", "long"),)), Literal(3, "integer"))
    >>> unpinned(three)
    ()
    >>> unpinned(Aggregate(three, (), (Named(Attr(2, "n", "long"), AggCall("Count", (), "long")),)))
    ('Limit 3 takes rows in an order that the data does not determine',)
    """
    return tuple(dict.fromkeys(cause.why for cause in causes(plan)))


def causes(plan: o.Operator, read: frozenset[Attr] | None = None) -> tuple[Cause, ...]:
    """The same, with the operators that the reasons depend on. `read` has the columns that matter; None means all."""
    found: dict[Cause, None] = {}
    every = frozenset(plan.output) if read is None else read
    _add_causes(plan, found, False, every, every, False)
    return tuple(found)


def _add_causes(
    plan: o.Operator,
    found: dict[Cause, None],
    merged: bool,
    read: frozenset[Attr],
    valued: frozenset[Attr],
    ordered: bool,
) -> None:
    """`read` has the output columns that matter further up; of those that are not in `valued`, only the order of their
    values does. `ordered`: the order of the rows may matter, too.
    """
    computed = () if isinstance(plan, o.Sort) and not ordered else _expressions_read(plan, read)
    for expr in computed:
        for part in walk(expr):
            placed = isinstance(part, Call) and part.name in _positions(plan, expr, valued) and _steady(plan)
            if isinstance(part, Udf | AggCall | WindowCall) and part.varies:
                found[Cause(part.varies)] = None
            elif isinstance(part, Call) and not part.pure and not placed:
                found[Cause(f"{part.name.lower()} in {type(plan).__name__} has another value in each run")] = None
            if merged and isinstance(part, AggCall) and part.name in PICKED:
                found[Cause(f"{part} takes a value in an order that the data does not determine", picked=True)] = None
    if isinstance(plan, o.Opaque) and plan.varies:
        found[Cause(plan.varies)] = None
    if isinstance(plan, o.Sample) and not _steady(plan.child):
        found[Cause(f"{line(plan)} depends on the positions of rows, which may change")] = None
    if merged and isinstance(plan, o.Distinct) and plan.picks:
        found[Cause(f"{line(plan)} keeps any one of the equal rows", picked=True)] = None
    if isinstance(plan, o.Limit) and (merged or _dealt_out(plan.child)) and not _is_total_order(plan):
        found[Cause(f"{line(plan)} takes rows in an order that the data does not determine")] = None
    if isinstance(plan, o.Window) and not _ignores_ties(plan):
        found[Cause(f"{line(plan)} numbers rows whose order may have ties", tied=plan)] = None
    ordered = ordered or not isinstance(plan, ORDER_PASSES) or any(map(_placed, computed))
    below = frozenset(attr for expr in computed for attr in read_by(expr))
    values = frozenset(attr for expr in computed if not _sorts_by(plan, expr, valued) for attr in read_by(expr))
    for child in plan.children:
        every = frozenset(child.output)
        needed, wanted = (
            ((below | read) & every, (values | valued) & every) if isinstance(plan, NARROW) else (every, every)
        )
        _add_causes(child, found, merged or not isinstance(plan, ONE_TO_ONE), needed, wanted, ordered)


def _positions(plan: o.Operator, expr: Tree, valued: frozenset[Attr]) -> tuple[str, ...]:
    """The functions that are harmless in an expression if rows keep their positions."""
    made = [column.attr for column in plan.columns if column.expr is expr] if isinstance(plan, o.Project) else []
    if made and isinstance(expr, Call) and valued.isdisjoint(made):
        return NUMBERED, ORDERED
    return (NUMBERED,)


def _sorts_by(plan: o.Operator, expr: Tree, valued: frozenset[Attr]) -> bool:
    """Whether an operator reads only the order of an expression's values."""
    if isinstance(plan, o.Project):
        made = [column.attr for column in plan.columns if column.expr is expr]
        return isinstance(expr, Attr) and valued.isdisjoint(made)
    if isinstance(plan, o.Window):
        by_rows = all(call.frame.unit == "rows" or call.frame.whole for call in plan.functions)
        return by_rows and expr in plan.order
    return isinstance(plan, o.Sort)


def _expressions_read(plan: o.Operator, read: frozenset[Attr]) -> tuple[Tree, ...]:
    """The expressions that matter. An aggregate matters even if its value is not read: it may determine witnesses."""
    if isinstance(plan, o.Project):
        return tuple(column.expr for column in plan.columns if column.attr in read)
    if isinstance(plan, o.Aggregate):
        return (*plan.keys, *(column.expr for column in plan.outputs if column.attr in read or _aggregates(column)))
    if isinstance(plan, o.Generate):
        return (plan.generator,)
    return plan.expressions


def _placed(expr: Tree) -> bool:
    """Whether a value may depend on the position of a row."""
    return any(isinstance(part, Call) and not part.pure for part in walk(expr))


def _aggregates(column: o.Named) -> bool:
    return any(isinstance(part, AggCall) for part in walk(column.expr))


def _steady(plan: o.Operator) -> bool:
    """Whether every row has the same position in each run. Repartitioning may move a row that has other columns."""
    below = (part for part in walk(plan) if isinstance(part, o.Operator))
    return all(isinstance(part, STEADY) and not (isinstance(part, o.Arrange) and part.what in MOVING) for part in below)


def _dealt_out(plan: o.Operator) -> bool:
    """Whether rows are distributed round-robin, so that another run may have other rows first."""
    while isinstance(plan, o.Filter | o.Project | o.Arrange):
        if isinstance(plan, o.Arrange) and plan.what in MOVING:
            return True
        plan = plan.child
    return False


def _ignores_ties(plan: o.Window) -> bool:
    """Whether ties change nothing: frames are ranges or whole partitions, from which no function picks a row by its
    position, or a partition has no ties.
    """
    frames = map(frame_of, plan.functions)
    if all(frame.whole or frame.unit == "range" for frame in frames) and not any(map(picks, plan.functions)):
        return True
    keys = frozenset(expr for expr in (*plan.partition, *(key.expr for key in plan.order)) if isinstance(expr, Attr))
    return keys.issuperset(plan.child.output) or unique(plan.child, keys)


def _is_total_order(plan: o.Limit) -> bool:
    """Whether the data determines which rows are first: an order over all columns has ties only between equal rows."""
    below = plan.child
    while isinstance(below, o.Project | o.Arrange):
        below = below.child
    return isinstance(below, o.Sort) and below.everywhere and {key.expr for key in below.keys}.issuperset(below.output)
