"""The call record of a run. Two runs with the same call record have the same lineage.

Every operation on a traced array appends a step to the tape: the function, the arrays of the run by number, all other
arguments, the contents of arrays if a rule reads them, and which results are views. The lineage of a run is computed
from the tape alone, so runs with equal tapes have equal lineage. Integers are separate from the rest: if tapes differ
only in integers, the runs did the same operations at other lengths.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from threading import get_ident
from typing import Any

import numpy as np

Shape = tuple[int, ...]

SMALL = 4
"""Smaller integers are axes, counts and special cases, and part of the operation; others may be lengths."""


@dataclass(frozen=True, slots=True)
class CallRecord:
    """What a run did: the digest of its tape, and the integers that may differ in runs at other lengths."""

    exact: str  # digest of the whole tape
    general: str  # digest of the tape without the integers
    sizes: Shape  # the lengths of the inputs' axes
    ranks: Shape  # the number of axes of each input
    given: Shape  # integers among the arguments of operations
    made: Shape  # the lengths of the arrays that operations made
    values: bool  # whether it depends on contents of arrays that come from inputs
    divisors: frozenset[int] = field(default=frozenset(), compare=False)  # divisors of lengths

    @property
    def level(self) -> str:
        """What runs with this call record have in common: the shapes of their inputs (`dim`), or also contents
        (`base`).
        """
        return "base" if self.values else "dim"


class Tape:
    """The steps of a run so far."""

    __slots__ = ("_given", "_made", "_steps", "_thread", "complete", "divisors", "values")

    def __init__(self) -> None:
        self._thread = get_ident()
        self._steps: list[Any] = []
        self._given: list[int] = []
        self._made: list[int] = []
        self.divisors: set[int] = set()
        self.complete = True  # whether the tape contains every step
        self.values = False

    def add(self, step: Any, given: Shape = (), made: Shape = ()) -> None:
        """Add a step: a description with the indices of arrays, integers among the arguments, and lengths of
        results.
        """
        if get_ident() != self._thread:  # the order of steps in several threads is not defined
            self.complete = False
        self._steps.append(step)
        if given:
            self._given += given
        self._made += made

    def call_record(self, mode: str, inputs: list[Shape]) -> CallRecord | None:
        """Return the call record of all steps; None if some are missing."""
        if not self.complete:
            return None
        digest = hashlib.blake2b(f"{mode} {[len(each) for each in inputs]} {self._steps!r}".encode(), digest_size=16)
        general = digest.hexdigest()
        sizes = tuple(side for each in inputs for side in each)
        digest.update(repr((sizes, self._given, self._made)).encode())
        return CallRecord(
            digest.hexdigest(), general, sizes, tuple(map(len, inputs)), tuple(self._given), tuple(self._made),
            self.values, frozenset(self.divisors),
        )  # fmt: skip


def content(item: Any) -> str:
    """Return a key for the values and the dtype of an array.

    >>> content(np.arange(3)) == content(np.arange(3)[::1]), content(np.arange(3)) == content(np.arange(3.0))
    (True, False)
    """
    flat = np.ascontiguousarray(item).reshape(-1)
    digest = hashlib.blake2b(flat.view(np.uint8).data if flat.size else b"", digest_size=16)
    return f"{item.dtype.str}{digest.hexdigest()}"


def short(text: str) -> str:
    """Return a string, or its digest if that is shorter."""
    return text if len(text) <= 24 else hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


__all__ = ["SMALL", "CallRecord", "Shape", "Tape", "content", "short"]
