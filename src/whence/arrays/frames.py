"""Relational operations on tables, with the lineage of every cell: group-by, join, filter, one-hot, added columns.

A table is a two-dimensional array or a pandas frame: its axes are rows and columns. Each operation returns its result
with one relation for each table that it read; `log.tables.filter_rows(table, mask)` also records them.

>>> import numpy as np
>>> done = filter_rows(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]), [True, False, True])
>>> done.result.tolist()
[[1.0, 5.0], [3.0, 7.0]]
>>> done.relations[0].backward([(1, 0)])
Selection(shape=(3, 2), 1 cell: [2, 0])
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.rules._rows import Factor, affine, factor, gathered, linked, product, row
from whence.errors import BadCells, BadType, ShapeMismatch, UnknownName
from whence.relation import Relation
from whence.relation.codec import Part

Ints = NDArray[np.int64]
Column = Hashable


@dataclass(frozen=True, slots=True)
class TableResult:
    """A result, and its lineage from each input table; `decided` is the selection lineage."""

    result: Any
    relations: tuple[Relation, ...]
    decided: tuple[Relation, ...]


def _is_frame(table: Any) -> bool:
    return type(table).__module__.partition(".")[0] == "pandas" and hasattr(table, "columns")


def _shape_of_table(table: Any) -> tuple[int, int]:
    shape = tuple(np.shape(table))
    if len(shape) != 2:
        raise BadCells(f"a table has rows and columns; this has the shape {shape}")
    return shape[0], shape[1]


def _column_position(table: Any, column: Column) -> int:
    """Return the index of a column, given as its index or, in a frame, as its name."""
    if _is_frame(table):
        found = [i for i, name in enumerate(table.columns) if name == column]
        if len(found) > 1:
            raise UnknownName(f"{len(found)} columns are called {column!r}: give them different names first")
        if not found:
            raise UnknownName.of("column", str(column), [str(name) for name in table.columns])
        return found[0]
    if (
        not isinstance(column, (int, np.integer))
        or not -_shape_of_table(table)[1] <= column < _shape_of_table(table)[1]
    ):
        raise UnknownName(
            f"there is no column {column!r}: an array has the columns 0 to {_shape_of_table(table)[1] - 1}"
        )
    return int(column) % _shape_of_table(table)[1]


def _values_of_column(table: Any, position: int) -> Any:
    return table.iloc[:, position].to_numpy() if _is_frame(table) else np.asarray(table)[:, position]


def _keys(table: Any, position: int) -> Any:
    """Return the values of a column as keys. Nullable columns with missing values become objects, because pandas would
    convert their integers to floats, which rounds large ones.
    """
    if not _is_frame(table):
        return _values_of_column(table, position)
    column = table.iloc[:, position]
    return column.to_numpy(object if not isinstance(column.dtype, np.dtype) and column.isna().any() else None)


def _keys_and_codes(column: Column, *values: Any) -> tuple[Any, list[Ints]]:
    """Return the distinct keys in order, with all missing values as one last key, and for each array the index of each
    key.

    >>> keys, (left, right) = _keys_and_codes("k", np.array(["b", None, "a"], object), np.array(["a", "c"], object))
    >>> keys.tolist(), left.tolist(), right.tolist()
    (['a', 'b', 'c', None], [1, 3, 0], [0, 2])
    """
    alike = len({each.dtype.kind for each in values}) == 1  # otherwise NumPy converts 1 to 1.0, or both to strings
    every = np.concatenate([each if alike else each.astype(object) for each in values])
    missing = _missing(every) if every.dtype == object else np.zeros(len(every), bool)
    try:
        keys, codes = np.unique(every[~missing], return_inverse=True)
    except TypeError as error:
        raise BadType(f"the keys in {column!r} have types that cannot be compared ({error}): convert them") from error
    if missing.any():
        found = np.full(len(every), len(keys))
        found[~missing] = codes
        last = np.empty(1, object)
        last[0] = every[missing][0]
        keys, codes = np.concatenate([keys, last]), found
    ends = np.cumsum([len(each) for each in values])[:-1]
    return keys, np.split(codes.astype(np.int64), ends)


def _missing(values: Any) -> Any:
    """Whether each value is None, NaN, or the missing value of pandas."""
    return np.array([each is None or type(each).__name__ in ("NAType", "NaTType")
                     or (isinstance(each, float) and each != each) for each in values], bool)  # fmt: skip


def _take_rows(table: Any, rows: Ints) -> Any:
    return table.iloc[rows] if _is_frame(table) else np.asarray(table)[rows]


def _picked_rows(rows: Ints, in_rows: int) -> Factor:
    """Return the factor that selects these rows; it is empty if there are no rows."""
    return gathered(0, 0, rows, in_rows) if len(rows) else factor([0], [0], [])


def _deciding(out_shape: tuple[int, int], in_shape: tuple[int, int], rows: Factor, column: int) -> Relation:
    """Return the selection lineage: each output cell comes from the cell of `column` in its input rows."""
    every = factor([1], [], [row((0, out_shape[1] - 1))])
    return product(out_shape, in_shape, [rows, every, factor([], [1], [row((column, column))])])


def filter_rows(table: Any, keep: Any) -> TableResult:
    """Keep the rows for which `keep` is true: a mask, or a function of the table that returns one."""
    rows, columns = _shape_of_table(table)
    mask = np.asarray(keep(table) if callable(keep) else keep)
    if mask.shape != (rows,) or mask.dtype != bool:
        raise ShapeMismatch(
            f"a filter needs one True or False for each of the {rows} rows, not {mask.dtype} {mask.shape}"
        )
    kept = np.flatnonzero(mask)
    out = (len(kept), columns)
    if 0 in out:
        empty = Relation.empty(out, (rows, columns))
        return TableResult(_take_rows(table, kept), (empty,), (empty,))
    chosen = _picked_rows(kept, rows)
    own = product(out, (rows, columns), [chosen, affine(1, 1, columns)])
    whole = [chosen, factor([1], [], [row((0, columns - 1))]), factor([], [1], [row((0, columns - 1))])]
    return TableResult(_take_rows(table, kept), (own,), (product(out, (rows, columns), whole),))


def add_columns(
    table: Any, make: Mapping[Column, Callable[[Any], Any]] | Callable[[Any], Any], reads: Any = None
) -> TableResult:
    """Append columns, each computed row by row from the columns in `reads`, or from all.

    `make` is a function of the table that returns one column, or a dictionary of names and such functions; `reads` is a
    list of columns, or a dictionary of names and lists.
    """
    rows, columns = _shape_of_table(table)
    functions = dict(make) if isinstance(make, Mapping) else {"added": make}
    made = [np.asarray(function(table)) for function in functions.values()]
    for name, values in zip(functions, made, strict=True):
        if values.shape != (rows,):
            raise ShapeMismatch(f"the column {name!r} has the shape {values.shape}, and not {rows} rows")
    out = (rows, columns + len(made))
    parts: list[Part | None] = [row((0, columns - 1), (0, 0, 0, 1, 1))]
    for place, name in enumerate(functions, columns):
        given = reads.get(name) if isinstance(reads, Mapping) else reads
        used = range(columns) if given is None else sorted({_column_position(table, each) for each in given})
        parts += [row((place, place), (start, stop)) for start, stop in _runs(used)]
    own = product(out, (rows, columns), [affine(0, 0, rows), factor([1], [1], parts)])
    if _is_frame(table):
        result = table.assign(**{str(name): values for name, values in zip(functions, made, strict=True)})
    else:
        result = np.column_stack([np.asarray(table), *made])
    return TableResult(result, (own,), (Relation.empty(out, (rows, columns)),))


def _runs(numbers: Sequence[int]) -> list[tuple[int, int]]:
    """Return neighbouring integers as intervals."""
    found: list[tuple[int, int]] = []
    for each in numbers:
        if found and found[-1][1] == each - 1:
            found[-1] = (found[-1][0], each)
        else:
            found.append((each, each))
    return found


def one_hot(table: Any, column: Column) -> TableResult:
    """Replace a column of categories by one column of flags for each, after the others."""
    rows, columns = _shape_of_table(table)
    at = _column_position(table, column)
    classes, (codes,) = _keys_and_codes(column, _keys(table, at))
    flags = (codes[:, None] == np.arange(len(classes))).astype(float)
    out = (rows, columns - 1 + len(classes))
    parts = [
        row((0, at - 1), (0, 0, 0, 1, 1)),
        row((at, columns - 2), (1, 1, 0, 1, 1)),
        row((columns - 1, out[1] - 1), (at, at)),
    ]
    own = product(out, (rows, columns), [affine(0, 0, rows), factor([1], [1], parts)])
    if _is_frame(table):
        result = table.drop(columns=[column]).assign(
            **{f"{column}_{value}": flags[:, i] for i, value in enumerate(classes.tolist())}
        )
    else:
        result = np.column_stack([np.delete(np.asarray(table), at, axis=1), flags])
    return TableResult(result, (own,), (Relation.empty(out, (rows, columns)),))


def group_by(table: Any, key: Column, aggregate: Callable[[Any], Any] = np.sum) -> TableResult:
    """Make one row per distinct key, in order: the key, then each other column aggregated over the group's rows.

    Every cell of a group contributes to the aggregate of its column; the key column is selection lineage of all of
    them.
    """
    rows, columns = _shape_of_table(table)
    at = _column_position(table, key)
    others = [i for i in range(columns) if i != at]
    if not callable(aggregate):
        raise BadType(f"aggregate must be a function of an array, such as np.sum, not {aggregate!r}")
    keys, (codes,) = _keys_and_codes(key, _keys(table, at))
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(len(keys) + 1))
    out = (len(keys), columns)
    data = {
        i: [aggregate(values[order[ends[g] : ends[g + 1]]]) for g in range(len(keys))]
        for i in others
        for values in [_values_of_column(table, i)]
    }
    groups = linked(codes, np.arange(rows), (len(keys),), (rows,))
    natural = groups._views == ((len(keys),), (rows,))
    if natural:
        members = tuple(groups.parts())
        by_rows = Factor((0,), (0,), members)
        moves = [row((0, 0), (at, at)), row((1, at), (-1, -1, 0, 1, 1)), row((at + 1, columns - 1), (0, 0, 0, 1, 1))]
        own = product(out, (rows, columns), [by_rows, factor([1], [1], moves)])
        decided = _deciding(out, (rows, columns), by_rows, at)
    else:
        places = np.empty(columns, np.int64)
        places[[at, *others]] = np.arange(columns)
        targets = (codes[:, None] * columns + places[None, :]).ravel()
        own = linked(targets, np.arange(rows * columns), out, (rows, columns))
        cells = np.repeat(np.arange(rows) * columns + at, columns)
        decided = linked((codes[:, None] * columns + np.arange(columns)).ravel(), cells, out, (rows, columns))
    if _is_frame(table):
        import pandas as pd

        names = list(table.columns)
        result: Any = pd.DataFrame({names[at]: keys, **{names[i]: data[i] for i in others}})
    else:
        result = np.column_stack([keys, *(data[i] for i in others)])
    return TableResult(result, (own,), (decided,))


def inner_join(left: Any, right: Any, on: Column | tuple[Column, Column]) -> TableResult:
    """Join the rows whose keys are equal, in the order of the left table: the left columns, then the right without its
    key.

    A joined cell comes from the cell it was copied from, the key from both sides.
    """
    if _is_frame(left) != _is_frame(right):
        raise BadType("a join takes two arrays or two frames")
    own_key, other_key = on if isinstance(on, tuple) else (on, on)
    at, other_at = _column_position(left, own_key), _column_position(right, other_key)
    _, codes = _keys_and_codes(own_key, _keys(left, at), _keys(right, other_at))
    left_rows, right_rows = _matches(*codes)
    shapes = _shape_of_table(left), _shape_of_table(right)
    others = [i for i in range(shapes[1][1]) if i != other_at]
    out = (len(left_rows), shapes[0][1] + len(others))
    if not len(left_rows):
        empty = tuple(Relation.empty(out, shape) for shape in shapes)
        return TableResult(_joined_table(left, right, left_rows, right_rows, others), empty, empty)
    width = shapes[0][1]
    from_left = factor([1], [1], [row((0, width - 1), (0, 0, 0, 1, 1))])
    from_right = factor([1], [1], [
        row((at, at), (other_at, other_at)),
        row((width, width + other_at - 1), (-width, -width, 0, 1, 1)),
        row((width + other_at, out[1] - 1), (1 - width, 1 - width, 0, 1, 1)),
    ])  # fmt: skip
    picked = _picked_rows(left_rows, shapes[0][0]), _picked_rows(right_rows, shapes[1][0])
    relations = (
        product(out, shapes[0], [picked[0], from_left]),
        product(out, shapes[1], [picked[1], from_right]),
    )
    decided = (_deciding(out, shapes[0], picked[0], at), _deciding(out, shapes[1], picked[1], other_at))
    return TableResult(_joined_table(left, right, left_rows, right_rows, others), relations, decided)


def _joined_table(left: Any, right: Any, left_rows: Ints, right_rows: Ints, others: list[int]) -> Any:
    if not _is_frame(left):
        return np.column_stack([np.asarray(left)[left_rows], np.asarray(right)[right_rows][:, others]])
    import pandas as pd

    a, b = left.iloc[left_rows].reset_index(drop=True), right.iloc[right_rows, others].reset_index(drop=True)
    taken = {name: f"{name}_right" for name in b.columns if name in set(a.columns)}
    return pd.concat([a, b.rename(columns=taken)], axis=1)


def _matches(left: Ints, right: Ints) -> tuple[Ints, Ints]:
    """Return the indices of the rows whose keys are equal, in the order of the left table, then of the right one."""
    order = np.argsort(right, kind="stable")
    start = np.searchsorted(right[order], left, "left")
    count = np.searchsorted(right[order], left, "right") - start
    within = np.arange(int(count.sum())) - np.repeat(np.cumsum(count) - count, count)
    chosen = order[np.repeat(start, count) + within]
    return np.repeat(np.arange(len(left)), count), chosen.astype(np.int64)
