"""Groups: the cells of the rows that an aggregate counts; for min, max and first, of the rows that attain the value.

before: Aggregate by city: city, sum(n) as total
after:  the same, with collect_list(id) filter (n is not null) as the ids of `total`, for the source column n
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from whence.rows.cells.arguments import BY, PICKED, deciding_arguments, entering, value_arguments
from whence.rows.cells.reads import Reads, reads
from whence.rows.cells.terms import ROWS, WHOLE, Ask, Item, Key, Known, Masks, Noted, Terms, both, through, true, union
from whence.rows.eager import groups as eager
from whence.rows.eager.ids import LIST, Ids, Tagged, array_of, as_list, gathered, new_ids, struct_of
from whence.rows.expressions import AggCall, And, Call, Compare, Expr, IsNull, Literal, Not, Or, fresh
from whence.rows.operators import Aggregate, Distinct, Named, Operator, Project, keep
from whence.rows.tree import Tree

WITNESSED = frozenset({"Min", "Max", *PICKED, *BY})


def distinct(plan: Distinct, ask: Ask) -> Noted:
    """The cells of all duplicates; the keys are selection lineage."""
    keys = plan.keys if ROWS in ask.need else ()
    below = ask.down(plan.child, (*ask.need, *keys))
    made, moved, reasons = through(eager.distinct, plan, [(plan.child, below)])
    notes = {key: moved(terms) for key, terms in below.notes.items() if key in ask.need}
    if keys:
        notes[ROWS] = union(notes.get(ROWS, {}), moved(below.of(*keys)))
    return Noted(made, notes, reasons)


@dataclass(frozen=True, slots=True)
class Called:
    """An aggregate call, or an element of a pivot: what it reads in each row, and which rows it counts."""

    call: AggCall
    read: Reads
    where: Expr | None
    whole: bool = False  # it counts rows, not values

    @property
    def keys(self) -> tuple[Key, ...]:
        return (*self.read.keys, *((WHOLE,) if self.whole else ()))

    @property
    def witnessed(self) -> bool:
        return self.call.name in WITNESSED and not self.whole


def aggregate(plan: Aggregate, ask: Ask) -> Noted:
    leaves = (*plan.keys, *plan.calls)
    wanted = {
        named.attr: reads([named.expr], ask.selection, leaves) for named in plan.outputs if named.attr in ask.need
    }
    items = _items(plan, ask)
    read = dict.fromkeys(key for each in wanted.values() for key in each.keys)
    slots = dict.fromkeys((*read, *items.values()))
    called = {slot: _aggregate_inputs(plan, slot, ask.selection) for slot in slots if _call(slot) is not None}
    shown = [key for key in plan.keys if key in slots or ROWS in ask.need]
    keys = {key: reads([key], ask.selection or ROWS in ask.need) for key in shown}
    need = [key for each in called.values() for key in each.keys]
    need += [key for each in keys.values() for key in each.keys]
    below = ask.down(plan.child, (*need, *ask.rows()))

    masks = Masks()
    entered = {slot: _entered(each, below, masks) for slot, each in called.items()}
    of_group: dict[Key, Terms] = {key: each.terms(below, masks) for key, each in keys.items()}
    of_group |= {key: below.of(key) for key in ask.rows()}
    groups = _Groups(plan, masks.over(below.plan))
    notes: dict[Key, Terms] = {}
    for slot, terms in entered.items():
        notes[slot] = groups.attained(called[slot], terms) if called[slot].witnessed else groups.collected(terms)
    for slot, terms in of_group.items():
        notes[slot] = groups.listed(terms) if plan.listed is not None else groups.collected(terms)
    made = groups.made(wanted)
    outer = Masks()
    ready = Noted(made, notes)
    own: dict[Key, Terms] = {
        attr: union(
            *(outer.masked(ready.of(e.key), None if e.where is None else groups.flags.get(e.where)) for e in each.read)
        )
        for attr, each in wanted.items()
    }
    own |= {key: ready.of(slot) for key, slot in items.items()}
    if ROWS in ask.need:
        own[ROWS] = ready.of(ROWS, *plan.keys)
    if WHOLE in ask.need:
        own[WHOLE] = ready.of(WHOLE)
    reasons = (reason for each in (*wanted.values(), *keys.values()) for reason in each.reasons)
    more = tuple(reason for each in called.values() for reason in (*each.read.reasons, *_opaque(each.call)))
    return Noted(outer.over(made), own, (*below.reasons, *reasons, *more, *groups.reasons))


def _call(slot: Tree) -> AggCall | None:
    call = slot.of if isinstance(slot, Item) else slot
    return call if isinstance(call, AggCall) else None


def _items(plan: Aggregate, ask: Ask) -> dict[Item, Item]:
    """Map the needed elements of a pivot's list to the same elements of the aggregate call."""
    found = {}
    for key in ask.need:
        if isinstance(key, Item):
            for named in plan.outputs:
                if named.attr == key.of:
                    found[key] = Item(named.expr, key.place)
    return found


def _opaque(call: AggCall) -> tuple[str, ...]:
    if not call.python:
        return ()
    return (f"the Python function ({call.name}) is assumed to read all its arguments in all rows of the group",)


def _aggregate_inputs(plan: Aggregate, slot: Tree, selection: bool) -> Called:
    call = _call(slot)
    assert call is not None
    if call.name == "PivotFirst":
        return _pivoted(plan, slot, call, selection)
    conditions = (*deciding_arguments(call), *(() if call.where is None else (call.where,))) if selection else ()
    if call.name == "Count" and all(isinstance(arg, Literal) for arg in call.args):
        return Called(call, reads(conditions, True), call.where, whole=True)
    args = reads(value_arguments(call), selection)
    more = reads(conditions, True)
    return Called(call, Reads((*args.read, *more.read), (*args.reasons, *more.reasons)), entering(call))


def _pivoted(plan: Aggregate, slot: Tree, call: AggCall, selection: bool) -> Called:
    """An element of a pivot's list: the row that has its value."""
    key, value = call.args
    read = reads((key, value) if selection else (value,), selection)
    listed = plan.listed.args if isinstance(plan.listed, Or) else (plan.listed,)
    if isinstance(slot, Item) and slot.place < len(listed):
        return Called(call, read, both(listed[slot.place], Not(IsNull(value))))
    return Called(call, read, plan.listed)


def _entered(called: Called, below: Noted, masks: Masks) -> Terms:
    """The cells that an aggregate reads; ids are NULL in rows that it does not count.

    Those of a witnessed aggregate are masked later, by its value.
    """
    where = None if called.witnessed else called.where
    terms = called.read.terms(below, masks, where)
    return union(terms, masks.masked(below.of(WHOLE), where)) if called.whole else terms


class _Groups:
    """An aggregate to which columns of ids are added."""

    def __init__(self, plan: Aggregate, child: Operator) -> None:
        self._plan, self._child = plan, child
        self._collected: dict[Known, Known] = {}
        self._columns: list[Named] = []  # of the groups
        self._above: list[Named] = []  # of a projection over them
        self._kept: list[Ids] = []
        self._any: Named | None = None
        self.flags: dict[Expr, Expr] = {}
        self.reasons: tuple[str, ...] = ()

    def collected(self, terms: Terms) -> Terms:
        """Collect the ids of all rows of the group."""
        return {self._collect(known): columns for known, columns in terms.items()}

    def _collect(self, known: Known) -> Known:
        if known not in self._collected:
            ids, named = gathered({0: known.ids})
            self._columns += named
            self._kept.append(ids[0])
            self._collected[known] = Known(ids[0], known.occurrence)
        return self._collected[known]

    def listed(self, terms: Terms) -> Terms:
        """Collect the ids of the rows whose values a pivot lists; of all rows if it lists none."""
        assert self._plan.listed is not None
        if self._any is None:
            any_listed = self._plan.any_listed
            assert any_listed is not None
            self._any = Named(fresh("_any_listed", "boolean"), any_listed)
            self._columns.append(self._any)
        masks = Masks()
        some = masks.masked(terms, self._plan.listed)
        self._child = masks.over(self._child)
        found: dict[Known, frozenset[int]] = {}
        for (known, columns), one in zip(terms.items(), some, strict=True):
            every, few = self._collect(known), self._collect(one)
            new = new_ids(known.occurrence)
            chosen = Call("if", (true(self._any.attr), few.ids.attr, every.ids.attr), LIST)
            self._above.append(Named(new.attr, chosen))
            found[Known(new, known.occurrence)] = columns
        return found

    def attained(self, called: Called, terms: Terms) -> Terms:
        """Collect the rows as a list of (value, ids), and keep the ids of those with the aggregate's value."""
        if not terms:
            return {}
        call = called.call
        result = fresh("_value", call.dtype)
        fields: list[Expr] = [Literal("v", "string"), call.args[0]]
        types = {"v": call.args[0].dtype}
        for place, known in enumerate(terms):
            fields += [Literal(f"i{place}", "string"), as_list(known.ids)]
            types[f"i{place}"] = LIST
        best = None
        if call.name in BY:
            by = call.args[1]
            fields += [Literal("b", "string"), by]
            types["b"] = by.dtype
            if call.where is not None:  # an aggregate that whence adds has no FILTER
                by = Call("if", (true(call.where), by, Literal(None, by.dtype)), by.dtype)
            best = Named(fresh("_best", by.dtype), AggCall(BY[call.name], (by,), by.dtype))
            self._columns.append(best)
        struct = struct_of(types)
        rows = fresh("_rows", array_of(struct))
        one: Expr = Call("named_struct", tuple(fields), struct)
        if called.where is not None:
            one = Call("if", (true(called.where), one, Literal(None, struct)), struct)
        self._columns += [
            Named(result, call),
            Named(rows, AggCall("collect_list", (one,), rows.dtype)),
        ]
        row = Call("variable", (), struct, "r")
        same: Expr = Compare("<=>", Call("field", (row,), types["v"], "v"), result)
        if best is not None:
            same = And((same, Compare("<=>", Call("field", (row,), types["b"], "b"), best.attr)))
        kept = Call("filter", (rows, Call("lambda", (same, row), "boolean")), rows.dtype)
        found: dict[Known, frozenset[int]] = {}
        for place, (known, columns) in enumerate(terms.items()):
            new = new_ids(known.occurrence)
            lists = Call(
                "transform", (kept, Call("lambda", (Call("field", (row,), LIST, f"i{place}"), row), LIST)), LIST
            )
            once = Call("array_distinct", (Call("flatten", (lists,), LIST),), LIST)
            self._above.append(Named(new.attr, once))
            found[Known(new, known.occurrence)] = columns
        return found

    def made(self, wanted: Mapping[Key, Reads]) -> Operator:
        """Return the operator with all columns so far, and a flag for each condition over its keys and calls."""
        if any(call.python for call in self._plan.calls):
            if any(read.where is not None for each in wanted.values() for read in each.read):
                self.reasons = ("beside a Python function of groups, all branches are assumed to contribute",)
            return self._beside()
        for each in wanted.values():
            for read in each.read:
                if read.where is not None and read.where not in self.flags:
                    flag = fresh("_taken", "boolean")
                    self._columns.append(Named(flag, read.where))
                    self.flags[read.where] = flag
        plan = self._plan
        groups = Aggregate(self._child, plan.keys, (*plan.outputs, *self._columns), plan.listed)
        return Project(groups, (*keep(*dict.fromkeys(groups.output)), *self._above)) if self._above else groups

    def _beside(self) -> Operator:
        """Collect the ids before the aggregate, because Spark allows no other aggregate together with one in Python."""
        below = Tagged(self._child, {place: known.ids for place, known in enumerate(self._collected)})
        tagged = eager._beside(self._plan, below)
        renamed = zip(self._collected.values(), tagged.ids.values(), strict=True)
        columns = tuple(Named(old.ids.attr, new.attr) for old, new in renamed)
        return Project(tagged.plan, (*keep(*dict.fromkeys(self._plan.output)), *columns))
