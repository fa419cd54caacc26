"""Expressions of Python, for any argument."""

from __future__ import annotations

import ast
import types
from collections.abc import Callable
from typing import TYPE_CHECKING

from whence.rows.expressions import FALSE, TRUE, Compare, Expr, In, IsNull, Literal
from whence.rows.functions import calls, numbers, texts
from whence.rows.functions.numbers import Raised
from whence.rows.functions.refusal import ITEMS, TEXT, Refusal
from whence.rows.functions.values import (
    Alternative,
    Bool,
    Const,
    Date,
    Days,
    Float,
    Int,
    Item,
    Items,
    Match,
    Method,
    Other,
    Split,
    Str,
    Value,
    as_type,
    both,
    combined,
    const,
    constant,
    either,
    is_plain,
    lifted,
    merged,
    negated,
    only,
)

if TYPE_CHECKING:
    from whence.rows.functions.looking import Looking

ARITHMETIC: dict[type[ast.operator], Callable[..., Item]] = {
    ast.Add: numbers.add,
    ast.Sub: numbers.subtract,
    ast.Mult: numbers.multiply,
    ast.Div: numbers.divide,
    ast.FloorDiv: numbers.floor_divide,
    ast.Mod: numbers.modulo,
    ast.Pow: numbers.power,
}
COMPARISONS: dict[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}
OF_DATES = {"year": "Year", "month": "Month", "day": "DayOfMonth"}


def evaluate(node: ast.expr, at: Looking) -> Value:
    """What an expression gives."""
    at.findings.budget.step()
    try:
        return _evaluate(node, at)
    except Refusal as refusal:
        raise refusal.at(node) from None


def _evaluate(node: ast.expr, at: Looking) -> Value:
    if isinstance(node, ast.Constant):
        return const(node.value)
    if isinstance(node, ast.Name):
        return at.name(node.id)
    if isinstance(node, ast.BinOp):
        return binary(node.op, evaluate(node.left, at), evaluate(node.right, at), at)
    if isinstance(node, ast.UnaryOp):
        return _unary(node, at)
    if isinstance(node, ast.BoolOp):
        return _bool_op(node, at)
    if isinstance(node, ast.Compare):
        return _truth_value(condition(node, at))
    if isinstance(node, ast.IfExp):
        guard = condition(node.test, at)
        with at.under(guard):
            then = () if guard == FALSE else evaluate(node.body, at)
        with at.under(negated(guard)):
            otherwise = () if guard == TRUE else evaluate(node.orelse, at)
        return merged(guard, then, otherwise)
    if isinstance(node, ast.Call):
        return calls.call(node, at)
    if isinstance(node, ast.Attribute):
        return each(evaluate(node.value, at), lambda item: _attribute(item, node.attr), at)
    if isinstance(node, ast.Subscript):
        return _subscript(node, at)
    if isinstance(node, ast.JoinedStr):
        return _joined_text(node, at)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return _listed(node, at)
    if isinstance(node, ast.Dict):
        return _dictionary(node, at)
    if isinstance(node, ast.ListComp | ast.GeneratorExp):
        return only(Items(_comprehension(node, at)))
    raise Refusal(f"an expression of the kind {type(node).__name__} is not translated")


def each(value: Value, change: Callable[[Item], Item | Value], at: Looking) -> Value:
    """Something done to each thing that a value may be; what raises an error has no value."""
    parts: list[Alternative] = []
    for alternative in at.possible(value):
        with at.under(alternative.guard):
            try:
                made = change(alternative.item)
            except Raised as raised:
                at.fails(TRUE, raised.kind)
                continue
        values = made if isinstance(made, tuple) else only(made)
        parts += [Alternative(both(alternative.guard, one.guard), one.item) for one in values]
    return combined(parts) if parts else ()


def pairs(left: Value, right: Value, change: Callable[[Item, Item], Item | Value], at: Looking) -> Value:
    """The same of two values."""
    return each(left, lambda a: each(right, lambda b: change(a, b), at), at)


def condition(node: ast.expr, at: Looking) -> Expr:
    """Whether an expression is true, without making a value of it."""
    at.findings.budget.step()
    if isinstance(node, ast.BoolOp):
        stops = FALSE if isinstance(node.op, ast.And) else TRUE
        found: list[Expr] = []
        depth = len(at.path)
        try:
            for each_ in node.values:
                one = condition(each_, at)
                if one == stops:
                    found.append(one)
                    break
                found.append(one)
                at.path.append(one if stops == FALSE else negated(one))
        finally:
            del at.path[depth:]
        return both(*found) if stops == FALSE else either(*found)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return negated(condition(node.operand, at))
    if isinstance(node, ast.Compare):
        return _comparison(node, at)
    return truth(at.possible(evaluate(node, at)))


def truth(value: Value) -> Expr:
    """Python's truth of a value."""
    if len(value) == 1:
        return _true(value[0].item)
    return either(FALSE, *(both(one.guard, _true(one.item)) for one in value))


def _true(item: Item) -> Expr:
    item = lifted(item)
    if isinstance(item, Bool):
        return item.expr
    if isinstance(item, Int):
        if item.low > 0 or item.high < 0:
            return TRUE
        return Compare("!=", item.expr, as_type(Literal(0, "long"), item.expr.dtype))
    if isinstance(item, Float):
        return Compare("!=", item.expr, Literal(0.0, "double"))
    if isinstance(item, Str):
        return texts.truth(item.expr)
    if isinstance(item, Date | Split | Match):
        return TRUE
    if isinstance(item, Items):
        return TRUE if item.items else FALSE
    if isinstance(item, Const) and (
        is_plain(item.value) or type(item.value) in (list, tuple, dict, set, frozenset, types.FunctionType)
    ):
        return TRUE if item.value else FALSE
    raise Refusal("it asks whether something of an unknown kind is true")


def _truth_value(expr: Expr) -> Value:
    return const(expr == TRUE) if expr in (TRUE, FALSE) else only(Bool(expr))


# --- operators


def binary(op: ast.operator, left: Value, right: Value, at: Looking) -> Value:
    kind = type(op)

    def one(a: Item, b: Item) -> Item | Value:
        if isinstance(a, Const) and isinstance(b, Const) and is_plain(a.value) and is_plain(b.value):
            return Const(_folded(kind, a.value, b.value))
        if kind is ast.Add:
            x, y = lifted(a), lifted(b)
            if isinstance(x, Str) or isinstance(y, Str):
                if not (isinstance(x, Str) and isinstance(y, Str)):
                    raise Raised(TypeError)
                return Str(texts.concat(x.expr, y.expr))
        if kind is ast.Mult and isinstance(lifted(a), Str) and isinstance(b, Const) and type(b.value) is int:
            text = lifted(a)
            assert isinstance(text, Str)
            return Str(texts.repeated(text.expr, b.value))
        for item in (a, b):
            if isinstance(item, Other | Items | Split | Days | Match | Method):
                raise Refusal("it computes with values of a kind that is not translated")
            if isinstance(item, Const) and not is_plain(item.value):
                raise Refusal("it computes with an object")
        if kind is ast.Mod and isinstance(lifted(a), Str):
            raise Refusal("it formats text with %")
        if kind is ast.Mult and (isinstance(lifted(a), Str) or isinstance(lifted(b), Str)):
            raise Refusal("it repeats a text")
        if kind in (ast.Add, ast.Sub) and isinstance(lifted(a), Date) and not isinstance(lifted(b), Date):
            raise Refusal("it moves a date")
        if kind not in ARITHMETIC:
            raise Refusal(f"the operator {kind.__name__} is not translated")
        return ARITHMETIC[kind](a, b, at)

    return pairs(left, right, one, at)


LIMIT = 1 << 64


def _folded(kind: type[ast.operator], a: object, b: object) -> object:
    """An operation on two constants."""
    if isinstance(a, str) and isinstance(b, str) and kind is ast.Add and len(a) + len(b) <= TEXT:
        return a + b
    if not isinstance(a, int | float) or not isinstance(b, int | float):
        if a is None or b is None:
            raise Raised(TypeError)
        raise Refusal("it computes with constants of a kind that is not translated")
    if any(isinstance(x, int) and abs(x) > LIMIT for x in (a, b)) or (kind is ast.Pow and abs(b) > 64):
        raise Refusal("it computes with very large constants")
    try:
        if kind is ast.Add:
            return a + b
        if kind is ast.Sub:
            return a - b
        if kind is ast.Mult:
            return a * b
        if kind is ast.Div:
            return a / b
        if kind is ast.FloorDiv:
            return a // b
        if kind is ast.Mod:
            return a % b
        if kind is ast.Pow:
            found = a**b
            if isinstance(found, int | float):
                return found
    except (ZeroDivisionError, OverflowError) as error:
        raise Raised(type(error)) from None
    raise Refusal(f"the operator {kind.__name__} is not translated")


def _unary(node: ast.UnaryOp, at: Looking) -> Value:
    if isinstance(node.op, ast.Not):
        return _truth_value(negated(condition(node.operand, at)))
    value = evaluate(node.operand, at)
    if isinstance(node.op, ast.USub):
        return each(value, lambda item: _minus(item, at), at)
    if isinstance(node.op, ast.UAdd):
        return each(value, lambda item: numbers.add(item, Const(0), at), at)
    raise Refusal("the operator ~ is not translated")


def _minus(item: Item, at: Looking) -> Item:
    if isinstance(item, Const) and type(item.value) in (int, float):
        return Const(-item.value)  # type: ignore[operator]  # a number
    return numbers.negative(item, at)


def _bool_op(node: ast.BoolOp, at: Looking) -> Value:
    """`a and b` is one of the two."""
    first, *rest = node.values
    value = evaluate(first, at)
    for other in rest:
        true = truth(value)
        wanted = true if isinstance(node.op, ast.And) else negated(true)
        if wanted == FALSE:
            return value
        with at.under(wanted):
            then = evaluate(other, at)
        if _only_bool(value) and _only_bool(then):
            join = both if isinstance(node.op, ast.And) else either
            value = _truth_value(join(true, truth(then)))
        else:
            value = merged(wanted, then, value)
    return value


def _only_bool(value: Value) -> bool:
    return all(isinstance(lifted(one.item), Bool) for one in value)


def _comparison(node: ast.Compare, at: Looking) -> Expr:
    left = evaluate(node.left, at)
    found: list[Expr] = []
    depth = len(at.path)
    try:
        for op, other in zip(node.ops, node.comparators, strict=True):
            right = evaluate(other, at)
            found.append(_compared(op, left, right, at))
            at.path.append(found[-1])
            left = right
    finally:
        del at.path[depth:]
    return both(*found)


def _compared(op: ast.cmpop, left: Value, right: Value, at: Looking) -> Expr:
    if isinstance(op, ast.Is | ast.IsNot):
        same = _identical(at.possible(left), right)
        return same if isinstance(op, ast.Is) else negated(same)
    if isinstance(op, ast.In | ast.NotIn):
        inside = truth(pairs(left, right, lambda a, b: _bool(_contained(a, b, at)), at))
        return inside if isinstance(op, ast.In) else negated(inside)
    word = COMPARISONS[type(op)]
    return truth(pairs(left, right, lambda a, b: _bool(numbers.compared(word, a, b, at)), at))


def _bool(expr: Expr) -> Item:
    return Bool(expr)


def _identical(left: Value, right: Value) -> Expr:
    wanted = constant(right)
    if wanted is None or not (wanted.value is None or isinstance(wanted.value, bool)):
        raise Refusal("it compares objects with `is`")

    def one(item: Item) -> Expr:
        if wanted.value is None:
            return TRUE if isinstance(item, Const) and item.value is None else FALSE
        lifted_ = lifted(item)
        if isinstance(lifted_, Bool):
            return lifted_.expr if wanted.value else negated(lifted_.expr)
        return FALSE

    return either(FALSE, *(both(alternative.guard, one(alternative.item)) for alternative in left))


def _contained(item: Item, inside: Item, at: Looking) -> Expr:
    whole = lifted(inside)
    if isinstance(whole, Str):
        part = lifted(item)
        if not isinstance(part, Str):
            raise Raised(TypeError)
        return texts.contains(whole.expr, part.expr)
    if isinstance(inside, Items):
        values = [_listed_equal(item, value, at) for value in inside.items]
        return either(FALSE, *values)
    if isinstance(whole, Int | Float | Bool | Date) or (isinstance(inside, Const) and inside.value is None):
        raise Raised(TypeError)
    if not isinstance(inside, Const) or type(inside.value) not in (list, tuple, set, frozenset, dict, range):
        raise Refusal("it looks for something inside of something that is no constant")
    values_ = inside.value
    assert isinstance(values_, list | tuple | set | frozenset | dict | range)
    if len(values_) > ITEMS:
        raise Refusal(f"it looks for something in {len(values_)} values")
    return one_of(item, list(values_), at)


def _listed_equal(item: Item, value: Value, at: Looking) -> Expr:
    return either(FALSE, *(both(one.guard, numbers.compared("==", item, one.item, at)) for one in value))


def one_of(item: Item, values: list[object], at: Looking) -> Expr:
    """Whether a value is equal to one of some constants."""
    if any(not is_plain(value) for value in values):
        raise Refusal("it looks for something among objects")
    if isinstance(item, Const) and is_plain(item.value):
        return TRUE if any(item.value is value or item.value == value for value in values) else FALSE
    equal = [numbers.compared("==", item, Const(value), at) for value in values]
    simple = [one for one in equal if isinstance(one, Compare) and one.op == "=" and isinstance(one.right, Literal)]
    if len(simple) > 2 and len(simple) == sum(one != FALSE for one in equal) and simple[0].left.dtype != "double":
        return In(simple[0].left, tuple(one.right for one in simple))
    return either(FALSE, *equal)


# --- parts of values


def _attribute(item: Item, name: str) -> Item:
    if isinstance(item, Const) and isinstance(item.value, types.ModuleType):
        if not hasattr(item.value, name):
            raise Raised(AttributeError)
        return Const(getattr(item.value, name))
    item_ = lifted(item)
    if isinstance(item_, Date) and name in OF_DATES:
        from whence.rows.expressions import Call

        low, high = {"year": (1, 9999), "month": (1, 12), "day": (1, 31)}[name]
        return Int(as_type(Call(OF_DATES[name], (item_.expr,), "integer"), "long"), low, high)
    if isinstance(item_, Days) and name == "days":
        return item_.days
    if isinstance(item_, Str | Date | Match | Split) or (isinstance(item, Const) and type(item.value) in (dict, str)):
        return Method(only(item), name)
    if isinstance(item, Const) and item.value is None:
        raise Raised(AttributeError)
    raise Refusal(f"the attribute {name!r} of something that is not translated")


def _subscript(node: ast.Subscript, at: Looking) -> Value:
    owner = evaluate(node.value, at)
    if isinstance(node.slice, ast.Slice):
        if node.slice.step is not None:
            raise Refusal("a slice with a step is not translated")
        ends = [None if end is None else constant(evaluate(end, at)) for end in (node.slice.lower, node.slice.upper)]
        bounds = [None if end is None else end.value for end in ends]
        given = (node.slice.lower, node.slice.upper)
        if any(end is not None and type(bound) is not int for end, bound in zip(given, bounds, strict=True)):
            raise Refusal("a slice whose ends are no constants")
        start, stop = (bound if isinstance(bound, int) else None for bound in bounds)
        return each(owner, lambda item: _sliced(item, start, stop), at)
    return pairs(owner, evaluate(node.slice, at), lambda a, b: _item(a, b, at), at)


def _sliced(item: Item, start: int | None, stop: int | None) -> Item:
    if isinstance(item, Const) and type(item.value) in (str, list, tuple):
        return Const(item.value[start:stop])  # type: ignore[index]  # one of these
    item = lifted(item)
    if isinstance(item, Str):
        return Str(texts.sliced(item.expr, start, stop))
    if isinstance(item, Const) and item.value is None:
        raise Raised(TypeError)
    raise Refusal("a slice of something that is no text")


def _item(owner: Item, key: Item, at: Looking) -> Item | Value:
    if isinstance(owner, Const) and type(owner.value) is dict:
        return calls.looked_up(owner.value, key, None, at)
    place = key.value if isinstance(key, Const) else None
    if isinstance(owner, Const) and owner.value is None:
        raise Raised(TypeError)
    if type(place) is not int:
        raise Refusal("it takes a part at a place that is no constant")
    if isinstance(owner, Const) and type(owner.value) in (str, list, tuple):
        try:
            return Const(owner.value[place])  # type: ignore[index]  # one of these
        except IndexError:
            raise Raised(IndexError) from None
    if isinstance(owner, Str):
        return Str(texts.at(owner.expr, place, at))
    if isinstance(owner, Split):
        return Str(texts.part(owner, place, at))
    if isinstance(owner, Items):
        try:
            return owner.items[place]
        except IndexError:
            raise Raised(IndexError) from None
    raise Refusal("it takes a part of something that is not translated")


# --- lists, texts


def _listed(node: ast.Tuple | ast.List | ast.Set, at: Looking) -> Value:
    values = [evaluate(one, at) for one in node.elts]
    known = [constant(value) for value in values]
    if all(one is not None and is_plain(one.value) for one in known):
        plain = [one.value for one in known if one is not None]
        return const(
            tuple(plain) if isinstance(node, ast.Tuple) else plain if isinstance(node, ast.List) else set(plain)
        )
    return only(Items(tuple(values)))


def _dictionary(node: ast.Dict, at: Looking) -> Value:
    keys = [None if key is None else constant(evaluate(key, at)) for key in node.keys]
    values = [constant(evaluate(value, at)) for value in node.values]
    if any(one is None or not is_plain(one.value) for one in (*keys, *values)):
        raise Refusal("a dictionary of something else than constants")
    return const({k.value: v.value for k, v in zip(keys, values, strict=True) if k is not None and v is not None})


def _comprehension(node: ast.ListComp | ast.GeneratorExp, at: Looking) -> tuple[Value, ...]:
    from whence.rows.functions.looking import items_of

    if len(node.generators) != 1 or node.generators[0].is_async:
        raise Refusal("a comprehension over more than one list")
    (over,) = node.generators
    turns = items_of(evaluate(over.iter, at))
    if turns is None:
        raise Refusal("it loops over something that is no constant")
    found: list[Value] = []
    before = dict(at.env)
    try:
        for turn in turns:
            at.assign(over.target, turn)
            guard = both(TRUE, *(condition(test, at) for test in over.ifs))
            if guard == FALSE:
                continue
            if guard != TRUE:
                raise Refusal("a comprehension whose condition depends on the row")
            found.append(evaluate(node.elt, at))
    finally:
        at.env = before
    return tuple(found)


def _joined_text(node: ast.JoinedStr, at: Looking) -> Value:
    result: Value = const("")
    for part in node.values:
        if isinstance(part, ast.Constant):
            piece = const(part.value)
        elif isinstance(part, ast.FormattedValue):
            piece = _formatted(part, at)
        else:
            raise Refusal("an f-string of an unknown form")
        result = binary(ast.Add(), result, piece, at)
    return result


def _formatted(node: ast.FormattedValue, at: Looking) -> Value:
    if node.conversion not in (-1, 115):
        raise Refusal("an f-string with !r or !a")
    spec = ""
    if node.format_spec is not None:
        parts = node.format_spec.values if isinstance(node.format_spec, ast.JoinedStr) else []
        if not all(isinstance(part, ast.Constant) for part in parts):
            raise Refusal("an f-string whose format is computed")
        spec = "".join(str(part.value) for part in parts if isinstance(part, ast.Constant))
    value = evaluate(node.value, at)
    if not spec:
        return each(value, lambda item: Str(texts.written(item)), at)
    width = spec.rstrip("d")
    if not (spec.startswith("0") and width.isdigit() and len(spec) - len(width) <= 1):
        raise Refusal(f"the format {spec!r} is not translated")
    return each(value, lambda item: Str(texts.zero_padded(item, int(width))), at)


def none_or(expr: Expr, item: Item) -> Value:
    """A column: None where it is NULL."""
    return (Alternative(IsNull(expr), Const(None)), Alternative(negated(IsNull(expr)), item))
