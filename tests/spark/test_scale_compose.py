"""Composition on Spark: the same tuples as in this process, with any skew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whence as wh
from whence.errors import ShapeMismatch
from whence.relation.parts import Directory, PartedRelation, publish, write_part
from whence.spark.scale import composing
from whence.spark.scale.composing import Work, compose_parts, dealt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def parted(tuples: np.ndarray, out: int, into: int, path: Path, count: int = 4) -> PartedRelation:
    place = Directory(path)
    place.make()
    pieces = np.array_split(np.unique(tuples, axis=0), count)
    return publish(path, (out,), (into,), [write_part(place, wh.compress(each, out, into)) for each in pieces])


def test_the_same_tuples_also_where_one_cell_is_most(spark: SparkSession, tmp_path: Path) -> None:
    assert spark.range(2).count() == 2
    rng = np.random.default_rng(3)
    middle = np.where(rng.random(900) < 0.5, 17, rng.integers(0, 200, 900))  # half of all goes through one cell
    outer = parted(np.stack([rng.integers(0, 300, 900), middle], axis=1), 300, 200, tmp_path / "outer")
    inner = parted(np.stack([rng.permutation(middle), rng.integers(0, 400, 900)], axis=1), 200, 400, tmp_path / "inner")
    expected = wh.Relation.compose(outer, inner)
    found = compose_parts(outer, inner, tmp_path / "found", work=5000, partitions=3)
    assert isinstance(found, PartedRelation)
    found.verify()
    assert found == expected
    nowhere = parted(np.array([[5, 3]]), 200, 400, tmp_path / "nowhere")
    assert outer.compose(nowhere, engine="spark") == wh.Relation.compose(outer, nowhere)
    with pytest.raises(ShapeMismatch, match="cannot compose"):
        outer.compose(outer, engine="spark")


@pytest.mark.parametrize("turned", [False, True])
def test_a_cell_with_very_many_inputs_is_shared_by_its_inputs(
    spark: SparkSession, tmp_path: Path, turned: bool
) -> None:
    """One output cell from one middle cell from many inputs, and the same turned round."""
    assert spark.range(2).count() == 2
    many = np.random.default_rng(5).permutation(4000)[:3000]
    one = parted(np.array([[5, 3], [6, 4]]), 9, 7, tmp_path / "one")
    wide = parted(np.stack([np.where(many % 500 > 0, 3, 4), many], axis=1), 7, 4000, tmp_path / "wide")
    outer, inner = (wide.inverse, one.inverse) if turned else (one, wide)
    found = compose_parts(outer, inner, tmp_path / "found", work=500, partitions=2)
    found.verify()
    assert found == wh.Relation.compose(outer, inner)


REGULAR = {
    "flip": wh.compress(np.stack([np.arange(300), 299 - np.arange(300)], axis=1), 300, 300),
    "window": wh.compress([[i, i + d] for i in range(300) for d in (-1, 0, 1) if 0 <= i + d < 300], 300, 300),
    "whole": wh.Relation.whole(300, 300),
    "sum": wh.Relation.whole((), 300),
}


@pytest.mark.parametrize("name", REGULAR)
def test_with_a_relation_of_few_boxes_no_tuple_is_made(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert spark.range(2).count() == 2
    rng = np.random.default_rng(8)
    sort = parted(np.stack([np.arange(300), rng.permutation(300)], axis=1), 300, 300, tmp_path / "sort", 7)
    groups = parted(np.stack([rng.integers(0, 40, 300) * 7, np.arange(300)], axis=1), 300, 300, tmp_path / "groups", 7)
    monkeypatch.setattr(composing, "pairs", None)
    for number, each in enumerate((sort, sort.inverse, groups)):
        if name != "sum":
            after = compose_parts(each, REGULAR[name], tmp_path / f"after-{number}")
            after.verify()
            assert after == wh.Relation.compose(each.compose(wh.Relation.identity(300)), REGULAR[name])
        before = compose_parts(REGULAR[name], each, tmp_path / f"before-{number}")
        before.verify()
        assert before == REGULAR[name].compose(each)
    assert wh.Relation.load(tmp_path / "before-0") == REGULAR[name].compose(sort)


def test_work_is_dealt_by_what_was_counted() -> None:
    stretches = dealt([Work(number, 3, 3, 4) for number in range(10)] + [Work(10, 10, 10, 980)], 30)
    assert [stretch.first for stretch in stretches] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4]
    assert all((stretch.rows, stretch.columns) == (1, 1) for stretch in stretches[:-1])
    assert (stretches[-1].rows, stretches[-1].columns) == (6, 6)


def test_the_side_with_more_tuples_is_shared() -> None:
    (narrow,) = dealt([Work(0, 1, 1000, 1000)], 100)
    (broad,) = dealt([Work(0, 1000, 1, 1000)], 100)
    assert (narrow.rows, narrow.columns) == (1, 21)
    assert (broad.rows, broad.columns) == (21, 1)
