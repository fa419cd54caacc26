"""Why a function stays opaque, and the limits of translation."""

from __future__ import annotations

import ast
import time
from collections.abc import Iterator
from contextlib import contextmanager

STEPS = 20_000  # statements and expressions that are visited for one function
SECONDS = 2.0
NESTED = 16  # depth of nested calls
LARGEST = 4_000  # nodes of a translation, counted at each occurrence
ITEMS = 1_000  # elements of a dictionary, set or list that is searched
TEXT = 100_000  # characters of a constant


class Refusal(Exception):
    """A part of a function that is not translated. It never leaves this package."""

    def __init__(self, why: str, line: int | None = None) -> None:
        super().__init__(why)
        self.why, self.line = why, line

    def at(self, node: ast.AST) -> Refusal:
        """Add the line number, if there is none yet."""
        return self if self.line is not None else Refusal(self.why, getattr(node, "lineno", None))


class Budget:
    """The remaining budget for one function."""

    def __init__(self) -> None:
        self._steps, self._until, self._nested = STEPS, time.monotonic() + SECONDS, 0

    def step(self, count: int = 1) -> None:
        self._steps -= count
        if self._steps < 0 or time.monotonic() > self._until:
            raise Refusal("it is too long to translate")

    @contextmanager
    def nested(self) -> Iterator[None]:
        """Count a nested call."""
        self._nested += 1
        try:
            if self._nested > NESTED:
                raise Refusal("its functions call each other too deeply, or call themselves")
            yield
        finally:
            self._nested -= 1
