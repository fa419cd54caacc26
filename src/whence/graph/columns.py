"""The properties of vertices and edges as columns, and the names of vertices."""

from __future__ import annotations

import json
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from whence.errors import BadGraph, BadType, UnknownName
from whence.graph.model import Numbers

_MANY, _FEW = 100_000, 8  # with more names than _MANY, the first _FEW lookups scan the list


class Ids:
    """Maps indices of vertices to names, and back. Without names, a vertex is named by its index.

    >>> ids = Ids(["raw", "clean"], 2)
    >>> ids[1], ids.number("raw"), "dirty" in ids
    ('clean', 0, False)
    """

    def __init__(self, names: Sequence[str] | None, count: int, *, unique: bool = False) -> None:
        if names is not None and len(names) != count:
            raise BadType(f"{len(names)} ids for {count} vertices: give one for each")
        self._names = names
        self._count = count
        self._numbers: dict[str, int] | None = None
        self._unique = unique  # whether the names are known to be unique
        self._sought = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, number: int) -> str:
        return str(int(number)) if self._names is None else self._names[number]

    def __iter__(self) -> Iterator[str]:
        return map(str, range(self._count)) if self._names is None else iter(self._names)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self.find(name) is not None

    def of(self, numbers: Iterable[int]) -> list[str]:
        """The names of these vertices."""
        return [self[number] for number in numbers]

    def find(self, name: str) -> int | None:
        """The index of the vertex with this name, or None."""
        if self._names is None:
            return int(name) if name.isdecimal() and str(int(name)) == name and int(name) < self._count else None
        if self._numbers is None and self._count > _MANY and self._sought < _FEW:  # faster than building a dictionary
            self._sought += 1
            try:
                return self._names.index(name)
            except ValueError:
                return None
        return self._table().get(name)

    def number(self, name: str) -> int:
        """The index of the vertex with this name. Raise UnknownName with similar names if there is none."""
        found = self.find(name)
        if found is None:
            near = () if self._names is None or self._count > 100_000 else self._names
            raise UnknownName.of("vertex", name, near)
        return found

    @property
    def unique(self) -> bool:
        """Whether no two vertices have the same name."""
        return self._unique or self._names is None or len(self._table()) == self._count

    def check_unique(self) -> None:
        """Raise an error that names an id which occurs twice."""
        if self._names is not None and not self.unique:
            seen: set[str] = set()
            for name in self._names:
                if name in seen:
                    raise BadGraph(f"the id {name!r} occurs twice: give each vertex its own id")
                seen.add(name)

    def _table(self) -> dict[str, int]:
        if self._numbers is None:
            self._numbers = dict(zip(self._names or (), range(self._count), strict=True))
        return self._numbers


Held = Mapping[str, tuple[Numbers, Sequence[Any]]]


class Columns:
    """Properties of vertices or edges: for each property the rows that have it, ascending, and their values.

    >>> columns = Columns.from_rows([{"lr": 0.1}, {}, {"lr": 0.2, "iter": 20}])
    >>> columns.row(2), columns.get(1, "lr")
    ({'lr': 0.2, 'iter': 20}, None)
    """

    def __init__(self, columns: Held | Callable[[], Held] | None = None) -> None:
        self._given: Held | Callable[[], Held] = columns or {}

    @cached_property
    def _columns(self) -> Held:
        """The columns. If a function was given, it is called at the first use."""
        given = self._given
        found = self._given = given() if callable(given) else dict(given)  # two threads would get equal results
        return found

    @classmethod
    def from_rows(cls, rows: Iterable[Mapping[str, Any]]) -> Columns:
        """Make columns from one mapping for each row."""
        gathered: dict[str, tuple[list[int], list[Any]]] = {}
        for number, row in enumerate(rows):
            for name, value in row.items():
                column = gathered.get(name)
                if column is None:
                    column = gathered[name] = ([], [])
                column[0].append(number)
                column[1].append(value)
        return cls({name: (np.array(rows, np.int32), values) for name, (rows, values) in gathered.items()})

    @classmethod
    def of(cls, given: Mapping[str, Any], count: int) -> Columns:
        """Make columns from a caller's properties: a value (or None) for each row, or a pair (rows, values)."""
        columns: dict[str, tuple[Numbers, Sequence[Any]]] = {}
        for name, values in given.items():
            if isinstance(values, tuple) and len(values) == 2 and isinstance(values[0], np.ndarray):
                rows, own = values
            else:
                if len(values) != count:
                    raise BadType(f"the property {name!r} has {len(values)} values for {count} rows: give one for each")
                held = [(row, value) for row, value in enumerate(values) if value is not None]
                rows, own = [row for row, _ in held], [value for _, value in held]
            columns[name] = (np.asarray(rows, np.int32), own)
        return cls(columns)

    @property
    def names(self) -> list[str]:
        """The names of all properties."""
        return list(self._columns)

    def values(self, name: str) -> Sequence[Any]:
        """All values of a property, in the order of the rows that have it."""
        return self._columns[name][1]

    def having_any(self) -> Numbers:
        """The rows that have any property, ascending."""
        rows = [rows for rows, _ in self._columns.values()]
        return np.unique(np.concatenate(rows)).astype(np.int32) if rows else np.zeros(0, np.int32)

    def called(self, name: str) -> list[str]:
        """The properties with a name: this name itself, else this name in any namespace (`ex:lr` for `lr`)."""
        if name in self._columns:
            return [name]
        return [each for each in self._columns if each.rpartition(":")[2] == name]

    def get(self, row: int, name: str) -> Any:
        """The value of a property, or None."""
        for each in self.called(name):
            rows, values = self._columns[each]
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row:
                return values[place]
        return None

    def row(self, row: int) -> dict[str, Any]:
        """All properties of one row."""
        found = {}
        for name, (rows, values) in self._columns.items():
            place = int(np.searchsorted(rows, row))
            if place < len(rows) and rows[place] == row:
                found[name] = values[place]
        return found

    def rows(self, rows: Numbers) -> list[dict[str, Any]]:
        """All properties of these rows, column by column, which is much faster than row by row."""
        found: list[dict[str, Any]] = [{} for _ in range(len(rows))]
        for name, (own, values) in self._columns.items():
            if len(own):
                place = np.minimum(np.searchsorted(own, rows), len(own) - 1)
                held = np.flatnonzero(own[place] == rows)
                for at, where in zip(held.tolist(), place[held].tolist(), strict=True):
                    found[at][name] = values[where]
        return found

    def column(self, name: str, rows: Numbers) -> list[Any]:
        """The values of a property for these rows; None for rows without it."""
        found: list[Any] = [None] * len(rows)
        for each in reversed(self.called(name)):
            own, values = self._columns[each]
            if not len(own):
                continue
            place = np.minimum(np.searchsorted(own, rows), len(own) - 1)
            for at in np.flatnonzero(own[place] == rows).tolist():
                found[at] = values[place[at]]
        return found

    def codes(self, names: Iterable[str], rows: Numbers) -> Numbers:
        """Return integers that are equal for rows with equal values of all these properties. A missing value is a
        value, too.
        """
        codes = np.zeros(len(rows), np.int32)
        for name in names:
            codes = combined(codes, [hashable(value) for value in self.column(name, rows)])
        return codes


def combined(codes: Numbers, keys: Sequence[Hashable]) -> Numbers:
    """Codes that differ if either the code or the key differs, numbered by first appearance."""
    table: dict[Hashable, int] = {}
    return np.fromiter(
        (table.setdefault(pair, len(table)) for pair in zip(codes.tolist(), keys, strict=True)), np.int32, len(codes)
    )


def bare(value: Any) -> Any:
    """The plain value of a PROV value with a type or a language; other values are returned unchanged.

    >>> bare({"$": "prov:Person", "type": "prov:QUALIFIED_NAME"}), bare({"$": "hallo", "lang": "de"}), bare(3)
    ('prov:Person', 'hallo', 3)
    """
    return value["$"] if isinstance(value, Mapping) and value.keys() in ({"$", "type"}, {"$", "lang"}) else value


def each_of(value: Any) -> tuple[Any, ...]:
    """The values of a property, one or several, in the form of a document or of a log, without types.

    >>> each_of(("a", "b")), each_of({"$": "values", "value": ["a", "b"]}), each_of([1, 2])
    (('a', 'b'), ('a', 'b'), ([1, 2],))
    """
    if isinstance(value, Mapping) and value.keys() == {"$", "value"} and value["$"] == "values":
        value = tuple(value["value"])
    return tuple(bare(each) for each in value) if isinstance(value, tuple) else (bare(value),)


def is_said(held: Any, value: Any) -> bool:
    """Whether a property has this value, alone or among several."""
    return bool(held == value) or value in each_of(held)


def counts(value: object) -> bool:
    """Whether this is an integer of at least 0."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def hashable(value: Any) -> Hashable:
    """The value itself if it is hashable, else its JSON."""
    try:
        hash(value)
    except TypeError:
        return json.dumps(value, sort_keys=True, default=repr)
    return (type(value).__name__, value) if isinstance(value, bool) else value  # so that True differs from 1
