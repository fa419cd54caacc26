"""What DuckDB answers is what Spark answers: random predicates over values at the edges of their types."""

from __future__ import annotations

import math
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, seed, settings
from hypothesis import strategies as st

from whence.rows import (
    TRUE,
    Attr,
    Expr,
    Filter,
    Join,
    Param,
    Project,
    Source,
    attrs_of,
    conjunction,
    fresh,
    keep,
    transform,
    walk,
)
from whence.rows.duck import Files, count, select, translated
from whence.rows.duck.engine import connected
from whence.rows.pushdown import infer
from whence.spark.catalyst.frames import frame
from whence.spark.catalyst.jvm import Jvm
from whence.spark.catalyst.plan import read
from whence.spark.sources.row_ids import files_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUERIES = Path(__file__).with_name("queries")
SAID = {"org.apache.spark.version": "4.0.0"}  # days are counted as Spark counts them now
OPERATORS = ["=", "=", "<=>", "<=>", "<>", "<", ">="]
INTEGERS = {"byte": 8, "short": 16, "integer": 32, "long": 64}
DECIMALS = {"decimal(15,2)": (15, 2), "decimal(5,0)": (5, 0), "decimal(38,10)": (38, 10), "decimal(20,12)": (20, 12)}
TEXTS = [
    "",
    " ",
    "a",
    "A",
    "ab",
    "aB",
    "abc",
    "b",
    "ba",
    "it's",
    '"',
    "%",
    "_",
    "a%b",
    "\\",
    "10",
    "2024-02-29",
    "z" * 20,
]
TEXTS += ["é", "e\u0301", "ß", "😀", "a😀b", "\0", "a\0b", "z" * 13, "\U0010ffff", "\ud7ff", "\uffff"]
DAYS = [date(1, 1, 1), date(1582, 10, 4), date(1582, 10, 15), date(1900, 2, 28), date(1969, 12, 31), date(1970, 1, 1)]
DAYS += [date(1995, 12, 31), date(1996, 1, 1), date(1996, 2, 29), date(2024, 2, 29), date(9999, 12, 31)]
TIMES = [
    datetime(1, 1, 1),
    datetime(1899, 12, 31, 23, 59, 59, 999999),
    datetime(1970, 1, 1),
    datetime(2024, 3, 31, 2, 30),
]
TIMES += [datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(1996, 2, 29, 12, 30, 0, 1), datetime.max]
FLOATS = [math.nan, math.inf, -math.inf, 0.0, -0.0, 1.0, -1.0, 0.5, 0.1, 3e38, 1e-45, 16777217.0]
WHOLE = [1 << 53, (1 << 53) + 1, -(1 << 53) - 1, 1 << 24, (1 << 24) + 1]  # what a double, or a float, cannot tell apart
DOUBLES = [
    *FLOATS,
    9007199254740992.0,
    9.223372036854775807e18,
    5e-324,
    1.7976931348623157e308,
    0.1 + 0.2,
    9007199254740993.0,
]


def values_of(dtype: str) -> list[Any]:
    """The edges of a type, and what lies between them."""
    if dtype in INTEGERS:
        top = 1 << INTEGERS[dtype] - 1
        return [-top, 1 - top, -2, -1, 0, 1, 2, 3, 9, 10, 99, 100, top - 1, *(WHOLE if dtype == "long" else ())]
    if dtype in DECIMALS:
        precision, scale = DECIMALS[dtype]
        top = 10**precision - 1
        return [Decimal(f"{each}E-{scale}") for each in (-top, -1, 0, 1, top)] + (
            [Decimal(each) for each in (-2, 1, 2, 3, 99)]
        )
    others: dict[str, list[Any]] = {
        "string": TEXTS,
        "boolean": [True, False],
        "date": DAYS,
        "timestamp_ntz": TIMES,
        "timestamp": [each.replace(tzinfo=UTC) for each in TIMES],
        "float": FLOATS,
        "double": DOUBLES,
        "binary": [b"", b"\0", b"a", b"\xff", b"a\xff"],
    }
    return others[dtype]


ARROW: dict[str, Any] = {name: pa.decimal128(*size) for name, size in DECIMALS.items()}
ARROW |= {"byte": pa.int8(), "short": pa.int16(), "integer": pa.int32(), "long": pa.int64()}
ARROW |= {"string": pa.string(), "boolean": pa.bool_(), "date": pa.date32(), "binary": pa.binary()}
ARROW |= {"timestamp_ntz": pa.timestamp("us"), "timestamp": pa.timestamp("us", "UTC")}
ARROW |= {"float": pa.float32(), "double": pa.float64()}
COLUMNS = {f"{letter}_{place}": dtype for place, dtype in enumerate(ARROW) for letter in "xyz"}
OF_TYPE: dict[str, list[str]] = {}
for name, dtype in COLUMNS.items():
    OF_TYPE.setdefault(dtype, []).append(name)


def edges(number: int, rows: int = 120) -> pa.Table:
    """A table of values from the edges; its parts are ordered by one column or another, so that row groups differ."""
    chance = random.Random(number)
    made: dict[str, Any] = {"id": pa.array(range(rows), pa.int64())}
    for name, dtype in COLUMNS.items():
        values = [None if chance.random() < 0.15 else chance.choice(values_of(dtype)) for _ in range(rows)]
        if name.startswith("x"):  # each group of rows has few values, in ascending order where there is one
            order = {repr(each): place for place, each in enumerate(values_of(dtype))}
            values.sort(key=lambda each: order.get(repr(each), -1))
        if name.startswith("z") and dtype in (*INTEGERS, *DECIMALS):  # small enough to be added and multiplied
            values = [None if each is None else chance.randint(-5, 9) for each in values]
        made[name] = pa.array(values, ARROW[dtype])
    return pa.table(made)


class Writer:
    """Writes predicates in Spark's SQL; literals are parameters, so that Spark has the very value."""

    def __init__(self, number: int) -> None:
        self.random = random.Random(number)
        self.args: dict[str, Any] = {}

    def one(self, choices: Any) -> Any:
        return self.random.choice(list(choices))

    def number(self, most: int) -> int:
        return self.random.randint(0, most)

    def parameter(self, value: Any) -> str:
        name = f"p{len(self.args)}"
        self.args[name] = value
        return f":{name}"

    def literal(self, dtype: str) -> str:
        if self.number(19) == 0:
            return f"cast(null as {SQL.get(dtype, dtype)})"
        value = self.one(values_of(dtype))
        if dtype == "float":
            return str(self.one(["0.5F", "0.0F", "1.0F", "0.1F"]))
        if dtype in ("date", "timestamp_ntz"):
            return f"{dtype}'{value}'"
        if dtype in INTEGERS:
            return f"cast({self.parameter(value)} as {SQL[dtype]})"
        return self.parameter(value)

    def column(self, dtype: str) -> str:
        return str(self.one(OF_TYPE[dtype]))

    def value(self, dtype: str) -> str:
        kind = self.number(9)
        if kind < 5:
            return self.column(dtype)
        if kind == 5:
            made = self.computed(dtype)
            if made is not None:
                return made
        return self.literal(dtype)

    def computed(self, dtype: str) -> str | None:
        a, b, small = self.column(dtype), self.column(dtype), self.number(3)
        if dtype in (*INTEGERS, *DECIMALS) and small:
            a = b = next(name for name in OF_TYPE[dtype] if name.startswith("z"))
        if self.number(3) == 0:
            return str(self.one([f"coalesce({a}, {b})", f"if({a} < {b}, {a}, {b})", f"nullif({a}, {b})",
                                 f"case when {a} = {b} then {a} when {a} > {b} then {b} end"]))  # fmt: skip
        if dtype == "string":
            return str(self.one([f"substring({a}, {small + 1}, {self.number(3)})", f"left({a}, {small})",
                                 f"substr({a}, 2)", f"{a} || {b}", f"concat({a}, 'x', {b})"]))  # fmt: skip
        if dtype == "integer" and small:
            return f"{self.one(['year', 'month', 'day', 'quarter'])}({self.column('date')})"
        if dtype in INTEGERS:
            return str(
                self.one([f"{a} {self.one('+-*')} {b}", f"-{a}", f"{a} % cast(3 as {SQL[dtype]})", "length(x_8)"])
            )
        if dtype in DECIMALS and dtype != "decimal(38,10)":  # what is too large there may end the whole query
            return str(
                self.one([f"{a} {self.one('+-*')} {b}", f"{a} / {self.one(['7', '0.3', '-12'])}", f"-{a}",
                          self.column("integer")])
            )  # fmt: skip
        if dtype in ("float", "double"):
            return str(self.one([f"{a} {self.one('+-*')} {b}", f"-{a}", self.column(self.one([*INTEGERS, "float"]))]))
        if dtype == "date":
            return str(self.one(["date'1995-01-31' + interval '1' month", "date'1998-12-01' - interval '90' day",
                                 "date'1996-02-29' + interval '1' year", "date_add(date'1995-01-31', -31)",
                                 "add_months(date'1995-12-31', 2)"]))  # fmt: skip
        return None

    def comparison(self) -> str:
        dtype = self.one(ARROW)
        left, right = self.value(dtype), self.value(dtype)
        if (dtype in INTEGERS or dtype in DECIMALS) and self.number(3) == 0:  # Spark casts one of them
            right = self.value(self.one([*INTEGERS, *DECIMALS]))
        kind = self.number(9)
        if kind == 0:
            return f"{left} is null"
        if kind == 1:
            return f"{left} in ({', '.join(self.value(dtype) for _ in range(1 + self.number(3)))})"
        if kind == 2:
            return f"{left} between {right} and {self.value(dtype)}"
        return f"{left} {self.one(['=', '<=>', '<>', '<', '<=', '>', '>='])} {right}"

    def text(self) -> str:
        column, other = self.column("string"), self.value("string")
        kind = self.number(3)
        if kind == 0:
            pattern = "".join(self.one(["%", "_", "a", "b", "😀", "é", "\0", " "]) for _ in range(self.number(4)))
            return f"{column} like {self.parameter(pattern)}"
        return f"{self.one(['startswith', 'endswith', 'contains'])}({column}, {other})"

    def predicate(self, depth: int = 2) -> str:
        kind = self.number(9)
        if depth and kind == 0:
            return f"not ({self.predicate(depth - 1)})"
        if depth and kind < 5:
            return f"(({self.predicate(depth - 1)}) {self.one(['and', 'or'])} ({self.predicate(depth - 1)}))"
        if kind == 5:
            return self.column("boolean")
        return self.text() if kind < 7 else self.comparison()


SQL = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint"}


@pytest.fixture(scope="module")
def files(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Three files of one table, in small row groups, by a writer that says that it counts days as Spark does now."""
    directory = tmp_path_factory.mktemp("edges")
    table = edges(7)
    for place in range(3):
        part = table.slice(place * 40, 40).replace_schema_metadata(SAID)
        pq.write_table(part, directory / f"part-{place}.parquet", row_group_size=8)
    spark.read.parquet(str(directory)).createOrReplaceTempView("edges")
    spark.conf.set("spark.sql.ansi.enabled", "false")  # an overflow is a value then, and no error of the whole query
    yield [str(path) for path in sorted(directory.glob("*.parquet"))]
    spark.conf.unset("spark.sql.ansi.enabled")


def asked(spark: SparkSession, sql: list[str], args: dict[str, Any]) -> tuple[tuple[Attr, ...], list[Expr], list[Any]]:
    """The table's columns, the predicates as they are read from the plan, and what Spark says of each row."""
    shown = ", ".join(f"({each}) as p{place}" for place, each in enumerate(sql))
    df = spark.sql(f"select id, {shown} from edges", args=args)
    plan = read(df).root
    assert isinstance(plan, Project)
    return plan.child.output, [each.expr for each in plan.columns[1:]], df.orderBy("id").collect()


@seed(int(os.environ["WHENCE_SEED"]))
@settings(max_examples=6, deadline=None, database=None, phases=[Phase.generate])  # the assertion names what fails
@given(st.integers(0, 1 << 32))
def test_random_predicates(spark: SparkSession, files: list[str], number: int) -> None:
    writer = Writer(number)
    sql = [writer.predicate() for _ in range(40)]
    columns, exprs, rows = asked(spark, sql, writer.args)
    table = Files(tuple(files), columns)
    names = table.names("r")
    inside = [translated(expr, names) for expr in exprs]
    answered = 0
    for place, condition in enumerate(inside):
        found = None if condition is None else select(table, exprs[place], columns=(columns[0],))
        if condition is None or found is None:
            continue
        answered += 1
        assert found.column(0).to_pylist() == [row[0] for row in rows if row[place + 1]], (sql[place], writer.args)
        if "error(" not in condition:  # NULL is NULL, too
            with connected() as connection:
                said = connection.sql(f"select {condition} from {table.sql()} as r").fetchall()
            assert [each for (each,) in said] == [row[place + 1] for row in rows], (sql[place], writer.args, condition)
    assert answered > len(sql) / 2


@seed(int(os.environ["WHENCE_SEED"]))
@settings(max_examples=4, deadline=None, database=None, phases=[Phase.generate])
@given(st.integers(0, 1 << 32))
def test_random_tables(
    spark: SparkSession, files: list[str], tmp_path_factory: pytest.TempPathFactory, number: int
) -> None:
    """Rows for which a predicate holds with some row of a table: few or many of them, in memory or in a file."""
    writer = Writer(number)
    keys = [writer.one(ARROW) for _ in range(3)]
    chance = random.Random(number)
    table = edges(number + 1, writer.one([0, 1, 2, 90])).select(
        writer.one(OF_TYPE[each]) for each in dict.fromkeys(keys)
    )
    table = table.rename_columns([f"t_{place}" for place in range(table.num_columns)])
    path = tmp_path_factory.mktemp("table") / "t.parquet"
    pq.write_table(table.replace_schema_metadata(SAID), path, row_group_size=8)
    spark.read.parquet(str(path)).createOrReplaceTempView("given")
    for _ in range(4):
        pairs = list(zip(dict.fromkeys(keys), table.column_names, strict=True))
        chosen = chance.sample(pairs, chance.randint(1, len(pairs)))
        parts = [f"{writer.column(dtype)} {writer.one(OPERATORS)} {name}" for dtype, name in chosen]
        parts[0] = writer.one([parts[0], f"not ({parts[0]})"])
        parts += writer.one([[], [writer.comparison()], [f"{chosen[0][1]} is not null"]])
        where = f" {writer.one(['and', 'and', 'or'])} ".join(parts)
        df = spark.sql(f"select * from edges left semi join given on {where}", args=writer.args)
        parts_of = list(walk(read(df).root))  # conditions on one side stand in a filter of their own
        left, right = (each.columns for each in parts_of if isinstance(each, Source))
        condition = conjunction(*(each.condition for each in parts_of if isinstance(each, Join | Filter)))
        rows = Files(tuple(files), left)
        names = {**rows.names("r"), **{attr: f"g.{attr.name}" for attr in right}}
        inside = translated(condition, names) is not None  # arithmetic of floats is not
        expected = sorted(row["id"] for row in df.select("id").collect())
        for given_ in (table.select([attr.name for attr in right]), Files((str(path),), right)):
            found = select(rows, condition, given_, right, columns=left[:1])
            if found is None:
                assert not inside, where
                continue
            assert sorted(found.column(0).to_pylist()) == expected, (where, writer.args)
            assert count(rows, condition, given_, right) == len(expected)


@pytest.mark.parametrize("number", [path.stem for path in sorted(QUERIES.glob("q*.sql"))])
def test_all_predicates_of_tpch_are_inside(spark: SparkSession, tpch: Path, number: str) -> None:
    plan = read(spark.sql((QUERIES / f"{number}.sql").read_text())).root
    for predicate in infer(plan).lineage.values():
        parameters = {each: fresh(each.name, each.dtype) for each in walk(predicate) if isinstance(each, Param)}
        bound = substituted(predicate, parameters)
        assert translated(bound, {attr: f'"{attr.name}"' for attr in attrs_of(bound)}), str(predicate)


def substituted(predicate: Expr, known: dict[Param, Attr]) -> Expr:
    made: Expr = transform(predicate, lambda part: known[part] if isinstance(part, Param) else part)
    return made


def test_rows_are_numbered_as_spark_numbers_them(spark: SparkSession, files: list[str]) -> None:
    source = next(each for each in walk(read(spark.sql("select * from edges")).root) if isinstance(each, Source))
    row_id = fresh("_row", "long")
    numbered = frame(Project(replace(source, row_id=row_id), keep(source.columns[0], row_id)), Jvm(spark))
    paths = tuple(each.removeprefix("file:") for each in files_of(source) or ())
    assert sorted(paths) == files
    found = select(Files(paths, source.columns), TRUE, identity=True, columns=source.columns[:1])
    assert found is not None
    pairs = zip(*(column.to_pylist() for column in found.columns), strict=True)
    assert sorted(pairs) == sorted(tuple(row) for row in numbered.collect())


def test_rows_come_back_as_spark_has_them(spark: SparkSession, files: list[str], tmp_path: Path) -> None:
    """From files that Arrow wrote, and from those that Spark writes: instants in an old form, decimals in another."""
    spark.sql("select * from edges").coalesce(1).write.parquet(str(tmp_path / "written"))
    written = [str(path) for path in (tmp_path / "written").glob("*.parquet")]
    for paths in (files, written):
        df = spark.read.parquet(*paths)
        columns = next(each for each in walk(read(df).root) if isinstance(each, Source)).columns
        found = select(Files(tuple(paths), columns), TRUE)
        assert found is not None
        same = df.orderBy("id").toArrow().cast(found.schema)
        assert repr(found.sort_by("id").to_pylist()) == repr(same.to_pylist())  # NaN has no equal in Python
