"""The nodes of a document, one line per class: its name and its fields.

Fields that have their default value are left out. A field that is not listed must be an `origin`, which documents do
not contain. A name is never changed; if a class changes its meaning, it gets another name and a new `VERSION`.
"""

from __future__ import annotations

from dataclasses import MISSING, dataclass, fields
from typing import Any

from whence.rows import expressions as e
from whence.rows import operators as o
from whence.rows.documents.fields import (
    ATTR,
    ATTRS,
    COLUMN_ID,
    COLUMNS,
    EXPR,
    EXPRS,
    FLAG,
    FRAME,
    INSIDE,
    INTEGER,
    NUMBER,
    OPERATOR,
    OPERATORS,
    PARAMETER_NAME,
    SORT_KEYS,
    TEXT,
    TYPE,
    VALUE,
    Field,
    many,
    optional,
)


@dataclass(frozen=True, slots=True)
class NodeKind:
    """A class of operators or expressions in documents."""

    name: str
    made: Any  # the class
    fields: dict[str, Field]
    defaults: dict[str, object]


def _node(called: str, made: Any, /, **known: Field) -> NodeKind:
    defaults = {each.name: each.default for each in fields(made) if each.default is not MISSING and each.name in known}
    return NodeKind(called, made, known, defaults)


CALL = {"name": TEXT, "args": EXPRS, "dtype": TYPE, "detail": TEXT, "pure": FLAG}
PAIRS = many(many(ATTR))

EXPRESSIONS = (
    _node("column", e.Attr, id=COLUMN_ID, name=TEXT, dtype=TYPE, nullable=FLAG),
    _node("literal", e.Literal, value=VALUE, dtype=TYPE),
    _node("parameter", e.Param, name=PARAMETER_NAME, dtype=TYPE),
    _node("outer", e.Outer, attr=ATTR),
    _node("call", e.Call, **CALL),
    _node("function", e.Udf, **CALL, varies=TEXT, inside=optional(INSIDE), closed=TEXT, code=TEXT, title=TEXT,
          holds=many(TEXT)),
    _node("compare", e.Compare, op=TEXT, left=EXPR, right=EXPR),
    _node("and", e.And, args=EXPRS),
    _node("or", e.Or, args=EXPRS),
    _node("not", e.Not, arg=EXPR),
    _node("is_null", e.IsNull, arg=EXPR),
    _node("in", e.In, arg=EXPR, values=EXPRS),
    _node("sort_key", e.SortKey, expr=EXPR, ascending=FLAG, nulls_first=FLAG),
    _node("aggregate_call", e.AggCall, name=TEXT, args=EXPRS, dtype=TYPE, distinct=FLAG, where=optional(EXPR),
          detail=TEXT, python=FLAG, varies=TEXT, code=TEXT),
    _node("window_call", e.WindowCall, name=TEXT, args=EXPRS, frame=FRAME, dtype=TYPE, detail=TEXT, python=FLAG,
          varies=TEXT, where=optional(EXPR)),
    _node("scalar_query", e.ScalarQuery, plan=OPERATOR, dtype=TYPE),
    _node("exists", e.Exists, plan=OPERATOR),
    _node("in_query", e.InQuery, args=EXPRS, plan=OPERATOR),
    _node("named", o.Named, attr=ATTR, expr=EXPR),
)  # fmt: skip

OPERATOR_NODES = (
    _node("source", o.Source, name=TEXT, occurrence=INTEGER, columns=ATTRS, format=TEXT, paths=many(TEXT),
          row_id=optional(ATTR), is_domain_copy=FLAG, cut=TEXT),
    _node("values", o.Values, columns=ATTRS),
    _node("filter", o.Filter, child=OPERATOR, condition=EXPR),
    _node("project", o.Project, child=OPERATOR, columns=COLUMNS),
    _node("join", o.Join, left=OPERATOR, right=OPERATOR, how=TEXT, condition=optional(EXPR), flag=optional(ATTR)),
    _node("aggregate", o.Aggregate, child=OPERATOR, keys=EXPRS, outputs=COLUMNS, listed=optional(EXPR)),
    _node("window", o.Window, child=OPERATOR, calls=COLUMNS, partition=EXPRS, order=SORT_KEYS),
    _node("sort", o.Sort, child=OPERATOR, keys=SORT_KEYS, everywhere=FLAG),
    _node("limit", o.Limit, child=OPERATOR, count=optional(EXPR), offset=optional(EXPR)),
    _node("distinct", o.Distinct, child=OPERATOR, keys=ATTRS),
    _node("union", o.Union, inputs=OPERATORS, columns=ATTRS),
    _node("intersect", o.Intersect, left=OPERATOR, right=OPERATOR, all=FLAG),
    _node("except", o.Except, left=OPERATOR, right=OPERATOR, all=FLAG),
    _node("generate", o.Generate, child=OPERATOR, generator=EXPR, columns=ATTRS, kept=ATTRS, outer=FLAG),
    _node("expand", o.Expand, child=OPERATOR, projections=many(EXPRS), columns=ATTRS),
    _node("sample", o.Sample, child=OPERATOR, lower=NUMBER, upper=NUMBER, replacement=FLAG, seed=INTEGER),
    _node("arrange", o.Arrange, child=OPERATOR, what=TEXT),
    _node("opaque", o.Opaque, inputs=OPERATORS, columns=ATTRS, why=TEXT, varies=TEXT, by_row=FLAG,
          annotated=PAIRS, tried=FLAG, code=TEXT, holds=many(TEXT)),
    _node("grouped_map", o.GroupedMap, child=OPERATOR, keys=EXPRS, columns=ATTRS, function=EXPR, annotated=PAIRS,
          tried=FLAG),
    _node("cogroup", o.Cogroup, left=OPERATOR, right=OPERATOR, left_keys=EXPRS, right_keys=EXPRS, columns=ATTRS,
          function=EXPR, annotated=PAIRS, tried=FLAG),
)  # fmt: skip

BY_NAME = {kind.name: kind for kind in (*EXPRESSIONS, *OPERATOR_NODES)}
BY_CLASS = {kind.made: kind for kind in BY_NAME.values()}
