"""The values of a function's globals on Spark's workers."""

from __future__ import annotations

import ast
import re
import sys
import types
from typing import Any

from whence.rows.functions.refusal import Refusal
from whence.rows.functions.source import source_of
from whence.rows.functions.values import is_plain


def global_value(function: types.FunctionType, name: str) -> object:
    """Return the value of a global variable.

    Spark sends a function to its workers with its globals, unless the workers can import its module. Then the globals
    have the values after the import, so they must be constants.
    """
    value = function.__globals__[name]
    if isinstance(value, types.ModuleType | types.FunctionType | type | types.BuiltinFunctionType):
        return value
    if not _by_name(function):
        return value
    if not _written_once(source_of(function).module, name, value):
        raise Refusal(f"the global variable {name!r} of an imported module may have another value on Spark's workers")
    return value


def _by_name(function: types.FunctionType) -> bool:
    """Whether the workers import the function by its name."""
    module = sys.modules.get(function.__module__ or "")
    if module is None or function.__module__ == "__main__":
        return False
    return vars(module) is function.__globals__


def _written_once(module: ast.Module, name: str, value: object) -> bool:
    """Whether a module assigns a constant to a name exactly once."""
    written = [node for node in ast.walk(module) if isinstance(node, ast.Name) and node.id == name]
    if sum(isinstance(node.ctx, ast.Store | ast.Del) for node in written) != 1:
        return False
    for node in module.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(each, ast.Name) and each.id == name for each in targets):
            return _same(node.value, value)  # type: ignore[attr-defined]  # an assignment has one
    return False


def _same(node: ast.expr | None, value: object) -> bool:
    if node is None:
        return False
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "frozenset" and node.args:
        node = node.args[0]
    if isinstance(value, re.Pattern):
        return _same_pattern(node, value)
    try:
        written = ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return bool(is_plain(value) or isinstance(value, list | tuple | dict | set | frozenset)) and bool(written == value)


def _same_pattern(node: ast.expr, value: re.Pattern[Any]) -> bool:
    """Whether an expression is `re.compile` of a constant, without flags, that gives this pattern."""
    if not isinstance(node, ast.Call) or ast.unparse(node.func) != "re.compile" or len(node.args) != 1 or node.keywords:
        return False
    (pattern,) = node.args
    return isinstance(pattern, ast.Constant) and type(pattern.value) is str and re.compile(pattern.value) == value
