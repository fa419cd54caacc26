"""Many rows that are asked about at once: they go to DuckDB as a table, and mean what they mean one by one."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from whence.rows import Attr
from whence.rows.duck import Files, select
from whence.rows.duck.types import arrow_type
from whence.rows.questions.rows import asked_rows, predicate
from whence.spark.tracing.questions import LITERALS, clause_of

NAN = float("nan")
VALUES: dict[str, list[Any]] = {
    "long": [1, 2, None, -(1 << 63)],
    "double": [0.0, -0.0, NAN, None, 1.5],
    "float": [0.5, NAN, None],
    "decimal(9,2)": [Decimal("1.50"), Decimal("-0.01"), None],
    "string": ["a", "", "é", None],
    "date": [date(2024, 2, 29), None],
    "timestamp": [datetime(2024, 2, 29, 12, tzinfo=UTC), None],
    "boolean": [True, False, None],
    "binary": [b"", b"\x00", None],
}


@pytest.mark.parametrize("dtype", VALUES)
def test_a_table_of_rows_selects_what_the_rows_select(dtype: str, tmp_path: Path) -> None:
    attr, number = Attr(1, "x", dtype), Attr(2, "n", "long")
    held = VALUES[dtype]
    numbers = pa.array(range(len(held)), pa.int64())
    pq.write_table(pa.table({"x": pa.array(held, arrow_type(dtype)), "n": numbers}), tmp_path / "t.parquet")
    files = Files((str(tmp_path / "t.parquet"),), (attr, number))
    for value in held:
        few = asked_rows((attr,), [(value,)])
        many = asked_rows((attr,), [(value,)] * (LITERALS + 1))
        clause = clause_of(many)
        assert clause is not None
        assert clause[1] is not None
        one = select(files, predicate(few), columns=(number,))
        all_ = select(files, clause[0], clause[1].data, clause[1].columns, columns=(number,))
        assert one is not None
        assert all_ is not None
        assert sorted(all_.column(0).to_pylist()) == sorted(one.column(0).to_pylist())
        assert one.num_rows


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("decimal(9,2)", Decimal("1.005")),
        ("timestamp", datetime(2024, 1, 1)),  # a time whose zone is not said
        ('{"type":"array","elementType":"long","containsNull":true}', [1]),
        ("interval day to second", "1"),
    ],
)
def test_what_has_no_form_there_is_left_to_spark(dtype: str, value: Any) -> None:
    attr = Attr(1, "x", dtype)
    assert clause_of((((attr, value),),) * (LITERALS + 1)) is None


def test_rows_of_several_shapes_are_left_to_spark() -> None:
    a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    assert clause_of(((((a, 1),),) * LITERALS) + (((b, 1),),)) is None
