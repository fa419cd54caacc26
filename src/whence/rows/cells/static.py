"""Cell lineage that follows from row lineage, if each row of the lineage has the same columns.

Row lineage says which source rows made an output row. The plan may determine which of their columns count: in all of
these rows, or in those with a condition on the row itself (`price is not null`) or on the output row (`price` is its
maximum). Then the cells follow from the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from whence.rows import operators as o
from whence.rows.cells.arguments import deciding_arguments, null_arguments, value_arguments
from whence.rows.cells.groups import WITNESSED
from whence.rows.cells.reads import Reads, reads
from whence.rows.cells.terms import ROWS, WHOLE, Key, both
from whence.rows.expressions import AggCall, Attr, Expr, IsNull, Literal, Not
from whence.rows.pushdown.pins import substituted
from whence.rows.tree import walk


@dataclass(frozen=True, slots=True)
class Place:
    """A column of a use of a source: in all rows of the lineage, or in those that satisfy a condition.

    `attained` has an expression over the row and an output column; then only rows in which both are equal count.
    """

    occurrence: int
    column: int
    where: Expr | None = None
    attained: tuple[Expr, Attr] | None = None


Places = frozenset[Place]


class NotStatic(Exception):
    """The rows alone do not determine the cells. This exception never leaves the package."""


@dataclass(frozen=True, slots=True)
class _Found:
    """The places of each key; the expressions of attributes over the columns of one source; the attributes whose NULL
    means that no cell contributed.
    """

    places: Mapping[Key, Places]
    exprs: Mapping[Attr, tuple[int, Expr]] = field(default_factory=dict)
    counted: frozenset[Attr] = frozenset()
    reasons: tuple[str, ...] = ()

    def of(self, *keys: Key) -> Places:
        return frozenset().union(*(self.places.get(key, frozenset()) for key in keys))


def static_cells(plan: o.Operator, columns: Iterable[Attr], lineage: str) -> tuple[Places, tuple[str, ...]] | None:
    """Return the places of the cells of output columns in the rows of their lineage; None if they vary.

    The lineage must have all rows of a group.

    >>> from whence.rows import AggCall, Aggregate, Attr, Named, Source, keep
    >>> a, b, n = (Attr(i, name, "long") for i, name in enumerate("abn"))
    >>> total = Aggregate(Source("t", 0, (a, b)), (a,), (*keep(a), Named(n, AggCall("Sum", (b,), "long"))))
    >>> places, _ = static_cells(total, [n], "value")
    >>> [(place.column, str(place.where)) for place in places]
    [(1, 'b#1 is not null')]
    """
    selection = lineage != "value"
    try:
        found = _of(plan, selection)
        wanted = (*columns, ROWS) if selection else tuple(columns)
        places = found.of(*wanted)
    except NotStatic:
        return None
    hidden = any(place.attained is not None and place.attained[1] not in plan.output for place in places)
    return None if hidden or places & UNKNOWN else (places, tuple(dict.fromkeys(found.reasons)))


def _of(plan: o.Operator, selection: bool) -> _Found:
    rule: Any = RULES.get(type(plan))
    if rule is None:
        raise NotStatic
    found: _Found = rule(plan, [_of(child, selection) for child in plan.children], selection)
    return found


def _read(read: Reads, below: _Found, where: Expr | None = None) -> Places:
    """The places that expressions read, each with a condition over its own source."""
    return frozenset(
        _under(place, both(where, each.where), below) for each in read.read for place in below.of(each.key)
    )


def _under(place: Place, where: Expr | None, below: _Found) -> Place:
    if where is None:
        return place
    known = {attr: below.exprs[attr] for attr in where.attrs if attr in below.exprs}
    if len(known) < len(where.attrs) or any(number != place.occurrence for number, _ in known.values()):
        raise NotStatic
    if not where.deterministic:
        raise NotStatic
    own = substituted(where, {attr: expr for attr, (_, expr) in known.items()})
    return replace(place, where=both(place.where, own))


def _settled(found: _Found) -> _Found:
    """Forget the places of attained values: above an operator that combines rows, a row no longer shows the values."""
    places = {key: UNKNOWN if any(each.attained for each in own) else own for key, own in found.places.items()}
    return _Found(places, found.exprs, found.counted, found.reasons)


def _source(plan: o.Source, below: list[_Found], selection: bool) -> _Found:
    if plan.is_domain_copy:
        return _Found({})
    every = {attr: frozenset({Place(plan.occurrence, at)}) for at, attr in enumerate(plan.columns)}
    places: dict[Key, Places] = {**every, WHOLE: frozenset().union(*every.values())}
    return _Found(places, {attr: (plan.occurrence, attr) for attr in plan.columns})


def _values(plan: o.Values, below: list[_Found], selection: bool) -> _Found:
    return _Found({})


def _one(plan: o.Operator, below: list[_Found], selection: bool) -> _Found:
    (found,) = below
    exprs: tuple[Expr, ...] = ()
    if isinstance(plan, o.Filter):
        exprs = (plan.condition,)
    elif isinstance(plan, o.Limit) and isinstance(plan.child, o.Sort):
        exprs = plan.child.keys
    if not selection or not exprs:
        return found
    read = reads(exprs, True)
    places = {**found.places, ROWS: found.of(ROWS) | _read(read, found)}
    return _Found(places, found.exprs, found.counted, (*found.reasons, *read.reasons))


def _project(plan: o.Project, below: list[_Found], selection: bool) -> _Found:
    (found,) = below
    places: dict[Key, Places] = {key: found.of(key) for key in (ROWS, WHOLE)}
    exprs: dict[Attr, tuple[int, Expr]] = {}
    counted, reasons = set(), list(found.reasons)
    for named in plan.columns:
        read = reads([named.expr], selection)
        places[named.attr] = _or_unknown(_read, read, found)
        reasons += read.reasons
        uses = {found.exprs[attr][0] if attr in found.exprs else None for attr in named.expr.attrs}
        if len(uses) == 1 and None not in uses:
            (use,) = uses
            assert use is not None
            own = substituted(named.expr, {attr: found.exprs[attr][1] for attr in named.expr.attrs})
            exprs[named.attr] = use, own
        if named.expr in found.counted:
            counted.add(named.attr)
    shown = {named.expr: named.attr for named in reversed(plan.columns) if isinstance(named.expr, Attr)}
    places = {key: frozenset(_renamed(place, shown) for place in own) for key, own in places.items()}
    return _Found(places, exprs, frozenset(counted), tuple(reasons))


def _renamed(place: Place, shown: Mapping[Attr, Attr]) -> Place:
    if place.attained is None:
        return place
    value, attr = place.attained
    return replace(place, attained=(value, shown[attr])) if attr in shown else next(iter(UNKNOWN))


NONE: Places = frozenset()


def _or_unknown(make: Callable[..., Places], *args: Any) -> Places:
    """Return UNKNOWN where places vary; it matters only if a question needs them."""
    try:
        return make(*args)
    except NotStatic:
        return UNKNOWN


UNKNOWN: Places = frozenset({Place(-1, -1)})


def _join(plan: o.Join, below: list[_Found], selection: bool) -> _Found:
    left, right = below
    if plan.how in ("semi", "anti", "existence"):
        right = _settled(right)
    keys = {*left.places, *right.places}
    places: dict[Key, Places] = {key: left.of(key) | right.of(key) for key in keys}
    both_sides = _Found(places, {**left.exprs, **right.exprs}, left.counted | right.counted)
    reasons = (*left.reasons, *right.reasons)
    condition = reads((plan.condition,) if plan.condition is not None and selection else (), True)
    if plan.how in ("semi", "anti", "existence"):
        attrs = condition.keys if plan.condition is None else tuple(plan.condition.attrs) if selection else ()
        deciding = left.of(*attrs)
        if plan.how != "anti" and selection:
            deciding |= right.of(*attrs, ROWS, *(() if plan.condition is not None else (WHOLE,)))
        own: dict[Key, Places] = dict(left.places)
        key = ROWS if plan.flag is None else plan.flag
        own[key] = own.get(key, NONE) | (deciding if selection else NONE)
        return _Found(own, left.exprs, left.counted, reasons)
    deciding = _read(condition, both_sides)
    if plan.how == "single":
        own = {**places, ROWS: left.of(ROWS), WHOLE: left.of(WHOLE)}
        for attr in plan.right.output:
            own[attr] = right.of(attr) | deciding | (right.of(ROWS) if selection else NONE)
        return _Found(own, both_sides.exprs, both_sides.counted, reasons)
    places[ROWS] = places.get(ROWS, NONE) | deciding
    return _Found(places, both_sides.exprs, both_sides.counted, (*reasons, *condition.reasons))


def _aggregate(plan: o.Aggregate, below: list[_Found], selection: bool) -> _Found:
    found = _settled(below[0])
    if plan.listed is not None:
        raise NotStatic
    slots: dict[Key, Places] = {key: _read(reads([key], selection), found) for key in plan.keys}
    reasons = list(found.reasons)
    for call in plan.calls:
        shown = [named.attr for named in plan.outputs if named.expr == call]
        slots[call] = _or_unknown(_aggregate_places, call, found, selection, shown)
        reasons += reads(call.args, selection).reasons
        if call.python:
            reasons.append(f"the Python function ({call.name}) is assumed to read all its arguments in its group")
    known = _Found(slots)
    places: dict[Key, Places] = {WHOLE: found.of(WHOLE)}
    exprs: dict[Attr, tuple[int, Expr]] = {}
    counted = set()
    for named in plan.outputs:
        read = reads([named.expr], selection, (*plan.keys, *plan.calls))
        unguarded = all(each.where is None for each in read.read)
        places[named.attr] = known.of(*read.keys) if unguarded else UNKNOWN
        if named.expr in plan.keys:
            uses = {found.exprs[attr][0] if attr in found.exprs else None for attr in named.expr.attrs}
            if len(uses) == 1 and None not in uses:
                (use,) = uses
                assert use is not None
                own = substituted(named.expr, {attr: found.exprs[attr][1] for attr in named.expr.attrs})
                exprs[named.attr] = use, own
        if isinstance(named.expr, AggCall) and named.expr.name in ("Sum", "Average", "Count"):
            counted.add(named.attr)
    if selection:
        places[ROWS] = found.of(ROWS) | known.of(*plan.keys)
    return _Found(places, exprs, frozenset(counted), tuple(reasons))


def _aggregate_places(call: AggCall, found: _Found, selection: bool, shown: list[Attr]) -> Places:
    if call.name in ("Min", "Max") and shown and call.args[0].dtype == call.dtype:
        return _attained(call, found, selection, shown[0])
    if call.name in WITNESSED or call.name == "PivotFirst":
        raise NotStatic
    where = call.where
    conditions = (*deciding_arguments(call), *(() if where is None else (where,))) if selection else ()
    read = reads((*value_arguments(call), *conditions), selection)
    if call.name == "Count" and all(isinstance(arg, Literal) for arg in call.args):
        whole = frozenset(_under(place, where, found) for place in found.of(WHOLE))
        return whole | _read(read, found, where)
    for arg in null_arguments(call):
        if arg not in found.counted:  # a sum that is NULL has no cells, so no condition is needed
            where = both(where, Not(IsNull(arg)))
    return _read(read, found, where)


def _attained(call: AggCall, found: _Found, selection: bool, shown: Attr) -> Places:
    """A minimum or maximum that the output shows: the rows that have this value. It is NULL only if no row counts."""
    (arg,) = call.args
    uses = {found.exprs[attr][0] if attr in found.exprs else None for attr in arg.attrs}
    if len(uses) != 1 or not arg.deterministic:
        raise NotStatic
    read = reads((arg, *((call.where,) if call.where is not None and selection else ())), selection)
    places = _read(read, found, call.where)
    if {place.occurrence for place in places} != uses or any(place.attained for place in places):
        raise NotStatic
    value = substituted(arg, {attr: found.exprs[attr][1] for attr in arg.attrs})
    return frozenset(replace(place, attained=(value, shown)) for place in places)


def _distinct(plan: o.Distinct, below: list[_Found], selection: bool) -> _Found:
    found = _settled(below[0])
    if not selection:
        return found
    return _Found({**found.places, ROWS: found.of(ROWS, *plan.keys)}, found.exprs, found.counted, found.reasons)


def _union(plan: o.Union, below: list[_Found], selection: bool) -> _Found:
    below = [_settled(each) for each in below]
    places: dict[Key, Places] = {key: frozenset().union(*(each.of(key) for each in below)) for key in (ROWS, WHOLE)}
    counted = set()
    for at, attr in enumerate(plan.columns):
        pairs = [(child.output[at], each) for child, each in zip(plan.inputs, below, strict=True)]
        places[attr] = frozenset().union(*(each.of(own) for own, each in pairs))
        if all(own in each.counted for own, each in pairs):
            counted.add(attr)
    return _Found(places, {}, frozenset(counted), tuple(reason for each in below for reason in each.reasons))


RULES: dict[type[o.Operator], Callable[..., _Found]] = {
    o.Source: _source,
    o.Values: _values,
    o.Filter: _one,
    o.Sort: _one,
    o.Limit: _one,
    o.Arrange: _one,
    o.Project: _project,
    o.Join: _join,
    o.Aggregate: _aggregate,
    o.Distinct: _distinct,
    o.Union: _union,
}


def of_witnesses(plan: o.Operator) -> frozenset[int]:
    """The uses of sources of which row lineage has only the rows that attain the min, max or first value of a group."""
    groups = (part for part in walk(plan) if isinstance(part, o.Aggregate) and part.witnessed)
    return frozenset(part.occurrence for group in groups for part in walk(group) if isinstance(part, o.Source))
