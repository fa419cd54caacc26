"""Composition and union without tuples: whatever rows they make hold the tuples that the join and the union have."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given
from hypothesis import strategies as st

import whence as wh
from whence.arrays.rules import indexed, lineage
from whence.arrays.tracing._origins import kept
from whence.relation import compose
from whence.relation.forest import NoForm
from whence.relation.substitute import substituted
from whence.selection import Selection
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation
from whence.testing.strategies import chains, effort, relations, relations_from


def tuples(relation: wh.Relation) -> list[list[int]]:
    """All tuples as they are stored: one that lies in two rows is there twice."""
    assert relation.count() == len(relation.to_array())
    return [list(map(int, each)) for each in relation.to_array()]


def together(relations: list[wh.Relation]) -> set[tuple[int, ...]]:
    return {tuple(row) for each in relations for row in tuples(each)}


@given(chains(2).filter(lambda steps: len(steps) == 2))
@effort(400)
def test_rows_side_by_side_are_the_join(steps: list[Raw]) -> None:
    first, second = (wh.compress(*raw) for raw in steps)
    joined = RawRelation.from_rows(*steps[1]).compose(RawRelation.from_rows(*steps[0]))
    assert together(compose.compose_side_by_side(second, first)) == {tuple(each) for each in joined.to_array().tolist()}


@given(chains(2).filter(lambda steps: len(steps) == 2))
@effort(600)
def test_substituted_rows_are_the_join(steps: list[Raw]) -> None:
    first, second = (wh.compress(*raw) for raw in steps)
    try:
        found = substituted(second, first)
    except NoForm:
        event("no form")
        return
    event("rows")
    joined = RawRelation.from_rows(*steps[1]).compose(RawRelation.from_rows(*steps[0]))
    assert together(found) == {tuple(each) for each in joined.to_array().tolist()}


@given(st.data())
@effort(300)
def test_rows_of_a_mask_meet_few_rows(data: st.DataObject) -> None:
    raw = data.draw(relations())
    inner = wh.compress(*raw)
    mask = data.draw(st.lists(st.booleans(), min_size=1, max_size=64))
    cells = np.resize(np.array(mask), inner.out_shape)
    outer = kept(Selection.from_mask(cells))
    expected = inner.to_array()
    expected = expected[[bool(cells[tuple(each[: len(inner.out_shape)])]) for each in expected]]
    try:
        found = substituted(outer, inner)
    except NoForm:
        event("no form")
        return
    assert together(found) == {tuple(each) for each in expected.tolist()}


@given(st.data())
@effort(300)
def test_united_rows_are_the_union(data: st.DataObject) -> None:
    first = data.draw(relations())
    others = data.draw(st.lists(relations_from(first[2]), max_size=4))
    same = [first, *(each for each in others if each[1] == first[1])]
    found = compose.union([wh.compress(*each) for each in same])
    if found is None:
        event("no form")
        return
    expected = {tuple(row) for each in same for row in tuples(wh.compress(*each))}
    assert together(found) == expected


def test_numbers_from_numbers() -> None:
    several = wh.compress([[0], [2]], (), (3,))
    assert several.compose(several.inverse) == wh.Relation.whole((), ())
    assert compose.union([wh.Relation.whole((), ())] * 3) == [wh.Relation.whole((), ())]


def test_shifted_slices_are_one_row() -> None:
    pieces = [indexed((12, 12), np.s_[i : i + 8, j : j + 8]) for i in range(5) for j in range(5)]
    found = compose.union(pieces)
    assert found is not None
    assert [len(each) for each in found] == [1]
    assert found[0].backward([(3, 4)]) == Selection.from_slices(np.s_[3:8, 4:9], (12, 12))


def test_whatever_comes_from_everything_is_composed_without_tuples() -> None:
    whole = wh.Relation.whole((3000, 3000), (3000, 3000))
    gradient = lineage(np.gradient, (np.zeros((3000, 3000)),))[0]
    assert len(gradient[0].relation) > 1
    found = gradient[0].relation.compose(whole)
    assert (len(found), found.count()) == (1, 3000**4)
    found = whole.compose(gradient[0].relation)
    assert (len(found), found.count()) == (1, 3000**4)


@pytest.mark.parametrize("key", [np.s_[10:-10, 5:], np.s_[::2, ::-3], np.s_[7], np.s_[:, None, 4:50]])
def test_a_slice_of_a_masked_stencil(key: Any) -> None:
    size = 60
    keep = np.random.default_rng(4).random((size, size)) < 0.5
    stencil = compose.union([indexed((size + 2, size + 2), np.s_[i : i + size, j : j + size])
                             for i in range(3) for j in range(3)])  # fmt: skip
    assert stencil is not None
    masked = kept(Selection.from_mask(keep)).compose(stencil[0])
    found = indexed((size, size), key).compose(masked)
    assert len(masked) > 500
    numbers = np.arange(size * size).reshape(size, size)[key]
    for at in [*np.ndindex(numbers.shape)][::37]:
        i, j = divmod(int(numbers[at]), size)
        expected = np.s_[i : i + 3, j : j + 3] if keep[i, j] else np.s_[0:0, 0:0]
        assert found.backward([at]) == Selection.from_slices(expected, (size + 2, size + 2))
