"""Regular expressions with flags, compiled ones, and generators, in translations of Python functions."""

from __future__ import annotations

import itertools
import re
from typing import Any

import pyarrow as pa
import pytest

from whence.rows import Inside
from whence.rows.duck.engine import connected
from whence.rows.duck.translate import value_sql
from whence.rows.functions import Untranslated, translate
from whence.rows.functions.evaluating import evaluated
from whence.rows.functions.fingerprint import code_of

PLATE = re.compile(r"[A-Z]{2}-?\d+")
CODE = re.compile("ca", re.IGNORECASE)
TEXTS = [
    "",
    *map("".join, itertools.product("aAcC0-", repeat=3)),
    "CA-12",
    "ca12",
    "xCA1",
    "Ca7x",
    "a\nb",
    "zz",
    "k",
    "K_",
]


def named(s: Any) -> Any:
    return re.match(r"ca\d+x?$", s, flags=re.I) is not None


def third(s: Any) -> Any:
    return re.search("[b-d]a", s, re.IGNORECASE) is not None


def others(s: Any) -> Any:
    return re.fullmatch("[^a][^-]?[^c0]", s, re.I) is not None


def outside(s: Any) -> Any:
    return re.search("(?i)k_|A0", s) is not None


def plate(s: Any) -> Any:
    return PLATE.match(s) is not None and not PLATE.fullmatch(s + "x")


def closed() -> Any:
    pattern = re.compile(r"(?x) c  a  # two letters", re.I)
    return lambda s: bool(pattern.search(s))


@pytest.mark.parametrize("function", [named, third, others, outside, plate, closed()])
def test_flags_and_compiled_patterns_match_the_same_texts(function: Any) -> None:
    found = translate(function, ["string"], "boolean")
    assert isinstance(found, Inside), found
    wanted = [function(text) for text in TEXTS]
    assert len(set(wanted)) == 2
    assert [evaluated(found.value, {found.parameters[0]: text}) for text in TEXTS] == wanted
    sql = value_sql(found.value, {found.parameters[0]: "s"})
    with connected() as connection:
        connection.register("t", pa.table({"s": TEXTS}))
        assert [row[0] for row in connection.execute(f"SELECT {sql} FROM t").fetchall()] == wanted


def any_of_a_list(a: Any, b: Any) -> Any:
    try:
        return any([float(text) > 1 for text in (a, b)])  # noqa: C419  # a generator stops at the first
    except ValueError:
        return False


def any_of_a_generator(a: Any, b: Any) -> Any:
    try:
        return any(float(text) > 1 for text in (a, b))
    except ValueError:
        return False


def used_twice(s: Any) -> Any:
    words = (word in s for word in ("a", "b"))
    return any(words) or all(words)


def with_lines(s: Any) -> Any:
    return re.search("^a", s, flags=re.M) is not None


def beyond_ascii(s: Any) -> Any:
    return re.search("\u017f|\\u212a", s, re.I) is not None  # they match "s" and "k", too


def flagged_global(s: Any) -> Any:
    return CODE.search(s) is not None


def between(s: Any) -> Any:
    return PLATE.match(s, 1) is not None


@pytest.mark.parametrize(
    ("function", "why"),
    [
        (any_of_a_generator, "a generator in a try"),
        (used_twice, "a generator that is not the argument"),
        (with_lines, "with flags"),
        (beyond_ascii, "with flags"),
        (flagged_global, "may have another value on Spark's workers"),
        (between, "between places"),
    ],
)
def test_what_is_not_the_same_stays_opaque(function: Any, why: str) -> None:
    arguments = ["string"] * function.__code__.co_argcount
    found = translate(function, arguments, "boolean")
    assert isinstance(found, Untranslated)
    assert why in found.why


def test_a_list_in_a_try_is_computed_as_a_whole() -> None:
    found = translate(any_of_a_list, ["string", "string"], "boolean")
    assert isinstance(found, Inside), found
    values = [evaluated(found.value, dict(zip(found.parameters, row, strict=True))) for row in (("2", "x"), ("2", "1"))]
    assert values == [False, True]


def test_code_with_a_pattern_is_known_again() -> None:
    assert code_of(plate)
    one, other = (code_of(lambda s, p=re.compile("a", flags): p.match(s)) for flags in (re.I, re.X))
    assert one
    assert one != other
