"""Every parameter of every function with an array in its place: an input, or refused; none is passed over."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import captured
from whence.arrays.rules._arguments import named
from whence.errors import NoRule
from whence.testing.arguments import calls, parameters, tried

CALLS = list(calls())
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
def test_no_parameter_is_passed_over(part: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [each for name, call in CALLS[part::PARTS] for each in tried(name, call)]
    assert [each for each in found if not each.fine] == []
    assert sum(each.outcome == "traced" for each in found) > 50


def test_the_walk_covers_functions_ufuncs_and_methods() -> None:
    seen = {name: {each.name for each in parameters(call.function)} for name, call in CALLS}
    assert {"mean", "where", "axis"} <= seen["std"]
    assert {"axes", "axis"} <= seen["matmul"]
    assert {"initial", "where", "keepdims"} <= seen["add.reduce"]
    assert {"left", "right", "period"} <= seen["interp"]
    assert {"a_min", "a_max"} <= seen["clip"]
    assert {"sorter", "side"} <= seen["searchsorted"]
    assert sum(name.startswith("ndarray.") for name in seen) > 40


def _pairs(function: Any, *arrays: Any) -> list[set[tuple[int, ...]]]:
    """What is recorded of each input."""
    names = tuple(f"p{n}" for n in range(len(arrays)))
    found = captured(function, arrays, {}, names, "f", selection=False)
    said: list[set[tuple[int, ...]]] = [set() for _ in arrays]
    for edge in found.edges:
        said[edge.input].update(map(tuple, edge.relation.to_array().tolist()))
    return said


RNG = np.random.default_rng(0)
A, V, W, S = RNG.random((4, 4)) + 0.2, RNG.random(4), RNG.random(4), RNG.random(2)

FINER: dict[str, tuple[Any, tuple[Any, ...], int, set[tuple[int, ...]]]] = {
    "std(mean=)": (lambda a, m: np.std(a, axis=0, mean=m), (A, W[None]), 1, {(i, 0, i) for i in range(4)}),
    "nanvar(mean=) by place": (lambda a, m: np.nanvar(a, 0, None, None, 0, mean=m), (A, W[None]), 1,
                               {(i, 0, i) for i in range(4)}),
    "interp(left=)": (lambda v, s: np.interp([-1.0, 0.5, 9.0], [0.0, 1.0], v[:2], left=s[0]), (V, S), 1, {(0, 0)}),
    "interp(right=)": (lambda v, s: np.interp([-1.0, 0.5, 9.0], [0.0, 1.0], v[:2], right=s[1]), (V, S), 1, {(2, 1)}),
    "pad(constant_values=)": (lambda v, s: np.pad(v, 1, constant_values=s), (V, S), 1, {(0, 0), (5, 1)}),
    "pad corners": (lambda a, s: np.pad(a[:1, :1], ((1, 0), (0, 1)), constant_values=s), (A, S.reshape(1, 2)), 1,
                    {(0, 0, 0, 0), (0, 1, 0, 1), (1, 1, 0, 1)}),
    "nan_to_num(nan=, posinf=)": (lambda v, s: np.nan_to_num(v, nan=s[0], posinf=s[1]),
                                  (np.array([1.0, np.nan, np.inf]), S), 1, {(1, 0), (2, 1)}),
    "quantile(q)": (lambda v, s: np.quantile(v, s), (V, S), 1, {(0, 0), (1, 1)}),
    "nanpercentile(q)": (lambda a, s: np.nanpercentile(a, s * 50, axis=0), (A, S), 1,
                         {(i, j, i) for i in range(2) for j in range(4)}),
    "cov(aweights=)": (lambda a, v: np.cov(a[:2], aweights=v), (A, V), 1,
                       {(i, j, k) for i in range(2) for j in range(2) for k in range(4)}),
    "cov(y)": (lambda a, v: np.cov(a[0], v), (A, V), 1,
               {(i, j, k) for i in range(2) for j in range(2) for k in range(4) if (i, j) != (0, 0)}),
    "matmul(axes=)": (lambda a, b: np.matmul(a, b, axes=[(0, 1), (1, 0), (0, 1)]), (A[:2, :2], A[2:, 2:]), 1,
                      {(i, j, j, k) for i in range(2) for j in range(2) for k in range(2)}),
    # NumPy takes axis=; its types do not know it.
    "vecdot(axis=)": (lambda a, b: np.vecdot(a, b, axis=0), (A, A + 1), 1,  # type: ignore[call-overload]
                      {(i, k, i) for i in range(4) for k in range(4)}),
}  # fmt: skip


@pytest.mark.parametrize("name", FINER)
def test_arguments_beside_the_array_are_inputs(name: str) -> None:
    function, arrays, which, expected = FINER[name]
    assert _pairs(function, *arrays)[which] == expected


def test_options_by_place_are_known() -> None:
    found = captured(np.sum, (A, 0, None, None, True), {}, ("a",), "f", selection=False)
    assert found.edges[0].relation.out_shape == (1, 4)
    into = np.zeros(4, "f4")
    with pytest.raises(NoRule, match="out="):
        captured(lambda a, o: np.sum(a, 0, None, o), (A.astype("f4"), into), {}, ("a", "o"), "f", selection=False)
    assert not into.any()


def test_a_mask_is_refused_wherever_it_is_given() -> None:
    mask = np.array([True, False, True, True])
    for call in (
        lambda v: np.sum(v, 0, None, None, False, 0.0, mask),
        lambda v: np.add.reduce(v, where=mask),
        lambda v: v.sum(where=mask),
        lambda v: np.sqrt(v, where=mask, out=np.zeros_like(v)),
    ):
        with pytest.raises(NoRule, match="where="):
            captured(call, (V.astype("f4"),), {}, ("v",), "f", selection=False)


def test_names_of_arguments_are_numpys() -> None:
    assert [name for name, _ in named(np.clip, (1, 2), {"a_max": 3})] == ["a", "a_min", "a_max"]


def test_an_array_the_rule_does_not_know_is_refused_by_name(tmp_path: Any) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        unwrapped = log.track(lambda v, s: np.unwrap(v, period=s[0]), name="unwrapped", unknown="error")
        with pytest.raises(NoRule, match="period"):
            unwrapped(V.astype("f4"), S.astype("f4"))
