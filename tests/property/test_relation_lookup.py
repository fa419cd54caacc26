"""A question with more than a few boxes looks up each row in the boxes; later ones use an index."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence as wh
from whence.testing.oracle import RawRelation, as_cells

SHAPES = [((90,), (40,)), ((30, 4), (50,)), ((40,), (30, 3)), ((9, 12), (25, 4))]


def irregular(seed: int, out_shape: tuple[int, ...], in_shape: tuple[int, ...], wide: int, share: float) -> np.ndarray:
    """Return random tuples that make many rows, most of them `wide` on the first axis of the output and the input."""
    rng = np.random.default_rng(seed)
    shape = (*out_shape, *in_shape)
    sides = [1] * len(shape)
    sides[0] = sides[len(out_shape)] = wide
    coarse = rng.random([-(-side // by) for side, by in zip(shape, sides, strict=True)]) < share
    return np.argwhere(np.kron(coarse, np.ones(sides, bool))[tuple(map(slice, shape))])


@pytest.mark.parametrize(("out_shape", "in_shape"), SHAPES)
@settings(deadline=None)
@given(seed=st.integers(0, 2**32), wide=st.integers(1, 5), share=st.sampled_from([0.03, 0.2, 0.5]), data=st.data())
def test_many_boxes_find_the_rows_that_a_join_finds(
    out_shape: tuple[int, ...], in_shape: tuple[int, ...], seed: int, wide: int, share: float, data: st.DataObject
) -> None:
    tuples = irregular(seed, out_shape, in_shape, wide, share)
    relation, oracle = wh.compress(tuples, out_shape, in_shape), RawRelation.from_rows(tuples, out_shape, in_shape)
    if data.draw(st.booleans(), "stored"):
        relation = wh.Relation.from_bytes(relation.to_bytes())
    for _ in range(3):  # the first question of a side looks up rows
        shape, ask, expect = data.draw(
            st.sampled_from(
                [(out_shape, relation.backward, oracle.backward), (in_shape, relation.forward, oracle.forward)]
            ),
            "side",
        )
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32), "cells"))
        given_cells = np.argwhere(rng.random(shape) < data.draw(st.sampled_from([0.1, 0.5, 0.9]), "share"))
        assert as_cells(ask(given_cells).cells()) == expect(as_cells(given_cells))


def test_rows_that_overlap_many_boxes_on_the_first_axis_only() -> None:
    """Looking up such rows would take a step for each pair of a row and a box, so an index is made instead."""
    rng = np.random.default_rng(5)
    lines = [(2 * column, into) for column in range(60) for into in rng.permutation(60)[:20]]
    tuples = np.array([(out, column, into) for column, into in lines for out in range(40)])
    relation, oracle = wh.compress(tuples, (40, 121), 60), RawRelation.from_rows(tuples, (40, 121), (60,))
    outs = np.arange(40)
    beside = np.stack([outs, 2 * (outs % 2) + 1], axis=1)
    assert len(relation) > 48
    assert not relation.backward(beside)
    some = np.argwhere(rng.random((40, 121)) < 0.2)
    assert as_cells(relation.backward(some).cells()) == oracle.backward(as_cells(some))
