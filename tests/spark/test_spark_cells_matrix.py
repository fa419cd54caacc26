"""Every line of the table of cells, asked in every way: the answers are those of the interpreter of cells.

The ways: before a run, after one, in eager mode, of the stored run, which has none of the pipeline's code, and of the
log, where the run was materialized; then the stored run again, without Spark. Each is asked backward about columns of a
row, and forward about cells of each source, by value and by value and selection, by the engine that is chosen and by
Spark. A way asks about every other column by one kind of lineage and about the rest by the other kind; the next way
does it the other way around.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import whence as wh
from whence.errors import MissingExtra
from whence.spark.pipeline import Pipeline
from whence.spark.stored.session import SessionOnDemand
from whence.testing.table_cells.answers import Judge

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

LINEAGES = ("value", "value+selection")
ENGINES = itertools.cycle(("auto", "spark"))
NUMBER = pa.int32()
TABLES = {
    "items": pa.table(
        {
            "id": pa.array(range(6), NUMBER),
            "part": pa.array([1, 1, 2, 2, 9, None], NUMBER),
            "price": pa.array([5, None, 7, 7, 1, 4], NUMBER),
            "day": pa.array([1, 1, 1, 2, 2, None], NUMBER),
            "kind": pa.array(["x", "y", "x", None, "x", "x"]),
        }
    ),
    "parts": pa.table(
        {
            "pid": pa.array([1, 2, 4, None, 2], NUMBER),
            "name": pa.array(["promo", "plain", "promo", "odd", "plain"]),
            "cost": pa.array([1, 2, 4, 3, None], NUMBER),
        }
    ),
}
LINES = {
    "project": "select id, price * 2 + day as c, 'x' as k from items",
    "branches": """select id, case when price > 5 then day when part = 1 then price else id end as c,
        coalesce(price, day, -1) as d, nullif(price, 7) as n from items""",
    "filter": "select id, price from items where day = 1 and price between 2 and 6",
    "limit": "select id, price from items order by price desc nulls last, id limit 3",
    "join": "select id, name, price * cost as c from items join parts on part = pid",
    "outer join": "select id, pid, coalesce(part, pid) as k from items full join parts on part = pid and price > cost",
    "group": """select kind, count(*) as n, count(price) as c, sum(price) as s, max(day) as m,
        sum(price) filter (where day = 1) as f, count(distinct part) as d, 5 as five from items group by kind""",
    "row of a group": """select kind, max_by(id, price) as a, min_by(price, id) filter (where day = 1) as b
        from items group by kind""",
    "group of a join": """select name, sum(price * cost) as s, min(price) as m, count(*) as n
        from items left join parts on part = pid group by name having count(*) > 0""",
    "branches of aggregates": """select part, case when count(*) > 1 then sum(price) else max(day) end as c
        from items group by part""",
    "window": """select id, avg(price) over (partition by kind order by id rows 1 preceding) as a,
        max(price) over (partition by day) as m, lag(price, 2, id) over (order by id) as l,
        sum(price) filter (where day = 1) over (order by id) as f, rank() over (order by day, id) as r from items""",
    "picking windows": """select id, last(price) ignore nulls over (order by id) as f, first(price) over
        (partition by day order by id rows between current row and unbounded following) as b,
        nth_value(case when day = 1 then price else part end, 2) ignore nulls over (order by id) as n,
        any_value(day) filter (where kind = 'x') over (order by id rows between 1 following and 2 following) as a,
        lag(price, 2, id) ignore nulls over (partition by kind order by id) as l from items""",
    "windows upon windows": """select id, s - lag(s) over (order by id) as change from
        (select id, sum(price) over (order by id rows between 1 preceding and 1 following) as s from items)""",
    "distinct": "select distinct part, kind from items",
    "union": "select id, kind, 1 as n from items union all select pid, name, cost from parts",
    "explode": "select id, e, kind from items lateral view explode(array(price, day)) as e",
    "pivot": """select * from (select kind, day, price from items)
        pivot (sum(price) as s, count(*) as n for day in (1, 3))""",
    "expand": "select kind, day, sum(price) as s from items group by rollup(kind, day)",
    "semi-join": "select id, price from items where part in (select pid from parts where cost < 4)",
    "EXISTS beneath OR": "select id, price from items where day = 2 or exists (select 1 from parts where pid = part)",
    "anti-join": "select id, price from items where not exists (select 1 from parts where pid = part)",
    "scalar subquery": """select id, (select sum(cost) from parts where pid = part) as c from items
        where price >= (select min(cost) from parts)""",
    "lateral": """select id, c from items left join lateral
        (select max(cost) as c, count(*) as n from parts where pid = part) on true""",
    "intersect": "select part, day from items intersect select pid, cost from parts",
    "except": "select part, day from items except select pid, cost from parts",
}  # fmt: skip
WITHOUT_SPARK = ("project", "filter", "join", "group", "distinct", "union", "semi-join", "anti-join")


@pytest.fixture(scope="module")
def tables(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("tables")
    for name, table in TABLES.items():
        pq.write_table(table, folder / f"{name}.parquet")
        spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
    yield folder
    for name in TABLES:
        spark.catalog.dropTempView(name)


class OfLog:
    """A table of a log, asked as a pipeline is."""

    def __init__(self, log: wh.Log, name: str) -> None:
        self._log, self._name = log, name

    def backward(self, rows: Any, **question: Any) -> OfTables:
        return OfTables(self._log.backward(self._name, rows, **question))


class OfTables:
    """An answer of a log about tables, in the form in which a pipeline answers."""

    def __init__(self, answer: Any) -> None:
        self._answer, self.precise, self.how = answer, answer.precise, "log"

    def cells(self, source: str) -> Any:
        return self._answer[source] if source in self._answer.reached else wh.Selection.empty((1, 1))

    def columns(self, source: str) -> list[str]:
        return list(self.cells(source).columns) if source in self._answer.reached else []

    def identities(self, source: str) -> Any:
        return self.cells(source).along(0)


def faults(judge: Judge, way: str, asked: Any, number: int) -> Iterator[str]:
    """Where the answers about one row, and about a row of each source, are others. `number` is that of the way."""
    names = [attr.name for attr in judge.plan.output]
    row = judge.rows[len(way) % len(judge.rows)]
    question = {name: row.cells[judge._attr(name)].value for name in names}
    of_log = isinstance(asked, OfLog)
    for at, name in enumerate(names):
        options = {} if of_log else {"engine": next(ENGINES)}
        yield from judge.backward_faults(asked, question, [name], LINEAGES[(at + number) % 2], **options)
    for at, source in enumerate(() if of_log else judge.places):
        columns = list(judge.places[source])[1:3]
        yield from judge.forward_faults(asked, source, 2, columns, LINEAGES[(at + number) % 2])


@pytest.mark.parametrize("line", LINES)
def test_a_line_in_every_way(
    spark: SparkSession, tables: Path, tmp_path: Path, line: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    df: DataFrame = spark.sql(LINES[line])
    asked = Pipeline(df)
    judge = Judge.of(asked.plan, asked.analysis.jvm)
    assert judge.rows
    with wh.open(tmp_path / "run.whence") as log, wh.open(tmp_path / "stored.whence") as other:
        ran, eager, kept = log.pipeline(df, name="out"), Pipeline(df, mode="eager"), other.pipeline(df, name="out")
        ran.run()
        eager.run()
        assert not kept.materialize().missing
        ways = {
            "asked": asked, "after a run": ran, "eager": eager, "stored": log.runs()[-1],
            "log": OfLog(log, "out"), "materialized": OfLog(other, "out"),
        }  # fmt: skip
        found = {way: list(faults(judge, way, ways[way], number)) for number, way in enumerate(ways)}
        assert found == {way: [] for way in ways}
        without_spark(judge, log.runs()[-1], line, monkeypatch)


def without_spark(judge: Judge, stored: Any, line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored run answers with DuckDB, or an error says that Spark is needed."""

    def missing(_: object) -> None:
        raise MissingExtra("this question needs Spark, says the test")

    monkeypatch.setattr(SessionOnDemand, "real", property(missing))
    names = [attr.name for attr in judge.plan.output]
    question = {name: judge.rows[0].cells[judge._attr(name)].value for name in names}
    for lineage, name in itertools.product(LINEAGES, names):
        try:
            assert not judge.backward_faults(stored, question, [name], lineage)
        except MissingExtra:
            assert line not in WITHOUT_SPARK
