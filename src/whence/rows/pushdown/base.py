"""The result of a pushdown rule: a predicate for each input of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from whence.rows.expressions import TRUE, Expr
from whence.rows.operators import Operator


class Aim(Enum):
    """The purpose of pushing a predicate down."""

    RESTRICT = "restrict"
    """Restrict the inputs so that the selected output does not change: F(Op(G(T))) = F(Op(T))."""
    LINEAGE = "lineage"
    """Select the input rows that contributed: Table 2 of PredTrace."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """One predicate for each input. If `precise`, they select exactly the rows that contribute to the selected output.

    Otherwise they select a superset, and `why` says which rows may be too many. `assumes_row_exists`: the result is
    precise only because the predicate is known to select a row of the output. `optional_inputs`: the inputs from which
    it may still select no row (the other branch of a union, the missing side of an outer join). `large`: the predicate
    would be too large, here and for every question from further up.
    """

    inputs: tuple[Expr, ...]
    precise: bool = True
    why: str = ""
    assumes_row_exists: bool = False
    optional_inputs: frozenset[int] = frozenset()
    large: bool = False


def give_up(operator: Operator, why: str) -> Pushed:
    """Select all rows of all inputs, as a superset."""
    return Pushed(tuple(TRUE for _ in operator.children), False, why)
