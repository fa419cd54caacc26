"""Three-valued logic and comparisons, which predicates are made of."""

from __future__ import annotations

from dataclasses import dataclass

from whence.errors import BadType
from whence.rows.expressions.base import Expr, Literal

# `<=>` is equality in which NULL equals NULL; its result is never NULL.
COMPARISONS = ("=", "<=>", "!=", "<", "<=", ">", ">=")
TRUE = Literal(True, "boolean")
FALSE = Literal(False, "boolean")


class Logic(Expr):
    """The base class of expressions that are always boolean."""

    __slots__ = ()

    @property
    def dtype(self) -> str:  # type: ignore[override]  # read-only here
        return "boolean"


@dataclass(frozen=True, slots=True)
class Compare(Logic):
    """`left op right`, as Spark compares: both sides have one type; NaN equals itself and exceeds all numbers."""

    op: str
    left: Expr
    right: Expr

    def __post_init__(self) -> None:
        if self.op not in COMPARISONS:
            raise BadType(f"no comparison {self.op!r}: it is one of {', '.join(COMPARISONS)}")


@dataclass(frozen=True, slots=True)
class And(Logic):
    """All arguments are true. `conjunction` makes one without nesting."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Or(Logic):
    """At least one argument is true."""

    args: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Not(Logic):
    arg: Expr


@dataclass(frozen=True, slots=True)
class IsNull(Logic):
    """`arg IS NULL`; IS NOT NULL is `Not(IsNull(arg))`."""

    arg: Expr


@dataclass(frozen=True, slots=True)
class In(Logic):
    """`arg IN (values)`: NULL if no value is equal, and a value or the argument is NULL."""

    arg: Expr
    values: tuple[Expr, ...]


def conjuncts(predicate: Expr | None) -> tuple[Expr, ...]:
    """Return the conjuncts of a predicate as a flat tuple; empty for TRUE or None."""
    if predicate is None or (isinstance(predicate, Literal) and predicate == TRUE):
        return ()
    if not isinstance(predicate, And):
        return (predicate,)
    flat: list[Expr] = []
    for arg in predicate.args:
        if isinstance(arg, And | Literal):
            flat.extend(conjuncts(arg))
        else:
            flat.append(arg)
    return tuple(flat)


def conjunction(*predicates: Expr | None) -> Expr:
    """Return the conjunction of all predicates, flat and without duplicates.

    >>> from whence.rows import Attr, IsNull
    >>> a = IsNull(Attr(1, "a", "long"))
    >>> conjunction(a, TRUE, conjunction(a, None)) == a
    True
    """
    # Only parts of equal size are compared, because the hash of a large one takes time.
    groups: dict[tuple[object, ...], list[Expr]] = {}
    for predicate in predicates:
        for each in conjuncts(predicate):
            groups.setdefault((type(each), each.size, each.attrs), []).append(each)
    if any(len(group) > 1 for group in groups.values()):
        flat = tuple(dict.fromkeys(each for predicate in predicates for each in conjuncts(predicate)))
    else:
        flat = tuple(group[0] for group in groups.values())
    if FALSE in flat:
        return FALSE
    if not flat:
        return TRUE
    return flat[0] if len(flat) == 1 else And(flat)


def disjunction(*predicates: Expr) -> Expr:
    """Return the disjunction of the predicates, flat and without duplicates; FALSE for none."""
    flat: dict[Expr, None] = {}
    for each in predicates:
        flat.update(dict.fromkeys(each.args if isinstance(each, Or) else (each,)))
    flat.pop(FALSE, None)
    if TRUE in flat:
        return TRUE
    if not flat:
        return FALSE
    return next(iter(flat)) if len(flat) == 1 else Or(tuple(flat))
