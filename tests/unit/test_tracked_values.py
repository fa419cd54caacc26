"""Tracked arrays compute what float64 arrays compute: the same bits, the same warnings, the same errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from numpy._core import umath
from numpy.typing import NDArray

import whence as wh
from whence.arrays import values, watch

AWKWARD = np.array([0.0, -0.0, 1.0, -1.5, 2.0, np.pi, 1e-310, 1e308, np.inf, -np.inf, np.nan, 0.3, 7.0])


def float_ufuncs(nin: int) -> list[Any]:
    """NumPy's ufuncs that take so many float64 operands and nothing else."""
    found = {
        each.__name__: each
        for module in (np, umath)
        for each in vars(module).values()
        if isinstance(each, np.ufunc) and each.nin == nin and each.signature is None
        if any(kinds.startswith("d" * nin + "->") for kinds in each.types)
    }
    return [found[name] for name in sorted(found)]


def caught(work: Callable[[], Any]) -> tuple[Any, list[str]]:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        result = work()
    return result, sorted(str(each.message) for each in seen)


def plain(result: Any) -> list[NDArray[Any]]:
    parts = result if isinstance(result, tuple) else (result,)
    return [values(part) if part.dtype == wh.TrackedFloat64 else part for part in map(np.asarray, parts)]


EITHER_ZERO = {np.maximum, np.minimum, np.fmax, np.fmin}  # which of 0.0 and -0.0 they take depends on the processor


def assert_same(ours: Any, theirs: Any, ufunc: Any = None) -> None:
    for a, b in zip(plain(ours), plain(theirs), strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(a, b)
        if a.dtype.kind == "f":
            signed = (a != 0) if ufunc in EITHER_ZERO else np.full(a.shape, True)
            np.testing.assert_array_equal(np.signbit(a)[signed], np.signbit(b)[signed])


@pytest.mark.parametrize("ufunc", float_ufuncs(1), ids=lambda each: each.__name__)
def test_ufunc_of_one_operand(ufunc: Any) -> None:
    x = wh.tracked(AWKWARD, "A")
    ours, said = caught(lambda: ufunc(x))
    theirs, expected = caught(lambda: ufunc(AWKWARD))
    assert_same(ours, theirs)
    assert said == expected
    for part in ours if isinstance(ours, tuple) else (ours,):
        if part.dtype == wh.TrackedFloat64:
            assert part[3].parents == [("A", (3,))]


@pytest.mark.parametrize("ufunc", float_ufuncs(2), ids=lambda each: each.__name__)
@pytest.mark.parametrize("other", ["tracked", "plain", "number"])
def test_ufunc_of_two_operands(ufunc: Any, other: str) -> None:
    a = np.repeat(AWKWARD, len(AWKWARD))
    b: Any = np.tile(AWKWARD, len(AWKWARD))
    b = b if other != "number" else 1.5
    x = wh.tracked(a, "A")
    y = wh.tracked(b, "B") if other == "tracked" else b
    for left, right, plain_left, plain_right in ((x, y, a, b), (y, x, b, a)):
        ours, said = caught(partial(ufunc, left, right))
        theirs, expected = caught(partial(ufunc, plain_left, plain_right))
        assert_same(ours, theirs, ufunc)
        assert said == expected
    first = ours[0] if isinstance(ours, tuple) else ours
    if first.dtype == wh.TrackedFloat64:
        assert first[5].parents == [("A", (5,))] + [("B", (5,))] * (other == "tracked")


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 127, 128, 129, 255, 256, 257, 1000, 4097, 40_000])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_reductions_add_in_the_same_order(n: int, step: int) -> None:
    numbers = np.random.default_rng(n).standard_normal(abs(n * step)) * 1e3
    x = wh.tracked(numbers, "A")[::step]
    for ufunc in (np.add, np.multiply):
        with np.errstate(all="ignore"):
            assert ufunc.reduce(x).value == ufunc.reduce(numbers[::step])
            np.testing.assert_array_equal(values(ufunc.accumulate(x)), ufunc.accumulate(numbers[::step]))
    if n:
        for name in ("max", "min", "mean", "std", "ptp"):
            assert np.asarray(getattr(np, name)(x)).item().value == getattr(np, name)(numbers[::step])


def test_reductions_over_each_axis() -> None:
    numbers = np.random.default_rng(0).standard_normal((5, 300, 7))
    x = wh.tracked(numbers, "A")
    for axis in (0, 1, 2, (0, 1), (0, 2), (1, 2), None):
        for name in ("sum", "prod", "max", "min", "mean", "var"):
            ours, theirs = getattr(np, name)(x, axis=axis), getattr(np, name)(numbers, axis=axis)
            np.testing.assert_array_equal(values(np.asarray(ours)), theirs)
    np.testing.assert_array_equal(
        values(np.add.reduceat(x, [0, 100, 50], axis=1)), np.add.reduceat(numbers, [0, 100, 50], axis=1)
    )


def test_a_sum_of_nothing_and_signs_of_zero() -> None:
    empty = wh.tracked(np.zeros((0, 3)), "A")
    assert values(empty.sum(axis=0)).tolist() == [0.0, 0.0, 0.0]
    assert empty.sum(axis=0)[0].parents == []
    with pytest.raises(ValueError, match="zero-size array"):
        empty.max(axis=0)
    zeros = np.array([-0.0, -0.0])
    assert np.signbit(wh.tracked(zeros, "B").sum().value) == np.signbit(zeros.sum())


@pytest.mark.parametrize("layout", ["C", "F", "transposed", "sliced", "reversed"])
def test_products_use_blas_as_float64_does(layout: str) -> None:
    rng = np.random.default_rng(1)

    def made(m: int, n: int) -> NDArray[Any]:
        big = rng.standard_normal((2 * m, 2 * n))
        match layout:
            case "C":
                return big[:m, :n].copy()
            case "F":
                return np.asfortranarray(big[:m, :n])
            case "transposed":
                return rng.standard_normal((n, m)).T
            case "sliced":
                return big[:m, :n]
            case _:
                return big[:m, :n][::-1]

    a, b = made(33, 47), made(47, 21)
    x = _like(a, "A")
    y = _like(b, "B")
    np.testing.assert_array_equal(values(x @ y), a @ b)
    np.testing.assert_array_equal(values(x @ b), a @ b)
    np.testing.assert_array_equal(values(a @ y), a @ b)
    np.testing.assert_array_equal(values(x @ x.T), a @ a.T)
    np.testing.assert_array_equal(values(x @ y[:, 0]), a @ b[:, 0])
    np.testing.assert_array_equal(values(x[0] @ y), a[0] @ b)
    assert (x[0] @ y[:, 0]).value == a[0] @ b[:, 0]
    assert np.dot(x[0], y[:, 0]).value == np.dot(a[0], b[:, 0])
    assert np.vecdot(x[0], y[:, 0]).value == np.vecdot(a[0], b[:, 0])
    np.testing.assert_array_equal(values(np.matvec(x, y[:, 0])), np.matvec(a, b[:, 0]))
    np.testing.assert_array_equal(values(np.vecmat(x[0], y)), np.vecmat(a[0], b))


def _like(array: NDArray[Any], name: str) -> NDArray[Any]:
    """The array, tracked, with the same layout in memory."""
    tracked = wh.tracked(array, name)
    steps = [2 * step for step in array.strides]
    if min(steps) <= 0 or steps == list(tracked.strides):
        return tracked if min(steps) > 0 else wh.tracked(array[::-1], name)[::-1]
    size = sum((d - 1) * s for d, s in zip(array.shape, steps, strict=True)) // 16 + 1
    room = np.zeros(size, dtype=wh.TrackedFloat64)
    out = np.lib.stride_tricks.as_strided(room, array.shape, steps)
    out[...] = tracked
    return out


def test_in_place_and_out() -> None:
    numbers = np.arange(12.0).reshape(3, 4)
    x = wh.tracked(numbers, "A")
    x += 1
    x[0] *= x[1]
    np.subtract(1.0, x, out=x)
    np.add(x, x[:, :1], out=x, where=numbers > 3)
    y = numbers.copy()
    y += 1
    y[0] *= y[1]
    np.subtract(1.0, y, out=y)
    np.add(y, y[:, :1], out=y, where=numbers > 3)
    np.testing.assert_array_equal(values(x), y)
    np.add.at(x, ([0, 0], [1, 1]), 2.0)
    np.add.at(y, ([0, 0], [1, 1]), 2.0)
    np.testing.assert_array_equal(values(x), y)
    assert x[0, 1].parents == [("A", (0, 1)), ("A", (1, 1))]


def test_comparisons_are_plain() -> None:
    x = wh.tracked(np.array([1.0, np.nan, 3.0]), "A")
    assert (x > 1).dtype == np.bool_
    assert (x > 1).tolist() == [False, False, True]
    assert np.isfinite(x).tolist() == [True, False, True]
    assert x.argmax() == 1
    assert np.argmin(x) == 1
    assert np.argsort(x).tolist() == [0, 2, 1]
    assert bool(x.any())
    assert not bool((x * 0.0)[[0, 2]].any())
    assert np.nonzero(x)[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("n", [127, 128, 300, 5000])
def test_many_cells_are_sorted_as_numpy_does(n: int) -> None:
    rng = np.random.default_rng(n)
    some = rng.choice([0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, 1.0, -1.0, 5e-324, -1e308], n)
    for numbers in (rng.normal(size=n), some, np.where(rng.random(n) < 0.5, some, rng.normal(size=n)), np.ones(n)):
        x = wh.tracked(numbers, "A")
        places = np.argsort(numbers, kind="stable")
        assert np.argsort(x).tolist() == places.tolist()
        made = np.sort(x)
        assert values(made).view(np.uint64).tolist() == numbers[places].view(np.uint64).tolist()
        assert [made[i].parents for i in range(0, n, 37)] == [[("A", (int(places[i]),))] for i in range(0, n, 37)]
    x[: n // 2].sort()
    assert values(x).tolist() == np.ones(n).tolist()


def test_sorting_puts_nan_last_and_takes_lineage_along() -> None:
    numbers = np.array([3.0, np.nan, -1.0, 2.0, -np.inf, 2.0])
    x = wh.tracked(numbers, "A")
    np.testing.assert_array_equal(values(np.sort(x)), np.sort(numbers))
    assert [cell.parents[0][1][0] for cell in np.sort(x)] == [4, 2, 3, 5, 0, 1]
    np.testing.assert_array_equal(values(np.sort(x[::-1])), np.sort(numbers))
    y = x.copy()
    y.sort(kind="stable")
    np.testing.assert_array_equal(values(y), np.sort(numbers))


def test_mixed_integers_and_booleans() -> None:
    x = wh.tracked(np.array([1.0, 2.0]), "A")
    for other in (2, np.int32(2), np.array([2, 2]), np.array([2, 2], dtype=np.uint8), np.float32(2)):
        assert values(x + other).tolist() == [3.0, 4.0]
        assert values(other + x).tolist() == [3.0, 4.0]
    assert values(x * np.array([True, False])).tolist() == [1.0, 0.0]
    assert values(np.ldexp(x, 2)).tolist() == [4.0, 8.0]
    assert values(np.clip(x, 1.5, None)).tolist() == [1.5, 2.0]
    for wrong in (1j, np.array(["a", "b"]), np.array([1j, 2])):
        with pytest.raises((TypeError, ValueError)):
            x + wrong


def test_moving_cells_about() -> None:
    numbers = np.arange(12.0).reshape(3, 4)
    x = wh.tracked(numbers, "A")
    mask = numbers % 3 == 0
    for ours, theirs in [
        (x[mask], numbers[mask]),
        (x[[2, 0]], numbers[[2, 0]]),
        (x.take([5, 1]), numbers.take([5, 1])),
        (np.where(mask, x, 0.0), np.where(mask, numbers, 0.0)),
        (np.concatenate([x, numbers]), np.concatenate([numbers, numbers])),
        (np.pad(x, 1), np.pad(numbers, 1)),
        (np.roll(x, 1, axis=1), np.roll(numbers, 1, axis=1)),
        (np.repeat(x, 2), np.repeat(numbers, 2)),
        (np.compress(mask[0], x, axis=1), np.compress(mask[0], numbers, axis=1)),
        (x.copy("F"), numbers),
        (np.diag(x[:, :3]), np.diag(numbers[:, :3])),
        (np.choose([0, 1, 2, 0], x), np.choose([0, 1, 2, 0], numbers)),
    ]:
        np.testing.assert_array_equal(values(ours), theirs)
        for where in np.ndindex(ours.shape):
            parents = ours[where].parents
            assert all(numbers[index] == theirs[where] for _, index in parents)
    assert x[mask][1].parents == [("A", (0, 3))]
    assert np.where(mask, x, 0.0)[0, 1].parents == []


def test_scalars_are_numbers() -> None:
    x = wh.tracked(np.array([2.0, 3.0]), "A")
    a, b = x
    assert isinstance(a, np.floating)
    for made, expected in [
        (a + b, 5),
        (a - 1, 1),
        (1 - a, -1),
        (a * b, 6),
        (b / a, 1.5),
        (b // a, 1),
        (b % a, 1),
        (a**b, 8),
        (-a, -2),
        (abs(-a), 2),
        (+a, 2),
        (2.0**a, 4),
    ]:
        assert made.value == expected
    assert (a * b + 1).parents == [("A", (0,)), ("A", (1,))]
    assert divmod(b, a)[0].value == 1
    assert f"{a:.2f} {a} {a!r}" == "2.00 2.0 tracked(2.0)"
    assert hash(a) == hash(2.0)
    assert (a == 2.0, a < b, a >= b) == (True, True, False)
    assert np.sqrt(a).parents == [("A", (0,))]
    alone: Any = wh.tracked(np.array(4.0), "B")
    assert alone[()].parents == [("B", ())]


def test_printing_shows_the_numbers() -> None:
    assert str(wh.tracked(np.array([1.0, 2.5]), "A")) == "[1.  2.5]"


def test_nothing_of_this_loses_lineage() -> None:
    with watch() as lost:
        x = wh.tracked(np.random.default_rng(0).random((4, 5)), "A")
        (np.exp(x) @ x.T).sum(axis=0, keepdims=True) * np.sort(x[0])[:4]
        np.median(x), np.percentile(x, 30), np.cov(x), np.gradient(x), np.convolve(x[0], x[1]), np.diff(x)
    assert not lost.any, lost
