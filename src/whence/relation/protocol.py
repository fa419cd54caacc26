"""What every relation can do, however it keeps its tuples."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from whence.selection import Selection


@dataclass(frozen=True, slots=True)
class Traced:
    """What one relation answered: the cells, why they are no more than a superset, and how it was asked.

    `reason` is None if the cells are exactly those; `how` is a word such as "boxes", "run" or "whole".
    """

    selection: Selection
    reason: str | None
    how: str


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


class AskedRelation(RelationLike, Protocol):
    """A relation that is asked, and not stored: its answer says by itself whether it is exact."""

    def traced(
        self,
        selection: Selection,
        direction: Literal["backward", "forward"],
        lineage: Literal["value", "value+selection"],
        /,
    ) -> Traced:
        """What cells lead to in one direction: by value, or also by what only decided. The walk prefers it to
        `backward` and `forward`."""
