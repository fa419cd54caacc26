"""What is known of an array or a table that is passed to a tracked call, and how it was recognised."""

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
    """An array as it was recorded: the dataset, where it lies, what it held."""

    name: str
    layout: Layout
    digest: bytes
    result: bool  # of a tracked call
    owner: weakref.ref[Any]
    stale: str = ""  # why it surely is not what it was, whatever the digest says
    column: Relation | None = None  # if it is a column of a table: how it lies in that

    def held_as(self, shape: Shape) -> Relation:
        """The relation to it of an array that holds the same in the same order."""
        if self.column is None:
            return reshaped(self.layout.shape, shape)
        return reshaped(self.column.out_shape, shape).compose(self.column)

    def array(self) -> NDArray[Any] | None:
        """The array, while its memory lives."""
        owner = self.owner()
        return None if owner is None else self.layout.array(owner)


@dataclass(frozen=True, slots=True)
class Change:
    """A known array that was changed in place: the digest that it has now, and what is known of the change."""

    seen: Seen
    digest: bytes
    why: str


@dataclass(frozen=True, slots=True)
class Arrival:
    """What is known of an array that is passed to a call."""

    how: How
    digest: bytes
    sources: tuple[tuple[Seen, Relation | None], ...] = ()  # None: the same cells
    changes: tuple[Change, ...] = ()
    parts: tuple[tuple[Seen, Relation], ...] = ()  # sources recorded before, which turn out to be parts of this one
    why: str = ""  # of a new array: what was found and does not suffice
    rest: tuple[int, ...] = ()  # of a table: the columns of which nothing is known
    by_content: bool = False  # of a table: whether only its content says where it came from
