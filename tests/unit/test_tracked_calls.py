"""Calls of ufuncs on tracked arrays: large ones, on two threads, into given arrays, beside other kinds of arrays."""

from __future__ import annotations

import os
import warnings
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays import is_tracked, values
from whence.arrays.tracing import Run, TrackedArray
from whence.errors import BadType

LARGE = (1 << 18) + 77  # several pieces, and a rest
UNARY: list[Any] = [np.negative, np.absolute, np.sqrt, np.square, np.exp]
BINARY: list[Any] = [np.add, np.subtract, np.multiply, np.divide, np.maximum, np.minimum, np.arctan2]


def numbers(seed: int = 0, n: int = LARGE) -> Any:
    made = np.random.default_rng(seed).normal(size=n)
    made[:: n // 5] = [np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0][: len(made[:: n // 5])]
    return made


def warned(call: Any) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = call()
    return made, sorted(str(each.message) for each in caught)


def same(tracked: Any, plain: Any) -> bool:
    return bool(np.array_equal(values(tracked).view(np.uint64), plain.view(np.uint64)))


@pytest.mark.parametrize("ufunc", UNARY, ids=lambda each: each.__name__)
@pytest.mark.parametrize("n", [300, LARGE])
def test_one_operand(ufunc: Any, n: int) -> None:
    a = numbers(n=n)
    made, said = warned(lambda: ufunc(wh.tracked(a, "A")))
    plain, expected = warned(lambda: ufunc(a))
    assert same(made, plain)
    assert said == expected
    assert isinstance(made, TrackedArray)
    assert wh.relation_of(made, "A") == wh.Relation.identity(n)


@pytest.mark.parametrize("ufunc", BINARY, ids=lambda each: each.__name__)
@pytest.mark.parametrize("kind", ["both", "array first", "array last", "number first", "number last", "whole last"])
def test_two_operands(ufunc: Any, kind: str) -> None:
    a, b = numbers(1), numbers(2)
    x, y = wh.tracked(a, "A"), wh.tracked(b, "B")
    pairs = {
        "both": ((x, y), (a, b)), "array first": ((a, y), (a, b)), "array last": ((x, b), (a, b)),
        "number first": ((2.5, y), (2.5, b)), "number last": ((x, 2.5), (a, 2.5)), "whole last": ((x, -3), (a, -3)),
    }  # fmt: skip
    made, said = warned(lambda: ufunc(*pairs[kind][0]))
    plain, expected = warned(lambda: ufunc(*pairs[kind][1]))
    assert same(made, plain)
    assert said == expected
    for name, used in (("A", kind == "both" or "last" in kind), ("B", "last" not in kind)):
        expected_tuples = LARGE if used else 0
        assert wh.relation_of(made, name).count() == expected_tuples
        assert not used or wh.relation_of(made, name) == wh.Relation.identity(LARGE)


def test_unions_that_do_not_repeat_on_two_threads() -> None:
    x = wh.tracked(numbers(3), "A")
    order = np.random.default_rng(4).permutation(LARGE)
    made = x + x[order]
    for i in (0, 1, LARGE // 2, LARGE - 1):
        assert made[i].parents == [("A", (j,)) for j in sorted({i, int(order[i])})]
    assert wh.relation_of(made, "A").count() == 2 * LARGE - int((order == np.arange(LARGE)).sum())


@pytest.mark.parametrize("number", [2**53, 2**53 + 1, -(2**60) - 1])
def test_whole_numbers_beyond_a_floats(number: int) -> None:
    a = np.arange(300.0)
    assert same(wh.tracked(a, "A") * number, a * number)


def test_errors_can_be_made_of_warnings() -> None:
    x = wh.tracked(np.zeros(LARGE), "A")
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="divide by zero encountered in divide"):
        1.0 / x


def test_outputs_that_are_given() -> None:
    a = np.arange(600.0).reshape(20, 30)
    x = wh.tracked(a, "A")
    kept = x
    x += 1.0
    assert x is kept
    assert same(x, a + 1)
    out = wh.tracked(np.zeros((20, 30)), "B")
    assert np.multiply(x, 2.0, out=out) is out
    assert out[3, 4].parents == [("A", (3, 4))]
    given: Any = (out, None)
    whole, part = np.divmod(x, 7.0, out=given)
    assert whole is out
    assert isinstance(part, TrackedArray)
    plain = np.zeros((20, 30))
    with pytest.raises(TypeError):
        np.add(x, 1.0, out=plain)
    np.add(x, 1.0, out=x, where=a > 300)
    assert same(x, np.where(a > 300, a + 2, a + 1))
    np.add.at(x, ([0, 0], [0, 0]), 5.0)
    assert float(values(x)[0, 0]) == 11.0


@pytest.mark.parametrize("shape", [(2, 200), (300, 2), (41, 43), (1000, 513)])
def test_sums_of_columns(shape: tuple[int, int]) -> None:
    a = np.random.default_rng(5).normal(size=shape)
    a[0, 1] = -0.0
    x: Any = wh.tracked(a, "A")
    calls: list[Any] = [
        lambda v: v.sum(axis=0), lambda v: np.sum(v, axis=0), lambda v: np.add.reduce(v), lambda v: v.mean(axis=0),
        lambda v: v.sum(axis=0, keepdims=True), lambda v: v.sum(axis=0, initial=3.0), lambda v: v[::-1].sum(axis=0),
        lambda v: np.asarray(v).sum(axis=0), lambda v: (v + v[::-1]).sum(axis=0), lambda v: v.T.sum(axis=0),
        lambda v: v.sum(axis=0, where=np.arange(len(v))[:, None] % 2 == 0),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        made = call(x)
        assert same(made, call(a)), number
        assert is_tracked(made)
        source = [(i, 1) for i in range(shape[0])] if number != 9 else [(1, j) for j in range(shape[1])]
        if number != 10:
            assert np.atleast_2d(made)[0, 1].parents == [("A", each) for each in source]


ROWS: list[Any] = [np.add, np.maximum, np.minimum, np.fmax, np.fmin, np.multiply]


@pytest.mark.parametrize("ufunc", ROWS, ids=lambda each: each.__name__)
@pytest.mark.parametrize("shape", [(200, 2), (60, 5), (41, 43), (3, 300), (2, 9, 17), (2, 5, 1, 33), (260, 1037)])
def test_reductions_over_the_last_axis_and_the_first(ufunc: Any, shape: tuple[int, ...]) -> None:
    rng = np.random.default_rng(8)
    plain = rng.normal(size=shape)
    zeros = np.where(rng.random(shape) < 0.5, 0.0, -0.0) * np.where(rng.random(shape) < 0.9, 1.0, plain)
    awkward = np.where(
        rng.random(shape) < 0.02, rng.choice([np.nan, -np.nan, np.inf, -np.inf, 1e308, 5e-324], shape), plain
    )
    for number, a in enumerate((plain, zeros, -np.abs(zeros), np.abs(zeros), awkward)):
        x: Any = wh.tracked(a, f"A {number}")
        for axis in (-1, 0):
            made, said = warned(lambda x=x, axis=axis: ufunc.reduce(x, axis=axis))
            expected, warnings_expected = warned(lambda a=a, axis=axis: ufunc.reduce(a, axis=axis))
            any_nan = np.isnan(expected) if ufunc in (np.add, np.multiply) else False  # whose sign nobody defines
            assert same(np.where(any_nan, wh.tracked(np.zeros(1), "0"), made), np.where(any_nan, 0.0, expected))
            assert np.isnan(values(made)[any_nan]).all()
            assert said == warnings_expected
            assert isinstance(made, TrackedArray)
            every = wh.Relation.identity(shape)
            kept = tuple(np.delete(np.arange(len(shape)), axis))
            assert made.shape == tuple(shape[k] for k in kept)
            last = tuple(side - 1 for side in made.shape)
            lane = every.backward(np.array([np.insert(last, axis % len(shape), k) for k in range(shape[axis])]))
            assert made[last].parents == [(f"A {number}", tuple(each)) for each in lane.cells().tolist()]
            assert wh.relation_of(made, f"A {number}").count() == a.size


def test_rows_whose_cells_come_from_anywhere() -> None:
    a = np.random.default_rng(9).normal(size=(40, 50))
    order = np.random.default_rng(10).permutation(2000).reshape(40, 50)
    x: Any = wh.tracked(a, "A")
    mixed = x.copy()
    mixed[7] = x.ravel()[order[7]]  # between regular rows
    mixed[9] = x[3, ::-1]
    mixed[11] = x[11, 5]
    mixed[20:] = x[20:] + x[20:, ::-1]
    for name in ("sum", "max", "min"):
        made = getattr(mixed, name)(axis=1)
        assert same(made, getattr(np.asarray(values(mixed)), name)(axis=1))
        assert made[6].parents == [("A", (6, j)) for j in range(50)]
        assert made[7].parents == [("A", divmod(int(cell), 50)) for cell in sorted(order[7])]
        assert made[8].parents == [("A", (8, j)) for j in range(50)]
        assert made[9].parents == [("A", (3, j)) for j in range(50)]
        assert made[11].parents == [("A", (11, 5))]
        assert made[39].parents == [("A", (39, j)) for j in range(50)]


def test_reductions_with_options() -> None:
    a = np.random.default_rng(11).normal(size=(20, 30))
    x: Any = wh.tracked(a, "A")
    where = a > 0
    calls: list[Any] = [
        lambda v: v.max(axis=1, keepdims=True), lambda v: v.max(axis=1, initial=3.0), lambda v: v.max(axis=None),
        lambda v: np.max(v, axis=1, where=where, initial=-9.0), lambda v: v[:, ::2].max(axis=1),
        lambda v: v.T.max(axis=1), lambda v: v.max(axis=(0, 1)), lambda v: v[:, :1].max(axis=1),
        lambda v: np.asarray(v).min(axis=1),
    ]  # fmt: skip
    for call in calls:
        assert same(np.asarray(call(x)), np.asarray(call(a)))
    for axis in (2, -3, 2**70):
        with pytest.raises((np.exceptions.AxisError, OverflowError)):
            np.maximum.reduce(x, axis=axis)
    with pytest.raises(np.exceptions.AxisError):
        x.max(axis=2)
    with np.errstate(all="raise"), pytest.raises(FloatingPointError, match="overflow encountered in reduce"):
        np.sum(wh.tracked(np.full((20, 30), 1e308), "B"), axis=1)


def test_irregular_columns() -> None:
    a = np.random.default_rng(6).normal(size=(40, 50))
    x = wh.tracked(a, "A").ravel()[np.random.default_rng(7).permutation(2000)].reshape(40, 50)
    order = np.random.default_rng(7).permutation(2000).reshape(40, 50)
    made = x.sum(axis=0)
    assert same(made, a.ravel()[order].sum(axis=0))
    assert made[3].parents == [("A", divmod(int(cell), 50)) for cell in sorted(order[:, 3])]


def test_other_classes_have_their_say() -> None:
    x, foreign = wh.tracked(np.ones(300), "A"), Foreign()
    assert (np.add(x, foreign), np.add(foreign, x)) == ("foreign", "foreign")
    traced = Run().input(np.ones(300))
    for call in (lambda: np.add(x, traced), lambda: np.add(traced, x), lambda: np.concatenate([traced, x])):
        with pytest.raises(BadType, match="cannot be mixed"):
            call()


class Foreign:
    """An operand that answers for itself."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("nobody asked for numbers")

    def __array_ufunc__(self, *_: Any, **__: Any) -> str:
        return "foreign"


def test_threads_compute_at_once() -> None:
    def work(number: int) -> bool:
        a = numbers(number)
        x = wh.tracked(a, f"thread {number}")
        made = (x * 2.0 + x) - 1.0
        return same(made, (a * 2.0 + a) - 1.0) and made[5].parents == [(f"thread {number}", (5,))]

    with ThreadPoolExecutor(4) as pool, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert all(pool.map(work, range(12)))


def test_a_forked_process_computes_on() -> None:
    a = np.random.default_rng(0).random(LARGE)
    x = wh.tracked(a, "A")
    assert same(-x, -a)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking while threads run is what is tried here
        child = os.fork()
    if child == 0:
        os._exit(0 if same(x * 3.0, a * 3.0) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert same(x + 1.0, a + 1.0)
