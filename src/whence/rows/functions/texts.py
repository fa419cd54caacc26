"""Python's string operations as expressions with the same results in Spark."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from whence.rows.expressions import FALSE, Call, Compare, Expr, IsNull, Literal
from whence.rows.functions.numbers import NEVER, Context, Raised, subtract
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import (
    Bool,
    Const,
    Date,
    Float,
    Int,
    Item,
    Split,
    Str,
    as_type,
    both,
    case,
    either,
    lifted,
    long,
    negated,
    text,
)

# The characters that str.strip removes: str.isspace is true for them.
SPACE = "".join(chr(code) for code in range(0x3001) if chr(code).isspace())
MOST = (1 << 31) - 1  # characters of a string
REPEATED = 64
WIDEST = 1_000  # the greatest width of padding

Method: TypeAlias = Callable[[Expr, "list[Item]", Context], Item]


def length(expr: Expr) -> Int:
    return Int(as_type(Call("Length", (expr,), "integer"), "long"), 0, MOST)


def ascii_only(expr: Expr, context: Context) -> None:
    """Require ASCII strings, because upper and lower case of other letters depend on the version of Unicode."""
    bytes_ = Call("OctetLength", (expr,), "integer")
    context.requires(either(IsNull(expr), Compare("=", Call("Length", (expr,), "integer"), bytes_)))


def concat(*parts: Expr) -> Expr:
    flat: list[Expr] = []
    for part in parts:
        pieces = part.args if isinstance(part, Call) and part.name == "Concat" else (part,)
        for piece in pieces:
            if isinstance(piece, Literal) and flat and isinstance(flat[-1], Literal):
                flat[-1] = text(f"{flat[-1].value}{piece.value}")
            elif piece != text("") or len(parts) == 1:
                flat.append(piece)
    if not flat:
        return text("")
    return flat[0] if len(flat) == 1 else Call("Concat", tuple(flat), "string")


def contains(whole: Expr, part: Expr) -> Expr:
    return Call("Contains", (whole, part), "boolean")


def written(item: Item) -> Expr:
    """`str(x)`, for types that Spark formats in the same way."""
    item = lifted(item)
    if isinstance(item, Str):
        return item.expr
    if isinstance(item, Bool):
        return case(item.expr, text("True"), text("False"))
    if isinstance(item, Int):
        return text(str(item.low)) if item.low == item.high else Call("Cast", (item.expr,), "string", NEVER)
    if isinstance(item, Date):
        return Call("Cast", (item.expr,), "string", NEVER)
    if isinstance(item, Const) and item.value is None:
        return text("None")
    raise Refusal("it converts a float to a string" if isinstance(item, Float) else "it converts a value to a string")


def zero_padded(item: Item, width: int) -> Expr:
    """`f"{x:05d}"`."""
    item = lifted(item)
    if not isinstance(item, Int) or not 0 < width <= WIDEST:
        raise Refusal("a format of something other than an integer")
    return _zfill(written(item), width)


# --- positions


def at(expr: Expr, index: int, context: Context) -> Expr:
    """`s[i]`."""
    needed = index + 1 if index >= 0 else -index
    _longer(expr, needed, context)
    if index >= 0:
        return Call("Substring", (expr, integer(index + 1), integer(1)), "string")
    return Call("Substring", (Call("Right", (expr, integer(-index)), "string"), integer(1), integer(1)), "string")


def _longer(expr: Expr, needed: int, context: Context) -> None:
    context.fails(Compare("<", Call("Length", (expr,), "integer"), Literal(needed, "integer")), IndexError)


def sliced(expr: Expr, start: int | None, stop: int | None) -> Expr:
    """`s[start:stop]`."""
    for each in (start, stop):
        if each is not None and abs(each) >= MOST:
            raise Refusal("a slice is too large")
    if start is not None and start < 0:
        if stop is None:
            return Call("Right", (expr, integer(-start)), "string")
        if stop < 0 and stop > start:  # the last characters, without the very last ones
            return _without_last(Call("Right", (expr, integer(-start)), "string"), -stop)
        raise Refusal("a slice from the end to an index from the start")
    first = start or 0
    if stop is None:
        return expr if first == 0 else Call("Substring", (expr, integer(first + 1), integer(MOST)), "string")
    if stop >= 0:
        if stop <= first:
            return text("")
        return Call("Substring", (expr, integer(first + 1), integer(stop - first)), "string")
    return sliced(_without_last(expr, -stop), first, None)


def _without_last(expr: Expr, count: int) -> Expr:
    """Drop the last characters. Spark's left() returns an empty string for a length below one."""
    rest = Call("Subtract", (Call("Length", (expr,), "integer"), integer(count)), "integer", NEVER)
    return Call("Left", (expr, rest), "string")


def integer(value: int) -> Literal:
    return Literal(value, "integer")


# --- parts


def part(split: Split, index: int, context: Context) -> Expr:
    """`s.split(by)[index]`."""
    if abs(index) > REPEATED:
        raise Refusal("a slice far into a string")
    needed = index if index >= 0 else -index - 1  # separators
    if needed:
        context.fails(Compare("<", parts(split, context).expr, long(needed + 1)), IndexError)
    elif split.words:
        context.fails(Compare("=", split.text, text("")), IndexError)
    place = index + 1 if index >= 0 else index
    return Call("SplitPart", (split.text, text(split.by), integer(place)), "string")


def parts(split: Split, context: Context) -> Int:
    """`len(s.split(by))`."""
    without = Call("StringReplace", (split.text, text(split.by), text("")), "string")
    gone = Call("Subtract", (length(split.text).expr, length(without).expr), "long", NEVER)
    if len(split.by) > 1:
        gone = Call("IntegralDivide", (gone, long(len(split.by))), "long", NEVER)
    count: Expr = Call("Add", (gone, long(1)), "long", NEVER)
    if split.words:
        context.requires(either(IsNull(split.text), negated(contains(split.text, text(split.by * 2)))))
        count = case(Compare("=", split.text, text("")), long(0), count)
    return Int(count, 0 if split.words else 1, MOST + 1)


# --- methods


def _constant(args: list[Item], place: int, default: str | None = None) -> str:
    if place >= len(args):
        if default is None:
            raise Raised(TypeError)
        return default
    item = args[place]
    if isinstance(item, Const) and type(item.value) is str:
        return item.value
    if isinstance(item, Const) and item.value is None and default is not None:
        return default
    raise Refusal("a string method whose argument is not a constant string")


def _number(args: list[Item], place: int) -> int:
    item = args[place] if place < len(args) else None
    if isinstance(item, Const) and type(item.value) is int and 0 <= item.value <= WIDEST:
        return item.value
    raise Refusal("a string method whose argument is not a small constant number")


def _lower(expr: Expr, args: list[Item], context: Context) -> Item:
    _none(args)
    ascii_only(expr, context)
    return Str(Call("Lower", (expr,), "string"))


def _upper(expr: Expr, args: list[Item], context: Context) -> Item:
    _none(args)
    ascii_only(expr, context)
    return Str(Call("Upper", (expr,), "string"))


def _capitalize(expr: Expr, args: list[Item], context: Context) -> Item:
    _none(args)
    ascii_only(expr, context)
    first = Call("Upper", (sliced(expr, None, 1),), "string")
    return Str(concat(first, Call("Lower", (sliced(expr, 1, None),), "string")))


def _strip(name: str) -> Method:
    def make(expr: Expr, args: list[Item], context: Context) -> Item:
        if len(args) > 1:
            raise Raised(TypeError)
        characters = _constant(args, 0, SPACE)
        return Str(expr if not characters else Call(name, (expr, text(characters)), "string"))

    return make


def _replace(expr: Expr, args: list[Item], context: Context) -> Item:
    old, new = _constant(args, 0), _constant(args, 1)
    if len(args) != 2 or not old:
        raise Refusal("replace of an empty string, or with a count")
    return Str(Call("StringReplace", (expr, text(old), text(new)), "string"))


def _affix(name: str) -> Method:
    def make(expr: Expr, args: list[Item], context: Context) -> Item:
        if len(args) != 1:
            raise Refusal(f"{name.lower()} between places")
        wanted = args[0]
        if isinstance(wanted, Const) and type(wanted.value) is tuple:
            each = [Const(value) for value in wanted.value]
            if not all(type(one.value) is str for one in each):
                raise Raised(TypeError)
            return Bool(either(FALSE, *(Call(name, (expr, text(str(one.value))), "boolean") for one in each)))
        item = lifted(wanted)
        if not isinstance(item, Str):
            raise Raised(TypeError)
        return Bool(Call(name, (expr, item.expr), "boolean"))

    return make


def _split(expr: Expr, args: list[Item], context: Context) -> Item:
    by = _constant(args, 0, "") if args else None
    if len(args) > 1 or by == "":
        raise Refusal("split with an empty separator or with a limit")
    if by is not None:
        return Split(expr, by)
    clean = Call("StringTrim", (expr, text(SPACE)), "string")
    return Split(Call("StringTranslate", (clean, text(SPACE), text(" " * len(SPACE))), "string"), " ", words=True)


def _count(expr: Expr, args: list[Item], context: Context) -> Item:
    wanted = _constant(args, 0)
    if len(args) != 1 or not wanted:
        raise Refusal("count of an empty string, or with a start")
    return subtract(parts(Split(expr, wanted), context), Const(1), context)


def _removed(affix: str) -> Method:
    """`removeprefix` and `removesuffix`."""

    def make(expr: Expr, args: list[Item], context: Context) -> Item:
        gone = _constant(args, 0)
        if len(args) != 1:
            raise Raised(TypeError)
        rest = sliced(expr, len(gone), None) if affix == "StartsWith" else _without_last(expr, len(gone))
        return Str(case(Call(affix, (expr, text(gone)), "boolean"), rest, expr) if gone else expr)

    return make


def _find(expr: Expr, args: list[Item], context: Context) -> Item:
    wanted = _constant(args, 0)
    if len(args) != 1 or not wanted:
        raise Refusal("find with a start")
    place = as_type(Call("StringInstr", (expr, text(wanted)), "integer"), "long")
    return Int(Call("Subtract", (place, long(1)), "long", NEVER), -1, MOST)


def _every(characters: str) -> Method:
    """Whether the string is not empty and all its characters are among the given ones."""

    def make(expr: Expr, args: list[Item], context: Context) -> Item:
        _none(args)
        ascii_only(expr, context)
        inside = Call("StringTranslate", (expr, text(characters), text("")), "string")
        return Bool(both(Compare("!=", expr, text("")), Compare("=", inside, text(""))))

    return make


def _zfill(expr: Expr, width: int) -> Expr:
    short = Compare("<", Call("Length", (expr,), "integer"), integer(width))
    signed = either(*(Call("StartsWith", (expr, text(sign)), "boolean") for sign in "+-"))
    rest = Call("StringLPad", (sliced(expr, 1, None), integer(width - 1), text("0")), "string")
    plain = Call("StringLPad", (expr, integer(width), text("0")), "string")
    padded = case(signed, concat(sliced(expr, None, 1), rest), plain)
    return case(short, padded, expr)


def _filled(expr: Expr, args: list[Item], context: Context) -> Item:
    width = _number(args, 0)
    return Str(_zfill(expr, width) if width else expr)


def _padded(name: str) -> Method:
    def make(expr: Expr, args: list[Item], context: Context) -> Item:
        width, fill = _number(args, 0), _constant(args, 1, " ")
        if len(fill) != 1:
            raise Raised(TypeError)
        short = Compare("<", Call("Length", (expr,), "integer"), integer(width))
        return Str(case(short, Call(name, (expr, integer(width), text(fill)), "string"), expr))

    return make


def _none(args: list[Item]) -> None:
    if args:
        raise Raised(TypeError)


LETTERS = "abcdefghijklmnopqrstuvwxyz"
FIGURES = "0123456789"
METHODS: dict[str, Method] = {
    "lower": _lower,
    "upper": _upper,
    "casefold": _lower,
    "capitalize": _capitalize,
    "strip": _strip("StringTrim"),
    "lstrip": _strip("StringTrimLeft"),
    "rstrip": _strip("StringTrimRight"),
    "replace": _replace,
    "startswith": _affix("StartsWith"),
    "endswith": _affix("EndsWith"),
    "split": _split,
    "find": _find,
    "count": _count,
    "removeprefix": _removed("StartsWith"),
    "removesuffix": _removed("EndsWith"),
    "isdigit": _every(FIGURES),
    "isdecimal": _every(FIGURES),
    "isnumeric": _every(FIGURES),
    "isalpha": _every(LETTERS + LETTERS.upper()),
    "isalnum": _every(LETTERS + LETTERS.upper() + FIGURES),
    "isspace": _every("".join(each for each in SPACE if each.isascii())),
    "zfill": _filled,
    "rjust": _padded("StringLPad"),
    "ljust": _padded("StringRPad"),
}


def truth(expr: Expr) -> Expr:
    return Compare("!=", expr, text(""))


def repeated(expr: Expr, count: int) -> Expr:
    if count > REPEATED:
        raise Refusal("a string repeated many times")
    return concat(*[expr] * count) if count > 0 else text("")
