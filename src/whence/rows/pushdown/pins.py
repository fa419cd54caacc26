"""Columns that a predicate fixes to one value, and how other predicates can use these values.

before: a <=> :a and a = c
after:  a <=> :a and c = :a
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from whence.rows.expressions import TRUE, Attr, Compare, Expr, IsNull, conjunction, conjuncts
from whence.rows.tree import Tree, transform

EQUAL = ("=", "<=>")


def pins(*predicates: Expr | None) -> dict[Attr, Expr]:
    """Map each column that has one value in every selected row to this value; follow chains of equalities.

    >>> from whence.rows import Attr, Compare, Param
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> pins(conjunction(Compare("=", a, b), Compare("<=>", a, Param("v", "long"))))[b]
    Param(name='v', dtype='long')
    """
    known: dict[Attr, Expr] = {}
    pairs = [(c.left, c.right) for p in predicates for c in conjuncts(p) if isinstance(c, Compare) and c.op in EQUAL]
    nulls = [c.arg for p in predicates for c in conjuncts(p) if isinstance(c, IsNull) and isinstance(c.arg, Attr)]
    for attr in nulls:
        known.setdefault(attr, _null(attr))
    changed = True
    while changed:
        changed = False
        for left, right in pairs:
            for a, b in ((left, right), (right, left)):
                if isinstance(a, Attr) and a not in known and b.deterministic and _has_one_value(b, known):
                    known[a] = substituted(b, known)
                    changed = True
    return known


def _has_one_value(expr: Expr, known: Mapping[Attr, Expr]) -> bool:
    return expr.attrs <= known.keys() and (isinstance(expr, Attr) or all(may_replace(a, expr) for a in expr.attrs))


def _null(attr: Attr) -> Expr:
    from whence.rows.expressions import Literal

    return Literal(None, attr.dtype)


def substituted(expr: Expr, values: Mapping[Attr, Expr]) -> Expr:
    """Replace columns in the expression by the given values."""

    def change(part: Tree) -> Tree:
        return values.get(part, part) if isinstance(part, Attr) else part

    out = transform(expr, change)
    assert isinstance(out, Expr)
    return out


def is_pin(conjunct: Expr) -> bool:
    """Whether a conjunct fixes a column to a value that does not depend on the row."""
    if isinstance(conjunct, IsNull):
        return isinstance(conjunct.arg, Attr)
    if not isinstance(conjunct, Compare) or conjunct.op not in EQUAL:
        return False
    sides = (conjunct.left, conjunct.right)
    return any(isinstance(a, Attr) and not b.attrs for a, b in (sides, sides[::-1]))


def side(
    facts: Iterable[Expr], known: Mapping[Attr, Expr], columns: frozenset[Attr], *, stated: bool = True
) -> tuple[Expr, bool]:
    """Return what facts about pairs of rows say about one side, and whether that is all that they say about it.

    Columns of the other side are replaced by their values, if known. If `stated`, known values of this side are added
    to the predicate. This is wrong where a pair may be missing: a column known by `=` is not null, but its value may
    be.
    """
    out: list[Expr] = []
    whole = True
    for fact in facts:
        if not fact.deterministic:
            whole = whole and not (fact.attrs & columns)
            continue
        if not fact.attrs & columns:
            continue
        others = {attr: known[attr] for attr in fact.attrs - columns if attr in known and may_replace(attr, fact)}
        reduced = substituted(fact, others) if others else fact
        if reduced.attrs <= columns:
            out.append(reduced)
        else:
            whole = False
    if stated:
        out += [Compare("<=>", attr, known[attr]) for attr in columns if attr in known]
    return _tidy(out), whole


def may_replace(attr: Attr, fact: Expr) -> bool:
    """Whether a column can be replaced by a value that is equal to it.

    Equal values may differ in floating point (0.0 and -0.0) and in strings with a collation. A comparison does not
    distinguish them, but a function may.
    """
    if attr.dtype not in ("float", "double") and "collat" not in attr.dtype.lower():
        return True
    return isinstance(fact, Compare) and attr in (fact.left, fact.right)


def _tidy(facts: list[Expr]) -> Expr:
    """Remove duplicates, and `a = v` if there is also `a <=> v`."""
    pinned = {(f.left, f.right) for f in facts if isinstance(f, Compare) and f.op == "<=>"}
    kept = [f for f in facts if not (isinstance(f, Compare) and f.op == "=" and _implied(f, pinned))]
    return conjunction(TRUE, *kept)


def _implied(fact: Compare, pinned: set[tuple[Expr, Expr]]) -> bool:
    return (fact.left, fact.right) in pinned or (fact.right, fact.left) in pinned
