"""Uniting relations, windows as rows, orders of lanes: against tuples."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

from whence.arrays.rules import selecting
from whence.arrays.rules.views import viewed
from whence.arrays.tracing._origins import union
from whence.relation import Relation, compress
from whence.relation.compress import drafting


def tuples(relation: Relation) -> set[tuple[int, ...]]:
    return set(map(tuple, relation.to_array().tolist()))


def relations(rng: np.random.Generator, out: tuple[int, ...], into: tuple[int, ...]) -> Relation:
    """A regular relation, or one with holes in it, or scattered tuples."""
    kind = rng.integers(4)
    if kind == 0:
        return Relation.whole(out, into)
    cells = np.argwhere(np.ones(out + into, bool))
    if kind == 1 and out == into[1:]:  # a column for each
        cells = cells[cells[:, 0] == cells[:, 2]]
    elif kind == 2 and out == into[1:]:  # a column with holes
        cells = cells[(cells[:, 0] == cells[:, 2]) & (rng.random(len(cells)) > 0.3)]
    else:
        cells = cells[rng.random(len(cells)) > rng.random()]
    return compress(cells.astype(np.int64), out, into)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 1 << 30))
def test_what_is_left_out_of_a_union_is_in_the_rest(seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns, rows = int(rng.integers(1, 5)), int(rng.integers(1, 12))
    many = [relations(rng, (columns,), (rows, columns)) for _ in range(int(rng.integers(2, 5)))]
    found = union(many)
    assert set().union(*map(tuples, found)) == set().union(*map(tuples, many))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30))
def test_windows_are_the_cells_that_numpy_shows(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 7, size=int(rng.integers(1, 4))).tolist())
    axes = rng.integers(0, len(shape), size=int(rng.integers(1, 3))).tolist()
    sizes = [int(rng.integers(1, 4)) for _ in axes]
    cells = np.arange(np.prod(shape)).reshape(shape)

    def view(x: Any) -> Any:
        return sliding_window_view(x, sizes, axis=axes)

    try:
        seen = view(cells)
    except ValueError:  # a window that is larger than the axis
        return
    expected = {(*at, *map(int, np.unravel_index(seen[at], shape))) for at in np.ndindex(seen.shape)}
    assert tuples(viewed(shape, view)) == expected


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 1 << 30), st.sampled_from([0, 1]))
def test_orders_of_many_cells(seed: int, axis: int) -> None:
    values = np.random.default_rng(seed).random((300, 250))
    order = np.argsort(values, axis=axis)
    relation = selecting.arranged(values.shape, order.copy(), axis)
    assert len(relation) == values.size  # scattered, cell by cell
    cell = (123, 45)
    wanted = (int(order[cell]), 45) if axis == 0 else (123, int(order[cell]))
    assert relation.backward([cell]).cells().tolist() == [list(wanted)]
    assert relation.count() == values.size


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 1 << 30))
def test_drafts_hold_the_same_tuples(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = np.argwhere(rng.random((5, 4, 3, 4)) > rng.random()).astype(np.int64)
    with drafting():
        draft = compress(cells, (5, 4), (3, 4))
    assert tuples(draft) == set(map(tuple, cells.tolist()))
