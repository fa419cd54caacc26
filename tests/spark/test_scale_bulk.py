"""Many rows asked about at once, in Spark frames: the same answers, as selections and as frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import BadCells, BadType, NoSuchRow
from whence.relation.parts import _parted
from whence.selection import Selection
from whence.spark.scale import asking
from whence.spark.scale import rows as tasks

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

CUSTOMERS, ORDERS = 3000, 9000
BUYERS = np.random.default_rng(5).integers(0, CUSTOMERS, ORDERS)


@pytest.fixture(scope="module")
def bought(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[wh.Log]:
    """Customers and the cities of their orders: a run whose lineage tasks stored, in several parts."""
    folder = tmp_path_factory.mktemp("bulk")
    cities = [f"city {i % 500}" for i in range(CUSTOMERS)]
    pd.DataFrame({"id": np.arange(CUSTOMERS), "city": cities}).to_parquet(folder / "customers.parquet")
    pd.DataFrame({"customer": BUYERS, "amount": 1.5 * np.arange(ORDERS)}).to_parquet(folder / "orders.parquet")
    with wh.open(folder / "log.whence") as log, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tasks, "FILE", 1 << 13)
        patch.setattr(tasks, "PART", 1000)
        spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", 500)
        customers = spark.read.parquet(str(folder / "customers.parquet"))
        orders = spark.read.parquet(str(folder / "orders.parquet"))
        joined = orders.join(customers, orders.customer == customers.id).select("city", "amount", "id")
        log.pipeline(joined, name="placed").materialize(engine="spark")
        spark.conf.unset("spark.sql.execution.arrow.maxRecordsPerBatch")
        yield log


def question(spark: SparkSession, ids: object, column: str = "id", kind: str = "long") -> DataFrame:
    return spark.createDataFrame(pd.DataFrame({column: np.asarray(ids)})).selectExpr(f"cast({column} as {kind})")


def test_what_erased_customers_reached(spark: SparkSession, bought: wh.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    erased = np.arange(0, CUSTOMERS, 3)
    expected = np.flatnonzero(np.isin(BUYERS, erased))
    here = bought.forward("customers", question(spark, erased))
    assert (here["placed"].count, here.precise) == (3 * len(expected), True)
    assert sorted(here["placed"].pandas()["amount"]) == (1.5 * expected).tolist()
    (step,) = here.steps
    assert step.how.startswith("rows, local: ")
    monkeypatch.setattr(_parted, "MANY", 0)
    there = bought.forward("customers", question(spark, erased))
    assert there["placed"] == here["placed"]
    assert there.steps[0].how.startswith("rows, spark: ")
    assert " of 1 part (" not in there.steps[0].how
    assert " may hold the answer" in there.steps[0].how


def test_an_answer_as_a_frame_is_the_next_question(spark: SparkSession, bought: wh.Log) -> None:
    rows = question(spark, np.arange(0, ORDERS, 2), "row")  # the numbers of rows
    found = bought.backward("placed", rows)
    frame = found["customers"].dataframe(spark)
    assert frame.columns == ["a0_first", "a0_last", "a1_first", "a1_last"]
    cells = frame.selectExpr("sum((a0_last - a0_first + 1) * (a1_last - a1_first + 1))").collect()
    assert cells[0][0] == found["customers"].count
    onward = bought.forward("customers", frame)
    assert onward["placed"] == bought.forward("customers", found["customers"])["placed"]
    assert bought.backward("placed", rows, to="customers") == found["customers"]
    assert Selection.empty((4, 2)).dataframe(spark).count() == 0
    with pytest.raises(BadCells, match="has one cell and no boxes"):
        Selection.all(()).dataframe(spark)


def test_rows_by_value(spark: SparkSession, bought: wh.Log) -> None:
    by_one = bought.backward("placed", {"city": "city 7"})
    cities = spark.createDataFrame([("city 7",), ("nowhere",)], "city string")
    assert dict(bought.backward("placed", cities)) == dict(by_one)
    for kind in ("int", "double"):
        some = bought.forward("customers", question(spark, [7, 9], kind=kind))
        assert dict(some) == dict(bought.forward("customers", [{"id": 7}, {"id": 9}]))
    two = spark.createDataFrame([(7, "city 7"), (8, "city 7")], "id int, city string")
    assert dict(bought.forward("customers", two)) == dict(bought.forward("customers", {"id": 7}))
    alone = bought.backward("placed", cities, columns=["city"])
    assert dict(alone) == dict(bought.backward("placed", {"city": "city 7"}, columns=["city"]))
    numbers = bought.backward("placed", question(spark, [0, 5], "row"), columns=["city"])
    assert dict(numbers) == dict(bought.backward("placed", "0,0; 5,0"))
    nothing = bought.forward("customers", question(spark, [7]).limit(0))
    assert not any(nothing.values())


def test_bad_rows(spark: SparkSession, bought: wh.Log) -> None:
    with pytest.raises(NoSuchRow, match="no row of 'customers' agrees with a row of the frame in id"):
        bought.forward("customers", question(spark, [2.5, 7.25], kind="double"))  # 2.5 is no whole number
    with pytest.raises(BadCells, match=r"'id' of 'customers' holds bigint, and that of the frame string: .*cast\('big"):
        bought.forward("customers", question(spark, [7], kind="string"))
    with pytest.raises(BadCells, match=r"2 columns \(id, town\), but cells have 2|must be integers"):
        bought.forward("customers", spark.createDataFrame([(7, "x")], "id int, town string"))
    with pytest.raises(BadType, match="a DataFrame of a Spark session in this process"):
        asking.selected_of(spark, (3,))
