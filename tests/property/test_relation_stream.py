"""Chunks of tuples, larger than memory if they like: any order, any overlap, the same relation."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.errors import TooLarge
from whence.relation import stream
from whence.testing import operations as ops
from whence.testing.conformance import answer
from whence.testing.operations import Raw
from whence.testing.oracle import Ints, RawRelation
from whence.testing.strategies import asked, effort, relations


@st.composite
def chunked(draw: st.DrawFn, tuples: Ints) -> list[Ints]:
    """Tuples cut into chunks: in order, chunks swapped, chunks that overlap, empty ones, or all mixed up."""
    cuts = sorted(draw(st.lists(st.integers(0, len(tuples)), max_size=5)))
    bounds = [0, *cuts, len(tuples)]
    chunks = [tuples[a:b] for a, b in itertools.pairwise(bounds)]
    kind = draw(st.sampled_from(["sorted", "swapped", "overlapping", "late disorder", "mixed"]))
    rng = np.random.default_rng(draw(st.integers(0, 100)))
    if kind == "swapped":
        chunks = [chunks[i] for i in rng.permutation(len(chunks))]
    elif kind == "overlapping":
        chunks = [tuples[max(a - 3, 0) : b + 2] for a, b in itertools.pairwise(bounds)]
    elif kind == "late disorder":
        chunks = [*chunks, rng.permutation(tuples[: len(tuples) // 2 + 1]), tuples[:2]]
    elif kind == "mixed":
        chunks = np.array_split(rng.permutation(tuples), len(chunks))
    return chunks


def check(relation: wh.Relation, raw: Raw) -> None:
    assert relation.count() == len(raw.tuples)
    assert np.array_equal(relation.to_array(), raw.tuples)
    assert wh.Relation.from_bytes(relation.to_bytes()) == relation


@given(st.data())
@effort(300)
def test_chunks_of_any_order_and_overlap(data: st.DataObject) -> None:
    raw = data.draw(relations())
    check(wh.compress(iter(data.draw(chunked(raw.tuples))), raw.out_shape, raw.in_shape), raw)


@given(st.data())
@effort(300)
def test_chunks_that_go_through_the_disk(data: st.DataObject) -> None:
    """With room for a handful of tuples only, every run is written, merged, and its rows encoded as they come."""
    raw = data.draw(relations())
    chunks = data.draw(chunked(raw.tuples))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stream, "RUN", data.draw(st.sampled_from([1, 7, 20])))
        patch.setattr(stream, "SPILL", data.draw(st.sampled_from([1, 5])))
        relation = wh.compress(iter(chunks), raw.out_shape, raw.in_shape)
        check(relation, raw)
    plain = RawRelation.from_rows(*raw)
    question = data.draw(asked(raw.out_shape))
    assert answer(relation.backward(question.given)) == plain.backward(question.cells)
    question = data.draw(asked(raw.in_shape))
    assert answer(relation.forward(question.given)) == plain.forward(question.cells)


def test_chunks_of_every_kind_together() -> None:
    raw = ops.convolve((40,), 3)
    parts = np.array_split(raw.tuples, 4)
    frame = pd.DataFrame({"b": parts[1][:, 0], "a": parts[1][:, 1]})
    table = pa.table({"b": parts[2][:, 0], "a": parts[2][:, 1]})
    mixed = iter([parts[0], frame, table, parts[3].astype(np.int32)])
    check(wh.compress(mixed, raw.out_shape, raw.in_shape), raw)


def test_a_generator_is_read_once_and_in_order() -> None:
    raw = ops.flip((50,))
    read = []

    def chunks() -> Iterator[Ints]:
        for number, chunk in enumerate(np.array_split(raw.tuples, 5)):
            read.append(number)
            yield chunk

    check(wh.compress(chunks(), raw.out_shape, raw.in_shape), raw)
    assert read == [0, 1, 2, 3, 4]


def test_an_error_in_the_callers_generator_comes_through() -> None:
    def chunks() -> Iterator[Ints]:
        yield np.array([[0, 0]])
        raise RuntimeError("the source broke")

    with pytest.raises(RuntimeError, match="the source broke"):
        wh.compress(chunks(), (3,), (3,))


def test_one_chunk_reused_by_its_producer() -> None:
    """A producer may fill one buffer again and again."""
    raw = ops.sort((60,))
    buffer = np.empty((10, 2), np.int64)

    def chunks() -> Iterator[Ints]:
        for start in range(0, 60, 10):
            buffer[:] = raw.tuples[start : start + 10]
            yield buffer

    check(wh.compress(chunks(), raw.out_shape, raw.in_shape), raw)


WIDE = 1 << 40
"""Two arrays of one axis so long have 2^80 possible tuples: too many to number them with 63 bits."""


@pytest.mark.parametrize("late", [False, True], ids=["unsorted", "sorted at first"])
def test_a_chunk_reused_between_arrays_too_large_to_number_tuples(late: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "DECIDE", 10)
    rng = np.random.default_rng(0)
    tuples = rng.integers(0, WIDE, (60, 2))
    if late:
        tuples[:40] = tuples[np.lexsort(tuples[:40].T[::-1])]
    buffer = np.empty((10, 2), np.int64)

    def chunks() -> Iterator[Ints]:
        for start in range(0, 60, 10):
            buffer[:] = tuples[start : start + 10]
            yield buffer

    check(wh.compress(chunks(), (WIDE,), (WIDE,)), Raw(np.unique(tuples, axis=0), (WIDE,), (WIDE,)))


def test_more_unsorted_tuples_than_memory_sorts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream, "DECIDE", 10)
    monkeypatch.setattr(stream, "EXPAND_LIMIT", 100)
    rng = np.random.default_rng(0)
    with pytest.raises(TooLarge, match="60 unsorted tuples.*in sorted order"):
        wh.compress((rng.integers(0, WIDE, (20, 2)) for _ in range(9)), (WIDE,), (WIDE,))
    ordered = np.unique(rng.integers(0, WIDE, (180, 2)), axis=0)
    relation = wh.compress(iter(np.array_split(ordered, 9)), (WIDE,), (WIDE,))
    assert np.array_equal(relation.to_array(), ordered)
