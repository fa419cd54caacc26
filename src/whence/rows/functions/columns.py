"""Functions of columns (`pandas_udf`) that treat each value alone: what they compute for one row.

For NULL, a column of doubles has NaN, and a column of strings has None. Every operation here computes a value from the
same row only, whatever the other rows of the batch are. All other operations are refused.
"""

from __future__ import annotations

import ast
import math
import sys
import types
from dataclasses import dataclass
from typing import Any

from whence.rows.expressions import FALSE, TRUE, Expr, IsNull, Literal
from whence.rows.functions import numbers, texts
from whence.rows.functions.looking import IMPORTS, Looking
from whence.rows.functions.refusal import ITEMS, Refusal
from whence.rows.functions.source import source_of
from whence.rows.functions.values import (
    Bool,
    Const,
    Float,
    Int,
    Str,
    as_type,
    both,
    case,
    constant,
    either,
    is_plain,
    lifted,
    negated,
    text,
)

Cell = Float | Str | Bool | Int
ARITHMETIC: dict[type[ast.operator], Any] = {
    ast.Add: numbers.add,
    ast.Sub: numbers.subtract,
    ast.Mult: numbers.multiply,
    ast.Div: numbers.divide,
}
COMPARED: dict[type[ast.cmpop], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
OF_TEXT = frozenset({"upper", "lower", "strip", "lstrip", "rstrip", "replace", "startswith", "endswith"})
NO_TEXT = Literal(None, "string")
NAN = Literal(math.nan, "double")


@dataclass(frozen=True, slots=True)
class Column:
    """The value of a column in one row. Only a string may be NULL, which means that it is missing."""

    cell: Cell


@dataclass(frozen=True, slots=True)
class Member:
    """A bound method of a column, or of `column.str`."""

    owner: Column
    name: str
    of_text: bool = False


def cell_of(function: types.FunctionType, arguments: list[Column], at: Looking) -> Cell:
    """Return the result of a function of columns for one row; raise Refusal if it cannot be translated."""
    definition = source_of(function).definition
    wanted = definition.args
    names = [each.arg for each in (*wanted.posonlyargs, *wanted.args)]
    if len(names) != len(arguments) or wanted.vararg or wanted.kwarg or wanted.kwonlyargs:
        raise Refusal("it takes arguments other than columns")
    looking = _Columns(at, dict(zip(names, arguments, strict=True)))
    found = looking.value(definition.body) if isinstance(definition, ast.Lambda) else looking.block(definition.body)
    if not isinstance(found, Column):
        raise Refusal("it returns something that is not a column")
    return found.cell


class _Columns:
    """One call of a function with columns as arguments."""

    def __init__(self, at: Looking, env: dict[str, Any]) -> None:
        self._at, self._env = at, env

    def block(self, statements: list[ast.stmt]) -> Any:
        for node in statements:
            self._at.findings.budget.step()
            try:
                if isinstance(node, ast.Return):
                    return None if node.value is None else self.value(node.value)
                self._statement(node)
            except Refusal as refusal:
                raise refusal.at(node) from None
        return None

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            self._env[node.targets[0].id] = self.value(node.value)
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            self._env[node.target.id] = self.value(node.value)
        elif isinstance(node, ast.Import) and all(each.name in IMPORTS for each in node.names):
            for each in node.names:
                self._env[each.asname or each.name] = sys.modules.get(each.name)
        elif not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)) and not isinstance(
            node, ast.Pass
        ):
            raise Refusal("only functions of columns that assign variables and return are translated")

    def value(self, node: ast.expr) -> Any:
        """Return a column, a constant or a callable."""
        self._at.findings.budget.step()
        try:
            return self._value(node)
        except (Refusal, numbers.Raised) as error:
            refusal = error if isinstance(error, Refusal) else Refusal("it fails for some values")
            raise refusal.at(node) from None

    def _value(self, node: ast.expr) -> Any:
        if isinstance(node, ast.Constant):
            return node.value
        if isinstance(node, ast.Name):
            return self._env[node.id] if node.id in self._env else self._outer(node.id)
        if isinstance(node, ast.BinOp):
            return self._binary(node.op, self.value(node.left), self.value(node.right))
        if isinstance(node, ast.UnaryOp):
            return self._unary(node.op, self.value(node.operand))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return self._compared(node.ops[0], self.value(node.left), self.value(node.comparators[0]))
        if isinstance(node, ast.Attribute):
            return self._attribute(self.value(node.value), node.attr)
        if isinstance(node, ast.Call):
            return self._call(node)
        if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
            return self._literal(node)
        raise Refusal(f"an expression of the kind {type(node).__name__} is not translated for columns")

    def _outer(self, name: str) -> Any:
        found = constant(self._at.name(name))
        if found is None:
            raise Refusal(f"{name!r} is not a constant")
        return found.value

    def _literal(self, node: ast.expr) -> Any:
        try:
            return ast.literal_eval(node)
        except ValueError:
            raise Refusal("a list of values that are not constants") from None

    def _cell(self, value: Any) -> Cell:
        """The value of a column or constant in the row."""
        if isinstance(value, Column):
            return value.cell
        item = lifted(Const(value))
        if isinstance(value, str) and value.endswith("\0"):
            raise Refusal("NumPy drops the last character of this string")
        if isinstance(item, Float | Str | Bool | Int):
            return item
        raise Refusal("it computes with something that is neither a column nor a plain constant")

    def _number(self, value: Any) -> Float | Int:
        cell = self._cell(value)
        if not isinstance(cell, Float | Int):
            raise Refusal("it computes with values that are not numbers")
        return cell

    def _truth(self, value: Any) -> Expr:
        if not isinstance(value, Column) or not isinstance(value.cell, Bool):
            raise Refusal("a condition that is not a boolean column")
        return value.cell.expr

    def _binary(self, op: ast.operator, left: Any, right: Any) -> Any:
        if isinstance(op, ast.BitAnd | ast.BitOr):
            join = both if isinstance(op, ast.BitAnd) else either
            return Column(Bool(join(self._truth(left), self._truth(right))))
        if isinstance(op, ast.Add) and any(isinstance(self._cell(each), Str) for each in (left, right)):
            cells = self._cell(left), self._cell(right)
            if not all(isinstance(each, Str) for each in cells):
                raise Refusal("it adds a string and something else")
            missing = either(*(IsNull(each.expr) for each in cells if not isinstance(each.expr, Literal)))
            return Column(Str(case(missing, NO_TEXT, texts.concat(*(each.expr for each in cells)))))
        if type(op) not in ARITHMETIC:
            raise Refusal(f"the operator {type(op).__name__} is not translated for columns")
        if isinstance(op, ast.Div) and (isinstance(right, Column) or not right):
            raise Refusal("it divides by a column, which may be zero")
        made = ARITHMETIC[type(op)](self._as_float(left), self._as_float(right), self._at)
        return Column(made)

    def _as_float(self, value: Any) -> Float:
        return Float(numbers.exactly_float(self._number(value), self._at))

    def _unary(self, op: ast.unaryop, value: Any) -> Any:
        if isinstance(op, ast.Invert):
            return Column(Bool(negated(self._truth(value))))
        if isinstance(op, ast.USub) and type(value) in (int, float):
            return -value
        if isinstance(op, ast.USub):
            return Column(numbers.negative(self._as_float(value), self._at))  # type: ignore[arg-type]  # a float
        raise Refusal("an operator that is not translated for columns")

    def _compared(self, op: ast.cmpop, left: Any, right: Any) -> Column:
        name = COMPARED.get(type(op))
        if name is None:
            raise Refusal("a comparison that is not translated for columns")
        one, other = self._cell(left), self._cell(right)
        if isinstance(one, Str) != isinstance(other, Str) or isinstance(one, Bool) or isinstance(other, Bool):
            raise Refusal("it compares values of two types")
        if isinstance(one, Str) and name not in ("==", "!="):
            raise Refusal("it compares the order of strings")
        found = numbers.compared(name, one, other, self._at)
        columns = (each.expr for each in (one, other) if isinstance(each, Str) and not isinstance(each.expr, Literal))
        missing = either(FALSE, *map(IsNull, columns))
        return Column(Bool(case(missing, TRUE if name == "!=" else FALSE, found)))

    def _attribute(self, owner: Any, name: str) -> Any:
        if isinstance(owner, types.ModuleType):
            return getattr(owner, name, None)
        if isinstance(owner, Column):
            return Member(owner, name)
        if isinstance(owner, Member) and owner.name == "str" and not owner.of_text:
            return Member(owner.owner, name, of_text=True)
        raise Refusal(f"the attribute {name!r} of something that is not a column")

    def _call(self, node: ast.Call) -> Any:
        function = self.value(node.func)
        if any(isinstance(arg, ast.Starred) for arg in node.args) or any(each.arg is None for each in node.keywords):
            raise Refusal("a call with * or **")
        args = [self.value(arg) for arg in node.args]
        named = {str(each.arg): self.value(each.value) for each in node.keywords}
        if isinstance(function, Member):
            method = self._of_text if function.of_text else self._of_column
            return method(function.owner, function.name, args, named)
        import numpy as np
        import pandas as pd

        if function is np.where and len(args) == 3 and not named:
            return self._chosen(self._truth(args[0]), args[1], args[2])
        if function is pd.Series and len(args) == 1 and not named and isinstance(args[0], Column):
            return args[0]
        if function in (pd.isna, pd.isnull, pd.notna, pd.notnull) and len(args) == 1 and isinstance(args[0], Column):
            return self._of_column(args[0], function.__name__, [], {})
        raise Refusal(f"it calls {getattr(function, '__name__', 'something unknown')}")

    def _chosen(self, guard: Expr, then: Any, otherwise: Any) -> Column:
        """One column if a condition is true, otherwise another."""
        if then is None or otherwise is None:
            known = self._cell(otherwise if then is None else then)
            if not isinstance(known, Str):
                raise Refusal("a column of numbers and None")
            cells: list[Cell] = [Str(NO_TEXT) if each is None else known for each in (then, otherwise)]
        else:
            cells = [self._cell(then), self._cell(otherwise)]
        one, other = cells
        if isinstance(one, Str) and isinstance(other, Str):
            return Column(Str(case(guard, one.expr, other.expr)))
        if isinstance(one, Bool) and isinstance(other, Bool):
            return Column(Bool(case(guard, one.expr, other.expr)))
        if isinstance(one, Int) and isinstance(other, Int):
            low, high = min(one.low, other.low), max(one.high, other.high)
            return Column(Int(case(guard, as_type(one.expr, "long"), as_type(other.expr, "long")), low, high))
        if all(isinstance(each, Float | Int) for each in cells):
            floats = [self._as_float(Column(each)) for each in cells]
            return Column(Float(case(guard, floats[0].expr, floats[1].expr)))
        raise Refusal("it chooses between values of two types")

    def _missing(self, column: Column) -> Expr:
        cell = column.cell
        if isinstance(cell, Float):
            return numbers.is_nan(cell.expr)
        return IsNull(cell.expr) if isinstance(cell, Str) else FALSE

    def _of_column(self, owner: Column, name: str, args: list[Any], named: dict[str, Any]) -> Column:
        if name in ("isna", "isnull", "notna", "notnull") and not args and not named:
            missing = self._missing(owner)
            return Column(Bool(missing if name.startswith("is") else negated(missing)))
        if name == "fillna" and len(args) == 1 and not named and args[0] is not None:
            if isinstance(owner.cell, Int | Bool) or isinstance(args[0], bool):
                raise Refusal("fillna with a value of another type")
            return self._same_kind(owner, self._chosen(self._missing(owner), args[0], owner))
        if name in ("where", "mask") and len(args) == 2 and not named:
            guard = self._truth(args[0])
            chosen = self._chosen(guard if name == "where" else negated(guard), owner, args[1])
            return self._same_kind(owner, chosen)
        if name == "abs" and not args and isinstance(owner.cell, Float):
            return Column(numbers.absolute(owner.cell, self._at))  # type: ignore[arg-type]  # a float
        if name == "clip" and isinstance(owner.cell, Float):
            ends = dict(zip(("lower", "upper"), args, strict=False)) | named
            return self._clipped(owner, ends.pop("lower", None), ends.pop("upper", None), ends)
        if name == "between" and len(args) == 2 and not named:
            parts = (self._compared(ast.GtE(), owner, args[0]), self._compared(ast.LtE(), owner, args[1]))
            return Column(Bool(both(*map(self._truth, parts))))
        if name == "isin" and len(args) == 1 and not named:
            return self._is_in(owner, args[0])
        if name == "map" and len(args) == 1 and not named and type(args[0]) is dict:
            return self._looked_up(owner, args[0])
        if name in ("to_numpy", "copy") and not args and not named:
            return owner
        if name == "astype" and args in ([float], ["float64"], ["float"]) and isinstance(owner.cell, Float | Int):
            return Column(self._as_float(owner))
        raise Refusal(f"the method {name}() of a column is not translated")

    def _same_kind(self, owner: Column, made: Column) -> Column:
        if type(owner.cell) is not type(made.cell):
            raise Refusal("a column of two types of values")
        return made

    def _clipped(self, owner: Column, lower: Any, upper: Any, others: dict[str, Any]) -> Column:
        if others or any(each is not None and type(each) not in (int, float) for each in (lower, upper)):
            raise Refusal("clip with bounds that are not constants")
        if any(each is not None and each != each for each in (lower, upper)):
            raise Refusal("clip with NaN")
        made = owner
        if upper is not None:
            made = self._chosen(self._truth(self._compared(ast.Gt(), made, upper)), float(upper), made)
        if lower is not None:
            made = self._chosen(self._truth(self._compared(ast.Lt(), made, lower)), float(lower), made)
        return made

    def _is_in(self, owner: Column, values: Any) -> Column:
        if type(values) not in (list, tuple, set, frozenset) or len(values) > ITEMS:
            raise Refusal("isin of something that is not a short list of constants")
        kind = str if isinstance(owner.cell, Str) else float if isinstance(owner.cell, Float) else None
        if kind is None or any(type(each) is not kind or each != each for each in values):
            raise Refusal("isin of values of another type")
        return Column(Bool(either(FALSE, *(self._truth(self._compared(ast.Eq(), owner, each)) for each in values))))

    def _looked_up(self, owner: Column, table: dict[Any, Any]) -> Column:
        """`column.map(dict)`: a value that is no key becomes a missing value."""
        kinds = {type(each) for each in table.values()}
        if not isinstance(owner.cell, Str) or len(table) > ITEMS or not all(type(each) is str for each in table):
            raise Refusal("it looks up something other than a string")
        if kinds not in ({str}, {float}) or not all(map(is_plain, table.values())):
            raise Refusal("it looks up values that are not all strings or all floats")
        found: Expr = NO_TEXT if kinds == {str} else NAN
        for key, value in reversed(table.items()):
            found = case(self._truth(self._compared(ast.Eq(), owner, key)), self._cell(value).expr, found)
        return Column(Str(found) if kinds == {str} else Float(found))

    def _of_text(self, owner: Column, name: str, args: list[Any], named: dict[str, Any]) -> Column:
        cell = owner.cell
        if not isinstance(cell, Str):
            raise Refusal("a string method of a column that is not of strings")
        missing = IsNull(cell.expr)
        if name == "len" and not args and not named:
            length = Float(as_type(texts.length(cell.expr).expr, "double"))
            return Column(Float(case(missing, NAN, length.expr)))
        if name == "contains" and named == {"regex": False, "na": False} and len(args) == 1 and type(args[0]) is str:
            return Column(Bool(case(missing, FALSE, texts.contains(cell.expr, text(args[0])))))
        if name not in OF_TEXT or not all(type(arg) is str for arg in args):
            raise Refusal(f"the method str.{name}() of a column is not translated")
        if name == "replace" and named.pop("regex", False) is not False:
            raise Refusal("str.replace() with a regular expression")
        fill = named.pop("na", None)
        if named:
            raise Refusal(f"str.{name}() with arguments by name")
        made = texts.METHODS[name](cell.expr, [Const(arg) for arg in args], self._at)
        if isinstance(made, Str):
            return Column(Str(case(missing, NO_TEXT, made.expr)))
        if isinstance(made, Bool) and type(fill) is bool:
            return Column(Bool(case(missing, TRUE if fill else FALSE, made.expr)))
        raise Refusal(f"str.{name}() of a column with missing values: say what they give, with na=False")
