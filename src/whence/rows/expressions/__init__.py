"""whence's own expressions: immutable, comparable, without Spark."""

from whence.rows.expressions.aggregates import WITNESSED, AggCall
from whence.rows.expressions.base import Attr, Expr, Literal, Outer, Param, attrs_of, fresh, like
from whence.rows.expressions.calls import Call, Inside, Udf
from whence.rows.expressions.logic import (
    COMPARISONS,
    FALSE,
    TRUE,
    And,
    Compare,
    In,
    IsNull,
    Logic,
    Not,
    Or,
    conjunction,
    conjuncts,
    disjunction,
)
from whence.rows.expressions.sorting import SortKey
from whence.rows.expressions.subqueries import Exists, InQuery, ScalarQuery
from whence.rows.expressions.windows import Frame, WindowCall

__all__ = [
    "COMPARISONS",
    "FALSE",
    "TRUE",
    "WITNESSED",
    "AggCall",
    "And",
    "Attr",
    "Call",
    "Compare",
    "Exists",
    "Expr",
    "Frame",
    "In",
    "InQuery",
    "Inside",
    "IsNull",
    "Literal",
    "Logic",
    "Not",
    "Or",
    "Outer",
    "Param",
    "ScalarQuery",
    "SortKey",
    "Udf",
    "WindowCall",
    "attrs_of",
    "conjunction",
    "conjuncts",
    "disjunction",
    "fresh",
    "like",
]
