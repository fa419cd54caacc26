"""Recognise numbers that tracked calls returned by identity, because a float cannot hold more than its value.

The latest objects are kept alive, so that no other object gets the same identity. If Python computes something from
such a number, the result is another object, which is not known. A number outlives its log: a number of another log, or
of this log before it was opened again, is a source, and the answer says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 14

_given: dict[int, Any] = {}
"""Numbers that tracked calls of this process returned, for all logs, including closed ones."""


class Numbers:
    """Numbers and the datasets that they are."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        self._foreign: dict[int, tuple[Any, NDArray[Any]]] = {}

    def keep(self, number: Any, name: str) -> None:
        """A number was recorded as a dataset. True and False are left out: there are only two objects."""
        if isinstance(number, (np.number, float)):
            _add(self._known, id(number), (number, name))
            _add(_given, id(number), number)

    def name_of(self, number: Any) -> str | None:
        """The dataset that a number is."""
        found = self._known.get(id(number))
        return found[1] if found is not None and found[0] is number else None

    def foreign(self, number: Any, *, outside: bool = False) -> NDArray[Any] | None:
        """The placeholder array of a number that another log returned, or this log when it was open before.

        `outside`: also of a number that no call returned.
        """
        if _given.get(id(number)) is not number and not outside:
            return None
        found = self._foreign.get(id(number))
        if found is None or found[0] is not number:
            found = (number, np.asarray(number))
            _add(self._foreign, id(number), found)
        return found[1]

    def equal_to(self, number: Any) -> str | None:
        """The dataset of the only known number that has the same value."""
        found = {name for own, name in self._known.values() if own == number}
        return found.pop() if len(found) == 1 else None

    def by_name(self) -> dict[str, Any]:
        """All known numbers."""
        return {name: number for number, name in self._known.values()}

    def behind(self, array: Any) -> Any:
        """The number that an array stands for, if it was not known."""
        return next((number for number, own in self._foreign.values() if own is array), None)

    def is_foreign(self, array: Any) -> bool:
        """Whether an array is such a placeholder, of a number that another log returned."""
        return any(own is array and _given.get(id(number)) is number for number, own in self._foreign.values())

    def rename(self, other: dict[str, str]) -> None:
        """Datasets have other names."""
        self._known = {key: (number, other.get(name, name)) for key, (number, name) in self._known.items()}


def _add(kept: dict[int, Any], key: int, value: Any) -> None:
    """Keep something as the latest; the oldest go."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > MOST:
        for each in list(kept)[: MOST // 8]:
            kept.pop(each, None)
