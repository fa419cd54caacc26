"""The base class of expressions, and the leaves: attributes, literals, parameters, outer references."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count

from whence.errors import BadType
from whence.rows.tree import Tree, walk

_fresh = count(-1, -1)


class Expr(Tree):
    """A value computed from one row. Its `dtype` is Catalyst's name of the type: `long`, `decimal(15,2)`, or JSON."""

    __slots__ = ("_attrs", "_deterministic", "_fallible", "_size")  # computed once: an expression never changes
    _attrs: frozenset[Attr]
    _size: int
    _deterministic: bool
    _fallible: bool  # for `whence.rows.fallible.may_fail`
    dtype: str
    pure: bool = True  # False: a function that may return another value for the same arguments

    @property
    def attrs(self) -> frozenset[Attr]:
        """The attributes that it reads from its row. For a subquery, these are only its outer references."""
        try:
            return self._attrs
        except AttributeError:
            found = frozenset(_attrs(self))
            object.__setattr__(self, "_attrs", found)
            return found

    @property
    def deterministic(self) -> bool:
        """Whether it always has the same value for the same row."""
        try:
            return self._deterministic
        except AttributeError:
            found = _all_pure(self)
            object.__setattr__(self, "_deterministic", found)
            return found

    def settle(self) -> None:
        """Compute what is cached, once it is known of all parts; otherwise every property walks through all of it."""
        every = list(self.parts())
        parts = [part for part in every if isinstance(part, Expr)]
        if not parts or len(parts) < len(every) or isinstance(self, Outer):
            return
        object.__setattr__(self, "_attrs", frozenset().union(*(part.attrs for part in parts)))
        object.__setattr__(self, "_size", 1 + sum(part.size for part in parts))
        object.__setattr__(self, "_deterministic", self.pure and all(part.deterministic for part in parts))

    @property
    def size(self) -> int:
        """The number of trees in it, as `walk` yields them."""
        try:
            return self._size
        except AttributeError:
            found = _size(self)
            object.__setattr__(self, "_size", found)
            return found

    def __str__(self) -> str:
        from whence.rows.printing import shown

        return shown(self)


def _all_pure(expr: Expr) -> bool:
    """Whether no part of it is impure. What is known of a part is used, because a deep expression is asked at each
    level when it is read.
    """
    left = [expr]
    while left:
        each = left.pop()
        known = getattr(each, "_deterministic", None)
        if known is False or not each.pure:
            return False
        if known is None and not isinstance(each, Outer):
            left.extend(part for part in each.parts() if isinstance(part, Expr))
    return True


def _attrs(expr: Expr) -> Iterator[Attr]:
    left = [expr]  # an explicit stack, because expressions may nest deeper than Python's recursion limit
    while left:
        each = left.pop()
        known = getattr(each, "_attrs", None)
        if known is not None:
            yield from known
            continue
        if isinstance(each, Attr):
            yield each
            continue
        for part in each.parts():
            if not isinstance(part, Expr):  # the plan of a subquery
                yield from (outer.attr for outer in walk(part) if isinstance(outer, Outer))
            elif not isinstance(each, Outer):
                left.append(part)


def _size(expr: Expr) -> int:
    found, left = 0, [expr]
    while left:
        each = left.pop()
        known = getattr(each, "_size", None)
        if known is not None:
            found += known
        elif isinstance(each, Expr):
            found += 1
            left.extend(each.parts())  # type: ignore[arg-type]  # the plan of a subquery is counted below
        else:
            found += sum(1 for _ in walk(each))
    return found


@dataclass(frozen=True, slots=True)
class Attr(Expr):
    """A column of an operator's output. Its id (Catalyst's exprId) identifies it, because names may repeat.

    >>> Attr(7, "price", "double") == Attr(7, "renamed", "double")
    True
    """

    id: int
    name: str = field(compare=False)
    dtype: str = field(compare=False)
    nullable: bool = field(default=True, compare=False)

    def __post_init__(self) -> None:
        if type(self.id) is not int:
            raise BadType(f"the id of an attribute must be an integer, not {self.id!r}")

    def __str__(self) -> str:
        return f"{self.name}#{self.id}"


def fresh(name: str, dtype: str, nullable: bool = True) -> Attr:
    """Return a new attribute. Its id is negative, so that it differs from all of Catalyst's."""
    return Attr(next(_fresh), name, dtype, nullable)


def like(attr: Attr) -> Attr:
    """Return a new attribute with the same name and type."""
    return fresh(attr.name, attr.dtype, attr.nullable)


@dataclass(frozen=True, slots=True)
class Literal(Expr):
    """A constant. `value` is a Python object (including Decimal, date, datetime ...); None is NULL.

    A literal of a type without a Python equivalent has Catalyst's string of it as its value, and its origin.
    """

    value: object
    dtype: str
    origin: object = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Param(Expr):
    """A value that is known only when a question is asked, such as `v` in PredTrace's `col = v`."""

    name: str
    dtype: str


@dataclass(frozen=True, slots=True)
class Outer(Expr):
    """A column of the enclosing query, inside a subquery."""

    attr: Attr

    @property
    def dtype(self) -> str:  # type: ignore[override]  # read-only here
        return self.attr.dtype


def attrs_of(*trees: Tree) -> frozenset[Attr]:
    """Every attribute that occurs anywhere in the trees, subquery plans included."""
    return frozenset(part for tree in trees for part in walk(tree) if isinstance(part, Attr))
