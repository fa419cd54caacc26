"""Terms: the source cells of a value, as columns of ids and names of source columns.

A term is a column that holds the ids of source rows, with the source columns that are meant in these rows. So the cells
of `price * (1 - discount)` are one column of ids that was there already, and two names: nothing is computed for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from whence.rows.eager.ids import LIST, LONG, Ids, Tagged, nothing
from whence.rows.expressions import FALSE, Call, Expr, conjunction, fresh
from whence.rows.operators import Named, Operator, Project, keep
from whence.rows.tree import Tree


@dataclass(frozen=True, slots=True)
class Known:
    """A column of ids, and the use of a source whose rows they are."""

    ids: Ids
    occurrence: int


Terms: TypeAlias = Mapping[Known, frozenset[int]]  # the places of source columns, for each column of ids
Key: TypeAlias = Any  # what has cells: an attribute, `ROWS`, `WHOLE`, an `Item`, a call, a group's key
Need: TypeAlias = frozenset[Key]

ROWS = fresh("what decided about the row", LONG)
WHOLE = fresh("the row as such", LONG)


@dataclass(frozen=True, slots=True)
class Item(Tree):
    """One element of the list that a pivot makes."""

    of: Tree
    place: int


@dataclass(frozen=True, slots=True)
class Noted:
    """An operator with columns of ids, and what they say of each key that was needed."""

    plan: Operator
    notes: Mapping[Key, Terms]
    reasons: tuple[str, ...] = ()  # why there may be more cells than count

    def of(self, *keys: Key) -> Terms:
        """The cells of all keys."""
        return union(*(self.notes.get(key, {}) for key in keys))


def union(*terms: Terms) -> Terms:
    """All cells of all of them."""
    found: dict[Known, frozenset[int]] = {}
    for each in terms:
        for known, columns in each.items():
            found[known] = found.get(known, frozenset()) | columns
    return found


@dataclass(frozen=True, slots=True)
class Ask:
    """What a rule is given: the keys that are needed, whether selection counts, and how to ask an input."""

    need: Need
    selection: bool
    down: Callable[[Operator, Iterable[Key]], Noted]

    def rows(self) -> tuple[Key, ...]:
        """Of what is asked about whole rows, all."""
        return tuple(key for key in (ROWS, WHOLE) if key in self.need)


@dataclass(slots=True)
class Masks:
    """Columns of ids that are NULL where a condition does not hold, made as they are needed."""

    columns: list[Named] = field(default_factory=list)
    _known: dict[tuple[Expr, Known], Known] = field(default_factory=dict)

    def masked(self, terms: Terms, where: Expr | None) -> Terms:
        """The terms, for the rows alone where the condition is true."""
        if where is None:
            return terms
        return {self._mask(known, where): columns for known, columns in terms.items()}

    def _mask(self, known: Known, where: Expr) -> Known:
        key = (where, known)
        if key not in self._known:
            ids = Ids(fresh("_cells", LIST if known.ids.many else LONG), known.ids.many)
            value = Call("if", (true(where), known.ids.attr, nothing(known.ids.many)), ids.attr.dtype)
            self.columns.append(Named(ids.attr, value))
            self._known[key] = Known(ids, known.occurrence)
        return self._known[key]

    def over(self, plan: Operator) -> Operator:
        """The rows with these columns."""
        if not self.columns:
            return plan
        return Project(plan, (*keep(*dict.fromkeys(plan.output)), *self.columns))


def true(condition: Expr) -> Expr:
    """Whether a condition is true: neither false nor NULL."""
    return Call("coalesce", (condition, FALSE), "boolean")


def both(one: Expr | None, other: Expr | None) -> Expr | None:
    """Both conditions; None is no condition."""
    return other if one is None else one if other is None else conjunction(one, other)


def through(
    rule: Callable[..., Tagged], plan: Operator, inputs: Sequence[tuple[Operator, Noted]]
) -> tuple[Operator, Callable[[Terms], Terms], tuple[str, ...]]:
    """What eager lineage makes of an operator over inputs with columns of ids: each is passed on, or put together.

    It gives the operator, how terms over the inputs read above it, and why they may be too many.
    """
    numbers: dict[Known, int] = {}
    tags: dict[int, Tagged] = {}
    for child, noted in inputs:
        own = [known for terms in noted.notes.values() for known in terms]
        for known in own:
            numbers.setdefault(known, len(numbers))
        tags[id(child)] = Tagged(noted.plan, {numbers[known]: known.ids for known in own}, noted.reasons)
    tagged = rule(plan, lambda child: tags[id(child)])

    def moved(terms: Terms) -> Terms:
        found = ((known, columns) for known, columns in terms.items() if numbers[known] in tagged.ids)
        return {Known(tagged.ids[numbers[known]], known.occurrence): columns for known, columns in found}

    return tagged.plan, moved, tagged.reasons
