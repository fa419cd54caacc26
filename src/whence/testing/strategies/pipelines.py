"""Draw Spark pipelines: every type of operator, over tables with nulls, NaN, ties and duplicates."""
# ruff: noqa: E501  # a step is one line: that is what makes them comparable

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hypothesis import strategies as st

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

Row = tuple[str | None, int | None, int | None, float | None]

# A step takes tables with the columns k, v, w, x (a string, two integers, a float) and returns one with the same
# columns. The first ones are monotone: additional input rows remove or change no output row.
MONOTONE = {
    "filter": "select * from {x} where v > 1 or v is null",
    "filter by a null": "select * from {x} where not (k <=> 'a') and (w is null or w < 3)",
    "filter by NaN": "select * from {x} where x > 1.0",
    "project": "select k, w as v, v + coalesce(w, 0) as w, x from {x}",
    "project a constant": "select 'c' as k, v, 7 as w, x from {x}",
    "division": "select k, v, w, 8 / v as x from {x} where v <> 0",
    "case": "select case when v > 1 then k else 'z' end as k, v, coalesce(w, v) as w, x from {x}",
    "inner join": "select a.k, a.v, b.w, a.x from {x} a join {y} b on a.k = b.k",
    "inner join, two keys": "select a.k, a.v, b.w, b.x from {x} a join {y} b on a.k <=> b.k and a.v = b.v",
    "inner join, not equal": "select b.k, a.v, b.w, a.x from {x} a join {y} b on a.v < b.w and b.k <> 'b'",
    "join by a fraction": "select a.k, a.v, b.w, b.x from {x} a join {y} b on a.x = b.x",
    "cross join": "select a.k, b.v, a.w, b.x from {x} a cross join (select v, x from {y} where w = 1) b",
    "semi join": "select * from {x} a left semi join {y} b on a.k = b.k and a.v <= b.v",
    "exists": "select * from {x} a where exists (select 1 from {y} b where b.k = a.k)",
    "exists, not equal": "select * from {x} a where exists (select 1 from {y} b where b.k = a.k and b.v <> a.v)",
    "exists, alone": "select * from {x} where exists (select 1 from {y} where w = 2)",
    "in": "select * from {x} where v in (select w from {y})",
    "in, correlated": "select * from {x} a where v in (select w from {y} b where b.k = a.k)",
    "union all": "select * from {x} union all select k, w, v, x from {y}",
    "union all, marked": "select 's' k, v, w, x from {x} union all select 't' k, v, w, x from {y}",
    "union": "select * from {x} union select * from {y}",
    "intersect": "select * from {x} intersect select * from {y}",
    "distinct": "select distinct k, v, w, x from {x}",
    "distinct keys": "select distinct k, v, v as w, 0.5D as x from {x}",
    "explode": "select k, e as v, w, x from {x} lateral view explode(array(v, w)) as e",
    "explode, outer": "select k, e as v, w, x from {x} lateral view outer explode(filter(array(v, w), e -> e > 1)) as e",
    "explode, filtered": "select k, v, e as w, x from (select *, explode(array(v, w, 4)) e from {x}) where e > 1",
    "map": "select k, map('v', v, 'w', w)['v'] as v, size(map_keys(map('w', w))) as w, x from {x}",
    "shift": "select k, shiftright(v * 6, 1) as v, shiftleft(w, 1) as w, x from {x}",
    "posexplode": "select k, p as v, e as w, x from {x} lateral view posexplode(array(v, w)) as p, e",
    "unpivot": "select k, v, u as w, x from (select *, w + 1 as z from {x}) unpivot (u for n in (w, z))",
    "repartition": "select /*+ repartition(3) */ * from {x}",
    "sort": "select * from {x} order by v, k",
    "pipes": "from {x} |> where v is not null |> select k, v, w, x",
}
OTHERS = {
    "group by": "select k, v, count(*) as w, max(x) as x from {x} group by k, v",
    "max and min": "select k, max(v) as v, min(w) as w, max(x) as x from {x} group by k",
    "max of one": "select max(k) as k, v, v as w, 0.5D as x from {x} group by v",
    "max where": "select k, max(v) filter (where w > 1) as v, 1 as w, 0.5D as x from {x} group by k",
    "max by": "select k, max_by(v, w * 1000 + coalesce(v, 5)) as v, min_by(w, v * 1000 + w) as w, 0.5D as x from {x} group by k",
    "max by where": "select k, max_by(v, w * 1000 + v) filter (where x > 0.5) as v, count(*) as w, max(x) as x from {x} group by k",
    "max by, over": "select k, v, max_by(w, v * 1000 + coalesce(w, 5)) over (partition by k) as w, x from {x}",
    "set": "select k, size(collect_set(v)) as v, array_max(collect_set(w)) as w, 0.5D as x from {x} group by k",
    "percentile": "select k, 1 as v, count(*) as w, percentile(v, 0.5D) as x from {x} group by k",
    "having": "select k, sum(v) as v, max(w) as w, min(x) as x from {x} group by k having count(*) < 4",
    "group by a fraction": "select max(k) k, count(*) v, sum(w) w, x from {x} group by x",
    "group, key not shown": "select max(k) k, count(*) v, sum(w) w, max(x) x from {x} group by k, v",
    "group by an expression": "select k, v % 2 as v, count(w) as w, 1.5D as x from {x} group by k, v % 2",
    "total": "select min(k) k, count(*) v, sum(w) w, max(x) x from {x}",
    "group of groups": "select k, max(n) v, count(*) w, 0.5D x from (select k, v, count(*) n from {x} group by k, v) group by k",
    "groups and their total": (
        "select k, count(*) v, sum(w) w, 0.5D x from {x} group by k "
        "union all select null, count(*), sum(a.w), 1.5D from {x} a join {y} b on a.k = b.k"
    ),
    "rollup": "select k, v, count(*) as w, max(x) as x from {x} group by rollup(k, v)",
    "rollup, named": "select k, cast(grouping_id() as int) v, count(*) as w, max(x) x from {x} group by rollup(k, v)",
    "cube": "select k, v, sum(w) as w, 0.5D as x from {x} group by cube(k, v)",
    "grouping sets": "select k, v, count(*) as w, 0.5D as x from {x} group by grouping sets ((k), (v), ())",
    "pivot": "select k, a as v, b as w, x from {x} pivot (sum(w) for v in (1 as a, 2 as b))",
    "left join": "select a.k, a.v, b.w, a.x from {x} a left join {y} b on a.k = b.k and a.v < b.w",
    "left join, all shown": "select a.k, a.v, b.v as w, b.x from {x} a left join {y} b on a.k = b.k and a.v = b.v",
    "right join": "select b.k, a.v, b.w, b.x from {x} a right join {y} b on a.v = b.v",
    "full join": "select coalesce(a.k, b.k) k, a.v, b.w, b.x from {x} a full join {y} b on a.v = b.w",
    "full join, keys": "select a.k, a.v, b.v w, b.x from {x} a full join {y} b on a.v = b.v",
    "full join, not equal": "select a.k, a.v, b.w, b.x from {x} a full join {y} b on a.v = b.w and a.x < b.x",
    "not exists": "select * from {x} a where not exists (select 1 from {y} b where b.k = a.k and b.v >= a.v)",
    "anti join": "select * from {x} a left anti join {y} b on a.k = b.k and a.w = b.w",
    "not in": "select * from {x} where v not in (select w from {y})",
    "not in, no nulls": "select * from {x} where v not in (select w from {y} where w is not null)",
    "exists or": "select * from {x} a where v = 2 or exists (select 1 from {y} b where b.k = a.k and b.w = 1)",
    "in or": "select * from {x} a where k = 'a' or v in (select w from {y})",
    "scalar, correlated": "select k, v, (select max(b.v) from {y} b where b.k = a.k) as w, x from {x} a",
    "scalar count, correlated": "select k, v, (select count(*) from {y} b where b.k = a.k) as w, x from {x} a",
    "scalar": "select * from {x} where v >= (select min(w) from {y})",
    "scalar sum": "select k, v, (select sum(w) from {y} where k = 'a') as w, x from {x}",
    "lateral": "select k, v, s as w, x from {x} a, lateral (select sum(b.w) s from {y} b where b.k = a.k)",
    "intersect all": "select * from {x} intersect all select * from {y}",
    "except": "select * from {x} except select * from {y}",
    "except all": "select * from {x} except all select * from {y}",
    "sum over": "select k, v, sum(w) over (partition by k) as w, x from {x}",
    "running sum": "select k, v, sum(w) over (partition by k order by v) as w, x from {x}",
    "running sum, down": "select k, v, count(*) over (partition by k order by v desc nulls first) as w, x from {x}",
    "rest of all": "select k, v, count(w) over (order by v range between current row and unbounded following) w, x from {x}",
    "rank": "select k, v, w, x from (select *, rank() over (partition by k order by v) r from {x}) where r < 3",
    "row number": "select k, v, row_number() over (partition by k order by v, w, x) as w, x from {x}",
    "best of each": "select k, v, w, x from (select *, row_number() over (partition by k order by v, w, x) r from {x}) where r = 1",
    "number of groups": "select k, v, row_number() over (partition by k order by v) w, 1.5D x from (select k, v from {x} group by k, v)",
    "lag": "select k, v, lag(w) over (order by k, v, w, x) as w, x from {x}",
    "moving sum": "select k, v, sum(w) over (order by k, v, w, x rows between 1 preceding and 1 following) w, x from {x}",
    "near in value": "select k, v, count(*) over (order by v range between 1 preceding and 1 following) w, x from {x}",
    "ntile": "select k, v, ntile(2) over (partition by k order by v, w, x) w, x from {x}",
    "top": "select * from {x} order by k, v, w, x limit 3",
    "top groups": "select * from (select k, v, count(*) w, 0.5D x from {x} group by k, v) order by w, k, v limit 2",
    "skipped groups": "select * from (select k, v, count(*) w, 0.5D x from {x} group by k, v) order by w, k, v limit 2 offset 1",
    "page": "select * from {x} order by k, v, w, x limit 2 offset 1",
    "any": "select * from {x} limit 2",
    "sample": "select * from {x} tablesample (60 percent) repeatable (3)",
    "drop duplicates": "",  # only the DataFrame API has it
}
STEPS = {**MONOTONE, **OTHERS}


@dataclass(frozen=True, slots=True)
class Drawn:
    """A pipeline: its two tables, and its steps with the number of the table for the second input."""

    left: tuple[Row, ...]
    right: tuple[Row, ...]
    steps: tuple[tuple[str, int], ...]

    @property
    def monotone(self) -> bool:
        return all(name in MONOTONE for name, _ in self.steps)

    def frame(self, spark: SparkSession, folder: Path | None = None) -> DataFrame:
        """The pipeline over temporary views; the second input is a table, or the result of an earlier step.

        The tables are in memory, or Parquet files in a folder.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        views = ["rx", "ry"]
        schema = pa.schema([("k", pa.string()), ("v", pa.int32()), ("w", pa.int32()), ("x", pa.float64())])
        for name, rows in zip(views, (self.left, self.right), strict=True):
            table = pa.Table.from_pylist([dict(zip("kvwx", row, strict=True)) for row in rows], schema)
            if folder is None:
                spark.createDataFrame(table).createOrReplaceTempView(name)
            else:
                pq.write_table(table, folder / f"{name}.parquet")
                spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
        df = spark.table("rx")
        last = "rx"
        for number, (name, other) in enumerate(self.steps):
            second = views[other % len(views)]
            if name == "drop duplicates":
                df = df.dropDuplicates(["k", "v"])
            else:
                df = spark.sql(STEPS[name].format(x=last, y=second))
            last = f"r{number}"
            df.createOrReplaceTempView(last)
            views.append(last)
        return df


def rows(most: int = 6) -> st.SearchStrategy[list[Row]]:
    """Draw rows with nulls, NaN, both zeros, ties and duplicates."""
    numbers = st.sampled_from([1, 2, 4, None])
    fractions: Any = st.sampled_from([0.5, 1.5, 0.0, -0.0, float("nan"), None])
    return st.lists(
        st.tuples(st.sampled_from(["a", "b", None]), numbers, st.sampled_from([1, 2, None]), fractions), max_size=most
    )


def pipelines(most: int = 8) -> st.SearchStrategy[Drawn]:
    """Draw pipelines of up to `most` steps."""
    step = st.tuples(st.sampled_from(sorted(STEPS)), st.integers(0, 9))
    return st.builds(Drawn, rows().map(tuple), rows().map(tuple), st.lists(step, min_size=1, max_size=most).map(tuple))
