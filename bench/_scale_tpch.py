"""TPC-H queries materialized by Spark tasks, in a separate process: times, bytes, and a question without Spark.

`python bench/_scale_tpch.py SCALE q01,q03 DIRECTORY` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import numpy as np
from bench._tpch import make, query, register

import whence as wh
from whence.spark.tables.held import held_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def measured(spark: SparkSession, log: wh.Log, name: str, text: str) -> dict[str, Any]:
    """Measure one query: seconds, rows, pairs of rows, bytes, and whether the lineage of a row is right."""

    def run() -> None:
        spark.sql(text).write.format("noop").mode("overwrite").save()

    def ask() -> wh.Answer:
        return log.backward(name, asked)

    def count(source: str) -> int:
        return len(log.backward(name, asked, to=source).along(0))

    run()  # warm up: compile and cache before timing begins
    each: dict[str, Any] = {"query": timed(run)[0], "asked": 0.0, "right": True}
    pipeline = log.pipeline(spark.sql(text), name=name)
    each["materialize"], stored = timed(partial(pipeline.materialize, engine="spark"))
    eager = log.pipeline(spark.sql(text), name=f"{name}-eager", mode="eager")
    each["eager"], _ = timed(eager.run)
    each["rows"], each["bytes"] = stored.rows, stored.bytes
    each["pairs"] = sum(pairs for pairs, _ in stored.sources.values())
    if stored.rows:
        (row,) = held_table(log._store, name).arrow(np.array([0])).to_pylist()
        # The first row, by its number; in a table with one column that would mean the cell, so by its value.
        asked = f"0,0:{len(row)}" if len(row) > 1 else row
        ask()
        each["asked"], _ = timed(ask)
        other = eager.backward(row)
        each["right"] = all(other[source].count() == count(source) for source in pipeline.sources)
    return each


def main(scale: float, names: list[str], directory: Path) -> None:
    from whence.spark import local_session

    tables = directory / f"tpch-{scale:g}"
    if not tables.exists():
        make(tables, scale)
    spark = local_session(
        "local[2]", **{"spark.driver.host": "127.0.0.1", "spark.log.level": "OFF", "spark.driver.memory": "6g"}
    )
    register(spark, tables)
    said = {}
    for name in names:
        with wh.open(directory / f"{name}-{scale:g}.whence") as log:
            said[name] = measured(spark, log, name, query(name, scale))
    spark.stop()
    print(json.dumps(said))


if __name__ == "__main__":
    main(float(sys.argv[1]), sys.argv[2].split(","), Path(sys.argv[3]))
