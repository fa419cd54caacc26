"""Questions that are rows of pandas, and frames of pandas API on Spark that are named as sources."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whence
from whence.errors import BadType, UnknownName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.pipeline import Pipeline
    from whence.spark.reached import Reached

COLUMNS = (
    "id",
    "if(id = 1, null, id) as n",
    "if(id = 2, double('nan'), if(id = 3, null, id / 2.0D)) as f",
    "if(id = 4, null, timestamp'2024-01-01' + make_interval(0, 0, 0, id)) as ts",
    "if(id = 0, null, date'2024-01-01') as d",
    "if(id = 3, null, concat('n', id)) as s",
    "id % 2 = 0 as b",
    "cast(id as int) as i",
    "cast(id as decimal(10, 2)) as dec",
    "array(id, id + 1) as arr",
    "named_struct('x', id, 'y', 's') as st",
    "map('a', id) as m",
)


@pytest.fixture(scope="module")
def things(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("things") / "things")
    spark.range(6).selectExpr(*COLUMNS).coalesce(1).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture
def pipeline(things: DataFrame, tmp_path: Path) -> Pipeline:
    return whence.open(tmp_path / "log").pipeline(things.filter("id < 5"), "small")


def ids(rows: DataFrame | Reached) -> list[int]:
    return sorted(row.id for row in rows.collect())


def test_each_row_of_a_pandas_frame_is_itself(pipeline: Pipeline) -> None:
    frame: Any = pipeline.run().toPandas()
    for place, number in enumerate(frame["id"]):
        assert ids(pipeline.backward(frame.iloc[[place]])["things"]) == [number]
        assert ids(pipeline.backward(frame.iloc[place])["things"]) == [number]
    assert ids(pipeline.backward(frame)["things"]) == [0, 1, 2, 3, 4]
    assert ids(pipeline.backward(frame.drop(columns=["arr", "st", "m"]).convert_dtypes())["things"]) == [0, 1, 2, 3, 4]
    assert ids(pipeline.backward(pd.concat([frame[["id", "f"]]] * 30))["things"]) == [0, 1, 2, 3, 4]


def test_pandas_does_not_say_whether_a_number_is_null_or_nan(pipeline: Pipeline) -> None:
    frame: Any = pipeline.run().toPandas()
    assert ids(pipeline.backward(frame[["f"]].iloc[[2]])["things"]) == [2, 3]
    assert ids(pipeline.backward({"f": float("nan")})["things"]) == [2]
    assert ids(pipeline.backward({"f": None})["things"]) == [3]
    assert ids(pipeline.backward(frame[["s"]].iloc[[3]])["things"]) == [3]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"n": float("nan")}, [1]),
        ({"n": pd.NA}, [1]),
        ({"ts": pd.NaT}, [4]),
        ({"ts": np.datetime64("2024-01-02", "ns")}, [1]),
        ({"ts": pd.Timestamp("2024-01-02", tz="UTC")}, [1]),
        ({"d": pd.NaT}, [0]),
        ({"i": np.int64(3), "b": np.bool_(False)}, [3]),
        ({"dec": np.float64(2)}, [2]),
        ({"s": np.str_("n4")}, [4]),
        ({"arr": np.array([1, 2])}, [1]),
    ],
)
def test_values_of_numpy_and_pandas_are_taken_as_pythons(
    pipeline: Pipeline, asked: dict[str, object], found: list[int]
) -> None:
    assert ids(pipeline.backward(asked)["things"]) == found


def test_forward_from_rows_of_pandas(pipeline: Pipeline, things: DataFrame) -> None:
    frame: Any = things.toPandas()
    assert ids(pipeline.forward("things", frame.iloc[[0, 2]])) == [0, 2]
    assert ids(pipeline.forward("things", frame.iloc[3])) == [3]
    assert ids(pipeline.forward("things", frame.iloc[[5]])) == []


def test_times_without_a_zone_are_the_sessions(spark: SparkSession, pipeline: Pipeline) -> None:
    before = str(spark.conf.get("spark.sql.session.timeZone"))
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        frame: Any = pipeline.run().toPandas()
        assert ids(pipeline.backward(frame[["ts"]].iloc[[1]])["things"]) == [1]
    finally:
        spark.conf.set("spark.sql.session.timeZone", before)


def test_frames_that_are_no_question(pipeline: Pipeline) -> None:
    with pytest.raises(BadType, match="no rows"):
        pipeline.backward(pd.DataFrame({"id": []}))
    with pytest.raises(UnknownName, match="zz"):
        pipeline.backward(pd.DataFrame({"zz": [1]}))
    with pytest.raises(BadType, match="named by a string"):
        pipeline.backward(pd.Series([1, 2]))


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("files")
    rows = spark.range(6).selectExpr("id", "id % 3 as k").coalesce(1)
    rows.write.parquet(str(path / "parquet"))
    rows.write.option("header", True).csv(str(path / "csv"))
    rows.write.mode("overwrite").saveAsTable("numbers_of_pandas")
    return path


@pytest.mark.parametrize("index", ["distributed-sequence", "sequence", "distributed"])
@pytest.mark.parametrize("kind", ["parquet", "csv", "table"])
@pytest.mark.filterwarnings("ignore::pyspark.pandas.utils.PandasAPIOnSparkAdviceWarning")
def test_frames_of_pandas_on_spark_are_named(files: Path, tmp_path: Path, kind: str, index: str) -> None:
    import pyspark.pandas as ps

    with ps.option_context("compute.default_index_type", index):
        read: Any = {"parquet": ps.read_parquet, "csv": ps.read_csv}.get(kind)
        numbers = ps.read_table("numbers_of_pandas") if read is None else read(str(files / kind))
        some = numbers[numbers["k"] == 1]
        log = whence.open(tmp_path / "log")
        for named in (numbers, numbers["k"]):
            pipeline = log.pipeline(some, sources={"orders": named})
            assert pipeline.sources == ("orders",)
            row = sorted(pipeline.run().collect())[0]
            assert [tuple(each) for each in pipeline.backward(row)["orders"].collect()] == [(1, 1)]
        assert log.pipeline(numbers["k"] + 1, sources={"orders": numbers}).sources == ("orders",)
        with pytest.raises(BadType, match="computed"):
            log.pipeline(some, sources={"orders": some})
