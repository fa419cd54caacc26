"""Where something began: `log.first` against a hunt by hand over the values of every step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.errors import BadType
from whence.testing.strategies import effort


def found(answer: Any) -> dict[str, list[list[int]]]:
    return {name: cells.cells().tolist() for name, cells in answer.items()}


def test_a_nan_is_found_where_it_was_made(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log, np.errstate(all="ignore"):
        scaled = log.track(lambda x: x / x.max(axis=1, keepdims=True), name="scaled")
        smooth = log.track(lambda x: (x[:, :-1] + x[:, 1:]) / 2, name="smooth")
        total = log.track(lambda x: x.sum(), name="total")
        counts = np.array([[1.0, 2.0, 4.0], [0.0, 0.0, 0.0], [3.0, np.nan, 1.0]])
        parts = scaled(counts)
        between = smooth(parts)
        total(between)
        answer = log.first("total", np.isnan, {"total": np.array(np.nan)})
        # Row 1 is 0 / 0 in `scaled`; row 2 has its NaN from the cell that was given.
        assert found(answer) == {"x": [[2, 1]], "scaled": [[1, 0], [1, 1], [1, 2]]}
        assert answer.notes == ()
        assert found(log.first("scaled", lambda x: x > 1)) == {}


def test_values_that_are_not_known_are_passed_through_and_said(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        double = log.track(lambda x: x * 2, name="double")
        shift = log.track(lambda x: x[1:] + 1, name="shift")
        given = np.array([1.0, -7.0, 3.0])
        result = shift(double(given))  # nobody holds what double gave
        answer = log.first("shift", lambda x: x < 0)
        assert found(answer) == {"x": [[1]]}
        assert any("'double' are not known" in each for each in answer.notes)
        assert found(log.first("shift", lambda x: x < 0, {"double": given * 2})) == {"x": [[1]]}
        assert found(log.first("shift", lambda x: x < 0, {"double": np.array([0.0, 3.0, 1.0])})) == {"shift": [[0]]}
        del result
    with wh.open(tmp_path / "log.whence") as log, pytest.raises(BadType, match="values of 'shift' are not known"):
        log.first("shift", np.isnan)


@given(st.data())
@effort(40)
def test_chains_of_steps(data: st.DataObject) -> None:
    """Each step keeps, flips or spoils cells; the first bad ones are those that no bad cell led to."""
    size = data.draw(st.integers(2, 6))
    values = [np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size)))]
    sources: list[list[list[int]]] = []
    for _ in range(data.draw(st.integers(1, 4))):
        links = [data.draw(st.lists(st.integers(0, size - 1), max_size=2, unique=True)) for _ in range(size)]
        sources.append(links)
        values.append(np.array(data.draw(st.lists(st.booleans(), min_size=size, max_size=size))))
    import tempfile

    with tempfile.TemporaryDirectory() as directory, wh.open(Path(directory) / "log.whence") as log:
        for number, _ in enumerate(values):
            log.array(f"d{number}", shape=(size,))
        for number, links in enumerate(sources, 1):
            tuples = [[out, each] for out, every in enumerate(links) for each in every]
            log.lineage(f"d{number}", f"d{number - 1}", np.array(tuples, int).reshape(-1, 2))
        given = {f"d{number}": each for number, each in enumerate(values)}
        answer = log.first(f"d{len(sources)}", lambda x: x, given)
    expected: dict[str, set[int]] = {}
    bad = {cell for cell in range(size) if values[-1][cell]}
    for number in range(len(sources), -1, -1):
        earlier = {
            cell: {each for each in sources[number - 1][cell] if values[number - 1][each]} if number else set()
            for cell in bad
        }
        began = {cell for cell, every in earlier.items() if not every}
        if began:
            expected[f"d{number}"] = began
        bad = set().union(*earlier.values()) if earlier else set()
    assert {name: {cell[0] for cell in cells} for name, cells in found(answer).items()} == expected
