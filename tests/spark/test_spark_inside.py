"""Looking into Python functions: the same values in Python, in Spark's own expressions, and in DuckDB."""

from __future__ import annotations

import math
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whence.rows import Attr, Inside
from whence.rows.duck.engine import connected
from whence.rows.duck.literals import identifier
from whence.rows.duck.translate import value_sql
from whence.rows.functions import translate
from whence.rows.functions.checking import suggested
from whence.rows.functions.evaluating import evaluated
from whence.spark.catalyst.jvm import Jvm
from whence.spark.catalyst.write_expressions import Lowering
from whence.spark.lineage import Lineage
from whence.spark.pipeline import Pipeline
from whence.testing.everyday import EVERYDAY, Everyday

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

REFUSING = {"to_number"}  # its translation meets texts that are no numbers before it chooses
KNOWN = [each for each in EVERYDAY if isinstance(translate(each.function, each.arguments, each.returns), Inside)]


def rows_of(each: Everyday, inside: Inside) -> list[tuple[Any, ...]]:
    """Arguments for which the function returns something, and the translation is said to hold."""
    found: dict[str, tuple[Any, ...]] = {}
    for row in suggested(inside.parameters, inside.value, inside.domain):
        if evaluated(inside.domain, dict(zip(inside.parameters, row, strict=True))) is False:
            continue
        try:
            each.function(*row)
        except Exception:  # noqa: S112  # there a translation means nothing
            continue
        found[repr(row)] = row
    return list(found.values())


def same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one == other or (math.isnan(one) and math.isnan(other))
    return bool(one == other)


@pytest.mark.parametrize("each", KNOWN, ids=lambda each: each.name)
def test_python_spark_and_duckdb_agree(spark: SparkSession, tmp_path: Path, each: Everyday) -> None:
    from pyspark.sql import functions as F

    inside = translate(each.function, each.arguments, each.returns)
    assert isinstance(inside, Inside)
    names = [f"c{place}" for place in range(len(each.arguments))]
    rows = rows_of(each, inside)
    assert len(rows) > 10
    schema = ", ".join(f"{name} {dtype}" for name, dtype in zip(names, each.arguments, strict=True))
    spark.createDataFrame([(i, *row) for i, row in enumerate(rows)], f"i int, {schema}").coalesce(1).write.parquet(
        str(tmp_path / "t")
    )
    df = spark.read.parquet(str(tmp_path / "t"))
    function = each.function
    wanted = df.select("i", F.udf(lambda *args: function(*args), each.returns)(*names).alias("r")).collect()
    want = {row["i"]: row["r"] for row in wanted}

    # Spark's own expressions
    jvm = Jvm(spark)
    attrs = df._jdf.queryExecution().analyzed().output()
    columns = {name: attrs.apply(place + 1) for place, name in enumerate(names)}
    ours = {
        parameter: Attr(int(columns[name].exprId().id()), name, parameter.dtype)
        for parameter, name in zip(inside.parameters, names, strict=True)
    }
    from whence.rows import transform

    value = transform(inside.value, lambda part: ours.get(part, part) if isinstance(part, Attr) else part)
    from pyspark.sql.classic.column import Column

    java = jvm.class_("org.apache.spark.sql.classic.ExpressionUtils").column(Lowering(jvm).expr(value))
    native = {row["i"]: row["r"] for row in df.select("i", Column(java).alias("r")).collect()}
    wrong = [(rows[i], want[i], native[i]) for i in want if not same(want[i], native[i])]
    assert not wrong, wrong[:3]

    # DuckDB
    sql = value_sql(inside.value, {p: identifier(n) for p, n in zip(inside.parameters, names, strict=True)})
    if sql is None:
        assert each.name in {"bmi", "discounted"}, each.name  # floats are not computed by DuckDB
        return
    (file,) = (tmp_path / "t").glob("*.parquet")
    with connected() as connection:
        try:
            answers = connection.execute(f"SELECT i, {sql} FROM read_parquet('{file}')").fetchall()
        except duckdb.InvalidInputException:  # DuckDB refuses some rows, and Spark is asked
            if each.name not in REFUSING:
                raise
            answers = []
            for i in want:
                with suppress(duckdb.InvalidInputException):
                    answers += connection.execute(
                        f"SELECT i, {sql} FROM read_parquet('{file}') WHERE i = {i}"
                    ).fetchall()
    assert len(answers) > 5
    wrong = [(rows[i], want[i], found) for i, found in answers if not same(want[i], found)]
    assert not wrong, wrong[:3]


def test_filters_and_keys_made_by_functions_are_answered_from_the_files(spark: SparkSession, tmp_path: Path) -> None:
    from datetime import datetime, timedelta

    from pyspark.sql import functions as F

    def first_two(text: Any) -> Any:
        return None if text is None else text.strip().lower()[:2]

    def is_wanted(x: Any, text: Any) -> Any:
        return x is not None and x % 3 == 1 and not (text or "").endswith("!")

    def shift(at: Any) -> Any:
        if at is None:
            return None
        return "night" if at.hour < 6 or at.weekday() == 6 else f"{at.month:02d}"

    times = [None, *(datetime(2024, 2, 27) + timedelta(hours=7 * step) for step in range(11))]
    texts = ["Ab!", " ab", None, "B", "abc", "", "b ", "Cd", "a", "AB", "cd!", "x"]
    rows = {"i": range(12), "x": [1, 4, 7, None, -2, 3, 10, 1, 2, -5, 4, 7], "s": texts, "at": times}
    pq.write_table(pa.table({name: list(values) for name, values in rows.items()}), tmp_path / "t.parquet")
    pq.write_table(pa.table({"j": [100, 101, 102], "s": ["ab", "CD", None]}), tmp_path / "u.parquet")
    t, u = (spark.read.parquet(str(tmp_path / f"{name}.parquet")) for name in "tu")
    opening, of_time = (F.udf(each, "string", useArrow=True) for each in (first_two, shift))
    wanted_rows = F.udf(is_wanted, "boolean", useArrow=True)("x", "s")

    def from_files(df: DataFrame) -> Pipeline:
        p = Pipeline(df)
        assert "the files, with DuckDB" in p.explain()
        return p

    def ids(lineage: Lineage) -> list[int]:
        assert lineage.precise, lineage.reason
        return sorted(row["i"] for row in lineage["t"].collect())

    kept = [i for i in range(12) if is_wanted(rows["x"][i], texts[i])]
    p = from_files(t.where(wanted_rows).agg(F.count("*").alias("n")))
    assert ids(p.backward({"n": len(kept)})) == kept
    p = from_files(t.where(wanted_rows).select("i"))
    assert [[row["i"] for row in p.forward("t", {"i": i}).collect()] for i in (0, 1)] == [[], [1]]

    p = from_files(t.join(u, opening(t["s"]) == opening(u["s"])).select("i", "j"))
    assert ids(p.backward({"j": 100})) == [i for i in range(12) if first_two(texts[i]) == "ab"]

    p = from_files(t.groupBy(of_time("at").alias("shift")).agg(F.sum("x").alias("n")))
    for wanted in (None, "night", "02"):
        assert ids(p.backward({"shift": wanted})) == [i for i in range(12) if shift(times[i]) == wanted]


def test_a_null_that_a_function_hands_on_is_a_cell_of_its_value(spark: SparkSession, tmp_path: Path) -> None:
    from pyspark.sql import functions as F

    pq.write_table(pa.table({"x": [1, 5], "s": pa.array([None, None], pa.string())}), tmp_path / "t.parquet")
    t = spark.read.parquet(str(tmp_path / "t.parquet"))
    chosen = F.udf(lambda x, s: s if x < 3 else "many", "string")
    p = Pipeline(t.select("x", chosen("x", "s").alias("z")))
    cells = [p.backward({"x": x}, columns=["z"], lineage="value").cells("t").cells().tolist() for x in (1, 5)]
    assert cells == [[[0, 1]], []]


def test_a_function_is_the_one_that_spark_has_whatever_its_closure_holds_later(
    spark: SparkSession, tmp_path: Path
) -> None:
    from pyspark.sql import functions as F

    least = 3
    pattern = re.compile(r"ca\d+x")

    def large(x: Any, s: Any) -> Any:
        return x is not None and x > least and (pattern.match(s) or re.match(r"c\d+a", s, flags=re.I)) is not None

    texts = ["ca1x", "CA1x", "C22A", "c3A", "cax", "xca1x"]
    pq.write_table(pa.table({"x": [4, 5, 6, 2, 7, 8], "s": texts}), tmp_path / "t.parquet")
    t = spark.read.parquet(str(tmp_path / "t.parquet"))
    df = t.where(F.udf(large, "boolean", useArrow=True)("x", "s")).select("s")
    kept = [text for x, text in zip([4, 5, 6, 2, 7, 8], texts, strict=True) if large(x, text)]
    assert kept == ["ca1x", "C22A"]
    least, pattern = 100, re.compile("x")  # Spark pickled the function when the DataFrame was made
    p = Pipeline(df)
    assert [row["s"] for row in df.collect()] == kept
    assert [[row["s"] for row in p.forward("t", {"s": text}).collect()] for text in texts] == [
        [text] if text in kept else [] for text in texts
    ]
    assert [p.backward({"s": text}).arrow("t").column("s").to_pylist() for text in kept] == [[text] for text in kept]
