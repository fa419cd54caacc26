"""Parts of a plan that a document does not hold: code, and Spark objects."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions import AggCall, Udf, WindowCall
from whence.rows.operators import Cogroup, GroupedMap, Opaque, Values

# Functions that whence itself adds to plans and predicates. A function of any other name that a document holds is one
# that the pipeline called. It is never looked up in Spark by its name: some of those run whatever they are given.
OWN_FUNCTIONS = frozenset(
    {
        "DistributedSequenceID",
        "array_size",
        "bool_or",
        "coalesce",
        "count",
        "exists",
        "lambda",
        "monotonically_increasing_id",
        "nanvl",
        "variable",
    }
)


@dataclass(frozen=True, slots=True)
class NotHeld:
    """Stands where a plan has an origin and its document has none: what is missing, and why."""

    why: str


def opaque_reason(node: object) -> str | None:
    """Why a part of a plan cannot be computed from its document; None if it can, or if its name says what it is."""
    if isinstance(node, Udf):
        return f"{_name_in_detail(node.detail) or node.name} is a Python function, whose code the log does not hold"
    if isinstance(node, AggCall | WindowCall) and node.python:
        return f"{_name_in_detail(node.detail) or node.name} is a Python aggregate, whose code the log does not hold"
    if isinstance(node, Opaque):
        return f"it is made by the pipeline's own code, which the log does not hold: {node.why}"
    if isinstance(node, GroupedMap | Cogroup):
        return "each group goes through a Python function, whose code the log does not hold"
    if isinstance(node, Values) and node.columns:
        return "these rows are literals of the query, which the log does not hold"
    return None


def _name_in_detail(detail: str) -> str:
    """The name of a function as Catalyst's details have it: `name="f"`."""
    _, found, rest = detail.partition('name="')
    return rest.partition('"')[0] if found else ""
