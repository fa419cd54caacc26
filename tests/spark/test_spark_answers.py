"""One question from an array through a pipeline to the rows of files: answers, stories and erasure reports."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import whence as wh
from whence.spark.tables import datasets


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[wh.Log]:
    monkeypatch.chdir(tmp_path)
    with wh.open(tmp_path / "project.whence") as opened:
        yield opened


def report(log: wh.Log, spark: SparkSession) -> None:
    """orders and customers -> report (city, total)."""
    pd.DataFrame({"id": [1, 2, 3, 4], "customer": [17, 17, 18, 19], "amount": [5.0, 6.0, 7.0, 8.0]}).to_parquet(
        "orders.parquet"
    )
    people = pd.DataFrame({"number": [17, 18, 19], "city": ["Oslo", "Bergen", "Oslo"]})
    people.to_parquet("customers.parquet")
    orders, read = (spark.read.parquet(str(Path(name).resolve())) for name in ("orders.parquet", "customers.parquet"))
    joined = orders.join(read, orders.customer == read.number)
    df = joined.groupBy("city").agg(F.sum("amount").alias("total")).orderBy("city")
    pipeline = log.pipeline(df, name="report")
    pipeline.run()
    totals = pipeline.to_numpy(["total"], name="X")
    log.track(lambda x: x * 2, name="predict")(totals)


def test_one_question_across_all_levels(log: wh.Log, spark: SparkSession) -> None:
    report(log, spark)
    answer = log.backward("predict", "1,0")  # Oslo
    assert set(answer) == {"orders", "customers", "orders.parquet@v1", "customers.parquet@v1"}
    assert [step.how.split(",")[0] for step in answer.steps[:2]] == ["boxes", "boxes"]
    assert answer["X"].cells().tolist() == [[1, 0]]
    assert answer["orders"].pandas()["amount"].tolist() == [5.0, 6.0, 8.0]
    assert answer.precise
    row = log.backward("report", {"city": "Oslo"})
    assert set(row["orders"].rows.tolist()) == {0, 1, 3}  # type: ignore[attr-defined]  # rows of a table
    told = str(log.explain("predict", "1,0"))
    assert "X[1, 0] came from report row 1 (total) by `to_numpy" in told
    assert "customers rows 0, 2" in told


def test_an_erasure_report_goes_through_a_pipeline(log: wh.Log, spark: SparkSession) -> None:
    report(log, spark)
    found = {each.name: each for each in log.erasure("customers", {"number": 17}).items}
    assert list(found) == ["customers", "customers.parquet@v1", "report", "X", "predict"]
    assert found["report"].do.startswith("recompute these rows by `pipeline report`")
    assert found["report"].much == "1 row"
    assert found["predict"].cells.cells().tolist() == [[1, 0]]


def test_sources_whose_rows_are_not_counted_are_reached_as_files(
    log: wh.Log, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(datasets, "QUICK", -1)
    pd.DataFrame({"number": [17, 18], "city": ["Oslo", "Bergen"]}).to_csv("customers.csv", index=False)
    pd.DataFrame({"customer": [17, 18], "amount": [5.0, 6.0]}).to_parquet("orders.parquet")
    orders = spark.read.parquet(str(Path("orders.parquet").resolve()))
    people = spark.read.csv(str(Path("customers.csv").resolve()), header=True, schema="number long, city string")
    pipeline = log.pipeline(orders.join(people, orders.customer == people.number), name="joined")
    pipeline.run()
    assert "customers" not in {each.name for each in log.datasets()}
    answer = log.backward("joined", "0,:")
    assert set(answer) == {"orders", "orders.parquet@v1", "customers.csv@v1"}
    assert "joined" in log.forward("customers.csv").reached
    pipeline.to_pandas()  # counts them
    answer = log.backward("joined", "0,:")
    assert {"orders", "customers"} <= set(answer)
    assert ("joined", "customers.csv@v1") not in {(step.previous, step.dataset) for step in answer.steps}
