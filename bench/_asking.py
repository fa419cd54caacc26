"""Ask every system questions along a workflow, measure times, and compare answers cell by cell."""

from __future__ import annotations

import gc
import math
import statistics
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
from bench._common import workspace
from bench._ours import Log, Relations
from bench._workflows import Workflow
from bench.baselines.systems import BACKWARD, BASELINES, FORWARD, Box, Ints, System, forget

ENOUGH = 0.25  # seconds: a question that takes longer is not repeated


@dataclass(frozen=True)
class Manner:
    """How to ask: shares of the cells in one box (0 is a single cell), time limit in seconds, and repetitions."""

    shares: tuple[float, ...]
    limit: float
    repeat: int


@dataclass
class Question:
    """A question about one box of cells in one direction, with the milliseconds of each system: warm, and cold if
    measured.
    """

    workflow: str
    direction: str
    box: Box
    warm: dict[str, float] = field(default_factory=dict)
    cold: dict[str, float] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    answer: Ints | None = None

    @property
    def cells(self) -> int:
        """The number of cells in the question."""
        return math.prod(last - first + 1 for first, last in self.box)


def asked(workflow: Workflow, manner: Manner) -> list[Question]:
    """Store the workflow in every system and ask the same questions; the other systems are compared with whence."""
    questions = list(random_boxes(workflow, manner.shares))
    put(workflow, questions, manner)
    return questions


def put(workflow: Workflow, questions: Sequence[Question], manner: Manner) -> None:
    """Ask every system the questions, one system after the other."""
    kinds: tuple[type[System], ...] = (Relations, Log, *BASELINES)
    for kind in kinds:
        with workspace() as directory:
            system = kind(directory)
            system.store(workflow.steps)
            ask_all(system, questions, manner)


def random_boxes(workflow: Workflow, shares: Sequence[float]) -> Iterator[Question]:
    """Yield boxes of several shares of the cells, at random positions, for both directions."""
    rng = np.random.default_rng(len(workflow.name))
    for direction, shape in ((FORWARD, workflow.steps[0].in_shape), (BACKWARD, workflow.steps[-1].out_shape)):
        seen = set()
        for share in shares:
            sides = tuple(max(1, math.ceil(side * share ** (1 / len(shape)))) for side in shape)
            if sides in seen:  # a dataset of few cells has few sizes of boxes
                continue
            seen.add(sides)
            starts = [int(rng.integers(0, whole - side + 1)) for whole, side in zip(shape, sides, strict=True)]
            box = tuple((start, start + side - 1) for start, side in zip(starts, sides, strict=True))
            yield Question(workflow.name, direction, box)


def ask_all(system: System, questions: Sequence[Question], manner: Manner) -> None:
    """Time one system on every question: cold on the middle one of each direction, then warm on all of them."""
    files = [path for path in system.directory.rglob("*") if path.is_file()]
    for direction in (FORWARD, BACKWARD):
        own = [question for question in questions if question.direction == direction]
        if own:
            question = own[len(own) // 2]
            forget(files)
            start = time.perf_counter()
            system.open()
            opening = time.perf_counter() - start
            question.cold[system.name] = 1000 * (opening + once(system, question, manner.limit))
            system.close()
    system.open()
    gc.collect()
    for question in questions:
        first = once(system, question, manner.limit)
        question.warm[system.name] = 1000 * (first if first > ENOUGH else again(system, question, manner))
    system.close()


def once(system: System, question: Question, limit: float) -> float:
    """Ask once, and compare the answer with the first system's; return seconds, or the limit if it was reached."""
    start = time.perf_counter()
    try:
        answer = system.ask(question.box, question.direction, limit)
    except TimeoutError:
        question.stopped.append(system.name)
        return limit
    taken = time.perf_counter() - start
    cells = system.cells(answer, question.direction)
    if question.answer is None:
        question.answer = cells
    elif not np.array_equal(cells, question.answer):
        question.wrong.append(system.name)
    return taken


def again(system: System, question: Question, manner: Manner) -> float:
    """Return the median time of an answer in seconds; questions that take microseconds are repeated more often."""
    times: list[float] = []
    many = 5 * manner.repeat if isinstance(system, Relations) else manner.repeat
    while len(times) < many and sum(times) < 2 * ENOUGH:
        start = time.perf_counter()
        system.ask(question.box, question.direction, manner.limit)
        times.append(time.perf_counter() - start)
    return statistics.median(times)
