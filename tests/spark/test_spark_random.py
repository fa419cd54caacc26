"""Pipelines put together at random: ids change no output, and what is found is enough to make the row again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from whence.rows import Operator, Project, Source, Tree, fresh, keep, transform
from whence.spark.lineage import Lineage
from whence.spark.lower import frame
from whence.spark.pipeline import Pipeline

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

# Every step takes a table with the columns k, v, w (strings, integers, integers) and gives one of the same kind.
STEPS = (
    "select k, v, w from {x} where v > 1 or v is null",
    "select k, w as v, v + coalesce(w, 0) as w from {x}",
    "select k, v, count(*) as w from {x} group by k, v",
    "select k, max(v) as v, min(w) as w from {x} group by k",
    "select k, sum(v) as v, max(w) as w from {x} group by k having count(*) < 4",
    "select distinct k, v, w from {x}",
    "select a.k, a.v, b.w from {x} a join {y} b on a.k = b.k",
    "select a.k, a.v, b.w from {x} a left join {y} b on a.k = b.k and a.v < b.w",
    "select coalesce(a.k, b.k) k, a.v, b.w from {x} a full join {y} b on a.v = b.w",
    "select * from {x} a where exists (select 1 from {y} b where b.k = a.k and b.v <> a.v)",
    "select * from {x} a where not exists (select 1 from {y} b where b.k = a.k and b.v >= a.v)",
    "select * from {x} where v in (select w from {y})",
    "select * from {x} where v not in (select w from {y} where w is not null)",
    "select k, v, (select max(b.v) from {y} b where b.k = a.k) as w from {x} a",
    "select * from {x} union all select k, w, v from {y}",
    "select * from {x} union select * from {y}",
    "select * from {x} intersect select * from {y}",
    "select * from {x} intersect all select * from {y}",
    "select * from {x} except select * from {y}",
    "select * from {x} except all select * from {y}",
    "select k, v, sum(w) over (partition by k order by v, w) as w from {x}",
    "select k, v, lag(w) over (order by k, v, w) as w from {x}",
    "select * from {x} order by k, v, w limit 3",
    "select k, e as v, w from {x} lateral view explode(array(v, w)) as e",
    "select k, v, count(*) as w from {x} group by rollup(k, v)",
)
ROWS = st.lists(
    st.tuples(st.sampled_from(["a", "b", None]), st.sampled_from([1, 2, 3, None]), st.sampled_from([1, 2, None])),
    max_size=6,
)


@settings(
    max_examples=8,
    deadline=None,
    derandomize=True,  # each example costs seconds: the same ones every time
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.sampled_from(STEPS), min_size=1, max_size=4), ROWS, ROWS, st.data())
def test_random_pipelines(spark: SparkSession, steps: list[str], left: list, right: list, data: st.DataObject) -> None:  # type: ignore[type-arg]
    for name, rows in (("rx", left), ("ry", right)):
        spark.createDataFrame(rows, "k string, v int, w int").createOrReplaceTempView(name)
    sql = "select * from rx"
    for step in steps:
        sql = step.format(x=f"({sql})", y=data.draw(st.sampled_from(["rx", "ry"])))
    df = spark.sql(sql)
    pipeline = Pipeline(df, mode="eager")
    output = pipeline.run().collect()
    assert sorted(map(repr, output)) == sorted(map(repr, df.collect()))
    if output:
        row = data.draw(st.sampled_from(sorted(output, key=repr)))
        lineage = pipeline.backward(row)
        assert lineage.precise
        assert row in remade(pipeline, lineage), sql


def remade(pipeline: Pipeline, lineage: Lineage) -> list[Row]:
    """The output over nothing but the lineage: each use of a source has its own rows, and no others."""

    def only(part: Tree) -> Tree:
        if not isinstance(part, Source) or part.silent:
            return part
        rows = lineage._found.rows_of(part, [part.occurrence], fresh("_row", "long"))
        return Project(rows, keep(*part.columns))

    plan = transform(pipeline.plan, only)
    assert isinstance(plan, Operator)
    return frame(plan, pipeline._plan.jvm).collect()
