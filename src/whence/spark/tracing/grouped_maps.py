"""Run grouped maps with ids: the ids of source rows are passed around the user's function.

The function always comes from the current session; it is never loaded from a log.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from whence.errors import NotTraceable
from whence.rows import Attr, Cogroup, GroupedMap, Named, Opaque, Operator, Project, Values, fresh
from whence.rows.documents import NotHeld
from whence.rows.expressions import Udf
from whence.spark.catalyst.functions import Function, function_of
from whence.spark.tracing.tried import Search, singly
from whence.spark.tracing.tried import search as searching

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

# Spark's evalType codes of Python functions
PANDAS, ARROW, COGROUPED_PANDAS, COGROUPED_ARROW, MAPPED_ARROW = 201, 209, 206, 210, 207

Lower = Callable[[Operator], "DataFrame"]


def grouped(plan: GroupedMap, lower: Lower) -> Operator:
    """Return the operator that runs a grouped map with ids."""
    kind, function = _function(plan.origin)
    data = _arguments(plan.function)
    keys, values, lists = plan.keys, data, tuple(attr for attr, _ in plan.annotated)
    rows, names = _prepared(lower, plan.child, keys, values, lists)
    search = searching() if plan.tried else None
    labels, output = [attr.name for attr in values], [attr.name for attr in plan.columns]
    if kind == PANDAS:
        run = _pandas(function, labels, names, output, _out(plan), search)
    elif kind == ARROW:
        run = _arrow(function, labels, names, _out(plan), singly() if plan.tried else None)
    else:
        raise NotTraceable(f"whence cannot trace a grouped map of Spark's kind {kind} yet: use applyInPandas")
    groups = rows.groupBy(*names[0])
    schema = _schema(plan)
    made = groups.applyInPandas(run, schema) if kind == PANDAS else groups.applyInArrow(run, schema)
    return _named(made, plan)


def by_row(plan: Opaque, lower: Lower) -> Operator:
    """Run a function that makes each row from one row, with ids; or one that is tried on fewer rows."""
    kind, function = _function(plan.origin)
    (child,) = plan.inputs
    lists = tuple(attr for attr, _ in plan.annotated)
    values = tuple(attr for attr in child.output if attr not in lists)
    rows, (_, value_names, list_names) = _prepared(lower, child, (), values, lists)
    labels = [attr.name for attr in values]
    if plan.tried and kind == MAPPED_ARROW:
        run = _batch_by_batch_arrow(function, labels, value_names, list_names, _out(plan), singly())
        return _named(rows.mapInArrow(run, _schema(plan)), plan)
    if plan.tried:
        run = _batch_by_batch(function, labels, value_names, list_names, _out(plan), searching())
    else:
        run = _row_by_row(function, labels, value_names, list_names, _out(plan))
    return _named(rows.mapInPandas(run, _schema(plan)), plan)


def cogrouped(plan: Cogroup, lower: Lower) -> Operator:
    """Return the operator that runs a cogrouped map (two inputs) with ids."""
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
    sides_ = (left_values, right_values), (left_names, right_names)
    run = _cogrouped_pandas(function, *sides_, output, _out(plan), searching() if plan.tried else None)
    both = left.groupBy(*left_names[0]).cogroup(right.groupBy(*right_names[0]))
    return _named(both.applyInPandas(run, _schema(plan)), plan)


def carries_ids(plan: object) -> bool:
    """Whether ids of rows can be passed around a function."""
    if isinstance(plan, Opaque):
        return plan.by_row
    if not isinstance(plan, GroupedMap | Cogroup) or plan.origin is None or isinstance(plan.origin, NotHeld):
        return False
    kinds = (PANDAS, ARROW) if isinstance(plan, GroupedMap) else (COGROUPED_PANDAS,)
    plain = isinstance(plan.function, Udf) and all(isinstance(arg, Attr) for arg in plan.function.args)
    return plain and int(plan.origin.functionExpr().evalType()) in kinds  # type: ignore[attr-defined]  # Catalyst's node


Names = tuple[list[str], list[str], list[str]]  # keys, values, lists


def _prepared(
    lower: Lower, child: Operator, keys: Sequence[Any], values: Sequence[Attr], lists: Sequence[Attr]
) -> tuple[DataFrame, Names]:
    """Return the input as a frame with unique column names, even if the user's names repeat."""
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


# The functions below run on the workers, where whence need not be installed: each is sent with all it uses.


def _pandas(
    function: Function, values: list[str], names: Names, output: list[str], out: list[str], search: Search | None
) -> Function:
    _, value_names, list_names = names
    keyed = _takes_key(function, 1)

    def with_ids(key: Any, rows: Any) -> Any:
        import pandas as pd

        def run(parts: list[Any]) -> Any:
            result = function(key, *parts) if keyed else function(*parts)
            if not any(isinstance(label, str) for label in result.columns):
                result = result.set_axis(output[: len(result.columns)], axis=1)
            return result

        given = rows[value_names]
        given.columns = values
        result, witnesses = (run([given]), None) if search is None else search(run, [given])
        result = result.copy()
        for column, name in zip(list_names, out, strict=True):
            lists = list(rows[column])
            ids = sorted({each for part in lists for each in part})
            cells = [ids] * len(result)
            if witnesses is not None:
                cells = [
                    ids if chosen is None else sorted({each for place in chosen[0] for each in lists[place]})
                    for chosen in witnesses
                ]
            result[name] = pd.Series(cells, result.index, object)  # without rows, the dtype would be float
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
                raise ValueError("a function that should return one row per row returned another number of rows")
            result = result.copy()
            for column, name in zip(list_names, out, strict=True):
                result[name] = pd.Series(list(rows[column]), result.index, object)
            yield result

    return with_ids


def _batch_by_batch(
    function: Function,
    values: list[str],
    value_names: list[str],
    list_names: list[str],
    out: list[str],
    search: Search,
) -> Function:
    """Find for each result row the rows that give it by themselves, or its batch if batches are independent, or its
    partition.
    """

    def with_ids(parts: Any) -> Any:
        import pandas as pd

        def run(frames: list[Any]) -> Any:
            made = list(function(iter([each.copy() for each in frames])))
            return pd.concat(made) if made else pd.DataFrame()

        batches = list(parts)
        given = [rows[value_names].set_axis(values, axis=1) for rows in batches]
        whole = run(given)
        try:
            found = [search(run, [each]) for each in given]
            apart = pd.concat([made for made, _ in found]) if found else whole
            by_batch = apart.reset_index(drop=True).equals(whole.reset_index(drop=True))
        except Exception:  # the user's code may fail with fewer batches than usual
            by_batch = False
        if not by_batch:
            found, batches = [(whole, [None] * len(whole))], [pd.concat(batches)]
        for rows, (made, witnesses) in zip(batches, found, strict=True):
            result = made.copy()
            if not len(result):
                continue
            for column, name in zip(list_names, out, strict=True):
                lists = list(rows[column])
                ids = sorted({each for part in lists for each in part})
                result[name] = [
                    ids if chosen is None else sorted({each for place in chosen[0] for each in lists[place]})
                    for chosen in witnesses
                ]
            yield result

    return with_ids


Singly = Callable[[Callable[[list[Any]], Any], Any], "list[int] | None"]


def _arrow(function: Function, values: list[str], names: Names, out: list[str], rows_of: Singly | None) -> Function:
    _, value_names, list_names = names
    keyed = _takes_key(function, 1)

    def with_ids(key: Any, rows: Any) -> Any:
        import pyarrow as pa

        def run(tables: list[Any]) -> Any:
            return function(key, *tables) if keyed else function(*tables)

        given = rows.select(value_names).rename_columns(values)
        result = run([given])
        places = None if rows_of is None else rows_of(run, given)
        for column, name in zip(list_names, out, strict=True):
            lists = rows.column(column).to_pylist()
            ids = sorted({each for part in lists for each in part})
            cells = [ids] * result.num_rows if places is None else [lists[place] for place in places]
            result = result.append_column(name, pa.array(cells, pa.list_(pa.int64())))
        return result

    return with_ids


def _batch_by_batch_arrow(
    function: Function,
    values: list[str],
    value_names: list[str],
    list_names: list[str],
    out: list[str],
    rows_of: Singly,
) -> Function:
    """Like `_batch_by_batch`, for Arrow: find for each result row the row that gives it, its batch, or its
    partition.
    """

    def with_ids(parts: Any) -> Any:
        import pyarrow as pa

        batches = [pa.Table.from_batches([batch]) for batch in parts]
        given = [rows.select(value_names).rename_columns(values) for rows in batches]
        made = list(function(batch for table in given for batch in table.to_batches()))
        if not made:
            return
        whole = pa.Table.from_batches(made)

        def run(tables: list[Any]) -> Any:
            few = (batch for table in tables for batch in table.combine_chunks().to_batches())
            return pa.Table.from_batches(list(function(few)), whole.schema)

        try:
            found = [run([each]) for each in given]
            by_batch = pa.concat_tables(found).combine_chunks().equals(whole.combine_chunks())
        except Exception:  # the user's code may fail with fewer batches than usual
            by_batch = False
        if by_batch:
            places = [rows_of(run, each) for each in given]
        else:
            found, batches, places = [whole], [pa.concat_tables(batches)], [None]
        for rows, result, chosen in zip(batches, found, places, strict=True):
            for column, name in zip(list_names, out, strict=True):
                lists = rows.column(column).to_pylist()
                ids = sorted({each for part in lists for each in part})
                cells = [ids] * result.num_rows if chosen is None else [lists[place] for place in chosen]
                result = result.append_column(name, pa.array(cells, pa.list_(pa.int64())))
            yield from result.combine_chunks().to_batches()

    return with_ids


def _cogrouped_pandas(
    function: Function,
    values: tuple[list[str], list[str]],
    names: tuple[Names, Names],
    output: list[str],
    out: list[str],
    search: Search | None,
) -> Function:
    keyed = _takes_key(function, 2)

    def with_ids(key: Any, left: Any, right: Any) -> Any:
        import pandas as pd

        def run(parts: list[Any]) -> Any:
            result = function(key, *parts) if keyed else function(*parts)
            if not any(isinstance(label, str) for label in result.columns):
                result = result.set_axis(output[: len(result.columns)], axis=1)
            return result

        given = []
        for rows, wanted, labels in zip((left, right), names, values, strict=True):
            part = rows[wanted[1]]
            part.columns = labels
            given.append(part)
        result, witnesses = (run(given), None) if search is None else search(run, given)
        result = result.copy()
        columns = [(0, left, column) for column in names[0][2]] + [(1, right, column) for column in names[1][2]]
        for (side, rows, column), name in zip(columns, out, strict=True):
            lists = list(rows[column])
            ids = sorted({each for part in lists for each in part})
            cells = [ids] * len(result)
            if witnesses is not None:
                cells = [
                    ids if chosen is None else sorted({each for place in chosen[side] for each in lists[place]})
                    for chosen in witnesses
                ]
            result[name] = pd.Series(cells, result.index, object)  # without rows, the dtype would be float
        return result

    return with_ids
