"""Python functions against their translations, on values that Hypothesis finds."""

from __future__ import annotations

import math
import re
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.rows import Inside
from whence.rows.functions import translate
from whence.rows.functions.checking import as_spark
from whence.rows.functions.evaluating import evaluated
from whence.testing.everyday import EVERYDAY, Everyday

NEAR = st.integers(-5, 130)
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "integer": st.one_of(st.none(), NEAR, st.integers(-(2**31), 2**31 - 1)),
    "long": st.one_of(st.none(), NEAR, st.integers(-(2**63), 2**63 - 1)),
    "double": st.one_of(st.none(), st.floats(), NEAR.map(float), NEAR.map(lambda n: n / 2)),
    "string": st.one_of(
        st.none(),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
        st.text("aB1 -+.,@_eé\t\n0", max_size=10),
        st.from_regex(r"\A\s?[+-]?\d{1,17}(\.\d{0,3})?\s?\Z"),
    ),
    "boolean": st.one_of(st.none(), st.booleans()),
    "date": st.one_of(st.none(), st.dates()),
}


def _sign(x: Any) -> Any:
    return (x > 0) - (x < 0)


def _steps(x: Any, y: Any) -> Any:
    total = 0
    for step in (1, 2, 5):
        if x is None or x < step:
            continue
        total += step
        if y and total > y:
            break
    return total


def _nested(x: Any, s: Any) -> Any:
    if s is None:
        label = "none"
    else:
        label = s.strip()
        if len(label) > 3:
            label = label[:3] + "…"
        elif label == "":
            return None
    if x is not None and (x % 3 == 0 or x // 7 == -2):
        return label + "!"
    return f"{label}-{x}" if x is not None else label


def _divided(a: Any, b: Any) -> Any:
    try:
        return a / b
    except ZeroDivisionError:
        return -1.0
    except TypeError:
        return None


def _parts(s: Any) -> Any:
    try:
        return s.split("-")[1][0]
    except IndexError:
        return "short"
    except AttributeError:
        return None


def _parsed(s: Any) -> Any:
    try:
        number = int(s)
    except (TypeError, ValueError):
        number = -1
    return number * 2 if number > 10 else number


def _days(a: Any, b: Any) -> Any:
    if a is None or b is None or a == b:
        return 0
    return abs((a - b).days) + a.year % 4


def _looked_up(s: Any, x: Any) -> Any:
    table = {"a": 1, "b": 2, 3: 7, True: 9}
    return table.get(s, 0) + table.get(x, 5)


def _boolean(s: Any, x: Any) -> Any:
    return bool(s and (x or 0) > 1) or not (s is None or "a" in s)


def _ends(s: Any) -> Any:
    return s[-2:] + s[1:-1] + s[0] + s[-1] if s else s


def _codes(s: Any) -> Any:
    return s.zfill(5) + s.rjust(3, "*") + s.ljust(4) if s is not None else "-"


def _kinds(s: Any) -> Any:
    return s is not None and (s.isdigit() or s.isalpha() or s.startswith(("x", "é")) or s.endswith("1"))


def _matches(s: Any) -> Any:
    return s is not None and bool(re.search(r"[a-c]+\d?(-|_)|^\s+$", s))


def _extremes(x: Any, y: Any) -> Any:
    return max(x, y, 3) - min(x, 10)


def _floats(x: Any, y: Any) -> Any:
    return x < y or x == y or x != x


def _mixed(x: Any, n: Any) -> Any:
    return 1 if n > x else 2 if n == x else 3


def _whole(x: Any) -> Any:
    return int(x) + round(x) if x is not None and not math.isnan(x) and not math.isinf(x) else 0


def _cubed(x: Any) -> Any:
    return x**2 - x > 10


MORE = (
    Everyday(_sign, ("double",), "integer"),
    Everyday(_steps, ("long", "long"), "long"),
    Everyday(_nested, ("long", "string"), "string"),
    Everyday(_divided, ("long", "long"), "double"),
    Everyday(_divided, ("double", "integer"), "double"),
    Everyday(_parts, ("string",), "string"),
    Everyday(_parsed, ("string",), "long"),
    Everyday(_days, ("date", "date"), "integer"),
    Everyday(_looked_up, ("string", "long"), "long"),
    Everyday(_looked_up, ("string", "double"), "long"),
    Everyday(_boolean, ("string", "long"), "boolean"),
    Everyday(_ends, ("string",), "string"),
    Everyday(_codes, ("string",), "string"),
    Everyday(_kinds, ("string",), "boolean"),
    Everyday(_matches, ("string",), "boolean"),
    Everyday(_extremes, ("long", "integer"), "long"),
    Everyday(_floats, ("double", "double"), "boolean"),
    Everyday(_mixed, ("double", "long"), "integer"),
    Everyday(_mixed, ("double", "integer"), "integer"),
    Everyday(_whole, ("double",), "long"),
    Everyday(_cubed, ("long",), "boolean"),
)
INSIDES = {
    place: (each, found)
    for place, each in enumerate((*EVERYDAY, *MORE))
    if isinstance(found := translate(each.function, each.arguments, each.returns), Inside)
}


def test_all_but_two_of_the_list_are_looked_into() -> None:
    missing = [each.name for place, each in enumerate((*EVERYDAY, *MORE)) if place not in INSIDES]
    assert missing == ["with_tax", "distance"]


@pytest.mark.parametrize("place", INSIDES)
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_translation_gives_what_the_function_gives(place: int, data: st.DataObject) -> None:
    each, inside = INSIDES[place]
    row = tuple(data.draw(VALUES[dtype]) for dtype in each.arguments)
    known = dict(zip(inside.parameters, row, strict=True))
    if evaluated(inside.domain, known) is False:
        return
    try:
        wanted = as_spark(each.function(*row), each.returns, "arrow")
    except Exception:  # there a translation means nothing
        return
    made = evaluated(inside.value, known)
    assert made == wanted or (made != made and wanted != wanted)
    assert type(made) is type(wanted)


def test_the_domain_holds_for_ordinary_values() -> None:
    ordinary = {"string": "ab 12", "long": 12, "integer": 12, "double": 1.5, "boolean": True, "date": date(2024, 2, 29)}
    for each, inside in INSIDES.values():
        row = {parameter: ordinary[parameter.dtype] for parameter in inside.parameters}
        assert evaluated(inside.domain, row) in (True, None), each.name
