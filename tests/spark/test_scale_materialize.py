"""The lineage of a whole run, stored by tasks: the same rows as when this process stores it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import BadType, StoreError, UnknownName
from whence.spark import pipeline as pipeline_module
from whence.spark.scale import rows as tasks
from whence.spark.tables import by_tasks
from whence.spark.tables.held import held_table
from whence.store.blobs.local import LocalBlobs
from whence.store.derivations.table_selection import TableSelection
from whence.store.recording import writer

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUSTOMERS, ORDERS = 20, 30
CITIES = ("Oslo", "Bergen", "Tromsø")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder, rng = tmp_path_factory.mktemp("shop"), np.random.default_rng(3)
    cities = [CITIES[i % 3] for i in range(CUSTOMERS)]
    pd.DataFrame({"id": range(CUSTOMERS), "city": cities}).to_parquet(folder / "customers.parquet")
    (folder / "orders").mkdir()
    for part in range(3):  # a source of several files
        some = {"customer": rng.integers(0, CUSTOMERS + 5, ORDERS), "amount": rng.integers(0, 9, ORDERS)}
        pd.DataFrame(some).to_parquet(folder / "orders" / f"{part}.parquet")
    return folder


def pipelines(spark: SparkSession, shop: Path) -> dict[str, DataFrame]:
    from pyspark.sql import functions as F

    customers = spark.read.parquet(str(shop / "customers.parquet"))
    orders = spark.read.parquet(str(shop / "orders"))
    joined = orders.join(customers, orders.customer == customers.id, "left")
    other = customers.selectExpr("id other", "city its_city")
    return {
        "sorted": orders.orderBy("amount", "customer"),  # equal rows, one id each
        "grouped": joined.groupBy("city", "amount").agg(F.count("customer").alias("n")),  # a NULL city, lists of ids
        "neighbours": customers.join(other, (customers.city == other.its_city) & (customers.id < other.other)),
        "twice": orders.where("amount > 6").select("amount", F.col("amount").alias("same"), "customer"),
        "all": orders.agg(F.sum("amount").alias("total")),
    }


def lineage(log: wh.Log, name: str, shape: tuple[int, int]) -> list[tuple[str, str]]:
    """For each row of a table what it holds, and the numbers of its source rows; sorted, since runs order them."""
    lines = []
    every = held_table(log._store, name).arrow(np.arange(shape[0])).to_pylist()
    for row, values in enumerate(every):
        answer = log.backward(name, f"{row},0:{shape[1]}")
        assert answer.precise
        tables = {each: found for each, found in sorted(answer.items()) if isinstance(found, TableSelection)}
        numbers = {each: found.rows.tolist() for each, found in tables.items()}
        lines.append((repr(values), repr(numbers)))
    return sorted(lines)


@pytest.mark.parametrize("name", ["sorted", "grouped", "neighbours", "twice", "all"])
def test_tasks_store_what_this_process_would(
    spark: SparkSession, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(tasks, "FILE", 1 << 10)  # so that there are several files, stretches and parts
    monkeypatch.setattr(tasks, "PART", 50)
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 20)
    df = pipelines(spark, shop)[name]
    found = {}
    for engine in ("local", "spark"):
        with wh.open(tmp_path / f"{engine}.whence") as log:
            stored = log.pipeline(df, name="made").materialize(engine=engine)
            pairs = {source: count for source, (count, _) in stored.sources.items()}
            found[engine] = (stored.rows, pairs, lineage(log, "made", (stored.rows, len(df.columns))))
            report = log.check()
            assert report.ok, str(report)
            assert not report.notes  # neither the mark of the job nor a file of ids is left
            assert log.collect().blobs == 0
    spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
    assert found["spark"] == found["local"]


def test_an_order_without_a_customer(spark: SparkSession, shop: Path, tmp_path: Path) -> None:
    orders, customers = spark.read.parquet(str(shop / "orders")), spark.read.parquet(str(shop / "customers.parquet"))
    joined = orders.join(customers, orders.customer == customers.id, "left")
    with wh.open(tmp_path / "log.whence") as log:
        rows = log.pipeline(joined, name="joined").materialize(engine="spark").rows
        ids = held_table(log._store, "joined").arrow(np.arange(rows))["id"].to_pylist()
        alone = f"{ids.index(None)},0:{len(joined.columns)}"
        answer = log.backward("joined", alone)
        assert len(answer["orders"].along(0)) == 1
        assert answer.get("customers") is None
        assert not log.backward("joined", alone, to="customers")
        with pytest.raises(UnknownName, match="no cell of 'customers' was reached, only of 'joined', 'orders'"):
            answer["customers"]


def test_rows_of_a_run_that_is_asked_by_a_program_without_spark(
    spark: SparkSession, shop: Path, tmp_path: Path
) -> None:
    path = tmp_path / "log.whence"
    with wh.open(path) as log:
        log.pipeline(pipelines(spark, shop)["grouped"], name="grouped").materialize(engine="spark")
    asked = (
        "import sys, whence as wh\n"
        f"log = wh.open({str(path)!r})\n"
        "answer = log.backward('grouped', {'city': 'Oslo', 'amount': 3})\n"
        "print(sorted(answer['customers'].pandas()['city'].unique()), len(answer['orders'].rows), answer.precise)\n"
        "print('pyspark' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True, cwd=tmp_path)
    joined = pipelines(spark, shop)["grouped"].where("city = 'Oslo' and amount = 3").collect()
    assert done.stdout.splitlines() == [f"['Oslo'] {joined[0]['n']} True", "False"]


def test_chosen_by_size(spark: SparkSession, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        pipeline = log.pipeline(pipelines(spark, shop)["twice"], name="twice")
        assert by_tasks.chosen(pipeline.analysis)[0] == "local"
        assert "materialize() uses" not in pipeline.explain()
        with pytest.raises(BadType, match="engine is one of 'auto', 'local', 'spark', not 'duckdb'"):
            pipeline.materialize(engine="duckdb")
        monkeypatch.setattr(by_tasks, "MANY", 10)
        why = r"materialize\(\) uses Spark's tasks: the sources have .* in files; up to 10 B this "
        assert re.search(why, pipeline.explain())
        held: list[object] = []
        monkeypatch.setattr(pipeline_module, "materialized", lambda *given: held.append(given))
        assert pipeline.materialize().rows == pipelines(spark, shop)["twice"].count()
        assert not held  # it was not done in this process


def test_a_run_without_rows(spark: SparkSession, shop: Path, tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        df = pipelines(spark, shop)["twice"].where("customer < 0")
        assert log.pipeline(df, name="none").materialize(engine="spark").rows == 0
        assert log.check().ok


def test_executors_that_write_elsewhere(
    spark: SparkSession, shop: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LocalBlobs, "__reduce__", lambda self: (LocalBlobs, (tmp_path / "elsewhere",)))
    with wh.open(tmp_path / "log.whence") as log:
        before = [each.name for each in log.datasets()]
        with pytest.raises(StoreError, match="that executors wrote to .* cannot be read from here: use a shared"):
            log.pipeline(pipelines(spark, shop)["twice"], name="twice").materialize(engine="spark")
        assert [each.name for each in log.datasets()] == before
        assert not log.runs()
        assert log.check().ok
        assert not log.check().notes


def test_the_same_lineage_stored_twice_is_stored_once(spark: SparkSession, shop: Path, tmp_path: Path) -> None:
    df = pipelines(spark, shop)["sorted"]
    with wh.open(tmp_path / "log.whence") as log:
        first = log.pipeline(df, name="sorted").materialize(engine="spark")
        blobs = set(log._store.blobs.listing())
        again = log.pipeline(df, name="sorted").materialize(engine="spark")
        assert (again.dataset, again.sources) == (first.dataset, first.sources)
        assert {each.hash for each in log._store.blobs.listing()} == {each.hash for each in blobs}
        assert log.check().ok


def test_a_blob_that_is_gone_before_it_is_recorded() -> None:
    with pytest.raises(StoreError, match=r"the blob abababababab\.\.\. was removed after it was written"):
        _ = writer.Written("ab" * 32, 9).data
