"""A dozen queries of TPC-DS, one for each thing that TPC-H lacks; `make test-tpcds` runs all 99 on real data.

The tables are small and made here: what a query reads of them, with nulls where TPC-DS has them, and with values that
let every query have an output.
"""

from __future__ import annotations

from datetime import date, timedelta
from decimal import Decimal
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from whence.rows.pushdown import infer
from whence.spark.catalyst.frames import frame
from whence.spark.catalyst.plan import read
from whence.spark.pipeline import Pipeline
from whence.testing.rows import annotated, answer_faults, faults, over_only, stored_faults

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = sorted(Path(__file__).with_name("queries_ds").glob("q*.sql"))
INEXACT = frozenset({"float", "double"})  # sums of these depend on the order of adding: they are not asked for
# The plan over nothing but the lineage need not give the row again where the rows of a frame are rows of the output,
# too, or where a part of a group of groups is left.
NOT_AGAIN = frozenset({"q47", "q51"})


def tables(random: Random) -> dict[str, list[dict[str, Any]]]:
    """Every table as rows."""
    days = [date(2000, 1, 1) + timedelta(days=30 * n) for n in range(24)]
    dates = [
        {"d_date_sk": n, "d_date": day, "d_year": day.year, "d_moy": day.month, "d_month_seq": _month(day)}
        for n, day in enumerate(days)
    ]
    items = [
        {"i_item_sk": n, "i_item_id": f"I{n // 2}", "i_category": ["Books", "Music"][n % 2], "i_class": f"c{n % 3}",
         "i_brand": f"b{n % 2}", "i_current_price": Decimal(1 + 3 * n)}
        for n in range(6)
    ]  # fmt: skip
    stores = [{"s_store_sk": n, "s_state": s, "s_store_name": f"s{n}"} for n, s in enumerate(["TN", "GA", "TN"])]
    addresses = [
        {"ca_address_sk": n, "ca_state": ["TN", "GA"][n % 2], "ca_county": ["Rush County", "Toole County", None][n % 3]}
        for n in range(5)
    ]
    demographics = [
        {"cd_demo_sk": n, "cd_gender": "MF"[n % 2], "cd_education_status": ["College", "Primary"][n // 2]}
        for n in range(4)
    ]
    customers = [
        {"c_customer_sk": n, "c_customer_id": f"C{n}", "c_first_name": ["Ann", None][n % 5 == 4],
         "c_last_name": f"L{n % 4}", "c_current_addr_sk": n % 5, "c_current_cdemo_sk": n % 4}
        for n in range(8)
    ]  # fmt: skip

    def maybe(choices: int) -> int | None:
        return None if random.random() < 0.05 else random.randrange(choices)

    def money() -> Decimal:
        return Decimal(random.randrange(100, 3000)) / 100

    def sold(prefix: str, count: int, **more: str) -> list[dict[str, Any]]:
        rows = []
        for n in range(count):
            row: dict[str, Any] = {"sold_date_sk": maybe(24), "item_sk": random.randrange(6), "quantity": maybe(9)}
            row |= {"sales_price": money(), "list_price": money(), "net_profit": money(), "ext_sales_price": money()}
            row |= {name: _extra(kind, n, maybe) for name, kind in more.items()}
            rows.append({f"{prefix}_{name}": value for name, value in row.items()})
        return rows

    store_sales = sold("ss", 120, customer_sk="customer", cdemo_sk="demo", store_sk="store", ticket_number="number")
    catalog_sales = sold(
        "cs", 60, bill_customer_sk="customer", ship_customer_sk="customer", ship_date_sk="day", ship_addr_sk="address",
        warehouse_sk="store", order_number="order", ext_ship_cost="cost",
    )  # fmt: skip
    store_returns = [
        {"sr_returned_date_sk": random.randrange(24), "sr_item_sk": sale["ss_item_sk"], "sr_return_quantity": 1,
         "sr_customer_sk": sale["ss_customer_sk"], "sr_store_sk": sale["ss_store_sk"], "sr_return_amt": money(),
         "sr_ticket_number": sale["ss_ticket_number"]}
        for sale in store_sales[::3]
    ]  # fmt: skip
    catalog_returns = [
        {"cr_order_number": sale["cs_order_number"], "cr_item_sk": sale["cs_item_sk"], "cr_return_quantity": 1,
         "cr_return_amount": money()}
        for sale in catalog_sales[::7]
    ]  # fmt: skip
    return {
        "date_dim": dates, "item": items, "store": stores, "customer_address": addresses, "customer": customers,
        "customer_demographics": demographics, "store_sales": store_sales, "catalog_sales": catalog_sales,
        "web_sales": sold("ws", 60, bill_customer_sk="customer"), "store_returns": store_returns,
        "catalog_returns": catalog_returns,
    }  # fmt: skip


def _month(day: date) -> int:
    return 1200 + 12 * (day.year - 2000) + day.month - 1


def _extra(kind: str, n: int, maybe: Any) -> Any:
    if kind in ("number", "order"):
        return n // 2 if kind == "order" else n
    if kind == "cost":
        return Decimal(n)
    return maybe({"customer": 8, "demo": 4, "store": 3, "day": 24, "address": 5}[kind])


@pytest.fixture(scope="module")
def tpcds(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    directory = tmp_path_factory.mktemp("tpcds")
    for name, rows in tables(Random(2)).items():
        path = directory / f"{name}.parquet"
        table = pa.Table.from_pylist(rows)
        fields = [pa.field(f.name, pa.decimal128(9, 2)) if pa.types.is_decimal(f.type) else f for f in table.schema]
        pq.write_table(table.cast(pa.schema(fields)), path)
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


@pytest.mark.usefixtures("tpcds")
@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_lineage_of_a_query(spark: SparkSession, path: Path) -> None:
    df = spark.sql(path.read_text())
    plan = read(df)
    rows = annotated(plan)
    assert sorted(map(repr, (row.values for row in rows))) == sorted(map(repr, map(tuple, df.collect())))
    assert rows, "the tables should give an output"
    row = rows[len(rows) // 2]
    pairs = zip(plan.root.output, row.values, strict=True)
    question = tuple((attr, value) for attr, value in pairs if attr.dtype not in INEXACT)
    assert infer(plan.root).steps
    assert not faults(plan, rows, [question])
    assert not answer_faults(Pipeline(df, name=path.stem), plan, rows, question)
    if path.stem not in NOT_AGAIN:
        assert row.values in [tuple(each) for each in frame(over_only(plan, row.ids), plan.jvm).collect()]


@pytest.mark.usefixtures("tpcds")
@pytest.mark.parametrize("path", QUERIES, ids=lambda path: path.stem)
def test_a_plan_comes_back_from_its_document(spark: SparkSession, path: Path) -> None:
    assert not stored_faults(read(spark.sql(path.read_text())).root)
