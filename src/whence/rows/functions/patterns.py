"""Regular expressions that mean the same in Python, Java and RE2, for ASCII strings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from whence.rows.functions.refusal import Refusal

PORTABLE = "portable"  # the detail of a call of RLike with such a pattern
MOST = 255  # repetitions
LONGEST = 2_000  # characters
CATEGORIES = {"DIGIT": "0-9", "SPACE": r"\x{9}-\x{d}\x{1c}-\x{20}", "WORD": "0-9A-Za-z_"}


@dataclass(frozen=True, slots=True)
class _How:
    """How a pattern is matched."""

    whole: bool = False
    any_case: bool = False


def spelled(pattern: str, method: str, flags: int = 0) -> str:
    r"""Return a pattern that `search` finds in the same strings in which Python's `method` finds the given one.

    >>> spelled(r"\d+-x?$", "match")
    '\\A(?:[0-9]{1,}\\x{2d}(?:x){0,1}\\n?\\z)'
    >>> spelled("ca*?", "search", re.IGNORECASE)
    '[Cc](?:[Aa]){0,}'
    """
    if len(pattern) > LONGEST:
        raise Refusal("a regular expression is very long")
    try:
        parsed: Any = re._parser.parse(pattern, flags)  # type: ignore[attr-defined]  # `re` itself calls it
    except re.error as error:
        raise Refusal("a regular expression that `re` refuses") from error
    flags = parsed.state.flags & ~(re.UNICODE | re.VERBOSE)
    if flags & ~re.IGNORECASE or (flags and not pattern.isascii()):
        raise Refusal("a regular expression with flags")
    how = _How(method == "fullmatch", bool(flags))
    body = _sequence(parsed, True, how)
    if method == "search":
        return body
    return rf"\A(?:{body})" + (r"\z" if how.whole else "")


def _sequence(parts: Any, last: bool, how: _How) -> str:
    listed = list(parts)
    ends = len(listed) - 1
    return "".join(_part(op, value, last and place == ends, how) for place, (op, value) in enumerate(listed))


def _part(op: Any, value: Any, last: bool, how: _How) -> str:
    name = str(op)
    if name == "LITERAL":
        return f"[{_folded(value, value)}]" if how.any_case and chr(value).isalpha() else _character(value)
    if name == "NOT_LITERAL":
        return f"[^{_folded(value, value) if how.any_case else _character(value)}]"
    if name == "ANY":
        return r"[^\n]"
    if name == "IN":
        return _class(value, how)
    if name in ("MAX_REPEAT", "MIN_REPEAT"):
        least, most, inside = value
        unbounded = str(most) == "MAXREPEAT"
        if least > MOST or (not unbounded and most > MOST):
            raise Refusal("a regular expression with very many repetitions")
        body = _sequence(inside, False, how)
        if not (len(list(inside)) == 1 and str(next(iter(inside))[0]) in ("IN", "ANY")):
            body = f"(?:{body})"
        return f"{body}{{{least},{'' if unbounded else most}}}"
    if name == "SUBPATTERN":
        _, on, off, inside = value
        if on or off:
            raise Refusal("a regular expression with flags")
        return f"(?:{_sequence(inside, last, how)})"
    if name == "BRANCH":
        return "(?:" + "|".join(_sequence(branch, last, how) for branch in value[1]) + ")"
    if name == "AT" and str(value) in ("AT_BEGINNING", "AT_BEGINNING_STRING"):
        return r"\A"
    if name == "AT" and last and str(value) in ("AT_END", "AT_END_STRING"):
        return r"\n?\z" if str(value) == "AT_END" and not how.whole else r"\z"
    raise Refusal(f"a regular expression with {name.lower().replace('_', ' ')} is not translated")


def _character(code: int) -> str:
    letter = chr(code)
    return letter if letter.isascii() and letter.isalnum() else rf"\x{{{code:x}}}"


def _folded(first: int, last: int) -> str:
    """The characters of a range, and the letters among them in the other case."""
    if last > 127:
        raise Refusal("a regular expression with flags")
    both = {*range(first, last + 1), *(ord(chr(code).swapcase()) for code in range(first, last + 1))}
    return "".join(map(_character, sorted(both)))


def _class(parts: Any, how: _How) -> str:
    found, negated = "", ""
    for op, value in parts:
        name = str(op)
        if name == "NEGATE":
            negated = "^"
        elif name == "LITERAL":
            found += _folded(value, value) if how.any_case else _character(value)
        elif name == "RANGE" and how.any_case:
            found += _folded(*value)
        elif name == "RANGE":
            found += f"{_character(value[0])}-{_character(value[1])}"
        elif name == "CATEGORY" and str(value).removeprefix("CATEGORY_") in CATEGORIES:
            found += CATEGORIES[str(value).removeprefix("CATEGORY_")]
        elif name == "CATEGORY" and len(list(parts)) == 1 and str(value).startswith("CATEGORY_NOT_"):
            return f"[^{CATEGORIES[str(value).removeprefix('CATEGORY_NOT_')]}]"
        else:
            raise Refusal("a regular expression with a class that is not translated")
    return f"[{negated}{found}]"
