"""What is saved comes back: the same answers, the same bytes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.testing.conformance import answer
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation
from whence.testing.strategies import asked, chains, effort, relations


@given(st.data())
@effort(150)
def test_file_round_trip(data: st.DataObject) -> None:
    raw = data.draw(relations())
    relation, plain = wh.compress(*raw), RawRelation.from_rows(*raw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "relation"
        relation.save(path)
        assert path.read_bytes() == relation.to_bytes()
        again = wh.Relation.load(path)
        assert (again.out_shape, again.in_shape) == (raw.out_shape, raw.in_shape)
        assert len(again) == len(relation)
        assert again.count() == len(raw.tuples)
        assert np.array_equal(again.to_array(), raw.tuples)
        back, forth = data.draw(asked(raw.out_shape)), data.draw(asked(raw.in_shape))
        assert answer(again.backward(back.given)) == plain.backward(back.cells)
        assert answer(again.forward(forth.given)) == plain.forward(forth.cells)
        assert again == relation
        assert again.to_bytes() == relation.to_bytes()


@given(relations())
@effort(150)
def test_bytes_come_from_any_buffer(raw: Raw) -> None:
    stored = wh.compress(*raw).to_bytes()
    assert isinstance(stored, bytes)
    buffers: list[Any] = [stored, bytearray(stored), memoryview(stored)]
    for buffer in buffers:
        assert np.array_equal(wh.Relation.from_bytes(buffer).to_array(), raw.tuples)


@given(relations())
@effort(100)
def test_the_same_relation_gives_the_same_bytes(raw: Raw) -> None:
    assert wh.compress(*raw).to_bytes() == wh.compress(raw.tuples[::-1], raw.out_shape, raw.in_shape).to_bytes()


@given(chains(3))
@effort(60)
def test_what_was_loaded_composes(steps: list[Raw]) -> None:
    stored = [wh.Relation.from_bytes(wh.compress(*raw).to_bytes()) for raw in steps]
    joined, expected = stored[0], RawRelation.from_rows(*steps[0])
    for relation, raw in zip(stored[1:], steps[1:], strict=True):
        joined, expected = relation.compose(joined), RawRelation.from_rows(*raw).compose(expected)
    assert joined.to_array().tolist() == expected.to_array().tolist()
    assert wh.Relation.from_bytes(joined.to_bytes()) == joined
