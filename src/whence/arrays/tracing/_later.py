"""Lineage that is computed only when it is needed: for most runs, known lineage is reused instead."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Later:
    """A deferred call of a function, whose arguments may be deferred, too. It is called at most once.

    Functions must be pure and their arguments immutable, since they may be called at any time.

    >>> total = Later(lambda a, b: a + b, Later(lambda: 2), 3)
    >>> total.get(), total.get()
    (5, 5)
    """

    __slots__ = ("_do", "_found", "_given")

    def __init__(self, do: Callable[..., Any], *given: Any) -> None:
        self._do: Callable[..., Any] | None = do
        self._given = given
        self._found: Any = None

    def get(self) -> Any:
        """Return the result of the function. Chains may be longer than Python's stack, so this does not recurse."""
        stack = [self]
        while stack:
            at = stack[-1]
            if at._do is not None:
                waiting = [each for each in at._given if type(each) is Later and each._do is not None]
                if waiting:
                    stack += waiting
                    continue
                at._found = at._do(*(each._found if type(each) is Later else each for each in at._given))
                at._do, at._given = None, ()
            stack.pop()
        return self._found


def now(item: Any) -> Any:
    """Return the item, computed now if it was deferred."""
    return item.get() if type(item) is Later else item
