"""Find the source of a function, and check that it compiles to the function's code."""

from __future__ import annotations

import ast
import functools
import linecache
import types
from collections.abc import Iterator
from dataclasses import dataclass

from whence.rows.functions.refusal import Refusal

LONGEST = 2_000_000  # characters of a file
Definition = ast.FunctionDef | ast.Lambda
MADE = types.CodeType


@dataclass(frozen=True, slots=True)
class Source:
    """A definition, and the syntax tree of its file."""

    definition: Definition
    module: ast.Module


def source_of(function: types.FunctionType) -> Source:
    """Return the definition of a function. Raise Refusal if its source no longer compiles to the function's code."""
    code = function.__code__
    text = "".join(linecache.getlines(code.co_filename))
    if not text:
        raise Refusal("its source code is not available")
    if len(text) > LONGEST:
        raise Refusal("its source is in a very large file")
    module, codes = _parsed(text, code.co_filename)
    if not any(each == code for each in codes.get(code.co_name, ())):
        raise Refusal("its source file has changed since it was imported")
    found = [each for each in _definitions(module, code.co_name) if _lines(each) == code.co_firstlineno]
    if len(found) > 1:
        found = [each for each in found if _covers(each, code)]
    if len(found) != 1:
        raise Refusal("several functions are on the same line")
    return Source(found[0], module)


@functools.lru_cache(maxsize=16)
def _parsed(text: str, name: str) -> tuple[ast.Module, dict[str, list[MADE]]]:
    try:
        module = ast.parse(text)
        whole = compile(text, name, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # a notebook cell with magic commands
        raise Refusal("its source is not a Python file") from error
    found: dict[str, list[MADE]] = {}
    left = [whole]
    while left:
        code = left.pop()
        found.setdefault(code.co_name, []).append(code)
        left.extend(each for each in code.co_consts if isinstance(each, MADE))
    return module, found


def _definitions(module: ast.Module, name: str) -> Iterator[Definition]:
    for node in ast.walk(module):
        if isinstance(node, ast.Lambda):
            if name == "<lambda>":
                yield node
        elif isinstance(node, ast.FunctionDef) and node.name == name:
            yield node


def _lines(node: Definition) -> int:
    """The first line in a code object: that of the first decorator, if there is one."""
    decorators = node.decorator_list if isinstance(node, ast.FunctionDef) else []
    return decorators[0].lineno if decorators else node.lineno


def _covers(node: Definition, code: MADE) -> bool:
    """Whether an instruction of the code spans the body of this definition."""
    body = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    ends = body.lineno, body.col_offset, body.end_lineno, body.end_col_offset
    return any((p[0], p[2], p[1], p[3]) == ends for p in code.co_positions())
