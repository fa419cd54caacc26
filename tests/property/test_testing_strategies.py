"""What the strategies draw is well formed: a broken question would blame the engine for its own mistake."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation, all_cells, sorted_unique, walk
from whence.testing.strategies import (
    BUILDERS,
    asked,
    chains,
    effort,
    paths,
    product,
    relations,
    scrambled,
    shapes,
    swapped,
)


def well_formed(raw: Raw) -> bool:
    sides = raw.out_shape + raw.in_shape
    inside = bool(((raw.tuples >= 0) & (raw.tuples < np.array(sides, np.int64))).all())
    return inside and np.array_equal(raw.tuples, sorted_unique(raw.tuples)) and raw.tuples.shape[1:] == (len(sides),)


@given(relations())
@effort(200)
def test_relations_are_well_formed(raw: Raw) -> None:
    assert well_formed(raw)


@pytest.mark.parametrize("name", BUILDERS)
@given(st.data())
@effort(5)
def test_every_operation_can_be_drawn(name: str, data: st.DataObject) -> None:
    applies, build = BUILDERS[name]
    shape = data.draw(shapes(max_axes=3).filter(applies))
    raw = data.draw(st.composite(lambda draw: build(draw, shape))())
    assert well_formed(raw)
    assert raw.in_shape == shape


@given(st.data())
@effort(50)
def test_scrambling_changes_no_tuple(data: st.DataObject) -> None:
    raw = data.draw(relations())
    assert np.array_equal(sorted_unique(data.draw(scrambled(raw.tuples)).astype(np.int64)), raw.tuples)


@given(st.data())
@effort(50)
def test_questions_are_inside(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    assert data.draw(asked(shape)).cells <= all_cells(shape)


@given(chains())
@effort(50)
def test_chains_fit(steps: list[Raw]) -> None:
    assert all(map(well_formed, steps))
    assert all(later.in_shape == earlier.out_shape for earlier, later in itertools.pairwise(steps))


@given(paths())
@effort(50)
def test_paths_fit(path: tuple[tuple[int, ...], list[tuple[Raw, str]]]) -> None:
    here, steps = path
    for raw, direction in steps:
        near, far = (raw.in_shape, raw.out_shape) if direction == "forward" else (raw.out_shape, raw.in_shape)
        assert near == here
        here = far
    reached = walk([(RawRelation.from_rows(*raw), direction) for raw, direction in steps], all_cells(path[0]))
    assert reached <= all_cells(here)


@given(relations())
@effort(50)
def test_swapping_twice_is_nothing(raw: Raw) -> None:
    assert RawRelation.from_rows(*swapped(raw)) == RawRelation.from_rows(*raw).inverse
    assert RawRelation.from_rows(*swapped(swapped(raw))) == RawRelation.from_rows(*raw)


def test_product_is_the_product() -> None:
    flip = Raw(np.array([[0, 1], [1, 0]]), (2,), (2,))
    total = Raw(np.array([[0], [1]]), (), (2,))
    assert product(flip, total).tuples.tolist() == [[0, 1, 0], [0, 1, 1], [1, 0, 0], [1, 0, 1]]
