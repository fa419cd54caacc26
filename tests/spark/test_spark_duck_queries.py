"""What DuckDB computes from files is what Spark computes: random queries of joins, filters and groups over them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import NoSuchRow
from whence.rows import TRUE, Attr, Compare, Literal, Operator, conjunction
from whence.rows.duck import DuckQuery, Files, count, select
from whence.rows.questions.restrict import sources
from whence.spark.catalyst.plan import read
from whence.spark.sources.row_ids import files_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NAN, D = float("nan"), Decimal
LEFT = [
    (1, "a", D("1.05"), 0.5, date(2024, 2, 29)),
    (1, "a", D("1.05"), 0.5, date(2024, 2, 29)),
    (2, "b", D("-2.00"), NAN, date(1999, 12, 31)),
    (2, "", D("0.01"), -0.0, None),
    (3, None, D("9999999.99"), 0.0, date(2024, 3, 1)),
    (None, "c", None, None, date(2024, 3, 1)),
    (4, "é", D("-0.05"), math.inf, date(1970, 1, 1)),
]
RIGHT = [
    (1, "x", D("0.2")),
    (2, "y", D("0.3")),
    (2, "y", D("0.3")),
    (None, "z", D("0.1")),
    (9, None, None),
    (3, "x", D("7")),
]
JOINS = ["join", "left join", "right join", "full join", "left semi join", "left anti join"]
CONDITIONS = [
    "l.k = r.j",
    "l.k <=> r.j",
    "l.k < r.j",
    "l.k = r.j and l.s < r.t",
    "l.k = r.j and r.u > 0.25",
    "l.d > r.u",
]
FILTERS = ["", "where l.k > 1", "where l.s like 'a%' or l.s is null", "where l.x > 0", "where year(l.day) = 2024"]
AGGREGATES = [
    "count(*)", "count(l.s)", "count(distinct l.s)", "min(l.s)", "max(l.day)", "sum(l.d)", "avg(l.d)", "sum(l.k)",
    "sum(l.d) filter (where l.k > 1)", "max(l.d) - min(l.d)", "0.2 * avg(l.d)", "sum(l.d * l.d)",
    "sum(l.d) / 7.0", "100.00 * sum(l.d * l.d) / max(l.d)", "sum(l.d) / count(*)",
]  # fmt: skip
KEYS = ["l.k", "l.s", "year(l.day)", "l.k, l.s"]
TOPS = [
    "select * from ({}) order by all limit 3",
    "select * from ({}) order by 1 desc nulls first, 2, 3 limit 2",
    "select distinct * from ({})",
    "select * from ({0}) union all select * from ({0})",
    "select * from ({0}) union select * from ({0} limit 0)",
]


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("queries")
    left = spark.createDataFrame(LEFT, "k int, s string, d decimal(13,2), x double, day date")
    left.coalesce(1).write.parquet(str(place / "left"))
    spark.createDataFrame(RIGHT, "j int, t string, u decimal(4,2)").coalesce(1).write.parquet(str(place / "right"))
    return place


@pytest.fixture
def tables(spark: SparkSession, files: Path) -> None:
    for name, place in (("one", "left"), ("two", "right")):
        spark.read.parquet(str(files / place)).createOrReplaceTempView(name)


def query_of(plan: Operator) -> DuckQuery:
    read_from = {}
    for source in sources(plan):
        paths = tuple(path.removeprefix("file:") for path in files_of(source) or ())
        read_from[source.occurrence] = Files(paths, source.columns)
    return DuckQuery(plan, read_from, tuple(dict.fromkeys(plan.output)))


@st.composite
def queries(draw: st.DrawFn) -> str:
    how, on, where = (draw(st.sampled_from(each)) for each in (JOINS, CONDITIONS, FILTERS))
    if draw(st.booleans()):
        rows = f"one l {how} two r on {on}"
        shown = "l.k, l.s, l.d, l.x" if how.endswith(("semi join", "anti join")) else "l.k, l.s, l.x, r.t, r.u"
        if draw(st.booleans()):
            inside = draw(st.sampled_from(["exists", "not exists"]))
            where = (
                f"{where} {'and' if where else 'where'} {inside} (select 1 from two q where q.j = l.k and q.u < 0.25)"
            )
    else:
        rows, shown = "one l", "l.k, l.s, l.d, l.x, l.day"
    if draw(st.booleans()):
        chosen = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3, unique=True))
        named = ", ".join(f"{each} as a{place}" for place, each in enumerate(chosen))
        if draw(st.booleans()):
            key = draw(st.sampled_from(KEYS))
            having = draw(st.sampled_from(["", "having count(*) > 1", "having sum(l.d) > 0"]))
            return f"select {key}, {named} from {rows} {where} group by {key} {having}"
        return f"select {named} from {rows} {where}"
    return f"select {shown} from {rows} {where}"


@st.composite
def tops(draw: st.DrawFn) -> str:
    """Orders that are cut, different rows and unions, of columns that have one spelling of each value."""
    shown = "l.k, l.s, l.d, l.day"
    where = draw(st.sampled_from(FILTERS))
    rows = draw(st.sampled_from([f"select {shown} from one l {where}",
                                 f"select l.k, count(*) n, sum(l.d) d from one l {where} group by l.k"]))  # fmt: skip
    return str(draw(st.sampled_from(TOPS))).format(rows)


@st.composite
def grouped(draw: st.DrawFn) -> str:
    """Joins with groups, on either side."""
    how, where = draw(st.sampled_from(JOINS)), draw(st.sampled_from([*FILTERS, "where l.k = 2", "where l.s = 'a'"]))
    inside = draw(st.sampled_from(["", "where u > 0.15", "where j = 2"]))
    groups = f"(select j, count(*) n, max(u) m from two {inside} group by j)"
    on = draw(st.sampled_from(["l.k = g.j", "g.j = l.k and g.n > 1", "l.k <=> g.j", "l.k = g.j and l.d < g.m"]))
    shown = "l.k, l.s, l.d" if how.endswith(("semi join", "anti join")) else "l.k, l.s, g.j, g.n"
    both = how.replace("left semi", "").replace("left anti", "")  # the same in which both sides are shown
    more = f"{where} {'and' if where else 'where'}"
    few = f"(select * from one l {where}) l"
    counted = "(select k, count(*) n, min(s) s, max(d) d, max(day) day, 1 as x from one group by k)"
    texts = [
        f"select {shown} from one l {how} {groups} g on {on} {where}",
        f"select {shown} from {few} {how} {groups} g on {on}",
        f"select g.n, l.k, l.s from {groups} g {both} {few} on {on}",
        f"select g.n, l.k, l.s from {groups} g {both} one l on {on} {where}",
        f"select l.k, l.s from one l {more} l.k in (select g.j from {groups} g where g.n > 1)",
        f"select l.k, l.s from {few} where l.d > (select avg(u) from two r where r.j = l.k)",
        f"select l.k, l.n, g.m from {counted} l {both} {groups} g on {on} {where}",
        f"select k, count(*) n from (select k from one union all select j from {groups}) group by k",
        f"select distinct l.k, g.n from {few} join {groups} g on {on}",
    ]
    return draw(st.sampled_from(texts))


def same(value: Any) -> str:
    """A value as text in which NaN is NaN, and the two zeros are one, as both engines have it."""
    return repr(value + 0.0 if isinstance(value, float) else value)


def left_to_spark(text: str) -> bool:
    """Whether DuckDB may leave a query unanswered: full joins of some kinds, a division, which may be by zero."""
    return "full join" in text or " / " in text


class TestComputed:
    @settings(max_examples=60, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(queries())
    def test_as_by_spark(self, spark: SparkSession, tables: None, text: str) -> None:
        df = spark.sql(text)
        query = query_of(read(df).root)
        assert query.readable(query.columns), text
        found = select(query, TRUE)
        expected = {tuple(map(same, row)) for row in df.collect()}
        if found is None:
            assert left_to_spark(text), text
            return
        rows = list(zip(*(column.to_pylist() for column in found.columns), strict=True))
        assert {tuple(map(same, row)) for row in rows} == expected, text
        assert len(rows) == len(expected), "each row once"
        assert count(query, TRUE) == len(expected)

    @settings(max_examples=40, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(tops())
    def test_every_row_as_often_as_by_spark(self, spark: SparkSession, tables: None, text: str) -> None:
        df = spark.sql(text)
        query = replace(query_of(read(df).root), every=True)
        assert query.readable(query.columns) == ("limit 0" not in text), text
        found = select(query, TRUE)
        expected = Counter(tuple(map(same, row)) for row in df.collect())
        if found is None:
            assert "limit" in text or left_to_spark(text), text
            return
        rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert Counter(tuple(map(same, row)) for row in rows) == expected, text

    @pytest.mark.parametrize(("limit", "clear"), [(0, True), (1, True), (2, False), (3, True), (6, True), (7, True)])
    def test_a_limit_between_equal_rows_is_left_to_spark(
        self, spark: SparkSession, tables: None, limit: int, clear: bool
    ) -> None:
        """In order, the keys are: none, 1, 1, 2, 2, 3, 4."""
        df = spark.sql(f"select k, s, d from one order by k, s, d limit {limit}")
        query = replace(query_of(read(df).root), every=True)
        found = select(query, TRUE)
        assert (found is not None) == clear
        if found is not None:
            rows = zip(*(column.to_pylist() for column in found.columns), strict=True)
            assert sorted(map(repr, rows)) == sorted(repr(tuple(row)) for row in df.collect())

    @settings(max_examples=60, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(grouped(), st.integers(0, 9))
    def test_a_question_computes_less(self, spark: SparkSession, tables: None, text: str, which: int) -> None:
        df = spark.sql(text)
        query = replace(query_of(read(df).root), every=True)
        assert query.readable(query.columns), text
        rows = df.collect()
        for width in range(min(3, len(rows[0]) + 1)) if rows else (0,):
            asked = [(query.columns[place], rows[which % len(rows)][place]) for place in range(width)]
            where = conjunction(*(Compare("<=>", attr, Literal(value, attr.dtype)) for attr, value in asked))
            found = select(query, where)
            if found is None:
                assert left_to_spark(text), text
                return
            expected = [row for row in rows if [row[place] for place in range(width)] == [value for _, value in asked]]
            made = zip(*(column.to_pylist() for column in found.columns), strict=True)
            assert Counter(map(tuple, made)) == Counter(map(tuple, expected)), (text, asked)

    @pytest.mark.parametrize(("where", "answered"), [("k > 0", True), ("k > 99", False)])
    def test_a_division_by_zero_is_left_to_spark(
        self, spark: SparkSession, tables: None, where: str, answered: bool
    ) -> None:
        query = query_of(read(spark.sql(f"select sum(d) / count(*) as q from one where {where}")).root)
        assert (select(query, TRUE) is not None) == answered

    @pytest.mark.parametrize("how", JOINS)
    @pytest.mark.parametrize("swapped", [False, True])
    def test_a_side_without_a_match(self, spark: SparkSession, tables: None, how: str, swapped: bool) -> None:
        few, groups = "(select * from one where s = 'a')", "(select j, count(*) n from two group by j)"
        sides = f"{groups} g {how} {few} l" if swapped else f"{few} l {how} {groups} g"
        only = how.endswith(("semi join", "anti join"))
        shown = ("g.j, g.n" if swapped else "l.k, l.s") if only else "l.k, l.s, g.j, g.n"
        df = spark.sql(f"select {shown} from {sides} on l.k = g.j")
        found = select(replace(query_of(read(df).root), every=True), TRUE)
        assert found is not None
        made = zip(*(column.to_pylist() for column in found.columns), strict=True)
        assert Counter(made) == Counter(map(tuple, df.collect()))

    def test_only_the_rows_that_are_asked_for(self, spark: SparkSession, tables: None) -> None:
        query = query_of(read(spark.sql("select k, count(*) n from one group by k")).root)
        key, n = query.columns
        found = select(query, Compare("=", key, Literal(1, "integer")))
        assert found is not None
        assert found.to_pylist() == [{"k": 1, "n": 2}]
        other = query.called((Attr(901, "k", "integer"), Attr(902, "n", "long")))
        asked = select(query, Compare("=", n, other.columns[1]), other, other.columns)
        assert asked is not None
        assert len(asked) == count(query, TRUE), "each group has as many rows as some group"


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("select 7 as c, cast(null as string) as n, count(*) as m from one where k > 99", [(7, None, 0)]),
        ("select 7 as c from (select 7 as c, count(*) as m from one where k > 99)", [(7,)]),
        ("select k, k, t from (select k, k, count(*) as n from one group by k) join two on j = k where t = 'x'", None),
        ("select count(*) as n from one where x = 0", [(2,)]),
        ("select s in (select t from two) as i, k from one where k = 1 or s in (select t from two)", None),
    ],
)
def test_single_queries(spark: SparkSession, tables: None, text: str, rows: list[tuple[Any, ...]] | None) -> None:
    df = spark.sql(text)
    query = query_of(read(df).root)
    found = select(query, TRUE)
    assert found is not None
    made = {tuple(row) for row in zip(*(column.to_pylist() for column in found.columns), strict=True)}
    places = [query.columns.index(attr) for attr in read(df).root.output] if rows is None else range(len(query.columns))
    expected = set(map(tuple, df.collect()))
    assert {tuple(row[place] for place in places) for row in made} == expected
    if rows is not None:
        assert made == set(rows)


@pytest.mark.parametrize(
    "text",
    [
        "select k from one limit 2",
        "select x from one order by x limit 2",
        "select k from one order by k limit 2 offset 1",
        "select distinct x from one",
        "select sum(x) s from one",
        "select x from one group by x",
        "select avg(k) a from one",
        "select first(s) f from one",
        "select upper(s) u from one",
        "select rand() r from one",
        "select k, row_number() over (order by d) n from one",
        "select k from one intersect select j from two",
    ],
)
def test_what_may_differ_is_left_to_spark(spark: SparkSession, tables: None, text: str) -> None:
    query = query_of(read(spark.sql(text)).root)
    assert not query.readable(query.columns)


def test_sums_that_may_not_fit_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    most = D("9" * 28 + ".9999")
    for name, rows in (("few", 3), ("many", 200_000)):
        spark.range(rows).selectExpr(f"cast('{most}' as decimal(32,4)) as v").write.parquet(str(tmp_path / name))
        df = spark.read.parquet(str(tmp_path / name)).selectExpr("v").groupBy().sum("v")
        found = select(query_of(read(df).root), TRUE)
        assert (found is None) == (name == "many")
        if found is not None:
            assert found.column(0).to_pylist() == [df.collect()[0][0]]


def test_a_run_does_not_write_what_is_found_again(spark: SparkSession, tables: None, tmp_path: Path) -> None:
    df = spark.sql("select r.t, count(*) n, sum(l.d) s from one l join two r on l.k = r.j group by r.t")
    with wh.open(tmp_path / "p.whence") as log:
        pipeline, always = log.pipeline(df, name="p"), log.pipeline(df, name="q", save="always")
        eager = log.pipeline(df, mode="eager")
        assert "recomputed on demand as 1" in pipeline.explain()
        assert "saved as 1" in always.explain()
        rows = pipeline.run().collect()
        assert not pipeline.trace_plan.written
        assert sorted(always.run().collect()) == sorted(rows)
        assert always.trace_plan.written
        for row in rows:
            answers = [each.backward(row) for each in (pipeline, always, eager)]
            assert [each.how for each in answers] == ["saved", "saved", "replayed"]
            assert all(each.precise for each in answers)
            for name in ("one", "two"):
                one, *others = (sorted(map(repr, each.arrow(name).to_pylist())) for each in answers)
                assert others == [one, one]
                ids, *more = (each.identities(name).to_pylist() for each in answers)
                assert more == [ids, ids]
                assert len(ids) == len(one)
        later = log.pipeline(df, name="p").backward(rows[0])
        assert later.how == "saved", "the log knows the run"
        assert later.arrow("one").num_rows == pipeline.backward(rows[0]).arrow("one").num_rows


def test_without_a_run_rows_are_found_again_too(spark: SparkSession, tables: None, tmp_path: Path) -> None:
    df = spark.sql("select r.t, count(*) n from one l join two r on l.k = r.j group by r.t")
    with wh.open(tmp_path / "p.whence") as log:
        never, eager = log.pipeline(df, save="never"), log.pipeline(df, mode="eager")
        for row in df.collect():
            answer = never.backward(row)
            assert answer.how == "replayed"
            assert answer.precise
            for name in ("one", "two"):
                assert answer.identities(name) == eager.backward(row).identities(name)
        whole = dict(zip(("k", "s", "d", "x", "day"), LEFT[0], strict=True))
        forward = sorted(never.forward("one", whole).collect())
        assert forward == sorted(eager.forward("one", whole).collect())
        assert forward
        with pytest.raises(NoSuchRow):
            never.backward({"t": "x", "n": 77})


@pytest.mark.parametrize(
    "text",
    [
        "select s, d from one where k in (select j from (select j, count(*) n from two group by j) where n > 1)",
        "select s from one where k in (select j from (select j, count(*) n from two group by j) where n < 2)",
        "select s, day from one where not exists (select 1 from (select j from two group by j) where j = k)",
        "select k, t from (select k, sum(d) t from one group by k) "
        "where t = (select max(t) from (select k, sum(d) t from one group by k))",
        "select k, d from one where d = (select min(d) from one)",
        "select k, s, d from one l where d > (select avg(u) from two where j = l.k) order by d desc, s limit 3",
    ],
)
def test_rows_that_groups_let_through(spark: SparkSession, tables: None, tmp_path: Path, text: str) -> None:
    df = spark.sql(text)
    rows = df.collect()
    assert rows
    with wh.open(tmp_path / "p.whence") as log:
        ran, never, eager = log.pipeline(df), log.pipeline(df, save="never"), log.pipeline(df, mode="eager")
        ran.run()
        for row in rows:
            expected = eager.backward(row)
            for pipeline in (ran, never):
                answer = pipeline.backward(row)
                assert answer.precise
                assert answer.rows == expected.rows
                for name in answer:
                    assert answer.identities(name) == expected.identities(name), (row, name)
