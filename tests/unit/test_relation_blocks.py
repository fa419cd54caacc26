"""Blocks of a stored relation: every code comes back, and questions read only the blocks they need."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import whence as wh
from whence.relation import columns
from whence.relation.blocks import PCO, RICE, RICE_OF_STEPS, pack, unpack
from whence.testing import operations as ops

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
