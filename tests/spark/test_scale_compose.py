"""Composition on Spark: the same tuples as in this process, with any skew."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

import whence as wh
from whence.errors import ShapeMismatch
from whence.relation.parts import Directory, PartedRelation, publish, write_part
from whence.spark.scale.composing import compose_parts, dealt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def parted(tuples: np.ndarray, out: int, into: int, path: Path) -> PartedRelation:
    place = Directory(path)
    place.make()
    pieces = np.array_split(np.unique(tuples, axis=0), 4)
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


def test_work_is_dealt_by_what_was_counted() -> None:
    stretches = dealt([(number, 10) for number in range(10)] + [(10, 1000)], 30)
    assert [stretch.first for stretch in stretches] == [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 4]
    assert stretches[-1].tasks == 34
    assert all(stretch.tasks == 1 for stretch in stretches[:-1])
