"""Tuples in Spark frames: the relation is the one that this process would make."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import BadCells, BadType, OutOfRange, Redefined, StoreError
from whence.relation.parts import PartedRelation, publish
from whence.spark.scale import compressing, dealing, frames
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import RawRelation
from whence.testing.strategies import relations, scrambled

pytest.importorskip("pyspark")
from pyspark.sql import DataFrame
from pyspark.sql.classic import dataframe as classic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def framed(spark: SparkSession, tuples: Any) -> DataFrame:
    tuples = np.asarray(tuples)
    names = [f"c{i}" for i in range(tuples.shape[1])]
    columns = [pa.array(np.ascontiguousarray(tuples[:, i]).astype(np.int64)) for i in range(tuples.shape[1])]
    return spark.createDataFrame(pa.table(columns, names=names))


@given(data=st.data())
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_equal_for_any_number_of_partitions(spark: SparkSession, data: st.DataObject) -> None:
    raw = data.draw(relations().filter(lambda raw: raw.tuples.shape[1] > 0))
    frame = framed(spark, data.draw(scrambled(raw.tuples)))
    few, partitions = data.draw(st.sampled_from([0, 64])), data.draw(st.integers(1, 5))
    place = compressing.Temporary()
    pairs = frames.numbered(frame, raw.out_shape, raw.in_shape)
    found = compressing.on_spark(pairs, raw.out_shape, raw.in_shape, place, partitions, few)
    expected = RawRelation.from_rows(*raw)
    if isinstance(found, list):
        found = publish(place.path, raw.out_shape, raw.in_shape, found)
        found.verify()
        cells = [tuple(data.draw(st.integers(0, side - 1)) for side in raw.out_shape) for _ in range(3)]
        if 0 not in raw.out_shape + raw.in_shape:
            inputs = found.backward(cells, engine="spark")
            assert set(inputs) == set(expected.backward(cells))
            assert set(found.forward(inputs, engine="spark")) == set(expected.forward(set(inputs)))
    assert found.to_array().tolist() == expected.to_array().tolist()
    assert found.count() == len(np.unique(raw.tuples, axis=0))


REGULAR: dict[str, Raw] = {
    "element-wise": ops.negative((60, 70)),
    "matrix product": ops.matmul_left((16, 20), 18),
    "reduction": ops.sum_over((60, 70), 1),
    "window": ops.convolve((900,), 5, "valid"),
    "flip": ops.flip((60, 70)),
    "reshape": ops.reshape((60, 70), (84, 50)),
}


@pytest.mark.parametrize("name", REGULAR)
def test_regular_lineage_is_a_few_boxes_for_the_whole(spark: SparkSession, name: str) -> None:
    raw = REGULAR[name]
    whole = wh.compress(*raw)
    frame = framed(spark, np.random.default_rng(1).permutation(raw.tuples))
    found = compressing.compress_frame(frame, raw.out_shape, raw.in_shape, engine="spark", partitions=4)
    assert type(found) is wh.Relation
    assert len(found) == len(whole)
    assert found == whole


def test_irregular_lineage_is_parts(spark: SparkSession, tmp_path: Path) -> None:
    raw = ops.sort((4000,))
    frame = framed(spark, raw.tuples)
    found = compressing.compress_frame(
        frame, raw.out_shape, raw.in_shape, engine="spark", partitions=4, path=tmp_path / "r"
    )
    assert isinstance(found, PartedRelation)
    assert len(found.index.entries) == 4
    opened = wh.Relation.load(tmp_path / "r")
    opened.verify()
    assert opened == wh.compress(*raw)
    assert sorted(path.suffix for path in (tmp_path / "r").iterdir()) == [""] + 4 * [".part"]
    assert len(opened.touched([17])) == 1  # type: ignore[attr-defined]  # it has parts
    with pytest.raises(Redefined, match="holds a relation already"):
        compressing.compress_frame(frame, 4000, 4000, engine="spark", path=tmp_path / "r")
    elsewhere = compressing.compress_frame(frame, 4000, 4000, engine="spark", partitions=2)
    assert isinstance(elsewhere, PartedRelation)
    folder = elsewhere.place.path  # type: ignore[attr-defined]  # it has parts
    assert folder.exists()
    assert elsewhere.backward([5]) == opened.backward([5])
    del elsewhere
    assert not folder.exists()


def test_a_task_with_several_stretches(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As before Spark 4.1, which deals rows by a hash: the parts are those of the stretches all the same."""
    for owner in (DataFrame, classic.DataFrame):
        monkeypatch.delattr(owner, "repartitionById", raising=False)
    monkeypatch.setattr(dealing, "RUN", 500)
    raw = ops.sort((4000,))
    found = compressing.compress_frame(
        framed(spark, raw.tuples), raw.out_shape, raw.in_shape, engine="spark", partitions=5, path=tmp_path / "r"
    )
    assert isinstance(found, PartedRelation)
    bounds = found.index.bounds()[:, 0]
    assert len(bounds) == 5
    assert (bounds[1:, 0] > bounds[:-1, 1]).all()
    assert found == wh.compress(*raw)


def test_batches_have_many_rows_and_the_session_keeps_its_settings(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit = "spark.sql.execution.arrow.maxBytesPerBatch"
    before = spark.conf.get(limit)
    assert before is not None
    monkeypatch.setattr(dealing, "BATCH", 1000)
    spark.conf.set(limit, "80")  # ten numbers
    try:

        def counts(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
            for batch in batches:
                yield pa.RecordBatch.from_pydict({"rows": [batch.num_rows]})

        found = dealing.in_batches(spark.range(0, 2500, 1, 1)).mapInArrow(counts, "rows long").collect()
        assert [row.rows for row in found] == [1000, 1000, 500]
        assert spark.conf.get(limit) == "80"
    finally:
        spark.conf.set(limit, before)


def test_tuples_of_one_cell_and_tuples_that_are_the_same(spark: SparkSession) -> None:
    rng = np.random.default_rng(6)
    tuples = np.stack(
        [np.where(rng.random(5000) < 0.99, 7, rng.integers(0, 90, 5000)), rng.integers(0, 10**9, 5000)], 1
    )
    found = compressing.compress_frame(framed(spark, tuples), 90, 10**9, engine="spark", partitions=4)
    assert found == wh.compress(tuples, 90, 10**9)
    assert isinstance(found, PartedRelation)
    assert max(entry.tuples for entry in found.index.entries) < 2 * 5000 / 4
    same = compressing.compress_frame(
        framed(spark, tuples[:1].repeat(5000, 0)), 90, 10**9, engine="spark", partitions=4
    )
    assert same.to_array().tolist() == tuples[:1].tolist()


def test_more_pairs_than_numbers(spark: SparkSession) -> None:
    side = 1 << 40
    tuples = np.array([[(i * 7919) % 1000, side - 1 - i] for i in range(300)])
    found = compressing.compress_frame(framed(spark, tuples), side, side, engine="spark", partitions=3)
    assert found.to_array().tolist() == sorted(tuples.tolist())


def test_small_frames_are_compressed_here(spark: SparkSession, tmp_path: Path) -> None:
    frame = framed(spark, ops.sort((50,)).tuples)
    assert type(wh.compress(frame, 50, 50)) is wh.Relation
    assert wh.compress(frame, 50, 50, path=tmp_path / "file") == wh.Relation.load(tmp_path / "file")
    assert wh.compress(frame.pandas_api(), 50, 50) == wh.compress(frame, 50, 50)


def test_bad_frames(spark: SparkSession, tmp_path: Path) -> None:
    for engine in ("auto", "spark"):
        with pytest.raises(BadCells, match=r"3 columns \(a, b, c\), but output and input have 2 axes together"):
            wh.compress(spark.createDataFrame([(1, 2, 3)], "a long, b long, c long"), 5, 5, engine=engine)
        with pytest.raises(BadCells, match=r"column 'b' must be integers, got double"):
            wh.compress(spark.createDataFrame([(1, 2.0)], "a long, b double"), 5, 5, engine=engine)
        with pytest.raises(BadCells, match=r"column 'b' has 1 missing values"):
            wh.compress(spark.createDataFrame([(1, None), (1, 2)], "a long, b long"), 5, 5, engine=engine)
        with pytest.raises(OutOfRange, match=r"input index \(-1,\) is outside shape \(5,\); indices count from 0"):
            wh.compress(spark.createDataFrame([(1, -1), (1, 2)], "a int, b long"), 5, 5, engine=engine)
        with pytest.raises(OutOfRange, match=r"output index \(5,\) is outside shape \(5,\)"):
            wh.compress(spark.createDataFrame([(5, 1), (1, 2)], "a long, b long"), 5, 5, engine=engine)
    with pytest.raises(BadType, match="a streaming DataFrame has no end"):
        wh.compress(spark.readStream.format("rate").load().selectExpr("value a", "value b"), 5, 5)
    good = spark.createDataFrame([(1, 1)], "a long, b long")
    with pytest.raises(BadType, match="path= is a directory .*, not a URL such as 's3://b/r': .* log with blobs="):
        wh.compress(good, 5, 5, path="s3://b/r")
    with pytest.raises(BadType, match="engine is one of"):
        wh.compress(good, 5, 5, engine="duckdb")
    with pytest.raises(BadType, match="for Spark frames"):
        wh.compress([[0, 0]], 5, 5, engine="spark")
    assert wh.compress(good.where("a > 3"), 5, 5, engine="spark").count() == 0


def test_a_place_that_cannot_be_written(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = framed(spark, ops.sort((4000,)).tuples)
    real = compressing.place_for

    def gone(*args: Any) -> Any:
        place = real(*args)
        os.rmdir(place.path)
        return place

    monkeypatch.setattr(compressing, "place_for", gone)
    with pytest.raises(StoreError, match="cannot write to"):
        wh.compress(frame, 4000, 4000, engine="spark", path=tmp_path / "r")
    assert not (tmp_path / "r").exists()


def test_another_job_finishes_first_in_the_same_directory(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It removes the parts that it does not know; the error says why they are gone, and its relation stays."""
    raw = ops.sort((4000,))
    real = compressing.require_seen

    def late(place: Any, files: Any) -> None:
        monkeypatch.setattr(compressing, "require_seen", real)
        turned = framed(spark, raw.tuples[:, ::-1])
        monkeypatch.setattr(compressing, "place_for", lambda *_: place)
        compressing.compress_frame(turned, 4000, 4000, engine="spark", path=place.path, partitions=3)
        real(place, files)

    monkeypatch.setattr(compressing, "require_seen", late)
    with pytest.raises(Redefined, match="holds a relation already"):
        compressing.compress_frame(framed(spark, raw.tuples), 4000, 4000, engine="spark", path=tmp_path / "r")
    assert wh.Relation.load(tmp_path / "r") == wh.compress(raw.tuples[:, ::-1], 4000, 4000)
