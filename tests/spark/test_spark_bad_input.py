"""What cannot be traced, or asked, is an error that names it and says what to do; nothing is guessed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from whence.errors import BadType, NoSuchRow, NotTraceable, SourceChanged, UnknownName
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CONNECT = """
from pyspark.sql import SparkSession
from whence.errors import NotTraceable
from whence.spark.pipeline import Pipeline
from whence.spark.sessions.local import prepare_environment
prepare_environment()
spark = SparkSession.builder.remote("local[1]").getOrCreate()
for df in (spark.range(3), spark.range(3).groupBy().count()):
    try:
        Pipeline(df)
    except NotTraceable as error:
        assert "Spark Connect" in str(error) and "use a classic session" in str(error)
    else:
        raise AssertionError("no error")
spark.stop()
"""


def test_a_connect_session() -> None:
    """A real one, in a process of its own: one process has either kind of session."""
    done = subprocess.run([sys.executable, "-c", CONNECT], capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_streams_in_any_place(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load()
    still = spark.range(5).withColumnRenamed("id", "value")
    for df in (stream.where("value > 1"), stream.join(still, "value"), still.union(stream.select("value"))):
        with pytest.raises(NotTraceable, match="streaming.*trace the batch"):
            Pipeline(df)


@pytest.mark.parametrize(
    ("sql", "named"),
    [
        ("show tables", "CommandResult|ShowTables|LocalRelation"),
        (
            "with recursive r(n) as (select 1 union all select n + 1 from r where n < 3) select * from r",
            "UnionLoop|CTE",
        ),
    ],
)
def test_operators_that_are_not_known(spark: SparkSession, sql: str, named: str) -> None:
    with pytest.raises(NotTraceable, match=named):
        Pipeline(spark.sql(sql))


@pytest.mark.parametrize("thing", [None, 3, "select 1", {"a": 1}, object])
def test_things_that_are_no_frame(spark: SparkSession, thing: Any) -> None:
    with pytest.raises(BadType, match="a pipeline is a PySpark DataFrame, not"):
        Pipeline(thing)


def test_wrong_names_and_sources_are_named(spark: SparkSession) -> None:
    df = spark.range(3)
    with pytest.raises(BadType, match="a name is a string, not int: 3"):
        Pipeline(df, name=3)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(BadType, match="is not a valid pipeline name"):
        Pipeline(df, name="a\nb")
    with pytest.raises(BadType, match=r"sources=\{'t': \.\.\.\} takes a PySpark DataFrame, not int"):
        Pipeline(df, sources={"t": 3})
    with pytest.raises(BadType, match="sources maps names to DataFrames, .* not DataFrame"):
        Pipeline(df, sources=df)  # type: ignore[arg-type]  # on purpose


def test_rows_that_the_output_cannot_have(spark: SparkSession) -> None:
    df = spark.sql("select id, cast(id as decimal(5,2)) d, date '2024-01-01' as day, id > 1 as big from range(3)")
    pipeline = Pipeline(df)
    with pytest.raises(UnknownName, match=r"day"):
        pipeline.backward({"days": 1})
    for column, value in (("id", "1"), ("id", 1.5), ("id", True), ("d", "x"), ("day", "tomorrow"), ("big", 1)):
        with pytest.raises(BadType, match=f"column '{column}' has the type"):
            pipeline.backward({column: value})
    with pytest.raises(NoSuchRow, match="no row of the output is {id: 7}"):
        pipeline.backward({"id": 7})
    with pytest.raises(NoSuchRow, match="and|or one of the 1 others"):
        pipeline.backward([{"id": 7}, {"id": 8}])


def test_an_output_without_rows(spark: SparkSession) -> None:
    with pytest.raises(NoSuchRow, match="no row of the output"):
        Pipeline(spark.range(3).where("id > 5")).backward({"id": 6})


def test_a_source_overwritten_with_as_many_rows(spark: SparkSession, tmp_path: Path) -> None:
    """The same number of rows, the same columns, other values: an answer would be wrong without a word."""
    path = str(tmp_path / "t.parquet")
    spark.range(4).write.parquet(path)
    pipeline = Pipeline(spark.read.parquet(path).where("id > 1"))
    assert pipeline.backward({"id": 2})["t"].count() == 1
    spark.range(10, 14).write.mode("overwrite").parquet(path)
    with pytest.raises(SourceChanged, match="'t' has changed.*run the pipeline again"):
        pipeline.backward({"id": 2})
