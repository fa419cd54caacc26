"""A function under trace does what it does with plain arrays, whatever it asks of them: values, types, lineage."""

from __future__ import annotations

import copy
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays import values
from whence.arrays.recording.calls import Captured, captured
from whence.errors import BadType, NoRule

Function = Callable[[Any], Any]
A = np.array([[3.0, 1.0, 2.5], [0.5, 7.0, 4.0]])


def run(function: Function, given: Any = A) -> Captured:
    return captured(function, (given.copy(),), {}, ("a",), "f", selection=False)


def changed(write: Callable[[Any], Any]) -> Function:
    def function(a: Any) -> Any:
        own = a.copy()
        write(own)
        return own

    return function


def shuffled(a: Any) -> None:
    np.random.default_rng(0).shuffle(a)


ASKED: dict[str, Function] = {
    "class": lambda a: a * 2 if isinstance(a, np.ndarray) else a,
    "class of a number": lambda a: a * 2 if isinstance(a[0, 0], float) else a,
    "type": lambda a: a * 2 if type(a) is np.ndarray else a,
    "type of a number": lambda a: a * 2 if type(a[0, 0]) is np.float64 else a,
    "type of a length": lambda a: a * 2 if type(len(a)) is int else a,
    "a class made": lambda a: a * getattr(type("Two", (), {"number": 2}), "number", 3),
    "is a class": lambda a: a * [isinstance(each, type) for each in (int, a)].index(False),
    "scalar": lambda a: a * 2 if np.isscalar(a[0, 0]) and not np.isscalar(a) else a,
    "in": lambda a: a * 2 if 7.0 in a and 8.0 not in a else a,
    "set": lambda a: a * len(set(a.ravel())),
    "key": lambda a: a * {3.0: 5.0}[a[0, 0]],
    "text": lambda a: a * len(str(a)) * len(str(a[0, 0])),
    "format": lambda a: a * len(f"{a[0, 0]:.3f}"),
    "copy": lambda a: copy.copy(a) * 2,
    "complex": lambda a: a * complex(a[0, 0]).real,
    "whole": lambda a: a * 2 if a[0, 0].is_integer() else a,
    "parts": lambda a: a.real + a.imag,
    "bytes": lambda a: a * a.itemsize * a.nbytes,
    "transposed": lambda a: a.mT,
    "places": lambda a: a[a.nonzero()],
    "chosen": lambda a: (a > 2).choose(a, -a) + (a > 2).choose([a, -a]),
    "sought": lambda a: np.sort(a[0]).searchsorted(a[1]),
    "parted": lambda a: a[:, a[0].argpartition(1)],
}
WRITTEN: dict[str, Function] = {
    "sort": changed(lambda a: a.sort(axis=0)),
    "partition": changed(lambda a: a.partition(1)),
    "put": changed(lambda a: a.put([1, 3], a[0, :2])),
    "shuffle": changed(shuffled),
    "shuffle rows": changed(lambda a: random.Random(0).shuffle(a)),
    "swap rows": changed(lambda a: a.__setitem__(slice(None), a[::-1])),
}


@pytest.mark.parametrize("name", [*ASKED, *WRITTEN])
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_a_function_under_trace_returns_what_it_does(name: str) -> None:
    function = {**ASKED, **WRITTEN}[name]
    expected = function(A.copy())
    found = run(function)
    assert type(found.result) is type(expected)
    assert found.result.dtype == expected.dtype
    assert found.result.tolist() == expected.tolist()


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.filterwarnings("ignore:you are shuffling")
def test_cells_that_were_moved_come_from_where_they_were(name: str) -> None:
    found = run(WRITTEN[name])
    lineage = {tuple(each[:2]): tuple(each[2:]) for edge in found.edges for each in edge.relation.to_array().tolist()}
    assert {cell: A[source] for cell, source in lineage.items()} == dict(np.ndenumerate(found.result))


def test_what_was_looked_at_is_counted() -> None:
    assert run(lambda a: a * len(f"{a[0, 0]} {a}")).notes == {"texts": 2}
    assert run(lambda a: a * len(a[0].tolist())).notes == {"casts": 3}
    assert run(lambda a: a * (7.0 in a)).notes == {"branches": 1}
    assert run(lambda a: a * isinstance(a, np.ndarray)).notes == {}


@pytest.mark.parametrize("function", [lambda a: a.view(np.int64), lambda a: a.byteswap(), lambda a: a.tobytes()])
def test_memory_is_not_taken_apart(function: Function) -> None:
    with pytest.raises(NoRule, match=r"ndarray\.(view|byteswap|tobytes)"):
        run(function)
    with pytest.raises(BadType, match=r"memory|saved"):
        function(wh.tracked(A, "A"))


def test_fields_of_tracked_cells_are_not_given_out() -> None:
    x: Any = wh.tracked(A, "A")
    calls: list[Any] = [lambda: x.getfield(np.float64), lambda: x.setfield(1.0, np.float64)]
    for call in calls:
        with pytest.raises(BadType, match="lineage beside the numbers"):
            call()
    assert values(x).tolist() == A.tolist()


def test_results_go_where_they_are_asked_to() -> None:
    x, out = wh.tracked(A, "A"), wh.tracked(np.zeros((2, 2)), "B")
    calls: list[Any] = [lambda: np.dot(x, x.T, out=out), lambda: np.dot(x, x.T, out), lambda: x.dot(x.T, out)]
    for call in calls:
        out[...] = 0.0
        assert call() is out
        assert values(out).tolist() == np.dot(A, A.T).tolist()
        assert out[0, 1].parents == [("A", (i, j)) for i in range(2) for j in range(3)]
    assert np.einsum("ij,kj->ik", x, x, out=out) is out
    plain = np.zeros((2, 2))
    refusals: list[Any] = [lambda: np.dot(x, x.T, out=plain), lambda: np.einsum("ij,kj->ik", x, x, out=plain)]
    for refused in refusals:
        with pytest.raises(NoRule, match="not tracked"):
            refused()
    assert not plain.any()


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_add_as_numpy_does(order: Any) -> None:
    rng = np.random.default_rng(5)
    a, b = np.asarray(rng.random((4, 5)), order=order), np.asarray(rng.random((4, 5)), order=order)
    x, y = wh.tracked(a, "A"), wh.tracked(b, "B")
    calls: list[Any] = [
        lambda p, q: p.dot(q.T), lambda p, q: np.dot(p, p.T), lambda p, q: np.cov(p), lambda p, q: np.corrcoef(p),
        lambda p, q: np.dot(p[:, ::2], p[:, ::2].T), lambda p, q: p.ravel("K"),
        lambda p, q: np.inner(p, p[::-1]), lambda p, q: p.sum(axis=0), lambda p, q: p.conj().mean(axis=1),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        assert values(call(x, y)).tolist() == call(a, b).tolist(), number


def test_what_is_no_view_is_not_written() -> None:
    x: Any = wh.tracked(np.eye(3), "A")
    diagonal = np.einsum("ii->i", x)
    assert diagonal[1].parents == [("A", (1, 1))]
    with pytest.raises(ValueError, match="read-only"):
        diagonal[:] = 0.0


def test_a_histogram_of_a_matrix_with_weights() -> None:
    counts, edges = np.histogram(A, weights=A * 2)
    found = run(lambda a: np.histogram(a, weights=a * 2))
    assert (found.result[0].tolist(), found.result[1].tolist()) == (counts.tolist(), edges.tolist())


def test_a_function_under_trace_knows_itself() -> None:
    def told(a: Any) -> Any:
        """1"""
        return np.roll(a, int(itself.__doc__) + len(itself.__annotations__))

    itself: Any = told
    namespace = {"np": np, "Any": Any}
    exec('def f(a: Any) -> Any:\n    "1"\n    return np.roll(a, int(f.__doc__) + len(f.__annotations__))', namespace)
    known: Any = namespace["f"]
    known.__doc__ = "2"
    for function in (told, known):
        assert run(function).result.tolist() == function(A).tolist()


def test_a_result_that_was_half_written_is_refused() -> None:
    def halfway(a: Any) -> Any:
        out = np.zeros_like(a)
        try:
            with np.errstate(divide="raise"):
                np.divide(1.0, a - a[0], out=out)
        except FloatingPointError:
            pass
        return out + 0

    with pytest.raises(NoRule, match="had written"):
        run(halfway)
