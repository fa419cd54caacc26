"""Questions across levels: from arrays through hand-overs and runs of pipelines to the rows and cells of files."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import whence as wh
from whence.cli._group import whence
from whence.errors import BadType, NoSuchRow, SourceChanged, UnknownName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.pipeline import Pipeline

CITIES = ["Oslo", "Bergen", "Oslo", "Tromsø", "Bergen", "Oslo"]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "project.whence") as made:
        yield made


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    customers = {"id": range(6), "city": CITIES, "age": [31.0, 25.5, 44.0, 19.25, 63.0, 50.5]}
    pd.DataFrame(customers).to_parquet(tmp_path / "customers.parquet")
    orders = {"customer": [0, 2, 2, 5, 1, 4, 9], "amount": [10.5, 3.25, 7.0, 100.0, 12.0, 8.0, 1.0]}
    pd.DataFrame(orders).to_parquet(tmp_path / "orders.parquet")
    pd.DataFrame(orders).to_csv(tmp_path / "orders.csv", index=False)
    return tmp_path


def totals(spark: SparkSession, shop: Path, orders: str = "orders.parquet") -> DataFrame:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(str(shop / "customers.parquet"))
    if orders.endswith(".csv"):
        bought = spark.read.csv(str(shop / orders), header=True, inferSchema=True)
    else:
        bought = spark.read.parquet(str(shop / orders))
    joined = customers.join(bought, customers.id == bought.customer)
    return joined.groupBy("city").agg(F.sum("amount").alias("total"), F.max("age").alias("oldest")).orderBy("city")


def rows(selection: Any) -> list[int]:
    return sorted({int(row) for row, _ in selection.cells()})


# --- tables in the catalog


def test_what_a_run_reads_and_makes_is_in_the_catalog(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    log.pipeline(totals(spark, shop), name="totals").run()
    found = {each.name: each for each in log.datasets() if each.kind == "table"}
    assert {name: each.shape for name, each in found.items()} == {
        "totals": (2, 3), "customers": (6, 3), "orders": (7, 2),
    }  # fmt: skip
    assert found["customers"].properties["columns"] == ["id", "city", "age"]
    assert "customers.parquet@v1" in log.ancestors("totals")
    assert log.check().ok


def test_tables_are_listed_shown_drawn_and_exported(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    log.pipeline(totals(spark, shop), name="totals").run()
    assert [(run.pipeline, run.rows, list(run.columns)) for run in log.runs()] == [
        ("totals", 2, ["city", "total", "oldest"])
    ]
    for command, said in ((["ls"], r"totals\s+table\s+2 x 3"), (["show", "totals"], r"columns: .*'oldest'")):
        shown = CliRunner().invoke(whence, [*command, "--log", log.where])
        assert re.search(said, shown.output), shown.output
    described = str(log.show("totals"))
    assert "totals <- orders by totals: the run computes it when it is asked" in described
    assert max(map(len, described.splitlines())) < 250
    assert {"customers", "orders", "customers.parquet@v1"} <= set(log.graph.ancestors("totals"))
    log.export(shop / "prov.json")
    entities = json.loads((shop / "prov.json").read_text())["entity"]
    (own,) = [each for name, each in entities.items() if name.endswith(":totals")]
    assert "oldest" in json.dumps(own)
    log.export(shop / "events.json", "openlineage")
    text = (shop / "events.json").read_text()
    events = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines()]
    made = {each["name"]: each["facets"] for event in events for each in event["outputs"]}
    assert made["totals"]["schema"]["fields"] == [
        {"name": "city", "type": "string"}, {"name": "total", "type": "double"}, {"name": "oldest", "type": "double"},
    ]  # fmt: skip
    assert set(made["totals"]["columnLineage"]["fields"]) == {"city", "total", "oldest"}
    with wh.open(shop / "other.whence") as other:
        other.import_(shop / "events.json")
        assert {"customers", "orders"} <= set(other.graph.ancestors("totals"))


def test_the_same_run_again_is_the_same_tables_and_other_data_another_version(
    spark: SparkSession, shop: Path, log: wh.Log
) -> None:
    for _ in range(2):
        log.pipeline(totals(spark, shop), name="totals").run()
    assert [each.name for each in log.datasets() if each.kind == "table"] == ["totals", "customers", "orders"]
    pd.DataFrame({"customer": [0], "amount": [5.0]}).to_parquet(shop / "orders.parquet")
    log.pipeline(totals(spark, shop), name="totals").run()
    names = [each.name for each in log.datasets() if each.kind == "table"]
    assert names == ["totals", "customers", "orders", "totals@v2", "orders@v2"]
    assert rows(log.backward("totals", "0,0:3")["orders@v2"]) == [0]


def test_a_table_of_a_directory_with_the_same_name(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    spark.read.parquet(str(shop / "customers.parquet")).write.parquet(str(shop / "people"))
    log.pipeline(spark.read.parquet(str(shop / "people")).where("age > 30"), name="older").run()
    found = log.backward("older", "0,0:3")
    assert "people (table)" in found
    assert log.forward("people", {"id": 4})["older"].count == 3


# --- one question


@pytest.mark.parametrize("orders", ["orders.parquet", "orders.csv"])
@pytest.mark.parametrize("materialized", [False, True])
def test_from_a_cell_of_an_array_to_rows_of_files(
    spark: SparkSession, shop: Path, log: wh.Log, orders: str, materialized: bool
) -> None:
    pipeline = log.pipeline(totals(spark, shop, orders), name="totals")
    values = pipeline.to_numpy(["total", "oldest"], name="X")
    assert values.tolist() == [[20.0, 63.0], [120.75, 50.5]]
    if materialized:
        stored = pipeline.materialize()
        assert stored.rows == 2
        assert {name: pairs for name, (pairs, _) in stored.sources.items()} == {"customers": 5, "orders": 6}

    @log.track
    def share(X: np.ndarray[Any, Any]) -> Any:
        return X[:, 0] / X[:, 0].sum()

    share(values)
    found = log.backward("X", "1,0:2")
    assert rows(found["orders"]) == [0, 1, 2, 3]
    assert rows(found["customers"]) == [0, 2, 5]
    assert found.precise, found.reason
    assert rows(log.backward("share", "0")["orders"]) == [0, 1, 2, 3, 4, 5]
    assert log.forward("customers", [(1, 0)], to="X").cells()[:, 0].tolist() == [0, 0]
    assert log.forward("orders", [(6, 0)], to="X").count == 0
    assert log.check().ok


def test_values_alone_come_from_the_cells_that_were_summed(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(totals(spark, shop), name="totals")
    pipeline.to_numpy(["total", "oldest"], name="X")
    found = log.backward("X", "1,0", lineage="value")
    assert found["orders"].cells().tolist() == [[0, 1], [1, 1], [2, 1], [3, 1]]
    assert not found["customers"] if "customers" in found else True
    oldest = log.backward("X", "1,1", lineage="value")
    assert oldest["customers"].cells().tolist() == [[5, 2]]
    reached = log.forward("orders", {"amount": 100.0}, columns=["amount"], lineage="value")
    assert reached["X"].cells().tolist() == [[1, 0]]


def test_rows_by_what_they_hold_and_back_again(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    log.pipeline(totals(spark, shop), name="totals").run()
    found = log.backward("totals", {"city": "Bergen"})
    assert found["orders"].pandas()["amount"].tolist() == [12.0, 8.0]
    assert found["orders"].columns == ["customer", "amount"]
    assert found["customers"].arrow().column("id").to_pylist() == [1, 4]
    assert log.forward("customers", {"id": 5})["totals"].pandas()["city"].tolist() == ["Oslo"]
    with pytest.raises(NoSuchRow, match="Paris"):
        log.backward("totals", {"city": "Paris"})
    with pytest.raises(UnknownName, match="town"):
        log.backward("totals", {"city": "Oslo"}, columns=["town"])
    with pytest.raises(UnknownName, match="town"):
        log.backward("totals", {"town": "Oslo"})


def test_a_later_program_needs_neither_spark_nor_the_pipeline(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    values = log.pipeline(totals(spark, shop), name="totals").to_numpy(["total"], name="X")
    log.track(lambda X: X * 2, name="doubled")(values)
    expected = log.backward("doubled", "1,0")
    asked = """
import sys
sys.modules["pyspark"] = None
import whence as wh
with wh.open(sys.argv[1]) as log:
    found = log.backward("doubled", "1,0")
    print({name: each.cells().tolist() for name, each in found.items()}, found.precise)
    heavy = {"pandas", "whence.arrays.rules", "whence.spark.catalyst.write"} & sys.modules.keys()
    assert not heavy, f"the question imported {heavy}"
    print(found["orders"].pandas()["amount"].tolist())
"""
    done = subprocess.run([sys.executable, "-c", asked, log.where], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    first, second = done.stdout.splitlines()
    assert first == f"{ {name: each.cells().tolist() for name, each in expected.items()} } True".replace(
        "{ ", "{"
    ).replace(" }", "}")
    assert second == "[10.5, 3.25, 7.0, 100.0]"


# --- hand-overs


def test_a_frame_is_as_to_pandas_gives_it(spark: SparkSession, log: wh.Log) -> None:
    from pyspark.sql import functions as F

    made = spark.range(5).select(
        "id",
        F.col("id").cast("int").alias("small"),
        F.when(F.col("id") != 2, F.col("id")).alias("maybe"),
        (F.col("id") / 3).alias("third"),
        F.col("id").cast("string").alias("text"),
        (F.col("id") > 2).alias("flag"),
        F.col("id").cast("decimal(10,2)").alias("money"),
        F.expr("date '2024-02-28' + cast(id as int)").alias("day"),
        F.expr("timestamp '2024-02-28 12:00:00' + make_interval(0,0,0,cast(id as int))").alias("moment"),
        F.array("id", F.lit(None)).alias("list"),
        F.struct("id", F.lit("x").alias("y")).alias("pair"),
    )
    pipeline = log.pipeline(made, name="types")
    plain: Any = made.toPandas()
    frame = pipeline.to_pandas("frame")
    assert frame.dtypes.tolist() == plain.dtypes.tolist()
    for name in plain.columns:
        assert [repr(each) for each in frame[name].tolist()] == [repr(each) for each in plain[name].tolist()] or (
            name == "list" and [list(each) for each in frame[name]] == [list(each) for each in plain[name]]
        ), name
    numbers = pipeline.to_numpy(["id", "maybe", "third", "flag", "money"])
    assert numbers.dtype == np.float64
    assert numbers[4].tolist() == [4.0, 4.0, 4 / 3, 1.0, 4.0]
    assert np.isnan(numbers[2, 1])
    assert Decimal("4.00") == frame["money"][4]


def test_all_hand_overs_of_a_run_have_one_order(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    made = spark.read.parquet(str(shop / "orders.parquet")).repartition(3)
    pipeline = log.pipeline(made, name="mixed")
    frame = pipeline.to_pandas("frame")
    assert pipeline.to_numpy("amount", name="X")[:, 0].tolist() == frame["amount"].tolist()
    amounts = pd.read_parquet(shop / "orders.parquet")["amount"].tolist()
    pipeline.materialize()
    for number, amount in enumerate(frame["amount"]):
        assert rows(log.backward("X", [(number, 0)])["orders"]) == [amounts.index(amount)]


def test_pandas_between_two_pipelines_keeps_rows_and_columns(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(str(shop / "customers.parquet")).where("age > 20")
    pipeline = log.pipeline(customers, name="adults")

    @log.track
    def decades(ages: Any) -> Any:
        return np.log(ages) * 1.1

    frame = pipeline.to_pandas("frame")
    frame["decade"] = decades(pipeline.to_numpy("age", name="ages")[:, 0])
    frame["guess"] = frame["age"] * 2 + 0.37
    older = frame.sort_values("age", ascending=False).reset_index(drop=True)[:3]
    handed = log.to_spark(older, spark, name="older")
    assert [row.id for row in handed.collect()] == [4, 5, 2]
    report = log.pipeline(
        handed.groupBy("city").agg(F.max("decade").alias("best"), F.max("guess").alias("g")), name="report"
    )
    report.run()
    best = log.backward("report", {"city": "Bergen"}, columns=["best"], lineage="value")
    assert best["customers"].cells().tolist() == [[4, 2]]
    guess = log.backward("report", {"city": "Bergen"}, columns=["g"], lineage="value")
    assert "customers" not in guess
    assert any("'guess'" in note and "was not recorded" in note for note in guess.notes)
    assert log.forward("customers", {"id": 4}, columns=["age"], to="report", lineage="value").columns == ["best"]


def test_equal_rows_are_distinguished(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    from pyspark.sql import functions as F

    made = spark.read.parquet(str(shop / "orders.parquet")).select((F.col("amount") > 9).alias("large"))
    values = log.pipeline(made, name="flags").to_numpy("large", name="X")
    assert values[:, 0].tolist() == [1, 0, 0, 1, 1, 0, 0]
    for number in range(7):
        found = log.backward("X", [(number, 0)])
        assert rows(found["orders"]) == [number]
        assert found.precise


def test_equal_rows_that_nobody_handed_over_share_their_lineage_and_say_so(
    spark: SparkSession, shop: Path, log: wh.Log
) -> None:
    from pyspark.sql import functions as F

    made = spark.read.parquet(str(shop / "orders.parquet")).select("amount", (F.col("amount") > 9).alias("large"))
    log.pipeline(made.drop("amount"), name="flags").run()
    for found in (log.forward("orders", "0,0:2"), log.forward("orders", "0,1", lineage="value")):
        assert rows(found["flags"]) == [0, 3, 4]
        assert not found.precise
        assert "equal rows of 'flags'" in str(found.reason)


def test_a_large_output_is_saved_when_it_is_handed_over(
    spark: SparkSession, shop: Path, log: wh.Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("whence.spark.running.outputs.MOST_ROWS", 3)
    made = spark.read.parquet(str(shop / "orders.parquet")).where("amount > 2")
    pipeline = log.pipeline(made, name="large")
    pipeline.run()
    assert log.show("large").dataset.shape == (6, 2)
    frame = pipeline.to_pandas("frame")
    assert len(frame) == 6
    assert rows(log.backward("frame", "3,0:2")["orders"]) == [3]
    assert log.check().ok


def test_a_hand_over_runs_the_pipeline_once(spark: SparkSession, log: wh.Log, tmp_path: Path) -> None:
    """Without caching the output, or a job that looks at its size first, and whatever that size is."""
    from pyspark.sql import functions as F

    numbers = np.arange(60_000)
    pd.DataFrame({"key": numbers, "part": numbers / 7, "few": np.repeat([0.5, 2.5], 30_000)}).to_parquet(
        tmp_path / "numbers.parquet"
    )
    df = spark.read.parquet(str(tmp_path / "numbers.parquet")).groupBy("key").agg(F.max("part"), F.max("few"))

    def jobs(group: str, make: Callable[[], object]) -> int:
        spark.sparkContext.setJobGroup(group, group)
        try:
            make()
        finally:
            for name in ("spark.jobGroup.id", "spark.job.description"):
                spark.sparkContext.setLocalProperty(name, None)  # type: ignore[arg-type]  # None removes a property
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))

    plain = jobs("plain", df.toPandas)
    p = log.pipeline(df, name="large")
    assert jobs("handed over", p.to_pandas) == plain
    frame = p.to_pandas()
    expected = pd.DataFrame(df.toPandas()).sort_values("key", ignore_index=True)
    assert frame.sort_values("key", ignore_index=True).equals(expected)
    assert jobs("again", lambda: p.to_numpy(["max(part)"], name="X")) == 0
    at = int(np.flatnonzero(frame["key"] == 41_000)[0])
    assert log.backward("X", f"{at},0", lineage="value")["numbers"].cells().tolist() == [[41_000, 1]]
    assert p.forward("numbers", {"key": 3}).collect() == [(3, 3 / 7, 0.5)]
    assert p.run().count() == 60_000


def test_frames_and_arrays_go_back_to_spark(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    from pyspark.sql import functions as F

    values = log.pipeline(totals(spark, shop), name="totals").to_numpy(["total", "oldest"], name="X")
    doubled = log.track(lambda X: X * 2, name="doubled")(values)
    again = log.to_spark(doubled, spark, name="again", columns=["total", "oldest"])
    report = log.pipeline(again.where("total > 100").agg(F.sum("oldest").alias("years")), name="report")
    assert [tuple(row) for row in report.run().collect()] == [(101.0,)]
    found = log.backward("report", "0,0", lineage="value")
    assert found["customers"].cells().tolist() == [[5, 2]]
    both = log.backward("report", "0,0")
    assert rows(both["customers"]) == [0, 2, 5]
    assert both.precise
    assert log.forward("orders", {"amount": 100.0})["report"].count == 1
    assert log.forward("orders", {"amount": 12.0})["report"].count == 0
    assert log.check().ok
    assert log.collect().blobs == 0
    vector = log.to_spark(doubled[:, 0], spark, name="vector")
    assert vector.columns == ["c0"]
    assert log.backward("vector", "1,0")["doubled"].cells().tolist() == [[1, 0]]


def test_plain_hand_overs_in_a_capture(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    with log.capture():
        older = spark.read.parquet(str(shop / "customers.parquet")).where("age > 30")
        frame: Any = older.toPandas()
        ages = frame[["age"]].to_numpy()
        years = log.track(lambda x: x + 1, name="years")(ages)
        back = spark.createDataFrame(pd.DataFrame(years, columns=["age"]))
        old: Any = back.where("age > 50").toPandas()
    assert old["age"].tolist() == [64.0, 51.5]
    assert rows(log.backward("years", "2,0")["customers"]) == [4]
    assert "frame" in {each.name for each in log.datasets()}
    again: Any = spark.createDataFrame(frame).toPandas()
    assert again.equals(frame), "nothing is watched any more"


# --- bad input


def test_hand_overs_that_cannot_be(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    from whence.spark.pipeline import Pipeline as Plain

    pipeline: Pipeline = log.pipeline(totals(spark, shop), name="totals")
    with pytest.raises(BadType, match="'city' holds string"):
        pipeline.to_numpy(["city"])
    with pytest.raises(UnknownName, match="town"):
        pipeline.to_numpy(["town"])
    with pytest.raises(BadType, match="no columns"):
        pipeline.to_numpy([])
    with pytest.raises(BadType, match=r"log\.pipeline"):
        Plain(totals(spark, shop)).to_pandas()
    with pytest.raises(BadType, match="pandas frame, or of an array"):
        log.to_spark(np.zeros((2, 2, 2)), spark)
    with pytest.raises(BadType, match="2 names were given for 3"):
        log.to_spark(np.zeros((2, 3)), spark, columns=["a", "b"])


def test_a_source_that_changed_or_is_gone(spark: SparkSession, shop: Path, log: wh.Log) -> None:
    pipeline = log.pipeline(totals(spark, shop), name="totals")
    pipeline.to_numpy(["total"], name="X")
    pipeline.materialize()
    orders = (shop / "orders.parquet").read_bytes()
    (shop / "orders.parquet").unlink()
    found = log.backward("X", "1,0", to="totals")
    assert found.count == 1
    stored = log.backward("totals", "1,0:3")
    assert rows(stored["orders"]) == [0, 1, 2, 3], "boxes need no files"
    with pytest.raises(SourceChanged, match="gone"):
        stored["orders"].pandas()
    fine = log.backward("totals", "1,0", lineage="value")
    assert fine["customers"].cells().tolist() == [[0, 1], [2, 1], [5, 1]], "nor do cells"
    assert fine.precise
    (shop / "orders.parquet").write_bytes(orders + b"x")
    with pytest.raises(SourceChanged, match="changed since the run"):
        log.backward("totals", "1,0:3")["orders"].pandas()


def test_a_frame_that_pandas_saves_and_spark_reads(spark: SparkSession, tmp_path: Path, log: wh.Log) -> None:
    """Through the file it goes on by cells; a file of another shape is followed as a whole, which is said."""
    frame = pd.DataFrame({"x": [0.5, 1.5, 2.5, 3.5], "y": list("abcd")})
    with log.capture():
        names = {"table": "first", "return": "some"}
        some: Any = log.tables.filter_rows(frame, [True, False, True, True], names=names)
        some.to_parquet(tmp_path / "some.parquet", index=False)
        some.to_parquet(tmp_path / "indexed.parquet", index=True)
    for name, precise in (("some", True), ("indexed", False)):
        read = spark.read.parquet(str(tmp_path / f"{name}.parquet"))
        log.pipeline(read.where("x > 1").orderBy("y"), name=f"{name} out").run()
        found = log.backward(f"{name} out", {"y": "d"}, columns=["x"], lineage="value")
        assert found.precise == precise, found.reason
        assert (found["first"].cells().tolist() == [[3, 0]]) == precise
        assert [3, 0] in found["first"].cells().tolist()
    assert log.check().ok


@pytest.mark.parametrize("stored", [False, True])
def test_a_cell_of_a_table_with_one_column_is_no_row(
    spark: SparkSession, shop: Path, log: wh.Log, stored: bool
) -> None:
    """By position and by `columns`, the cell is meant; by values alone, the row, which comes from whole rows."""
    pipeline = log.pipeline(totals(spark, shop).select("total"), name="sums")
    pipeline.run()
    if stored:
        pipeline.materialize()
    total = pipeline.to_pandas("shown")["total"].tolist()[0]
    by_name = pipeline.backward({"total": total}, columns=["total"]).cells("customers")
    assert set(by_name.along(1)) == {0, 1}, "the key of the join and the key of the group, not the age"
    asked = log.backward("sums", "0,0"), log.backward("sums", {"total": total}, columns=["total"])
    for answer in asked:
        assert answer.precise
        assert answer["customers"] == by_name
    assert set(log.backward("sums", {"total": total})["customers"].along(1)) == {0, 1, 2}
