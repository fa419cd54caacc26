"""Grouped maps with ids beside the user's function.

The function is the one that this very session was given a moment ago; it is never loaded from anything stored.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from whence.errors import NotTraceable
from whence.rows import Attr, Cogroup, GroupedMap, Named, Opaque, Operator, Project, Values, fresh
from whence.rows.expressions import Udf
from whence.spark.catalyst.functions import Function, function_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

PANDAS, ARROW, COGROUPED_PANDAS, COGROUPED_ARROW = 201, 209, 206, 210  # Spark's codes of the kinds of function

Lower = Callable[[Operator], "DataFrame"]


def grouped(plan: GroupedMap, lower: Lower) -> Operator:
    """The grouped map as it runs with ids."""
    kind, function = _function(plan.origin)
    data = _arguments(plan.function)
    keys, values, lists = plan.keys, data, tuple(attr for attr, _ in plan.annotated)
    rows, names = _prepared(lower, plan.child, keys, values, lists)
    around = {PANDAS: _pandas, ARROW: _arrow}.get(kind)
    if around is None:
        raise NotTraceable(f"whence cannot trace a grouped map of Spark's kind {kind} yet: use applyInPandas")
    run = around(function, [attr.name for attr in values], names, [a.name for a in plan.columns], _out(plan))
    groups = rows.groupBy(*names[0])
    schema = _schema(plan)
    made = groups.applyInPandas(run, schema) if kind == PANDAS else groups.applyInArrow(run, schema)
    return _named(made, plan)


def by_row(plan: Opaque, lower: Lower) -> Operator:
    """A function that makes each row of one row, with ids beside it."""
    _, function = _function(plan.origin)
    (child,) = plan.inputs
    lists = tuple(attr for attr, _ in plan.annotated)
    values = tuple(attr for attr in child.output if attr not in lists)
    rows, (_, value_names, list_names) = _prepared(lower, child, (), values, lists)
    run = _row_by_row(function, [attr.name for attr in values], value_names, list_names, _out(plan))
    return _named(rows.mapInPandas(run, _schema(plan)), plan)


def cogrouped(plan: Cogroup, lower: Lower) -> Operator:
    """The same for two inputs."""
    kind, function = _function(plan.origin)
    if kind != COGROUPED_PANDAS:
        raise NotTraceable(f"whence cannot trace a cogrouped map of Spark's kind {kind} yet: use applyInPandas")
    sides = []
    data = _arguments(plan.function)
    lists = [attr for attr, _ in plan.annotated]
    for child, keys in ((plan.left, plan.left_keys), (plan.right, plan.right_keys)):
        have = frozenset(child.output)
        values = tuple(attr for attr in data if attr in have)
        own = tuple(attr for attr in lists if attr in have)
        sides.append((*_prepared(lower, child, keys, values, own), [attr.name for attr in values]))
    (left, left_names, left_values), (right, right_names, right_values) = sides
    output = [attr.name for attr in plan.columns]
    run = _cogrouped_pandas(function, (left_values, right_values), (left_names, right_names), output, _out(plan))
    both = left.groupBy(*left_names[0]).cogroup(right.groupBy(*right_names[0]))
    return _named(both.applyInPandas(run, _schema(plan)), plan)


Names = tuple[list[str], list[str], list[str]]  # keys, values, lists


def _prepared(
    lower: Lower, child: Operator, keys: Sequence[Any], values: Sequence[Attr], lists: Sequence[Attr]
) -> tuple[DataFrame, Names]:
    """The input as a frame whose column names are unlike each other, whatever the user's are."""
    names: Names = ([], [], [])
    columns = []
    for letter, group, found in zip("kvi", (keys, values, lists), names, strict=True):
        for index, expr in enumerate(group):
            found.append(f"{letter}{index}")
            columns.append(Named(fresh(found[-1], expr.dtype), expr))
    return lower(Project(child, tuple(columns))), names


def _named(made: DataFrame, plan: GroupedMap | Cogroup | Opaque) -> Operator:
    from whence.spark.catalyst.operators import output_of

    java: Any = made._jdf.queryExecution().analyzed()
    rows = Values(output_of(java), java)
    return Project(rows, tuple(Named(new, old) for new, old in zip(plan.output, rows.columns, strict=True)))


def _out(plan: GroupedMap | Cogroup | Opaque) -> list[str]:
    return [f"_whence_{index}" for index, _ in enumerate(plan.annotated)]


def _schema(plan: GroupedMap | Cogroup | Opaque) -> Any:
    from pyspark.sql.types import StructType

    names = [*(attr.name for attr in plan.columns), *_out(plan)]
    fields: list[dict[str, Any]] = [
        {
            "name": name,
            "type": json.loads(a.dtype) if a.dtype.startswith("{") else a.dtype,
            "nullable": True,
            "metadata": {},
        }
        for name, a in zip(names, plan.output, strict=True)
    ]
    return StructType.fromJson({"fields": fields})


def _arguments(function: Any) -> tuple[Attr, ...]:
    assert isinstance(function, Udf)
    attrs = tuple(arg for arg in function.args if isinstance(arg, Attr))
    if len(attrs) != len(function.args):
        raise NotTraceable(f"whence traces a grouped map only if its arguments are columns: {function}")
    return attrs


def _function(node: Any) -> tuple[int, Function]:
    udf = node.functionExpr()
    return int(udf.evalType()), function_of(udf)


def _takes_key(function: Function, plain: int) -> bool:
    return len(inspect.getfullargspec(function).args) > plain


# What follows runs on the workers, where whence need not be installed: each function is sent whole, with what it uses.


def _pandas(function: Function, values: list[str], names: Names, output: list[str], out: list[str]) -> Function:
    _, value_names, list_names = names
    keyed = _takes_key(function, 1)

    def with_ids(key: Any, rows: Any) -> Any:
        import pandas as pd

        given = rows[value_names]
        given.columns = values
        result = function(key, given) if keyed else function(given)
        if not any(isinstance(label, str) for label in result.columns):
            result = result.set_axis(output[: len(result.columns)], axis=1)
        result = result.copy()
        for column, name in zip(list_names, out, strict=True):
            ids = sorted({each for part in rows[column] for each in part})
            result[name] = pd.Series([ids] * len(result), result.index, object)  # of no rows it would be floats
        return result

    return with_ids


def _row_by_row(
    function: Function, values: list[str], value_names: list[str], list_names: list[str], out: list[str]
) -> Function:
    def with_ids(parts: Any) -> Any:
        import pandas as pd

        for rows in parts:
            given = rows[value_names]
            given.columns = values
            (result,) = function(iter([given]))
            if len(result) != len(rows):
                raise ValueError("a function that makes each row of one row made another number of rows")
            result = result.copy()
            for column, name in zip(list_names, out, strict=True):
                result[name] = pd.Series(list(rows[column]), result.index, object)
            yield result

    return with_ids


def _arrow(function: Function, values: list[str], names: Names, output: list[str], out: list[str]) -> Function:
    _, value_names, list_names = names
    keyed = _takes_key(function, 1)

    def with_ids(key: Any, rows: Any) -> Any:
        import pyarrow as pa

        given = rows.select(value_names).rename_columns(values)
        result = function(key, given) if keyed else function(given)
        for column, name in zip(list_names, out, strict=True):
            ids = sorted({each for part in rows.column(column).to_pylist() for each in part})
            result = result.append_column(name, pa.array([ids] * result.num_rows, pa.list_(pa.int64())))
        return result

    return with_ids


def _cogrouped_pandas(
    function: Function,
    values: tuple[list[str], list[str]],
    names: tuple[Names, Names],
    output: list[str],
    out: list[str],
) -> Function:
    keyed = _takes_key(function, 2)

    def with_ids(key: Any, left: Any, right: Any) -> Any:
        import pandas as pd

        given = []
        for rows, wanted, labels in zip((left, right), names, values, strict=True):
            part = rows[wanted[1]]
            part.columns = labels
            given.append(part)
        result = function(key, *given) if keyed else function(*given)
        if not any(isinstance(label, str) for label in result.columns):
            result = result.set_axis(output[: len(result.columns)], axis=1)
        result = result.copy()
        columns = [(left, column) for column in names[0][2]] + [(right, column) for column in names[1][2]]
        for (rows, column), name in zip(columns, out, strict=True):
            ids = sorted({each for part in rows[column] for each in part})
            result[name] = pd.Series([ids] * len(result), result.index, object)  # of no rows it would be floats
        return result

    return with_ids
