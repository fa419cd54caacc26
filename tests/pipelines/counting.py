"""What a pipeline has of the kinds of operators that PredTrace's Table 7 counts, read off its plan.

The plan is Catalyst's analyzed one: what the user wrote, before an optimizer merges it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from whence.spark.catalyst.plan import classic

# In how many of PredTrace's 70 pipelines a kind occurs (Table 7).
TABLE_7 = {
    "selection": 42,
    "join": 22,
    "transform": 59,
    "aggregation": 38,
    "compare": 22,
    "subquery": 8,
    "grouped map": 9,
}
_OPERATORS = "org.apache.spark.sql.catalyst.plans.logical."
_SIMPLE = {
    "Filter": "selection",
    "Aggregate": "aggregation",
    "Generate": "transform",
    "Expand": "transform",
    "PythonUDF": "transform",
    "MapInPandas": "transform",
    "ScalarSubquery": "subquery",
    "Exists": "subquery",
    "ListQuery": "subquery",
    "FlatMapGroupsInPandas": "grouped map",
    "FlatMapCoGroupsInPandas": "grouped map",
}
_ORDERS = {"Sort": "order", "Window": "orderSpec"}


def kinds(frame: object) -> frozenset[str]:
    """The kinds of operators in the plan of a DataFrame."""
    return frozenset(kind for node in _nodes(_plan(frame)) if (kind := _kind(node)))


def operators(frame: object) -> int:
    """How many operators the plan of a DataFrame has, beside its sources and the names that it gives them."""
    found = (str(node["class"]) for node in _nodes(_plan(frame)))
    left_out = ("LogicalRelation", "SubqueryAlias", "View")
    return sum(name.startswith(_OPERATORS) and not name.endswith(left_out) for name in found)


def _plan(frame: object) -> Any:
    return json.loads(classic(frame)._jdf.queryExecution().analyzed().toJSON())


def _nodes(part: Any) -> Iterator[dict[str, Any]]:
    """Every operator and expression, in subqueries too."""
    if isinstance(part, dict):
        if "class" in part:
            yield part
        part = list(part.values())
    if isinstance(part, list):
        for each in part:
            yield from _nodes(each)


def _kind(node: dict[str, Any]) -> str:
    name = str(node["class"]).rpartition(".")[2]
    if name in _SIMPLE:
        return _SIMPLE[name]
    if name == "Join":  # a semi-join or an anti-join is a subquery in other words
        return "subquery" if "Left" in str(node["joinType"]) and "Outer" not in str(node["joinType"]) else "join"
    if name == "Project":
        return "transform" if any(_made(column) for column in node["projectList"]) else ""
    if name in _ORDERS:
        return "compare" if any(map(_of_user, _nodes(node[_ORDERS[name]]))) else ""
    return ""


def _made(column: list[dict[str, Any]]) -> bool:
    """Whether a column of the user's is computed or renamed; pandas API on Spark makes others for itself."""
    alias, *value = column
    if not str(alias["class"]).endswith(".Alias") or str(alias["name"]).startswith("__"):
        return False
    return not (str(value[0]["class"]).endswith(".AttributeReference") and value[0]["name"] == alias["name"])


def _of_user(node: dict[str, Any]) -> bool:
    """A column by which a user compares rows, and not the order in which they were read."""
    return str(node["class"]).endswith(".AttributeReference") and not str(node["name"]).startswith("__")
