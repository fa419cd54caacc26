"""The result of a pushdown rule: a predicate for each input of an operator."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from whence.rows.expressions import TRUE, Expr
from whence.rows.operators import Operator


class Aim(Enum):
    """What a predicate on the output is pushed down for."""

    RESTRICT = "restrict"
    """To cut inputs down so that the selected output stays as it is: F(Op(G(T))) = F(Op(T))."""
    LINEAGE = "lineage"
    """To select the input rows that contributed: Table 2 of PredTrace."""


@dataclass(frozen=True, slots=True)
class Pushed:
    """One predicate for each input. `precise`: it selects exactly the rows that contribute to the selected output.

    What is not precise is a superset, and `why` says which rows may be too many. `assumes_row_exists`: it is
    precise only because the predicate is known to select a row of the output. `optional_inputs`: the inputs of
    which it may then select none all the same (the other branch of a union, the missing side of an outer join).
    `large`: the predicate would be too large, here and wherever it is asked further up.
    """

    inputs: tuple[Expr, ...]
    precise: bool = True
    why: str = ""
    assumes_row_exists: bool = False
    optional_inputs: frozenset[int] = frozenset()
    large: bool = False


def give_up(operator: Operator, why: str) -> Pushed:
    """Everything may have contributed."""
    return Pushed(tuple(TRUE for _ in operator.children), False, why)
