"""One measurement on a Spark cluster of so many executors, in a process of its own: tuples made, written, compressed.

`python bench/_scale_run.py KIND TUPLES EXECUTORS DIRECTORY` prints one line of JSON.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def tuples(spark: SparkSession, kind: str, count: int) -> tuple[DataFrame, tuple[int, ...], tuple[int, ...]]:
    """About that many tuples of one kind, and the shapes of output and input."""
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
    if kind == "sort":  # every output row from a row that is anywhere
        return spark.range(count).selectExpr("id b", f"{mixed} a"), (count,), (count,)
    groups = max(1, count // 10)  # group-by: ten rows a group, that lie anywhere
    return spark.range(count).selectExpr(f"pmod(xxhash64(id), {groups}) b", "id a"), (groups,), (count,)


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def main(kind: str, count: int, executors: int, directory: Path) -> None:
    from whence.relation.parts import PartedRelation
    from whence.spark import local_session
    from whence.spark.scale import compress_frame

    spark = local_session(
        f"local-cluster[{executors},1,1024]",
        **{"spark.driver.host": "127.0.0.1", "spark.executor.memory": "1024m", "spark.log.level": "OFF"},
    )
    spark.range(100).repartition(2 * executors).count()  # the executors are there before the clock runs
    frame, out, into = tuples(spark, kind, count)
    raw, made = directory / f"{kind}.parquet", directory / f"{kind}-{executors}"
    said: dict[str, Any] = {}
    if not raw.exists():
        said["parquet"], _ = timed(lambda: frame.write.parquet(str(raw)))
    read = spark.read.parquet(str(raw))
    said["seconds"], relation = timed(
        lambda: compress_frame(read, out, into, engine="spark", path=made, partitions=max(4, count >> 20))
    )
    said["boxes"], said["tuples"] = len(relation), relation.count()
    said["parts"] = len(relation.index.entries) if isinstance(relation, PartedRelation) else 1
    asked = spark.createDataFrame([(5,)], "b long").selectExpr(*(["b"] if len(out) == 1 else ["b b0", "b b1"]))
    said["join"], _ = timed(lambda: read.join(asked, asked.columns).count())
    spark.stop()
    print(json.dumps(said))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
