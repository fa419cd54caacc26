"""What every relation can do, however it keeps its tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from whence.selection import Selection


class RelationLike(Protocol):
    """Anything that says which input cells went into which output cells: it is asked with a selection, either way.

    `Relation`, which keeps boxes, is the one that the log stores. `whence.testing.conformance` tests any other.
    """

    @property
    def out_shape(self) -> tuple[int, ...]:
        """The shape of the output."""

    @property
    def in_shape(self) -> tuple[int, ...]:
        """The shape of the input."""

    def backward(self, cells: Any, /) -> Selection:
        """The input cells that the given output cells came from."""

    def forward(self, cells: Any, /) -> Selection:
        """The output cells that the given input cells went into."""


@dataclass(frozen=True, slots=True)
class Traced:
    """An answer of a relation that is asked: why it is a superset, if it is, and how it was found."""

    selection: Selection
    reason: str | None
    how: str
