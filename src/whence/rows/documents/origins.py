"""Parts of a plan that a document does not contain: code and Spark objects."""

from __future__ import annotations

from dataclasses import dataclass

from whence.rows.expressions import AggCall, Udf, WindowCall
from whence.rows.operators import Cogroup, GroupedMap, Opaque, Values

# Functions that whence itself adds to plans and predicates. Any other function in a document was called by the
# pipeline. It is never looked up in Spark by name, because some functions of Spark run whatever they are given.
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
    """Replaces an origin that the document does not contain; `why` says what is missing."""

    why: str


def opaque_reason(node: object) -> str | None:
    """Say why a part of a plan cannot be computed from its document; None if it can, or if its name says what it is."""
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
    """The name of a function in Catalyst's details: `name="f"`."""
    _, found, rest = detail.partition('name="')
    return rest.partition('"')[0] if found else ""
