"""The table of rules: how the lineage of each NumPy function follows from shapes and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from whence.arrays.rules._rows import Shape
from whence.relation import Relation

Kind = Literal["value", "selection"]


class Link(NamedTuple):
    """The lineage of one output from one operand; the operand is the same object that was passed.

    The kind is "value" if cells of the operand went into the output, "selection" if they only selected which cells did.
    """

    operand: Any
    relation: Relation
    kind: Kind = "value"


Links = list[Link]
Rule = Callable[..., Links | tuple[Links, ...]]
"""A rule takes the arguments of the function, and returns the links of its output, or of each output."""

Function = Callable[..., Any]
RULES: dict[Function, Rule] = {}
VALUES_MATTER: set[Function] = set()
"""Functions whose lineage also depends on values, and not only on shapes."""

FOREIGN: dict[Function, str] = {}
"""Functions of other packages that have a rule (whence.arrays.adapters), with the version of the package."""

FROM_NOTHING: set[Function] = set()
"""Functions that read only the shape or the dtype of their operands."""

R = TypeVar("R", bound=Rule)


def rule(*functions: Function | str, values: bool = False, nothing: bool = False) -> Callable[[R], R]:
    """Register a rule for functions, given as objects or as names in NumPy (which some versions may lack)."""

    def register(made: R) -> R:
        for each in functions:
            found = named(each) if isinstance(each, str) else each
            if found is not None:
                RULES[found] = made
                if values:
                    VALUES_MATTER.add(found)
                if nothing:
                    FROM_NOTHING.add(found)
        return made

    return register


def named(name: str) -> Function | None:
    """Return a NumPy function by its dotted name; None if this version does not have it."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else None


def shape(operand: Any) -> Shape:
    """Return the shape of an operand, whatever its type."""
    return tuple(operand.shape) if hasattr(operand, "shape") else np.shape(operand)


def axes_of(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Return axes as sorted indices from 0; None means all."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))


def axis_of(axis: int, ndim: int) -> int:
    """Return one axis as an index from 0."""
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim))
