"""All of TPC-H: plans are read and run, lineage is enough to make the row again, and is what DuckDB says it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from whence.rows import Filter
from whence.rows.questions.rows import predicate
from whence.spark.catalyst.frames import frame
from whence.spark.catalyst.plan import Plan, read
from whence.spark.lineage import Lineage
from whence.spark.pipeline import Pipeline
from whence.testing.rows import annotated, over_only, stored_faults, united

if TYPE_CHECKING:
    import duckdb
    from pyspark.sql import Row, SparkSession

QUERIES = Path(__file__).with_name("queries")
NUMBERS = [path.stem for path in sorted(QUERIES.glob("q*.sql"))]


# The lineage of output rows, written by hand as queries that DuckDB answers: for each source, the rows that made the
# output row. `:name` is a column of that row. A source that is used twice has the union of both uses. Of min and max
# it is the rows that attain them.
KEYS = {
    "customer": "c_custkey",
    "lineitem": "l_orderkey, l_linenumber",
    "nation": "n_nationkey",
    "orders": "o_orderkey",
    "part": "p_partkey",
    "partsupp": "ps_partkey, ps_suppkey",
    "region": "r_regionkey",
    "supplier": "s_suppkey",
}

Q3 = """from customer, orders, lineitem where c_mktsegment = 'BUILDING' and c_custkey = o_custkey
  and l_orderkey = o_orderkey and o_orderdate < date '1995-03-15' and l_shipdate > date '1995-03-15'
  and l_orderkey = :l_orderkey"""
Q5 = """from customer, orders, lineitem, supplier, nation, region
where c_custkey = o_custkey and l_orderkey = o_orderkey and l_suppkey = s_suppkey and c_nationkey = s_nationkey
  and s_nationkey = n_nationkey and n_regionkey = r_regionkey and r_name = 'ASIA' and n_name = :n_name
  and o_orderdate >= date '1994-01-01' and o_orderdate < date '1995-01-01'"""
Q4 = """from orders where o_orderdate >= date '1993-07-01' and o_orderdate < date '1993-10-01'
  and o_orderpriority = :o_orderpriority
  and o_orderkey in (select l_orderkey from lineitem where l_commitdate < l_receiptdate)"""
Q7 = """from supplier, lineitem, orders, customer, nation n1, nation n2
where s_suppkey = l_suppkey and o_orderkey = l_orderkey and c_custkey = o_custkey and s_nationkey = n1.n_nationkey
  and c_nationkey = n2.n_nationkey and n1.n_name = :supp_nation and n2.n_name = :cust_nation
  and l_shipdate between date '1995-01-01' and date '1996-12-31' and year(l_shipdate) = :l_year"""
Q8 = """from part, supplier, lineitem, orders, customer, nation n1, nation n2, region
where p_partkey = l_partkey and s_suppkey = l_suppkey and l_orderkey = o_orderkey and o_custkey = c_custkey
  and c_nationkey = n1.n_nationkey and n1.n_regionkey = r_regionkey and r_name = 'AMERICA'
  and s_nationkey = n2.n_nationkey and year(o_orderdate) = :o_year and p_type = 'ECONOMY ANODIZED STEEL'"""
Q9 = """from part, supplier, lineitem, partsupp, orders, nation
where s_suppkey = l_suppkey and ps_suppkey = l_suppkey and ps_partkey = l_partkey and p_partkey = l_partkey
  and o_orderkey = l_orderkey and s_nationkey = n_nationkey and p_name like '%green%' and n_name = :nation
  and year(o_orderdate) = :o_year"""
Q10 = """from customer, orders, lineitem, nation where c_custkey = o_custkey and l_orderkey = o_orderkey
  and o_orderdate >= date '1993-10-01' and o_orderdate < date '1994-01-01' and l_returnflag = 'R'
  and c_nationkey = n_nationkey and c_custkey = :c_custkey"""
Q11 = (
    "from partsupp, supplier, nation where ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = 'GERMANY'"
)
Q12 = """from orders, lineitem where o_orderkey = l_orderkey and l_shipmode = :l_shipmode
  and l_shipdate < l_commitdate and l_commitdate < l_receiptdate and year(l_receiptdate) = 1994"""
Q13 = """from (select c_custkey as k from customer left join orders on c_custkey = o_custkey
    and o_comment not like '%special%requests%' group by c_custkey having count(o_orderkey) = :c_count)"""
Q14 = """from lineitem, part where l_partkey = p_partkey and l_shipdate >= date '1995-09-01'
  and l_shipdate < date '1995-10-01'"""
Q16 = """from partsupp, part where p_partkey = ps_partkey and p_brand = :p_brand and p_type = :p_type
  and p_size = :p_size
  and not exists (select 1 from supplier where s_suppkey = ps_suppkey and s_comment like '%Customer%Complaints%')"""
Q17 = """from lineitem, part where p_partkey = l_partkey and p_brand = 'Brand#23' and p_container like 'MED %'
  and l_quantity < (select 0.4 * avg(l_quantity) from lineitem where l_partkey = p_partkey)"""
Q19 = """from lineitem, part where p_partkey = l_partkey and l_shipmode = 'AIR'
  and l_shipinstruct = 'DELIVER IN PERSON' and p_size >= 1
  and (p_brand = 'Brand#12' and p_container in ('SM CASE', 'SM BOX', 'SM PACK', 'SM PKG')
      and l_quantity between 1 and 31 and p_size <= 15
    or p_brand = 'Brand#23' and p_container in ('MED BAG', 'MED BOX', 'MED PKG', 'MED PACK')
      and l_quantity between 10 and 40 and p_size <= 20
    or p_brand = 'Brand#34' and p_container in ('LG CASE', 'LG BOX', 'LG PACK', 'LG PKG')
      and l_quantity between 20 and 50 and p_size <= 25)"""
Q20 = """from partsupp, part, supplier, nation where ps_partkey = p_partkey and p_name like 'forest%'
  and ps_suppkey = s_suppkey and s_nationkey = n_nationkey and n_name = 'CANADA' and s_name = :s_name
  and ps_availqty > (select 0.5 * sum(l_quantity) from lineitem where l_partkey = ps_partkey
    and l_suppkey = ps_suppkey and l_shipdate >= date '1994-01-01' and l_shipdate < date '1995-01-01')"""
Q21 = """from supplier, lineitem l1, orders, nation
where s_suppkey = l1.l_suppkey and o_orderkey = l1.l_orderkey and o_orderstatus = 'F'
  and l1.l_receiptdate > l1.l_commitdate and s_nationkey = n_nationkey and n_name = 'SAUDI ARABIA' and s_name = :s_name
  and exists (select 1 from lineitem l2 where l2.l_orderkey = l1.l_orderkey and l2.l_suppkey <> l1.l_suppkey)
  and not exists (select 1 from lineitem l3 where l3.l_orderkey = l1.l_orderkey and l3.l_suppkey <> l1.l_suppkey
    and l3.l_receiptdate > l3.l_commitdate)"""
CODES = "substring(c_phone, 1, 2) in ('13', '31', '23', '29', '30', '18', '17')"

LINEAGE: dict[str, dict[str, str]] = {
    "q01": {
        "lineitem": """select l_orderkey, l_linenumber from lineitem where l_shipdate <= date '1998-09-02'
            and l_returnflag = :l_returnflag and l_linestatus = :l_linestatus"""
    },
    "q02": {
        "part": "select p_partkey from part where p_partkey = :p_partkey",
        "supplier": "select s_suppkey from supplier where s_name = :s_name",
        "partsupp": """select ps_partkey, ps_suppkey from partsupp, supplier
            where ps_suppkey = s_suppkey and s_name = :s_name and ps_partkey = :p_partkey""",
        "nation": "select n_nationkey from nation where n_name = :n_name",
        "region": "select r_regionkey from region where r_name = 'EUROPE'",
    },
    "q03": {
        "customer": f"select distinct c_custkey {Q3}",
        "orders": f"select distinct o_orderkey {Q3}",
        "lineitem": f"select l_orderkey, l_linenumber {Q3}",
    },
    "q04": {
        "orders": f"select o_orderkey {Q4}",
        "lineitem": f"""select l_orderkey, l_linenumber from lineitem where l_commitdate < l_receiptdate
            and l_orderkey in (select o_orderkey {Q4})""",
    },
    "q05": {name: f"select distinct {key} {Q5}" for name, key in KEYS.items() if not name.startswith("part")},
    "q06": {
        "lineitem": """select l_orderkey, l_linenumber from lineitem where l_shipdate >= date '1994-01-01'
            and l_shipdate < date '1995-01-01' and l_discount between 0.05 and 0.07 and l_quantity < 24"""
    },
    "q07": {
        **{name: f"select distinct {KEYS[name]} {Q7}" for name in ("supplier", "lineitem", "orders", "customer")},
        "nation": f"select n1.n_nationkey {Q7} union select n2.n_nationkey {Q7}",
    },
    "q08": {
        **{name: f"select distinct {key} {Q8}" for name, key in KEYS.items() if name not in ("partsupp", "nation")},
        "nation": f"select n1.n_nationkey {Q8} union select n2.n_nationkey {Q8}",
    },
    "q09": {name: f"select distinct {key} {Q9}" for name, key in KEYS.items() if name not in ("customer", "region")},
    "q10": {name: f"select distinct {KEYS[name]} {Q10}" for name in ("customer", "orders", "lineitem", "nation")},
    "q11": {name: f"select distinct {KEYS[name]} {Q11}" for name in ("partsupp", "supplier", "nation")},
    "q12": {name: f"select distinct {KEYS[name]} {Q12}" for name in ("orders", "lineitem")},
    "q13": {
        "customer": f"select k {Q13}",
        "orders": f"""select o_orderkey from orders where o_comment not like '%special%requests%'
            and o_custkey in (select k {Q13})""",
    },
    "q14": {name: f"select distinct {KEYS[name]} {Q14}" for name in ("lineitem", "part")},
    "q15": {
        "supplier": "select s_suppkey from supplier where s_suppkey = :s_suppkey",
        "lineitem": """select l_orderkey, l_linenumber from lineitem where l_suppkey = :s_suppkey
            and l_shipdate >= date '1996-01-01' and l_shipdate < date '1996-04-01'""",
    },
    "q16": {
        "partsupp": f"select ps_partkey, ps_suppkey {Q16}",
        "part": f"select distinct p_partkey {Q16}",
        "supplier": "select s_suppkey from supplier where false",
    },
    "q17": {
        "part": f"select distinct p_partkey {Q17}",
        "lineitem": f"select l_orderkey, l_linenumber from lineitem where l_partkey in (select p_partkey {Q17})",
    },
    "q18": {
        "customer": "select c_custkey from customer where c_custkey = :c_custkey",
        "orders": "select o_orderkey from orders where o_orderkey = :o_orderkey",
        "lineitem": "select l_orderkey, l_linenumber from lineitem where l_orderkey = :o_orderkey",
    },
    "q19": {name: f"select distinct {KEYS[name]} {Q19}" for name in ("lineitem", "part")},
    "q20": {
        "supplier": "select s_suppkey from supplier where s_name = :s_name",
        "nation": "select n_nationkey from nation where n_name = 'CANADA'",
        "part": f"select distinct p_partkey {Q20}",
        "partsupp": f"select distinct ps_partkey, ps_suppkey {Q20}",
        "lineitem": f"""select l_orderkey, l_linenumber from lineitem where l_shipdate >= date '1994-01-01'
            and l_shipdate < date '1995-01-01' and (l_partkey, l_suppkey) in (select (ps_partkey, ps_suppkey) {Q20})""",
    },
    "q21": {
        "supplier": f"select distinct s_suppkey {Q21}",
        "nation": f"select distinct n_nationkey {Q21}",
        "orders": f"select distinct o_orderkey {Q21}",
        "lineitem": f"""select l1.l_orderkey, l1.l_linenumber {Q21} union
            select l.l_orderkey, l.l_linenumber from lineitem l, (select l1.l_orderkey o, l1.l_suppkey s {Q21}) x
            where l.l_orderkey = o and l.l_suppkey <> s""",
    },
    "q22": {
        "customer": f"""select c_custkey from customer where {CODES} and (c_acctbal > 0.00 or
            substring(c_phone, 1, 2) = :cntrycode and not exists (select 1 from orders where o_custkey = c_custkey)
            and c_acctbal > (select avg(c_acctbal) from customer where c_acctbal > 0.00 and {CODES}))""",
        "orders": "select o_orderkey from orders where false",
    },
}
TABLES = tuple(KEYS)


@pytest.fixture(scope="module")
def duck(tpch_files: Path) -> duckdb.DuckDBPyConnection:
    import duckdb

    connection = duckdb.connect()
    for table in TABLES:
        connection.execute(f"create view {table} as select * from '{tpch_files / table}.parquet'")
    return connection


def test_there_are_22() -> None:
    assert len(NUMBERS) == 22
    assert LINEAGE.keys() == set(NUMBERS)


@pytest.mark.parametrize("number", NUMBERS)
def test_lineage_of_a_query(spark: SparkSession, tpch: Path, duck: duckdb.DuckDBPyConnection, number: str) -> None:
    df = spark.sql((QUERIES / f"{number}.sql").read_text())
    pipeline = Pipeline(df, name=number, mode="eager")
    assert set(pipeline.sources) == LINEAGE[number].keys()

    output = pipeline.run().collect()
    assert sorted(map(repr, output)) == sorted(map(repr, df.collect()))
    assert output

    inferred = [Pipeline(df, name=number), Pipeline(df, name=number, save="always")]
    for each in inferred:
        assert sorted(map(repr, each.run().collect())) == sorted(map(repr, output))
    for row in dict.fromkeys((output[0], output[-1])):
        lineage = pipeline.backward(row)
        for each in inferred:
            answer = each.backward(row)
            assert (answer.how, answer.precise) == ("saved", True)
            assert all(rows(answer, source) == rows(lineage, source) for source in pipeline.sources)
            assert all(len(answer.identities(source)) == len(rows(answer, source)) for source in pipeline.sources)
        assert lineage.precise, lineage.reason
        for source, sql in LINEAGE[number].items():
            assert found(lineage, source) == expected(duck, sql, row), source
        if row == output[-1]:
            assert row in remade(pipeline, row)


@pytest.mark.parametrize("number", ["q02", "q15"])
def test_whole_groups_where_rows_attain_a_value(spark: SparkSession, tpch: Path, number: str) -> None:
    df = spark.sql((QUERIES / f"{number}.sql").read_text())
    eager, inferred = Pipeline(df, mode="eager", witness="group"), Pipeline(df, witness="group")
    row = eager.run().collect()[0]
    inferred.run()
    whole, answer = eager.backward(row), inferred.backward(row)
    assert answer.precise
    assert all(rows(answer, source) == rows(whole, source) for source in eager.sources)


def rows(lineage: Lineage, source: str) -> list[str]:
    return sorted(map(repr, lineage.arrow(source).to_pylist()))


def found(lineage: Lineage, source: str) -> set[tuple[Any, ...]]:
    return {tuple(row) for row in lineage[source].select(*KEYS[source].split(", ")).collect()}


def expected(duck: duckdb.DuckDBPyConnection, sql: str, row: Row) -> set[tuple[Any, ...]]:
    names = re.findall(r":(\w+)", sql)
    rows = duck.execute(re.sub(r":(\w+)", "?", sql), [row[name] for name in names]).fetchall()
    return set(rows)


def remade(pipeline: Pipeline, row: Row) -> list[Row]:
    """The output over nothing but the lineage of a row: each use of a source has its own rows, and no others."""
    plan = Plan(pipeline.plan, pipeline.analysis.jvm)
    asked = predicate((tuple(zip(plan.root.output, row, strict=True)),))
    return frame(over_only(plan, united(annotated(plan, root=Filter(plan.root, asked)))), plan.jvm).collect()


def test_forward_is_the_inverse_of_backward(spark: SparkSession, tpch: Path) -> None:
    df = spark.sql((QUERIES / "q03.sql").read_text())
    pipeline = Pipeline(df, mode="eager")
    output = pipeline.run().collect()
    item = pipeline.backward(output[3])["lineitem"].first()
    assert item is not None
    assert pipeline.forward("lineitem", item).collect() == [output[3]]
    unused = spark.sql("select * from lineitem where l_shipdate <= date '1995-03-15' limit 1").collect()
    assert pipeline.forward("lineitem", unused).collect() == []


@pytest.mark.usefixtures("tpch")
@pytest.mark.parametrize("number", NUMBERS)
def test_a_plan_comes_back_from_its_document(spark: SparkSession, number: str) -> None:
    assert not stored_faults(read(spark.sql((QUERIES / f"{number}.sql").read_text())).root)
