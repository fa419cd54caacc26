"""Functions that stay opaque, and say which line is why; none of them is run."""

from __future__ import annotations

import functools
import os
import random
import time
from typing import Any

import pytest

from whence.rows import Inside, Udf
from whence.rows.columns import columns
from whence.rows.expressions import Attr
from whence.rows.functions import Untranslated, code_of, translate
from whence.rows.operators import Named, Project, Source

RAN: list[object] = []
LIMIT = 3
CHANGED = 1
CHANGED = 2


def appends(x: Any) -> Any:
    RAN.append(x)
    return x


def reads_a_file(x: Any) -> Any:
    RAN.append(1)
    return open(x).read()


def prints(x: Any) -> Any:
    y = x + 1
    print(y)
    return y


def removes(x: Any) -> Any:
    os.remove(x)
    return x


def draws(x: Any) -> Any:
    return x + random.random()


def calls_itself(x: Any) -> Any:
    return 0 if x == 0 else calls_itself(x - 1)


def generates(x: Any) -> Any:
    yield x


def waits(x: Any) -> Any:
    while x > 0:
        x -= 1
    return x


def doubles(x: Any) -> Any:
    for _ in range(200):
        x = x + x
    return x


def branches(x: Any) -> Any:
    y = 0
    for n in range(60):
        y = (y + n if x > n else y * 2 if x > 2 * n else n + y) if y > n else (n if x == y else x + y)
    return y


def long_text(x: Any) -> Any:
    return "a" * 10**12 if x else "b"


def far(x: Any) -> Any:
    return 10**10**10 if x else 1


def any_number(*args: Any) -> Any:
    return args[0]


def looks_up(x: Any) -> Any:
    return dict.fromkeys(range(9)).get(x)


def reads_a_changed_global(x: Any) -> Any:
    return x + CHANGED


def defined_inside(x: Any) -> Any:
    def inner(y: Any) -> Any:
        return y

    return inner(x)


def catches_all(x: Any) -> Any:
    try:
        if x:
            return 1
        y = 1 // x
    finally:
        y = 2
    return y


def another_kind(x: Any) -> Any:
    return "text"


class Callable_:
    def __call__(self, x: Any) -> Any:
        return x


def decorated(x: Any) -> Any:
    return memoized(x)


@functools.lru_cache
def memoized(x: Any) -> Any:
    return x


REFUSED: list[tuple[Any, str]] = [
    (appends, "append"),
    (reads_a_file, "append"),
    (prints, "`print(y)`"),
    (removes, "`os.remove(x)`"),
    (draws, "random"),
    (calls_itself, "call each other too deeply"),
    (generates, "generator"),
    (waits, "while loop"),
    (doubles, ""),
    (branches, ""),
    (long_text, ""),
    (far, ""),
    (any_number, "any number of arguments"),
    (looks_up, ""),
    (reads_a_changed_global, "CHANGED"),
    (defined_inside, "a function inside of it"),
    (catches_all, "try"),
    (another_kind, "another type"),
    (Callable_(), "not a plain function"),
    (Callable_().__call__, "not a plain function"),
    (abs, "not a plain function"),
    (decorated, ""),
    (eval("lambda x: x"), "source"),
]


@pytest.mark.parametrize(("function", "why"), REFUSED, ids=lambda each: getattr(each, "__name__", "")[:20])
def test_it_stays_opaque_quickly_and_is_not_run(function: Any, why: str) -> None:
    RAN.clear()
    start = time.monotonic()
    found = translate(function, ["long"], "long")
    assert isinstance(found, Untranslated)
    assert why in str(found)
    assert time.monotonic() - start < 5
    assert not RAN


def test_the_line_is_named() -> None:
    found = translate(prints, ["long"], "long")
    assert isinstance(found, Untranslated)
    assert found.line == prints.__code__.co_firstlineno + 2
    assert f"(line {found.line})" in str(found)


def test_a_function_whose_file_has_changed_is_not_looked_into(tmp_path: Any) -> None:
    import linecache

    file = tmp_path / "moved.py"
    file.write_text("def f(x):\n    return x + 1\n")
    space: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec", dont_inherit=True), space)
    assert isinstance(translate(space["f"], ["integer"], "long"), Inside)
    file.write_text("def f(x):\n    return x + 2\n")
    linecache.checkcache(str(file))
    found = translate(space["f"], ["integer"], "long")
    assert isinstance(found, Untranslated)
    assert "changed" in str(found)


def test_lambdas_on_one_line_are_distinguished() -> None:
    one, other = (lambda x: x + 1), (lambda x: x + 2)
    shown = [str(translate(each, ["integer"], "long").value) for each in (one, other)]  # type: ignore[union-attr]  # both are translated
    assert "+ 1" in shown[0]
    assert "+ 2" in shown[1]


def test_a_large_table_is_not_looked_through() -> None:
    table = {number: number for number in range(100_000)}
    found = translate(lambda x: table.get(x), ["long"], "long")
    assert "100000 keys" in str(found)


def test_closures_partials_and_helpers_are_followed() -> None:
    step = 4

    def moved(by: Any, x: Any) -> Any:
        return helper(x) + by + step

    found = translate(functools.partial(moved, 10), ["integer"], "long")
    assert isinstance(found, Inside)
    from whence.rows.functions.evaluating import evaluated

    assert evaluated(found.value, {found.parameters[0]: -7}) == 7 + 10 + 4


def helper(x: Any) -> Any:
    return -x if x < 0 else x


def test_only_columns_that_are_read_are_lineage() -> None:
    def first(a: Any, b: Any) -> Any:
        return a if a else 0

    a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    inside = translate(first, ["long", "long"], "long")
    assert isinstance(inside, Inside)
    udf = Udf("PythonUDF", (a, b), "long", inside=inside)
    plan = Project(Source("t", 0, (a, b)), (Named(Attr(3, "c", "long"), udf),))
    assert columns(plan)[0][1].direct == {("t", "a")}


def test_code_is_known_again_by_what_it_is_made_of() -> None:
    def made(by: Any) -> Any:
        return lambda x: x + by

    assert code_of(made(1)) == code_of(made(1)) != ""
    assert code_of(made(1)) != code_of(made(2))
    assert code_of(made(object())) == ""
    assert code_of(appends) != code_of(prints)


def test_what_a_function_computes_is_held_by_a_document() -> None:
    import json

    from whence.rows.documents import plan_document, read_plan

    a = Attr(1, "a", "integer")
    inside = translate(helper, ["integer"], "long")
    assert isinstance(inside, Inside)
    plan = Project(Source("t", 0, (a,)), (Named(Attr(3, "c", "long"), Udf("PythonUDF", (a,), "long", inside=inside)),))
    again = read_plan(json.loads(json.dumps(plan_document(plan)))).plan
    assert isinstance(again, Project)
    (column,) = again.columns
    assert isinstance(column.expr, Udf)
    assert column.expr.inside is not None
    assert str(column.expr.over(column.expr.inside.value)).count("a#") == str(inside.value).count("_0#")


def test_cells_of_a_function_are_those_of_the_branch() -> None:
    from whence.rows.cells.reads import reads

    def chosen(a: Any, b: Any, c: Any) -> Any:
        return a if c > 0 else b

    a, b, c = (Attr(number, name, "integer") for number, name in enumerate("abc", 1))
    inside = translate(chosen, ["integer"] * 3, "integer")
    assert isinstance(inside, Inside)
    found = reads([Udf("PythonUDF", (a, b, c), "integer", inside=inside)], False)
    assert {str(each.key) for each in found.read} == {"a#1", "b#2"}
    assert all(each.where is not None for each in found.read)
    assert not found.reasons
