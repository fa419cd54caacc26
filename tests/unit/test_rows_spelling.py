"""Rows on a command line and in JSON."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from whence.errors import BadType
from whence.rows import Attr
from whence.rows.questions.rows import asked_rows
from whence.rows.questions.text import plain, read_json, read_pairs

COLUMNS = [
    Attr(1, "n", "long"),
    Attr(2, "x", "double"),
    Attr(3, "d", "decimal(10,2)"),
    Attr(4, "s", "string"),
    Attr(5, "b", "boolean"),
    Attr(6, "day", "date"),
    Attr(7, "at", "timestamp_ntz"),
    Attr(8, "raw", "binary"),
]
ROWS = st.fixed_dictionaries(
    {},
    optional={
        "n": st.none() | st.integers(-(2**63), 2**63 - 1),
        "x": st.none() | st.floats(allow_nan=False),
        "d": st.none() | st.decimals(-1000, 1000, places=2),
        "s": st.none() | st.text(),
        "b": st.none() | st.booleans(),
        "day": st.none() | st.dates(),
        "at": st.none() | st.datetimes(),
        "raw": st.none() | st.binary(),
    },
).filter(bool)


@given(ROWS)
def test_what_is_printed_can_be_asked(row: dict[str, object]) -> None:
    printed = json.dumps([plain(row)], allow_nan=False)
    assert asked_rows(COLUMNS, read_json(COLUMNS, printed)) == asked_rows(COLUMNS, row)


@given(ROWS)
def test_the_command_line_says_the_same(row: dict[str, object]) -> None:
    pairs = [(name, str(plain(value))) for name, value in row.items() if value is not None]
    nulls = [name for name, value in row.items() if value is None]
    read = read_pairs(COLUMNS, pairs, nulls)
    assert dict(asked_rows(COLUMNS, read)[0]) == dict(asked_rows(COLUMNS, row)[0])


def test_types_as_they_are_typed() -> None:
    pairs = [("N", "7"), ("d", "0.10"), ("b", "TRUE"), ("day", "2024-02-29"), ("at", "2024-02-29T10:00"), ("s", "")]
    values = [value for _, value in asked_rows(COLUMNS, read_pairs(COLUMNS, pairs, ["raw"]))[0]]
    assert values == [7, Decimal("0.10"), True, date(2024, 2, 29), datetime(2024, 2, 29, 10), "", None]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([("n", "1.5")], "'n' is of type long"),
        ([("n", "null")], "say --null n"),
        ([("b", "yes")], "true or false"),
        ([("raw", "xyz")], "hexadecimal"),
        ([("n", "1"), ("n", "2")], "given twice"),
    ],
)
def test_values_that_do_not_fit(pairs: list[tuple[str, str]], message: str) -> None:
    with pytest.raises(BadType, match=message):
        read_pairs(COLUMNS, pairs)


@pytest.mark.parametrize("text", ["", "[]", "3", "[1]", "{", '{"n": 1} x'])
def test_json_that_is_no_rows(text: str) -> None:
    with pytest.raises(BadType, match="JSON"):
        read_json(COLUMNS, text)
