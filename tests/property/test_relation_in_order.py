"""Many rows, in order or nearly: an index, or none, finds the rows that a comparison with each row finds."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from whence import _core
from whence.testing.strategies import effort

SIDE, LINES = 400, 500
ROOT = (-1, 0, 0)


@given(st.data())
@effort(120)
def test_rows_that_overlap_a_box(data: st.DataObject) -> None:
    rows = data.draw(st.integers(49, 200))  # fewer are compared one by one
    rng = np.random.default_rng(data.draw(st.integers(0, 1 << 20)))
    kind = data.draw(st.sampled_from(["in order", "equal", "nested", "nearly", "any"]))
    lo = np.sort(rng.integers(0, SIDE - 10, rows))
    width = np.zeros(rows, np.int64) if kind == "equal" else rng.integers(0, 9, rows)
    if kind != "nested":  # a row that ends before the one before it is nested in it
        width = np.maximum.accumulate(lo + width) - lo
        width = np.minimum(width, SIDE - 1 - lo)
    if kind == "nearly":
        lo[-1] = 0
    if kind == "any":
        order = rng.permutation(rows)
        lo, width = lo[order], width[order]
    table = _core.Table((SIDE,), (LINES,), (SIDE,), (LINES,))
    table.add(rows, [ROOT, ROOT], [lo, (0, 1)], [width, (0, 0)])  # row i is of input cell i
    for count in data.draw(st.lists(st.sampled_from([1, 2, 9, 60]), min_size=1, max_size=4)):
        if data.draw(st.booleans()):  # the index of the first part stays right
            table.add(1, [ROOT, ROOT], [(0, 0), (len(lo), 0)], [(0, 0), (0, 0)])
            lo, width = np.append(lo, 0), np.append(width, 0)
        first = rng.integers(0, SIDE, count)
        boxes = np.stack([first, np.minimum(first + rng.integers(0, 30, count), SIDE - 1)], axis=1)[:, None]
        if data.draw(st.booleans()):
            boxes = boxes[np.argsort(boxes[:, 0, 0])]
        found = table.ask(np.ascontiguousarray(boxes), True, 1 << 20)
        met = ((lo[:, None] <= boxes[:, 0, 1]) & (lo + width >= boxes[:, 0, 0][:, None]).T).any(axis=1)
        cells = [cell for first, last in found[:, 0].tolist() for cell in range(first, last + 1)]
        assert cells == np.flatnonzero(met).tolist()
