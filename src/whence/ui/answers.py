"""The one place where the page asks the log: cells in all datasets of a chain, and stories."""

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

MOST_BOXES = 4000  # of one dataset that are sent to the page
CHAIN = 30  # datasets of a chain that are shown, each way


@dataclass(frozen=True, slots=True)
class Reached:
    """The cells of every dataset on the way, in the order of the walk, and what is to be said of them."""

    cells: dict[str, Selection]
    answer: Answer
    seconds: float


def reached(log: Log, direction: Direction, name: str, cells: Selection) -> Reached:
    """Where cells came from, or went: in each dataset on the way, not only where it ends."""
    start = time.perf_counter()
    answer = log.backward(name, cells) if direction == "backward" else log.forward(name, cells)
    seconds = time.perf_counter() - start
    own = {name, *_names_of(log, name)}
    return Reached({each: found for each, found in answer.reached.items() if each not in own}, answer, seconds)


def selected(log: Log, name: str, cells: str) -> Selection:
    """The cells of a dataset that a text says."""
    return log._store.reader.selected(asking.latest(log._store, name), cells)


def _names_of(log: Log, name: str) -> tuple[str, str]:
    """What a dataset is called in the catalog, and in answers: of several versions, the first is `B@v1`."""
    own = asking.latest(log._store, name)
    return own, _planned(log, own, "backward")[0]


def chain(log: Log, name: str) -> tuple[str, list[str]]:
    """What a dataset is called, and all that it came from or led to, itself included, the oldest first."""
    own = asking.latest(log._store, name)
    me, *back = _planned(log, own, "backward")
    _, *forth = _planned(log, own, "forward")
    return me, [*reversed(back[:CHAIN]), me, *forth[:CHAIN]]


def _planned(log: Log, own: str, direction: Direction) -> list[str]:
    """The datasets that a walk would come by, itself first."""

    def made(graph: Adjacency) -> _Order:
        found = plan(graph, own, direction, None)
        return _Order([graph.public(each) for each in found.order if not is_activity(each)])

    return log._store.reader.ask(own, Selection.empty(log._store.reader.shapes((own,))[own]), made)


@dataclass(frozen=True, slots=True)
class _Order:
    """A plan that is looked at and not followed."""

    names: list[str]

    def follow(self, selection: Selection, load: object) -> list[str]:
        return self.names


def boxes(selection: Selection) -> tuple[list[Any], list[int]]:
    """The boxes of a selection, and how coarse they are on each axis: 1 is exact, 8 is up to seven cells more.

    There are never more than MOST_BOXES: a page has no more pixels to show them.
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
    """The story of some cells."""
    return log.explain(name, cells, direction=direction)
