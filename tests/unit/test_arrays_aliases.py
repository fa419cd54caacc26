"""The same array, or the same memory, given as more than one argument."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.calls import Captured, captured
from whence.arrays.recording.structures import parameters_of
from whence.errors import NoRule

V = np.arange(1.0, 6.0)


def run(function: Any, *args: Any, **kwargs: Any) -> Captured:
    return captured(function, args, kwargs, parameters_of(function), "f", selection=False)


def pairs(found: Captured, output: int = 0) -> dict[str, list[list[int]]]:
    """By the label of each input, the pairs of cells of one output."""
    said: dict[str, set[tuple[int, ...]]] = {each.label: set() for each in found.inputs}
    for edge in found.edges:
        if edge.output == output:
            said[found.inputs[edge.input].label] |= set(map(tuple, edge.relation.to_array().tolist()))
    return {label: [list(each) for each in sorted(some)] for label, some in said.items()}


def first_minus_last(a: Any, b: Any) -> Any:
    return a[:1] - b[-1:]


def test_each_parameter_has_its_own_lineage() -> None:
    v = V.copy()
    assert pairs(run(first_minus_last, v, v)) == {"a": [[0, 0]], "b": [[0, 4]]}
    assert pairs(run(first_minus_last, v, b=v)) == {"a": [[0, 0]], "b": [[0, 4]]}
    assert pairs(run(first_minus_last, v, v[1:])) == {"a": [[0, 0]], "b": [[0, 3]]}
    assert pairs(run(first_minus_last, v[::-1], v)) == {"a": [[0, 0]], "b": [[0, 4]]}


def test_a_function_with_a_rule_too() -> None:
    v = V.copy()
    own = [[i, i] for i in range(5)]
    found = captured(np.subtract, (v, v), {}, ("x1", "x2"), "f", selection=False)
    assert pairs(found) == {"x1": own, "x2": own}
    square = np.ones((2, 2))
    found = captured(np.matmul, (square, square), {}, ("x1", "x2"), "f", selection=False)
    assert pairs(found)["x1"] != pairs(found)["x2"]
    found = captured(np.concatenate, ([v, v],), {}, ("arrays",), "f", selection=False)
    assert pairs(found) == {"arrays[0]": own, "arrays[1]": [[i + 5, i] for i in range(5)]}
    found = captured(np.where, (v > 2, v, v), {}, ("condition", "x", "y"), "f", selection=False)
    assert (pairs(found)["x"], pairs(found)["y"]) == ([[2, 2], [3, 3], [4, 4]], [[0, 0], [1, 1]])
    found = captured(np.var, (v,), {"mean": v[:1]}, ("a",), "f", selection=False)
    assert pairs(found) == {"a": [[i] for i in range(5)], "mean": [[0]]}


def test_in_lists_and_dicts() -> None:
    v = V.copy()
    found = run(lambda parts, more: parts[0][:1] + parts[1][1:2] + more["x"][2:3], [v, v], {"x": v})
    assert pairs(found) == {"parts[0]": [[0, 0]], "parts[1]": [[0, 1]], "more['x']": [[0, 2]]}


def test_an_argument_that_is_returned_is_the_argument() -> None:
    v = V.copy()
    found = run(lambda a, b: (b, a), v, v)
    assert found.result[0] is v
    assert found.result[1] is v
    assert (pairs(found)["a"], pairs(found, 1)["b"]) == ([], [])


def test_a_write_to_an_array_that_was_given_twice() -> None:
    def shifted(a: Any, b: Any) -> Any:
        a[1:] = b[:-1] * 1.0
        return b + 0

    v, w = V.copy(), V.copy()
    found = run(shifted, v, v)
    assert found.result.tolist() == shifted(w, w).tolist() == v.tolist()
    expected = [[0, 0], *([i, i - 1] for i in range(1, 5))]
    assert pairs(found) == {"a": expected, "b": expected}  # one memory: what came from the one came from the other
    assert found.written == (0,)


def test_a_write_to_memory_that_is_shared_in_part_is_refused_before_it_is_done() -> None:
    v = V.copy()

    def smear(a: Any, b: Any) -> Any:
        a += b
        return a

    with pytest.raises(NoRule, match="shares memory with another one"):
        run(smear, v[1:], v[:-1])
    assert v.tolist() == V.tolist()
    found = run(smear, v[1::2], v[:-1:2])  # side by side, and not the same cells
    assert pairs(found) == {"a": [[0, 0], [1, 1]], "b": [[0, 0], [1, 1]]}
    assert v.tolist() == [1.0, 3.0, 3.0, 7.0, 5.0]


def test_on_the_dtype() -> None:
    def parts(a: Any, b: Any) -> Any:
        return np.pad(a[:2], (1, 0), mode="mean") - b[:3]  # a mode that has no rule

    found = run(parts, V, V)
    assert found.call_record is None
    assert pairs(found) == {"a": [[0, 0], [0, 1], [1, 0], [2, 1]], "b": [[0, 0], [1, 1], [2, 2]]}


def test_a_block_reads_an_array_twice(tmp_path: Any) -> None:
    v = V.copy()
    with wh.open(tmp_path / "log.whence") as log:
        with log.capture("block") as capture:
            a, b = capture.read("A", v), capture.read("B", v)
            capture.write("C", a[:1] + b[1:2])
        assert log.backward("C", [(0,)], to="A").cells().tolist() == [[0]]
        assert log.backward("C", [(0,)], to="B").cells().tolist() == [[1]]


def test_in_the_log(tmp_path: Any) -> None:
    v = V.copy()
    with wh.open(tmp_path / "log.whence") as log:
        tracked = log.track(first_minus_last, reuse=False)
        tracked(v, v)  # one array, which has one name, and both lineages
        (name,) = set(tracked.last.inputs)
        assert log.backward(tracked.last.outputs[0], [(0,)], to=name).cells().tolist() == [[0], [4]]


def test_two_ways_from_the_same_cells_are_united() -> None:
    """The same tuples in rows of two forms: one of them stays."""

    def deviation(a: Any) -> Any:
        some = a[..., ::2]
        return np.std(some, axis=1, keepdims=True, mean=some.mean(axis=1, keepdims=True))

    found = run(deviation, np.arange(9.0).reshape(3, 3))
    assert pairs(found)["a"] == [[i, 0, i, j] for i in range(3) for j in (0, 2)]


def test_a_view_that_values_chose_is_a_view() -> None:
    def trimmed(a: Any) -> Any:
        z = a.copy()
        middle = np.trim_zeros(z)
        middle[...] = middle[::-1] * 2
        return z

    def row(a: Any, b: Any) -> Any:
        z = a.copy()
        z[b[0].astype(int)][...] = 5
        return z

    for selection in (False, True):
        found = captured(trimmed, (V,), {}, ("a",), "f", selection=selection)
        values = [edge.relation.to_array().tolist() for edge in found.edges if edge.kind == "value"]
        assert values == [[[i, 4 - i] for i in range(5)]]
        found = captured(row, (np.ones((2, 2)), np.array([1.0])), {}, ("a", "b"), "f", selection=selection)
        values = [edge.relation.to_array().tolist() for edge in found.edges if edge.kind == "value"]
        assert values == [[[0, 0, 0, 0], [0, 1, 0, 1]]]
        assert any(edge.input == 1 for edge in found.edges) == selection


def test_setting_a_shape() -> None:
    def reshaped(a: Any) -> Any:
        z = a[1:] * 2
        z.shape = (2, 2)
        z[0] = 0
        return z

    assert pairs(run(reshaped, V)) == {"a": [[1, 0, 3], [1, 1, 4]]}

    def shaped(a: Any) -> Any:
        a.shape = (5, 1)
        return a + 0

    v = V.copy()
    with pytest.raises(NoRule, match="use reshape"):
        captured(shaped, (v.astype("f4"),), {}, ("a",), "f", selection=False)
    assert v.shape == (5,)


def test_nan_to_num_in_place_writes_its_argument() -> None:
    def cleaned(a: Any) -> Any:
        np.nan_to_num(a, copy=False, nan=a[0])
        return a * 2

    v = np.array([1.0, np.nan, 3.0])
    found = run(cleaned, v)
    assert found.written == (0,)
    assert v.tolist() == [1.0, 1.0, 3.0]
    assert pairs(found) == {"a": [[0, 0], [1, 0], [1, 1], [2, 2]]}
    found = captured(np.nan_to_num, (v,), {"copy": False}, ("x",), "f", selection=False)
    assert found.written == (0,)
