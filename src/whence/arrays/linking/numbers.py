"""Recognise, by object identity, the numbers that tracked calls returned, because a float has no room for lineage.

The latest objects are kept referenced, so that no other object gets the same id. If Python computes something from such
a number, the result is another object, which is not known. A number outlives its log: a number of another log, or of
this log before it was opened again, is a source, and the answer says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST = 1 << 14

_given: dict[int, Any] = {}
"""Numbers that tracked calls of this process returned, for all logs, including closed ones."""


class Numbers:
    """Numbers, and the datasets they were recorded as."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}
        self._foreign: dict[int, tuple[Any, NDArray[Any]]] = {}

    def keep(self, number: Any, name: str) -> None:
        """Add a number that was recorded as a dataset. True and False are left out, because they are singletons."""
        if isinstance(number, (np.number, float)):
            _add(self._known, id(number), (number, name))
            _add(_given, id(number), number)

    def name_of(self, number: Any) -> str | None:
        """Return the dataset that a number was recorded as."""
        found = self._known.get(id(number))
        return found[1] if found is not None and found[0] is number else None

    def foreign(self, number: Any, *, outside: bool = False) -> NDArray[Any] | None:
        """Return the placeholder array of a number that another log returned, or this log when it was open before.

        With `outside`, also of a number that no call returned.
        """
        if _given.get(id(number)) is not number and not outside:
            return None
        found = self._foreign.get(id(number))
        if found is None or found[0] is not number:
            found = (number, np.asarray(number))
            _add(self._foreign, id(number), found)
        return found[1]

    def equal_to(self, number: Any) -> str | None:
        """Return the dataset of the known number with the same value, if there is only one."""
        found = {name for own, name in self._known.values() if own == number}
        return found.pop() if len(found) == 1 else None

    def by_name(self) -> dict[str, Any]:
        """All known numbers."""
        return {name: number for number, name in self._known.values()}

    def behind(self, array: Any) -> Any:
        """Return the number for which an array is the placeholder; None if there is none."""
        return next((number for number, own in self._foreign.values() if own is array), None)

    def is_foreign(self, array: Any) -> bool:
        """Whether an array is the placeholder of a number that another log returned."""
        return any(own is array and _given.get(id(number)) is number for number, own in self._foreign.values())

    def rename(self, other: dict[str, str]) -> None:
        """Rename datasets."""
        self._known = {key: (number, other.get(name, name)) for key, (number, name) in self._known.items()}


def _add(kept: dict[int, Any], key: int, value: Any) -> None:
    """Add a value as the latest, and drop the oldest ones if there are too many."""
    kept.pop(key, None)
    kept[key] = value
    if len(kept) > MOST:
        for each in list(kept)[: MOST // 8]:
            kept.pop(each, None)
