"""Rewrite `match` statements as equivalent `if` statements."""

from __future__ import annotations

import ast

from whence.rows.functions.refusal import Refusal


def as_ifs(node: ast.Match) -> list[ast.stmt]:
    """Return statements equivalent to a `match`, for patterns of constants, `|`, names and `_`.

    >>> source = "match x:\\n  case 1 | 2: y = 'few'\\n  case None: y = 'none'\\n  case _: y = 'many'"
    >>> print("; ".join(ast.unparse(each) for each in as_ifs(ast.parse(source).body[0])).replace(chr(10), " "))
    subject 1:0 = x; if subject 1:0 == 1 or subject 1:0 == 2:     y = 'few' elif subject 1:0 is None:     y = 'none' \
else:     y = 'many'
    """
    subject = f"subject {node.lineno}:{node.col_offset}"  # names in the user's code have no spaces
    first = ast.Assign([ast.Name(subject, ast.Store())], node.subject)
    statements = [first, *_ladder(node.cases, subject)]
    for each in statements:
        ast.copy_location(each, node)
        ast.fix_missing_locations(each)
    return statements


def _ladder(cases: list[ast.match_case], subject: str) -> list[ast.stmt]:
    if not cases:
        return [ast.Pass()]
    case, *rest = cases
    named = _bound(case.pattern)
    before: list[ast.stmt] = []
    if named is not None:
        before = [ast.Assign([ast.Name(named, ast.Store())], ast.Name(subject, ast.Load()))]
    tests = [] if _irrefutable(case.pattern) else [_test(case.pattern, subject)]
    tests += [] if case.guard is None else [case.guard]
    if not tests:
        return [*before, *case.body]
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    return [*before, ast.If(test, case.body, _ladder(rest, subject))]


def _irrefutable(pattern: ast.pattern) -> bool:
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None


def _bound(pattern: ast.pattern) -> str | None:
    return pattern.name if isinstance(pattern, ast.MatchAs) and pattern.pattern is None else None


def _test(pattern: ast.pattern, subject: str) -> ast.expr:
    name = ast.Name(subject, ast.Load())
    if isinstance(pattern, ast.MatchValue):
        return ast.Compare(name, [ast.Eq()], [pattern.value])
    if isinstance(pattern, ast.MatchSingleton):
        return ast.Compare(name, [ast.Is()], [ast.Constant(pattern.value)])
    if isinstance(pattern, ast.MatchOr) and not any(map(_irrefutable, pattern.patterns)):
        return ast.BoolOp(ast.Or(), [_test(each, subject) for each in pattern.patterns])
    raise Refusal("a match with patterns of lists, classes or dictionaries is not translated")
