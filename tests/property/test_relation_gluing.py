"""Pieces of a relation, cut anywhere, are put together: the same tuples, and few boxes where the whole has few."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.relation.parts import gluing
from whence.relation.parts.gluing import glued
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation, sorted_unique
from whence.testing.strategies import effort, relations

REGULAR: dict[str, Raw] = {
    "element-wise": ops.negative((12, 15)),
    "flip": ops.flip((12, 15)),
    "transpose": ops.transpose((12, 15)),
    "sum": ops.sum_over((12, 15), 1),
    "matrix product": ops.matmul_left((8, 9), 7),
    "other operand": ops.matmul_right((8, 9), 7),
    "step": ops.sliced((90,), slice(None, None, 3)),
    "window": ops.convolve((60,), 5, "valid"),
    "window of an image": ops.convolve_nd((9, 10), (3, 3)),
    "pool": ops.pool((12, 12), (3, 4)),
    "repeat": ops.repeat((40,), 3),
    "tile": ops.tile((12, 5), (2, 2)),
    "cumsum": ops.cumsum((20,)),
    "triangle": ops.tril((15, 15)),
    "diagonal": ops.diag_extract((30, 30)),
    "reshape": ops.reshape((16, 30), (24, 20)),
    "roll": ops.roll((12, 15), 4, 1),
}


def cut(raw: Raw, cuts: list[int]) -> list[wh.Relation]:
    tuples = sorted_unique(raw.tuples)
    return [wh.compress(each, raw.out_shape, raw.in_shape) for each in np.split(tuples, cuts)]


@given(relations(), st.data())
@effort(300)
def test_the_same_tuples(raw: Raw, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(raw.tuples)), max_size=5)))
    found = glued(cut(raw, cuts))
    expected = RawRelation.from_rows(*raw).to_array().tolist()
    assert sorted(row for each in found for row in each.to_array().tolist()) == expected
    assert sum(each.count() for each in found) == len(expected)


@pytest.mark.parametrize("name", REGULAR)
def test_a_few_boxes_for_the_whole(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if name != "reshape":  # pieces of a few rows do not show that a flat view is better; large ones do
        monkeypatch.setattr(gluing, "AGAIN", 0)  # what is large is not folded again
    raw = REGULAR[name]
    whole = wh.compress(*raw)
    rng = np.random.default_rng(len(name))
    for parts in (1, 2, 3, 7, 20):
        cuts = sorted(rng.integers(0, len(raw.tuples), parts - 1).tolist())
        (found,) = glued(cut(raw, cuts))
        assert found == whole
        # In pieces of ten tuples there are lines by accident.
        assert len(found) <= (len(whole) if parts <= 3 else len(whole) + 2 if parts == 7 else 16), (parts, cuts)


LARGE: dict[str, Raw] = {
    "element-wise": ops.negative((200, 300)),
    "matrix product": ops.matmul_left((40, 50), 30),
    "window of an image": ops.convolve_nd((90, 100), (3, 3)),
    "pool": ops.pool((120, 120), (3, 4)),
    "repeat": ops.repeat((20000,), 3),
    "tile": ops.tile((120, 50), (2, 2)),
    "cumsum": ops.cumsum((300,)),
    "reshape": ops.reshape((160, 300), (240, 200)),
    "roll": ops.roll((120, 150), 40, 1),
    "rot90": ops.rot90((200, 300)),
}


@pytest.mark.parametrize("name", LARGE)
def test_pieces_of_thousands_of_tuples_are_what_one_process_makes(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gluing, "AGAIN", 0)
    raw = LARGE[name]
    rng = np.random.default_rng(5)
    for parts in (3, 20):
        cuts = sorted(rng.integers(0, len(raw.tuples), parts - 1).tolist())
        (found,) = glued(cut(raw, cuts))
        assert len(found) == len(wh.compress(*raw))
        assert found.count() == len(raw.tuples)
