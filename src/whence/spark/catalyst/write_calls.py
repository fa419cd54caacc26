"""Create Catalyst's expressions for calls that whence made itself. Calls of translated functions have Catalyst's
names.
"""

from __future__ import annotations

from typing import Any

from whence.rows import Call
from whence.spark.catalyst.jvm import CATALYST, Jvm

# Catalyst's class, and the SQL name of the function.
NAMES = {
    "CaseWhen": "when",
    "Concat": "concat",
    "Contains": "contains",
    "DateDiff": "datediff",
    "DayOfMonth": "day",
    "EndsWith": "endswith",
    "IsNaN": "isnan",
    "Left": "left",
    "Length": "length",
    "Lower": "lower",
    "Month": "month",
    "OctetLength": "octet_length",
    "RLike": "rlike",
    "Right": "right",
    "Rint": "rint",
    "SplitPart": "split_part",
    "StartsWith": "startswith",
    "StringInstr": "instr",
    "StringLPad": "lpad",
    "StringRPad": "rpad",
    "StringReplace": "replace",
    "StringTranslate": "translate",
    "Substring": "substring",
    "Upper": "upper",
    "WeekDay": "weekday",
    "Year": "year",
}
WITH_MODE = frozenset({"Add", "Subtract", "Multiply", "Divide", "Remainder", "IntegralDivide"})
TRIMS = frozenset({"StringTrim", "StringTrimLeft", "StringTrimRight"})


def made(call: Call, args: list[Any], jvm: Jvm) -> Any:
    """Create the call in Catalyst; None if its name is that of an SQL function."""
    if call.name in NAMES:
        return jvm.made("analysis.UnresolvedFunction", jvm.seq([NAMES[call.name]]), jvm.seq(args), False)
    if call.name in WITH_MODE:
        context = jvm.new("expressions.NumericEvalContext", _mode(call, jvm), True)
        return jvm.new(f"expressions.{call.name}", *args, context)
    if call.name in TRIMS and len(args) == 2:
        return jvm.new(f"expressions.{call.name}", args[0], jvm.some(args[1]))
    if call.name == "Cast":
        return jvm.new("expressions.Cast", args[0], jvm.dtype(call.dtype), jvm.some("UTC"), _mode(call, jvm))
    if call.name in ("UnaryMinus", "Abs"):
        return jvm.new(f"expressions.{call.name}", args[0], False)
    return None


def _mode(call: Call, jvm: Jvm) -> Any:
    modes = jvm.singleton(f"{CATALYST}.expressions.EvalMode")
    return modes.TRY() if "TRY" in call.detail else modes.LEGACY()
