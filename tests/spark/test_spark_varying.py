"""Python functions that give something else in each run: the run is pinned, and without one the answer says so."""

from __future__ import annotations

import functools
import itertools
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest

import whence as wh
from whence.errors import NoSuchRow

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from whence.log import Log

numbers = itertools.count()
calls = 0


class Counter:
    def __init__(self) -> None:
        self.n = 0

    def __call__(self, k: int) -> str:
        self.n += 1
        return f"{self.n}-{time.time_ns()}"

    def method(self, k: int) -> str:
        return self(k)


def helper(k: int) -> str:
    return f"{k}-{uuid.uuid4()}"


def in_a_global(k: int) -> str:
    global calls
    calls += 1
    return f"{calls}-{random.random()}"


def closed_over() -> Callable[[int], str]:
    seen: list[int] = []

    def next_one(k: int) -> str:
        seen.append(k)
        return f"{len(seen)}-{datetime.now().timestamp()}"

    return next_one


COLUMNS: dict[str, Any] = {
    "uuid": lambda k: str(uuid.uuid4()),
    "random": lambda k: str(random.random()),
    "numpy": lambda k: str(np.random.default_rng().random()),
    "an iterator": lambda k: f"{next(numbers)}-{random.random()}",
    "a helper": lambda k: helper(k),
    "a global": in_a_global,
    "a closure": closed_over(),
    "an object": Counter(),
    "a bound method": Counter().method,
    "a partial": functools.partial(helper),
}


@pytest.fixture(scope="module", autouse=True)
def by_value() -> Iterator[None]:
    """Functions of this module go to the workers as those of a script or a notebook do."""
    from pyspark import cloudpickle as pickled

    cloudpickle: Any = pickled
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    yield
    cloudpickle.unregister_pickle_by_value(module)


@pytest.fixture(scope="module")
def t(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> DataFrame:
    path = str(tmp_path_factory.mktemp("varying") / "t.parquet")
    pd.DataFrame({"id": range(24), "k": [i % 4 for i in range(24)]}).to_parquet(path)
    return spark.read.parquet(path)


@pytest.fixture
def log(tmp_path: Path) -> Iterator[Log]:
    with wh.open(tmp_path / "p.whence") as opened:
        yield opened


def ids(found: Any) -> list[int]:
    return sorted(row.id for row in found["t"].collect())


def pinned(log: Log, df: DataFrame) -> Any:
    pipeline = log.pipeline(df)
    assert "annotates each row with the ids of its source rows" in pipeline.explain()
    return pipeline


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_of_chance(t: DataFrame, log: Log, name: str) -> None:
    from pyspark.sql import functions as F

    df = t.select("id", F.udf(COLUMNS[name], "string", useArrow=False)("k").alias("u")).select("u")
    pipeline = pinned(log, df)
    rows = pipeline.run().collect()
    seen = []
    for row in rows[:3]:
        found = pipeline.backward(row)
        assert found.precise, found.reason
        assert len(ids(found)) == 1
        seen += ids(found)
    assert len(set(seen)) == 3
    assert [each.u for each in pipeline.forward("t", {"id": seen[0]}).collect()] == [rows[0].u]


def test_without_a_run_the_row_is_not_there_and_the_error_says_why(t: DataFrame, log: Log) -> None:
    from pyspark.sql import functions as F

    df = t.select(F.udf(COLUMNS["uuid"], "string", useArrow=False)("k").alias("u"))
    row = df.collect()[0]
    with pytest.raises(NoSuchRow, match=r"another run may have had it.*uuid\.uuid4"):
        log.pipeline(df, save="never").backward(row)
    pipeline = log.pipeline(df)
    pipeline.run()
    with pytest.raises(NoSuchRow, match=r"rows that run\(\) returned.*uuid\.uuid4"):
        pipeline.backward(row)


def test_rows_picked_by_chance(t: DataFrame, log: Log, spark: SparkSession) -> None:
    """Groups of the rows that a function let through: the sums show which they were."""
    from pyspark.sql import functions as F

    spark.udf.register("coin", lambda k: random.random() < 0.5, "boolean")
    t.createOrReplaceTempView("flipped")
    try:
        by_sql = spark.sql("select k, collect_list(id) ids from flipped where coin(k) group by k")
        by_frame = (
            t.where(F.udf(lambda k: random.random() < 0.5, "boolean", useArrow=False)("k"))
            .groupBy("k")
            .agg(F.collect_list("id"))
        )
        for df, name in ((by_sql, "flipped"), (by_frame, "t")):
            pipeline = pinned(log, df)
            for row in pipeline.run().collect():
                found = pipeline.backward(row)
                assert found.precise
                assert sorted(each.id for each in found[name].collect()) == sorted(row[1])
            without = log.pipeline(df, save="never")
            found = without.backward({"k": without.run().collect()[0].k})
            assert not found.precise
            assert "random" in str(found.reason)
    finally:
        spark.catalog.dropTempView("flipped")


def test_pandas_functions(t: DataFrame, log: Log) -> None:
    from pyspark.sql.pandas.functions import pandas_udf

    def draw(k: pd.Series) -> pd.Series:
        return pd.Series(np.random.default_rng().random(len(k)))

    draw.__annotations__ = {"k": pd.Series, "return": pd.Series}
    make: Any = pandas_udf
    drawn = pinned(log, t.select(make(draw, "double")("k").alias("u")))
    row = drawn.run().collect()[5]
    assert len(ids(drawn.backward(row))) == 1

    def half(rows: pd.DataFrame) -> pd.DataFrame:
        return rows.sample(3)

    groups = pinned(log, t.groupBy("k").applyInPandas(half, t.schema))
    for row in groups.run().collect():
        found = groups.backward(row)
        assert found.precise
        assert ids(found) == [i for i in range(24) if i % 4 == row.k]

    def some(parts: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for part in parts:
            yield part.assign(u=[str(uuid.uuid4()) for _ in range(len(part))])[["u"]]

    mapped = pinned(log, t.mapInPandas(some, "u string"))
    found = mapped.backward(mapped.run().collect()[0])
    assert not found.precise  # any row of the input may have contributed
    assert ids(found) == list(range(24))

    def spread(k: pd.Series) -> float:
        return float(k.sum() + random.random())

    spread.__annotations__ = {"k": pd.Series, "return": float}
    added = pinned(log, t.groupBy("k").agg(make(spread, "double")("id").alias("s")).select("s"))
    for row in added.run().collect():
        found = added.backward(row)
        assert found.precise
        assert sum(ids(found)) == int(row.s)


def test_a_column_that_depends_on_its_batch(t: DataFrame, log: Log) -> None:
    """The difference from the mean of a batch: other rows in the batch would make it another one."""
    from pyspark.sql.pandas.functions import pandas_udf

    def from_mean(k: pd.Series) -> pd.Series:
        return k - k.mean()

    def places(parts: Iterator[pd.Series]) -> Iterator[pd.Series]:
        n = 0
        for part in parts:
            yield part * 0 + n
            n += len(part)

    def tripled(k: pd.Series) -> pd.Series:
        return k * 3

    make: Any = pandas_udf
    for function in (from_mean, tripled):
        function.__annotations__ = {"k": pd.Series, "return": pd.Series}
    places.__annotations__ = {"parts": Iterator[pd.Series], "return": Iterator[pd.Series]}
    batched: list[tuple[Any, str]] = [(from_mean, "double"), (places, "long")]
    for made, kind in batched:
        pipeline = pinned(log, t.where("id > 3").select("id", make(made, kind)("id").alias("u")))
        for row in pipeline.run().collect()[:2]:
            found = pipeline.backward({"u": row.u, "id": row.id})
            assert found.precise
            assert ids(found) == [row.id]
        assert not log.pipeline(pipeline.analysis.df, save="never").backward({"id": 7}).precise
    plain = log.pipeline(t.select(make(tripled, "long")("id").alias("u")))
    assert "carries" not in plain.explain()
    assert ids(plain.backward({"u": 21})) == [7]


def test_an_answer_without_rows_is_never_precise(t: DataFrame, log: Log, tmp_path: Path) -> None:
    """A function whose code shows nothing: it was changed by what a library reads."""
    from pyspark.sql import functions as F

    switch = tmp_path / "switch"
    reads = _reader(str(switch))
    df = t.where("id < 3").select(F.udf(reads, "long", useArrow=False)("id").alias("u"))
    pipeline = log.pipeline(df)
    pipeline.run()
    assert pipeline.backward({"u": 1}).precise
    switch.touch()
    found = pipeline.backward({"u": 1})
    assert not found.precise
    assert "no source row was found" in str(found.reason)
    none = log.pipeline(t.where("id < 0").groupBy().count())
    assert none.backward({"count": 0}).precise  # a global aggregate of no rows


def _reader(path: str) -> Callable[[int], int]:
    import filecmp  # a module that is not known to read files

    def reads(k: int) -> int:
        try:
            filecmp.cmp(path, path)
        except OSError:
            return k
        return k + 100

    return reads


def test_functions_that_do_not_vary_are_not_pinned(t: DataFrame, log: Log, spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    table = {0: "none", 1: "one"}
    shared, large = spark.sparkContext.broadcast(table), spark.sparkContext.broadcast([1, 2])
    much = "x" * (2 << 20)  # a function of this size is broadcast itself
    functions: tuple[Any, ...] = (
        lambda k: table.get(k, "many"),
        str,
        functools.partial(max, 2),
        lambda k: shared.value.get(k, "many"),
        lambda k: much[k] + str(large.value[0]),
    )
    for function in functions:
        pipeline = log.pipeline(t.select("id", F.udf(function, "string", useArrow=False)("k").alias("u")))
        assert "carries" not in pipeline.explain()
        pipeline.run()
        assert ids(pipeline.backward({"id": 3})) == [3]


def test_a_group_with_a_broadcast_variable(t: DataFrame, log: Log, spark: SparkSession) -> None:
    shared = spark.sparkContext.broadcast({0: 5})

    def added(rows: pd.DataFrame) -> pd.DataFrame:
        return pd.DataFrame({"k": rows["k"][:1], "s": [int(rows["id"].sum()) + shared.value.get(0, 0)]})

    pipeline = log.pipeline(t.groupBy("k").applyInPandas(added, "k long, s long"))
    found = pipeline.backward({"k": 2})
    assert found.precise
    assert ids(found) == [i for i in range(24) if i % 4 == 2]


def test_a_limit_of_rows_that_were_repartitioned(t: DataFrame, log: Log) -> None:
    pipeline = log.pipeline(t.repartition(3).limit(4))
    rows = pipeline.run().collect()
    assert len(rows) == 4
    for row in rows:
        found = pipeline.backward(row)
        assert found.precise
        assert ids(found) == [row["id"]]
