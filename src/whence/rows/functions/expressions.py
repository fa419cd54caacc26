"""Evaluate Python expressions symbolically."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from whence.rows.expressions import FALSE, TRUE, Expr
from whence.rows.functions import calls, numbers, texts
from whence.rows.functions.alternatives import each, items_of, pairs, truth, truth_value
from whence.rows.functions.operators import binary, compared, minus
from whence.rows.functions.parts import attribute, item_at, sliced
from whence.rows.functions.refusal import Refusal
from whence.rows.functions.values import (
    Bool,
    Const,
    Items,
    Str,
    Value,
    both,
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


def evaluate(node: ast.expr, at: Looking) -> Value:
    """Return the symbolic value of an expression."""
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
        return truth_value(condition(node, at))
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
        return each(evaluate(node.value, at), lambda item: attribute(item, node.attr), at)
    if isinstance(node, ast.Subscript):
        return _subscript(node, at)
    if isinstance(node, ast.JoinedStr):
        return _joined_text(node, at)
    if isinstance(node, ast.Tuple | ast.List | ast.Set):
        return _listed(node, at)
    if isinstance(node, ast.Dict):
        return _dictionary(node, at)
    if isinstance(node, ast.ListComp):
        return only(Items(_comprehension(node, at)))
    if isinstance(node, ast.GeneratorExp):  # a list can be used twice, a generator cannot
        raise Refusal("a generator that is not the argument of any(), all(), sum(), min(), max() or join()")
    raise Refusal(f"an expression of the kind {type(node).__name__} is not translated")


def condition(node: ast.expr, at: Looking) -> Expr:
    """Return the condition that an expression is true, without a symbolic value for it."""
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


def _unary(node: ast.UnaryOp, at: Looking) -> Value:
    if isinstance(node.op, ast.Not):
        return truth_value(negated(condition(node.operand, at)))
    value = evaluate(node.operand, at)
    if isinstance(node.op, ast.USub):
        return each(value, lambda item: minus(item, at), at)
    if isinstance(node.op, ast.UAdd):
        return each(value, lambda item: numbers.add(item, Const(0), at), at)
    raise Refusal("the operator ~ is not translated")


def _bool_op(node: ast.BoolOp, at: Looking) -> Value:
    """`a and b` is one of the two values."""
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
            value = truth_value(join(true, truth(then)))
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
            found.append(compared(op, left, right, at))
            at.path.append(found[-1])
            left = right
    finally:
        del at.path[depth:]
    return both(*found)


def _subscript(node: ast.Subscript, at: Looking) -> Value:
    owner = evaluate(node.value, at)
    if isinstance(node.slice, ast.Slice):
        if node.slice.step is not None:
            raise Refusal("a slice with a step is not translated")
        ends = [None if end is None else constant(evaluate(end, at)) for end in (node.slice.lower, node.slice.upper)]
        bounds = [None if end is None else end.value for end in ends]
        given = (node.slice.lower, node.slice.upper)
        if any(end is not None and type(bound) is not int for end, bound in zip(given, bounds, strict=True)):
            raise Refusal("a slice whose bounds are not constants")
        start, stop = (bound if isinstance(bound, int) else None for bound in bounds)
        return each(owner, lambda item: sliced(item, start, stop), at)
    return pairs(owner, evaluate(node.slice, at), lambda a, b: item_at(a, b, at), at)


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
        raise Refusal("a dictionary of values that are not constants")
    return const({k.value: v.value for k, v in zip(keys, values, strict=True) if k is not None and v is not None})


def generated(node: ast.GeneratorExp, at: Looking) -> Value:
    """The elements of a generator. Nobody may see that they are computed one by one: none may fail in a `try`."""
    before = len(at.errors or ())
    items = _comprehension(node, at)
    if len(at.errors or ()) > before:
        raise Refusal("a generator in a try, whose elements may raise an error")
    return only(Items(items))


def _comprehension(node: ast.ListComp | ast.GeneratorExp, at: Looking) -> tuple[Value, ...]:
    if len(node.generators) != 1 or node.generators[0].is_async:
        raise Refusal("a comprehension over more than one list")
    (over,) = node.generators
    turns = items_of(evaluate(over.iter, at))
    if turns is None:
        raise Refusal("it loops over something that is not a constant")
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
