"""Operators whose row comes from one row, or from one row of each side: cells are passed on.

before: Project n * price as total
after:  total comes from (id, n) and (id, price)
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from whence.rows.cells.reads import Reads, reads
from whence.rows.cells.terms import ROWS, WHOLE, Ask, Item, Key, Known, Masks, Noted, Terms, through, union
from whence.rows.eager import rows as eager
from whence.rows.eager.ids import LIST, LONG, Ids, nothing
from whence.rows.expressions import Attr, Expr, fresh
from whence.rows.operators import (
    Arrange,
    Expand,
    Filter,
    Generate,
    Limit,
    Operator,
    Project,
    Sample,
    Sort,
    Source,
    Union,
    Values,
    keep,
)

Moved = Callable[[Terms], Terms]


def source(plan: Source, ask: Ask) -> Noted:
    """Each cell comes from itself."""
    if plan.is_domain_copy:
        return Noted(plan, {})
    row_id = plan.row_id or fresh(f"_id_{plan.occurrence}", LONG, nullable=False)
    known = Known(Ids(row_id), plan.occurrence)
    notes: dict[Key, Terms] = {}
    for place, attr in enumerate(plan.columns):
        if attr in ask.need:
            notes[attr] = {known: frozenset({place})}
    if WHOLE in ask.need:
        notes[WHOLE] = {known: frozenset(range(len(plan.columns)))}
    return Noted(replace(plan, row_id=row_id) if notes else plan, notes)


def values(plan: Values, ask: Ask) -> Noted:
    return Noted(plan, {})


def one_input(plan: Filter | Sort | Limit | Sample | Arrange, ask: Ask) -> Noted:
    """Pass the cells on. A condition, or the order below a limit, is selection lineage."""
    deciding = reads(_deciding(plan) if ROWS in ask.need else (), True)
    below = ask.down(plan.child, (*ask.need, *deciding.keys))
    made, moved, reasons = through(eager.one_input, plan, [(plan.child, below)])
    return decided(Noted(made, _moved(ask, below, moved), reasons), replace(below, notes=_all(below, moved)), deciding)


def _deciding(plan: Operator) -> tuple[Expr, ...]:
    if isinstance(plan, Filter):
        return (plan.condition,)
    return plan.child.keys if isinstance(plan, Limit) and isinstance(plan.child, Sort) else ()


def decided(noted: Noted, below: Noted, deciding: Reads) -> Noted:
    """Add the cells that selected the rows; conditions are over the operator's own columns."""
    masks = Masks()
    terms = deciding.terms(below, masks)
    if not terms:
        return replace(noted, reasons=(*noted.reasons, *deciding.reasons))
    notes = {**noted.notes, ROWS: union(noted.of(ROWS), terms)}
    return Noted(masks.over(noted.plan), notes, (*noted.reasons, *deciding.reasons))


def _all(below: Noted, moved: Moved) -> dict[Key, Terms]:
    return {key: moved(terms) for key, terms in below.notes.items()}


def _moved(ask: Ask, below: Noted, moved: Moved) -> dict[Key, Terms]:
    return {key: moved(terms) for key, terms in below.notes.items() if key in ask.need}


def project(plan: Project, ask: Ask) -> Noted:
    """The cells that each expression reads."""
    wanted = {named.attr: reads([named.expr], ask.selection) for named in plan.columns if named.attr in ask.need}
    items = {
        key: replace(key, of=named.expr)
        for named in plan.columns
        for key in ask.need
        if isinstance(key, Item) and key.of == named.attr and isinstance(named.expr, Attr)
    }
    need = [key for each in wanted.values() for key in each.keys]
    below = ask.down(plan.child, (*need, *items.values(), *ask.rows()))
    masks = Masks()
    notes: dict[Key, Terms] = {attr: each.terms(below, masks) for attr, each in wanted.items()}
    notes |= {key: below.of(inner) for key, inner in items.items()}
    notes |= {key: below.of(key) for key in ask.rows()}
    made = {column.attr for column in masks.columns}
    used = {known.ids.attr: None for terms in notes.values() for known in terms if known.ids.attr not in made}
    columns = (*plan.columns, *masks.columns, *keep(*used))
    reasons = tuple(reason for each in wanted.values() for reason in each.reasons)
    return Noted(Project(below.plan, columns), notes, (*below.reasons, *reasons))


def generate(plan: Generate, ask: Ask) -> Noted:
    """The cells that the list is made of. They are also selection lineage: without an element, there is no row."""
    made_here = [attr for attr in plan.columns if attr in ask.need]
    inside = reads([plan.generator], ask.selection)
    below = ask.down(plan.child, (*ask.need, *(inside.keys if made_here or ROWS in ask.need else ())))
    masks = Masks()
    terms = inside.terms(below, masks) if made_here or ROWS in ask.need else {}
    ready = Noted(masks.over(below.plan), {**below.notes, plan.generator: terms}, below.reasons)
    made, moved, reasons = through(eager.generate, plan, [(plan.child, ready)])
    notes = _moved(ask, below, moved)
    notes |= {attr: moved(terms) for attr in made_here}
    if ROWS in ask.need:
        notes[ROWS] = union(notes.get(ROWS, {}), moved(terms))
    return Noted(made, notes, (*reasons, *inside.reasons))


def expand(plan: Expand, ask: Ask) -> Noted:
    """The cells that each projection reads; a column of ids is NULL in projections that do not read it."""
    wanted = [(place, attr) for place, attr in enumerate(plan.columns) if attr in ask.need]
    found = {
        (attr, number): reads([projection[place]], ask.selection)
        for place, attr in wanted
        for number, projection in enumerate(plan.projections)
    }
    below = ask.down(plan.child, (*(key for each in found.values() for key in each.keys), *ask.rows()))
    masks, all_rows = Masks(), range(len(plan.projections))
    parts: dict[tuple[Key, Known, frozenset[int]], set[int]] = {}  # the projections in which a key has these cells
    for (attr, number), each in found.items():
        for known, columns in each.terms(below, masks).items():
            parts.setdefault((attr, known, columns), set()).add(number)
    for key in ask.rows():
        for known, columns in below.of(key).items():
            parts[key, known, columns] = set(all_rows)
    notes: dict[Key, dict[Known, frozenset[int]]] = {}
    made: list[Attr] = []
    for key, known, columns in parts:
        ids = Ids(fresh("_cells", LIST if known.ids.many else LONG), known.ids.many)
        made.append(ids.attr)
        notes.setdefault(key, {})[Known(ids, known.occurrence)] = columns
    projections = tuple(
        (
            *projection,
            *(known.ids.attr if number in held else nothing(known.ids.many) for (_, known, _), held in parts.items()),
        )
        for number, projection in enumerate(plan.projections)
    )
    reasons = tuple(reason for each in found.values() for reason in each.reasons)
    child = masks.over(below.plan)
    return Noted(Expand(child, projections, (*plan.columns, *made)), notes, (*below.reasons, *reasons))


def union_all(plan: Union, ask: Ask) -> Noted:
    """The cells of the row's branch; the ids of other branches are NULL."""
    inputs = []
    for child in plan.inputs:
        own = [old for new, old in zip(plan.columns, child.output, strict=True) if new in ask.need]
        inputs.append((child, ask.down(child, (*own, *ask.rows()))))
    made, moved, reasons = through(eager.union, plan, inputs)
    notes: dict[Key, Terms] = {}
    for place, attr in enumerate(plan.columns):
        if attr in ask.need:
            notes[attr] = moved(union(*(noted.of(child.output[place]) for child, noted in inputs)))
    for key in ask.rows():
        notes[key] = moved(union(*(noted.of(key) for _, noted in inputs)))
    return Noted(made, notes, reasons)
