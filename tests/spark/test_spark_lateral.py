"""Lateral subqueries with a limit, recursion, and forward questions that reach nothing."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import whence
from whence.errors import NotTraceable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence import Log

NESTED = "id, id % 3 as k, array(id, id + 1) as a, named_struct('x', id, 'y', 's') as st, map('a', id) as m"


@pytest.fixture(autouse=True)
def views(spark: SparkSession, tmp_path: Path) -> None:
    """items: 0 to 5 with k = id % 3; keys: 1, 2 and 7, of which 7 has no items."""
    spark.sql(f"select {NESTED} from range(6)").coalesce(1).write.parquet(str(tmp_path / "items"))
    spark.createDataFrame([(1, "x"), (2, "y"), (7, "z")], "k long, v string").coalesce(1).write.parquet(
        str(tmp_path / "keys")
    )
    for name in ("items", "keys"):
        spark.read.parquet(str(tmp_path / name)).createOrReplaceTempView(name)


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return whence.open(tmp_path / "log")


LATERAL = [
    (
        "select keys.k, x.id from keys, lateral "
        "(select id from items where items.k = keys.k order by id desc limit 2) x",
        {"k": 1, "id": 1},
        {"keys": [1], "items": [1]},
    ),
    (
        "select keys.k, x.id from keys left join lateral "
        "(select id from items where items.k = keys.k order by id limit 1) x",
        {"k": 7, "id": None},
        {"keys": [7], "items": []},
    ),
    (
        "select keys.k, x.id from keys, lateral "
        "(select id from items where items.k > keys.k order by id desc limit 1) x",
        {"k": 1, "id": 5},
        {"keys": [1], "items": [5]},
    ),
    (
        "select keys.k, x.id from keys, lateral "
        "(select id from items where items.k = keys.k order by id desc limit 1 offset 1) x",
        {"k": 2, "id": 2},
        {"keys": [2], "items": [2]},
    ),
    (
        "select keys.k, x.s from keys, lateral "
        "(select sum(id) s from (select id from items where items.k = keys.k order by id desc limit 1)) x",
        {"k": 2, "s": 5},
        {"keys": [2], "items": [5]},
    ),
    (
        "select k, (select id from items where items.k = keys.k order by id desc limit 1) n from keys",
        {"k": 2, "n": 5},
        {"keys": [2], "items": [5]},
    ),
]


@pytest.mark.parametrize(("text", "row", "lineage"), LATERAL)
def test_a_limit_in_a_lateral_subquery_keeps_the_row_alone(
    spark: SparkSession, log: Log, text: str, row: dict[str, object], lineage: dict[str, list[int]]
) -> None:
    df = spark.sql(text)
    choices: tuple[dict[str, Any], ...] = ({"mode": "eager"}, {"save": "never"}, {})
    for options in choices:
        pipeline = log.pipeline(df, **options)
        if options != {"save": "never"}:
            pipeline.run()
        found = pipeline.backward(row)
        assert found.precise
        assert {name: sorted(each[0] for each in found[name].collect()) for name in found} == lineage


@pytest.mark.parametrize("order", ["order by k", ""])
def test_ties_at_the_limit_of_a_lateral_subquery_are_said(spark: SparkSession, log: Log, order: str) -> None:
    text = f"select keys.k, x.id from keys, lateral (select id from items where items.k = keys.k {order} limit 1) x"
    found = log.pipeline(spark.sql(text), save="never")
    lineage = found.backward(spark.sql(text).collect()[0])
    assert not lineage.precise
    assert "may have ties" in str(lineage.reason)


def test_a_row_number_that_the_user_wrote_counts_the_rows_before(spark: SparkSession, log: Log) -> None:
    text = (
        "with r as (select k, id, row_number() over (partition by k order by id) as rn from items) "
        "select a.k, a.id, b.id as other from r a join r b on a.k = b.k where a.rn <= 2 and b.rn <= 1"
    )
    pipeline = log.pipeline(spark.sql(text), mode="eager")
    pipeline.run()
    found = pipeline.backward({"k": 1, "id": 4, "other": 1})
    assert [[row.id for row in each.collect()] for each in found.occurrences["items"]] == [[1, 4], [1]]


def test_recursion_is_refused_with_advice(spark: SparkSession, log: Log) -> None:
    text = (
        "with recursive r(n) as (select k from keys where k = 1 union all select n + 1 from r where n < 5) "
        "select * from r"
    )
    with pytest.raises(NotTraceable, match=r"WITH RECURSIVE \(Catalyst's UnionLoop\).*Write the recursive result"):
        log.pipeline(spark.sql(text))


@pytest.mark.parametrize("options", [{"save": "never"}, {}, {"mode": "eager"}])
def test_forward_that_reaches_nothing_with_nested_columns(
    spark: SparkSession, log: Log, options: dict[str, Any]
) -> None:
    for text in (
        "select * from items where id > 2",
        "select items.a, st, v from items join keys on items.k = keys.k",
        "select k, collect_list(st) as l from items where id > 2 group by k",
    ):
        pipeline = log.pipeline(spark.sql(text), **options)
        if options != {"save": "never"}:
            pipeline.run()
        reached = pipeline.forward("items", {"id": 0})
        assert reached.collect() == []
        assert reached.columns == spark.sql(text).columns
        if "keys" in pipeline.sources:
            assert pipeline.forward("keys", {"k": 7}).collect() == []
