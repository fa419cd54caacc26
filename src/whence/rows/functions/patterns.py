"""Regular expressions that mean the same in Python, Java and RE2, for ASCII strings."""

from __future__ import annotations

import re
from typing import Any

from whence.rows.functions.refusal import Refusal

PORTABLE = "portable"  # the detail of a call of RLike with such a pattern
MOST = 255  # repetitions
LONGEST = 2_000  # characters
CATEGORIES = {"DIGIT": "0-9", "SPACE": r"\x{9}-\x{d}\x{1c}-\x{20}", "WORD": "0-9A-Za-z_"}


def spelled(pattern: str, method: str) -> str:
    r"""Return a pattern that `search` finds in the same strings in which Python's `method` finds the given one.

    >>> spelled(r"\d+-x?$", "match")
    '\\A(?:[0-9]{1,}\\x{2d}(?:x){0,1}\\n?\\z)'
    """
    if len(pattern) > LONGEST:
        raise Refusal("a regular expression is very long")
    try:
        parsed: Any = re._parser.parse(pattern)  # type: ignore[attr-defined]  # `re` itself calls it
    except re.error as error:
        raise Refusal("a regular expression that `re` refuses") from error
    if parsed.state.flags & ~re.UNICODE:
        raise Refusal("a regular expression with flags")
    whole = method == "fullmatch"
    body = _sequence(parsed, True, whole)
    if method == "search":
        return body
    return rf"\A(?:{body})" + (r"\z" if whole else "")


def _sequence(parts: Any, last: bool, whole: bool) -> str:
    listed = list(parts)
    ends = len(listed) - 1
    return "".join(_part(op, value, last and place == ends, whole) for place, (op, value) in enumerate(listed))


def _part(op: Any, value: Any, last: bool, whole: bool) -> str:
    name = str(op)
    if name == "LITERAL":
        return _character(value)
    if name == "NOT_LITERAL":
        return f"[^{_character(value)}]"
    if name == "ANY":
        return r"[^\n]"
    if name == "IN":
        return _class(value)
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inside = value
        unbounded = str(most) == "MAXREPEAT"
        if least > MOST or (not unbounded and most > MOST):
            raise Refusal("a regular expression with very many repetitions")
        body = _sequence(inside, False, whole)
        if not (len(list(inside)) == 1 and str(next(iter(inside))[0]) in ("IN", "ANY")):
            body = f"(?:{body})"
        return f"{body}{{{least},{'' if unbounded else most}}}"
    if name == "SUBPATTERN":
        _, on, off, inside = value
        if on or off:
            raise Refusal("a regular expression with flags")
        return f"(?:{_sequence(inside, last, whole)})"
    if name == "BRANCH":
        return "(?:" + "|".join(_sequence(branch, last, whole) for branch in value[1]) + ")"
    if name == "AT" and str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return r"\A"
    if name == "AT" and last and str(value) in ("AT_END", "AT_END_STRING"):
        return r"\n?\z" if str(value) == "AT_END" and not whole else r"\z"
    raise Refusal(f"a regular expression with {name.lower().replace('_', ' ')} is not translated")


def _character(code: int) -> str:
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else rf"\x{{{code:x}}}"


def _class(parts: Any) -> str:
    found, negated = "", ""
    for op, value in parts:
        name = str(op)
        if name == "NEGATE":
            negated = "^"
        elif name == "LITERAL":
            found += _character(value)
        elif name == "RANGE":
            found += f"{_character(value[0])}-{_character(value[1])}"
        elif name == "CATEGORY" and str(value).removeprefix("CATEGORY_") in CATEGORIES:
            found += CATEGORIES[str(value).removeprefix("CATEGORY_")]
        elif name == "CATEGORY" and len(list(parts)) == 1 and str(value).startswith("CATEGORY_NOT_"):
            return f"[^{CATEGORIES[str(value).removeprefix('CATEGORY_NOT_')]}]"
        else:
            raise Refusal("a regular expression with a class that is not translated")
    return f"[{negated}{found}]"
