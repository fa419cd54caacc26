"""Blocks of a stored relation: every code comes back, and questions read only the blocks they need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import whence as wh
from whence import _core
from whence.errors import TooLarge
from whence.relation import _relation, columns, stored
from whence.relation.blocks import PCO, RICE, RICE_OF_STEPS, pack, unpack
from whence.testing import operations as ops
from whence.testing.oracle import backward_rows, forward_rows

RNG = np.random.default_rng(7)
COLUMNS = {
    "coin tosses": (RICE, RNG.geometric(0.5, 5000)),
    "coin tosses from minus three": (RICE, RNG.geometric(0.5, 5000) - 4),
    "places of heads": (RICE_OF_STEPS, np.flatnonzero(RNG.random(20_000) < 0.5)),
    "anything": (PCO, RNG.integers(-(2**62), 2**62, 3000)),
    "constant": (PCO, np.full(4000, 7)),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_code_where_it_is_the_shortest(name: str) -> None:
    code, values = COLUMNS[name]
    packed = pack(values.astype(np.int64))
    head = next(i for i, byte in enumerate(packed) if byte < 0x80)
    assert packed[head + 1] == code
    assert np.array_equal(unpack(packed, len(values)), values)


@given(hnp.arrays(np.int64, st.integers(1, 300), elements=st.integers(-(2**62), 2**62) | st.integers(0, 9)))
def test_any_block_comes_back(values: np.ndarray[tuple[int], np.dtype[np.int64]]) -> None:
    assert np.array_equal(unpack(pack(values), len(values)), values)


def filtered(cells: int) -> tuple[wh.Relation, np.ndarray[tuple[int], np.dtype[np.int64]]]:
    """A random filter, whose runs fill several blocks, as it is read from a file."""
    kept = np.flatnonzero(np.random.default_rng(1).random(cells) < 0.5)
    tuples = np.stack([np.arange(len(kept)), kept], axis=1)
    return wh.Relation.from_bytes(wh.compress(tuples, (len(kept),), (cells,)).to_bytes()), kept


def test_a_running_column_is_read_from_the_middle(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(columns, "USUAL", 1 << 10)
    monkeypatch.setattr(columns, "SMALL", 1 << 9)
    monkeypatch.setattr(columns, "LARGE", 1 << 11)
    relation, kept = filtered(100_000)
    stored = relation._held
    assert columns.RUNNING in stored.parts[0].codes
    assert stored.parts[0].blocks > 10
    for first in (0, 17, 20_000, 33_333, len(kept) - 5):
        asked = np.arange(first, first + 5)[:, None]
        assert relation.backward(asked).cells()[:, 0].tolist() == kept[first : first + 5].tolist()
        assert relation.forward(kept[asked[:, 0]][:, None]).cells().tolist() == asked.tolist()
    assert relation._table is None, "a few cells are answered from a few blocks"
    assert len(relation.backward(wh.Selection.all(relation.out_shape))) == len(kept)
    assert relation._table is not None


def test_sort_is_addressed_in_place() -> None:
    raw = ops.sort((300_000,))
    relation = wh.Relation.from_bytes(wh.compress(*raw).to_bytes())
    assert relation.backward([(123_456,)]).cells().tolist() == [[int(raw.tuples[123_456, 1])]]
    assert relation._table is None


def test_a_relation_larger_than_memory_is_asked_piece_by_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("USUAL", "SMALL", "LARGE"):
        monkeypatch.setattr(columns, name, 1 << 9)
    raw = ops.group_by((4000, 2), 50)
    data = wh.compress(*raw).to_bytes()
    monkeypatch.setattr(_relation, "LOAD_LIMIT", 1 << 9)
    monkeypatch.setattr(_relation, "FEW_ROWS", 1 << 9)
    monkeypatch.setattr(stored, "PIECE", 1 << 10)
    relation = wh.Relation.from_bytes(data)
    assert relation.count() == len(raw.tuples)
    for given_, cells in (
        (wh.Selection.all(raw.out_shape), raw.tuples[:, :2]),
        (wh.Selection.from_cells(raw.tuples[:9, :2], raw.out_shape), raw.tuples[:9, :2]),
    ):
        assert np.array_equal(relation.backward(given_).cells(), backward_rows(*raw, cells))
    every = wh.Selection.all(raw.in_shape)
    assert np.array_equal(relation.forward(every).cells(), forward_rows(*raw, raw.tuples[:, 2:]))
    assert relation._table is None
    with pytest.raises(TooLarge, match=r"rows, which take .* GiB in memory; use backward or forward"):
        relation.to_array()
    assert relation.to_bytes() == data, "its file is at hand"


def test_memory_that_its_owner_writes_to_is_copied() -> None:
    data = bytearray(wh.compress(*ops.sort((60,))).to_bytes())
    relation = wh.Relation.from_bytes(memoryview(data))
    expected = wh.compress(*ops.sort((60,))).to_array()
    data[:] = bytes(len(data))
    assert np.array_equal(relation.to_array(), expected)


def test_an_answer_of_too_many_boxes_is_refused_before_it_is_made() -> None:
    """A diagonal of 2^30 cells: no box can hold two of them."""
    side = 1 << 30
    rows = [([(-1, 0, 0), (0, 1, 1), (0, 1, 1)], [(0, side - 1), (0, 0), (0, 0)])]
    relation = wh.Relation.from_rows((side,), (side, side), rows)
    with pytest.raises(TooLarge, match="needs 1073741824 boxes or more.*ask for fewer cells"):
        relation.backward(wh.Selection.all((side,)))
    assert relation.backward("5:7").cells().tolist() == [[5, 5], [6, 6]]


def test_a_box_of_too_many_runs_is_refused_before_it_is_cut() -> None:
    """Everything to everything, stored flat: half of each of 2^30 rows is 2^30 runs of cells."""
    shape, flat = (1 << 30, 10), (10 << 30,)
    table = _core.Table(shape, flat, flat, flat)
    table.add(1, [(-1, 0, 0), (0, 1, 1)], [(0, 0), (0, 0)], [(flat[0] - 1, 0), (0, 0)])
    relation = wh.Relation(shape, flat, table)
    with pytest.raises(TooLarge, match="1073741824 separate boxes.*ask for fewer cells"):
        relation.backward(np.s_[:, :5])
    assert relation.backward(np.s_[:3, :5]).boxes.tolist() == [[[0, 4]], [[10, 14]], [[20, 24]]]
    assert relation.backward(np.s_[7:, :]).count == ((1 << 30) - 7) * 10
