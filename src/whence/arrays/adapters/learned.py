"""How results of scikit-learn's estimators depend on their arguments and on the fitted state."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import affine, factor, gathered, moved, numbered, product, row, whole_in, whole_out
from whence.arrays.rules._rules import Kind
from whence.relation import Relation

Found = list[tuple[str, Relation, Kind]]  # "data" or "model", and the relation of the result to it

SAME_COLUMNS = frozenset(
    ["StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler", "PowerTransformer", "QuantileTransformer",
     "OrdinalEncoder"]
)  # fmt: skip
BY_COLUMNS = SAME_COLUMNS | {"SimpleImputer", "OneHotEncoder", "KBinsDiscretizer"}
"""Estimators that learn from each column separately."""


TOGETHER = frozenset(["BernoulliRBM", "MiniBatchNMF", "NMF"])
"""Estimators for which the rows of a batch depend on each other: they draw random numbers, or stop at a common
condition.
"""


def by_columns(estimator: Any) -> bool:
    """Whether the estimator learns from each column separately."""
    return type(estimator).__name__ in BY_COLUMNS


def columns_of(shape: tuple[int, ...]) -> Relation:
    """Return the relation of one cell for each column to all its rows."""
    rows, columns = shape
    return product((columns,), shape, [affine(0, 1, columns), whole_in(0, rows)])


def links(estimator: Any, method: str, data: Any, result: Any, cells: tuple[int, ...] | None) -> Found:
    """Return the lineage of the results of a method; `cells` is the shape of the state learned in this run, if there is
    one.
    """
    kind = type(estimator).__name__
    learned = () if cells is None else cells
    forth = method in ("transform", "fit_transform")
    if kind in TOGETHER:
        return [("data", Relation.whole(result.shape, data.shape), "value"),
                ("model", Relation.whole(result.shape, learned), "value")]  # fmt: skip
    if kind == "Binarizer" and forth:
        return [("data", Relation.identity(result.shape), "value")]
    if kind == "Normalizer" and forth:
        return [("data", _rows(data.shape, result.shape), "value")]
    if kind == "PolynomialFeatures" and forth:
        return [("data", _powers(estimator.powers_, data.shape, result.shape), "value")]
    if kind == "SimpleImputer" and forth and not estimator.add_indicator:
        return _imputed(estimator, data, result, learned)
    if forth and hasattr(estimator, "get_support"):
        chosen = np.asarray(estimator.get_support(indices=True))
        return [
            ("data", _picked(chosen, data.shape, result.shape), "value"),
            ("model", Relation.whole(result.shape, learned), "selection"),
        ]
    columns = _columns(estimator, data) if by_columns(estimator) and (forth or kind in SAME_COLUMNS) else None
    if columns is not None and result.ndim == 2 and len(columns) == result.shape[1]:
        own: Found = [("data", _picked(columns, data.shape, result.shape), "value")]
        if kind in ("OneHotEncoder", "OrdinalEncoder") and not isinstance(estimator.categories, str):
            return own  # given categories were not learned
        return [*own, ("model", _from_columns(columns, result.shape, learned), "value")]
    return [
        ("data", _rows(data.shape, result.shape), "value"),
        ("model", Relation.whole(result.shape, learned), "value"),
    ]


def _columns(estimator: Any, data: Any) -> Any:
    """Return the input column of each column of the result; None if it is not known."""
    kind, count = type(estimator).__name__, data.shape[1]
    if kind == "OneHotEncoder":
        return np.repeat(np.arange(count), getattr(estimator, "_n_features_outs", [0] * count))
    if kind == "KBinsDiscretizer" and estimator.encode == "onehot-dense":
        return np.repeat(np.arange(count), estimator.n_bins_)
    return np.arange(count) if kind != "SimpleImputer" else None


def _picked(columns: Any, data: tuple[int, ...], result: tuple[int, ...]) -> Relation:
    """Each cell comes from the cell in its row and one of the columns."""
    if not len(columns) or not result[0]:
        return Relation.empty(result, data)
    return product(result, data, [affine(0, 0, result[0]), gathered(1, 1, np.asarray(columns, np.int64), data[1])])


def _from_columns(columns: Any, result: tuple[int, ...], cells: tuple[int, ...]) -> Relation:
    """Each cell comes from the state of its column; from all states if columns are not separate."""
    if len(cells) != 1 or not len(columns) or not result[0]:
        return Relation.whole(result, cells)
    return product(result, cells, [whole_out(0, result[0]), gathered(1, 0, np.asarray(columns, np.int64), cells[0])])


def _rows(data: tuple[int, ...], result: tuple[int, ...]) -> Relation:
    """Each row comes from the same row."""
    if not data or not result or data[0] != result[0]:
        return Relation.whole(result, data)
    beside = [whole_out(i, side) for i, side in enumerate(result) if i]
    return product(result, data, [affine(0, 0, data[0]), *beside, *(whole_in(i, n) for i, n in enumerate(data) if i)])


def _powers(powers: Any, data: tuple[int, ...], result: tuple[int, ...]) -> Relation:
    """Each column comes from the columns that are multiplied."""
    pairs = [row((out, out), (column, column)) for out, column in np.argwhere(np.asarray(powers) > 0).tolist()]
    return product(result, data, [affine(0, 0, data[0]), factor([1], [1], pairs)])


def _imputed(estimator: Any, data: Any, result: Any, cells: tuple[int, ...]) -> Found:
    """A cell comes from itself or, if it is missing, from the state of its column."""
    known = np.asarray(estimator.statistics_)
    kept = np.arange(len(known))
    if len(kept) != result.shape[1]:
        kept = np.flatnonzero(~np.isnan(known.astype(float)))
    if len(kept) != result.shape[1]:
        return [
            ("data", _rows(data.shape, result.shape), "value"),
            ("model", Relation.whole(result.shape, cells), "value"),
        ]
    wanted = estimator.missing_values
    missing = np.isnan(data) if isinstance(wanted, float) and np.isnan(wanted) else data == wanted
    missing = missing[:, kept]
    sources = np.where(missing, -1, numbered(data.shape)[:, kept])
    found: Found = [
        ("data", moved(sources, data.shape), "value"),
        ("data", _picked(kept, data.shape, result.shape), "selection"),
    ]
    if estimator.strategy == "constant":
        return found
    if len(cells) != 1:
        return [*found, ("model", Relation.whole(result.shape, cells), "value")]
    columns = np.where(missing, np.broadcast_to(kept, result.shape), -1)
    return [*found, ("model", moved(columns, cells), "value")]
