"""Scattered tuples take a short way through the folder; the rows are those of tuples that are given one by one."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whence import _core

SIDE = 60


@st.composite
def pairs(draw: st.DrawFn) -> np.ndarray:
    """Sorted pairs: consecutive outputs with random inputs or inputs on a line, gaps, and repeated outputs.

    There are no three on one line and no neighbours in one output: longer runs are found ahead, and only among tuples
    that are given together.
    """
    found: list[tuple[int, int]] = []
    x = 0
    for _ in range(draw(st.integers(1, 8))):
        x += draw(st.sampled_from([0, 0, 0, 1, 3]))
        many, start = draw(st.integers(1, 9)), draw(st.integers(0, SIDE - 1))
        step = draw(st.sampled_from([-7, -1, 0, 1, 2, 9]))
        scattered = draw(st.lists(st.integers(0, SIDE - 1), min_size=many, max_size=many))
        inputs = scattered if draw(st.booleans()) else [(start + step * i) % SIDE for i in range(many)]
        for value in inputs:
            found.append((x, value))
            x += draw(st.sampled_from([1, 1, 1, 1, 1, 1, 0]))
    kept: list[tuple[int, int]] = []
    last = (0, 1)
    for at, value in sorted(set(found)):
        jump = (at - kept[-1][0], value - kept[-1][1]) if kept else (0, 0)
        if jump not in ((0, 1), last):
            kept.append((at, value))
            last = jump
    return np.array(kept, np.int64)


def rows(chunks: list[np.ndarray], dims: tuple[int, int], order: tuple[int, int]) -> list[object]:
    folder = _core.Folder(dims, order)
    for chunk in chunks:
        assert folder.feed(np.ascontiguousarray(chunk)) == "ok"
    folder.close()
    table = _core.Table((dims[order[0]],), (dims[order[1]],), (dims[order[0]],), (dims[order[1]],))
    folder.into(table)

    def plain(column: object) -> object:
        return column if isinstance(column, tuple) else np.asarray(column).tolist()

    return [
        (count, list(axes), [plain(each) for each in lo], [plain(each) for each in width])
        for count, axes, lo, width in table.parts()
    ]


@given(pairs(), st.sampled_from([(0, 1), (1, 0)]), st.data())
def test_scattered_tuples_become_the_rows_of_tuples_one_by_one(
    tuples: np.ndarray, order: tuple[int, int], data: st.DataObject
) -> None:
    dims = (int(tuples[-1, 0]) + 1, SIDE)
    whole = rows([tuples], dims, order)
    assert rows(list(tuples[:, None]), dims, order) == whole
    at = data.draw(st.integers(0, len(tuples)))
    assert rows([tuples[:at], tuples[at:]], dims, order) == whole


def test_a_permutation_and_its_steep_steps() -> None:
    far = np.iinfo(np.int64).max // 4  # two rows so far apart are never one run
    values = np.random.default_rng(5).integers(0, far, 500)
    tuples = np.stack([np.arange(500), values], axis=1)
    assert rows([tuples], (500, far), (0, 1)) == rows(list(tuples[:, None]), (500, far), (0, 1))


def test_the_first_tuple_out_of_range_is_named() -> None:
    values = np.random.default_rng(5).permutation(300)
    tuples = np.stack([np.arange(300), values], axis=1)
    tuples[211, 1] = 300
    folder = _core.Folder((300, 300), (0, 1))
    assert (folder.feed(tuples), folder.at) == ("out_of_range", 211)


def test_the_first_tuple_out_of_order_is_named() -> None:
    values = np.random.default_rng(5).permutation(300)
    tuples = np.stack([np.arange(300), values], axis=1)
    tuples[211, 0] = 5
    folder = _core.Folder((300, 300), (0, 1))
    assert (folder.feed(tuples), folder.at) == ("unsorted", 211)
