"""The one place where the page asks the log: cells in all datasets of a chain, rows of tables, stories."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from whence import _core
from whence.errors import NotTraceable
from whence.selection import Selection
from whence.store.derivations import asking
from whence.store.derivations.walk import Direction, plan

if TYPE_CHECKING:
    from whence.log import Log
    from whence.relation.protocol import RelationLike, Traced

MOST_BOXES = 4000  # of one dataset that are sent to the page


@dataclass(frozen=True, slots=True)
class Reached:
    """The cells of every dataset on the way, in the order of the walk, and what is to be said of them."""

    cells: dict[str, Selection]
    notes: tuple[str, ...]
    seconds: float
    precise: bool = True
    reason: str | None = None


def reached(log: Log, direction: Direction, name: str, cells: object) -> Reached:
    """Where cells came from, or went: in each dataset on the way, not only where it ends."""
    store, start = log._store, time.perf_counter()
    own = asking.latest(store, name)

    reasons: dict[str, None] = {}

    def every(graph: Any) -> Any:
        made = plan(graph, own, direction, None)
        reasons.clear()
        return _Listening(replace(made, ends=made.order, public={}), reasons)

    found = store.reader.ask(own, cells, every)
    seconds = time.perf_counter() - start
    return Reached(dict(found), tuple(found.notes), seconds, not reasons, "; ".join(reasons) or None)


@dataclass(frozen=True, slots=True)
class _Listening:
    """A plan whose relations say, on the way, why an answer of theirs is a superset."""

    plan: Any
    reasons: dict[str, None]

    def follow(self, selection: Selection, load: Callable[[str], RelationLike]) -> Any:
        return self.plan.follow(selection, lambda each: _Heard(load(each), self.reasons))


@dataclass(frozen=True, slots=True)
class _Heard:
    relation: Any
    reasons: dict[str, None]

    @property
    def out_shape(self) -> tuple[int, ...]:
        return tuple(self.relation.out_shape)

    @property
    def in_shape(self) -> tuple[int, ...]:
        return tuple(self.relation.in_shape)

    def backward(self, cells: Any, /) -> Selection:
        return self._asked(cells, "backward")

    def forward(self, cells: Any, /) -> Selection:
        return self._asked(cells, "forward")

    def _asked(self, cells: Any, direction: Direction) -> Selection:
        if not hasattr(self.relation, "traced"):
            found: Selection = getattr(self.relation, direction)(cells)
            return found
        traced: Traced = self.relation.traced(cells, direction)
        if traced.reason:
            self.reasons[traced.reason] = None
        return traced.selection


def selected(log: Log, name: str, cells: str) -> tuple[str, Selection]:
    """A dataset, and the cells of it that a text says."""
    own = asking.latest(log._store, name)
    return own, log._store.reader.selected(own, cells)


def chain(log: Log, name: str) -> list[str]:
    """All datasets that this one came from or led to, itself included, the oldest first."""
    store = log._store
    own = asking.latest(store, name)
    empty = Selection.empty(store.reader.shapes((own,))[own])
    back = reached(log, "backward", own, empty).cells
    forth = reached(log, "forward", own, empty).cells
    return [*reversed([each for each in back if each != own]), own, *(each for each in forth if each != own)]


def boxes(selection: Selection) -> tuple[list[Any], list[int]]:
    """The boxes of a selection, and how coarse they are on each axis: 1 is exact, 8 is up to seven cells more.

    There are never more than MOST_BOXES: a page has no more pixels to show them.
    """
    found = selection.boxes
    step = [1] * len(selection.shape)
    while len(found) > MOST_BOXES and any(side > 1 for side in selection.shape):
        step = [min(each * 2, max(side, 1)) for each, side in zip(step, selection.shape, strict=True)]
        scale = np.array(step, dtype=np.int64)[:, None]
        small = _core.normalize(np.ascontiguousarray(selection.boxes // scale))
        found = small * scale
        found[:, :, 1] += scale[:, 0] - 1
        found[:, :, 1] = np.minimum(found[:, :, 1], np.array(selection.shape, dtype=np.int64) - 1)
    return found.tolist(), step


def story(log: Log, name: str, question: object) -> Any:
    """The story of some cells, where the log can tell it."""
    explain = getattr(log, "explain", None)
    if explain is None:
        raise NotTraceable("this version of the log tells no stories")
    return explain(name, question)
