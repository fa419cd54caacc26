"""Tracked arrays in functions that compiled code keeps to plain numbers: values are NumPy's, lineage the rule's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays import values, watch
from whence.arrays.recording.calls import captured
from whence.arrays.tracing import TrackedArray
from whence.errors import NoRule

RNG = np.random.default_rng(0)
SQUARE = RNG.random((2, 3, 3)) + 3 * np.eye(3)
FUNCTIONS: list[Any] = [
    np.linalg.inv, np.linalg.det, np.linalg.svd, np.linalg.qr, np.linalg.pinv, np.linalg.eigvalsh, np.linalg.slogdet,
    lambda a: np.linalg.solve(a, a.swapaxes(1, 2)), lambda a: np.einsum("bij,bjk->bk", a, a),
    lambda a: np.einsum("bii->b", a), lambda a: np.interp(a[0, 0], np.arange(6.0), np.arange(6.0)),
    lambda a: np.interp([0.5, 1.5], [0.0, 1.0, 2.0], a[0, 1]),
    lambda a: np.bincount([0, 1, 1], a[0, 0]), lambda a: np.fft.irfft(a[0]), lambda a: np.linalg.norm(a, axis=2),
]  # fmt: skip


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rules_on_tracked_arrays(function: Any) -> None:
    expected = captured(lambda a: function(a), (SQUARE,), {}, ("a",), "f", selection=False)
    with watch() as lost:
        made = function(wh.tracked(SQUARE, "A"))
    assert not lost.any
    outputs = made if isinstance(made, tuple) else (made,)
    assert len(outputs) == len(expected.outputs)
    for number, (each, plain) in enumerate(zip(outputs, expected.outputs, strict=True)):
        cells = np.asarray(each)
        assert np.array_equal(values(cells), plain.value)
        (edge,) = [edge for edge in expected.edges if edge.output == number]
        assert wh.relation_of(cells, "A") == edge.relation


def test_the_class_stays_through_ordinary_operations() -> None:
    x: Any = wh.tracked(SQUARE, "A")
    assert isinstance(x, TrackedArray)
    assert isinstance(x[0] * 2 + 1, TrackedArray)
    assert type(x > 0) is np.ndarray
    assert x.sum().parents == [("A", index) for index in np.ndindex(2, 3, 3)]
    assert np.linalg.inv(x[0])[0, 0].parents == [("A", (0, i, j)) for i in range(3) for j in range(3)]
    assert np.sum(x.astype(float)) == pytest.approx(SQUARE.sum())  # cast, asked for


def test_what_has_no_rule_is_refused_by_name() -> None:
    x: Any = wh.tracked(SQUARE[0], "A")
    calls: list[tuple[Any, str]] = [
        (lambda: np.fft.fft(x), "numpy.fft.fft returns complex"),
        (lambda: np.histogramdd(x), "numpy.histogramdd"),
    ]
    for call, name in calls:
        with pytest.raises(NoRule, match=name):
            call()
