"""Store pairs of rows as relations, each once, and note between which columns of two tables each relation applies."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from whence.relation import Relation, compress
from whence.relation.table_cells import Between, Cells
from whence.selection import distinct

if TYPE_CHECKING:
    from whence.spark.sources.numbering import Ints, Numbering
    from whence.spark.tables.cell_pairs import CellPairs, Entered


class Pieces:
    """The relations between the rows of an output and of one source, added as they are needed."""

    def __init__(self, rows: int, numbering: Numbering) -> None:
        self._rows, self._numbering = rows, numbering
        self.relations: list[Relation] = []
        self._known: dict[bytes, int] = {}  # by content
        self._keys: dict[tuple[int, int], Ints] = {}  # keys of pairs, by the ids of their arrays
        self._held: list[Ints] = []  # keeps the arrays alive, so that their ids stay unique

    def add(self, outs: Ints, ids: Ints) -> Relation:
        """Return the relation of these pairs."""
        return self.relations[self._add(self._key(outs, ids))]

    def cells(self, pairs: CellPairs, uses: Iterable[int]) -> Cells:
        """Return the relations of the pairs that entered the output columns from some uses of the source."""
        wanted = set(uses)
        columns: dict[tuple[int, ...], list[tuple[int, int]]] = {}
        entered: list[Entered] = []
        numbers: dict[int, int] = {}
        for out, every in pairs.of.items():
            of_column: dict[int, set[int]] = {}
            for each in every:
                if each.occurrence in wanted:
                    at = numbers.setdefault(id(each), len(entered))
                    entered += [each] if at == len(entered) else []
                    for column in each.columns:
                        of_column.setdefault(column, set()).add(at)
            for column, some in of_column.items():
                columns.setdefault(tuple(sorted(some)), []).append((out, column))
        between: dict[int, set[tuple[int, int]]] = {}
        for ats, places in columns.items():
            keys = [self._key(entered[at].outs, entered[at].ids) for at in ats]
            key = keys[0] if len(keys) == 1 else distinct(np.concatenate(keys))
            if len(key):
                between.setdefault(self._add(key), set()).update(places)
        made = tuple((number, _between(places)) for number, places in sorted(between.items()))
        return Cells(made, "; ".join(pairs.reasons) or None)

    def _key(self, outs: Ints, ids: Ints) -> Ints:
        """The distinct pairs as sorted integers."""
        known = (id(outs), id(ids))
        if known not in self._keys:
            width = max(1, self._numbering.rows)
            self._keys[known] = distinct(outs.astype(np.int64) * width + self._numbering.numbers(ids))
            self._held += [outs, ids]
        return self._keys[known]

    def _add(self, key: Ints) -> int:
        content = hashlib.sha256(key.data).digest()
        if content not in self._known:
            width = max(1, self._numbering.rows)
            pairs = np.stack([key // width, key % width], axis=1)
            self._known[content] = len(self.relations)
            self.relations.append(compress(pairs, (self._rows,), (self._numbering.rows,)))
        return self._known[content]


def _between(places: set[tuple[int, int]]) -> Between:
    """Group output columns by the source columns that they came from.

    >>> _between({(0, 1), (2, 1), (1, 0), (1, 1)})
    (((0, 2), (1,)), ((1,), (0, 1)))
    """
    own: dict[int, list[int]] = {}
    for out, column in sorted(places):
        own.setdefault(out, []).append(column)
    alike: dict[tuple[int, ...], list[int]] = {}
    for out, columns in own.items():
        alike.setdefault(tuple(columns), []).append(out)
    return tuple((tuple(outs), columns) for columns, outs in alike.items())
