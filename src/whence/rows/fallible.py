"""Expressions that may raise an error.

A pipeline computes an expression only for the rows that reach it: `int(s)` after `WHERE is_number(s)`. A question that
becomes a filter on the sources must not compute it for other rows, where it may raise an error.
"""

from __future__ import annotations

from collections.abc import Iterable

from whence.rows.expressions import And, Attr, Call, Expr, Udf, WindowCall, conjunction, conjuncts
from whence.rows.expressions.aggregates import AggCall
from whence.rows.expressions.subqueries import Exists, InQuery, ScalarQuery
from whence.rows.tree import walk

FLOATS = ("float", "double")
WIDER = (
    "byte",
    "short",
    "integer",
    "long",
    "float",
    "double",
)  # each type can represent, or round, all values of the types before it
WIDEST = 38  # the most digits of a decimal; arithmetic results with fewer digits always fit

# Functions that return a value or NULL for all arguments of their types.
TOTAL = frozenset(
    {
        "CaseWhen",
        "If",
        "Coalesce",
        "NaNvl",
        "IsNaN",
        "Greatest",
        "Least",
        "AtLeastNNonNulls",
        "KnownNotNull",
        "Upper",
        "Lower",
        "InitCap",
        "StringTrim",
        "StringTrimLeft",
        "StringTrimRight",
        "Substring",
        "Concat",
        "Length",
        "OctetLength",
        "BitLength",
        "StartsWith",
        "EndsWith",
        "Contains",
        "StringInstr",
        "StringLPad",
        "StringRPad",
        "StringReplace",
        "Reverse",
        "Ascii",
        "SoundEx",
        "Levenshtein",
        "Year",
        "Month",
        "DayOfMonth",
        "DayOfWeek",
        "DayOfYear",
        "WeekDay",
        "WeekOfYear",
        "Quarter",
        "Hour",
        "Minute",
        "Second",
        "LastDay",
        "DateDiff",
        "TruncDate",
        "TruncTimestamp",
        "MonthsBetween",
        "Exp",
        "Log",
        "Log10",
        "Log2",
        "Log1p",
        "Sqrt",
        "Cbrt",
        "Sin",
        "Cos",
        "Tan",
        "Asin",
        "Acos",
        "Atan",
        "Atan2",
        "Sinh",
        "Cosh",
        "Tanh",
        "Signum",
        "Floor",
        "Ceil",
        "Rint",
        "BitwiseAnd",
        "BitwiseOr",
        "BitwiseXor",
        "BitwiseNot",
        "GetStructField",
        "CreateNamedStruct",
        "CreateArray",
        "Size",
        "ArrayContains",
        "ArraysOverlap",
        "ArrayDistinct",
        "SortArray",
        "ArrayMin",
        "ArrayMax",
        "ArrayUnion",
        "ArrayIntersect",
        "ArrayExcept",
        "Flatten",
        "MapKeys",
        "MapValues",
        "MapEntries",
        "Md5",
        "Sha1",
        "Sha2",
        "Crc32",
        "Murmur3Hash",
        "XxHash64",
        "Base64",
        "Hex",
        "array",
        "array_sort",
        "map_entries",
        "coalesce",
        "exists",
        "lambda",
        "variable",
        "field",
        "size",
    }
)
# fmt: on
ARITHMETIC = frozenset({"Add", "Subtract", "Multiply", "UnaryMinus", "Abs"})
PATTERNS = frozenset({"Like", "RLike", "RegExpReplace", "RegExpExtract", "StringSplit"})  # if the pattern is constant


def may_fail(expr: Expr) -> bool:
    """Whether an expression may raise an error for some arguments.

    >>> from whence.rows import Attr, Call
    >>> s = Attr(1, "s", "string")
    >>> may_fail(Call("Cast", (s,), "integer", "evalMode=ANSI")), may_fail(Call("Upper", (s,), "string"))
    (True, False)
    """
    try:
        return expr._fallible
    except AttributeError:
        if isinstance(expr, And):  # for most conjuncts, the result is cached
            found = any(map(may_fail, expr.args))
        else:
            found = any(_may_fail(part) for part in walk(expr) if isinstance(part, Expr))
        object.__setattr__(expr, "_fallible", found)
        return found


def may_fail_by(expr: Expr, attrs: Iterable[Attr]) -> bool:
    """Whether a part that may fail reads any of the columns."""
    known = frozenset(attrs)
    return any(_may_fail(part) and part.attrs & known for part in walk(expr) if isinstance(part, Expr))


def calls_user_code(expr: Expr) -> bool:
    """Whether it calls a user's function. Spark calls it for all rows of a filter, whatever the other conjuncts are."""
    return any(isinstance(part, Udf) for part in walk(expr))


def sure_part(predicate: Expr) -> Expr:
    """Return only the conjuncts that never fail, which select a superset of the rows."""
    return conjunction(*(fact for fact in conjuncts(predicate) if not may_fail(fact)))


def _may_fail(part: Expr) -> bool:
    if isinstance(part, Udf | AggCall | WindowCall | ScalarQuery | Exists | InQuery):
        return True
    if not isinstance(part, Call) or part.name in TOTAL:
        return False
    if part.name == "Cast":
        return "evalMode=ANSI" in part.detail and not _upcast(part.args[0].dtype, part.dtype)
    if part.name in ARITHMETIC:
        return not ("LEGACY" in part.detail or "failOnError=false" in part.detail or _roomy(part.dtype))
    if part.name in PATTERNS:
        return any(arg.attrs for arg in part.args[1:])
    return True


def _upcast(old: str, new: str) -> bool:
    if old == new or (new == "string" and not old.startswith("{")):
        return True
    if old in WIDER and new in WIDER:
        return WIDER.index(old) <= WIDER.index(new)
    if {old, new} <= {"date", "timestamp", "timestamp_ntz"}:
        return True
    digits = {"byte": 3, "short": 5, "integer": 10, "long": 19}
    after = _decimal(new)
    before = (digits[old], 0) if old in digits else _decimal(old)
    if after is not None and before is not None:
        return after[0] - after[1] >= before[0] - before[1] and after[1] >= before[1]
    return before is not None and new in FLOATS


def _roomy(dtype: str) -> bool:
    """Whether every result of arithmetic fits into the type."""
    digits = _decimal(dtype)
    return dtype in FLOATS or (digits is not None and digits[0] < WIDEST)


def _decimal(dtype: str) -> tuple[int, int] | None:
    if not dtype.startswith("decimal("):
        return None
    precision, scale = dtype[len("decimal(") : -1].split(",")
    return int(precision), int(scale)
