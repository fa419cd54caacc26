"""What cannot be tracked, saved or asked says so."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays import forget, is_tracked, register_ufuncs, values
from whence.errors import BadType, NoLineage, Redefined, TooLarge, UnknownName


@pytest.mark.parametrize(
    "dtype", [np.float64, np.float32, np.float16, np.int64, np.uint8, np.bool_, ">f8", np.longdouble]
)
def test_exact_numbers_are_held_as_float64(dtype: Any) -> None:
    given = np.array([[0, 1], [1, 0]], dtype=dtype)
    x = wh.tracked(given, "A")
    assert x.dtype == wh.TrackedFloat64
    dtype_or_class: Any = wh.TrackedFloat64
    assert isinstance(x.dtype, dtype_or_class)
    np.testing.assert_array_equal(values(x), given.astype(float))
    assert is_tracked(x)
    assert is_tracked(x[0, 0])
    assert not is_tracked(given)


def test_lists_and_strided_arrays() -> None:
    assert values(wh.tracked([[1, 2], [3, 4]], "A")).tolist() == [[1, 2], [3, 4]]
    x = wh.tracked(np.arange(6.0).reshape(2, 3).T[::-1], "A")
    assert x[0, 1].parents == [("A", (0, 1))]
    assert values(x)[0, 1] == 5.0


@pytest.mark.parametrize("value", [2**53 + 1, -(2**53) - 1, 2**63 - 1])
def test_integers_that_no_float_equals(value: int) -> None:
    with pytest.raises(BadType, match="a float64 cannot represent"):
        wh.tracked(np.array([0, value]), "A")


def test_large_integers_that_a_float_equals() -> None:
    assert values(wh.tracked(np.array([2**60, -(2**63)]), "A")).tolist() == [2.0**60, -(2.0**63)]
    assert values(wh.tracked(np.array([2**63], dtype=np.uint64), "A")).tolist() == [2.0**63]
    with pytest.raises(BadType, match="a float64 cannot represent"):
        wh.tracked(np.array([2**64 - 1], dtype=np.uint64), "A")
    with pytest.raises(BadType, match="a float64 cannot represent"):
        wh.tracked(np.array([1, np.longdouble(1) / 3]), "A")


@pytest.mark.parametrize(
    "given",
    [
        np.array([1j]),
        np.array(["a"]),
        np.array([None]),
        np.array([b"a"]),
        np.array(["2026-01-01"], dtype="M8[D]"),
        np.zeros(2, "i4,f8"),
        [[1], [2, 3]],
    ],
)
def test_other_kinds_are_refused(given: Any) -> None:
    with pytest.raises(BadType, match="'A'"):
        wh.tracked(given, "A")


def test_masked_arrays_are_refused() -> None:
    with pytest.raises(BadType, match="mask"):
        wh.tracked(np.ma.array([1.0, 2.0], mask=[False, True]), "A")


def test_tracked_twice_is_refused() -> None:
    x = wh.tracked([1.0], "A")
    with pytest.raises(BadType, match="tracked already"):
        wh.tracked(x, "B")


@pytest.mark.parametrize("name", ["", None, 3])
def test_names_are_words(name: Any) -> None:
    with pytest.raises(BadType, match="name"):
        wh.tracked([1.0], name)


def test_more_cells_than_can_be_numbered() -> None:
    with pytest.raises(TooLarge, match=r"2\^36"):
        wh.tracked(np.broadcast_to(0.0, (1 << 20, 1 << 17)), "A")


@pytest.mark.parametrize("protocol", range(6))
def test_pickling_is_refused(protocol: int) -> None:
    x = wh.tracked([1.0, 2.0], "A")
    for each in (x, x[0], x.dtype):
        with pytest.raises(BadType, match=r"cannot be pickled.*values"):
            pickle.dumps(each, protocol)


def test_saving_is_refused(tmp_path: Path) -> None:
    x = wh.tracked([1.0, 2.0], "A")
    with pytest.raises(BadType, match=r"cannot be saved.*relation"):
        np.save(tmp_path / "x.npy", x)
    with pytest.raises(BadType, match="cannot be saved"):
        np.savez(tmp_path / "x.npz", x=x)
    with pytest.raises(BadType, match="cannot be saved"):
        x.tofile(tmp_path / "x.bin")


def test_no_silent_cast_to_float() -> None:
    x = np.asarray(wh.tracked(np.eye(2), "A"))  # the dtype alone, without the rules of its array class
    assert not np.can_cast(x.dtype, np.float64, "same_kind")
    for work in (np.linalg.inv, np.linalg.svd, np.fft.fft):
        with pytest.raises(TypeError):
            work(x)
    plain = np.zeros((2, 2))
    with pytest.raises(TypeError):
        np.add(x, 1.0, out=plain)


def test_relation_of_something_else() -> None:
    x = wh.tracked([1.0], "A")
    with pytest.raises(BadType, match="no tracked array"):
        wh.relation_of(np.ones(3), "A")
    with pytest.raises(UnknownName, match=r"named 'a A'; there are 'A'"):
        wh.relation_of(x, "a A")
    with pytest.raises(BadType, match="no tracked array"):
        values(np.ones(3))


def test_two_arrays_of_one_name() -> None:
    first, second = wh.tracked([1.0, 2.0], "twin"), wh.tracked([3.0, 4.0, 5.0], "twin")
    assert wh.relation_of(first[::-1], "twin").in_shape == (2,)
    assert wh.relation_of(second * 2, "twin").in_shape == (3,)
    assert wh.relation_of(wh.tracked([1.0], "other"), "twin").count() == 0
    with pytest.raises(Redefined, match="'twin'"):
        wh.relation_of(first.sum() + second, "twin")


def test_too_many_parents_to_list() -> None:
    total = wh.tracked(np.zeros((1 << 12, 1 << 11)), "A").sum()
    with pytest.raises(TooLarge, match="relation"):
        _ = total.parents
    assert wh.relation_of(total, "A").count() == 1 << 23


def test_forgotten_arrays_are_recognised() -> None:
    x = wh.tracked(np.random.default_rng(0).random((40, 40)), "A")
    kept = [x, x + x.T, np.sort(x, axis=None)[::-1].reshape(40, 40) + x, x @ x, x.sum(axis=0)]
    forget()
    fresh = wh.tracked(np.ones((40, 40)), "A")
    for old in kept:
        with pytest.raises(NoLineage, match="forget"):
            _ = old.ravel()[0].parents
        with pytest.raises(NoLineage, match="forget"):
            wh.relation_of(old, "A")
    assert (fresh + fresh.T)[0, 1].parents == [("A", (0, 1)), ("A", (1, 0))]


def test_only_ufuncs_are_taught() -> None:
    assert register_ufuncs(np) == 0  # they know already
    from whence import _tracked

    with pytest.raises(TypeError, match="no ufunc"):
        _tracked.register_ufunc(len)  # type: ignore[arg-type] # refused on purpose


def test_memory_is_not_viewed_as_other_numbers() -> None:
    x = wh.tracked([[1.0, 2.0], [3.0, 4.0]], "A")
    for view in (lambda: x.view(float), lambda: x.view(dtype=np.uint64), lambda: x.view("c16")):
        with pytest.raises(BadType, match=r"cannot be viewed as .*values"):
            view()
    assert x.view(np.ndarray)[0, 1].parents == [("A", (0, 1))]
    assert x.view(x.dtype)[1, 0].parents == [("A", (1, 0))]


def test_strides_that_cut_cells_apart_are_refused() -> None:
    x = wh.tracked(np.arange(6.0), "A")
    good = np.lib.stride_tricks.as_strided(x, (4, 3), x.strides * 2)
    assert wh.relation_of(good, "A").backward([(1, 2)]).cells().tolist() == [[3]]
    bad = np.lib.stride_tricks.as_strided(x, (4, 3), (8, 8))
    for ask in (lambda: wh.relation_of(bad, "A"), lambda: values(bad)):
        with pytest.raises(BadType, match=r"strides of \(8, 8\) bytes"):
            ask()


def test_tracked_calls_put_into_cut_views_as_numpy_does(tmp_path: Path) -> None:
    """NumPy's put crashes on such views of tracked cells, which is why no call is run on them."""

    def put(x: Any) -> Any:
        view = np.lib.stride_tricks.as_strided(x.copy(), (4, 3), (8, 8))
        np.put(view, [0, 1], 3.0)
        return view.sum(axis=1)

    with wh.open(tmp_path / "log") as log:
        with pytest.warns(wh.LineageLost, match=r"numpy\.put"):
            found = log.track(put)(np.arange(10.0))
        assert found.tolist() == put(np.arange(10.0)).tolist()
        assert not log.backward("put", "0").precise


def test_selection_lineage_is_the_traced_runs() -> None:
    with pytest.raises(BadType, match=r"log\.track"):
        wh.tracked([1.0], "A", lineage="value+selection")
