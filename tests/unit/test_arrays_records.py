"""Structured arrays and arrays of objects in tracked functions: the program runs, and what is not followed is said."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.recording.track import LineageLost
from whence.errors import BadType, NoLineage

X = np.array([1.5, -2.25, 3.75, 0.5])
FIELDS = [("p", "f8"), ("q", "f8")]


@pytest.mark.filterwarnings("ignore::whence.arrays.recording.track.LineageLost")
def test_a_structured_array_is_made_and_read(tmp_path: Path) -> None:
    def pairs(a: Any) -> Any:
        made = np.zeros(2, FIELDS)
        made["p"], made["q"] = a[:2], a[2:]
        return made

    with wh.open(tmp_path / "log") as log:
        assert log.track(pairs)(X).tolist() == [(1.5, 3.75), (-2.25, 0.5)]
        tracked = log.track(lambda s, k: s["p"] * s["q"] + k, name="product")
        assert tracked(pairs(X), X[:2]).tolist() == [1.5 * 3.75 + 1.5, -2.25 * 0.5 - 2.25]
        answer = log.backward("product", (1,))
        assert answer["k"].cells().tolist() == [[1]]
        assert answer["s"].count == 2, "both records, because fields are not followed"
        assert any("only some cells of 's'" in each for each in answer.notes)


def test_an_array_of_arrays_of_unlike_shapes(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log") as log:
        ragged = log.track(lambda a: np.array([a[:1], a[1:]], dtype=object), name="ragged")
        with pytest.warns(LineageLost):
            found = ragged(X)
    assert [each.tolist() for each in found] == [[1.5], [-2.25, 3.75, 0.5]]


def test_a_coroutine_is_refused_by_name(tmp_path: Path) -> None:
    async def later(a: Any) -> Any:
        return a

    with wh.open(tmp_path / "log") as log, pytest.raises(BadType, match="later is a coroutine"):
        log.track(later)


def test_a_lost_way_says_where_it_ends(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log") as log:
        first, last = log.track(lambda a: a * 2, name="first"), log.track(lambda a: a + 1, name="last")
        doubled = first(X)
        doubled[0] = 7.0
        last(doubled)
        with pytest.raises(
            NoLineage, match=r"'first@v2' is what 'first' became: it was changed in place between calls"
        ):
            log.backward("last", "0", to="a")
        with pytest.raises(NoLineage, match="changed in place between calls"):
            log.forward("a", "0", to="last")
