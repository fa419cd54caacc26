"""whence as one of the measured systems: its relations alone, and the same in a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from bench.baselines.systems import FORWARD, Box, Ints, System

import whence as wh
from whence.testing.operations import Raw


class Relations(System):
    """Relations in separate files, asked one after the other."""

    name = "whence"

    def store(self, steps: Sequence[Raw]) -> None:
        self.shapes = [(step.out_shape, step.in_shape) for step in steps]  # arrays without axes are supported here
        self.write(steps)

    def write(self, steps: Sequence[Raw]) -> None:
        for number, step in enumerate(steps):
            wh.compress(step.tuples, step.out_shape, step.in_shape).save(self.path(number, "whence"))

    def open(self) -> None:
        self.steps = [wh.Relation.load(self.path(number, "whence")) for number in range(len(self.shapes))]

    def close(self) -> None:
        self.steps = []

    def question(self, box: Box, direction: str) -> wh.Selection:
        """Return the box as a selection."""
        shape = self.shapes[0][1] if direction == FORWARD else self.shapes[-1][0]
        slices = tuple(slice(first, last + 1) for first, last in box[: len(shape)])
        return wh.Selection.from_slices(slices, shape)

    def ask(self, box: Box, direction: str, limit: float) -> Any:
        cells = self.question(box, direction)
        if direction == FORWARD:
            for step in self.steps:
                cells = step.forward(cells)
        else:
            for step in reversed(self.steps):
                cells = step.backward(cells)
        return cells

    def cells(self, answer: Any, direction: str) -> Ints:
        return np.flatnonzero(answer.mask()).astype(np.int64)

    def boxes(self) -> list[int]:
        """Return the number of boxes of each step."""
        return [len(step) for step in self.steps]


class Log(Relations):
    """The same relations in a log, asked along a path of names."""

    name = "whence log"

    def write(self, steps: Sequence[Raw]) -> None:
        with wh.open(self.directory / "log") as log:
            log.array("d0", shape=steps[0].in_shape)
            for number, step in enumerate(steps, 1):
                log.array(f"d{number}", shape=step.out_shape)
                log.lineage(f"d{number}", f"d{number - 1}", wh.compress(step.tuples, step.out_shape, step.in_shape))

    def open(self) -> None:
        self.log = wh.open(self.directory / "log")
        self.names = [f"d{number}" for number in range(len(self.shapes) + 1)]

    def close(self) -> None:
        self.log.close()

    def size(self) -> int:
        return sum(file.stat().st_size for file in self.directory.rglob("*") if file.is_file())

    def ask(self, box: Box, direction: str, limit: float) -> Any:
        path = self.names if direction == FORWARD else self.names[::-1]
        return self.log.query(path, self.question(box, direction))
