"""Terms: the source cells of a value, as columns of ids and indices of source columns.

A term is a column with the ids of source rows, and the source columns of these rows that count. For example, the cells
of `price * (1 - discount)` are one column of ids, which exists already, and two source columns. Nothing is computed.
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
    """A column of ids, and the use of a source that these rows belong to."""

    ids: Ids
    occurrence: int


Terms: TypeAlias = Mapping[Known, frozenset[int]]  # the indices of source columns, for each column of ids
Key: TypeAlias = Any  # anything that has cells: an attribute, `ROWS`, `WHOLE`, an `Item`, a call, a group key
Need: TypeAlias = frozenset[Key]

ROWS = fresh("what decided about the row", LONG)
WHOLE = fresh("the row as such", LONG)


@dataclass(frozen=True, slots=True)
class Item(Tree):
    """One element of a pivot's list."""

    of: Tree
    place: int


@dataclass(frozen=True, slots=True)
class Noted:
    """An operator with columns of ids, and the terms over them for each key that was needed."""

    plan: Operator
    notes: Mapping[Key, Terms]
    reasons: tuple[str, ...] = ()  # why it may be a superset

    def of(self, *keys: Key) -> Terms:
        """The union of the cells of all keys."""
        return union(*(self.notes.get(key, {}) for key in keys))


def union(*terms: Terms) -> Terms:
    """The union of all terms."""
    found: dict[Known, frozenset[int]] = {}
    for each in terms:
        for known, columns in each.items():
            found[known] = found.get(known, frozenset()) | columns
    return found


@dataclass(frozen=True, slots=True)
class Ask:
    """The arguments of a rule: the keys that are needed, whether selection counts, and how to ask an input."""

    need: Need
    selection: bool
    down: Callable[[Operator, Iterable[Key]], Noted]

    def rows(self) -> tuple[Key, ...]:
        """The keys `ROWS` and `WHOLE`, if they are needed."""
        return tuple(key for key in (ROWS, WHOLE) if key in self.need)


@dataclass(slots=True)
class Masks:
    """Columns of ids that are NULL in rows that do not satisfy a condition, created when needed."""

    columns: list[Named] = field(default_factory=list)
    _known: dict[tuple[Expr, Known], Known] = field(default_factory=dict)

    def masked(self, terms: Terms, where: Expr | None) -> Terms:
        """Return the terms for only the rows that satisfy the condition."""
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
        """Add these columns to the rows."""
        if not self.columns:
            return plan
        return Project(plan, (*keep(*dict.fromkeys(plan.output)), *self.columns))


def true(condition: Expr) -> Expr:
    """Whether a condition is true: neither false nor NULL."""
    return Call("coalesce", (condition, FALSE), "boolean")


def both(one: Expr | None, other: Expr | None) -> Expr | None:
    """The conjunction of both conditions; None means no condition."""
    return other if one is None else one if other is None else conjunction(one, other)


def through(
    rule: Callable[..., Tagged], plan: Operator, inputs: Sequence[tuple[Operator, Noted]]
) -> tuple[Operator, Callable[[Terms], Terms], tuple[str, ...]]:
    """Apply a rule of eager lineage to an operator over inputs with columns of ids.

    Return the operator, a function that translates terms over the inputs into terms over the operator, and why the
    result may be a superset.
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
