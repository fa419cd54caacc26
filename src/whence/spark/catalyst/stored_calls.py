"""Functions that a stored plan calls, created again in a session with the settings of the run.

Only functions on a list are allowed (`stored_names.py`), because a document could name any function, and some of
Spark's functions execute their arguments. A function is listed only with details for which its name, its arguments and
the settings determine what it computes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from whence.rows import AggCall, Aggregate, Call, Expr, Literal, Named, Or, Tree, WindowCall, transform
from whence.rows.documents import NotHeld
from whence.spark.catalyst.stored_names import (
    AGGREGATES,
    CAST,
    COMPLETE,
    EXTRACTING,
    FIELD,
    FUNCTIONS,
    GENERATORS,
    IGNORING,
    IN_ZONE,
    MODE,
    NO_ARGUMENTS,
    OF_ONE,
    PART_NAMES,
    REPLACED,
    WINDOW_FUNCTIONS,
    Names,
)

if TYPE_CHECKING:
    from whence.spark.catalyst.jvm import Jvm

# The fewest arguments of a function: a document may give too few.
FEWEST = {"Cast": 1, "With": 1, "CommonExpressionDef": 1, "GetStructField": 1, **dict.fromkeys(REPLACED, 1)}
FEWEST |= {"NullIfResult": 2, **dict.fromkeys(EXTRACTING, 2)}
FEWEST |= dict.fromkeys(GENERATORS, 1)
PICKING = {"Lag": 3, "Lead": 3, "NthValue": 2}  # the number of arguments; a flag for nulls follows
PIVOT = "PivotFirst"
ANSI, ZONE = "spark.sql.ansi.enabled", "spark.sql.session.timeZone"


def known(call: Expr) -> bool:
    """Whether a call of a stored plan can be created again. The session has the ANSI mode of the run."""
    if isinstance(call, AggCall):
        return call.name == PIVOT or (not call.python and _listed(AGGREGATES, call.name, call.detail))
    if isinstance(call, WindowCall):
        aggregate = COMPLETE.fullmatch(call.detail)
        if call.python or isinstance(call.frame.origin, NotHeld):
            return False
        if aggregate is not None:
            return _listed(AGGREGATES, call.name, aggregate[1])
        if len(call.args) != PICKING.get(call.name, len(call.args)):
            return False
        return _listed(WINDOW_FUNCTIONS, call.name, call.detail)
    if type(call) is not Call or len(call.args) < FEWEST.get(call.name, 0):
        return False
    if call.name in OF_ONE and len(call.args) > 1:
        return False
    if call.name == "Cast":
        return CAST.fullmatch(call.detail) is not None
    if call.name == "CaseWhen":
        return not call.detail and len(call.args) > 1
    if call.name == "GetStructField":
        return FIELD.fullmatch(call.detail) is not None
    if call.name in PART_NAMES:
        return PART_NAMES[call.name].fullmatch(call.detail) is not None
    if call.name in REPLACED:
        return True
    return _listed(FUNCTIONS, call.name, call.detail)


def _listed(names: Names, name: str, detail: str) -> bool:
    found = names.get(name)
    return found is not None and found[1].fullmatch(detail) is not None


def made(call: Expr, jvm: Jvm, expr: Callable[[Expr], Any]) -> Any | None:
    """Create Catalyst's form of such a call. None if it is not listed, or was made in another mode than the
    session's.
    """
    if not known(call):
        return None
    if isinstance(call, AggCall):
        if call.name == PIVOT:  # `without_pivots` replaces it
            return None
        where = jvm.none if call.where is None else jvm.some(expr(call.where))
        return _function(AGGREGATES, call, call.detail, jvm, expr, call.distinct, where)
    assert isinstance(call, Call)
    if call.name == "CaseWhen":
        return expr(_as_ifs(call))
    if call.name == "NullIfResult":
        condition, value = call.args
        return expr(Call("if", (condition, Literal(None, call.dtype), value), call.dtype))
    if call.name in REPLACED:
        return expr(call.args[0])
    if call.name in PART_NAMES:
        return _naming(call, jvm, expr)
    if call.name in GENERATORS:
        return jvm.new(f"expressions.{call.name}", expr(call.args[0]))
    if call.name == "GetStructField":
        name = FIELD.fullmatch(call.detail)[1]  # type: ignore[index]  # `known` matched it
        return jvm.made("analysis.UnresolvedExtractValue", expr(call.args[0]), jvm.literal(name))
    if call.name in EXTRACTING:
        if FUNCTIONS[call.name][1] is MODE and not _in_mode(call.detail, jvm):
            return None
        return jvm.made("analysis.UnresolvedExtractValue", *map(expr, call.args))
    if call.name == "Cast":
        if "TRY" not in call.detail and not _in_mode(call.detail, jvm):
            return None
        zone = CAST.fullmatch(call.detail)[2]  # type: ignore[index]  # `known` matched it
        modes = jvm.singleton("org.apache.spark.sql.catalyst.expressions.EvalMode")
        mode = modes.TRY() if "TRY" in call.detail else modes.ANSI() if "ANSI" in call.detail else modes.LEGACY()
        return jvm.new("expressions.Cast", expr(call.args[0]), jvm.dtype(call.dtype), jvm.some(zone), mode)
    return _function(FUNCTIONS, call, call.detail, jvm, expr, False)


def _naming(call: Call, jvm: Jvm, expr: Callable[[Expr], Any]) -> Any:
    """Create an expression that names parts of itself, as BETWEEN and `nullif` do; or a reference to such a part, or
    its definition.
    """
    if call.name == "With":
        return jvm.new("expressions.With", expr(call.args[0]), jvm.seq([expr(each) for each in call.args[1:]]))
    said = PART_NAMES[call.name].fullmatch(call.detail)
    assert said is not None
    number = jvm.new("expressions.CommonExpressionId", int(said[1]), False)
    if call.name == "CommonExpressionDef":
        return jvm.new("expressions.CommonExpressionDef", expr(call.args[0]), number)
    return jvm.new("expressions.CommonExpressionRef", number, jvm.dtype(call.dtype), said[2] == "true")


def made_window(call: WindowCall, jvm: Jvm, expr: Callable[[Expr], Any]) -> Any | None:
    """Create the function of a window call in the same way, without its window."""
    if not known(call):
        return None
    aggregate = COMPLETE.fullmatch(call.detail)
    if call.name in PICKING:
        return jvm.new(f"expressions.{call.name}", *map(expr, call.args), call.detail == "ignoreNulls=true")
    if aggregate is None:
        return _function(WINDOW_FUNCTIONS, call, call.detail, jvm, expr, False)
    where = jvm.none if call.where is None else jvm.some(expr(call.where))
    return _function(AGGREGATES, call, aggregate[1], jvm, expr, False, where)


def _function(names: Names, call: Any, detail: str, jvm: Jvm, expr: Callable[[Expr], Any], *more: Any) -> Any | None:
    name, details = names[call.name]
    if details is MODE and not _in_mode(detail, jvm):
        return None
    if details is IN_ZONE and IN_ZONE.fullmatch(detail)[1] != jvm.spark.conf.get(ZONE):  # type: ignore[index]  # `known` matched it
        return None
    given = [] if call.name in NO_ARGUMENTS else [expr(each) for each in call.args]
    if details is IGNORING and detail == "ignoreNulls=true":
        given.append(jvm.literal(True))
    return jvm.made("analysis.UnresolvedFunction", jvm.seq([name]), jvm.seq(given), *more)


def _in_mode(detail: str, jvm: Jvm) -> bool:
    strict = any(each in detail for each in ("ANSI", "failOnError=true", "ansiEnabled=true", "legacySizeOfNull=false"))
    return strict == (jvm.spark.conf.get(ANSI) == "true")


def without_pivots(plan: Aggregate) -> tuple[Named, ...]:
    """Return the outputs of an aggregate. In a stored plan, a pivot becomes an array with the first value for each
    pivot column.

    There is at most one row for each, because the pivot's column is among the keys of the groups below.
    """
    if plan.listed is None:
        return plan.outputs
    listed = plan.listed.args if isinstance(plan.listed, Or) else (plan.listed,)

    def change(part: Tree) -> Tree:
        if not isinstance(part, AggCall) or part.name != PIVOT or not isinstance(part.origin, NotHeld):
            return part
        value, none = part.args[1], Literal(None, part.args[1].dtype)
        own = (Call("if", (each, value, none), value.dtype) for each in listed)
        firsts = tuple(AggCall("first", (each, Literal(True, "boolean")), value.dtype) for each in own)
        return Call("array", firsts, part.dtype)

    return tuple(transform(each, change) for each in plan.outputs)


def _as_ifs(call: Call) -> Expr:
    """CASE as nested IFs."""
    pairs, rest = len(call.args) // 2, call.args[len(call.args) // 2 * 2 :]
    made: Expr = rest[0] if rest else Literal(None, call.dtype)
    for place in reversed(range(pairs)):
        made = Call("if", (call.args[2 * place], call.args[2 * place + 1], made), call.dtype)
    return made
