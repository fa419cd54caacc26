"""Turn the remaining, uncorrelated subqueries in expressions into joins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from whence.errors import NotTraceable
from whence.rows import (
    Aggregate,
    Exists,
    Expr,
    Filter,
    Join,
    Named,
    Not,
    Operator,
    Project,
    ScalarQuery,
    Sort,
    Tree,
    conjunction,
    conjuncts,
    fresh,
    keep,
    transform,
    walk,
)


def subqueries_joined(plan: Operator) -> Operator:
    """Turn each scalar subquery into a `single` join below the operator that reads its value.

    >>> from whence.rows import Attr, Compare, Filter, ScalarQuery, Source
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> outer, inner = Source("t", 0, (a,)), Source("u", 1, (b,))
    >>> print(subqueries_joined(Filter(outer, Compare(">", a, ScalarQuery(inner, "long")))))
    Project a#1
      Filter a#1 > b#-...
        Join single
          Source t (memory): a#1
          Project b#2 as b#-...
            Source u (memory): b#2
    """
    return transform(plan, _with_joined_queries)  # type: ignore[no-any-return]  # an operator becomes an operator


def _with_joined_queries(part: Tree) -> Tree:
    if not isinstance(part, Operator) or not _queries(part.expressions):
        return part
    if isinstance(part, Aggregate):
        return _aggregate_with_queries(part)
    if not isinstance(part, Filter | Project | Sort):
        raise NotTraceable(f"a subquery inside {type(part).__name__}: whence does not know its lineage there")
    if isinstance(part, Filter):
        part = _filter(part)
        if not isinstance(part, Filter) or not _queries(part.expressions):
            return part
    changed = _below(part, part.child, _queries(part.expressions))
    return changed if isinstance(part, Project) else Project(changed, keep(*part.output))


def _filter(part: Filter) -> Operator:
    """Turn EXISTS and NOT EXISTS conditions into semi-joins and anti-joins below the rest of the filter."""
    child, rest = part.child, []
    for each in conjuncts(part.condition):
        if isinstance(each, Exists):
            child = Join(child, each.plan, "semi")
        elif isinstance(each, Not) and isinstance(each.arg, Exists):
            child = Join(child, each.arg.plan, "anti")
        else:
            rest.append(each)
    return Filter(child, conjunction(*rest)) if rest else child


def _below(part: Any, child: Operator, queries: Iterable[ScalarQuery | Exists]) -> Operator:
    """The operator, with its input joined with the subqueries."""
    joined, values = _join_queries(child, queries)
    changed = part.map_parts(lambda each: joined if each is child else _with_values(each, values))
    assert isinstance(changed, Operator)
    return changed


def _join_queries(child: Operator, queries: Iterable[ScalarQuery | Exists]) -> tuple[Operator, dict[Tree, Expr]]:
    values: dict[Tree, Expr] = {}
    for query in queries:
        if isinstance(query, Exists):
            flag = fresh("exists", "boolean", nullable=False)
            child = Join(child, query.plan, "existence", None, flag)
            values[query] = flag
            continue
        column = query.plan.output[0]
        value = fresh(column.name, query.dtype)  # a subquery may occur twice: its columns must differ
        child = Join(child, Project(query.plan, (Named(value, column),)), "single")
        values[query] = value
    return child, values


def _aggregate_with_queries(part: Aggregate) -> Operator:
    """Join the subqueries of keys and aggregates below the groups, and all others above them."""
    below = _queries((*part.keys, *part.calls))
    if below:
        changed = _below(part, part.child, below)
        assert isinstance(changed, Aggregate)
        part = changed
    above = _queries(part.outputs)
    if not above:
        return part
    inner: dict[Tree, Expr] = {}
    outputs = []
    for each in (*part.keys, *part.calls):
        attr = fresh(str(each), each.dtype)
        inner[each] = attr
        outputs.append(Named(attr, each))
    groups = replace(part, outputs=tuple(outputs))
    joined, values = _join_queries(groups, above)
    swap = {**inner, **values}
    return Project(joined, tuple(Named(named.attr, _with_values(named.expr, swap)) for named in part.outputs))


def _queries(trees: Iterable[Tree]) -> tuple[ScalarQuery | Exists, ...]:
    found = [each for tree in trees for each in walk(tree) if isinstance(each, ScalarQuery | Exists)]
    return tuple(dict.fromkeys(found))


def _with_values(tree: Any, values: Mapping[Any, Expr]) -> Any:
    """Replace the largest known parts of the tree, from the top."""
    return values[tree] if tree in values else tree.map_parts(lambda part: _with_values(part, values))
