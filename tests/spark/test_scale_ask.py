"""Questions that Spark answers: the same cells as this process finds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pytest

import whence as wh
from whence.errors import BadCells, BadType, Damaged, OutOfRange
from whence.relation.parts import Directory, PartedRelation, _parted, publish, write_part
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import sorted_unique

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KINDS: dict[str, Raw] = {
    "sort": ops.sort((600,)),
    "groups": ops.group_by((300, 2), 20),
    "window": ops.convolve_nd((20, 15), (3, 3)),
}


def parted(raw: Raw, path: Path, parts: int = 6) -> PartedRelation:
    place = Directory(path)
    place.make()
    pieces = np.array_split(sorted_unique(raw.tuples), parts)
    made = [write_part(place, wh.compress(each, raw.out_shape, raw.in_shape)) for each in pieces]
    return publish(path, raw.out_shape, raw.in_shape, made)


def framed(spark: SparkSession, rows: Any) -> DataFrame:
    rows = np.asarray(rows).reshape(len(rows), -1)
    return spark.createDataFrame(
        pa.table([np.ascontiguousarray(c) for c in rows.T], names=list("pqrs")[: rows.shape[1]])
    )


def selected(frame: DataFrame, shape: tuple[int, ...]) -> wh.Selection:
    rows = np.array([list(row) for row in frame.collect()], np.int64).reshape(-1, len(shape), 2)
    found = wh.Selection.from_boxes(rows, shape)
    sizes = np.prod(rows[:, :, 1] - rows[:, :, 0] + 1, axis=1)
    assert found.count == sizes.sum(), "boxes of an answer share no cell"
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_answer(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    raw = KINDS[kind]
    relation, whole = parted(raw, tmp_path / "r"), wh.compress(*raw)
    rng = np.random.default_rng(len(kind))
    cells = np.stack([rng.integers(0, side, 40) for side in raw.out_shape], axis=1)
    assert relation.backward(cells, engine="spark") == whole.backward(cells)
    asked = framed(spark, cells)
    assert asked.count() == 40
    found: Any = relation.backward(asked)
    assert selected(found, raw.in_shape) == whole.backward(cells)
    assert found.columns == [f"a{axis}_{end}" for axis in range(len(raw.in_shape)) for end in ("first", "last")]
    boxes = whole.backward(cells).boxes
    onward: Any = relation.forward(framed(spark, boxes))
    assert selected(onward, raw.out_shape) == whole.forward(whole.backward(cells))
    if kind == "sort":
        plain: Any = whole.backward(asked)  # a relation of one file takes frames too
        assert selected(plain, raw.in_shape) == whole.backward(cells)
        turned: Any = relation.inverse.forward(asked)
        assert selected(turned, raw.in_shape) == whole.backward(cells)
        nothing: Any = relation.backward(asked.limit(0))
        assert nothing.count() == 0


def test_chosen_by_size(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    relation = parted(KINDS["sort"], tmp_path / "r")
    assert spark.range(3).count() == 3
    assert relation.explain([3]).startswith("local: 1 of 6 parts (")
    assert relation.explain([3], engine="spark").endswith("engine='spark' was given")
    monkeypatch.setattr(_parted, "MANY", 0)
    assert relation.explain([3]).startswith("spark: 1 of 6 parts (")
    assert relation.backward([3]) == wh.compress(*KINDS["sort"]).backward([3])
    assert relation.backward([3], engine="local") == relation.backward([3])
    with pytest.raises(BadType, match="engine is one of"):
        relation.backward([3], engine="duckdb")


def test_a_relation_in_one_file_takes_the_same_arguments(spark: SparkSession, tmp_path: Path) -> None:
    """Whether a relation is in parts depends on its tuples: programs need not ask."""
    whole = wh.compress(*KINDS["sort"])
    assert whole.explain([3]) == whole.explain(framed(spark, [[3]])) == "local: the relation is not in parts"
    for engine in ("auto", "local", "spark"):
        assert whole.forward(whole.backward([3], engine=engine), engine=engine) == whole.forward(whole.backward([3]))
        with_path = whole.compose(whole, engine=engine, path=tmp_path / engine)
        assert wh.Relation.load(tmp_path / engine) == with_path == whole.compose(whole)
    unknown: dict[str, Any] = {"engine": "duckdb"}
    for ask, given in ((whole.backward, [3]), (whole.compose, whole), (whole.explain, [3])):
        with pytest.raises(BadType, match="engine is one of 'auto', 'local', 'spark', not 'duckdb'"):
            ask(given, **unknown)  # type: ignore[arg-type]  # any of three methods


def test_a_frame_may_be_answered_here(spark: SparkSession, tmp_path: Path) -> None:
    relation, asked = parted(KINDS["sort"], tmp_path / "r"), framed(spark, [[3], [400]])
    assert relation.touched(asked) == relation.touched([[3], [400]])
    assert relation.explain(asked).startswith("spark: 2 of 6 parts (")
    assert relation.explain(asked).endswith("; the question is a frame")
    assert relation.explain(asked, engine="local").endswith("; engine='local' was given")
    here: Any = relation.backward(asked, engine="local")
    for part in (tmp_path / "r").glob("*.part"):
        part.unlink()  # the answer is known: nothing reads the parts again
    expected = wh.compress(*KINDS["sort"]).backward([[3], [400]])
    assert selected(here, (600,)) == expected
    with pytest.raises(Damaged, match="is missing"):
        relation.backward(asked.where("p > 3"), engine="spark")


def test_frames_of_the_pandas_api(spark: SparkSession, tmp_path: Path) -> None:
    relation: Any = parted(KINDS["sort"], tmp_path / "r")
    found = relation.backward(framed(spark, [[3], [400]]).pandas_api())
    assert selected(found, (600,)) == wh.compress(*KINDS["sort"]).backward([[3], [400]])


def test_an_answer_without_axes(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has no box that Spark could unite: this process finds the one cell, however large the relation is."""
    assert spark.range(3).count() == 3
    raw = Raw(np.unique(np.random.default_rng(2).integers(0, 600, 300))[:, None], (600,), ())
    relation, whole = parted(raw, tmp_path / "r"), wh.compress(*raw)
    monkeypatch.setattr(_parted, "MANY", 0)
    assert relation.explain([3]).startswith("local: ")
    cell = raw.tuples[:1]
    for engine in ("auto", "spark"):
        assert relation.backward(cell, engine=engine) == whole.backward(cell)
        assert relation.forward([()], engine=engine) == whole.forward([()])


def test_bad_questions(spark: SparkSession, tmp_path: Path) -> None:
    relation: Any = parted(KINDS["sort"], tmp_path / "r")
    with pytest.raises(BadCells, match=r"3 columns \(a, b, c\), but cells have 1 .*boxes 2"):
        relation.backward(spark.createDataFrame([(1, 2, 3)], "a long, b long, c long"))
    with pytest.raises(BadCells, match="must be integers, got string"):
        relation.backward(spark.createDataFrame([("1",)], "a string"))
    with pytest.raises(BadCells, match="missing values"):
        relation.backward(spark.createDataFrame([(None,)], "a long"))
    with pytest.raises(OutOfRange, match=r"\(600,\) is outside shape \(600,\)"):
        relation.forward(spark.createDataFrame([(600,), (1,)], "a long"))
    with pytest.raises(BadCells, match=r"the box \(5, 4\) ends before it begins"):
        relation.forward(spark.createDataFrame([(5, 4), (1, 3)], "a long, b long"))


def test_a_question_in_a_frame_to_a_relation_without_a_part(spark: SparkSession, tmp_path: Path) -> None:
    """The frame of the answer is computed later, but the missing part is noticed now."""
    relation: Any = parted(KINDS["sort"], tmp_path / "r")
    asked = framed(spark, [[3], [400]])
    file = tmp_path / "r" / f"{relation.index.entries[relation.touched([400])[0]].name}.part"
    whole = file.read_bytes()
    file.write_bytes(whole[:-1])
    with pytest.raises(Damaged, match="part 4 of the relation has another size than its index says"):
        relation.backward(asked)
    file.unlink()
    with pytest.raises(Damaged, match=r"the part .* is missing from .*restore the file from a copy"):
        relation.backward(asked)
    found = relation.backward(framed(spark, [[3]]))
    assert selected(found, (600,)) == wh.compress(*KINDS["sort"]).backward([3])
