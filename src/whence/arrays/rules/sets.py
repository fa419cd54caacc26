"""Rules for arrays as sets of values: a value of the result comes from every cell that equals it."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import Shape, linked, numbered
from whence.arrays.rules._rules import Link, Links, axis_of, rule, shape
from whence.relation import Relation


def holding(values: Any, array: Any) -> Relation:
    """Each of the sorted distinct values comes from the cells of the array that equal it.

    >>> holding(np.array([1.0, 3.0]), np.array([3.0, 1.0, 2.0, 3.0])).to_array().tolist()
    [[0, 1], [1, 0], [1, 3]]
    """
    cells = np.asarray(array).ravel()
    if not len(values):
        return Relation.empty((0,), shape(array))
    at = np.clip(np.searchsorted(values, cells), 0, len(values) - 1)
    inside = (values[at] == cells) | (np.isnan(values[at]) & np.isnan(cells))
    return linked(at[inside], np.flatnonzero(inside), (len(values),), shape(array))


def _decided_by_all(out_shape: Shape, *arrays: Any) -> Links:
    """Link all cells as selection lineage: they determine which values there are, and in which order."""
    return [Link(each, Relation.whole(out_shape, shape(each)), "selection") for each in arrays]


def _distinct(ar: Any) -> tuple[Links, Links, Links, Links]:
    """Return the links of the values, of their first indices, of the inverse, and of their counts."""
    values, inverse = np.unique(np.asarray(ar), return_inverse=True)
    found = linked(inverse.ravel(), np.arange(inverse.size), values.shape, shape(ar))
    whole = _decided_by_all(values.shape, ar)
    places = [Link(ar, found, "selection"), *whole]
    return [Link(ar, found), *whole], places, _decided_by_all(inverse.shape, ar), places


@rule("unique", values=True)
def unique(ar: Any, return_index: bool = False, return_inverse: bool = False, return_counts: bool = False,
           axis: int | None = None, *, equal_nan: bool = True, sorted: bool = True) -> Any:  # fmt: skip
    """Each distinct value, or with an axis each distinct slice, comes from all that equal it."""
    if not equal_nan and np.isnan(np.asarray(ar)).any():
        raise TypeError("NaNs that differ")
    chosen = (True, return_index, return_inverse, return_counts)
    if axis is None:
        links = _distinct(ar)
    else:
        if any(chosen[1:]):
            raise TypeError("more than the distinct parts along an axis")
        links = (_unique_of_parts(ar, axis_of(axis, len(shape(ar)))), [], [], [])
    made = tuple(each for each, wanted in zip(links, chosen, strict=True) if wanted)
    return made[0] if len(made) == 1 else made


def _unique_of_parts(ar: Any, axis: int) -> Links:
    parts, inverse = np.unique(np.asarray(ar), axis=axis, return_inverse=True)
    sources = np.moveaxis(numbered(shape(ar)), axis, 0)
    targets = np.moveaxis(numbered(parts.shape), axis, 0)[inverse.ravel()]
    found = linked(targets.ravel(), sources.ravel(), parts.shape, shape(ar))
    return [Link(ar, found), *_decided_by_all(parts.shape, ar)]


@rule("unique_values", values=True)
def unique_values(x: Any, /) -> Links:
    """The values alone, in the order in which NumPy returns them."""
    values = np.unique_values(np.asarray(x))
    order = np.argsort(values, kind="stable")
    found = holding(values[order], x)
    turned = linked(order, np.arange(len(order)), values.shape, values.shape)
    return [Link(x, turned.compose(found)), *_decided_by_all(values.shape, x)]


@rule("unique_all", values=True)
def unique_all(x: Any, /) -> tuple[Links, ...]:
    """Values, first indices, inverse and counts."""
    return _distinct(x)


@rule("unique_counts", values=True)
def unique_counts(x: Any, /) -> tuple[Links, ...]:
    """Values and counts."""
    return _distinct(x)[::3]


@rule("unique_inverse", values=True)
def unique_inverse(x: Any, /) -> tuple[Links, ...]:
    """Values and inverse."""
    return _distinct(x)[::2]


def _of_two(name: str) -> None:
    function = getattr(np, name)

    @rule(name, values=True)
    def pair(ar1: Any, ar2: Any, assume_unique: bool = False, return_indices: bool = False) -> Links:
        if return_indices or assume_unique:
            raise TypeError("indices, or values that are taken to be distinct")
        values = function(np.asarray(ar1), np.asarray(ar2))
        links = [Link(each, holding(values, each)) for each in (ar1, ar2)]
        return [*links, *_decided_by_all(values.shape, ar1, ar2)]


for _name in ("intersect1d", "setdiff1d", "setxor1d", "union1d"):
    _of_two(_name)


@rule("isin")
def isin(element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False, **_: Any) -> Links:
    """Each cell comes from itself and all test elements."""
    out = shape(element)
    return [Link(element, Relation.identity(out)), Link(test_elements, Relation.whole(out, shape(test_elements)))]


@rule("array_equal", "array_equiv", "allclose")
def compared(a1: Any, a2: Any, *_: Any, **__: Any) -> Links:
    """One result from all cells of both."""
    return [Link(each, Relation.whole((), shape(each))) for each in (a1, a2)]
