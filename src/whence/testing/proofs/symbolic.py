"""Symbolic tables for a solver: rows that may exist, with the input rows that each came from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import z3

from whence.rows.expressions import Attr
from whence.testing.proofs.values import Value, boolean


@dataclass(frozen=True, slots=True)
class SymbolicRow:
    """A row that exists if `there`; `made_of[i]` says whether input row i contributed to it."""

    there: Any
    values: dict[Attr, Value]
    made_of: dict[tuple[int, int], Any]


Table = list[SymbolicRow]


def seen(values: list[Value], inside: Any) -> list[Value]:
    """A row as an aggregate sees it: all null if it is not in the group."""
    return [boolean(inside), *(Value(z3.Or(z3.Not(inside), v.null), v.value) for v in values)]
