"""Cells that DuckDB finds: of a maximum that the row shows, and of groups over several sources. Nothing is replayed."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from whence.spark.pipeline import Pipeline
from whence.spark.tracing.cells import CellTracer
from whence.testing.table_cells.answers import Judge

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LINEAGES = ("value", "value+selection")
ITEMS = {"part": [1, 1, 2, 2, 3, 9, 2], "price": [5, None, 7, 7, 2, 1, 7], "day": [1, 1, 1, 2, 2, 2, 1]}
PARTS = {"id": [1, 2, 3, 4], "kind": ["promo", "plain", None, "promo"], "cost": [1, 2, None, 4]}
QUERIES = {
    "a CASE over two sources": """select day, sum(case when kind = 'promo' then price else 0 end) as promoted,
        100 * sum(case when kind like 'pr%' then price else cost end) / sum(price) as share, count(*) as n
        from items join parts on part = id group by day""",
    "a product of two sources": """select kind, day % 2 as odd, sum(price * cost) as total from items join parts
        on part = id group by kind, day % 2 having sum(price * cost) is null or sum(price) > 1""",
    "a maximum": "select part, max(price) as most, count(price) as n from items where day < 3 group by part",
    "a maximum, joined": """select kind, least, sums from (select part, min(price) filter (where day = 1) as least,
        sum(price) as sums from items group by part) left join parts on part = id""",
    "a maximum alone": "select day, max(price) as most from items group by day",
    "all of a table": "select sum(case when kind = 'promo' then price end) as s from items join parts on part = id",
}


@pytest.mark.parametrize("query", ["a CASE over two sources", "a maximum, joined"])
def test_nothing_is_replayed(spark: SparkSession, tmp_path: Path, query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def replayed(*_: Any, **__: Any) -> None:
        raise AssertionError("Spark was asked")

    monkeypatch.setattr(CellTracer, "replayed", replayed)
    made(spark, tmp_path)
    assert not faults(spark, QUERIES[query])


def made(spark: SparkSession, folder: Path) -> None:
    for name, held in (("items", ITEMS), ("parts", PARTS)):
        path = folder / f"{name}.parquet"
        columns = {key: pd.array(each, "string" if key == "kind" else "Int64") for key, each in held.items()}
        pd.DataFrame(columns).to_parquet(path)
        spark.read.parquet(str(path)).createOrReplaceTempView(name)


def faults(spark: SparkSession, query: str) -> list[str]:
    """Where the cells of a column of a row, after a run, are not what the interpreter says."""
    pipeline = Pipeline(spark.sql(query))
    judge = Judge.of(pipeline.plan, pipeline.analysis.jvm)
    pipeline.run()
    output, found = pipeline.plan.output, []
    for row in judge.rows[:5]:
        asked = {attr.name: row.cells[attr].value for attr in output}
        for lineage in LINEAGES:
            for attr in output:
                found += judge.backward_faults(pipeline, asked, [attr.name], lineage)
    return found


if __name__ == "__main__":
    from whence.spark import local_session

    sys.path.insert(0, str(Path(__file__).parent))
    from test_spark_cells_tpch import ALL, TABLES  # type: ignore[import-not-found] # it lies beside this file
    from test_spark_cells_tpch import QUERIES as TPCH
    from test_spark_cells_tpch import made as tables_made

    session = local_session("local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"})
    with tempfile.TemporaryDirectory() as place:
        made(session, Path(place))
        names = sys.argv[1:] or [*QUERIES, *ALL]
        if set(names) & set(ALL):
            tables_made(Path(place))
            for table in TABLES:
                session.read.parquet(str(Path(place) / f"{table}.parquet")).createOrReplaceTempView(table)
        for name in names:
            start = time.perf_counter()
            wrong = faults(session, QUERIES.get(name) or (TPCH / f"{name}.sql").read_text())
            print(f"{name}: {wrong[:2] or 'agrees'}, {time.perf_counter() - start:.1f} s", flush=True)
    session.stop()
