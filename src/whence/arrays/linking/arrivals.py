"""What the log knows of an array or a table that is passed to a tracked call, and how it was recognised."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any, Literal

from numpy.typing import NDArray

from whence.arrays.linking.layout import Layout, Shape
from whence.arrays.rules.shapes import reshaped
from whence.relation import Relation

How = Literal["same", "view", "copy", "joined", "picked", "table", "new"]


@dataclass(slots=True, eq=False)
class Seen:
    """A recorded array: its dataset, its layout in memory, and the digest of its content."""

    name: str
    layout: Layout
    digest: bytes
    result: bool  # whether it is a result of a tracked call
    owner: weakref.ref[Any]
    stale: str = ""  # why its content has changed, even if the digest is the same
    column: Relation | None = None  # for a column of a table: its relation to the table

    def held_as(self, shape: Shape) -> Relation:
        """Return the relation to this array of an array of the given shape with the same cells in the same order."""
        if self.column is None:
            return reshaped(self.layout.shape, shape)
        return reshaped(self.column.out_shape, shape).compose(self.column)

    def array(self) -> NDArray[Any] | None:
        """The array, while its memory is still referenced."""
        owner = self.owner()
        return None if owner is None else self.layout.array(owner)


@dataclass(frozen=True, slots=True)
class Change:
    """A known array that was changed in place: its present digest, and why it counts as changed."""

    seen: Seen
    digest: bytes
    why: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """What the log knows of an array that is passed to a call."""

    how: How
    digest: bytes
    sources: tuple[tuple[Seen, Relation | None], ...] = ()  # None: the same cells
    changes: tuple[Change, ...] = ()
    parts: tuple[tuple[Seen, Relation], ...] = ()  # sources that were recorded before and are parts of this array
    why: str = ""  # for a new array: why a similar known array is not its source
    rest: tuple[int, ...] = ()  # for a table: the columns without a known source
    by_content: bool = False  # for a table: whether it was recognised by its content alone
