"""One question from a cell of an array through NumPy and a Spark run to rows of files; hand-overs; materialized runs.

The chain: Spark joins and groups two Parquet files and hands the result over to NumPy; then there are some tracked
steps. One question is answered from boxes (materialized), by the run with DuckDB, and by the run with Spark, the
baseline. TPC-H shows how much more cell questions cost than row questions, and how much space the lineage of whole runs
needs.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench import _tpch
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, seconds, workspace
from bench._table_cells import cell_times

import whence as wh
from whence.spark import local_session
from whence.words import counted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROWS = {"tiny": (2_000,), "small": (10_000, 200_000), "full": (10_000, 200_000, 6_000_000)}
CELLS = {"tiny": (10_000, 100_000), "small": (10_000, 1_000_000, 10_000_000), "full": (10_000, 1_000_000, 100_000_000)}
STEPS = {"tiny": (1, 5), "small": (1, 10, 20), "full": (1, 5, 10, 20)}
HANDED = {"tiny": 5_000, "small": 1_000_000, "full": 3_000_000}
FACTORS = {"tiny": 0.001, "small": 0.01, "full": 1.0}
TPCH = {"tiny": ("q01", "q03", "q12", "q15"), "small": tuple(f"q{n:02}" for n in range(1, 23))}
SETTINGS = {"spark.sql.shuffle.partitions": "4", "spark.log.level": "ERROR", "spark.ui.enabled": "false"}


def files(spark: SparkSession, place: Path, rows: int) -> DataFrame:
    """Write customers and their orders, ten for each: a row of the output comes from one customer and ten orders."""
    import pandas as pd
    from pyspark.sql import functions as F

    place.mkdir()
    random, customers = np.random.default_rng(0), rows // 10
    pd.DataFrame({"id": np.arange(customers), "age": random.uniform(18, 90, customers)}).to_parquet(
        place / "customers.parquet"
    )
    bought = {"customer": random.permutation(rows) % customers, "amount": random.gamma(2, 20, rows)}
    pd.DataFrame(bought).to_parquet(place / "orders.parquet")
    left, right = (spark.read.parquet(str(place / f"{name}.parquet")) for name in ("customers", "orders"))
    joined = left.join(right, left["id"] == right["customer"])
    return joined.groupBy("id", "age").agg(F.sum("amount").alias("total"), F.max("amount").alias("most"))


def chain(log: wh.Log, X: Any, steps: int) -> None:
    """Run tracked steps on the handed-over array; the results are step1, step2 and so on."""
    for number in range(1, steps + 1):
        X = log.track(lambda x: x * 1.5 + 1, name=f"step{number}")(X)


def questions(spark: SparkSession, place: Path, rows: int, lengths: tuple[int, ...], progress: Progress) -> list[Claim]:
    """Time the end-to-end question after each of several steps: asked of the run, materialized, and of a new process;
    and the bytes of a materialized pair of rows.
    """
    progress(f"{rows:,} rows, up to {max(lengths)} steps")
    folder = place / f"{rows}"
    df = files(spark, folder, rows)
    with wh.open(folder / "log.whence") as log:
        pipeline = log.pipeline(df, name="features")
        X = pipeline.to_numpy(["total", "most"], name="X")
        chain(log, X, max(lengths))
        at = f"{len(X) // 2},0:2"
        asks = {steps: partial(log.backward, f"step{steps}", at) for steps in lengths}
        answers = {steps: _orders(ask) for steps, ask in asks.items()}
        by_run = {steps: seconds(ask, 5) for steps, ask in asks.items()}
        row = {name: values.iloc[len(X) // 2].item() for name, values in pipeline.to_pandas("again").items()}
        by_spark = seconds(lambda: pipeline.backward(row, engine="spark").arrow("orders"), 2)
        progress(f"{rows:,} rows, materialized")
        started = time.perf_counter()
        stored = pipeline.materialize()
        took = time.perf_counter() - started
        right = {steps: _orders(ask) == answers[steps] for steps, ask in asks.items()}
        boxes = {steps: seconds(ask, 20) for steps, ask in asks.items()}
    claims, other = [], {"by Spark": by_spark * 1e3}
    for steps in lengths:
        name = f"{counted(steps, 'step')} after Spark, {rows:,} rows"
        claims += [
            claim(f"{name}: materialized", boxes[steps] * 1e3, other, unit="ms", at_most=100, true=right[steps]),
            claim(f"{name}: asked through DuckDB", by_run[steps] * 1e3, other, unit="ms", at_most=1000),
        ]
    name = f"{counted(max(lengths), 'step')} after Spark, {rows:,} rows"
    pair = stored.bytes / max(1, sum(pairs for pairs, _ in stored.sources.values()))
    return [
        *claims,
        claim(f"{name}: first question of a new process", later(folder, f"step{max(lengths)}", at),
              {"materializing": took}, unit="s", at_most=2),
        claim(f"materialized lineage of {rows:,} rows, for each pair of rows", pair, {"two 64-bit numbers": 16.0},
              unit="B", at_least=2),
    ]  # fmt: skip


def _orders(ask: Callable[[], Any]) -> list[tuple[int, ...]]:
    return sorted(map(tuple, ask()["orders"].cells().tolist()))


LATER = """
import sys, time
start = time.perf_counter()
import whence as wh
with wh.open(sys.argv[1]) as log:
    log.backward(sys.argv[2], sys.argv[3])
    print(time.perf_counter() - start)
assert "pyspark" not in sys.modules
"""


def later(folder: Path, name: str, at: str) -> float:
    """Return the seconds from `import whence` to the answer, in a process that has neither the pipeline nor Spark."""
    command = [sys.executable, "-c", LATER, str(folder / "log.whence"), name, at]
    return min(
        float(subprocess.run(command, check=True, capture_output=True, text=True, timeout=600).stdout) for _ in range(2)
    )


def large_arrays(spark: SparkSession, place: Path, sizes: tuple[int, ...], progress: Progress) -> list[Claim]:
    """Time the question if NumPy makes an array of many cells of what Spark handed over: it should not take longer."""
    df, claims = files(spark, place / "cells", 10_000), []
    with wh.open(place / "cells.whence") as log:
        pipeline = log.pipeline(df, name="features")
        X = pipeline.to_numpy(["total", "most"], name="X")

        def widened(cells: int) -> str:
            name = f"wide{cells}"
            made = log.track(lambda x: np.repeat(x, cells // x.size, axis=1), names={"return": f"{name} before"})(X)
            log.track(lambda x: x * 1.5 + 1, names={"return": name})(made)
            return name

        progress(f"arrays of up to {max(sizes):,} cells")
        names = {cells: widened(cells) for cells in sizes}
        asked: dict[int, list[float]] = {cells: [] for cells in sizes}
        right = dict.fromkeys(sizes, True)
        for _ in range(2):  # answered by the run first, then materialized
            for cells, name in names.items():
                at = [(len(X) // 2, cells // len(X) - 1)]
                ask: Callable[[], Any] = partial(log.backward, name, at, lineage="value")
                right[cells] &= ask()["X"].cells().tolist() == [[len(X) // 2, 1]]
                asked[cells].append(seconds(ask, 5) * 1e3)
            pipeline.materialize()
    for cells in sizes:
        by_run, boxes = asked[cells]
        name = f"an array of {cells:,} cells after Spark"
        claims += [
            claim(f"{name}: materialized", boxes, {"asked of the run": by_run}, unit="ms", at_most=100,
                  true=right[cells]),
            claim(f"{name}: asked through DuckDB", by_run, {"the smallest array": asked[sizes[0]][0]}, unit="ms",
                  at_most=1000, true=right[cells]),
        ]  # fmt: skip
    return claims


def hand_over(spark: SparkSession, place: Path, rows: int, progress: Progress) -> list[Claim]:
    """Compare `to_pandas`, from the plan to the frame, with `toPandas`; and materializing with an eager run.

    Every frame is of a query of its own: Spark keeps what it shuffled for a query that runs again.
    """
    from pyspark.sql import functions as F

    progress("hand-overs")
    df = files(spark, place / "hand-over", rows)
    plain, ours = [], []
    with wh.open(place / "hand-over.whence") as log:
        for number in range(0, 12, 2):
            start = time.perf_counter()
            frame = df.withColumn("number", F.lit(number)).toPandas()
            between = time.perf_counter()
            log.pipeline(df.withColumn("number", F.lit(number + 1)), name=f"handed{number}").to_pandas(f"frame{number}")
            plain.append(between - start)
            ours.append(time.perf_counter() - between)
        progress("materializing beside an eager run")
        start = time.perf_counter()
        log.pipeline(df.withColumn("number", F.lit(-1)), name="kept").materialize()
        kept = time.perf_counter() - start
        start = time.perf_counter()
        log.pipeline(df.withColumn("number", F.lit(-2)), name="eager", mode="eager").run().count()
        eager = time.perf_counter() - start
    what = f"{len(frame):,} rows of {rows:,}"
    ratio = statistics.median(plain[1:]) / statistics.median(ours[1:])  # the first ones start Spark's compilers
    return [
        claim(f"hand-over of {what}", statistics.median(ours[1:]), {"toPandas()": statistics.median(plain[1:])},
              unit="s", at_least=1 / 1.1, ratio=ratio),
        claim(f"materializing {what}, rows and cells", kept, {"eager run": eager}, unit="s", at_least=0.25),
    ]  # fmt: skip


def tpch(spark: SparkSession, place: Path, factor: float, queries: tuple[str, ...], progress: Progress) -> list[Claim]:
    """Compare cell questions with row questions, and measure the size and the answers of materialized runs."""
    _tpch.register(spark, _tpch.make(place / "tpch", factor))
    progress(f"cells of {len(queries)} queries")
    times = cell_times(spark, place, factor, queries)
    cells, rows = (statistics.median(getattr(each, kind) for each in times) * 1e3 for kind in ("cells", "rows"))
    ratio = statistics.median(each.rows / each.cells for each in times)
    worst = max(times, key=lambda each: each.ratio)
    share = statistics.mean(each.cells for each in times) / statistics.mean(each.rows for each in times)
    claims = [
        claim("cells of a row of TPC-H, median of queries", cells, {"its rows": rows}, unit="ms", at_least=1 / 1.5,
              ratio=ratio),
        claim(f"cells of a row of TPC-H, all queries together (most beside its rows: {worst.name}, {worst.ratio:.2f}x,"
              f" {worst.how})", statistics.mean(each.cells for each in times) * 1e3,
              {"its rows": statistics.mean(each.rows for each in times) * 1e3}, unit="ms", at_least=1 / 1.5,
              ratio=1 / share),
    ]  # fmt: skip
    asked, sizes, pairs, outputs = [], 0, 0, 0
    for name in queries:
        progress(f"{name} materialized")
        with wh.open(place / f"{name}-stored.whence") as log:
            pipeline = log.pipeline(spark.sql(_tpch.query(name, factor)), name=name)
            stored = pipeline.materialize()
            sizes, outputs = sizes + stored.bytes, outputs + stored.rows
            pairs += sum(count for count, _ in stored.sources.values())
            if stored.rows and not stored.missing:
                cell = [(stored.rows // 2, len(pipeline.plan.output) - 1)]
                ask = partial(log.backward, name, cell, lineage="value")
                ask()
                asked.append(seconds(ask, 5) * 1e3)
    beside = {"asked of the run": cells}
    what = f"rows and cells of {outputs:,} rows of TPC-H, stored"
    return [
        *claims,
        claim(f"cells of {len(asked)} of {len(queries)} queries, materialized", statistics.median(asked), beside,
              unit="ms", at_most=100),
        claim(f"{what}, for each row", sizes / max(1, outputs),
              {"pairs of 64-bit numbers": 16 * pairs / max(1, outputs)}, unit="B", at_least=2),
        large_output(spark, place, progress),
    ]  # fmt: skip


LARGE = """select * from orders, lineitem where o_orderkey = l_orderkey
    and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01' and l_returnflag <> 'N'"""


def large_output(spark: SparkSession, place: Path, progress: Progress) -> Claim:
    """Compare the stored lineage of a large output with the output itself, as Parquet."""
    progress("a large output")
    df = spark.sql(LARGE)
    df.write.parquet(str(place / "large"))
    written = sum(path.stat().st_size for path in (place / "large").glob("*.parquet"))
    with wh.open(place / "large.whence") as log:
        stored = log.pipeline(df, name="large").materialize()
    what = f"lineage of a join of TPC-H with {stored.rows:,} rows, stored"
    return claim(what, stored.bytes / 1e6, {"the output as Parquet": written / 1e6}, unit="MB", at_least=10)


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """Questions across levels, hand-overs, and what a materialized run takes."""
    check_size(size)
    spark = local_session("local[2]", **SETTINGS)
    try:
        with workspace() as place:
            claims = []
            for rows in ROWS[size]:
                lengths = STEPS[size] if rows == ROWS[size][0] else STEPS[size][:1]
                claims += questions(spark, place, rows, lengths, progress)
            claims += large_arrays(spark, place, CELLS[size], progress)
            claims += tpch(spark, place, FACTORS[size], TPCH.get(size, TPCH["small"]), progress)
            return claims + hand_over(spark, place, HANDED[size], progress)
    finally:
        spark.stop()


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw dots next to Spark's."""
    return [
        dots(
            [each for each in claims if each["unit"] == "ms"], directory / "across.png", "One question", "milliseconds"
        )
    ]


if __name__ == "__main__":
    main(run, plot)
