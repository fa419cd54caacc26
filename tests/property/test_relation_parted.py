"""A relation of many parts answers as the relation that it was cut from."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.relation.compress import Keys
from whence.relation.compress import choose as weigh
from whence.relation.layout import Layout
from whence.relation.parts import Directory, PartedRelation, publish, tasks, write_part
from whence.testing import operations as ops
from whence.testing.conformance import Example, RelationConformance
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation
from whence.testing.strategies import effort, relations


@pytest.fixture(scope="module", autouse=True)
def folder() -> Iterator[None]:
    with tempfile.TemporaryDirectory(prefix="whence-parts-") as name:
        FOLDER.append(name)
        yield
        FOLDER.clear()


FOLDER: list[str] = []


@st.composite
def parted(draw: st.DrawFn) -> Example:
    """A relation cut at random places of its sorted tuples, and opened again from its directory."""
    raw = draw(relations())
    cuts = sorted(draw(st.lists(st.integers(0, len(raw.tuples)), max_size=4)))
    return cut(raw, cuts), RawRelation.from_rows(*raw)


def cut(raw: Raw, cuts: list[int]) -> wh.Relation:
    path = Path(tempfile.mkdtemp(dir=FOLDER[0]))
    pieces = np.split(raw.tuples, cuts)
    written = [write_part(Directory(path), wh.compress(each, raw.out_shape, raw.in_shape)) for each in pieces]
    publish(path, raw.out_shape, raw.in_shape, written)
    opened = wh.Relation.load(path)
    assert isinstance(opened, PartedRelation)
    return opened


class TestParted(RelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return parted()


class TestTurned(RelationConformance):
    def examples(self) -> st.SearchStrategy[Example]:
        return parted().map(lambda example: (example[0].inverse, example[1].inverse))


@given(parted())
@effort(60)
def test_counts_expands_composes_and_verifies(example: Example) -> None:
    relation, raw = example
    relation.verify()
    assert relation.count() == raw.count()
    assert relation.to_array().tolist() == raw.to_array().tolist()
    assert relation.inverse.to_array().tolist() == raw.inverse.to_array().tolist()
    joined = relation.compose(relation.inverse)
    assert joined.to_array().tolist() == raw.compose(raw.inverse).to_array().tolist()
    assert relation == wh.compress(raw.to_array(), raw.out_shape, raw.in_shape)
    again = wh.Relation.from_bytes(relation.to_bytes())
    assert again.to_array().tolist() == raw.to_array().tolist()


@given(parted())
@effort(30)
def test_saved_turned_and_loaded(example: Example) -> None:
    relation, raw = example
    path = Path(tempfile.mkdtemp(dir=FOLDER[0])) / "turned"
    relation.inverse.save(path)
    assert wh.Relation.load(path).to_array().tolist() == raw.inverse.to_array().tolist()


@given(relations(), st.data())
@effort(60)
def test_tasks_make_the_same_relation(raw: Raw, data: st.DataObject) -> None:
    """Any number of tasks, in any order, empty ones among them, whether parts are small or written."""
    cells = [np.prod(shape, dtype=np.int64) for shape in (raw.out_shape, raw.in_shape)]
    outs = len(raw.out_shape)
    flat = [
        np.ravel_multi_index(tuple(side.T), shape) if shape and 0 not in shape else np.zeros(len(side), np.int64)
        for side, shape in ((raw.tuples[:, :outs], raw.out_shape), (raw.tuples[:, outs:], raw.in_shape))
    ]
    assert all(len(side) == 0 or side.max() < size for side, size in zip(flat, cells, strict=True))
    order = np.lexsort((flat[1], flat[0]))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(order)), max_size=5)))
    place = Directory(tempfile.mkdtemp(dir=FOLDER[0]))
    few, wide = data.draw(st.sampled_from([0, 2, 64])), data.draw(st.booleans())
    done = []
    with pytest.MonkeyPatch.context() as patch:
        if wide and outs + len(raw.in_shape):
            patch.setattr(tasks, "fits_key", lambda *_: False)
        for which in np.split(order, cuts):
            twice = np.concatenate([which, which[:2]]) if not wide else which
            batches = [(flat[0][part], flat[1][part]) for part in np.array_split(twice, 2)]
            done += list(tasks.parts_of(batches, raw.out_shape, raw.in_shape, place, ordered=True, few=few))
    found = tasks.finished(reversed(done), raw.out_shape, raw.in_shape, place)
    if isinstance(found, list):
        found = publish(place.path, raw.out_shape, raw.in_shape, found)
        found.verify()
    assert found.to_array().tolist() == RawRelation.from_rows(*raw).to_array().tolist()


SMALL_PIECES = {
    "element-wise": (ops.negative((11, 6)), [14, 20, 20, 23, 35, 36, 43, 45, 48]),
    "flip": (ops.flip((20, 7)), [5, 26, 29, 35, 43, 67, 71, 74, 85]),
    "window": (ops.convolve((24 * 10,), 5, "same"), [1, 2, 10, 10, 13, 20, 212, 265, 441]),
    "matrix product": (ops.matmul_left((6, 7), 5), [1, 2, 3, 50, 51, 99, 140]),
    "reduction": (ops.sum_over((9, 8), 1), [3, 4, 11, 30, 64]),
}


@pytest.mark.parametrize("name", SMALL_PIECES)
def test_small_pieces_of_regular_lineage_end_as_the_boxes_of_one_process(name: str) -> None:
    raw, cuts = SMALL_PIECES[name]
    place = Directory(tempfile.mkdtemp(dir=FOLDER[0]))
    outs = len(raw.out_shape)
    sorted_tuples = np.unique(raw.tuples, axis=0)
    numbers = [
        np.ravel_multi_index(tuple(side.T), shape)
        for side, shape in ((sorted_tuples[:, :outs], raw.out_shape), (sorted_tuples[:, outs:], raw.in_shape))
    ]
    done: list[tasks.PartReport] = []
    for out, into in zip(*(np.split(side, cuts) for side in numbers), strict=True):
        done += tasks.parts_of([(out, into)], raw.out_shape, raw.in_shape, place)
    found = tasks.finished(done, raw.out_shape, raw.in_shape, place)
    assert isinstance(found, wh.Relation)
    assert found == wh.compress(*raw)
    assert len(found) == len(wh.compress(*raw))


@pytest.mark.parametrize(("borders", "chosen"), [([], 2), ([700], 2), ([400, 1000, 1500], 4)])
def test_irregular_ranges_share_a_layout_while_their_sketches_agree(
    monkeypatch: pytest.MonkeyPatch, borders: list[int], chosen: int
) -> None:
    weighed: list[int] = []

    def choose(keys: Keys, *shapes: tuple[int, ...]) -> Layout:
        weighed.append(len(keys))
        return weigh(keys, *shapes)

    def sketch(keys: Keys, out_shape: tuple[int, ...], in_shape: tuple[int, ...]) -> Layout:
        return Layout(out_shape, in_shape, (0, 1) if np.searchsorted(borders, keys[0] // 2000) % 2 else (1, 0))

    monkeypatch.setattr(tasks, "PART", 100)
    monkeypatch.setattr(tasks, "ALIKE", 8)
    monkeypatch.setattr(tasks, "choose", choose)
    monkeypatch.setattr(tasks, "sketch", sketch)
    monkeypatch.setattr(tasks, "_layouts", {})
    rows, order = np.arange(2000), np.random.default_rng(3).permutation(2000)
    place = Directory(tempfile.mkdtemp(dir=FOLDER[0]))
    done = list(tasks.parts_of([(rows, order)], (2000,), (2000,), place, few=0))
    entries = tasks.finished(done, (2000,), (2000,), place)
    assert isinstance(entries, list)
    assert len(entries) == 10
    assert len(weighed) == chosen  # of ten ranges; eight may share one
    found = publish(place.path, (2000,), (2000,), entries)
    found.verify()
    assert found == wh.compress(np.stack([rows, order], axis=1), 2000, 2000)
