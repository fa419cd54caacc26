"""Cell questions as users ask them: joins by side, CASE, windows beside and upon windows, pivots, pandas' rolling."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyspark.sql import Window
from pyspark.sql import functions as F

from whence.errors import BadType, NoSuchRow, UnknownName
from whence.spark.cell_lineage import CellLineage, ReachedCells
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

READINGS = [(day, place, 10 * day if place == "a" else day, day % 3) for place in "ab" for day in range(1, 7)]
SCHEMA = "day int, place string, level int, kind int"


@pytest.fixture
def readings(spark: SparkSession, tmp_path: Path) -> DataFrame:
    """Twelve rows: six days of place a, then six of place b; the level is ten times the day, or the day."""
    spark.createDataFrame(READINGS, SCHEMA).coalesce(1).write.parquet(str(tmp_path / "readings"))
    return spark.read.parquet(str(tmp_path / "readings"))


def held(lineage: Any, source: str = "readings") -> dict[str, list[int]]:
    """The rows of each column that is in an answer."""
    cells = lineage.cells(source).cells().tolist()
    names = SCHEMA.replace(",", "").split()[::2] if source == "readings" else ["place", "name", "high"]
    found: dict[str, list[int]] = {}
    for row, column in cells:
        found.setdefault(names[column], []).append(row)
    assert list(found) == lineage.columns(source) or sorted(found) == sorted(lineage.columns(source))
    return found


def both(df: DataFrame) -> list[Pipeline]:
    """The pipeline before a run, after one, and in eager mode."""
    asked, ran, eager = Pipeline(df), Pipeline(df), Pipeline(df, mode="eager")
    ran.run()
    eager.run()
    return [asked, ran, eager]


def test_a_sum_by_group(readings: DataFrame) -> None:
    totals = readings.where("day > 3").groupBy("place").agg(F.sum("level").alias("total"), F.max("kind").alias("most"))
    for p in both(totals):
        value = p.backward({"place": "a"}, columns=["total"], lineage="value")
        assert held(value) == {"level": [3, 4, 5]}
        assert isinstance(value, CellLineage)
        assert value.precise
        assert sorted(row.level for row in value["readings"].collect()) == [40, 50, 60]
        assert value.identities("readings").column("_row").to_pylist() == [3, 4, 5]
        assert sorted(value.pandas("readings")["day"]) == [4, 5, 6]
        both_kinds = p.backward({"place": "a"}, columns=["total"])
        assert held(both_kinds) == {"day": [3, 4, 5], "place": [3, 4, 5], "level": [3, 4, 5]}
        assert held(p.backward({"place": "a"}, columns=["most"], lineage="value")) == {"kind": [4]}
        assert held(p.backward({"place": "a"}, lineage="value"))["place"] == [3, 4, 5]


def test_a_row_question_is_as_it_was_and_can_be_asked_for_its_cells(readings: DataFrame) -> None:
    p = Pipeline(readings.groupBy("place").agg(F.max("level").alias("most")))
    lineage = p.backward({"place": "a"})
    assert not isinstance(lineage, CellLineage)
    assert [row.day for row in lineage["readings"].collect()] == [6]
    assert held(lineage) == {"place": [0, 1, 2, 3, 4, 5], "level": [5]}


def test_windows_beside_one_another_do_not_drag_rows_in(readings: DataFrame) -> None:
    """Three readings averaged are three readings, whatever stands beside them."""
    by_day = Window.partitionBy("place").orderBy("day")
    df = readings.select(
        "day",
        "place",
        F.avg("level").over(by_day.rowsBetween(-2, 0)).alias("mean"),
        F.sum("level").over(Window.partitionBy("place")).alias("all"),
        F.row_number().over(by_day).alias("number"),
        F.lag("level", 2).over(by_day).alias("before"),
    )
    for p in both(df):
        row = {"place": "a", "day": 5}
        assert held(p.backward(row, columns=["mean"], lineage="value")) == {"level": [2, 3, 4]}
        assert held(p.backward(row, columns=["all"], lineage="value")) == {"level": [0, 1, 2, 3, 4, 5]}
        assert held(p.backward(row, columns=["before"], lineage="value")) == {"level": [2]}
        assert held(p.backward(row, columns=["number"], lineage="value")) == {}
        assert len(p.backward(row, columns=["mean"], lineage="value")["readings"].collect()) == 3
        placed = {"day": [2, 3, 4], "place": [2, 3, 4], "level": [2, 3, 4]}
        assert held(p.backward(row, columns=["mean"])) == placed
        assert set(held(p.backward(row, columns=["number"]))) == {"day", "place"}
        assert len(p.backward(row)["readings"].collect()) == 6  # of the row: by operator, as before


def test_a_filter_of_a_window_function(readings: DataFrame) -> None:
    """Kind 0 is of the days 3 and 6: the levels of other days are in no sum, and what they are decides nothing."""
    df = readings.selectExpr(
        "place",
        "day",
        "sum(level) filter (where kind = 0) over (partition by place order by day) as s",
        "count(*) filter (where kind = 0) over (partition by place order by day) as n",
    )
    for p in both(df):
        row = {"place": "a", "day": 5}
        assert held(p.backward(row, columns=["s"], lineage="value")) == {"level": [2]}
        assert held(p.backward(row, columns=["n"], lineage="value")) == {name: [2] for name in SCHEMA.split()[::2]}
        assert held(p.backward(row, columns=["s"])) == {
            "day": [0, 1, 2, 3, 4], "place": [0, 1, 2, 3, 4], "level": [2], "kind": [2],
        }  # fmt: skip
        reached = p.forward("readings", {"place": "a", "day": 3}, columns=["level"], lineage="value")
        assert sorted(each.day for each in reached.collect()) == [3, 4, 5, 6]
        assert p.forward("readings", {"place": "a", "day": 4}, columns=["level"], lineage="value").count() == 0


def test_windows_upon_windows(readings: DataFrame) -> None:
    by_day = Window.partitionBy("place").orderBy("day")
    mean = readings.withColumn("mean", F.avg("level").over(by_day.rowsBetween(-1, 0)))
    df = mean.withColumn("change", F.col("mean") - F.lag("mean").over(by_day)).select("place", "day", "change")
    p = Pipeline(df)
    assert held(p.backward({"place": "a", "day": 5}, columns=["change"], lineage="value")) == {"level": [2, 3, 4]}


@pytest.mark.filterwarnings("ignore::pyspark.pandas.utils.PandasAPIOnSparkAdviceWarning")
def test_rolling_diff_and_shift_as_pandas_has_them(readings: DataFrame) -> None:
    """`rolling` numbers and counts rows before it averages them: neither adds a cell to the value."""
    frame: Any = readings.where("place = 'a'").select("day", "level").pandas_api(index_col="day").sort_index()
    frame["mean"] = frame["level"].rolling(3).mean()
    frame["change"] = frame["level"].diff()
    frame["before"] = frame["level"].shift(1)
    expected: pd.DataFrame = frame.to_pandas()
    p = Pipeline(frame.to_spark(index_col="day"))
    assert expected.loc[5, "mean"] == 40.0
    assert held(p.backward({"day": 5}, columns=["mean"], lineage="value")) == {"level": [2, 3, 4]}
    assert held(p.backward({"day": 5}, columns=["change"], lineage="value")) == {"level": [3, 4]}
    assert held(p.backward({"day": 5}, columns=["before"], lineage="value")) == {"level": [3]}
    assert held(p.backward({"day": 1}, columns=["mean"], lineage="value")) in ({}, {"level": [0]})
    assert len(p.backward({"day": 5}, columns=["mean"], lineage="value")["readings"].collect()) == 3


@pytest.mark.filterwarnings("ignore::pyspark.pandas.utils.PandasAPIOnSparkAdviceWarning")
@pytest.mark.filterwarnings("ignore:.*fillna with .method.:FutureWarning")  # pyspark calls it for `ffill`
def test_a_filled_cell_comes_from_the_one_that_filled_it(readings: DataFrame) -> None:
    known = readings.withColumn("level", F.expr("if(kind = 1 or (place = 'b' and day < 4), null, level)"))
    frame = known.pandas_api()  # in place a, days 1 and 4 are missing; in place b, days 1 to 4
    level = frame["level"].astype(float)
    made = {
        "after": frame.groupby("place")["level"].ffill(),
        "before": frame["level"].bfill(),
        "between": level.interpolate(),
        "moved": frame["level"].shift(2),
    }
    for name, column in made.items():
        frame[name] = column
    wanted = {
        ("a", 4): {"after": [2], "between": [2, 4], "moved": [1]},
        ("b", 2): {"after": [], "before": [10], "between": [5, 10]},
    }
    p = Pipeline(frame.to_spark())
    for (place, day), columns in wanted.items():
        for column, rows in columns.items():
            found = p.backward({"place": place, "day": day}, columns=[column], lineage="value")
            assert (place, day, column, held(found).get("level", [])) == (place, day, column, rows)
            assert found.precise
    reached = p.forward("readings", {"place": "b", "day": 5}, columns=["level"], lineage="value")
    assert {row.day for row in reached.collect() if row.place == "b"} == {1, 2, 3, 4, 5}
    frame["later"] = frame["level"].shift(1)  # in the order that the joins of the new columns left
    found = Pipeline(frame.to_spark()).backward({"place": "a", "day": 4}, columns=["later"], lineage="value")
    assert not found.precise
    assert "has another value in each run" in (found.reason or "")


def test_a_row_that_lag_finds_beyond_nulls(readings: DataFrame) -> None:
    known = readings.withColumn("known", F.expr("if(kind = 0, level, null)"))
    days = known.selectExpr(
        "place", "day", "lag(known, 1, -1) ignore nulls over (partition by place order by day) as last"
    )
    for p in both(days):
        for day, rows in ((3, [3]), (6, [3, 6])):
            found = p.backward({"place": "a", "day": day})
            assert sorted(row.day for row in found["readings"].collect()) == rows
            assert found.precise


def test_a_pivot_shows_its_own_values_rows(readings: DataFrame) -> None:
    """Kind 2 is not in the list: its rows contribute nothing to any column."""
    df = readings.groupBy("place").pivot("kind", [0, 1]).agg(F.sum("level"))
    for p in both(df):
        assert held(p.backward({"place": "b"}, columns=["1"], lineage="value")) == {"level": [6, 9]}
        assert held(p.backward({"place": "b"}, columns=["0"], lineage="value")) == {"level": [8, 11]}
        keys = held(p.backward({"place": "b"}, columns=["1"]))
        assert keys == {"place": [6, 8, 9, 11], "level": [6, 9], "kind": keys["kind"]}
        assert set(keys["kind"]) <= {6, 8, 9, 11}


def test_of_case_the_branch_that_was_taken(readings: DataFrame) -> None:
    case = F.when(F.col("kind") == 0, F.col("level")).when(F.col("kind") == 1, F.col("day")).otherwise(F.lit(-1))
    p = Pipeline(readings.select("place", "day", case.alias("out")))
    value = [p.backward({"place": "a", "day": day}, columns=["out"], lineage="value") for day in (3, 4, 5)]
    assert list(map(held, value)) == [{"level": [2]}, {"day": [3]}, {}]
    assert held(p.backward({"place": "a", "day": 4}, columns=["out"])) == {"day": [3], "kind": [3]}
    assert value[2]["readings"].collect() == []


def test_joins_by_side(readings: DataFrame, spark: SparkSession, tmp_path: Path) -> None:
    places = [("a", "Oslo", 25), ("b", None, 3), ("c", "Bergen", 0)]
    spark.createDataFrame(places, "place string, name string, high int").coalesce(1).write.parquet(
        str(tmp_path / "places")
    )
    named = readings.join(spark.read.parquet(str(tmp_path / "places")), "place", "left")
    df = named.select("day", "place", "level", "name", (F.col("level") > F.col("high")).alias("high"))
    for p in both(df):
        row = {"place": "a", "day": 2}
        name = p.backward(row, columns=["name"], lineage="value")
        assert held(name, "places") == {"name": [0]}
        assert held(name) == {}
        selected = p.backward(row, columns=["name"])
        assert held(selected, "places") == {"place": [0], "name": [0]}
        assert held(selected) == {"place": [1]}
        high = p.backward(row, columns=["high"], lineage="value")
        assert (held(high), held(high, "places")) == ({"level": [1]}, {"high": [0]})
        reached = p.forward("places", {"place": "a"}, columns=["name"], lineage="value")
        assert isinstance(reached, ReachedCells)
        assert reached.columns == ["name"]
        assert reached.count() == 6
        assert reached.cells().cells().tolist() == [[row, 3] for row in range(6)]
        keys = p.forward("places", {"place": "b"}, columns=["place"])
        assert keys.columns == ["day", "place", "level", "name", "high"]
        assert p.forward("places", {"place": "c"}, columns=["name"]).count() == 0


def test_forward_of_readings(readings: DataFrame) -> None:
    by_day = Window.partitionBy("place").orderBy("day")
    df = readings.select("place", "day", F.avg("level").over(by_day.rowsBetween(-1, 0)).alias("mean"), "kind")
    p = Pipeline(df)
    value = p.forward("readings", {"place": "a", "day": 2}, columns=["level"], lineage="value")
    assert sorted(row.day for row in value.collect()) == [2, 3]
    assert value.columns == ["mean"]
    row = p.forward("readings", {"place": "a", "day": 2}, lineage="value")
    assert row.columns == ["place", "day", "mean", "kind"]
    assert row.count() == 2


def test_a_function_of_the_users_that_stays_opaque_counts_as_reading_all_its_arguments(readings: DataFrame) -> None:
    either = F.udf(lambda level, kind: sum(divmod(level, 7)) + kind, "int")  # divmod is not translated
    p = Pipeline(readings.select("place", "day", either("level", "kind").alias("out")))
    answer = p.backward({"place": "a", "day": 3}, columns=["out"], lineage="value")
    assert held(answer) == {"level": [2], "kind": [2]}
    assert not answer.precise
    assert "all its arguments" in str(answer.reason)


def test_of_a_function_that_is_looked_into_the_branch_counts_that_was_taken(readings: DataFrame) -> None:
    either = F.udf(lambda level, place: level if place == "a" else 0, "int")
    p = Pipeline(readings.select("place", "day", either("level", "place").alias("out")))
    answer = p.backward({"place": "a", "day": 3}, columns=["out"], lineage="value")
    assert held(answer) == {"level": [2]}
    assert answer.precise
    other = p.backward({"place": "b", "day": 3}, columns=["out"], lineage="value")
    assert held(other) == {}
    assert other.precise


def test_a_function_of_groups_counts_as_reading_its_group(readings: DataFrame) -> None:
    def first(group: pd.DataFrame) -> pd.DataFrame:
        return group.head(1)[["place", "level"]]

    p = Pipeline(readings.groupBy("place").applyInPandas(first, "place string, level int"))
    answer = p.backward({"place": "b"}, columns=["level"], lineage="value")
    assert set(held(answer)) == {"day", "place", "level", "kind"}
    assert held(answer)["level"] == [6, 7, 8, 9, 10, 11]
    assert not answer.precise


def test_rows_of_several_files_and_rows_in_memory_are_numbered_one_after_the_other(
    readings: DataFrame, spark: SparkSession, tmp_path: Path
) -> None:
    readings.repartitionByRange(3, "day").sortWithinPartitions("day").write.parquet(str(tmp_path / "parts"))
    df = spark.read.parquet(str(tmp_path / "parts"))
    p = Pipeline(df.groupBy("place").agg(F.sum("level").alias("total")))
    cells = p.backward({"place": "a"}, columns=["total"], lineage="value").cells("parts")
    rows = df.collect()
    assert cells.shape == (12, 4)
    assert [rows[row].place for row, _ in cells.cells().tolist()] == ["a"] * 6
    memory = Pipeline(spark.createDataFrame(READINGS, SCHEMA).groupBy("place").agg(F.sum("level").alias("total")))
    (name,) = memory.sources
    found = memory.backward({"place": "b"}, columns=["total"], lineage="value").cells(name)
    assert found.cells().tolist() == [[row, 2] for row in range(6, 12)]


def test_bad_questions(readings: DataFrame) -> None:
    p = Pipeline(readings.groupBy("place").agg(F.sum("level").alias("total")))
    with pytest.raises(UnknownName, match="tota"):
        p.backward({"place": "a"}, columns=["tota"])
    with pytest.raises(BadType, match="list of names"):
        p.backward({"place": "a"}, columns="total")
    with pytest.raises(BadType, match="no columns"):
        p.backward({"place": "a"}, columns=[])
    with pytest.raises(BadType, match=r"value, value\+selection"):
        p.backward({"place": "a"}, lineage="values")
    with pytest.raises(BadType, match="witness"):
        p.backward({"place": "a"}, columns=["total"], witness="group")
    with pytest.raises(NoSuchRow):
        p.backward({"place": "z"}, columns=["total"])
    with pytest.raises(NoSuchRow):
        p.forward("readings", {"place": "z"}, columns=["level"])
    with pytest.raises(UnknownName, match="source"):
        p.forward("reading", {"place": "a"}, columns=["level"])
    with pytest.raises(UnknownName, match="readings"):
        p.forward("readings", {"place": "a"}, columns=["levels"])


def test_parts_of_an_expression_that_have_names(readings: DataFrame) -> None:
    """Catalyst writes `nullif` and BETWEEN with names for what they read twice."""
    df = readings.selectExpr(
        "place",
        "day",
        "nullif(level, kind) as out",
        "case when level between 1 and day then kind else 0 end as near",
    )
    p = Pipeline(df)
    row = {"place": "b", "day": 1}
    assert held(p.backward({"place": "a", "day": 2}, columns=["out"], lineage="value")) == {"level": [1]}
    assert held(p.backward(row, columns=["out"], lineage="value")) == {}
    assert held(p.backward(row, columns=["out"])) == {"level": [6], "kind": [6]}
    assert held(p.backward(row, columns=["near"], lineage="value")) == {"kind": [6]}
    assert held(p.backward({"place": "a", "day": 2}, columns=["near"])) == {"day": [1], "level": [1]}
