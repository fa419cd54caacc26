"""Where lineage is easily reused wrongly: rounding, which length is longer, indices in arrays, order in memory."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence.arrays import rules
from whence.arrays.recording.calls import captured
from whence.arrays.recording.structures import arrays_in, parameters_of
from whence.arrays.reuse import ReuseIndex
from whence.arrays.reuse.learned import same
from whence.errors import NoRule
from whence.testing.numpy_beyond import EVERYTHING
from whence.testing.shelf import Shelf

Function = Callable[..., Any]


def checked_level(memory: ReuseIndex, function: Function, *args: Any) -> str | None:
    """The level at which the lineage of a call was known, asserted to be the computed one; None if it was not."""
    found = captured(function, args, {}, parameters_of(function), "f", selection=False)
    assert found.call_record is not None
    known = memory.find(found.call_record, tuple(each.shape for each in found.outputs))
    if known is None:
        memory.learn(found)
        return None
    assert same(known.edges, found.edges), (known.level, [np.shape(each) for each in args])
    return known.level


def changed(a: Any, write: Callable[[Any], Any]) -> Any:
    write(a)
    return a


LENGTHS: dict[str, Function] = {
    "singular values": lambda a: np.linalg.svd(a)[1],
    "factors": np.linalg.qr,
    "above": lambda a: np.triu(a, 1),
    "diagonal": lambda a: np.diag(a, 2),
    "apart": lambda a: a[: abs(a.shape[0] - a.shape[1])],
    "far": lambda a: a[: abs(a.shape[0] - 12)],
    "half": lambda a: a[: len(a) // 2],
    "middle": lambda a: a[len(a) // 2],
    "quarter": lambda a: a[: len(a) // 4],
    "third": lambda a: a[len(a) // 3 :],
    "ratio": lambda a: a[: len(a) // a.shape[1]],
    "parts": lambda a: np.array_split(a, 3)[0],
    "steps": lambda a: a[::2, ::3],
    "same": lambda a: np.convolve(a[0], a[:, 0], "same"),
    "shift": lambda a: np.fft.fftshift(a, axes=0),
    "spectrum": lambda a: np.abs(np.fft.rfft(a[:, 0])),
    "around": lambda a: np.median(a[(len(a) - 1) // 2 : len(a) // 2 + 1], axis=0),
}


@pytest.mark.parametrize("name", LENGTHS)
def test_lengths(name: str) -> None:
    function = LENGTHS[name]
    for seed in range(6):
        rng, memory = np.random.default_rng(seed), ReuseIndex(Shelf(), name)
        levels = []
        for i in range(30):
            low, high = ((4, 9), (8, 30)) if seed % 3 == 0 and i < 20 else ((4, 14), (4, 14))
            shape = (int(rng.integers(*low)), int(rng.integers(*high)))
            levels.append(checked_level(memory, function, rng.random(shape)))
        assert levels[0] is None, "nothing was learned before the first call"


def test_lengths_that_are_divided_are_learned_all_the_same() -> None:
    function = LENGTHS["half"]
    rng, memory = np.random.default_rng(0), ReuseIndex(Shelf(), "half")
    levels = [checked_level(memory, function, rng.random(int(n))) for n in rng.integers(4, 60, 25)]
    assert levels[:4] == [None] * 4
    assert levels.count("gen") > 8


INDICES: dict[str, tuple[Function, Any, Any]] = {
    "take": (np.take, np.array([0, 1]), np.array([3, 2])),
    "roll": (lambda a, i: np.roll(a, i, (0, 1)), np.array([0, 1]), np.array([1, 0])),
    "along": (lambda a, i: np.take_along_axis(a, i, 1), np.array([[0]] * 4), np.array([[1]] * 4)),
    "repeat": (lambda a, i: np.repeat(a, i, axis=0), np.array([0, 1, 1, 2]), np.array([2, 1, 1, 0])),
    "compress": (lambda a, i: a.compress(i, axis=0), np.array([True, False] * 2), np.array([False, True] * 2)),
    "delete": (lambda a, i: np.delete(a, i, axis=0), np.array([0, 1]), np.array([2, 3])),
    "insert": (lambda a, i: np.insert(a, i, 0.0, axis=0), np.array([0, 1]), np.array([2, 3])),
    "tile": (np.tile, np.array([1, 2]), np.array([2, 1])),
    "pad": (np.pad, np.array([[1, 0], [0, 1]]), np.array([[0, 1], [1, 0]])),
    "split": (lambda a, i: np.split(a, i)[0], np.array([1, 2]), np.array([2, 3])),
    "axis": (lambda a, i: a.sum(axis=i[0]), np.array([0]), np.array([1])),
    "axes": (lambda a, i: np.transpose(a, tuple(i)), np.array([0, 1]), np.array([1, 0])),
    "diagonal": (lambda a, i: np.diag(a, i[0]), np.array([0]), np.array([1])),
    "shape": (lambda a, i: a.reshape(tuple(i)), np.array([2, 8]), np.array([8, 2])),
    "reduce": (lambda a, i: np.add.reduce(a, axis=i[0]), np.array([0]), np.array([1])),
    "own": (
        lambda a, i: np.take_along_axis(a * i, (a * i).argmax(axis=1)[:, None], 1),
        np.eye(4),
        np.eye(4)[::-1].copy(),
    ),
}


@pytest.mark.parametrize("name", INDICES)
def test_indices_in_arrays(name: str) -> None:
    function, one, other = INDICES[name]
    a = np.random.default_rng(0).random((4, 4)) + 0.1
    memory = ReuseIndex(Shelf(), name)
    checked_level(memory, function, a, one)
    assert checked_level(memory, function, a, one) in ("base", "dim")
    assert checked_level(memory, function, a, other) is None


ORDERS: dict[str, Function] = {
    "flat": lambda a: changed(np.copy(a), lambda c: c.ravel().__setitem__(3, 0.0)),
    "doubled": lambda a: changed(a * 2, lambda c: c.reshape(-1).__setitem__(3, 0.0)),
    "like": lambda a: changed(np.zeros_like(a) + a, lambda c: c.ravel().__setitem__(slice(2, 5), 0.0)),
}


@pytest.mark.parametrize("name", ORDERS)
def test_order_in_memory(name: str) -> None:
    function, rng = ORDERS[name], np.random.default_rng(0)
    memory = ReuseIndex(Shelf(), name)
    for i in range(24):
        a = rng.random((int(rng.integers(4, 9)), int(rng.integers(4, 9))))
        checked_level(memory, function, (a, np.asfortranarray(a), np.repeat(a, 2, axis=0)[::2])[i % 3])
    checked_level(memory, function, a)
    assert checked_level(memory, function, a) is not None


def test_rules_follow_from_shapes_unless_they_ask() -> None:
    asking = set()
    for name, make in EVERYTHING.items():
        call = make(np.random.default_rng(0))
        if not rules.has_rule(call.function) or rules.values_matter(call.function):
            continue
        arrays = {id(each.value): each.value for each in arrays_in(tuple("abcdefgh"), call.args, call.kwargs)}
        try:
            expected = rules.lineage(call.function, call.args, call.kwargs)
        except rules.NoRule:
            continue
        found, asked = rules.watched(call.function, call.args, call.kwargs, arrays)
        if asked:
            asking.add(name)
            continue
        for ours, theirs in zip(found, expected, strict=True):
            assert [(id(each.operand), each.kind) for each in ours] == [
                (id(each.operand), each.kind) for each in theirs
            ]
            assert [each.relation for each in ours] == [each.relation for each in theirs], name
    assert asking == {"linalg.lstsq", "take_along_axis", "ix_"}


def inverse_or_not(a: Any) -> Any:
    try:
        return np.linalg.inv(a)
    except np.linalg.LinAlgError:
        return a[::-1] + 0


def raised(a: Any) -> Any:
    try:
        with np.errstate(all="raise"):
            return 1 / a
    except FloatingPointError:
        return a.T + 0


def suppressed(a: Any) -> Any:
    with contextlib.suppress(np.linalg.LinAlgError):
        return np.linalg.solve(a, a[:, 0])
    return a[0] + 0


def collected(a: Any) -> Any:
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        found = np.log(a)
    return found.T + 0 if seen else found


def turned_into_errors(a: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            return np.sqrt(a)
        except RuntimeWarning:
            return a[:, ::-1] + 0


def called_back(a: Any) -> Any:
    seen: list[str] = []
    with np.errstate(divide="call", call=lambda kind, _: seen.append(kind)):
        found = a / a[::-1]
    return found.T + 0 if seen else found


def too_many(a: Any) -> Any:
    try:
        return np.take(a, (a[0] > 0).astype(int).cumsum(), axis=0)
    except IndexError:
        return a + 0


def helped(a: Any) -> Any:
    return _helper(a) * 2


def _helper(a: Any) -> Any:
    try:
        return np.linalg.cholesky(a @ a.T + np.eye(len(a)) * a[0, 0])
    except np.linalg.LinAlgError:
        return a[::-1] + 0


def overflowing(a: Any) -> Any:
    small = a.astype(np.int8)
    try:
        with np.errstate(over="raise"):
            return a[0] * float(small.dtype.itemsize) + (small[0, 0] * small[1, 1])
    except FloatingPointError:
        return a[::-1][0] + 0


ONE = np.array([[2.0, 1.0], [1.0, 3.0]])
NONE = np.array([[0.0, 0.0], [-1.0, -2.0]])
ZERO = np.array([[1.0, 2.0], [0.0, 1.0]])

RAISED: dict[str, tuple[Function, Any, Any]] = {
    "inv": (inverse_or_not, ONE, NONE),
    "errstate": (raised, ONE, ZERO),
    "suppress": (suppressed, ONE, NONE),
    "recorded": (collected, ONE, NONE),
    "error": (turned_into_errors, ONE, NONE),
    "call": (called_back, ONE, ZERO),
    "index": (too_many, ONE * -1, ONE),
    "helper": (helped, ONE, NONE),
    "integers": (overflowing, ONE, 30 * ONE),
}


@pytest.mark.parametrize("name", RAISED)
@pytest.mark.parametrize("turned", [False, True])
def test_values_that_decide_through_exceptions_and_warnings(name: str, turned: bool) -> None:
    function, one, other = RAISED[name]
    one, other = (other, one) if turned else (one, other)
    found = captured(function, (one,), {}, ("a",), "f", selection=False)
    assert np.array_equal(found.result, function(one), equal_nan=True)
    memory = ReuseIndex(Shelf(), name)
    assert checked_level(memory, function, one) is None
    assert checked_level(memory, function, other) is None
    assert None not in (checked_level(memory, function, one), checked_level(memory, function, other))


def test_a_refusal_that_the_function_handles_is_no_result() -> None:
    def tries(a: Any) -> Any:
        try:
            return np.unwrap(a[0], period=a[0, 0])
        except Exception:
            return a[0] * 2

    with pytest.raises(NoRule, match="period"):
        captured(tries, (ONE,), {}, ("a",), "f", selection=False)


@pytest.mark.parametrize("order", "AK")
def test_orders_of_memory_are_not_reused_for_other_layouts(order: str) -> None:
    function, rng, memory = ORDER_OF[order], np.random.default_rng(0), ReuseIndex(Shelf(), order)
    levels = []
    for _ in range(6):
        a = rng.random((4, 5))
        layouts = (a, np.asfortranarray(a), rng.random((4, 10))[:, ::-2])
        levels += [checked_level(memory, function, each) for each in layouts]
    assert levels[:2] == [None] * 2, "each order is learned by itself"


ORDER_OF: dict[str, Function] = {"A": lambda a: a.ravel(order="A"), "K": lambda a: (a + 1).flatten("K")}
