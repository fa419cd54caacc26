"""Programs on traced arrays against the same programs on cells that remember: views, writes, shared memory."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

from whence.arrays.tracing import Run, Traced
from whence.arrays.tracing._rebound import rebound
from whence.errors import BadType, NoRule
from whence.testing import cells

Shape = tuple[int, ...]


def check(program: Any, *shapes: Shape) -> Run:
    """Run both; the lineage is equal cell for cell, the values are those of plain NumPy."""
    rng = np.random.default_rng(1)
    arrays = [rng.random(shape) for shape in shapes]
    plain = program(*(each.copy() for each in arrays))
    run = Run()
    result = rebound(program, run)(*(run.input(each.copy()) for each in arrays))
    expected = cells.run(program, *shapes)
    results, plains = (each if isinstance(each, tuple) else (each,) for each in (result, plain))
    for traced, values, per_input in zip(results, plains, expected, strict=True):
        assert isinstance(traced, Traced)
        assert np.array_equal(traced.value, values)
        for number, wanted in enumerate(per_input):
            found = {
                tuple(row) for each in traced.origins().get((number, "value"), ()) for row in each.to_array().tolist()
            }
            assert found == wanted
    return run


def blur(a: Any) -> Any:
    return (a[:-2] + a[1:-1] + a[2:]) / 3


def writes(a: Any) -> Any:
    b = np.zeros_like(a)
    b[1:] = a[:-1]
    b[0] = a[-1] * 2
    return b


def through_views(a: Any) -> Any:
    b = a.copy()
    left = b[:, :2]
    turned = b.T
    left[...] = a[:, 1:3]
    turned[0] += a[0, 0]
    return b, turned[::-1]


def in_place(a: Any, b: Any) -> Any:
    a += b
    a[::2] *= b[::2]
    a.reshape(-1)[3:5] = 0
    return a


def repeated_targets(a: Any) -> Any:
    b = a.copy()
    b[[0, 1, 0]] = a[[1, 2, 2]]
    return b


def branches_of_shape(a: Any, b: Any) -> Any:
    return np.concatenate([a @ b, b.T @ a.T]).sum(axis=0)[None] - a.mean()


def loops(a: Any) -> Any:
    out = np.zeros_like(a[:, 0])
    for i in range(len(a)):
        for j in range(a.shape[1]):
            if (i + j) % 2:
                out[i] = out[i] + a[i, j]
    return out


PROGRAMS: list[tuple[Any, list[Shape]]] = [
    (blur, [(6, 3)]), (writes, [(4, 3)]), (through_views, [(4, 4)]), (in_place, [(4, 3), (4, 3)]),
    (repeated_targets, [(3, 2)]), (branches_of_shape, [(3, 4), (4, 3)]), (loops, [(3, 4)]),
]  # fmt: skip


@pytest.mark.parametrize(("program", "shapes"), PROGRAMS)
def test_traced_run_equals_run_on_cells(program: Any, shapes: list[Shape]) -> None:
    run = check(program, *shapes)
    assert run.notes == {}
    assert run.call_record is not None
    assert not run.call_record.values


def step(rng: np.random.Generator, pool: list[Any]) -> Any:
    """One random operation on arrays of the pool; the same numbers give the same operation."""
    which, at, other = (int(n) for n in rng.integers(0, 1 << 30, 3))
    x = pool[at % len(pool)]
    same = [each for each in pool if each.shape == x.shape]
    y = same[other % len(same)]
    axis = other % x.ndim
    choice = which % 12
    if choice == 0:
        return x + y
    if choice == 1:
        return np.cumsum(x, axis=axis)
    if choice == 2:
        return np.flip(x, axis)
    if choice == 3:
        return np.roll(x, 1, axis)
    if choice == 4:
        return x.T if x.ndim > 1 else x[::-1]
    if choice == 5:
        return x.reshape(-1)
    if choice == 6:
        return np.repeat(x, 2, axis=axis)[..., ::2]
    if choice == 7:
        return x - x.mean(axis=axis, keepdims=True)
    if choice == 8:
        return np.concatenate([x, y], axis)[1:]
    if choice == 9:
        z = x.copy()
        z[1:] = y[:-1]
        return z
    if choice == 10:
        z = x[..., :-1] if x.shape[-1] > 1 else x
        z[...] = z * 2  # through the view, into x
        return z
    return np.diff(x, axis=axis) if x.shape[axis] > 2 else np.outer(x, x)[:2]


PROGRAMS_TO_RUN = int(os.environ.get("WHENCE_PROGRAMS", "80"))  # more on demand


@pytest.mark.parametrize("seed", range(PROGRAMS_TO_RUN))
def test_random_programs(seed: int) -> None:
    def program(a: Any, b: Any) -> Any:
        rng = np.random.default_rng(seed)
        pool = [a, b]
        for _ in range(12):
            made = step(rng, pool)
            if 0 < made.size < 200:
                pool.append(made)
        return tuple(pool)

    shape = tuple(int(n) for n in np.random.default_rng(seed).integers(1, 4, 2))
    check(program, shape, shape)


def test_constructors_of_numpy_are_traced() -> None:
    def program(a: Any) -> Any:
        out = np.empty(a.shape[0])
        for i in range(len(a)):
            out[i] = np.asarray(a)[i].sum()
        return np.array([out[0] + 1, out[1]])

    run = Run()
    out = rebound(program, run)(run.input(np.ones((2, 3))))
    assert out.relation(0).to_array().tolist() == [[i, i, j] for i in range(2) for j in range(3)]


def test_conditions_are_an_edge_of_their_own() -> None:
    run = Run(selection=True)
    x, mask = run.input(np.array([1.0, -2.0, 3.0])), run.input(np.array([True, False, True]))
    y: Any = np.where(x > 0, x, 0.0)
    assert y.relation(0).to_array().tolist() == [[0, 0], [2, 2]]
    assert y.relation(0, "selection").to_array().tolist() == [[0, 0], [1, 1], [2, 2]]
    z = x[mask]
    assert z.relation(0).to_array().tolist() == [[0, 0], [1, 2]]
    # which cell comes first, was decided by the mask up to there; the second one, by all of it
    assert z.relation(1, "selection").to_array().tolist() == [[0, 0], [1, 0], [1, 1], [1, 2]]
    assert run.call_record is not None
    assert run.call_record.values


def test_indices_of_what_holds_are_selections() -> None:
    run = Run(selection=True)
    x = run.input(np.array([[1.0, 0.0], [0.0, 2.0]]))
    indices: Any = np.nonzero(x)
    rows, columns = indices
    assert (rows.value.tolist(), columns.value.tolist()) == ([0, 1], [0, 1])
    picked = x[rows, columns]
    assert picked.relation(0).to_array().tolist() == [[0, 0, 0], [1, 1, 1]]
    assert picked.relation(0, "selection").to_array().tolist() == [[0, 0, 0], *([1, i, j] for i, j in np.ndindex(2, 2))]
    assert np.argwhere(x).value.tolist() == [[0, 0], [1, 1]]  # type: ignore[attr-defined] # it is traced


def test_what_would_lose_lineage_is_refused_or_counted() -> None:
    run = Run()
    x = run.input(np.ones(3))
    with pytest.raises(NoRule, match="plain"):
        np.asarray(x)
    with pytest.raises(NoRule, match="not traced"):
        np.add(x, 1, out=np.zeros(3))
    with pytest.raises(NoRule, match=r"numpy\.histogramdd "):
        np.histogramdd(x)
    with pytest.raises(NoRule, match=r"ndarray\.byteswap"):
        x.byteswap()
    assert float(x.sum()) == 3.0
    assert x[0] > 0
    assert run.notes == {"casts": 1, "branches": 1}
    with pytest.raises(BadType, match="complex128"):
        run.input(np.ones(2, complex))


@pytest.mark.parametrize("seed", range(20))
def test_a_mask_decides_up_to_the_cell_that_it_picks(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values, mask = rng.random((7, 2)), rng.random(7) < 0.6
    run = Run(selection=True)
    found = run.input(values)[run.input(mask)].relation(1, "selection")
    changed = set()
    for j in range(7):
        other = values[mask ^ (np.arange(7) == j)]
        for i, kept in enumerate(values[mask]):
            if i >= len(other) or (other[i] != kept).any():
                changed |= {(i, 0, j), (i, 1, j)}
    assert {tuple(each) for each in found.to_array().tolist()} == changed
