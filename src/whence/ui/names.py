"""Names by which an overview groups vertices: a number for each vertex, and a table of the distinct names.

Groups of 100,000 vertices are counted and merged as arrays of numbers; only distinct names are looked at one by one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Name = tuple[int, str]  # the kind of a vertex, and its name
_NUMBER = re.compile(r"[0-9]+")


@dataclass(frozen=True, slots=True)
class Names:
    """The name of each of some vertices: `table[codes[i]]` is that of vertex i."""

    table: tuple[Name, ...]
    codes: NDArray[np.int64]

    @classmethod
    def of(cls, names: Iterable[Name]) -> Names:
        """Number the names.

        >>> Names.of([(0, "a"), (1, "b"), (0, "a")]).codes.tolist()
        [0, 1, 0]
        """
        table: dict[Name, int] = {}
        codes = np.fromiter((table.setdefault(name, len(table)) for name in names), np.int64)
        return cls(tuple(table), codes)

    def taken(self, places: NDArray[np.int32]) -> Names:
        """Return the names of some of the vertices, with a table of these only."""
        codes = self.codes[places]
        used = np.flatnonzero(np.bincount(codes, minlength=len(self.table)))
        place = np.zeros(len(self.table), np.int64)
        place[used] = np.arange(len(used))
        return Names(tuple(self.table[each] for each in used.tolist()), place[codes])

    def renamed(self, rename: Callable[[Name], Name]) -> Names:
        """Return the names with each distinct one replaced, which may merge some."""
        return self._merged([rename(name) for name in self.table])

    def without_numbers(self) -> Names:
        """Merge names that differ only in numbers, with a star for each number.

        >>> found = Names.of([(0, "day_01.csv"), (0, "day_02.csv"), (0, "v2.csv")]).without_numbers()
        >>> found.table
        ((0, 'day_*.csv'), (0, 'v2.csv'))
        """
        bare = [(name[0], starred) for name, starred in zip(self.table, _starred(self.table), strict=True)]
        alike = Counter(bare)
        pairs = zip(bare, self.table, strict=True)
        return self._merged([short if alike[short] > 1 else name for short, name in pairs])

    def most_common(self, count: int) -> list[tuple[Name, int]]:
        """Return the names of most vertices, with how many have them."""
        counts = np.bincount(self.codes, minlength=len(self.table))
        order = np.argsort(-counts, kind="stable")[:count]
        return [(self.table[each], int(counts[each])) for each in order.tolist()]

    def _merged(self, renamed: Sequence[Name]) -> Names:
        found = Names.of(renamed)
        return Names(found.table, found.codes[self.codes])


def _starred(names: Sequence[Name]) -> list[str]:
    """Return the names with a star for each number; one substitution over all of them takes a fifth of the time."""
    found = _NUMBER.sub("*", "\n".join(name for _, name in names)).split("\n")
    return found if len(found) == len(names) else [_NUMBER.sub("*", name) for _, name in names]
