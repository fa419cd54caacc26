"""Two workers in processes of their own: the same lineage as on one machine."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.spark import local_session
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MASTER = "local-cluster[2,1,1024]"
PEOPLE = [("ann", "north"), ("bob", "south"), ("cid", None), (None, "north")]


def answers(spark: SparkSession, orders: str) -> dict[str, Any]:
    """Questions about a join and an aggregate over files and a frame in memory, backward and forward."""
    read = spark.read.parquet(orders)
    people = spark.createDataFrame(PEOPLE, "who string, region string").repartition(3)
    people.createOrReplaceTempView("people")
    read.createOrReplaceTempView("orders")
    df = spark.sql("""
        select region, sum(price) as total, max(id) as latest from orders join people using (who)
        where id not in (select id from orders where price < 1) group by region""")
    pipeline = Pipeline(df, name="regions")
    lineage = pipeline.backward({"region": "north"})
    found: dict[str, Any] = {name: sorted(map(repr, lineage[name].collect())) for name in lineage}
    found["places"] = sorted(row["_row"] for row in lineage.identified("orders").collect())
    found["precise"] = lineage.precise
    found["forward"] = sorted(map(repr, pipeline.forward("orders", {"id": 8}).collect()))
    found["eager"] = sorted(map(repr, Pipeline(df, mode="eager").run().collect()))
    found["workers"] = spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() - 1
    return found


def main(orders: str) -> None:
    spark = local_session(
        MASTER,
        **{
            "spark.driver.host": "127.0.0.1",
            "spark.sql.shuffle.partitions": "4",
            "spark.executor.memory": "512m",
            "spark.log.level": "OFF",
        },
    )
    spark.range(100).repartition(4).count()  # both workers are there before they are counted
    print(json.dumps(answers(spark, orders)))
    spark.stop()


def test_two_workers(spark: SparkSession, tmp_path: Path) -> None:
    orders = str(tmp_path / "orders.parquet")
    rows = spark.range(40).selectExpr(
        "cast(id as int) id",
        "element_at(array('ann', 'bob', 'cid', null), cast(id % 4 as int) + 1) who",
        "id % 7 price",
    )
    rows.repartition(3, "id").write.parquet(orders)
    done = subprocess.run(
        [sys.executable, __file__, orders],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        cwd=tmp_path,  # a cluster leaves a directory of its work behind
    )
    assert done.returncode == 0, done.stderr[-3000:]
    there = json.loads(done.stdout.splitlines()[-1])
    here = answers(spark, orders)
    assert there.pop("workers") == 2
    assert here.pop("workers") == 0
    assert there == here
    assert here["precise"]
    assert here["orders"]
    assert here["forward"]


if __name__ == "__main__":
    main(sys.argv[1])
