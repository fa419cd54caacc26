"""The cells that an expression reads; for CASE and coalesce, only those of the branch that is taken.

before: case when a > 0 then b else c end
after:  b where a > 0, c where not a > 0; with selection also a
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass

from whence.rows.cells.terms import Item, Key, Masks, Noted, Terms, both, true, union
from whence.rows.expressions import TRUE, Attr, Call, Expr, IsNull, Literal, Not, Udf
from whence.rows.tree import Tree, transform


@dataclass(frozen=True, slots=True)
class Read:
    """A key that is read if a condition is true; None means always."""

    key: Key
    where: Expr | None = None


@dataclass(frozen=True, slots=True)
class Reads:
    """Everything that some expressions read."""

    read: tuple[Read, ...]
    reasons: tuple[str, ...] = ()

    @property
    def keys(self) -> tuple[Key, ...]:
        return tuple(dict.fromkeys(each.key for each in self.read))

    def terms(self, below: Noted, masks: Masks, where: Expr | None = None) -> Terms:
        """Return the cells, given those of the keys; with `where`, only in rows for which it is true."""
        return union(*(masks.masked(below.of(each.key), both(where, each.where)) for each in self.read))


def reads(exprs: Iterable[Tree], selection: bool, leaves: Collection[Tree] = (), items: bool = True) -> Reads:
    """Return the attributes that expressions read; `leaves` are not descended into. With `selection`, conditions count.

    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> [str(each.key) for each in reads([Call("Coalesce", (a, b), "long")], False).read]
    ['a#1', 'b#2']
    """
    found: dict[Read, None] = {}
    reasons: dict[str, None] = {}
    open_: list[tuple[Tree, Expr | None]] = [(expr, None) for expr in exprs]
    while open_:  # an explicit stack, because expressions may nest deeper than Python's recursion limit
        expr, where = open_.pop()
        if isinstance(expr, Attr) or expr in leaves:
            found[Read(expr, where)] = None
        elif items and _item(expr, leaves) is not None:
            found[Read(_item(expr, leaves) or expr, where)] = None
        elif isinstance(expr, Call) and expr.name == "With":
            open_.append((_written_out(expr), where))
        elif isinstance(expr, Call) and expr.name in BRANCHES and expr.deterministic:
            branches = BRANCHES[expr.name](expr, selection)
            open_ += [(part, both(where, condition)) for part, condition in branches]
        elif isinstance(expr, Udf) and expr.deterministic and expr.inside is not None and expr.inside.domain == TRUE:
            open_.append((expr.over(expr.inside.value), where))
        else:
            if isinstance(expr, Udf) and len(expr.attrs) > 1:
                reasons[f"the Python function ({expr.name}) is assumed to read all its arguments"] = None
            if isinstance(expr, Call) and expr.name in BRANCHES:
                reasons[f"{expr.name.lower()} is random: all its branches are assumed to contribute"] = None
            open_ += [(part, where) for part in expr.parts() if isinstance(part, Expr)]
    return Reads(tuple(reversed(found)), tuple(reasons))


def _item(expr: Tree, leaves: Collection[Tree]) -> Item | None:
    """Return the element of a pivot's list that the expression is, if any."""
    if not isinstance(expr, Call) or expr.name != "GetArrayItem":
        return None
    of, place = expr.args
    if not (isinstance(of, Attr) or of in leaves) or not isinstance(place, Literal) or type(place.value) is not int:
        return None
    return Item(of, place.value)


def _written_out(expr: Call) -> Expr:
    """Replace references to common subexpressions, which BETWEEN and `nullif` have, by these subexpressions."""
    child, *defined = expr.args
    known = {_name(each): each.args[0] for each in defined if isinstance(each, Call)}

    def change(part: Tree) -> Tree:
        is_name = isinstance(part, Call) and part.name == "CommonExpressionRef"
        return known.get(_name(part), part) if is_name else part

    made: Expr = transform(child, change)
    return made


def _name(part: Tree) -> str:
    assert isinstance(part, Call)
    return next(each for each in part.detail.split() if each.startswith("id="))


Branch = tuple[Expr, Expr | None]


def _case(expr: Call, selection: bool) -> Iterator[Branch]:
    """CASE: each branch is read if its condition is the first that is true."""
    args, before = list(expr.args), None
    while len(args) > 1:
        condition, branch = args.pop(0), args.pop(0)
        if selection:
            yield condition, before
        yield branch, both(before, true(condition))
        before = both(before, Not(true(condition)))
    if args:
        yield args[0], before


def _if(expr: Call, selection: bool) -> Iterator[Branch]:
    condition, yes, no = expr.args
    if selection:
        yield condition, None
    yield yes, true(condition)
    yield no, Not(true(condition))


def _coalesce(expr: Call, selection: bool) -> Iterator[Branch]:
    """The first value that is not NULL. With selection, the values before it are read, too, because they are NULL."""
    before: Expr | None = None
    for each in expr.args[:-1]:
        yield each, before if selection else both(before, Not(IsNull(each)))
        before = both(before, IsNull(each))
    yield expr.args[-1], before


def _null_if(expr: Call, selection: bool) -> Iterator[Branch]:
    """`nullif`: if the condition is true, the value is NULL and comes from no cell."""
    condition, value = expr.args
    if selection:
        yield condition, None
    yield value, Not(true(condition))


BRANCHES: dict[str, Callable[[Call, bool], Iterator[Branch]]] = {
    "CaseWhen": _case,
    "If": _if,
    "Coalesce": _coalesce,
    "NullIfResult": _null_if,
}
