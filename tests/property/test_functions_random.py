"""Random Python functions against their translations, and against what DuckDB computes of these."""

from __future__ import annotations

import linecache
import math
from collections.abc import Callable
from datetime import date
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pytest

from whence.rows import Inside
from whence.rows.duck.engine import connected
from whence.rows.duck.translate import value_sql
from whence.rows.functions import translate
from whence.rows.functions.checking import as_spark, same
from whence.rows.functions.evaluating import evaluated

FUNCTIONS = 120  # of each way that values travel
ROWS = 60
VALUES: dict[str, list[Any]] = {
    "integer": [0, 1, -1, 2, 7, -7, 10, 255, 2**31 - 1, -(2**31), None],
    "long": [0, 1, -1, 3, -10, 2**31, 2**53 + 1, -(2**53) - 1, 2**63 - 1, -(2**63), None],
    "double": [0.0, -0.0, 0.5, 2.5, -1.5, 1e300, math.inf, -math.inf, math.nan, 2.0**53 + 2, 2.0**63, None],
    "string": [
        "",
        "a",
        "Ab",
        " a ",
        "x,y,z",
        "é",
        "e\u0301",
        "İ",
        "ß",
        "😀",
        "a  b",
        "\u00a0",
        "a\n",
        "-7",
        "1_0",
        None,
    ],
    "boolean": [True, False, None],
    "date": [date(1, 1, 1), date(1582, 10, 10), date(2024, 2, 29), date(9999, 12, 31), None],
}
ARROW = {
    "integer": pa.int32(), "long": pa.int64(), "double": pa.float64(), "string": pa.string(), "boolean": pa.bool_(),
    "date": pa.date32(),
}  # fmt: skip
KINDS = {"integer": "int", "long": "int", "double": "float", "string": "str", "boolean": "bool", "date": "date"}
CONSTANTS = {
    "int": ["0", "1", "-1", "3", "10", "2147483648", "9223372036854775807", "-9223372036854775808"],
    "float": ["0.0", "-0.0", "0.5", "2.5", "1e300", "float('inf')", "float('nan')"],
    "str": ["''", "'a'", "' '", "','", "'é'", "'İ'", "'ab'", "'x,y'"],
    "bool": ["True", "False"],
    "date": ["date(2024, 2, 29)", "date(1, 1, 1)"],
}
# {int}, {float} ... stand for expressions of a kind, {any} for any of them, {name} for a variable, {text} for a text.
FORMS = {
    "int": [
        "({int} + {int})", "({int} - {int})", "({int} * {int})", "({int} // 3)", "({int} % 7)", "-{int}", "abs({int})",
        "({int} ** 2)", "len({str})", "int({float})", "int({str})", "int({bool})", "round({float})",
        "math.ceil({float})",
        "min({int}, {int})", "max({int}, {int}, {int})", "{str}.find({text})", "{str}.count({text})", "{date}.month",
        "{date}.weekday()", "({date} - {date}).days", "({int} if {bool} else {int})", "({bool} + {int})",
        "{{1: 5, 'a': 7, True: 9, None: 3}}.get({any}, {int})", "len({str}.split())", "len({str}.split(','))",
    ],
    "float": [
        "({float} + {int})", "({int} - {float})", "({float} * {float})", "({int} / {int})", "float({str})",
        "float({int})",
        "abs({float})", "-{float}", "max({float}, {float})", "({float} if {bool} else {float})", "({float} or {float})",
    ],
    "str": [
        "{str}.lower()", "{str}.upper()", "{str}.strip()", "{str}.lstrip({text})", "{str}.replace('a', {text})",
        "{str}[1:]",
        "{str}[:-1]", "{str}[-2:]", "{str}[0]", "{str}[-1]", "{str}.split(',')[1]", "{str}.split()[0]",
        "{str}.split()[-2]",
        "({str} + {str})", "str({int})", "str({bool})", "{str}.zfill(3)", "{str}.rjust(4, '*')", "{str}.capitalize()",
        "','.join([{str}, {str}])", "({str} if {bool} else {str})", "({str} or {str})", "({str} * 2)", "f'{{{name}}}!'",
        "{{'a': 'b', 1: 'one', '': 'no'}}.get({any}, {str})", "{str}.removeprefix({text})",
        "{str}.removesuffix({text})",
    ],
    "bool": [
        "({int} < {float})", "({float} == {int})", "({str} <= {str})", "({int} >= {int} > {int})", "({str} in {str})",
        "({any} in ({any}, {any}, 1, 2.5))", "({any} in {{'a', 1, None}})", "(not {any})", "({bool} and {bool})",
        "({bool} or {bool})", "({name} is None)", "{str}.startswith({text})", "{str}.isdigit()", "{str}.isalpha()",
        "bool({any})", "bool(re.search(r'^[a-c]+,?', {str}))", "isinstance({any}, (int, str))", "({date} < {date})",
        "any([{bool}, {any}])", "({any} == {any})", "math.isnan({float})", "math.isfinite({float})", "pd.notna({any})",
    ],
    "date": [],
}  # fmt: skip
RETURNS = {
    "int": ["long", "integer", "double", "string", "boolean"],
    "float": ["double", "long", "integer"],
    "str": ["string", "long"],
    "bool": ["boolean", "string", "long"],
}


class Program:
    """The text of one function, made of the forms above."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.arguments = random.choices(list(VALUES), k=random.choice([1, 2, 2, 3]))
        self.variables = {f"a{place}": KINDS[dtype] for place, dtype in enumerate(self.arguments)}
        self.kind = random.choice(list(RETURNS))
        self.returns = random.choice([RETURNS[self.kind][0], *RETURNS[self.kind]])
        names = ", ".join(self.variables)
        self.text = "\n".join([f"def f({names}):", *self.body(1, 2), f"    return {self.made(self.kind, 2)}", ""])

    def made(self, kind: str, depth: int) -> str:
        """An expression of a kind."""
        names = [name for name, other in self.variables.items() if other == kind]
        if depth == 0 or not FORMS[kind] or self.random.random() < 0.2:
            return self.random.choice(names if names and self.random.random() < 0.8 else CONSTANTS[kind])
        return _Filled(self, depth - 1).format(self.random.choice(FORMS[kind]))

    def body(self, indent: int, depth: int) -> list[str]:
        lines, tab = [], "    " * indent
        for _ in range(self.random.choice([1, 2, 3])):
            way, name = self.random.randrange(5), self.random.choice(list(self.variables))
            if way == 0:
                kind = self.random.choice(list(RETURNS))
                lines.append(f"{tab}v{kind} = {self.made(kind, depth)}")
                if indent == 1:  # a variable of a branch may have no value after it
                    self.variables[f"v{kind}"] = kind
            elif way == 1:
                lines += [f"{tab}if {name} is None:", f"{tab}    return {self.made(self.kind, 1)}"]
            elif way == 2 and depth:
                lines += [f"{tab}if {self.made('bool', depth)}:", *self.body(indent + 1, depth - 1)]
                lines += [f"{tab}else:", *self.body(indent + 1, depth - 1)]
            elif way == 3 and depth:
                lines += [f"{tab}try:", f"{tab}    return {self.made(self.kind, depth)}"]
                caught = self.random.choice(["TypeError", "(ValueError, IndexError)", "Exception"])
                lines += [f"{tab}except {caught}:", f"{tab}    {self.random.choice(['pass', 'return None'])}"]
            else:
                lines += [f"{tab}for each in ('a', 'é', ','):", f"{tab}    if {self.made('bool', 1)}:"]
                lines += [
                    f"{tab}        {self.random.choice(['break', 'continue', f'return {self.made(self.kind, 1)}'])}"
                ]
        return lines


class _Filled:
    """The holes of a form, each filled anew."""

    def __init__(self, program: Program, depth: int) -> None:
        self.program, self.depth = program, depth

    def format(self, form: str) -> str:
        return form.format_map(self)

    def __getitem__(self, name: str) -> str:
        random, variables = self.program.random, self.program.variables
        if name == "name" or (name == "any" and random.random() < 0.5):
            return random.choice(list(variables))
        if name == "text":
            return random.choice(CONSTANTS["str"][1:])
        return self.program.made(random.choice(list(RETURNS)) if name == "any" else name, self.depth)


def compiled(text: str, name: str) -> Callable[..., Any]:
    """A function whose source is found, as in a notebook."""
    import re

    import pandas as pd

    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    known: dict[str, Any] = {"__name__": "__main__", "math": math, "re": re, "pd": pd, "date": date}
    exec(compile(text, name, "exec", dont_inherit=True), known)  # a text of our own making
    made: Callable[..., Any] = known["f"]
    return made


@pytest.mark.parametrize("travels", ["arrow", "pickle"])
def test_a_translation_gives_what_the_function_gives(travels: str) -> None:
    looked_into = by_duckdb = 0
    for seed in range(FUNCTIONS):
        program = Program(Random(f"{travels} {seed}"))
        function = compiled(program.text, f"<random {travels} {seed}>")
        inside = translate(function, program.arguments, program.returns, travels=travels)
        if not isinstance(inside, Inside):
            assert "wrong" not in inside.why, (program.text, inside)
            continue
        looked_into += 1
        wanted = {}
        draws = Random(seed)
        rows = [tuple(draws.choice(VALUES[dtype]) for dtype in program.arguments) for _ in range(ROWS)]
        for place, row in enumerate(rows):
            known = dict(zip(inside.parameters, row, strict=True))
            if evaluated(inside.domain, known) is False:
                continue
            try:
                wanted[place] = as_spark(function(*row), program.returns, travels)
            except Exception:  # noqa: S112  # there a translation means nothing
                continue
            made = evaluated(inside.value, known)
            assert same(wanted[place], made), (program.text, program.returns, row, wanted[place], made)
        for place, found in in_duckdb(inside, rows, list(wanted)):
            by_duckdb += 1
            assert same(wanted[place], found), (program.text, program.returns, rows[place], wanted[place], found)
    assert looked_into > FUNCTIONS / 4
    assert by_duckdb > 1000


def in_duckdb(inside: Inside, rows: list[tuple[Any, ...]], asked: list[int]) -> list[tuple[int, Any]]:
    """What DuckDB computes for some of the rows; nothing where it leaves one of them to Spark."""
    names = {parameter: f"c{place}" for place, parameter in enumerate(inside.parameters)}
    sql = value_sql(inside.value, names)
    if sql is None:
        return []
    columns = {
        f"c{place}": pa.array([rows[row][place] for row in asked], ARROW[parameter.dtype])
        for place, parameter in enumerate(inside.parameters)
    }
    with connected() as connection:
        connection.register("t", pa.table({"i": pa.array(asked, pa.int32()), **columns}))
        try:
            found: list[tuple[int, Any]] = connection.execute(f"SELECT i, {sql} FROM t").fetchall()
        except (duckdb.InvalidInputException, duckdb.DataError):
            return []
    return found
