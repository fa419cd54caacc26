"""Large answers and wide plans of Spark: the time of questions, and of reading plans of many columns and steps."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, main, quiet, workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = {"tiny": 3_000, "small": 3_000_000, "full": 3_000_000}  # a third of them are one group
FILTERED = {"tiny": 5_000, "small": 5_000_000, "full": 5_000_000}
READING = 1.0  # seconds


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """A large group, a filter on a Python function, 300 columns, 200 steps, and a column that is computed again."""
    from whence.spark import local_session

    spark = local_session("local[2]", **{"spark.log.level": "ERROR"})
    try:
        with workspace() as folder:
            return [
                _group(spark, folder, ROWS[check_size(size)], progress),
                _function(spark, folder, FILTERED[size], progress),
                *_plans(spark, progress),
            ]
    finally:
        spark.stop()


def timed(action: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = action()
    return time.perf_counter() - start, found


def _written(spark: SparkSession, path: Path, columns: dict[str, Any]) -> DataFrame:
    import pyarrow as pa
    import pyarrow.parquet as pq

    pq.write_table(pa.table(columns), path)
    return spark.read.parquet(str(path))


def _group(spark: SparkSession, folder: Path, rows: int, progress: Progress) -> Claim:
    """All rows of a group, fetched. whence chooses the engine."""
    from pyspark.sql import functions as F

    from whence.spark.pipeline import Pipeline

    progress("a large group")
    number = np.arange(rows)
    names = np.where(number % 3 == 0, -1, number % 1000)
    columns = {"id": number, "group": names, "value": number * 0.5}
    sums = _written(spark, folder / "groups.parquet", columns).groupBy("group").agg(F.sum("value").alias("total"))

    def asked(engine: str) -> int:
        answer = Pipeline(sums).backward({"group": -1}, engine=engine)
        assert answer.precise
        return int(answer.arrow("groups").num_rows)

    asked("auto")  # so that no engine pays for starting
    times = {engine: timed(partial(asked, engine)) for engine in ("auto", "duckdb", "spark")}
    right = all(count == (rows + 2) // 3 for _, count in times.values())
    return claim(
        f"all rows of a group of {(rows + 2) // 3:,}",
        times["auto"][0],
        {"Spark": times["spark"][0], "DuckDB": times["duckdb"][0]},
        unit="s",
        at_least=0.75,
        true=right,
    )


def _function(spark: SparkSession, folder: Path, rows: int, progress: Progress) -> Claim:
    """A filter on a Python function, asked after a run. whence translates the function and does not call it again."""
    from pyspark.sql import functions as F

    from whence.spark.pipeline import Pipeline

    def kind(level: int | None) -> str:  # in here, because Spark's workers cannot import a benchmark
        if level is None:
            return "none"
        if level < 10:
            return "low"
        return "high" if level > 990 else "middle"

    progress("a filter on a Python function")
    number = np.arange(rows)
    table = _written(spark, folder / "readings.parquet", {"id": number, "level": number * 7919 % 1000})
    p = Pipeline(table.where(F.udf(kind, "string")("level") == "high").groupBy("level").count())
    plain, _ = timed(lambda: p.run().collect())
    seconds, found = timed(lambda: p.backward({"level": 995}))
    right = found.precise and found["readings"].count() == int((number * 7919 % 1000 == 995).sum())
    return claim(
        f"a filter on a Python function over {rows:,} rows, asked after a run",
        seconds,
        {"running it again": plain},
        unit="s",
        true=right,
    )


def _plans(spark: SparkSession, progress: Progress) -> list[Claim]:
    """The time to read a plan, and to find the predicates for its sources."""
    from pyspark.sql import functions as F

    progress("wide plans")
    some = spark.range(10)
    wide = some.select("id", *((F.col("id") + at).alias(f"c{at}") for at in range(300)))
    changed = wide.select("id", *((F.col(f"c{at}") * 2).alias(f"c{at}") for at in range(300)))
    steps = reduce(lambda df, at: df.withColumn(f"c{at}", F.col("id") + at), range(200), some)

    def again(times: int) -> DataFrame:
        start = some.withColumn("v", F.col("id"))
        return reduce(lambda df, _: df.withColumn("v", F.col("v") + 1), range(times), start)

    _read(steps)  # so that the first plan does not pay for imports
    hundred, two_hundred = (min(_read(again(times)) for _ in range(3)) for times in (100, 200))
    return [
        claim("reading a plan of 300 columns", _read(changed), {"allowed": READING}, unit="s", at_most=READING),
        claim("reading a plan of 200 withColumn", _read(steps), {"allowed": READING}, unit="s", at_most=READING),
        claim(
            "v = v + 1, 200 times: time of 100 times",
            two_hundred / hundred,
            {"quadratic": 4.0},
            unit="times",
            at_most=3.0,
            seconds=two_hundred,
        ),
    ]


def _read(df: DataFrame) -> float:
    from whence.spark.pipeline import Pipeline

    return timed(lambda: Pipeline(df).trace_plan)[0]


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the time of each claim beside what it is compared with."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 3))
    axes.barh([each["name"] for each in claims], [1 / each["ratio"] for each in claims])
    axes.axvline(1.0, color="black")
    axes.set_xlabel("time, relative to the best other")
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / "large.png"
    figure.savefig(target, bbox_inches="tight")
    plt.close(figure)
    return [target]


if __name__ == "__main__":
    main(run, plot)
