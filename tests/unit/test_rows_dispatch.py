"""Every operator has a case in every table that dispatches on operators; a missing one is named here."""

from __future__ import annotations

import inspect

import pytest

from whence.rows import cells, eager, operators, printing
from whence.rows.documents.nodes import OPERATOR_NODES
from whence.rows.duck import query_sql
from whence.rows.operators import Operator
from whence.rows.pushdown import rules
from whence.spark.catalyst import write

OPERATORS = {
    each
    for each in vars(operators).values()
    if inspect.isclass(each) and issubclass(each, Operator) and each is not Operator
}
LEAVES = {operators.Source, operators.Values}  # there is nothing below them to push a predicate to

# Left to Spark: DuckDB is not known to mean the same by them.
NOT_BY_DUCKDB = {
    operators.Cogroup,
    operators.Except,
    operators.Expand,
    operators.Generate,
    operators.GroupedMap,
    operators.Intersect,
    operators.Opaque,
    operators.Sample,
    operators.Values,
    operators.Window,
}


def registered(dispatching: object) -> set[type]:
    """The operators that a function of `functools.singledispatch` has a case of its own for."""
    registry = dispatching.registry  # type: ignore[attr-defined]  # which such functions have
    return {each for each in registry if each not in (object, Operator) and issubclass(each, Operator)}


TABLES = {
    "whence.rows.pushdown.rules.RULES": (set(rules.RULES), OPERATORS - LEAVES),
    "whence.rows.eager.RULES": (set(eager.RULES), OPERATORS),
    "whence.rows.cells.RULES": (set(cells.RULES), OPERATORS),
    "whence.rows.documents.nodes": ({each.made for each in OPERATOR_NODES}, OPERATORS),
    "whence.rows.printing.line": (registered(printing.line), OPERATORS),
    "whence.spark.catalyst.write": (registered(vars(write.Plans)["_lower"].dispatcher), OPERATORS),
    "whence.rows.duck.query_sql": (
        registered(vars(query_sql.QueryBuilder)["of"].dispatcher),
        OPERATORS - NOT_BY_DUCKDB,
    ),
}


@pytest.mark.parametrize("table", TABLES)
def test_every_operator_has_a_case(table: str) -> None:
    has, needs = TABLES[table]
    assert {each.__name__ for each in needs - has} == set(), f"{table} lacks these operators"
    assert {each.__name__ for each in has - needs} == set(), f"{table} has these, which the test says it has not"


def test_there_are_operators() -> None:
    assert len(OPERATORS) >= 20
