"""Compression keeps the set of tuples: whatever their order, their duplicates, the container they come in."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.testing.operations import Raw
from whence.testing.oracle import Ints
from whence.testing.strategies import effort, loose_tuples, relations, scrambled, shapes, swapped, unions


def same(relation: wh.Relation, raw: Raw) -> bool:
    return np.array_equal(relation.to_array(), raw.tuples) and relation.count() == len(raw.tuples)


@given(st.data())
@effort(400)
def test_order_duplicates_and_dtype_do_not_matter(data: st.DataObject) -> None:
    raw = data.draw(relations())
    rows = data.draw(scrambled(raw.tuples))
    given_rows = rows.copy()
    relation = wh.compress(rows, raw.out_shape, raw.in_shape)
    assert same(relation, raw)
    assert relation == wh.compress(*raw)
    assert np.array_equal(rows, given_rows), "the caller's array must not change"


@given(st.data())
@effort(200)
def test_noise_is_kept_exactly(data: st.DataObject) -> None:
    out_shape, in_shape = data.draw(shapes(max_cells=12)), data.draw(shapes(max_cells=12))
    rows = data.draw(loose_tuples(out_shape + in_shape, 60))
    relation = wh.compress(rows, out_shape, in_shape)
    assert set(map(tuple, relation.to_array().tolist())) == set(map(tuple, rows.tolist()))


@given(st.data())
@effort(150)
def test_equal_means_the_same_tuples(data: st.DataObject) -> None:
    out_shape, in_shape = data.draw(shapes(max_cells=6)), data.draw(shapes(max_cells=6))
    first, second = data.draw(unions(out_shape, in_shape)), data.draw(unions(out_shape, in_shape))
    expected = np.array_equal(first.tuples, second.tuples)
    assert (wh.compress(*first) == wh.compress(*second)) is expected
    assert (wh.compress(*first) != wh.compress(*second)) is not expected


@given(relations())
@effort(100)
def test_equal_needs_the_same_shapes(raw: Raw) -> None:
    relation = wh.compress(*raw)
    wider = wh.compress(raw.tuples, raw.out_shape, (*raw.in_shape[:-1], raw.in_shape[-1] + 1)) if raw.in_shape else None
    assert relation != wider
    assert relation != raw.tuples.tolist()


@given(relations())
@effort(100)
def test_one_table_serves_both_directions(raw: Raw) -> None:
    assert wh.compress(*raw).inverse == wh.compress(*swapped(raw))


def pieces(rows: Ints, cuts: list[int]) -> Iterator[Ints]:
    yield from np.split(rows, sorted(cuts))


@given(st.data())
@effort(200)
def test_chunks_give_the_same_relation(data: st.DataObject) -> None:
    raw = data.draw(relations())
    rows = raw.tuples if data.draw(st.booleans()) else data.draw(scrambled(raw.tuples)).astype(np.int64)
    cuts = data.draw(st.lists(st.integers(0, len(rows)), max_size=6))
    relation = wh.compress(pieces(rows, cuts), raw.out_shape, raw.in_shape)
    assert same(relation, raw)
    assert relation == wh.compress(*raw)


@given(st.data())
@effort(60)
def test_tables_and_files_give_the_same_relation(data: st.DataObject) -> None:
    raw = data.draw(relations().filter(lambda raw: raw.tuples.shape[1] > 0))
    rows = data.draw(scrambled(raw.tuples))
    names = [f"b{axis}" for axis in range(len(raw.out_shape))] + [f"a{axis}" for axis in range(len(raw.in_shape))]
    frame = pd.DataFrame({name: rows[:, column] for column, name in enumerate(names)})
    table = pa.table({name: pa.array(rows[:, column]) for column, name in enumerate(names)})
    assert same(wh.compress(frame, raw.out_shape, raw.in_shape), raw)
    assert same(wh.compress(table, raw.out_shape, raw.in_shape), raw)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tuples.parquet"
        pq.write_table(table, path)
        assert same(wh.compress(path, raw.out_shape, raw.in_shape), raw)
        assert same(wh.compress(str(path), raw.out_shape, raw.in_shape), raw)


@given(relations())
@effort(60)
def test_out_as_a_table(raw: Raw) -> None:
    relation = wh.compress(*raw)
    table, frame = relation.to_arrow(), relation.to_pandas()
    assert table.num_columns == frame.shape[1] == raw.tuples.shape[1]
    if raw.tuples.shape[1]:
        assert np.array_equal(np.stack([column.to_numpy() for column in table.columns], axis=1), raw.tuples)
        assert np.array_equal(frame.to_numpy(), raw.tuples)
