"""Functions with large data, deep nesting, errors and `match`: looking into them is bounded, and says what it saw."""

from __future__ import annotations

import functools
import importlib.util
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from whence.rows import Inside
from whence.rows.functions import Untranslated, code_of, held_by, translate

MANY = dict.fromkeys(range(200_000), "x")
SECONDS = 20  # far more than it takes on a busy machine, far less than looking through everything


def from_file(path: Path, source: str) -> Any:
    """The function `f` of a file."""
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.f


def closed_over(value: Any) -> Any:
    return lambda x: value[x]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (MANY, "value (a dict of 200000)"),
        (list(range(1_000_000)), "value (a list of 1000000)"),
        (pd.DataFrame({"a": range(1000), "b": range(1000)}), "value (a DataFrame of 1000 x 2)"),
        (np.zeros((1000, 1000)), "value (a ndarray of 1000 x 1000)"),
    ],
    ids=["dict", "list", "frame", "array"],
)
def test_a_closure_over_much_data_is_named_and_not_looked_through(value: Any, words: str) -> None:
    started = time.monotonic()
    function = closed_over(value)
    assert isinstance(translate(function, ["long"], "string"), Untranslated)
    assert code_of(function) == "", "no fingerprint: a run of it is not known again"
    assert held_by(function) == (words,)
    assert time.monotonic() - started < SECONDS


def test_what_a_function_holds_is_found_inside_of_others() -> None:
    rates = {"eur": 1.0}
    inner = closed_over(rates)
    assert held_by(lambda x: inner(x)) == ("value (a dict of 1)",)
    assert held_by(functools.partial(closed_over, [1, 2])) == ("argument 1 (a list of 2)",)
    assert held_by(lambda x: x + 1) == ()
    assert held_by(len) == ()


@pytest.mark.parametrize(
    "body",
    [
        "    return " + "(" * 150 + "x" + ")" * 150,
        "    return " + " + ".join(["x"] * 1500),
        "    return " + "-" * 900 + "x",
        "".join(f"    if x > {n}:\n        x = x + x * x\n" for n in range(500)) + "    return x",
        "    y = " + " if x > 1 else ".join(["x"] * 800) + "\n    return y",
    ],
    ids=["parentheses", "sums", "signs", "branches", "ladder"],
)
def test_hostile_nesting_ends_soon(tmp_path: Path, body: str) -> None:
    function = from_file(tmp_path / "hostile.py", f"def f(x):\n{body}\n")
    started = time.monotonic()
    found = translate(function, ["long"], "long")
    assert isinstance(found, Inside | Untranslated)
    assert time.monotonic() - started < SECONDS


def raises_sometimes(x: Any) -> Any:
    if x is None or x < 0:
        raise ValueError("no number")
    return x * 2


def test_where_it_raises_there_is_no_row_to_ask_about() -> None:
    assert isinstance(translate(raises_sometimes, ["integer"], "long"), Inside)


def test_a_function_made_anew_in_its_file_is_another_one(tmp_path: Path) -> None:
    path = tmp_path / "changing.py"
    before = from_file(path, "def f(x):\n    return x + 1\n")
    after = from_file(path, "def f(x):\n    return x + 22\n")
    assert code_of(before) != code_of(after)
    import linecache

    linecache.checkcache(str(path))
    assert "file has changed" in str(translate(before, ["long"], "long"))
    assert isinstance(translate(after, ["long"], "long"), Inside)


def graded(code: Any) -> Any:
    match code:
        case "a" | "b":
            return "low"
        case None:
            return "none"
        case other if len(other) > 3:
            return other.upper()
        case _:
            rest = "x"
    return rest + code


def numbered(n: Any) -> Any:
    match n:
        case 1:
            return 10
        case -2 | 3:
            return 20
        case k if k is not None and k > 100:
            return k
    return 0


def taken_apart(n: Any) -> Any:
    match n:
        case [a, _]:
            return a
    return 1


def test_match_is_translated_where_its_patterns_are_values() -> None:
    assert isinstance(translate(graded, ["string"], "string"), Inside)
    assert isinstance(translate(numbered, ["long"], "long"), Inside)
    line = taken_apart.__code__.co_firstlineno + 1
    found = str(translate(taken_apart, ["long"], "long"))
    assert found == f"a match with patterns of lists, classes or dictionaries is not translated (line {line})"
