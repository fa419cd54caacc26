"""The explorer's questions to the log: cells in all datasets of a chain, and stories."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence import _core
from whence.selection import Selection
from whence.store.derivations import asking
from whence.store.derivations.adjacency import Adjacency, Direction, is_activity
from whence.store.derivations.walk import plan

if TYPE_CHECKING:
    from whence.log import Log
    from whence.store.answers import Answer
    from whence.story import Story

MOST_BOXES = 4000  # boxes of one dataset that are sent to the page
CHAIN = 30  # shown datasets of a chain in each direction


@dataclass(frozen=True, slots=True)
class Reached:
    """The cells of every dataset of a walk, in its order, with the answer and its time."""

    cells: dict[str, Selection]
    answer: Answer
    seconds: float


def reached(log: Log, direction: Direction, name: str, cells: Selection) -> Reached:
    """Find where cells came from, or went, in every dataset of the walk, not only at its ends."""
    start = time.perf_counter()
    answer = log.backward(name, cells) if direction == "backward" else log.forward(name, cells)
    seconds = time.perf_counter() - start
    own = {name, *_names_of(log, name)}
    return Reached({each: found for each, found in answer.reached.items() if each not in own}, answer, seconds)


def selected(log: Log, name: str, cells: str) -> Selection:
    """Parse cells of a dataset."""
    return log._store.reader.selected(asking.latest(log._store, name), cells)


def _names_of(log: Log, name: str) -> tuple[str, str]:
    """Return the names of a dataset in the catalog and in answers, where the first of several versions is `B@v1`."""
    own = asking.latest(log._store, name)
    return own, _planned(log, own, "backward")[0]


def chain(log: Log, name: str) -> tuple[str, list[str]]:
    """Return the name of a dataset in answers, and its chain, including itself, oldest first."""
    own = asking.latest(log._store, name)
    me, *back = _planned(log, own, "backward")
    _, *forth = _planned(log, own, "forward")
    return me, [*reversed(back[:CHAIN]), me, *forth[:CHAIN]]


def _planned(log: Log, own: str, direction: Direction) -> list[str]:
    """Return the datasets of a walk, beginning with `own`."""

    def made(graph: Adjacency) -> _Order:
        found = plan(graph, own, direction, None)
        return _Order([graph.public(each) for each in found.order if not is_activity(each)])

    return log._store.reader.ask(own, Selection.empty(log._store.reader.shapes((own,))[own]), made)


@dataclass(frozen=True, slots=True)
class _Order:
    """A plan that only returns its datasets."""

    names: list[str]

    def follow(self, selection: Selection, load: object) -> list[str]:
        return self.names


def boxes(selection: Selection) -> tuple[list[Any], list[int]]:
    """Return the boxes of a selection, and their step on each axis: 1 is exact, 8 adds up to seven cells.

    There are at most MOST_BOXES boxes, because the page has no pixels for more.
    """
    found = selection.boxes
    step = [1] * len(selection.shape)
    while len(found) > MOST_BOXES and any(side > each for side, each in zip(selection.shape, step, strict=True)):
        step = [min(each * 2, max(side, 1)) for each, side in zip(step, selection.shape, strict=True)]
        scale = np.array(step, dtype=np.int64)[:, None]
        small = _core.normalize(np.ascontiguousarray(selection.boxes // scale))
        found = small * scale
        found[:, :, 1] += scale[:, 0] - 1
        found[:, :, 1] = np.minimum(found[:, :, 1], np.array(selection.shape, dtype=np.int64) - 1)
    return found.tolist(), step


def story(log: Log, name: str, cells: str, direction: Direction) -> Story:
    """Return the story of some cells."""
    return log.explain(name, cells, direction=direction)
