"""The protocol of relations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

from whence.selection import Selection


@dataclass(frozen=True, slots=True)
class Traced:
    """The answer of one relation: the cells, why they may be a superset, and how they were found.

    `reason` is None if the cells are exactly those; `how` is a word such as "boxes", "run" or "whole".
    """

    selection: Selection
    reason: str | None
    how: str


class RelationLike(Protocol):
    """Anything that answers which input cells went into which output cells, in both directions.

    `Relation`, which stores boxes, is the usual one. `whence.testing.conformance` tests any other.
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
    """A relation that computes its answers, which say whether they are exact."""

    def traced(
        self,
        selection: Selection,
        direction: Literal["backward", "forward"],
        lineage: Literal["value", "value+selection", "cells"],
        /,
    ) -> Traced:
        """Follow cells in one direction, by value or also by selection. The walk uses this if it exists.

        By selection, all columns of a row mean the row as such; with "cells" they mean its cells.
        """
