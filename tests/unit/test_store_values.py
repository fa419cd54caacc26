"""Names, shapes and arguments, brought to one form or refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import BadCells, BadType
from whence.store.records import Dataset, Derivation, Operation
from whence.store.values import name_of, names_of, plain, shape_of
from whence.words import counted, in_units

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.slices(10) | st.complex_numbers(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner) | st.tuples(inner, inner),
)


@given(VALUES)
def test_plain_values_survive_json(value: Any) -> None:
    once = plain(value, "op_args")
    assert plain(once, "op_args") == once
    assert json.loads(json.dumps(once, allow_nan=False)) == once


@pytest.mark.parametrize("code", "?bBhHiIlLqQefd")
def test_numpy_scalars_become_python_values(code: str) -> None:
    value = np.ones((), dtype=code)[()]
    assert plain(value, "op_args") in (1, True)
    assert type(plain(value, "op_args")) in (int, bool, float)
    assert plain(np.dtype(code), "op_args") == {"$": "dtype", "value": str(np.dtype(code))}


def test_values_that_json_lacks_are_distinguished() -> None:
    special: list[object] = [
        np.longdouble(1) / 3,
        np.datetime64("2024-01-01"),
        np.datetime64("2024-01-01T00"),
        np.timedelta64(3, "D"),
    ]
    special += [float("nan"), float("inf"), -float("inf"), 1j, slice(1, None), ..., np.dtype("f4")]
    texts = [json.dumps(plain(value, "x")) for value in special]
    assert len(set(texts)) == len(special)
    assert plain(np.array([[1, 2], [3, 4]]), "x") == [[1, 2], [3, 4]]
    assert plain(range(3), "x") == [0, 1, 2]


@pytest.mark.parametrize("value", [object(), {1, 2}, b"bytes", print, {1: 2}, {"a": [object()]}])
def test_values_that_cannot_be_recorded(value: Any) -> None:
    with pytest.raises(BadType, match="op_args"):
        plain(value, "op_args")


def test_the_error_says_where_the_value_is() -> None:
    with pytest.raises(BadType, match=r"op_args\['a'\]\[1\] is a set"):
        plain({"a": [0, {1}]}, "op_args")


def test_names() -> None:
    assert name_of("a b/c.npy") == "a b/c.npy"
    assert names_of(["a", "b"], "a path") == ("a", "b")
    for bad in ("", " a", "a ", "a\tb", "\x00", "\ud800", "x" * 401):
        with pytest.raises(BadType, match="is not a valid dataset name"):
            name_of(bad)
    with pytest.raises(BadType, match="a name is a string, not int: 3"):
        name_of(3, "operation")
    for bad_list in ("AB", None, {"A"}, 3):
        with pytest.raises(BadType, match="a path is a list of names"):
            names_of(bad_list, "a path")


@given(st.lists(st.integers(0, 2**12), max_size=5))
def test_shapes(shape: list[int]) -> None:
    assert shape_of(shape) == tuple(shape)
    assert shape_of(np.array(shape, dtype=np.int64)) == tuple(shape)
    assert all(type(axis) is int for axis in shape_of(np.array(shape, dtype=np.int64)))


@pytest.mark.parametrize("shape", [-1, (-1,), (2.5,), "3", b"3", None, (True,), (2**61, 2), [[1, 2]], {"a": 1}])
def test_bad_shapes(shape: Any) -> None:
    with pytest.raises(BadCells, match="shape"):
        shape_of(shape)


def test_the_largest_shape() -> None:
    assert shape_of((2**61, 0, 1)) == (2**61, 0, 1)
    assert shape_of((2**31, 2**30)) == (2**31, 2**30)


def test_records_print() -> None:
    assert [in_units(n) for n in (0, 999, 1000, 999_949, 999_950, 10**9, 5 * 10**15)] == [
        "0 B",
        "999 B",
        "1.0 kB",
        "999.9 kB",
        "1.0 MB",
        "1.0 GB",
        "5000.0 TB",
    ]
    assert counted(0, "box", "boxes") == "0 boxes"
    edge = Derivation("B", "A", "boxes", "f" * 64, 1, 2**80, 40, "2026-01-01T00:00:00Z", "sum")
    assert str(edge) == "B <- A by sum: 1,208,925,819,614,629,174,706,176 tuples in 1 box, 40 B"
    operation = Operation(1, "sum", ("A",), ("B",), {"axis": 1}, "", "")
    assert str(operation) == "B = sum(A, axis=1)"
    assert str(Operation(1, "load", (), ("A",), {}, "", "")) == "A = load()"
    dataset = Dataset("A", "array", (3, 2), "2026-01-01T00:00:00Z")
    assert dataset.as_dict()["shape"] == (3, 2)
    with pytest.raises(AttributeError):
        dataset.name = "B"  # type: ignore[misc] # refused on purpose
