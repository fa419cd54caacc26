"""Generators: the input row that was expanded.

before: id <=> :id and item <=> :item  on  Generate(explode(items) as item)
after:  id <=> :id and exists(items, x -> x <=> :item)
"""

from __future__ import annotations

from itertools import count

from whence.rows.expressions import Attr, Call, Compare, Expr, Literal, conjunction, conjuncts, disjunction
from whence.rows.operators import Generate
from whence.rows.pushdown.base import Aim, Pushed
from whence.rows.pushdown.pins import substituted

ARRAY = '{"type":"array"'
_names = count()


def push_generate(op: Generate, predicate: Expr, aim: Aim) -> Pushed:
    """Select the row if one of its elements is selected. For explode over an array, `exists` expresses this."""
    kept = frozenset(op.kept)
    facts = [fact for fact in conjuncts(predicate) if fact.deterministic]
    about_row = conjunction(*(fact for fact in facts if fact.attrs <= kept))
    about_element = conjunction(*(fact for fact in facts if not fact.attrs <= kept))
    if len(facts) == len(conjuncts(predicate)) and _explodes(op):
        return Pushed((conjunction(about_row, _some_element(op, about_element)),))
    decided = op.outer and len(facts) == len(conjuncts(predicate)) and not about_element.attrs
    why = "" if decided else "rows that differ only in the expanded column may match too"
    return Pushed((about_row,), decided, why)


def _explodes(op: Generate) -> bool:
    generator = op.generator
    return (
        isinstance(generator, Call)
        and generator.name in ("Explode", "explode")
        and len(op.columns) == 1
        and len(generator.args) == 1
        and generator.args[0].dtype.startswith(ARRAY)
        and generator.deterministic
    )


def _some_element(op: Generate, fact: Expr) -> Expr:
    """Some element satisfies the fact. With an outer explode, a null counts as the element of an empty array."""
    assert isinstance(op.generator, Call)
    array, column = op.generator.args[0], op.columns[0]
    variable = Call("variable", (), column.dtype, f"element_{next(_names)}")
    body = substituted(fact, {column: variable})
    found = Call("exists", (array, Call("lambda", (body, variable), "boolean")), "boolean")
    if not op.outer:
        return found
    nothing: dict[Attr, Expr] = {column: Literal(None, column.dtype)}
    size = Call("coalesce", (Call("array_size", (array,), "integer"), Literal(0, "integer")), "integer")
    return disjunction(found, conjunction(Compare("=", size, Literal(0, "integer")), substituted(fact, nothing)))
