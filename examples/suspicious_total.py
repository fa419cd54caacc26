"""A total of a Spark report looks wrong: which readings made it, and what else did they reach?

The same file is a pipeline for the command line: `whence pipeline examples/suspicious_total.py --row station=harbour`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import whence as wh
from whence.spark import local_session

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

STATIONS = [(1, "harbour"), (2, "airport"), (3, "park")]
READINGS = [(n, 1 + n % 3, 3 + n % 5) for n in range(40)] + [(40, 1, 4_000)]  # the last one was typed in millimetres


def build(spark: SparkSession) -> tuple[DataFrame, dict[str, DataFrame]]:
    """The rain of each station that had a wet day, and the DataFrames it is made of, by name."""
    stations = spark.createDataFrame(STATIONS, "id int, station string")
    readings = spark.createDataFrame(READINGS, "reading int, station_id int, rain int")
    wet = readings.where("rain > 4").join(stations, readings["station_id"] == stations["id"])
    report = wet.groupBy("station").sum("rain").withColumnRenamed("sum(rain)", "rain")
    return report, {"stations": stations, "readings": readings}


def main(directory: Path) -> list[int]:
    """Trace the largest total back, and its largest reading forward."""
    spark = local_session("local[2]", **{"spark.sql.shuffle.partitions": "2", "spark.log.level": "ERROR"})
    report, sources = build(spark)
    with wh.open(directory / "rain.whence") as log:
        pipeline = log.pipeline(report, name="rain", sources=sources)
        largest = max(report.collect(), key=lambda row: row["rain"])
        print(f"{largest['station']}: {largest['rain']}?")
        lineage = pipeline.backward(largest)
        readings = sorted(lineage["readings"].collect(), key=lambda row: -row["rain"])
        assert lineage.precise
        print(f"made of {len(readings)} of {len(READINGS)} readings; the largest is {readings[0].asDict()}")
        reached = pipeline.forward("readings", {"reading": readings[0]["reading"]}).collect()
        print(f"which reached {[row['station'] for row in reached]} and nothing else")
    spark.stop()
    return [row["reading"] for row in readings]


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        main(Path(place))
