"""The ids that go around a function of groups, where it gives no rows."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

pytest.importorskip("pyspark")
from whence.spark.tracing.grouped_maps import _cogrouped_pandas, _pandas, _row_by_row

LIST = pa.list_(pa.int64())
ROWS = pd.DataFrame({"k0": [1, 1], "v0": [5, 6], "i0": [[10], [11]]})
NAMES = (["k0"], ["v0"], ["i0"])


def as_lists(frame: Any) -> list[Any]:
    """The ids as Spark takes them: Arrow refuses a column of another kind."""
    found: list[Any] = pa.Array.from_pandas(frame["_ids"], type=LIST).to_pylist()
    return found


@pytest.mark.parametrize("count", [0, 1, 2])
def test_as_many_lists_of_ids_as_rows(count: int) -> None:
    def some(rows: pd.DataFrame) -> pd.DataFrame:
        return rows[rows["a"] < 5 + count][:count]

    made = _pandas(some, ["a"], NAMES, ["a"], ["_ids"])((1,), ROWS)
    assert as_lists(made) == [[10, 11]] * count


def test_a_cogrouped_function_that_gives_no_rows() -> None:
    def none(left: pd.DataFrame, right: pd.DataFrame) -> pd.DataFrame:
        return left[:0]

    other: tuple[list[str], list[str], list[str]] = (["k0"], ["v0"], [])
    made = _cogrouped_pandas(none, (["a"], ["b"]), (NAMES, other), ["a"], ["_ids"])((1,), ROWS, ROWS)
    assert as_lists(made) == []


def test_a_batch_of_no_rows() -> None:
    (made,) = _row_by_row(lambda parts: parts, ["a"], ["v0"], ["i0"], ["_ids"])(iter([ROWS[:0]]))
    assert as_lists(made) == []
