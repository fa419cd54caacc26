"""Pipelines that would come out differently if they ran again: questions are about the run that there was."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence as wh
from whence.errors import BadType, NoSuchRow, UnknownName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log


@pytest.fixture(scope="module")
def t(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("again") / "t.parquet")
    rows = spark.range(80).selectExpr("id", "id % 4 as k", "id % 11 as v", "timestamp'2024-01-01' as ts")
    rows.repartition(2).write.parquet(path)
    return spark.read.parquet(path)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with wh.open(tmp_path / "p.whence") as opened:
        yield opened


def named(found: Any) -> list[int]:
    """The ids of the rows that an answer names."""
    assert found.precise, found.reason
    return sorted(row.id for row in found["t"].collect())


CHANGING: dict[str, Callable[[DataFrame], DataFrame]] = {
    "uuid": lambda t: t.selectExpr("k", "uuid() as u"),
    "rand in a filter": lambda t: t.where("rand(3) < 0.5").groupBy("k").agg({"id": "collect_list"}),
    "a number of rows": lambda t: t.selectExpr("monotonically_increasing_id() as n", "k").orderBy("n"),
    "a sample of moved rows": lambda t: (
        t.repartition(3).sample(fraction=0.5, seed=1).groupBy("k").agg({"id": "collect_list"})
    ),
    "a limit without an order": lambda t: t.limit(20).groupBy("k").agg({"id": "collect_list"}),
}


@pytest.mark.parametrize("name", CHANGING)
def test_a_run_that_cannot_be_had_again_is_pinned(t: DataFrame, log: Log, name: str) -> None:
    df = CHANGING[name](t)
    pipeline = log.pipeline(df)
    assert "annotates each row with the ids of its source rows" in pipeline.explain()
    out = pipeline.run()
    assert out.schema.simpleString() == df.schema.simpleString()
    rows = out.collect()
    assert out.collect() == rows  # the output is what it was
    assert len(rows) == len(set(map(repr, rows)))
    later = log.pipeline(df)  # as another program finds it
    seen: list[int] = []
    for row in rows[:4]:
        found = pipeline.backward(row)
        assert found.how == "annotated"
        ids = named(found)
        listed = next((value for value in row if isinstance(value, list)), None)
        assert ids == sorted(listed) if listed is not None else len(ids) == 1
        assert not set(ids) & set(seen)
        seen += ids
        assert named(later.backward(row)) == ids
        assert row in pipeline.forward("t", {"id": ids[0]}).collect()


def test_an_output_outlives_its_pipeline(t: DataFrame, log: Log) -> None:
    import gc

    out = log.pipeline(CHANGING["uuid"](t)).run()
    before = sorted(map(repr, out.collect()))
    gc.collect()
    assert sorted(map(repr, out.collect())) == before


def test_an_order_stays(t: DataFrame, log: Log) -> None:
    out = log.pipeline(t.selectExpr("id", "uuid() as u").orderBy("k", "id").repartition(1)).run()
    assert sorted(row.id for row in out.collect()) == list(range(80))
    out = log.pipeline(t.selectExpr("id", "uuid() as u").orderBy("id", ascending=False)).run()
    assert [row.id for row in out.collect()] == list(range(79, -1, -1))


def test_the_time_is_that_of_the_run(spark: SparkSession, t: DataFrame, log: Log) -> None:
    df = (
        t.where("ts < current_timestamp()")
        .groupBy("k")
        .count()
        .selectExpr("k", "count", "now() as at", "current_date() as day")
    )
    pipeline = log.pipeline(df)
    with pytest.raises(NoSuchRow, match="another run"):
        pipeline.backward({"k": 1, "at": datetime(2020, 1, 1, tzinfo=UTC)})
    started = datetime.now(UTC).replace(tzinfo=None)
    rows = pipeline.run().collect()
    at = rows[0]["at"].astimezone(UTC).replace(tzinfo=None)
    assert abs((at - started).total_seconds()) < 60
    assert {row["at"] for row in rows} == {rows[0]["at"]}
    found = pipeline.backward(rows[0])
    assert found.how == "saved"  # its rows are not annotated
    assert named(found) == [i for i in range(80) if i % 4 == rows[0].k]
    assert named(log.pipeline(df).backward(rows[0])) == named(found)
    later = pipeline.run().collect()
    assert later[0]["at"] > rows[0]["at"]
    with pytest.raises(NoSuchRow):
        pipeline.backward(rows[0])


def test_the_time_is_that_of_the_last_run(t: DataFrame, log: Log) -> None:
    df = t.selectExpr("id", "lag(v) over (partition by k order by id) as l", "now() as at")
    log.pipeline(df).run()
    row = log.pipeline(df).run().where("id = 9").collect()[0]
    found = log.pipeline(df).backward(row)
    assert found.how == "replayed"  # frames of rows are not traced by what a run saves
    assert named(found) == [5, 9]


@pytest.mark.parametrize("zone", ["America/Los_Angeles", "+05:30"])
def test_the_day_is_that_of_the_session(spark: SparkSession, t: DataFrame, log: Log, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        df = t.where("id < 3").selectExpr("id", "current_date() as day", "localtimestamp() as local")
        row = log.pipeline(df).run().collect()[0]
        theirs = df.collect()[0]
        assert abs((row.local - theirs.local).total_seconds()) < 60
        assert row.day == row.local.date()
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


def test_ties_are_looked_for_in_the_data(t: DataFrame, log: Log) -> None:
    by_id = t.selectExpr("id", "lag(v) over (partition by k order by id) as l")
    found = log.pipeline(by_id).backward({"id": 9})
    assert named(found) == [5, 9]
    by_value = t.selectExpr("id", "lag(v) over (partition by k order by v) as l")
    found = log.pipeline(by_value).backward({"id": 9})
    assert not found.precise
    assert "may have ties" in str(found.reason)
    assert log.pipeline(by_value, mode="eager").backward({"id": 9}).reason == found.reason  # nothing ran yet


def test_a_save_that_fails_leaves_the_pipeline_running(t: DataFrame, log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr("whence.spark.running.annotated.written", full)
    pipeline = log.pipeline(CHANGING["uuid"](t))
    row = pipeline.run().collect()[0]
    assert "no space left on device" in pipeline.explain()
    assert len(named(pipeline.backward(row))) == 1


def test_equal_rows_are_distinguished_by_row_ids(t: DataFrame, log: Log) -> None:
    df = t.select("k", "k")  # twenty equal rows for each value, and two columns of one name
    pipeline = log.pipeline(df)
    rows = pipeline.run(row_ids=True).collect()
    assert [*df.columns, "_row_id"] == rows[0].__fields__
    assert len({row["_row_id"] for row in rows}) == 80
    seen = [named(pipeline.backward(row, one=True)) for row in rows[:3]]
    assert all(len(each) == 1 for each in seen)
    assert len({*map(tuple, seen)}) == 3
    later = log.pipeline(df)
    assert named(later.backward({"_row_id": rows[2]["_row_id"]})) == seen[2]
    assert pipeline.forward("t", {"id": seen[1][0]}).collect() == [rows[1]]
    pipeline.run()
    assert len(named(pipeline.backward((1, 1)))) == 20


def test_row_ids_that_cannot_be(t: DataFrame, log: Log) -> None:
    with pytest.raises(BadType, match="_row_id"):
        log.pipeline(t.selectExpr("k as _ROW_ID")).run(row_ids=True)
    with pytest.raises(BadType, match="never"):
        log.pipeline(t.select("k"), save="never").run(row_ids=True)
    with pytest.raises(UnknownName, match="_row_id"):
        log.pipeline(t.select("k")).backward({"_row_id": 1})


def test_row_ids_in_eager_mode(t: DataFrame, log: Log) -> None:
    pipeline = log.pipeline(t.select("k"), mode="eager")
    assert pipeline.run().columns == ["k"]
    row = pipeline.run(row_ids=True).collect()[5]
    assert len(named(pipeline.backward(row, one=True))) == 1
