"""What leaves the lineage behind is counted, in each thread, and what does not is not."""

from __future__ import annotations

import math
import threading

import numpy as np

import whence as wh
from whence.arrays import Losses, values, watch
from whence.arrays.dtype.losses import so_far


def test_casts_are_counted_by_cell() -> None:
    x = wh.tracked(np.ones((3, 4)), "A")
    with watch() as lost:
        x.astype(np.float64)
        x[0].astype(np.int32)
        x[0].astype(bool)
        np.asarray(x[:, 0], dtype=np.float32)
    assert (lost.cast_cells, lost.floats, lost.decisions) == (12 + 4 + 4 + 3, 0, 0)
    assert lost.any
    assert not lost.control_dependent
    assert str(lost) == "23 cells were cast to plain numbers"


def test_floats_and_ints_of_a_cell() -> None:
    x = wh.tracked(np.array([4.0, 9.0]), "A")
    with watch() as lost:
        assert (float(x[0]), int(x[1]), math.sqrt(x[1])) == (4.0, 9, 3.0)
    assert (lost.cast_cells, lost.floats, lost.decisions) == (0, 3, 0)


def test_decisions_make_a_capture_control_dependent() -> None:
    x = wh.tracked(np.array([4.0, 0.0]), "A")
    with watch() as lost:
        taken = [bool(x[0]), x[0] > 3, bool(x[1]), max(x[0], x[1]) is x[0]]
    assert taken[:3] == [True, True, False]
    assert lost.decisions == 4
    assert lost.control_dependent
    assert str(lost) == "4 decisions looked at a cell"


def test_reading_values_printing_and_masks_are_no_losses() -> None:
    x = wh.tracked(np.array([4.0, 0.0]), "A")
    with watch() as lost:
        values(x).sum()
        assert x[0].value == 4.0
        f"{x[0]:.1f} {x[0]} {x[0]!r}"
        x[x > 1] = 0.0
    assert not lost.any
    assert str(lost) == "nothing was lost"
    assert lost.looks == 4


def test_an_error_inside_still_counts() -> None:
    x = wh.tracked(np.array([4.0]), "A")
    try:
        with watch() as lost:
            float(x[0])
            raise KeyError("stop")
    except KeyError:
        pass
    assert lost.floats == 1


def test_threads_count_apart() -> None:
    x = wh.tracked(np.ones(10), "A")
    seen: list[Losses] = []

    def other() -> None:
        with watch() as lost:
            x.astype(float)
        seen.append(lost)

    with watch() as mine:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert not mine.any
    assert seen[0].cast_cells == 10
    assert so_far().cast_cells >= 0
