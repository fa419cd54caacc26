"""Functions that a stored plan calls, made anew in a session with the settings of the run.

A closed list: a document may name any function, and some of Spark's run whatever they are given. Each is on the list
for the details with which its name, its arguments and the settings say all that it does.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whence.rows import AggCall, Call, Expr, Literal

if TYPE_CHECKING:
    from whence.spark.catalyst.jvm import Jvm

ANSI = "spark.sql.ansi.enabled"
MODE = re.compile(
    r"evalContext=NumericEvalContext\((ANSI|LEGACY),true\)|evalMode=(ANSI|LEGACY)|failOnError=(true|false)"
)
CAST = re.compile(r'evalMode=(ANSI|LEGACY) timeZoneId="([A-Za-z0-9/_+:-]{1,60})"')
PLAIN = re.compile("")

# By Catalyst's name: the name in SQL, and the details with which it is just that.
FUNCTIONS: dict[str, tuple[str, re.Pattern[str]]] = {
    "Abs": ("abs", MODE),
    "Add": ("+", MODE),
    "Coalesce": ("coalesce", PLAIN),
    "Concat": ("concat", PLAIN),
    "Contains": ("contains", PLAIN),
    "DayOfMonth": ("day", PLAIN),
    "Divide": ("/", MODE),
    "EndsWith": ("endswith", PLAIN),
    "If": ("if", PLAIN),
    "IsNaN": ("isnan", PLAIN),
    "Length": ("length", PLAIN),
    "Like": ("like", re.compile(r"escapeChar=\\")),
    "Lower": ("lower", PLAIN),
    "Month": ("month", PLAIN),
    "Multiply": ("*", MODE),
    "Quarter": ("quarter", PLAIN),
    "Remainder": ("%", MODE),
    "StartsWith": ("startswith", PLAIN),
    "Substring": ("substring", PLAIN),
    "Subtract": ("-", MODE),
    "UnaryMinus": ("negative", MODE),
    "Upper": ("upper", PLAIN),
    "Year": ("year", PLAIN),
}
AGGREGATES: dict[str, tuple[str, re.Pattern[str]]] = {
    "Average": ("avg", MODE),
    "Count": ("count", PLAIN),
    "Max": ("max", PLAIN),
    "Min": ("min", PLAIN),
    "Sum": ("sum", MODE),
}


def known(call: Expr) -> bool:
    """Whether a call of a stored plan can be made anew. The session's mode is that of the run, and so the call's."""
    if isinstance(call, AggCall):
        found = AGGREGATES.get(call.name)
        return not call.python and found is not None and found[1].fullmatch(call.detail) is not None
    if type(call) is not Call:
        return False
    if call.name == "Cast":
        return CAST.fullmatch(call.detail) is not None
    if call.name == "CaseWhen":
        return not call.detail and len(call.args) > 1
    found = FUNCTIONS.get(call.name)
    return found is not None and found[1].fullmatch(call.detail) is not None


def made(call: Expr, jvm: Jvm, expr: Callable[[Expr], Any]) -> Any | None:
    """Catalyst's form of such a call; None if it is not on the list, or was made in another mode than the session's."""
    if not known(call):
        return None
    if isinstance(call, AggCall):
        where = jvm.none if call.where is None else jvm.some(expr(call.where))
        return _function(AGGREGATES, call, jvm, expr, call.distinct, where)
    assert isinstance(call, Call)
    if call.name == "CaseWhen":
        return expr(_as_ifs(call))
    if call.name == "Cast":
        if not _in_mode(call.detail, jvm):
            return None
        zone = CAST.fullmatch(call.detail)[2]  # type: ignore[index]  # `known` matched it
        mode = jvm.singleton("org.apache.spark.sql.catalyst.expressions.EvalMode")
        mode = mode.ANSI() if "ANSI" in call.detail else mode.LEGACY()
        return jvm.new("expressions.Cast", expr(call.args[0]), jvm.dtype(call.dtype), jvm.some(zone), mode)
    return _function(FUNCTIONS, call, jvm, expr, False)


def _function(
    names: dict[str, tuple[str, re.Pattern[str]]], call: Any, jvm: Jvm, expr: Callable[[Expr], Any], *more: Any
) -> Any | None:
    name, details = names[call.name]
    if details is MODE and not _in_mode(call.detail, jvm):
        return None
    args = jvm.seq([expr(each) for each in call.args])
    return jvm.made("analysis.UnresolvedFunction", jvm.seq([name]), args, *more)


def _in_mode(detail: str, jvm: Jvm) -> bool:
    return ("ANSI" in detail or "failOnError=true" in detail) == (jvm.spark.conf.get(ANSI) == "true")


def _as_ifs(call: Call) -> Expr:
    """CASE as one IF within another."""
    pairs, rest = len(call.args) // 2, call.args[len(call.args) // 2 * 2 :]
    made: Expr = rest[0] if rest else Literal(None, call.dtype)
    for place in reversed(range(pairs)):
        made = Call("if", (call.args[2 * place], call.args[2 * place + 1], made), call.dtype)
    return made
