"""One measurement on a Spark cluster with so many executors, in a separate process: make, write and compress tuples.

`python bench/_scale_run.py KIND TUPLES EXECUTORS DIRECTORY` prints one line of JSON.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from bench._processors import Watch

ASKED = (1, 1_000, 1_000_000)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def tuples(spark: SparkSession, kind: str, count: int) -> tuple[DataFrame, tuple[int, ...], tuple[int, ...]]:
    """Return about that many tuples of one kind, and the shapes of output and input."""
    if kind == "product":
        side = round(count ** (1 / 3))
        cells = spark.range(side**3)
        columns = (
            f"id div {side * side} b0",
            f"id div {side} % {side} b1",
            f"id div {side * side} a0",
            f"id % {side} a1",
        )
        return cells.selectExpr(*columns), (side, side), (side, side)
    mixed = f"pmod(xxhash64(id), {count})"
    if kind == "sort":  # every output row comes from a random row
        return spark.range(count).selectExpr("id b", f"{mixed} a"), (count,), (count,)
    if kind == "join":  # every output row comes from a random row of a smaller table
        return (
            spark.range(count).selectExpr("id b", f"pmod(xxhash64(id), {max(1, count // 10)}) a"),
            (count,),
            (max(1, count // 10),),
        )
    groups = max(1, count // 10)  # group-by: ten random rows in each group
    return spark.range(count).selectExpr(f"pmod(xxhash64(id), {groups}) b", "id a"), (groups,), (count,)


def timed(watch: Watch, work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the wall-clock time, the processor time of all processes, and the result."""
    start, used = time.perf_counter(), watch.seconds
    found = work()
    return time.perf_counter() - start, watch.seconds - used, found


def is_executor(command: str) -> bool:
    """Whether this is a command of an executor, JVM or Python."""
    return "CoarseGrainedExecutorBackend" in command or "pyspark.daemon" in command


def warm(spark: SparkSession, executors: int) -> None:
    """Start executors and their Python processes before timing begins."""
    spark.range(0, 1000, 1, 4 * executors).mapInArrow(lambda batches: batches, "id long").repartition(4).count()


def main(kind: str, count: int, executors: int, directory: Path) -> None:
    from whence.relation import Relation
    from whence.relation.parts import PartedRelation, publish
    from whence.spark import local_session
    from whence.spark.scale.compressing import on_spark, place_for
    from whence.spark.scale.frames import numbered

    # One processor for each executor: otherwise the JVM and the Python process of one executor use two.
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:executors])
    spark = local_session(
        f"local-cluster[{executors},1,1024]",
        **{
            "spark.driver.host": "127.0.0.1",
            "spark.executor.memory": "1024m",
            "spark.ui.showConsoleProgress": "false",
            "spark.log.level": "OFF",
        },
    )
    warm(spark, executors)
    frame, out, into = tuples(spark, kind, count)
    raw, made = directory / f"{kind}.parquet", directory / f"{kind}-{executors}"
    said: dict[str, Any] = {}
    with Watch(is_executor) as watch:
        if not raw.exists():
            said["parquet"], said["parquet_processor"], _ = timed(watch, lambda: frame.write.parquet(str(raw)))
            watch.peak = 0  # memory is measured from here on
        read = spark.read.parquet(str(raw))
        said["looking"], said["looking_processor"], given = timed(watch, lambda: numbered(read, out, into))
        place = place_for(spark, made)
        parts = max(4, count >> 20)
        said["folding"], said["folding_processor"], done = timed(
            watch, lambda: on_spark(given, out, into, place, parts)
        )
        said["peak"] = watch.peak
        # One measurement of Spark's join suffices. A product is one box: a question to it is no measure of parts.
        for many in ASKED if executors > 1 and kind != "product" else ():
            asked = spark.range(many).selectExpr(f"pmod(xxhash64(id), {out[0]}) b").distinct()
            asked = asked.selectExpr(*(["b"] if len(out) == 1 else ["b b0", "b b1"]))
            join = read.join(asked, asked.columns)
            said[f"join {many}"], said[f"join {many} processor"], _ = timed(watch, join.count)
    relation = done if isinstance(done, Relation) else publish(place.path, out, into, done)
    if isinstance(done, Relation):
        shutil.rmtree(made)
        done.save(made)
    said["boxes"], said["tuples"] = len(relation), relation.count()
    said["parts"] = len(relation.index.entries) if isinstance(relation, PartedRelation) else 1
    said["rows"] = given.rows
    spark.stop()
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
