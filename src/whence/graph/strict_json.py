"""Parse untrusted JSON strictly: every error says where it is."""

from __future__ import annotations

import json
import math
from typing import Any, NoReturn

from whence.errors import BadGraph

DEEPEST = 100  # the most nested levels of lists and objects


def loads(text: str, where: str) -> Any:
    """Parse a string. Error messages call it `where`.

    >>> loads('{"a": [1]}', "a.json")
    {'a': [1]}
    >>> loads('{"a": NaN}', "a.json")
    Traceback (most recent call last):
        ...
    whence.errors.BadGraph: a.json is not JSON: NaN is not a number of JSON
    """

    def constant(name: str) -> NoReturn:
        raise BadGraph(f"{where} is not JSON: {name} is not a number of JSON")

    def number(digits: str) -> float:
        found = float(digits)
        if not math.isfinite(found):
            raise BadGraph(f"{where}: the number {digits[:40]} is too large")
        return found

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            keys = [key for key, _ in pairs]
            twice = next(key for key in found if keys.count(key) > 1)
            raise BadGraph(f"{where}: {twice!r} occurs twice in one object; the second would hide the first")
        return found

    try:
        found = json.loads(text, parse_constant=constant, parse_float=number, object_pairs_hook=once)
    except BadGraph:
        raise
    except json.JSONDecodeError as error:
        raise BadGraph(f"{where} is not JSON: {error}") from error
    except ValueError as error:  # an integer with thousands of digits
        raise BadGraph(f"{where} cannot be read: {error}") from error
    except RecursionError:
        raise _too_deep(where) from None
    level = [found] if isinstance(found, (dict, list)) else []
    for _ in range(DEEPEST):
        if not level:
            return found
        level = [
            each
            for value in level
            for each in (value.values() if type(value) is dict else value)
            if type(each) is dict or type(each) is list
        ]
    raise _too_deep(where)


def _too_deep(where: str) -> BadGraph:
    return BadGraph(f"{where}: lists and objects are nested more than {DEEPEST} levels deep")
