"""Values that are asked about reach Spark as they are: old days, times with and without a zone."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DAYS = ["0001-01-01", "0987-06-05", "1582-10-04", "1582-10-15", "1969-12-31", "9999-12-31"]
TIMES = [f"{day} 02:30:00.000001" for day in DAYS]


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_days_and_times_are_found(spark: SparkSession, tmp_path: Path) -> None:
    values = ", ".join(
        f"(date'{day}', timestamp_ntz'{at}', {n})" for n, (day, at) in enumerate(zip(DAYS, TIMES, strict=True))
    )
    spark.sql(f"select * from values {values} as t(d, n, k)").write.parquet(str(tmp_path / "t"))
    df = spark.read.parquet(str(tmp_path / "t")).selectExpr("d", "n", "k + 1 as k")
    pipeline = Pipeline(df)
    for place, (day, at) in enumerate(zip(DAYS, TIMES, strict=True)):
        for row in ({"d": date.fromisoformat(day)}, {"n": datetime.fromisoformat(at)}):
            assert [each["k"] for each in pipeline.backward(row)["t"].collect()] == [place], row


@pytest.mark.usefixtures("berlin")
def test_instants_are_found(spark: SparkSession, tmp_path: Path) -> None:
    """A time without a zone is local, as in what `collect` gives; one with a zone is what it says."""
    path = str(tmp_path / "t")
    spark.sql(
        "select timestamp'2024-01-31 12:00:00Z' as t union all select timestamp'2024-01-31 11:00:00Z'"
    ).write.parquet(path)
    df = spark.read.parquet(path).selectExpr("t", "1 as one")
    pipeline = Pipeline(df)
    noon = datetime(2024, 1, 31, 12, tzinfo=UTC)
    for asked in (noon, noon.astimezone(timezone(timedelta(hours=5))), datetime(2024, 1, 31, 13)):
        (row,) = pipeline.backward({"t": asked})["t"].collect()
        assert row["t"] == datetime(2024, 1, 31, 13)
