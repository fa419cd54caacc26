"""Looking into Python functions: the same values in Python, in Spark's own expressions, and in DuckDB."""

from __future__ import annotations

import math
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
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
from whence.testing.everyday import EVERYDAY, Everyday

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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
