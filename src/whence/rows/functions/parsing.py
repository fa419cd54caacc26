"""Parse numbers in strings: `int(s)` and `float(s)`."""

from __future__ import annotations

from whence.rows.expressions import Call, Compare, Expr, IsNull
from whence.rows.functions.numbers import Context
from whence.rows.functions.texts import FIGURES, integer, sliced
from whence.rows.functions.values import Float, Int, Item, both, case, either, negated, text

SIGN, POINT = "+-", "."
AROUND = " \t\n\r\x0b\x0c"  # ASCII characters that may surround a number: fewer than strip() removes
MOST_FIGURES = 15


def parsed(expr: Expr, fraction: bool, context: Context) -> Item:
    """`int(s)` or `float(s)` for strings that are plain numbers, or that are certainly not numbers."""
    clean = Call("StringTrim", (expr, text(AROUND)), "string")
    unsigned = case(
        either(*(Call("StartsWith", (clean, text(sign)), "boolean") for sign in SIGN)), sliced(clean, 1, None), clean
    )
    figures = Call("StringTranslate", (unsigned, text(FIGURES), text("")), "string")
    short = Compare("<=", Call("Length", (unsigned,), "integer"), integer(MOST_FIGURES))
    some = Compare("!=", unsigned, text(""))
    plain = both(some, Compare("=", figures, text("")))
    if fraction:
        inner = both(
            Compare("=", figures, text(POINT)),
            negated(Call("StartsWith", (unsigned, text(POINT)), "boolean")),
            negated(Call("EndsWith", (unsigned, text(POINT)), "boolean")),
        )
        plain = either(plain, inner)
    bad = _no_number(clean, fraction)
    context.requires(either(IsNull(expr), both(plain, short), bad))
    context.fails(bad, ValueError)
    if not fraction:
        most = 10**MOST_FIGURES
        return Int(Call("Cast", (clean,), "long", "evalMode=TRY"), -most, most)
    return Float(Call("Cast", (clean,), "double", "evalMode=TRY"))


def _no_number(clean: Expr, fraction: bool) -> Expr:
    """Whether it is empty or has an ASCII character that no number has. Digits of other scripts are digits, too."""
    never = "".join(chr(code) for code in range(0x21, 0x7F))
    allowed = FIGURES + "+-_" + (".eEinfatyINFATY" if fraction else "")
    never = "".join(each for each in never if each not in allowed)
    ascii_ = Compare("=", Call("Length", (clean,), "integer"), Call("OctetLength", (clean,), "integer"))
    kept = Call("StringTranslate", (clean, text(never), text("")), "string")
    return either(Compare("=", clean, text("")), both(ascii_, Compare("!=", kept, clean)))
