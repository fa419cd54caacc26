"""Relations from annotations: equal to the tuples' own compression, in few rows where the operation is regular."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence as wh
from whence import _core, _tracked
from whence.testing.annotated import annotated, matmul, pairs

REGULAR: dict[str, tuple[tuple[int, ...], Callable[[Any], Any], int]] = {
    "negative": ((6, 7), lambda x: -x, 1),
    "transpose": ((3, 4, 5), lambda x: x.T, 1),
    "flip": ((6, 7), lambda x: x[::-1, ::-1], 1),
    "step": ((9, 8), lambda x: x[::2, 1::3], 1),
    "ravel": ((30, 20), lambda x: x.ravel(), 1),
    "reshape": ((40, 60), lambda x: x.reshape(30, 80), 1),
    "sum 0": ((6, 7), lambda x: x.sum(axis=0), 1),
    "sum 1": ((6, 7), lambda x: x.sum(axis=1), 1),
    "sum of four axes": ((3, 4, 5, 2), lambda x: x.sum(axis=(0, 2)), 1),
    "sum all": ((6, 7), lambda x: x.sum(), 1),
    "centre": ((6, 7), lambda x: x - x.sum(axis=0), 1),
    "cumsum": ((6, 7), lambda x: np.cumsum(x, axis=1), 1),
    "cumsum of an outer axis": ((6, 7), lambda x: np.cumsum(x, axis=0), 1),
    "cumsum, flat": ((30, 20), lambda x: np.cumsum(x), 1),
    "reverse cumsum": ((20,), lambda x: np.cumsum(x[::-1])[::-1], 1),
    "diff": ((6, 7), lambda x: x[:, 1:] - x[:, :-1], 1),
    "stencil": ((8, 9), lambda x: sum(x[i : 6 + i, j : 7 + j] for i in range(3) for j in range(3)), 1),
    "repeat": ((30, 20), lambda x: np.repeat(x, 3, axis=1), 1),
    "tile": ((12, 10), lambda x: np.tile(x, (2, 2)), 4),
    "roll": ((6, 7), lambda x: np.roll(x, 2, axis=1), 2),
    "diagonal": ((6, 6), lambda x: np.diagonal(x), 1),
    "broadcast": ((7,), lambda x: np.broadcast_to(x, (6, 7)), 1),
    "whole": ((5, 6), lambda x: np.broadcast_to(x.sum(), (3, 4)), 1),
    "zero size": ((0, 4), lambda x: -x, 0),
    "no axes": ((), lambda x: x + 1.0, 1),
    "a single cell": ((5, 6), lambda x: x[2, 3], 1),
}


@pytest.mark.parametrize("name", REGULAR)
def test_regular_operations_are_a_few_rows(name: str) -> None:
    shape, work, most = REGULAR[name]
    plain = np.random.default_rng(0).random(shape)
    relation = wh.relation_of(work(wh.tracked(plain, "A")), "A")
    expected = pairs(work(annotated(plain, "A")), "A", shape)
    assert np.array_equal(relation.to_array(), expected)
    assert relation.count() == len(expected)
    assert len(relation) <= most


def test_matmul_of_two_arrays_and_of_one() -> None:
    a, b = np.random.default_rng(0).random((5, 6)), np.random.default_rng(1).random((6, 4))
    x, y = wh.tracked(a, "A"), wh.tracked(b, "B")
    left, right = annotated(a, "A"), annotated(b, "B")
    for name, shape in (("A", a.shape), ("B", b.shape)):
        relation = wh.relation_of(x @ y, name)
        assert np.array_equal(relation.to_array(), pairs(matmul(left, right), name, shape))
        assert len(relation) == 1
    assert np.array_equal(wh.relation_of(x @ x.T, "A").to_array(), pairs(matmul(left, left.T), "A", a.shape))


def test_sets_that_pass_through_another_array() -> None:
    """The lineage of neighbours may lead evenly from one input through a second to a third."""
    parts = [wh.tracked(np.arange(9.0), name) for name in "ABC"]
    objects = [annotated(np.arange(9.0), name) for name in "ABC"]
    for start, step in ((0, 9), (0, 8), (4, 9), (0, 3)):
        y, o = np.concatenate(parts)[start::step], np.concatenate(objects)[start::step]
        z, p = y + y[::-1], o + o[::-1]
        for name in "ABC":
            assert np.array_equal(wh.relation_of(y, name).to_array(), pairs(o, name, (9,)))
            assert np.array_equal(wh.relation_of(z, name).to_array(), pairs(p, name, (9,)))


def test_an_array_of_many_cells_is_one_row() -> None:
    x = wh.tracked(np.ones((2000, 1500)), "A")
    assert len(wh.relation_of(x.sum(axis=0), "A")) == 1
    assert len(wh.relation_of(x * 2.0, "A")) == 1
    relation = wh.relation_of(x - x.mean(axis=1, keepdims=True), "A")
    assert (len(relation), relation.count()) == (1, 2000 * 1500 * 1500)
    assert relation.backward([(7, 3)]) == wh.Selection.from_slices((slice(7, 8), slice(None)), (2000, 1500))


def test_a_sum_over_very_many_rows() -> None:
    """Every row makes a new set, of one more cell; none of them may be taken for irregular."""
    x = wh.tracked(np.ones((20_000, 40)), "A")
    before = _tracked.statistics()["nodes"]
    total = x.sum(axis=0)
    assert _tracked.statistics()["nodes"] - before < 50_000
    assert len(wh.relation_of(total, "A")) == 1
    assert wh.relation_of(total, "A").count() == 20_000 * 40


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_rows_that_are_known_fold_like_their_tuples(data: st.DataObject) -> None:
    outs = tuple(data.draw(st.lists(st.integers(1, 5), min_size=0, max_size=2)))
    ins = tuple(data.draw(st.lists(st.integers(1, 6), min_size=0, max_size=2)))
    size = int(np.prod(outs, dtype=int))
    rows: list[list[int]] = []
    tuples: set[tuple[int, ...]] = set()
    place = 0
    while place < size:
        inner = outs[-1] if outs else 1
        count = data.draw(st.integers(1, inner - place % inner))
        row = [place, count]
        bounds = []
        for d in ins:
            ends = sorted(data.draw(st.tuples(st.integers(0, d - 1), st.integers(0, d - 1))))
            last = sorted(data.draw(st.tuples(st.integers(0, d - 1), st.integers(0, d - 1))))
            steps = [(b - a) // (count - 1) if count > 1 else 0 for a, b in zip(ends, last, strict=True)]
            if any(a + s * (count - 1) != b for a, s, b in zip(ends, steps, last, strict=True)) and count > 1:
                steps = [0, 0]
            row += [*ends, *steps]
            bounds.append((ends, steps))
        rows.append(row)
        for k in range(count):
            where = tuple(int(i) for i in np.unravel_index(place + k, outs)) if outs else ()
            spans = [range(e[0] + k * s[0], e[1] + k * s[1] + 1) for e, s in bounds]
            for index in np.ndindex(*[len(span) for span in spans]):
                tuples.add((*where, *(span[i] for span, i in zip(spans, index, strict=True))))
        place += count
    folder = _core.Folder(outs + ins, list(range(len(outs) + len(ins))))
    assert folder.feed_runs(np.array(rows, dtype=np.int64).reshape(len(rows), 2 + 4 * len(ins)), len(outs)) == "ok"
    table = _core.Table(outs, ins, outs, ins)
    folder.into(table)
    found = sorted(map(tuple, table.expand().tolist()))
    assert found == sorted(tuples)


@pytest.mark.parametrize(
    "row",
    [
        [0, 4, 0, 0, 1, 1],
        [2, 2, 0, 0, 0, 0],
        [0, 1, 0, 4, 0, 0],
        [0, 1, -1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0],
        [9, 1, 0, 0, 0, 0],
        [0, 2, 1, 2, 0, -2],
    ],
)
def test_rows_outside_are_refused(row: list[int]) -> None:
    folder = _core.Folder([3, 3], [0, 1])
    with pytest.raises(ValueError, match="width"):
        folder.feed_runs(np.zeros((1, 5), dtype=np.int64), 1)
    folder = _core.Folder([3, 4], [0, 1])
    assert folder.feed_runs(np.array([row], dtype=np.int64), 1) == "out_of_range"
