"""Corners of Python that translations keep: identity of NaN, truth values as numbers, kinds of time, declared types."""

from __future__ import annotations

import math
import re
from datetime import date, datetime
from typing import Any

import pandas as pd
import pytest

from whence.rows import Inside
from whence.rows.duck.engine import connected
from whence.rows.duck.translate import value_sql
from whence.rows.functions import Untranslated, translate
from whence.rows.functions.evaluating import evaluated

BIG = 9223372036854775807


def value(inside: Inside | Untranslated, *row: Any) -> Any:
    """What a translation gives; "outside" where it leaves the row to Python."""
    assert isinstance(inside, Inside), inside
    known = dict(zip(inside.parameters, row, strict=True))
    return "outside" if evaluated(inside.domain, known) is False else evaluated(inside.value, known)


def test_a_truth_value_that_is_constant_is_one_number() -> None:
    found = translate(lambda x: True - x * BIG + x, ["integer"], "long")
    assert [value(found, x) for x in (0, 1)] == [1, 2 - BIG]


def test_a_nan_is_in_the_list_that_it_was_put_into() -> None:
    found = translate(lambda x, y: x in (x, y, 1), ["double", "double"], "boolean")
    assert value(found, 2.0, 3.0) is True
    assert value(found, math.nan, 3.0) == "outside"


def test_a_timestamp_is_a_date_too() -> None:
    found = translate(lambda x: isinstance(x, date), ["timestamp"], "boolean")
    assert str(found).startswith("isinstance of a value of a kind that is not translated")
    assert value(translate(lambda x: isinstance(x, date), ["date"], "boolean"), None) is False


def test_a_date_that_is_a_constant() -> None:
    found = translate(lambda d: d is not None and d >= date(2024, 2, 29), ["date"], "boolean")
    assert [value(found, d) for d in (date(2024, 2, 28), date(2024, 2, 29), None)] == [False, True, False]
    assert "else than constants" in str(translate(lambda x: date(x, 1, 1) < date(2, 2, 2), ["long"], "boolean"))


def _never(d: Any) -> Any:
    try:
        return d == date(2023, 2, 29)
    except ValueError:
        return None


def test_a_date_that_there_is_not() -> None:
    assert value(translate(_never, ["date"], "boolean"), date(2024, 2, 29)) is None


def _first_and_second_word(s: Any) -> Any:
    words = s.split()
    return f"{words[0]}/{words[1]}" if len(words) > 1 else "-"


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("a b", "a/b"),
        (" a\tb \n", "a/b"),
        ("a", "-"),
        ("", "-"),
        ("  ", "-"),
        ("é\u2003ß c", "é/ß"),
        ("a  b", "outside"),
    ],
)
def test_words_of_a_text(text: str, wanted: str) -> None:
    assert value(translate(_first_and_second_word, ["string"], "string"), text) == wanted
    assert wanted in ("outside", _first_and_second_word(text))


def test_the_first_and_the_last_word_are_found_between_any_spaces() -> None:
    found = translate(lambda s: s.split()[0] + s.split()[-1] if s.split() else None, ["string"], "string")
    assert [value(found, s) for s in (" a  b c ", "ab", "\t")] == ["ac", "abab", None]


@pytest.mark.parametrize(
    ("function", "text", "wanted"),
    [
        (lambda s: s.removeprefix("é-"), "é-a", "a"),
        (lambda s: s.removesuffix("ab"), "abab", "ab"),
        (lambda s: s.removesuffix("ab"), "b", "b"),
        (lambda s: s.replace("a", "")[:-1], "banana", "bn"),
        (lambda s: s[:-3], "ab", ""),
    ],
)
def test_ends_of_a_text_in_duckdb(function: Any, text: str, wanted: str) -> None:
    """`s[:-1]` computes how many characters it takes."""
    found = translate(function, ["string"], "string")
    assert value(found, text) == wanted == function(text)
    assert isinstance(found, Inside)
    sql = value_sql(found.value, {found.parameters[0]: "s"})
    with connected() as connection:
        assert connection.execute(f"SELECT {sql} FROM (SELECT '{text}' AS s)").fetchall() == [(wanted,)]


def test_counts_and_limits() -> None:
    assert [value(translate(lambda s: s.count("aa"), ["string"], "long"), s) for s in ("aaaa", "aaa", "b")] == [2, 1, 0]
    up = translate(lambda x: math.ceil(x) if math.isfinite(x) else None, ["double"], "long")
    assert [value(up, x) for x in (1.5, -1.5, 2.0)] == [2, -1, 2]
    assert [value(translate(lambda x: pd.notna(x), ["double"], "boolean"), x) for x in (math.nan, None, 0.0)] == [
        False, False, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("function", "argument", "returns", "travels", "pairs"),
    [
        (lambda x: x * 2, "long", "string", "arrow", [(3, "6")]),
        (lambda x: x > 2, "long", "string", "arrow", [(3, "true"), (2, "false")]),
        (lambda x: x > 2, "long", "string", "pickle", [(3, "true"), (2, "false")]),
        (lambda x: x, "date", "string", "arrow", [(date(20, 1, 2), "0020-01-02"), (None, None)]),
        (lambda x: x / 2, "double", "integer", "arrow", [(7.0, 3), (-7.0, -3)]),
        (lambda x: x / 2, "double", "integer", "pickle", [(7.0, None), (8.0, None)]),
        (lambda x: x > 2, "long", "integer", "pickle", [(3, None)]),
        (lambda x: x.upper(), "string", "double", "pickle", [("1", None)]),
    ],
)
def test_what_spark_makes_of_another_kind_than_the_declared(
    function: Any, argument: str, returns: str, travels: str, pairs: list[tuple[Any, Any]]
) -> None:
    found = translate(function, [argument], returns, travels=travels)
    for given, wanted in pairs:
        assert value(found, given) == wanted


def test_floats_beside_whole_numbers_are_not_cut() -> None:
    """Arrow looks at all values of a batch to choose their kind."""
    found = translate(lambda x: 1 if x > 2 else x / 2, ["double"], "long")
    assert str(found).startswith("it returns floats and other values as long")


def _shift(ts: Any) -> Any:
    if ts is None or ts.date() == date(2024, 2, 29):
        return "none"
    if ts >= datetime(2024, 3, 1, 12):
        return f"late {ts.minute}:{ts.second}.{ts.microsecond}"
    return f"{ts.year}-{ts.month}-{ts.day} {ts.hour} {ts.weekday()} {ts.isoweekday()}"


@pytest.mark.parametrize(
    "ts",
    [
        None,
        datetime(1, 1, 1),
        datetime(1969, 12, 31, 23, 59, 59, 999_999),
        datetime(2024, 2, 29, 12),
        datetime(2024, 3, 1, 11, 59),
        datetime(2024, 3, 1, 12, 0, 0, 1),
        datetime(9999, 12, 31, 23, 59, 59, 999_999),
    ],
)
def test_parts_of_a_point_in_time(ts: datetime | None) -> None:
    found = translate(_shift, ["timestamp_ntz"], "string")
    assert value(found, ts) == _shift(ts)
    assert isinstance(found, Inside)
    sql = value_sql(found.value, {found.parameters[0]: "ts"})
    with connected() as connection:
        said = "NULL" if ts is None else f"'{ts.isoformat()}'"
        rows = connection.execute(f"SELECT {sql} FROM (SELECT CAST({said} AS TIMESTAMP) AS ts)").fetchall()
    assert rows == [(_shift(ts),)]


def test_timestamps_are_followed_where_the_clock_is_known() -> None:
    assert str(translate(_shift, ["timestamp"], "string")).startswith("the attribute 'date' of something that is not")
    assert isinstance(translate(_shift, ["timestamp"], "string", utc=True), Inside)


def test_a_point_in_time_is_no_date() -> None:
    found = translate(lambda t, d: t == d or isinstance(t, date), ["timestamp_ntz", "date"], "boolean")
    assert value(found, datetime(2024, 1, 1), date(2024, 1, 1)) is True
    found = translate(lambda t, d: t == d, ["timestamp_ntz", "date"], "boolean")
    assert value(found, datetime(2024, 1, 1), date(2024, 1, 1)) is False
    assert "computes with values" in str(translate(lambda t: (t - t).days, ["timestamp_ntz"], "long"))


def shown(inside: Inside | Untranslated) -> str:
    assert isinstance(inside, Inside), inside
    return re.sub(r"#-\d+", "", str(inside.value))


def test_a_null_that_is_handed_on_comes_from_its_column() -> None:
    assert shown(translate(lambda s: s, ["string"], "string")) == "_0"
    found = translate(lambda x, s, t: s if x else t, ["boolean", "string", "string"], "string")
    assert "NULL" not in shown(found)
    assert [value(found, x, None, "t") for x in (True, False)] == [None, "t"]


def test_a_null_that_is_written_comes_from_nowhere() -> None:
    found = translate(lambda x, s: None if x is None else s, ["string", "string"], "string")
    assert "casewhen(_0 is null, NULL, _1)" in shown(found)


def test_parts_of_constant_points_in_time() -> None:
    """Only the translation of a column that has a clock may use calls that Spark does not have."""
    assert value(translate(lambda x: x > datetime(2024, 2, 29, 12).hour, ["long"], "boolean"), 13) is True
    chosen = translate(lambda x: (datetime(2024, 1, 1) if x else datetime(2025, 1, 1)).date(), ["boolean"], "date")
    assert str(chosen).startswith("it takes constant points in time apart")


def kept(s: Any) -> Any:
    found = None
    try:  # noqa: SIM105  # this is how it is often written
        found = int(s)
    except (ValueError, TypeError):
        pass
    return found


def changed_first(s: Any) -> Any:
    state = "start"
    try:
        state = "begun"
        number = int(s)
        state = "done"
    except ValueError:
        number = 0
    return state + str(number)


def changed_in_part(s: Any, t: Any) -> Any:
    state = "start"
    try:
        state = "begun"
        number = int(s)
        state = "done"
    except ValueError:
        number = 0
        if t == "x":
            state = "bad"
    return state + str(number)


def given_again(s: Any, t: Any) -> Any:
    try:
        state = "begun"
        number = int(s)
        state = "done"
    except ValueError:
        number = 0
    state = "x" if t else "y"
    return state + str(number)


def given_again_elsewhere(s: Any, t: Any) -> Any:
    state = "start"
    if t == "x":
        try:
            state = "begun"
            number = int(s)
            state = "done"
        except ValueError:
            number = 0
    else:
        state, number = "else", 1
    return state + str(number)


def test_a_variable_keeps_its_value_where_the_statement_of_its_assignment_fails() -> None:
    found = translate(kept, ["string"], "long")
    assert [value(found, s) for s in ("12", "x", None)] == [12, None, None]
    found = translate(given_again, ["string", "string"], "string")
    assert [value(found, *row) for row in (("12", "t"), ("x", "t"), ("x", None))] == ["x12", "x0", "y0"]


@pytest.mark.parametrize("function", [changed_first, changed_in_part, given_again_elsewhere])
def test_a_value_that_depends_on_where_a_try_failed_is_not_followed(function: Any) -> None:
    found = translate(function, ["string"] * function.__code__.co_argcount, "string")
    assert isinstance(found, Untranslated)
    assert "'state' depends on where in the try" in found.why


DAYS = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
PLACES = {"CA": "California", "NY": "New York"}


def place_in(s: Any) -> Any:
    for short, name in PLACES.items():
        if s in (short, name):
            return name
    return "abroad" if s not in PLACES.values() and s not in PLACES.keys() else "?"  # noqa: SIM118  # keys() is what is tested


def tried(x: Any) -> Any:
    try:
        return ("few", "some", "many")[x]
    except IndexError:
        return "more"
    except TypeError:
        return None


@pytest.mark.parametrize(
    ("function", "dtype", "values"),
    [
        (lambda d: DAYS[d.weekday()], "date", [date(2024, 1, 1), date(2024, 1, 7), date(1, 1, 3)]),
        (lambda x: ("old", "young")[x < 18], "long", [17, 18]),
        (tried, "long", [0, 2, 3, -1, -3, -4, None]),
        (place_in, "string", ["CA", "New York", "x", "", None]),
    ],
)
def test_items_of_constant_lists_and_views_of_dictionaries(function: Any, dtype: str, values: list[Any]) -> None:
    found = translate(function, [dtype], "string")
    assert [value(found, each) for each in values] == [function(each) for each in values]
    assert isinstance(found, Inside)
    assert value_sql(found.value, {found.parameters[0]: "x"}) is not None


def test_a_computed_place_that_is_no_whole_number_is_not_followed() -> None:
    found = translate(lambda x: DAYS[x], ["double"], "string")
    assert "indexes with something that is not a constant" in str(found)
