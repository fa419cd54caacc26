"""With what decided, lineage is complete: no change of a cell outside it, however large, changes a result."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from whence.arrays.recording.calls import captured
from whence.arrays.recording.structures import replaced
from whence.errors import NoRule
from whence.testing import numpy_calls
from whence.testing.numpy_beyond import EVERYTHING

Function = Callable[..., Any]
CHANGES = (-3.7, 0.0, 0.41, 950.0)


def leaves(result: Any) -> list[Any]:
    if isinstance(result, (list, tuple, dict)):
        parts = result.values() if isinstance(result, dict) else result
        return [leaf for each in parts for leaf in leaves(each)]
    return [np.asarray(result)]


def changed_cells(before: Any, after: Any) -> set[tuple[int, ...]]:
    """Cells that both have, and that differ by more than rounding."""
    if before.ndim != after.ndim:
        return set()
    common = tuple(slice(0, min(sides)) for sides in zip(before.shape, after.shape, strict=True))
    old, new = before[common], after[common]
    alike = np.isclose(old, new, rtol=1e-7, atol=1e-9, equal_nan=True) if old.dtype.kind in "fc" else old == new
    return {tuple(each) for each in np.argwhere(~alike).tolist()}


def swap(given: Any, other: Any, item: Any) -> Any:
    return other if item is given else item


def check(function: Function, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    found = captured(function, args, kwargs, tuple("abcdefgh"), "f", selection=True)
    assert not found.notes
    plain = leaves(function(*args, **kwargs))
    if len(plain) != len(found.outputs):
        return  # more than arrays
    for given in {id(each.value): each.value for each in found.inputs if each.value.dtype.kind == "f"}.values():
        edges = [each for each in found.edges if found.inputs[each.input].value is given]
        for cell in list(np.ndindex(given.shape))[:10]:
            reached = [set[tuple[int, ...]]() for _ in plain]
            for edge in edges:
                reached[edge.output] |= {tuple(each) for each in edge.relation.forward([cell]).cells().tolist()}
            for number in CHANGES:
                other = given.copy()
                other[cell] = number
                swapped = partial(swap, given, other)
                try:
                    moved = leaves(function(*replaced(args, swapped), **replaced(kwargs, swapped)))
                except (ValueError, np.linalg.LinAlgError):
                    continue  # what cannot be computed is not a result
                for at, (before, after) in enumerate(zip(plain, moved, strict=False)):
                    assert changed_cells(before, after) <= reached[at], (cell, number)


def written(a: Any, write: Callable[[Any], Any]) -> Any:
    own = a.copy()
    write(own)
    return own


PROGRAMS: dict[str, Function] = {
    "mask": lambda a, b: a[a > 5],
    "mask of rows": lambda a, b: a[b[:, 0] > 1, 1:],
    "where": lambda a, b: np.where(a > 5, b, -b),
    "written": lambda a, b: written(a, lambda c: c.__setitem__(c > 5, 0.0)),
    "written one by one": lambda a, b: written(a, lambda c: c.__setitem__(b > 1, b[b > 1])),
    "written rows": lambda a, b: written(a, lambda c: c.__setitem__(b[:, 0] > 1, 0.0)),
    "written through a view": lambda a, b: written(a, lambda c: c.T[1:].__setitem__(b.T[1:] > 1, 7.0)),
    "written at places": lambda a, b: written(a, lambda c: c.__setitem__(np.argsort(b[:, 0])[:2], 0.0)),
    "copied": lambda a, b: written(a, lambda c: np.copyto(c, b, where=b > 1)),
    "placed": lambda a, b: written(a, lambda c: np.place(c, c > 5, [1.0, 2.0])),
    "along": lambda a, b: np.take_along_axis(a, a.argmax(axis=1)[:, None], 1),
    "taken": lambda a, b: np.take(a, np.argsort(b[0]), axis=1),
    "rolled": lambda a, b: np.roll(a, np.argmax(b[0])),
    "in order": lambda a, b: a[np.lexsort((a[:, 0], b[:, 0]))],
    "sorted": lambda a, b: np.sort(a, axis=0)[1:],
    "counted": lambda a, b: np.histogram(a, weights=b)[0],
    "repeated": lambda a, b: np.repeat(a, [1, 0, 2, 1], axis=0) * (b > 1).sum(),
}


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_programs(name: str) -> None:
    rng = np.random.default_rng(5)
    check(PROGRAMS[name], (np.round(rng.random((4, 5)) * 10, 3) + 0.1, np.round(rng.random((4, 5)) * 3, 3)), {})


@pytest.mark.filterwarnings("ignore")
def test_every_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(numpy_calls, "LONGEST", 5)
    checked = 0
    for make in EVERYTHING.values():
        call = make(np.random.default_rng(0))
        try:
            check(call.function, call.args, call.kwargs)
        except NoRule:
            continue
        checked += 1
    assert checked > 450
