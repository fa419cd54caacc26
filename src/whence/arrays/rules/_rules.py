"""The table of rules: a NumPy function, and how its lineage follows from shapes and arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from whence.arrays.rules._rows import Shape
from whence.relation import Relation

Kind = Literal["value", "selection"]


class Link(NamedTuple):
    """What one output has from one operand: the operand is the very object that was passed.

    The kind is "value" where cells of the operand went into the output, "selection" where they decided which did.
    """

    operand: Any
    relation: Relation
    kind: Kind = "value"


Links = list[Link]
Rule = Callable[..., Links | tuple[Links, ...]]
"""A rule takes what the function takes; it returns the links of its output, or of each output."""

Function = Callable[..., Any]
RULES: dict[Function, Rule] = {}
VALUES_MATTER: set[Function] = set()
"""Functions whose lineage follows from the values as well: shapes alone do not determine it."""

FOREIGN: dict[Function, str] = {}
"""Functions of other packages than NumPy that have a rule (whence.arrays.adapters), and the version of the package."""

FROM_NOTHING: set[Function] = set()
"""Functions that take no more than a shape or a type from their operands."""

R = TypeVar("R", bound=Rule)


def rule(*functions: Function | str, values: bool = False, nothing: bool = False) -> Callable[[R], R]:
    """Register a rule for functions, given as such or by their name in NumPy (which some version may lack)."""

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
    """A function of NumPy by its dotted name, if this version has it."""
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else None


def shape(operand: Any) -> Shape:
    """The shape of an operand, whatever kind of array it is."""
    return tuple(operand.shape) if hasattr(operand, "shape") else np.shape(operand)


def axes_of(axis: int | Sequence[int] | None, ndim: int) -> tuple[int, ...]:
    """Axes as sorted positions; None means all."""
    if axis is None:
        return tuple(range(ndim))
    return tuple(sorted(np.lib.array_utils.normalize_axis_tuple(axis, ndim)))


def axis_of(axis: int, ndim: int) -> int:
    """One axis as a position."""
    return int(np.lib.array_utils.normalize_axis_index(axis, ndim))
