"""Bad input to relations: an error of whence.errors that names the thing, and nothing changed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import whence as wh
from whence.errors import BadCells, BadType, OutOfRange, ShapeMismatch, TooLarge, WhenceError
from whence.testing import operations as ops
from whence.testing.conformance import answer

WrongKind = (BadCells, BadType)


@pytest.mark.parametrize(
    ("rows", "named"),
    [
        ([[0, 3]], "3"),
        ([[5, 0]], "5"),
        ([[0, 0], [1, 1], [2, 7]], "7"),
        ([[0, -1]], "-1"),
        ([[-2, 0]], "-2"),
        ([[0, 2**62]], str(2**62)),
        ([[-(2**63), 0]], str(-(2**63))),
    ],
)
def test_tuples_out_of_range(rows: list[list[int]], named: str) -> None:
    with pytest.raises(OutOfRange, match=named):
        wh.compress(np.array(rows), (3,), (3,))


def test_tuples_out_of_range_of_unsigned_integers() -> None:
    with pytest.raises((OutOfRange, BadCells), match=str(2**64 - 1)):
        wh.compress(np.array([[0, 2**64 - 1]], np.uint64), (3,), (3,))


def test_tuples_out_of_range_in_a_later_chunk() -> None:
    chunks = iter([np.array([[0, 0]]), np.array([[1, 9]])])
    with pytest.raises(OutOfRange, match="9"):
        wh.compress(chunks, (3,), (3,))


def test_any_tuple_is_out_of_range_of_a_zero_size_array() -> None:
    with pytest.raises(OutOfRange):
        wh.compress(np.array([[0, 0]]), (0,), (3,))


@pytest.mark.parametrize(
    "rows",
    [
        np.array([[0.0, 1.0]]),
        np.array([[0.5, 1.5]]),
        np.array([[np.nan, 0.0]]),
        np.array([[True, False]]),
        np.array([[0, 1]], object),
        np.array([[0, None]], object),
        np.array([["0", "1"]]),
        np.array([[1j, 0]]),
        np.array([["2020-01-01", "2020-01-02"]], "datetime64[D]"),
    ],
    ids=["whole floats", "floats", "nan", "bool", "object of ints", "object with None", "text", "complex", "dates"],
)
def test_tuples_that_are_not_integers(rows: np.ndarray) -> None:
    with pytest.raises(WrongKind):
        wh.compress(rows, (3,), (3,))


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((2, 1), int),
        np.zeros((2, 3), int),
        np.zeros((2, 0), int),
        np.zeros(2, int),
        np.zeros((2, 2, 1), int),
        np.array(0),
    ],
    ids=["too few columns", "too many columns", "no columns", "1-d", "3-d", "0-d"],
)
def test_tuples_of_the_wrong_width(rows: np.ndarray) -> None:
    with pytest.raises(BadCells):
        wh.compress(rows, (3,), (3,))


def test_an_empty_array_of_the_right_width_is_no_error() -> None:
    assert wh.compress(np.empty((0, 2), int), (3,), (3,)) == wh.Relation.empty((3,), (3,))
    assert wh.compress(iter([]), (3,), (3,)) == wh.Relation.empty((3,), (3,))


def test_chunks_of_different_width() -> None:
    with pytest.raises(BadCells):
        wh.compress(iter([np.zeros((1, 2), int), np.zeros((1, 3), int)]), (3,), (3,))


def test_table_columns_that_are_not_integers_or_missing() -> None:
    with pytest.raises(WrongKind):
        wh.compress(pa.table({"b": [0], "a": [0.5]}), (3,), (3,))
    with pytest.raises(WrongKind):
        wh.compress(pa.table({"b": [0, 1], "a": pa.array([1, None], pa.int64())}), (3,), (3,))
    with pytest.raises(BadCells):
        wh.compress(pa.table({"b": [0]}), (3,), (3,))


@pytest.mark.parametrize(
    "rows", [None, 5, object(), {"a": 1}, lambda index: index], ids=["none", "int", "object", "dict", "function"]
)
def test_things_that_are_no_tuples(rows: Any) -> None:
    with pytest.raises(WhenceError):
        wh.compress(rows, (3,), (3,))


@pytest.mark.parametrize("shape", [(-1,), (2.5,), ("3",), (None,), (2**63,), "33", 5.0, (True, 2.0)], ids=repr)
def test_shapes_that_are_none(shape: Any) -> None:
    rows = np.empty((0, 2), int)
    with pytest.raises(WhenceError):
        wh.compress(rows, shape, (3,))
    with pytest.raises(WhenceError):
        wh.compress(rows, (3,), shape)
    with pytest.raises(WhenceError):
        wh.Relation.identity(shape)
    with pytest.raises(WhenceError):
        wh.Relation.whole(shape, (2,))
    with pytest.raises(WhenceError):
        wh.Relation.empty((2,), shape)


def test_composing_what_does_not_fit() -> None:
    first, second = wh.Relation.identity((3,)), wh.Relation.identity((4,))
    with pytest.raises(ShapeMismatch, match=r"(?s)3.*4|4.*3"):
        first.compose(second)
    with pytest.raises(ShapeMismatch):
        wh.Relation.identity((3, 1)).compose(wh.Relation.identity((3,)))
    with pytest.raises(WrongKind):
        first.compose("second")  # type: ignore[arg-type] # refused on purpose


@pytest.mark.parametrize(
    "cells",
    [[(3,)], [(-4,)], np.array([[0], [7]]), [(2**62,)]],
    ids=["past the end", "negative", "among others", "far"],
)
def test_asking_for_cells_out_of_range(cells: Any) -> None:
    relation = wh.compress(*ops.flip((3,)))
    with pytest.raises(OutOfRange):
        relation.backward(cells)
    with pytest.raises(OutOfRange):
        relation.forward(cells)


@pytest.mark.parametrize(
    "cells",
    [[(0, 0)], np.array([[0.5]]), np.zeros((2, 2), int), [("a",)]],
    ids=["wrong rank", "float", "wrong width", "text"],
)
def test_asking_for_cells_of_the_wrong_kind(cells: Any) -> None:
    with pytest.raises(WhenceError):
        wh.compress(*ops.flip((3,))).backward(cells)


def test_asking_with_a_selection_or_mask_of_another_shape() -> None:
    relation = wh.compress(*ops.flip((3,)))
    with pytest.raises(ShapeMismatch):
        relation.backward(wh.Selection.all((4,)))
    with pytest.raises(WhenceError):
        relation.forward(np.ones(4, bool))


def test_a_failed_call_changes_nothing() -> None:
    relation = wh.compress(*ops.flip((3,)))
    before = relation.to_bytes()
    with pytest.raises(OutOfRange):
        relation.backward([(9,)])
    with pytest.raises(ShapeMismatch):
        relation.compose(wh.Relation.identity((9,)))
    assert relation.to_bytes() == before
    assert answer(relation.backward([(0,)])) == {(2,)}


def test_2_to_the_40_tuples_are_not_expanded() -> None:
    relation = wh.Relation.whole((2**20,), (2**20,))
    assert relation.count() == 2**40
    for expand in (relation.to_array, relation.to_arrow, relation.to_pandas):
        with pytest.raises(TooLarge, match=str(2**40) + "|1[, _.]?099[, _.]?511"):
            expand()
    assert len(relation) == 1
    assert len(relation.to_bytes()) < 1000


def test_answers_too_large_to_expand_still_count() -> None:
    relation = wh.Relation.whole((2,), (2**40,))
    found = relation.backward([(0,)])
    assert len(found) == 2**40
    with pytest.raises(TooLarge):
        found.cells()


def test_shapes_near_the_end_of_the_integers() -> None:
    side = 2**61
    identity = wh.Relation.identity((side,))
    assert identity.count() == side
    assert identity.backward([(side - 1,)]).cells().tolist() == [[side - 1]]
    assert identity.forward((slice(side - 3, side),)).cells().tolist() == [[side - 3], [side - 2], [side - 1]]
    assert wh.Relation.from_bytes(identity.to_bytes()) == identity


def test_equality_of_what_cannot_be_expanded() -> None:
    for shape in ((2**61,), (2**30, 2**30)):
        identity = wh.Relation.identity(shape)
        assert identity.compose(identity) == identity
        assert identity.inverse == identity
        assert identity != wh.Relation.whole(shape, shape)
    whole = wh.Relation.whole((2**20,), (2**20,))
    assert whole.inverse == whole
    assert whole.compose(whole) == whole


def test_one_far_tuple() -> None:
    side = 2**61
    relation = wh.compress(np.array([[side - 1, 0], [0, side - 1]]), (side,), (side,))
    assert relation.to_array().tolist() == [[0, side - 1], [side - 1, 0]]
    assert relation.backward([(0,)]).cells().tolist() == [[side - 1]]
    assert relation.forward([(0,)]).cells().tolist() == [[side - 1]]
    assert wh.Relation.from_bytes(relation.to_bytes()) == relation


def test_far_tuples_in_a_row() -> None:
    """Slopes and sums of indices near the limit must not wrap around."""
    side = 2**61
    rows = np.array([[i, side - 1 - i * 3] for i in range(40)] + [[side - 1 - i, i * 5] for i in range(40)])
    relation = wh.compress(rows, (side,), (side,))
    assert relation.to_array().tolist() == sorted(rows.tolist())
    for b, a in rows.tolist():
        assert relation.backward([(b,)]).cells().tolist() == [[a]]
        assert relation.forward([(a,)]).cells().tolist() == [[b]]
    assert wh.Relation.from_bytes(relation.to_bytes()).to_array().tolist() == sorted(rows.tolist())


@pytest.mark.parametrize("shape", [(2**62,), (2**63 - 1,), (2**32, 2**32), (2**64,)], ids=str)
def test_arrays_of_more_cells_than_can_be_numbered_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(WhenceError, match=str(shape[0])):
        wh.Relation.identity(shape)
