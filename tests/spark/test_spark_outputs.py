"""Outputs of runs: what they are, and pipelines that go on from them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence as wh
from whence.errors import BadType, SourceChanged
from whence.spark.pipeline import Pipeline
from whence.spark.running import outputs
from whence.spark.running.execute import likely_small

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log


@pytest.fixture
def orders(spark: SparkSession, tmp_path: Path) -> DataFrame:
    path = tmp_path / "orders.parquet"
    rows = spark.range(60).selectExpr("id", "id % 7 as who", "cast(id as decimal(8,2)) as price", "'x' as x")
    rows.coalesce(1).write.parquet(str(path))
    return spark.read.parquet(str(path))


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with wh.open(tmp_path / "p.whence") as opened:
        yield opened


def totals(orders: DataFrame) -> DataFrame:
    return orders.where("id < 40").groupBy("who").sum("price").withColumnRenamed("sum(price)", "total").orderBy("who")


def is_local(df: DataFrame) -> bool:
    return "LocalTableScan" in df._jdf.queryExecution().executedPlan().toString()


def lineage(pipeline: Pipeline, row: dict[str, Any]) -> list[str]:
    found = pipeline.backward(row)
    assert found.precise
    return sorted(map(repr, found.identities("orders").to_pylist()))


def test_a_small_output_is_what_the_frame_gives(spark: SparkSession, orders: DataFrame, log: Log) -> None:
    named = orders.selectExpr("who", "who as WHO", "array(price) as a", "named_struct('x', id) as s", "x", "x")
    for df in (totals(orders), named, orders.where("id < 0"), orders.selectExpr("1 as one").limit(1)):
        out = log.pipeline(df).run()
        assert is_local(out)
        assert out.schema == df.schema
        assert out.collect() == df.collect()
        assert out.count() == df.count()


TYPES = """
select * from values
  (1Y, 2S, 3, 4L, 0.5F, double('NaN'), -0.0D, true, 'é', X'00ff', date'0001-01-01',
   timestamp'0001-01-02 03:04:05.678901',
   timestamp_ntz'9999-12-31 23:59:59.999999', cast('12345678901234567890.123456789012345678' as decimal(38,18)),
   array(1, null), map('a', null, 'b', 2), named_struct('x', 1, 'y', array(named_struct('z', 'q')))),
  (null, null, null, null, null, double('infinity'), 0.0D, null, null, null, date'9999-12-31',
   timestamp'2024-03-31 02:30:00', timestamp_ntz'1582-10-10 00:00:00', null, null, null, null)
  as t(b, s, i, l, f, d, z, o, t, y, day, at, local, dec, a, m, st)
"""


@pytest.mark.parametrize("zone", ["UTC", "America/Los_Angeles", "Europe/Berlin"])
def test_values_of_all_types(spark: SparkSession, log: Log, zone: str) -> None:
    before = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", zone)
    try:
        df = spark.sql(TYPES)
        out = log.pipeline(df).run()
        assert is_local(out)
        assert out.schema == df.schema
        as_text = [f"to_json(struct({name})) as {name}" if name in ("a", "m", "st") else f"cast({name} as string)"
                   for name in df.columns if name != "y"]  # fmt: skip
        text = [frame.selectExpr(*as_text, "hex(y) as y").collect() for frame in (out, df)]
        assert text[0] == text[1]
    finally:
        spark.conf.set("spark.sql.session.timeZone", str(before))


@pytest.mark.parametrize(
    "onward",
    [
        lambda df, out: out.where("who > 2").select("who"),
        lambda df, out: out.alias("a").join(out.alias("b"), "who").selectExpr("who", "a.total + b.total as t"),
        lambda df, out: df.join(out.alias("o"), "who").selectExpr("who", "o.total"),
        lambda df, out: out.union(out).groupBy("who").count(),
        lambda df, out: out.union(df).distinct(),
        lambda df, out: out.limit(4),
        lambda df, out: out.where("total > (select avg(total) from totals)"),
        lambda df, out: df.where("who in (select who from totals where total > 100)"),
    ],
)
def test_a_pipeline_over_it_reads_on(
    orders: DataFrame, log: Log, onward: Callable[[DataFrame, DataFrame], DataFrame]
) -> None:
    df = totals(orders)
    out = log.pipeline(df, name="totals").run()
    answers = []
    for first in (out, df):
        first.createOrReplaceTempView("totals")
        made = onward(df, first)
        rows = made.collect()
        assert len(rows) > 1
        pipelines = [log.pipeline(made, mode=mode) for mode in ("lazy", "eager")]
        for pipeline in pipelines:
            assert pipeline.sources == ("orders",)
            answers.append([lineage(pipeline, row.asDict()) for row in sorted(rows)])
        again = pipelines[0].run()
        assert sorted(again.collect()) == sorted(rows)
        answers.append([lineage(log.pipeline(again.where("who >= 0")), row.asDict()) for row in sorted(rows)])
    assert all(each == answers[0] for each in answers)
    assert all(answers[0])


def test_an_output_of_what_has_changed_since(orders: DataFrame, log: Log, tmp_path: Path) -> None:
    out = log.pipeline(totals(orders)).run()
    before = out.collect()
    orders.sparkSession.range(5).selectExpr("id", "id as who", "1.00BD as price", "'y' as x").write.mode(
        "append"
    ).parquet(str(tmp_path / "orders.parquet"))
    assert out.collect() == before
    with pytest.raises(SourceChanged, match="'orders' has changed"):
        log.pipeline(out.where("who = 3"))


def test_an_output_is_no_source(orders: DataFrame, log: Log) -> None:
    out = log.pipeline(totals(orders)).run()
    with pytest.raises(BadType, match="names a DataFrame that is computed"):
        log.pipeline(out.where("who = 3"), sources={"report": out})


def test_what_is_large_or_cannot_stand_twice_is_cached(
    orders: DataFrame, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped = totals(orders).mapInPandas(lambda frames: frames, "who bigint, total decimal(18,2)")
    pipeline = log.pipeline(mapped)
    out = pipeline.run()
    assert out.storageLevel.useMemory
    assert len(out.collect()) == 7
    monkeypatch.setattr(outputs, "MOST_ROWS", 3)
    pipeline = log.pipeline(totals(orders))
    out = pipeline.run()
    assert out.storageLevel.useMemory
    assert lineage(log.pipeline(out.select("who")), {"who": 3}) == lineage(pipeline, {"who": 3})


def test_a_frame_that_was_cached_stays_the_output(orders: DataFrame, log: Log) -> None:
    df = totals(orders).cache()
    out = log.pipeline(df).run()
    assert out.collect() == df.collect()
    assert df.storageLevel.useMemory
    df.unpersist()


def test_outputs_of_long_ago_are_sources_of_their_own(
    orders: DataFrame, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "REMEMBERED", 1)
    first = log.pipeline(totals(orders)).run()
    log.pipeline(totals(orders).select("who")).run()
    pipeline = log.pipeline(first.select("who"))
    assert pipeline.sources == ("source_1",)
    found = pipeline.backward({"who": 3})
    assert found.precise
    assert [row.who for row in found["source_1"].collect()] == [3]


def test_a_run_that_was_small_is_not_cached_the_next_time(orders: DataFrame, log: Log) -> None:
    assert not likely_small(log.pipeline(totals(orders), name="totals").analysis)
    log.pipeline(totals(orders), name="totals").run()
    assert likely_small(log.pipeline(totals(orders), name="totals").analysis)
    assert not likely_small(log.pipeline(totals(orders).select("who"), name="totals").analysis)


def test_an_output_that_cannot_be_local_is_cached_and_said(
    orders: DataFrame, log: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(*_: object) -> None:
        raise ValueError("no room for local data")

    monkeypatch.setattr("whence.spark.running.outputs._local_relation", refused)
    p = log.pipeline(totals(orders))
    out = p.run()
    assert out.storageLevel.useMemory
    assert out.collect() == totals(orders).collect()
    assert "no room for local data" in p.explain()


def test_a_run_leaves_the_description_of_jobs_as_it_was(spark: SparkSession, orders: DataFrame, log: Log) -> None:
    spark.sparkContext.setJobDescription("the user's own")
    try:
        log.pipeline(totals(orders)).run()
        assert spark.sparkContext.getLocalProperty("spark.job.description") == "the user's own"
    finally:
        spark.sparkContext.setLocalProperty("spark.job.description", None)  # type: ignore[arg-type] # None clears it
