"""Where a plan begins: names of sources, rows that were made outside of the plan, and files that a cache outlives."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest
from pyspark.sql import functions as F

import whence as wh
from whence.errors import SourceChanged, UnknownName

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log

ORDERS = pd.DataFrame({"id": [1, 2, 3, 4], "who": ["ann", "bob", "ann", "cid"], "amount": [30, 5, 12, 8]})


@pytest.fixture
def path(tmp_path: Path) -> str:
    where = tmp_path / "orders.parquet"
    ORDERS.to_parquet(where)
    return str(where)


@pytest.fixture
def orders(spark: SparkSession, path: str) -> DataFrame:
    return spark.read.parquet(path)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with wh.open(tmp_path / "p.whence") as opened:
        yield opened


@pytest.fixture
def views(spark: SparkSession) -> Iterator[Callable[..., None]]:
    made: list[str] = []

    def make(**frames: DataFrame) -> None:
        for name, df in frames.items():
            df.createOrReplaceTempView(name)
            made.append(name)

    yield make
    for name in made:
        spark.catalog.dropTempView(name)


def ids(found: Any) -> dict[str, list[int]]:
    return {name: sorted(row.id for row in found[name].collect()) for name in found}


def answers(log: Log, df: Any, row: Any, **options: Any) -> list[Any]:
    """The answer without a run, and after one."""
    pipeline = log.pipeline(df, **options)
    before = pipeline.backward(row)
    pipeline.run()
    return [before, pipeline.backward(row)]


# --- rows that were made outside of the plan


def _by_rdd(df: DataFrame) -> DataFrame:
    return df.where("id > 1").rdd.map(lambda row: (row.id, row.who)).toDF(["id", "who"])


CUTS: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "an RDD": (_by_rdd, "the RDD of a DataFrame"),
    "a local checkpoint": (lambda df: unseen(df.where("id > 1")), "a checkpoint"),
    "a checkpoint to come": (lambda df: unseen(df.where("id > 1"), eager=False), "a checkpoint"),
}


def unseen(df: DataFrame, eager: bool = True) -> DataFrame:
    """A checkpoint that was made before whence was loaded."""
    # functools.wraps sets it.
    return type(df).localCheckpoint.__wrapped__(df, eager)  # type: ignore[attr-defined,no-any-return]


@pytest.mark.parametrize("name", CUTS)
@pytest.mark.parametrize("kind", ["file", "list", "pandas"])
def test_a_cut_is_said_and_followed(spark: SparkSession, log: Log, orders: DataFrame, name: str, kind: str) -> None:
    source = orders
    if kind == "list":
        source = spark.createDataFrame(
            [tuple(row) for row in ORDERS.values.tolist()], "id long, who string, amount long"
        )
    elif kind == "pandas":
        source = spark.createDataFrame(ORDERS)
    make, why = CUTS[name]
    made = make(source)
    df = made.groupBy("who").count()
    for found in answers(log, df, {"who": "ann"}):
        assert list(found) == ["source_1"]
        assert not found.precise
        assert "source_1" in found.reason
        assert why in found.reason
        assert ids(found) == {"source_1": [3]}
    for found in answers(log, df, {"who": "ann"}, sources={"orders": source}):
        assert not found.precise  # any row of the DataFrame may have contributed
        assert why in found.reason
        assert ids(found) == {"orders": [1, 2, 3, 4]}
    for found in answers(log, df, {"who": "ann"}, sources={"made": made}):  # the lineage ends where the user says
        assert found.precise
        assert ids(found) == {"made": [3]}
    reached = log.pipeline(df, sources={"orders": source}).forward("orders", {"id": 1})
    assert not reached.precise
    assert why in str(reached.reason)
    assert sorted(row.who for row in reached.collect()) == ["ann", "bob", "cid"]


def test_a_checkpoint_beside_its_source(log: Log, orders: DataFrame, spark: SparkSession) -> None:
    other = spark.createDataFrame([(9, "ann")], "id long, who string")
    held = orders.join(other.select("who"), "who", "semi")  # no column of it is the other's
    for make, precise in ((unseen, False), (lambda df: df.localCheckpoint(), True)):
        both = make(held).select("id").join(orders.select("id", "amount"), "id")
        for found in answers(log, both, {"id": 1}, sources={"orders": orders, "other": other}):
            assert found.precise == precise
            assert ids(found) == ({"orders": [1], "other": [9]} if precise else {"orders": [1, 2, 3, 4], "other": [9]})


CHECKPOINTS: dict[str, Callable[[DataFrame], DataFrame]] = {
    "local": lambda df: df.localCheckpoint(),
    "to come": lambda df: df.localCheckpoint(eager=False),
    "on disk": lambda df: df.checkpoint(),
}


@pytest.mark.parametrize("kind", CHECKPOINTS)
def test_a_checkpoint_is_followed(spark: SparkSession, log: Log, orders: DataFrame, tmp_path: Path, kind: str) -> None:
    spark.sparkContext.setCheckpointDir(str(tmp_path / "checkpoints"))
    held = CHECKPOINTS[kind](orders.where("amount > 5").withColumn("twice", orders.amount * 2))
    df = held.groupBy("who").sum("twice")
    for found in answers(log, df, {"who": "ann"}):
        assert found.precise, found.reason
        assert ids(found) == {"orders": [1, 3]}
    assert log.pipeline(df).sources == ("orders",)
    reached = log.pipeline(df).forward("orders", {"id": 4})
    assert reached.precise
    assert [row.who for row in reached.collect()] == ["cid"]


def test_a_checkpoint_of_a_checkpoint_joined_with_itself(log: Log, orders: DataFrame) -> None:
    first = orders.where("amount > 5").localCheckpoint()
    second = first.groupBy("who").count().localCheckpoint()
    df = (
        first.alias("a")
        .join(second.alias("b"), "who")
        .join(first.alias("c"), "who")
        .selectExpr("a.id", "c.id as other")
    )
    for found in answers(log, df, {"id": 1, "other": 3}):
        assert found.precise, found.reason
        assert ids(found) == {"orders": [1, 3]}


NOT_FOLLOWED: dict[str, tuple[Callable[[DataFrame], DataFrame], str]] = {
    "a value of chance": (lambda df: df.withColumn("x", F.rand()), "rand"),
    "the time": (lambda df: df.withColumn("now", F.current_timestamp()), "at another time"),
    "rows in no order": (lambda df: df.limit(2), "Limit"),
    "a function of a group": (
        lambda df: df.groupBy("who").applyInPandas(lambda rows: rows, df.schema),
        "uses a function or a sample",
    ),
}


@pytest.mark.parametrize("name", NOT_FOLLOWED)
def test_a_checkpoint_that_cannot_be_computed_again_is_a_cut(log: Log, orders: DataFrame, name: str) -> None:
    make, why = NOT_FOLLOWED[name]
    held = make(orders).localCheckpoint()
    found = log.pipeline(held.groupBy("who").count()).backward({"who": held.collect()[0].who})
    assert list(found) == ["source_1"]
    assert not found.precise
    assert "that cannot be computed again" in str(found.reason)
    assert why in str(found.reason)


def test_a_checkpoint_outlives_its_file(log: Log, orders: DataFrame, path: str) -> None:
    """Write, checkpoint, overwrite: the rows are there, what they were made of is not."""
    held = orders.where("amount > 5").localCheckpoint()
    ORDERS.assign(amount=1).to_parquet(path)
    found = log.pipeline(held.groupBy("who").count()).backward({"who": "ann"})
    assert ids(found) == {"source_1": [1, 3]}
    assert not found.precise
    assert "has changed" in str(found.reason)


def test_a_checkpoint_that_is_named_is_a_source(log: Log, orders: DataFrame) -> None:
    held = orders.where("amount > 5").localCheckpoint()
    found = log.pipeline(held.groupBy("who").count(), sources={"held": held}).backward({"who": "ann"})
    assert found.precise
    assert ids(found) == {"held": [1, 3]}


def test_checkpoints_of_a_loop_are_followed_some_way(log: Log, orders: DataFrame) -> None:
    """What a checkpoint was made of stays in memory with it, so a long loop is cut now and then."""
    df = orders
    for _ in range(7):
        df = df.withColumn("amount", df.amount + 1).localCheckpoint()
    found = log.pipeline(df.groupBy("who").count()).backward({"who": "ann"})
    assert list(found) == ["source_1"]
    assert not found.precise
    few = orders
    for _ in range(3):
        few = few.withColumn("amount", few.amount + 1).localCheckpoint()
    found = log.pipeline(few.groupBy("who").count()).backward({"who": "ann"})
    assert found.precise
    assert ids(found) == {"orders": [1, 3]}


def test_a_checkpoint_is_forgotten_with_its_rows(spark: SparkSession, orders: DataFrame) -> None:
    """The plan of a checkpoint is held for as long as Spark holds the checkpoint, and no longer."""
    import gc
    import time

    from whence.spark.sources import checkpoints

    held = orders.where("amount > 5").localCheckpoint()
    known = checkpoints._plans[spark.sparkContext]
    leaf = held._jdf.queryExecution().analyzed()
    assert checkpoints.plan_of(leaf, spark.sparkContext) is not None
    before, end = int(known.size()), time.monotonic() + 60
    del held, leaf
    while int(known.size()) >= before and time.monotonic() < end:
        gc.collect()
        spark._jvm.System.gc()  # type: ignore[union-attr] # there is a session
        time.sleep(0.2)
    assert int(known.size()) < before


def test_wrapping_twice_is_wrapping_once() -> None:
    from pyspark.sql.classic.dataframe import DataFrame as Classic

    from whence.spark.sources.checkpoints import remember_checkpoints

    before = Classic.checkpoint, Classic.localCheckpoint
    remember_checkpoints()
    assert (Classic.checkpoint, Classic.localCheckpoint) == before
    assert vars(Classic.checkpoint)["__wrapped__"].__module__.startswith("pyspark")


def test_data_of_python_is_a_source(spark: SparkSession, log: Log) -> None:
    rows = [(1, "a"), (2, "b")]
    context = spark.sparkContext
    for df in (
        spark.createDataFrame(rows, ["id", "k"]),
        spark.createDataFrame(pd.DataFrame(rows, columns=["id", "k"])),
        spark.createDataFrame(context.parallelize(rows), ["id", "k"]),
    ):
        for found in answers(log, df.where("id < 2"), {"id": 1}):
            assert found.precise
            assert ids(found) == {"source_1": [1]}


def test_rows_without_a_name_say_that_the_lineage_ends(spark: SparkSession, log: Log, orders: DataFrame) -> None:
    made = spark.createDataFrame(orders.where("amount > 6").toPandas())
    found = log.pipeline(made.where("amount > 9"), name="large").backward({"id": 3})
    (note,) = found.notes
    assert "source_1 holds rows that the program passed to createDataFrame" in note
    assert note in repr(found)
    named = log.pipeline(made.where("amount > 9"), name="named", sources={"made": made}).backward({"id": 3})
    assert named.notes == ()
    assert log.pipeline(orders.where("amount > 9")).backward({"id": 3}).notes == ()


def test_a_frame_that_pandas_api_on_spark_computed_in_python(log: Log, orders: DataFrame) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that the type is inferred, which is why it is computed in Python
        doubled = orders.pandas_api()[["id", "amount"]].apply(lambda row: row * 2, axis=1)
    for found in answers(log, doubled, {"id": 4}):
        assert not found.precise
        assert "compute.shortcut_limit" in found.reason
    for found in answers(log, doubled, {"id": 4}, sources={"orders": orders}):
        assert not found.precise
        assert ids(found) == {"orders": [1, 2, 3, 4]}


# --- names


def test_a_name_for_nothing_is_an_error(spark: SparkSession, log: Log, orders: DataFrame) -> None:
    other = spark.createDataFrame([(1, "x")], "id long, k string")
    with pytest.raises(UnknownName, match="'other'.*does not read.*reads orders"):
        log.pipeline(orders.groupBy("who").count(), sources={"orders": orders, "other": other})
    again = spark.createDataFrame(orders.toPandas())
    with pytest.raises(UnknownName, match="'orders'.*reads source_1.*toPandas"):
        log.pipeline(again.groupBy("who").count(), sources={"orders": orders})


def test_two_names_for_one_file(
    spark: SparkSession, log: Log, orders: DataFrame, path: str, views: Callable[..., None]
) -> None:
    from pyspark.sql import functions as F

    views(billed=orders, shipped=orders)
    pairs = ORDERS.merge(ORDERS, on="who")
    wanted = pairs[(pairs.id_x == 1) & (pairs.id_y == 3)]
    sql = "select b.id, s.id as other from billed b join shipped s on b.who = s.who"
    for found in answers(log, spark.sql(sql), {"id": 1, "other": 3}):
        assert found.precise
        assert ids(found) == {"billed": wanted.id_x.tolist(), "shipped": wanted.id_y.tolist()}
    twice = sql.replace("shipped", "billed")
    for found in answers(log, spark.sql(twice), {"id": 1, "other": 3}):  # one name: one entry
        assert ids(found) == {"billed": [1, 3]}
    again = spark.read.parquet(path)
    renamed = again.selectExpr("id as other", "who as w")
    joined = orders.join(renamed, orders.who == F.col("w")).select("id", "other")
    for found in answers(log, joined, {"id": 1, "other": 3}, sources={"a": orders, "b": again}):
        assert found.precise
        assert ids(found) == {"a": [1], "b": [3]}
    swapped = log.pipeline(joined, sources={"b": again, "a": orders})
    assert ids(swapped.backward({"id": 1, "other": 3})) == {"a": [1], "b": [3]}
    assert sorted(row.other for row in swapped.forward("b", {"id": 3}).collect()) == [3, 3]
    for found in answers(log, joined, {"id": 1, "other": 3}, sources={"a": orders}):
        assert ids(found) == {"a": [1, 3]}
    # A copy that Catalyst makes of a DataFrame that is used twice keeps its name.
    third = orders.selectExpr("id as third", "who as v")
    more = joined.join(third, F.col("third") == F.col("id")).select("id", "other", "third")
    for found in answers(log, more, {"id": 1, "other": 3}, sources={"b": again, "a": orders}):
        assert ids(found) == {"a": [1], "b": [3]}


def test_metadata_and_paths_in_sql_keep_the_name(spark: SparkSession, log: Log, orders: DataFrame, path: str) -> None:
    with_file = orders.select("id", "_metadata.file_name")
    in_sql = spark.sql(f"select id, amount from parquet.`{path}`")
    for df in (with_file, in_sql):
        for found in answers(log, df, {"id": 2}):
            assert found.precise
            assert ids(found) == {"orders": [2]}
        for found in answers(log, df, {"id": 2}, sources={"bought": orders}):
            assert found.precise
            assert ids(found) == {"bought": [2]}


def test_metadata_of_one_use_of_a_file(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    """One entry, whichever of its uses asks for the metadata, and rows are identified by file and number."""
    folder = tmp_path / "parts"
    folder.mkdir()
    ORDERS[:2].to_parquet(folder / "one.parquet")
    ORDERS[2:].to_parquet(folder / "two.parquet")
    t = spark.read.parquet(str(folder))
    files = t.selectExpr("id as other", "who as w", "_metadata.file_name as file")
    for left, right in ((t, files), (files, t)):
        df = left.join(right, files.w == t.who).select("id", "other", "file")
        for found in answers(log, df, {"id": 1, "other": 3}):
            assert found.precise
            assert ids(found) == {"parts": [1, 3]}
            places = found.identities("parts").to_pylist()
            assert [(Path(each["_file"]).name, each["_row"]) for each in places] == [
                ("one.parquet", 0),
                ("two.parquet", 0),
            ]
        pipeline = log.pipeline(df)
        assert len(pipeline.backward({"id": 1, "other": 3}).occurrences["parts"]) == 2
        reached = pipeline.forward("parts", {"id": 3}).collect()
        assert sorted((row.id, row.other) for row in reached) == [(1, 3), (3, 1), (3, 3)]


# --- caches


def _overwritten(path: str, frame: pd.DataFrame) -> None:
    frame.to_parquet(path)
    os.utime(path, (2_000_000_000, 2_000_000_000))  # whatever the clock's resolution is


def test_a_cache_that_outlives_its_file(spark: SparkSession, log: Log, orders: DataFrame, path: str) -> None:
    cached = orders.cache()
    try:
        assert cached.count() == 4
        earlier = log.pipeline(cached.groupBy("who").count())
        earlier.run()
        _overwritten(path, ORDERS.assign(id=ORDERS.id + 100))
        with pytest.raises(SourceChanged, match="orders"):
            earlier.backward({"who": "ann"})
        with pytest.raises(SourceChanged, match="since Spark cached"):  # a DataFrame from before
            log.pipeline(cached.where("amount > 5"))
        fresh = spark.read.parquet(path)
        assert fresh.where("id > 100").count() == 0  # Spark answers from the cache
        with pytest.raises(SourceChanged, match="since Spark cached.*clearCache"):
            log.pipeline(fresh.groupBy("who").count())
    finally:
        cached.unpersist()
        spark.catalog.clearCache()
    found = log.pipeline(spark.read.parquet(path).groupBy("who").count()).backward({"who": "ann"})
    assert ids(found) == {"orders": [101, 103]}


def test_a_file_that_changed_after_the_frame_was_made(log: Log, orders: DataFrame, path: str) -> None:
    _overwritten(path, ORDERS.assign(id=ORDERS.id + 100))
    pipeline = log.pipeline(orders.groupBy("who").count())
    with pytest.raises(SourceChanged, match="since the DataFrame was made"):
        pipeline.backward({"who": "ann"})
    with pytest.raises(SourceChanged, match="since the DataFrame was made"):
        pipeline.run()


def test_partitions_whose_name_begins_like_a_hidden_file(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "days"
    spark.createDataFrame(ORDERS).withColumnRenamed("who", "_who").write.partitionBy("_who").parquet(str(folder))
    df = spark.read.parquet(str(folder)).groupBy("_who").count()
    pipeline = log.pipeline(df)
    assert ids(pipeline.backward({"_who": "ann"})) == {"days": [1, 3]}
    (part,) = (folder / "_who=bob").glob("*.parquet")
    _overwritten(str(part), ORDERS[["id", "amount"]])
    with pytest.raises(SourceChanged, match="_who=bob"):
        pipeline.backward({"_who": "ann"})


def test_files_that_were_not_read_may_change(spark: SparkSession, log: Log, tmp_path: Path) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    ORDERS.to_parquet(folder / "a.parquet")
    (folder / "notes.txt").write_text("one")
    df = spark.read.option("pathGlobFilter", "*.parquet").parquet(str(folder))
    found = log.pipeline(df.groupBy("who").count()).backward({"who": "ann"})
    assert ids(found) == {"many": [1, 3]}
