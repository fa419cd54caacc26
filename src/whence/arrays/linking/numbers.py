"""Single numbers that tracked calls gave, known by identity: a float cannot hold more than its value.

The objects themselves are kept, the latest of them, so that none gets the identity of another. What Python computes
from such a number is another object, and is not known.
"""

from __future__ import annotations

from typing import Any

import numpy as np

MOST = 1 << 14


class Numbers:
    """Numbers and the datasets that they are."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, str]] = {}

    def keep(self, number: Any, name: str) -> None:
        """A number was recorded as a dataset. True and False are left out: there are only two objects."""
        if isinstance(number, (np.number, float)):
            self._known.pop(id(number), None)
            self._known[id(number)] = (number, name)
            if len(self._known) > MOST:
                for key in list(self._known)[: MOST // 8]:
                    del self._known[key]

    def name_of(self, number: Any) -> str | None:
        """The dataset that a number is."""
        found = self._known.get(id(number))
        return found[1] if found is not None and found[0] is number else None

    def rename(self, other: dict[str, str]) -> None:
        """Datasets have other names."""
        self._known = {key: (number, other.get(name, name)) for key, (number, name) in self._known.items()}
