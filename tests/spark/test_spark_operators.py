"""The lineage of every operator, by hand: nulls, duplicates, ties, missing sides, empty groups."""

# ruff: noqa: E501  # a case is one line: that is what makes them comparable
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest

from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Rows are known by `i`, the first column; the others have duplicates, ties and nulls.
T = [(1, "a", 10), (2, "a", 20), (3, "a", 20), (4, "b", None), (5, None, 7), (6, None, 7), (7, "b", 5)]
U = [(11, "a", 1), (12, "a", 2), (13, "c", 3), (14, None, 4), (15, "b", 20)]

Answer = dict[str, list[int]]
Ask = Callable[..., Answer]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> None:
    spark.createDataFrame(T, "i int, k string, v int").createOrReplaceTempView("t")
    spark.createDataFrame(U, "j int, k string, w int").createOrReplaceTempView("u")
    spark.createDataFrame(
        [(21, [1, 2]), (22, []), (23, None), (24, [2, None])], "i int, xs array<int>"
    ).createOrReplaceTempView("n")
    spark.createDataFrame([(31, 1), (32, 2)], "i int, x int").createOrReplaceTempView("whole")
    spark.createDataFrame([], "i int, x int").createOrReplaceTempView("nothing")


def answered(df: DataFrame, row: Any, **how: Any) -> Answer:
    """The first column of each source's rows; what is not precise is not an answer here."""
    lineage = Pipeline(df).backward(row, **how)
    assert lineage.precise, lineage.reason
    return {name: sorted(each[0] for each in lineage[name].collect()) for name in lineage}


CASES: list[tuple[str, str, Any, Answer]] = [
    ("filter", "select * from t where v > 7", {"i": 2}, {"t": [2]}),
    ("equal rows share", "select k, v from t where v = 20", {"k": "a"}, {"t": [2, 3]}),
    ("null is a value", "select k, v from t", {"k": None}, {"t": [5, 6]}),
    ("computed column", "select v * 2 + 1 as x, i from t", {"x": 41}, {"t": [2, 3]}),
    ("case and cast", "select case when v > 7 then 'big' else cast(v as string) end as x from t", {"x": "big"}, {"t": [1, 2, 3]}),
    ("inner join", "select i, j from t join u on t.k = u.k", {"i": 1, "j": 12}, {"t": [1], "u": [12]}),
    ("inner join, all partners", "select i from t join u on t.k = u.k", {"i": 1}, {"t": [1], "u": [11, 12]}),
    ("join by range", "select i, j from t join u on t.v < u.w", {"i": 7}, {"t": [7], "u": [15]}),
    ("null-safe join", "select i, j from t join u on t.k <=> u.k", {"i": 5}, {"t": [5], "u": [14]}),
    ("left join, matched", "select i, j from t left join u on t.k = u.k", {"i": 4}, {"t": [4], "u": [15]}),
    ("left join, missing", "select i, j from t left join u on t.k = u.k", {"i": 5}, {"t": [5], "u": []}),
    ("right join, missing", "select i, j from t right join u on t.k = u.k", {"j": 13}, {"t": [], "u": [13]}),
    ("full join, left only", "select i, j from t full join u on t.k = u.k", {"i": 6}, {"t": [6], "u": []}),
    ("full join, right only", "select i, j from t full join u on t.k = u.k", {"j": 14}, {"t": [], "u": [14]}),
    ("cross join", "select i, j from t cross join u", {"i": 1, "j": 13}, {"t": [1], "u": [13]}),
    ("using", "select k, i, j from t full join u using (k)", {"k": "c"}, {"t": [], "u": [13]}),
    ("semi join", "select i from t left semi join u on t.k = u.k", {"i": 2}, {"t": [2], "u": [11, 12]}),
    ("exists", "select i from t where exists (select 1 from u where u.k = t.k)", {"i": 1}, {"t": [1], "u": [11, 12]}),
    ("exists, not equal", "select i from t where exists (select 1 from u where u.w > t.v)", {"i": 5}, {"t": [5], "u": [15]}),
    ("exists, uncorrelated", "select i from t where exists (select 1 from u where w > 3)", {"i": 1}, {"t": [1], "u": [14, 15]}),
    ("in", "select i from t where v in (select w from u)", {"i": 2}, {"t": [2], "u": [15]}),
    ("exists under or", "select i from t where i = 4 or exists (select 1 from u where u.k = t.k)", {"i": 4}, {"t": [4], "u": [15]}),
    ("exists under or, missing", "select i from t where i = 5 or exists (select 1 from u where u.k = t.k)", {"i": 5}, {"t": [5], "u": []}),
    ("anti join", "select i from t left anti join u on t.k = u.k", {"i": 5}, {"t": [5], "u": []}),
    ("not exists", "select j from u where not exists (select 1 from t where u.k = t.k)", {"j": 13}, {"u": [13], "t": []}),
    ("not in", "select j from u where j not in (select i from t)", {"j": 13}, {"u": [13], "t": []}),
    ("not in, null inside is nothing", "select w from u where w not in (select v from t where v is not null)", {"w": 1}, {"u": [11], "t": []}),
    ("not in, correlated", "select j from u where w not in (select v from t where t.k = u.k and v is not null)", {"j": 15}, {"u": [15], "t": []}),
    ("scalar, correlated", "select i from t where v = (select max(v) from t t2 where t2.k = t.k)", {"i": 2}, {"t": [2, 3]}),
    ("scalar, correlated count of nothing", "select i from t where (select count(*) from u where u.k = t.k) = 0", {"i": 5}, {"t": [5], "u": []}),
    ("scalar in a select list", "select i, (select sum(w) from u where u.k = t.k) s from t", {"i": 1}, {"t": [1], "u": [11, 12]}),
    ("scalar, uncorrelated", "select i from t where v > (select avg(w) from u where k = 'a')", {"i": 1}, {"t": [1], "u": [11, 12]}),
    ("scalar beside an aggregate", "select k, sum(v) / (select sum(w) from u where k = 'c') q from t group by k", {"k": "a"}, {"t": [1, 2, 3], "u": [13]}),
    ("scalar inside an aggregate", "select k, sum(v + (select max(w) from u where k = 'c')) q from t group by k", {"k": "b"}, {"t": [4, 7], "u": [13]}),
    ("union all, own branch", "select k from t union all select k from u", {"k": "c"}, {"t": [], "u": [13]}),
    ("union all, both", "select k from t union all select k from u", {"k": "b"}, {"t": [4, 7], "u": [15]}),
    ("union", "select k from t union select k from u", {"k": "a"}, {"t": [1, 2, 3], "u": [11, 12]}),
    ("union of grouped and plain", "select k, count(*) n from t group by k union all select k, w from u", {"k": "a", "n": 3}, {"t": [1, 2, 3], "u": []}),
    ("intersect", "select k from t intersect select k from u", {"k": "a"}, {"t": [1, 2, 3], "u": [11, 12]}),
    ("intersect, null", "select k from t intersect select k from u", {"k": None}, {"t": [5, 6], "u": [14]}),
    ("intersect all", "select k from t intersect all select k from u", {"k": "a"}, {"t": [1, 2, 3], "u": [11, 12]}),
    ("except", "select k from u except select k from t", {"k": "c"}, {"u": [13], "t": []}),
    ("except all", "select k from t except all select k from u", {"k": "a"}, {"t": [1, 2, 3], "u": []}),
    ("distinct", "select distinct k, v from t", {"k": "a", "v": 20}, {"t": [2, 3]}),
    ("distinct, null", "select distinct k from t", {"k": None}, {"t": [5, 6]}),
    ("group by", "select k, sum(v) s from t group by k", {"k": "a"}, {"t": [1, 2, 3]}),
    ("group by null", "select k, count(*) n from t group by k", {"k": None}, {"t": [5, 6]}),
    ("group by an expression", "select v % 10 as r, count(*) n from t group by v % 10", {"r": 7}, {"t": [5, 6]}),
    ("group by, key not shown", "select sum(v) s from t group by k", {"s": 5}, {"t": [4, 7]}),
    ("keys alone", "select k from t group by k", {"k": "b"}, {"t": [4, 7]}),
    ("all rows", "select sum(v) s, count(*) n from t", {"n": 7}, {"t": [1, 2, 3, 4, 5, 6, 7]}),
    ("count of nothing", "select count(*) n from nothing", {"n": 0}, {"nothing": []}),
    ("max of nothing", "select max(x) n from nothing", {"n": None}, {"nothing": []}),
    ("max: the rows that attain it", "select k, max(v) m from t group by k", {"k": "a"}, {"t": [2, 3]}),
    ("min and max", "select k, min(v) a, max(v) b from t group by k", {"k": "a"}, {"t": [1, 2, 3]}),
    ("max ignores null", "select k, max(v) m from t group by k", {"k": "b"}, {"t": [7]}),
    ("max of nulls only", "select max(v) m from t where v is null", {"m": None}, {"t": [4]}),
    ("max inside an expression", "select k, max(v) + 1 m from t group by k", {"k": "a"}, {"t": [2, 3]}),
    ("max with a filter", "select k, max(v) filter (where v < 20) m from t group by k", {"k": "a"}, {"t": [1]}),
    ("max, filter lets none through", "select k, max(v) filter (where v > 90) m from t group by k", {"k": "a"}, {"t": [1, 2, 3]}),
    ("max beside sum is the group", "select k, max(v) m, sum(v) s from t group by k", {"k": "a"}, {"t": [1, 2, 3]}),
    ("having", "select k, sum(v) s from t group by k having count(*) = 3", {"k": "a"}, {"t": [1, 2, 3]}),
    ("distinct aggregates", "select count(distinct v) a, count(distinct k) b from t", {"a": 4}, {"t": [1, 2, 3, 4, 5, 6, 7]}),
    ("group of groups", "select n, count(*) c from (select k, count(*) n from t group by k) group by n", {"n": 2}, {"t": [4, 5, 6, 7]}),
    ("rollup, one group", "select k, v, count(*) n from t group by rollup(k, v)", {"k": "a", "v": 20}, {"t": [2, 3]}),
    ("rollup, subtotal", "select k, grouping_id() g, count(*) n from t group by rollup(k, v)", {"k": "a", "g": 1}, {"t": [1, 2, 3]}),
    ("rollup, total", "select k, grouping_id() g, count(*) n from t group by rollup(k, v)", {"g": 3}, {"t": [1, 2, 3, 4, 5, 6, 7]}),
    ("pivot", "select * from (select k, v, i from t) pivot (sum(i) for v in (20, 7))", {"k": "a"}, {"t": [2, 3]}),
    ("pivot, nothing listed", "select * from (select k, v, i from t) pivot (sum(i) for v in (98, 99))", {"k": "a"}, {"t": [1, 2, 3]}),
    ("unpivot", "select * from (select i, v, i + 1 as z from t) unpivot (val for what in (v, z))", {"i": 1, "what": "z"}, {"t": [1]}),
    ("order and limit", "select i from t order by v desc, i limit 2", {"i": 3}, {"t": [3]}),
    ("limit and offset", "select i from t order by i limit 2 offset 3", {"i": 4}, {"t": [4]}),
    ("top rows, summed", "select sum(v) s from (select * from t order by i, k, v limit 2)", {"s": 30}, {"t": [1, 2]}),
    ("explode", "select i, explode(xs) x from n", {"x": 2}, {"n": [21, 24]}),
    ("explode outer of nothing", "select i, x from n lateral view outer explode(xs) as x", {"i": 22}, {"n": [22]}),
    ("posexplode", "select i, p, x from n lateral view posexplode(xs) as p, x", {"p": 1, "x": None}, {"n": [24]}),
    ("explode, then count", "select x, count(*) c from (select explode(xs) x from n) group by x", {"x": 2}, {"n": [21, 24]}),
    ("semi join after explode keeps copies", "select count(*) c from (select explode(array(1, 1)) x from t) y where exists (select 1 from whole w where w.x <= y.x)", {"c": 14}, {"t": [1, 2, 3, 4, 5, 6, 7], "whole": [31]}),
    ("sum over a partition", "select i, sum(v) over (partition by k) s from t", {"i": 1}, {"t": [1, 2, 3]}),
    ("running sum", "select i, sum(v) over (partition by k order by i) s from t", {"i": 2}, {"t": [1, 2]}),
    ("running sum, ties", "select i, sum(v) over (partition by k order by v) s from t", {"i": 2}, {"t": [1, 2, 3]}),
    ("rows before", "select i, sum(v) over (order by i, v rows between 2 preceding and 1 preceding) s from t", {"i": 4}, {"t": [2, 3, 4]}),
    ("range", "select i, count(*) over (order by i range between 1 preceding and 1 following) s from t", {"i": 4}, {"t": [3, 4, 5]}),
    ("lag", "select i, lag(v, 2) over (order by i, v) l from t", {"i": 5}, {"t": [3, 5]}),
    ("lead past the end", "select i, lead(v) over (order by i, v) l from t", {"i": 7}, {"t": [7]}),
    ("row_number", "select i, row_number() over (partition by k order by i) r from t", {"i": 2}, {"t": [1, 2]}),
    ("ntile", "select i, ntile(2) over (partition by k order by i) r from t", {"i": 1}, {"t": [1, 2, 3]}),
    ("best of each", "select k, i from (select *, row_number() over (partition by k order by v desc, i) r from t) where r = 1", {"k": "a"}, {"t": [2]}),
    ("CTE twice", "with c as (select k, count(*) n from t group by k) select a.k, b.n from c a join c b on a.n = b.n", {"k": "b"}, {"t": [4, 5, 6, 7]}),
    ("self-join", "select a.i x, b.i y from t a join t b on a.v = b.v and a.i < b.i", {"x": 2}, {"t": [2, 3]}),
    ("exists in a scalar subquery", "select i, (select sum(w) from (select * from u where exists (select 1 from t b where b.k = u.k)) x where x.k = t.k) s from t", {"i": 1}, {"t": [1, 2, 3], "u": [11, 12]}),
    ("not exists in exists", "select i from t where exists (select 1 from (select * from u where not exists (select 1 from t b where b.v = u.w)) x where x.k = t.k)", {"i": 1}, {"t": [1], "u": [11, 12]}),
    ("exists in in", "select i from t where k in (select k from u where exists (select 1 from t b where b.v = u.w))", {"i": 4}, {"t": [2, 3, 4], "u": [15]}),
    ("scalar in a scalar subquery", "select i, (select max(q) from (select k, (select max(v) from t b where b.k = u.k) q from u) x where x.k = t.k) s from t", {"i": 4}, {"t": [4, 7], "u": [15]}),
    ("lateral", "select i, s from t, lateral (select sum(w) s from u where u.k = t.k)", {"i": 1}, {"t": [1], "u": [11, 12]}),
    ("lateral, by range", "select i, s from t, lateral (select sum(w) s from u where u.w > t.v)", {"i": 7}, {"t": [7], "u": [15]}),
    ("scalar, by range", "select i, (select sum(w) from u where u.w > t.v) s from t", {"i": 5}, {"t": [5], "u": [15]}),
    ("pipes", "from t |> where v > 5 |> aggregate sum(v) as s group by k", {"s": 14}, {"t": [5, 6]}),
    ("hint", "select /*+ broadcast(u) */ i, j from t join u on t.k = u.k", {"i": 4}, {"t": [4], "u": [15]}),
]  # fmt: skip


@pytest.mark.usefixtures("tables")
@pytest.mark.parametrize(("sql", "row", "expected"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_lineage(spark: SparkSession, sql: str, row: Any, expected: Answer) -> None:
    assert answered(spark.sql(sql), row) == expected


@pytest.mark.usefixtures("tables")
def test_an_order_that_leaves_ties_is_said(spark: SparkSession) -> None:
    """Which of two rows with the same k comes first is Spark's choice, and may be another one next time."""
    lineage = Pipeline(spark.sql("select i, k, lag(i) over (order by k) l from t")).backward({"i": 2})
    assert not lineage.precise
    assert "may have ties" in (lineage.reason or "")


@pytest.mark.usefixtures("tables")
def test_the_whole_group_can_be_asked_for(spark: SparkSession) -> None:
    df = spark.sql("select k, max(v) m from t group by k")
    assert answered(df, {"k": "a"}, witness="group") == {"t": [1, 2, 3]}
    assert Pipeline(df, witness="group").backward({"k": "a"})["t"].count() == 3


@pytest.mark.usefixtures("tables")
def test_every_output_row_is_there_in_eager_mode(spark: SparkSession) -> None:
    """Rewritten with ids or not, a pipeline has the same output, duplicates included."""
    for name, sql, _, _ in CASES:
        df = spark.sql(sql)
        eager = Pipeline(df, mode="eager").run()
        assert eager.columns == df.columns, name
        assert sorted(map(repr, eager.collect())) == sorted(map(repr, df.collect())), name


@pytest.mark.usefixtures("tables")
def test_a_frame_united_with_itself(spark: SparkSession) -> None:
    one = spark.table("t").select("k", "v")
    lineage = Pipeline(one.union(one).groupBy("k").count()).backward({"k": "b"})
    assert [sorted(row["i"] for row in rows.collect()) for rows in lineage.occurrences["t"]] == [[4, 7], [4, 7]]
    assert lineage["t"].count() == 2
