"""Recognise tables that plain pandas code made from known ones: filtered, sorted, merged, or with more columns.

pandas keeps row labels, so the index shows which row of the known table each row was. If the index was reset, a column
of unique values, such as an id, shows it. Then each column is compared with the column of the same name in these rows.
If they are equal, it came from there. Other columns may come from an array that the program holds; the rest is new.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.linking import content
from whence.arrays.linking.arrivals import Arrival, Seen
from whence.arrays.linking.content import points
from whence.arrays.linking.frames import array_behind, column_digest
from whence.arrays.linking.layout import Layout, Shape
from whence.arrays.linking.living import Living
from whence.arrays.rules._rows import Factor, affine, factor, gathered, only_in, pieces, product, row
from whence.relation import Relation

if TYPE_CHECKING:
    import pandas as pd

Ints = NDArray[np.int64]

MOST_BYTES = 1 << 28  # the most memory of tables that are kept for comparison
MOST_TABLES = 64
MOST_KEYS = 3  # the most columns of unique values that are tried
ENOUGH = content.ENOUGH // 2  # fewer points suffice, because names and labels are equal already


@dataclass(slots=True)
class Known:
    """A recorded table. The shallow copy shares its memory; the digests show what has changed since."""

    name: str
    frame: pd.DataFrame
    digests: tuple[bytes, ...]
    itself: weakref.ref[Any]
    before: frozenset[str]  # the tables that it came from, directly or indirectly

    @property
    def shape(self) -> Shape:
        """Rows and columns."""
        return len(self.frame), len(self.frame.columns)

    def rows_of(self, table: pd.DataFrame) -> Iterator[Ints | None]:
        """Yield possible mappings from the rows of a table to its own; None means the same rows in the same order."""
        import pandas as pd

        if table.index.equals(self.frame.index):
            yield None
        elif self.frame.index.is_unique and table.index.dtype == self.frame.index.dtype:
            places = self.frame.index.get_indexer(table.index)
            if (places >= 0).all():
                yield places.astype(np.int64)
        tried = 0
        for place, own in self.same_names(table):
            key, wanted = self.frame.iloc[:, own], table.iloc[:, place]
            if key.dtype != wanted.dtype or not _hashable(key) or key.hasnans or not key.is_unique:
                continue
            places = pd.Index(key).get_indexer(pd.Index(wanted))
            if (places >= 0).all():
                yield places.astype(np.int64)
            tried += 1
            if tried == MOST_KEYS:
                return

    def same_names(self, table: pd.DataFrame) -> Iterator[tuple[int, int]]:
        """Yield the columns that have the same name in both: the index in `table`, and the index here."""
        names = list(self.frame.columns)
        own = {name: place for place, name in enumerate(names) if names.count(name) == 1}
        for place, name in enumerate(table.columns):
            if name in own:
                yield place, own[name]

    def kept_in(self, table: pd.DataFrame, rows: Ints | None) -> dict[int, int]:
        """Return the columns of a table that equal its own columns of the same name in these rows."""
        return {
            place: own
            for place, own in self.same_names(table)
            if _equal(_taken(self.frame.iloc[:, own], rows), table.iloc[:, place])
            and column_digest(self.frame.iloc[:, own]) == self.digests[own] != b""
        }


@dataclass(frozen=True, slots=True)
class Match:
    """A known table, and the rows and columns of it that another table contains."""

    known: Known
    rows: Ints | None
    columns: dict[int, int]
    same: bool  # whether it is the same table, changed since

    def is_enough(self, table: pd.DataFrame) -> bool:
        """Whether the columns are unlikely to be equal by chance."""
        return self.same or sum(points_of(table.iloc[:, place]) for place in self.columns) >= ENOUGH


@dataclass(slots=True)
class Tables:
    """The latest tables that a log knows. Callers lock it while they use it."""

    _known: dict[str, Known] = field(default_factory=dict)

    def keep(self, table: Any, name: str, digests: tuple[bytes, ...], before: frozenset[str]) -> None:
        """Add a table that was recorded as a dataset. `before` are the tables that it came from."""
        known = self._known.pop(name, None)
        if int(table.memory_usage(deep=False).sum()) > MOST_BYTES:
            return
        every = before.union(*(self._known[each].before for each in before if each in self._known))
        if known is not None:
            every |= known.before
        self._known[name] = Known(name, table.copy(deep=False), digests, weakref.ref(table), every)
        while len(self._known) > MOST_TABLES or self._size() > MOST_BYTES:
            del self._known[next(iter(self._known))]

    def _size(self) -> int:
        return sum(int(each.frame.memory_usage(deep=False).sum()) for each in self._known.values())

    def rename(self, other: Mapping[str, str]) -> None:
        """Rename datasets whose names another program took first."""
        for each in self._known.values():
            each.name = other.get(each.name, each.name)
            each.before = frozenset(other.get(name, name) for name in each.before)
        self._known = {each.name: each for each in self._known.values()}

    def find(self, table: pd.DataFrame, digest: bytes, living: Living) -> Arrival | None:
        """Find the sources of a table by its columns; None if there are none."""
        if not len(table) or not len(table.columns):
            return None
        matches = self._matches(table)
        if len(matches) > 1 and (rival := _rival(matches)) is not None:
            why = f"it holds what {matches[0].known.name!r} and {rival.known.name!r} hold, and may come from either"
            return Arrival("new", digest, why=why)
        shape, free = table.shape, set(range(len(table.columns)))
        sources: list[tuple[Seen, Relation | None]] = []
        orders: list[tuple[int, Ints | None, Any]] = [(len(table), None, None)]
        for match in matches:
            left = Match(match.known, match.rows, {a: b for a, b in match.columns.items() if a in free}, match.same)
            if left.columns and left.is_enough(table):
                free -= set(left.columns)
                sources.append((_seen(match.known.name, match.known.shape), _columns(shape, left)))
                if match.rows is not None:
                    orders.append((match.known.shape[0], match.rows, match.known.itself()))
        by_content = not all(match.same for match in matches if match.columns.keys() - free)
        for place in sorted(free):
            found = _array(table, place, living, orders)
            if found is not None:
                free.remove(place)
                sources.append(found)
                by_content = True
        if not sources:
            return None
        return Arrival("table", digest, tuple(sources), rest=tuple(sorted(free)), by_content=by_content)

    def _matches(self, table: pd.DataFrame) -> list[Match]:
        """Return the tables that it may come from: itself first, then those with the most columns, then the latest."""
        found = []
        for known in reversed(self._known.values()):
            same = known.itself() is table
            tried = [Match(known, rows, known.kept_in(table, rows), same) for rows in known.rows_of(table)]
            best = max(tried, key=lambda each: len(each.columns), default=None)
            if best is not None and best.columns and best.is_enough(table):
                found.append(best)
        found.sort(key=lambda each: (each.same, len(each.columns), each.known.itself() is not None), reverse=True)
        return found


def points_of(column: pd.Series) -> int:
    """Measure how unlikely an equal column is by chance (see `points`); each distinct string or date counts two."""
    array = array_behind(column)
    if array is not None:
        return points(array)
    return 2 * int(column[: content.ENOUGH].nunique()) if _hashable(column) else 0


def is_distinctive_table(table: Any) -> bool:
    """Whether two tables are unlikely to have this content by chance."""
    columns = [table] if table.ndim == 1 else [table.iloc[:, place] for place in range(len(table.columns))]
    return sum(map(points_of, columns)) >= content.ENOUGH


def _rival(matches: list[Match]) -> Match | None:
    """Return another table with the same columns as the best match, if it may just as well be the source."""
    best = matches[0]
    lives = best.known.itself() is not None
    for each in matches[1:]:
        related = each.known.name in best.known.before or best.known.name in each.known.before
        alike = each.columns.keys() == best.columns.keys() and (each.known.itself() is not None) == lives
        if alike and not related and not best.same:
            return each
    return None


def _hashable(column: pd.Series) -> bool:
    """Whether its values can be hashed, as strings, numbers and dates can."""
    import pandas as pd

    if column.dtype != object:
        return True
    return pd.api.types.infer_dtype(column, skipna=True) in ("string", "date", "decimal", "integer", "boolean")


def _taken(column: pd.Series, rows: Ints | None) -> pd.Series:
    return column if rows is None else column.take(rows)


def _equal(one: pd.Series, other: pd.Series) -> bool:
    if one.dtype != other.dtype or len(one) != len(other) or not _hashable(other):
        return False
    return bool(one.array.equals(other.array))


def _array(
    table: pd.DataFrame, place: int, living: Living, orders: Sequence[tuple[int, Ints | None, Any]]
) -> tuple[Seen, Relation] | None:
    """Return the known array that a column was taken from, if there is only one.

    Each of `orders` has the number of rows before, the indices of the rows that are left, and the table that had them,
    if it is still referenced: the column may have been added to that table after it was recorded.
    """
    column = table.iloc[:, place]
    array = array_behind(column)
    if array is None or points(array) < ENOUGH:
        return None
    found: dict[str, tuple[Seen, Relation]] = {}
    for length, rows, before in orders:
        for seen, own in living.with_column(array, length, rows):
            found[seen.name] = (seen, _of_array(table.shape, place, seen.layout.shape, rows, own))
        whole = array if rows is None else _column_before(before, column, rows)
        for seen, relation in living.holding(whole) if whole is not None and len(whole) == length else ():
            found.setdefault(seen.name, (seen, _of_array(table.shape, place, (length,), rows, None).compose(relation)))
    return next(iter(found.values())) if len(found) == 1 else None


def _column_before(before: Any, column: pd.Series, rows: Ints) -> NDArray[Any] | None:
    """Return the column of the same name of the table that had these rows, if it is equal in these rows."""
    if before is None or list(before.columns).count(column.name) != 1 or rows.max() >= len(before):
        return None
    whole = before[column.name]
    return array_behind(whole) if _equal(_taken(whole, rows), column) else None


def _seen(name: str, shape: Shape) -> Seen:
    return Seen(name, Layout(0, shape, (0, 0), ""), b"", False, weakref.ref(_Gone()))


class _Gone:
    """The owner of tables that are known by content only."""


def _rows(rows: Ints | None, length: int, out: int) -> Factor:
    return affine(0, 0, out) if rows is None else gathered(0, 0, rows, length)


def _columns(shape: Shape, match: Match) -> Relation:
    """Return the relation of a table to the known table that its rows and columns came from."""
    runs = [(place, place, own, 1) for place, own in sorted(match.columns.items())]
    factors = [_rows(match.rows, match.known.shape[0], shape[0]), pieces(1, 1, runs)]
    return product(shape, match.known.shape, factors)


def _of_array(shape: Shape, place: int, in_shape: Shape, rows: Ints | None, column: int | None) -> Relation:
    """Return the relation of one column of a table to an array, or to a column of an array."""
    factors = [_rows(rows, in_shape[0], shape[0]), factor([1], [], [row((place, place))])]
    return product(shape, in_shape, factors if column is None else [*factors, only_in(1, column)])
