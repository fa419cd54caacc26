"""Probing: find the lineage of a function that cannot be traced by changing its input and comparing the results.

If a result changes, it certainly depends on the changed cells. If it never changes, it is assumed not to depend on
them; this is not a proof, so an answer says how many changes were tried.

Three things keep the number of calls small. Many cells are changed at once, and are divided only while one of the
results of interest changes. Few results of interest need few divisions. And if results depend only on neighbours, cells
that are far apart are changed together, so that a few calls suffice for an array of any size.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType, TooLarge
from whence.relation import Relation, compress
from whence.selection import Selection

Function = Callable[[Any], Any]
Mask = NDArray[np.bool_]
Box = tuple[slice, ...]

SCALES = (1e-3, 1.0, 1e3)
"""How much numbers are changed, as multiples of their spread: a maximum responds only to large changes."""

NEIGHBOURS = 15
"""The most cells along each axis of a window of neighbours."""

MOST_CALLS = 20_000


@dataclass(frozen=True, slots=True)
class Probed:
    """Which input cells changed which output cells.

    `precise` is true if every cell of the input changed every result of interest. Otherwise cells may be missing, if no
    change that was tried shows their influence; `reason` says so.
    """

    relation: Relation
    calls: int
    precise: bool
    reason: str | None

    def backward(self, cells: Any) -> Selection:
        """The input cells that changed the given output cells."""
        return self.relation.backward(cells)

    def forward(self, cells: Any) -> Selection:
        """The output cells of interest that the given input cells changed."""
        return self.relation.forward(cells)


def probe(function: Function, x: Any, cells: Any = None, *, tries: int = 1, seed: int = 0) -> Probed:
    """Find the lineage of a function of one array by calling it with changed inputs.

    The function must be pure: the same input gives the same result. `cells` are the output cells of interest (default:
    all). Each change is made `tries` times. For a function of several arrays, hold the others fixed: `wh.probe(lambda
    x: f(x, y), x)`.

    >>> found = probe(lambda x: x / np.linalg.norm(x), np.arange(8.0), (3,))
    >>> len(found.backward((3,))), found.precise
    (8, True)
    >>> found = probe(lambda x: x[::-1] + x[0], np.arange(5.0))
    >>> found.backward((1,)), found.precise
    (Selection(shape=(5,), 2 cells: [0], [3]), False)
    """
    if not callable(function):
        raise BadType(f"wh.probe takes a function of an array, not {type(function).__name__}")
    search = _Probe(function, x, tries, seed)
    wanted = np.ones(search.shape, bool) if cells is None else Selection.of(cells, search.shape).mask()
    tuples = search.by_windows(wanted) if wanted.all() and search.x.ndim else None
    if tuples is None:
        tuples = search.by_halves(wanted)
    relation = compress(tuples, search.shape, search.x.shape)
    everything = len(tuples) == int(wanted.sum()) * search.x.size
    return Probed(relation, search.calls, everything, None if everything else search.doubt())


class _Probe:
    """A function, its input and its result, and how the result responds to changes."""

    def __init__(self, function: Function, x: Any, tries: int, seed: int) -> None:
        self.x: NDArray[Any] = np.array(x)
        if self.x.dtype.kind not in "biuf":
            raise BadType(f"probe needs an array of numbers (float, integer, bool), not of {self.x.dtype}")
        if tries < 1:
            raise BadType(f"tries is how often each change is made, at least 1; not {tries}")
        self._function = function
        self._random = np.random.default_rng(seed)
        self._tries = tries
        self.calls = 0
        self.raised = 0  # how many of these calls raised an error
        self.result = self._call(self.x)
        self.shape = self.result.shape
        if self._differs(self._call(self.x)).any():
            raise BadType(
                "the function returns different results for the same input, so probing cannot find what they depend on"
            )

    def _call(self, x: NDArray[Any]) -> NDArray[Any]:
        self.calls += 1
        if self.calls > MOST_CALLS:
            raise TooLarge(
                f"more than {MOST_CALLS:,} calls are needed to find what these results depend on: ask for fewer cells, "
                "probe(f, x, cells)"
            )
        found = self._function(x.copy())
        if isinstance(found, (tuple, list, dict)):
            raise BadType("the function returns several results: choose one, wh.probe(lambda x: f(x)[0], x)")
        result = np.asarray(found)
        if result.dtype.kind not in "biufcmM":
            raise BadType(f"the function returns {type(found).__name__}, not numbers")
        return result

    def _differs(self, result: NDArray[Any]) -> Mask:
        if result.shape != self.result.shape:
            raise BadType("the shape of the result depends on the values of the input, so it cannot be probed")
        same = result == self.result
        if result.dtype.kind in "fc":
            same |= np.isnan(result) & np.isnan(self.result)
        return np.asarray(~same)

    def doubt(self) -> str:
        """Say why cells may be missing."""
        raised = f" ({self.raised:,} of them raised an error)" if self.raised else ""
        return f"{self.calls:,} changed inputs were tried{raised}: cells that matter for other values may be missing"

    def changed(self, cells: Mask | Box) -> Mask:
        """Return the results that change when these cells of the input change; all if the function always raises an
        error.
        """
        found, failed = np.zeros(self.shape, bool), 0
        for scale, sign in itertools.product(SCALES, (1, -1) * self._tries):  # a minimum needs smaller numbers
            x = self.x.copy()
            x[cells] = self._others(x[cells], scale, sign)
            try:
                with np.errstate(all="ignore"):
                    result = self._call(x)
            except (ArithmeticError, LookupError, ValueError, np.linalg.LinAlgError):
                failed += 1
                continue
            found |= self._differs(result)
        self.raised += failed
        return found if failed < len(SCALES) * 2 * self._tries else np.ones(self.shape, bool)

    def _others(self, values: NDArray[Any], scale: float, sign: int) -> NDArray[Any]:
        """Return other numbers of the same type, larger or smaller, each changed by its own amount."""
        if values.dtype == bool:
            return np.asarray(~values if scale == SCALES[0] else self._random.random(values.shape) < 0.5)
        if values.dtype.kind in "iu":
            far = max(2, int(min(scale * (1 + np.ptp(self.x)), np.iinfo(values.dtype).max // 2)))
            step = self._random.integers(1, far, values.shape).astype(values.dtype)
            return np.asarray(values + step if sign > 0 else values - step)
        finite = self.x[np.isfinite(self.x)]
        spread = scale * (float(np.ptp(finite)) or float(np.abs(finite).max()) or 1.0) if finite.size else scale
        moved = np.where(np.isfinite(values), values, 0) + sign * spread * self._random.uniform(0.5, 1.5, values.shape)
        return np.asarray(moved.astype(values.dtype))

    # --- halving

    def by_halves(self, wanted: Mask) -> NDArray[np.int64]:
        """Find all tuples of the wanted results by dividing boxes of the input while a wanted result changes."""
        found: list[NDArray[np.int64]] = [np.empty((0, len(self.shape) + self.x.ndim), np.int64)]
        waiting: list[Box] = [tuple(slice(0, side) for side in self.x.shape)] if self.x.size else []
        while waiting:
            box = waiting.pop()
            hit = np.argwhere(self.changed(box) & wanted)
            if not len(hit):
                continue
            sides = [each.stop - each.start for each in box]
            if max(sides, default=1) == 1:
                cell = np.array([[each.start for each in box]], np.int64).reshape(1, -1)
                found.append(np.hstack([hit, np.repeat(cell, len(hit), axis=0)]))
            else:
                waiting.extend(_halves_of_box(box, int(np.argmax(sides))))
        return np.concatenate(found)

    # --- windows

    def by_windows(self, wanted: Mask) -> NDArray[np.int64] | None:
        """Find all tuples if each result depends only on its neighbours; return None if it does not."""
        if self.shape != self.x.shape or 0 in self.shape:
            return None
        reach = self._reach()
        if reach is None:
            return None
        # Windows of cells that are changed together must have a gap between them, in which no result may change.
        step = [min(4 * far + 3, side) for far, side in zip(reach, self.shape, strict=True)]
        if np.prod(step) * 2 > self.x.size:
            return None
        found = []
        for start in itertools.product(*map(range, step)):
            chosen = tuple(slice(first, None, by) for first, by in zip(start, step, strict=True))
            hit = np.argwhere(self.changed(chosen) & wanted)
            cell = np.array(start) + (hit - np.array(start) + np.array(reach)) // np.array(step) * np.array(step)
            near = np.abs(hit - cell) <= np.array(reach)
            if not (near.all() and (cell < self.shape).all() and (cell >= 0).all()):
                return None
            found.append(np.hstack([hit, cell]))
        return np.concatenate(found)

    def _reach(self) -> list[int] | None:
        """Return how far changes of some single cells reach along each axis; None if too far."""
        reach = [0] * self.x.ndim
        for cell in _spread_out(self.x.shape):
            hit = np.argwhere(self.changed(tuple(slice(at, at + 1) for at in cell)))
            if len(hit):
                reach = [max(a, int(b)) for a, b in zip(reach, np.abs(hit - np.array(cell)).max(axis=0), strict=True)]
            if any(2 * far + 1 > NEIGHBOURS for far in reach):
                return None
        return reach


def _halves_of_box(box: Box, axis: int) -> Iterator[Box]:
    middle = (box[axis].start + box[axis].stop) // 2
    for part in (slice(box[axis].start, middle), slice(middle, box[axis].stop)):
        yield (*box[:axis], part, *box[axis + 1 :])


def _spread_out(shape: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Return the corners, the middle, and some cells between them."""
    marks = [sorted({0, side // 3, side // 2, side - 1}) for side in shape]
    return itertools.islice(itertools.product(*marks), 64)
