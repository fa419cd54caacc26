"""Selections against Python sets of index tuples: whatever a set says, a selection says too."""

from __future__ import annotations

import copy
import itertools
import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from whence import _core
from whence.selection import Selection

Shape = tuple[int, ...]
Cell = tuple[int, ...]
Cells = frozenset[Cell]
Boxes = NDArray[np.int64]
Interval = tuple[int, int]

# Few cells on many axes, more on few: the sets stay small enough to look at every cell.
LONGEST = {0: 1, 1: 70, 2: 12, 3: 6, 4: 4, 5: 3}


@st.composite
def shapes(draw: st.DrawFn, least: int = 0, axes: int | None = None) -> Shape:
    count = draw(st.integers(0, 5)) if axes is None else axes
    return tuple(draw(st.integers(least, LONGEST[count])) for _ in range(count))


@st.composite
def boxes_within(draw: st.DrawFn, shape: Shape, most: int = 10) -> Boxes:
    """Boxes of any overlap within a shape."""
    if 0 in shape:
        return np.empty((0, len(shape), 2), dtype=np.int64)
    side = st.tuples(*(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).map(sorted) for n in shape))
    rows = draw(st.lists(side, max_size=most))
    return np.array(rows, dtype=np.int64).reshape(len(rows), len(shape), 2)


@st.composite
def cells_within(draw: st.DrawFn, shape: Shape) -> list[Cell]:
    if 0 in shape:
        return []
    return draw(st.lists(st.tuples(*(st.integers(0, n - 1) for n in shape)), max_size=30))


def cells_of(boxes: Boxes) -> Cells:
    return frozenset(c for box in boxes.tolist() for c in itertools.product(*(range(lo, hi + 1) for lo, hi in box)))


def everything(shape: Shape) -> Cells:
    return frozenset(itertools.product(*(range(n) for n in shape)))


def canonical(cells: Cells, axes: int) -> list[list[Interval]]:
    """The definition of the canonical form, word for word."""
    if axes == 0:
        return [[]] if cells else []
    slabs: list[tuple[int, int, list[list[Interval]]]] = []
    for i in sorted({cell[0] for cell in cells}):
        rest = canonical(frozenset(cell[1:] for cell in cells if cell[0] == i), axes - 1)
        if slabs and slabs[-1][1] == i - 1 and slabs[-1][2] == rest:
            slabs[-1] = (slabs[-1][0], i, rest)
        else:
            slabs.append((i, i, rest))
    return [[(lo, hi), *box] for lo, hi, rest in slabs for box in rest]


def as_tuples(boxes: Boxes) -> list[list[Interval]]:
    return [[(lo, hi) for lo, hi in box] for box in boxes.tolist()]


def shattered(draw: st.DrawFn, boxes: Boxes) -> Boxes:
    """The same cells in other boxes: some cut in two, some repeated, some empty ones added, all shuffled."""
    pieces = []
    for box in boxes.tolist():
        axis = draw(st.integers(0, len(box) - 1))
        lo, hi = box[axis]
        cut = draw(st.integers(lo, hi))
        overlap = draw(st.booleans())
        left, right, nothing = copy.deepcopy(box), copy.deepcopy(box), copy.deepcopy(box)
        left[axis] = [lo, cut]
        right[axis] = [cut if overlap else cut + 1, hi]
        nothing[axis] = [cut + 1, cut]
        pieces += [left, right] + ([nothing] if draw(st.booleans()) else [])
    return np.array(draw(st.permutations(pieces)), dtype=np.int64).reshape(-1, *boxes.shape[1:])


@given(st.data())
def test_boxes_become_canonical(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    boxes = data.draw(boxes_within(shape))
    selection = Selection.from_boxes(boxes, shape)
    assert as_tuples(selection.boxes) == canonical(cells_of(boxes), len(shape))
    assert _core.is_canonical(selection.boxes)
    assert not selection.boxes.flags.writeable


@given(st.data())
def test_equal_sets_have_equal_boxes_however_they_were_cut(data: st.DataObject) -> None:
    shape = data.draw(shapes(least=1).filter(bool))
    boxes = data.draw(boxes_within(shape))
    other = data.draw(st.composite(shattered)(boxes)) if len(boxes) else boxes
    first, second = Selection.from_boxes(boxes, shape), Selection.from_boxes(other, shape)
    assert first.boxes.tobytes() == second.boxes.tobytes()
    assert first == second
    assert hash(first) == hash(second)


@given(st.data())
def test_is_canonical_only_when_it_is(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    boxes = data.draw(boxes_within(shape))
    assert _core.is_canonical(boxes) == (as_tuples(boxes) == canonical(cells_of(boxes), len(shape)))


@settings(max_examples=60, deadline=None)
@given(
    axes=st.integers(1, 5),
    count=st.integers(65, 600),
    reach=st.integers(1, 6),
    spread=st.sampled_from([1, 7, 10**3, 10**6, 10**9]),
    start=st.sampled_from([0, -(10**12), 10**12]),
    fraction=st.sampled_from([0.0, 0.1]),
    seed=st.integers(0, 2**32 - 1),
)
def test_many_boxes_become_canonical(
    axes: int, count: int, reach: int, spread: int, start: int, fraction: float, seed: int
) -> None:
    """Past a few dozen boxes other algorithms take over (bitmap, sort, halving); scaling a set scales its form."""
    rng = np.random.default_rng(seed)
    size = LONGEST[axes] + 2
    lo = rng.integers(0, size, (count, axes))
    hi = np.minimum(lo + rng.integers(0, reach, (count, axes)), size - 1)
    emptied = rng.random((count, axes)) < fraction
    small = np.stack([lo, np.where(emptied, lo - 1, hi)], axis=-1)
    form = np.array(canonical(cells_of(small), axes), dtype=np.int64).reshape(-1, axes, 2)
    large = np.stack([small[..., 0] * spread, (small[..., 1] + 1) * spread - 1], axis=-1) + start
    expected = np.stack([form[..., 0] * spread, (form[..., 1] + 1) * spread - 1], axis=-1) + start
    assert _core.normalize(np.ascontiguousarray(large)).tolist() == expected.tolist()


@settings(max_examples=60, deadline=None)
@given(
    axes=st.integers(1, 5),
    count=st.integers(1, 600),
    gap=st.sampled_from([1, 2, 10**6, 2**58]),
    ordered=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
def test_many_cells_become_canonical(axes: int, count: int, gap: int, ordered: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    cells = rng.integers(0, LONGEST[axes] + 2, (count, axes))
    if gap > 2:  # far apart on the first axis alone, so that runs along the others stay runs
        cells[:, 0] = rng.integers(0, 4, count) * gap
    if ordered:
        cells = np.array(sorted(cells.tolist()), dtype=np.int64)
    boxes = _core.boxes_of_cells(cells)
    assert as_tuples(boxes) == canonical(frozenset(map(tuple, cells.tolist())), axes)
    assert _core.normalize(np.stack([cells, cells], axis=-1)).tolist() == boxes.tolist()


def test_boxes_that_pile_up_are_united_half_by_half() -> None:
    """More overlap than a plain sweep takes on: each box reaches over most of the others."""
    rng = np.random.default_rng(7)
    ends = np.sort(rng.integers(0, 300, (400, 2, 2)), axis=2)
    thin = ends[:, :1] // 60 * np.array([60, 60])  # so that none of them lies within the largest
    boxes = np.concatenate([ends, np.concatenate([thin + ends[:, :1] % 2, ends[:, 1:]], axis=1)])
    boxes = np.sort(boxes, axis=2)
    mask = np.zeros((300, 300), dtype=bool)
    for (a, b), (c, d) in boxes.tolist():
        mask[a : b + 1, c : d + 1] = True
    expected = Selection.from_mask(mask).boxes
    assert _core.normalize(np.ascontiguousarray(boxes)).tolist() == expected.tolist()


@given(st.data())
def test_cells_in_any_form_are_the_same_selection(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    cells = data.draw(cells_within(shape))
    selection = Selection.from_cells(cells, shape)
    assert set(selection) == set(cells)
    assert as_tuples(selection.boxes) == canonical(frozenset(cells), len(shape))
    mask = np.zeros(shape, dtype=bool)
    for cell in cells:
        mask[cell] = True
    forms: list[Any] = [
        mask,
        np.array(mask, order="F"),
        np.array(cells, dtype=np.int32).reshape(len(cells), len(shape)),
    ]
    forms += [selection, set(cells), iter(cells)]
    for form in forms:
        assert Selection.of(form, shape) == selection


@given(st.data())
def test_what_a_selection_says_of_its_cells(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    boxes = data.draw(boxes_within(shape))
    expected = sorted(cells_of(boxes))
    selection = Selection.from_boxes(boxes, shape)
    assert list(selection) == expected
    assert selection.cells().tolist() == [list(cell) for cell in expected]
    assert selection.cells().shape == (len(expected), len(shape))
    assert len(selection) == selection.count == len(expected)
    assert bool(selection) == bool(expected)
    mask = selection.mask()
    assert mask.shape == shape
    assert {tuple(cell) for cell in np.argwhere(mask).tolist()} == set(expected)
    assert Selection.from_mask(mask) == selection
    taken = np.zeros(shape, dtype=int)
    for index in selection.slices():
        taken[index] += 1
    assert np.array_equal(taken, mask.astype(int))
    for cell in data.draw(cells_within(shape)):
        assert (cell in selection) == (cell in set(expected))


@given(st.data())
def test_set_algebra(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    a, b = data.draw(boxes_within(shape)), data.draw(boxes_within(shape))
    left, right = cells_of(a), cells_of(b)
    x, y = Selection.from_boxes(a, shape), Selection.from_boxes(b, shape)
    for selection, cells in [
        (x | y, left | right),
        (x & y, left & right),
        (x - y, left - right),
        (x ^ y, left ^ right),
        (~x, everything(shape) - left),
    ]:
        assert as_tuples(selection.boxes) == canonical(cells, len(shape))
        assert selection.shape == shape
    assert x.issubset(y) == left.issubset(right)
    assert (x & y).issubset(y)
    assert x.isdisjoint(y) == left.isdisjoint(right)
    assert (x - y).isdisjoint(y)
    assert (x == y) == (left == right)


@settings(max_examples=40, deadline=None)
@given(axes=st.integers(1, 4), seed=st.integers(0, 2**32 - 1), density=st.sampled_from([0.02, 0.3, 0.9]))
def test_set_algebra_of_many_boxes(axes: int, seed: int, density: float) -> None:
    """A long set against a long one and against a short one, where runs of boxes are skipped by searching."""
    shape = tuple(round(4000 ** (1 / axes)) for _ in range(axes))
    rng = np.random.default_rng(seed)
    dense, few = rng.random(shape) < density, np.zeros(shape, dtype=bool)
    few[tuple(rng.integers(0, shape[0], (axes, 5)))] = True
    other = rng.random(shape) < density
    for p, q in itertools.permutations([dense, few, other], 2):
        x, y = Selection.from_mask(p), Selection.from_mask(q)
        assert np.array_equal((x | y).mask(), p | q)
        assert np.array_equal((x & y).mask(), p & q)
        assert np.array_equal((x - y).mask(), p & ~q)
        assert np.array_equal((x ^ y).mask(), p ^ q)
        assert _core.is_canonical((x - y).boxes)
        assert x.isdisjoint(y) == (not (p & q).any())
        cells = rng.integers(0, shape[0], (50, axes))
        assert _core.contains(x.boxes, cells).tolist() == p[tuple(cells.T)].tolist()


ends = st.none() | st.integers(-8, 8)
steps = st.none() | st.integers(-3, 3).filter(bool)


@given(st.data())
def test_slices_take_what_numpy_takes(data: st.DataObject) -> None:
    shape = data.draw(shapes(axes=data.draw(st.integers(0, 4))))
    entries: list[Any] = [
        data.draw(st.builds(slice, ends, ends, steps) | (st.integers(0, n - 1) if n else st.just(slice(None))))
        for n in shape
    ]
    cut = data.draw(st.integers(0, len(shape)))
    if data.draw(st.booleans()):
        entries[cut : data.draw(st.integers(cut, len(shape)))] = [Ellipsis]
    index = tuple(entries)
    mask = np.zeros(shape, dtype=bool)
    mask[index] = True
    expected = Selection.from_mask(mask)
    selection = Selection.from_slices(index, shape)
    assert selection.boxes.tolist() == expected.boxes.tolist()
    assert Selection.parse(written(index), shape) == expected
    assert Selection.of(index, shape) == expected


def written(index: tuple[Any, ...]) -> str:
    def entry(part: Any) -> str:
        if isinstance(part, slice):
            start, stop, step = ("" if end is None else str(end) for end in (part.start, part.stop, part.step))
            return f"{start}:{stop}:{step}" if step else f"{start}:{stop}"
        return "..." if part is Ellipsis else str(part)

    return ",".join(map(entry, index)) or "()"


@given(st.data())
def test_what_is_printed_can_be_read_again(data: st.DataObject) -> None:
    shape = data.draw(shapes())
    selection = Selection.from_boxes(data.draw(boxes_within(shape, most=2)), shape)
    text = repr(selection)
    if selection and len(selection.boxes) <= 8:
        groups = text[text.index(": [") + 2 : -1].replace("], [", "]; [")
        assert Selection.parse(groups, shape) == selection


@given(st.data())
def test_counts_need_no_cells(data: st.DataObject) -> None:
    """Sizes beyond any memory, and beyond 64 and 128 bits."""
    sizes = st.sampled_from([1, 2, 2**31, 2**40, 2**62, 2**63 - 1])
    shape = tuple(data.draw(st.lists(sizes, min_size=1, max_size=5)))
    whole = Selection.all(shape)
    corner = Selection.of(tuple(n - 1 for n in shape), shape)
    assert whole.count == math.prod(shape)
    assert (whole - corner).count == math.prod(shape) - 1
    assert ((whole - corner) | corner) == whole
    assert tuple(n - 1 for n in shape) in corner
    assert next(iter(whole)) == (0,) * len(shape)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (0, 3), (3, 0), (2, 3), (2, 0, 2), (2, 3, 2), (1, 2, 1, 2)])
def test_nothing_and_everything(shape: Shape) -> None:
    nothing, everything_ = Selection.empty(shape), Selection.all(shape)
    assert len(nothing) == 0
    assert len(everything_) == math.prod(shape)
    assert ~nothing == everything_
    assert ~everything_ == nothing
    assert nothing | everything_ == everything_
    assert nothing & everything_ == nothing
    assert everything_ ^ everything_ == nothing
    assert nothing.issubset(everything_)
    assert nothing.isdisjoint(everything_)
    assert everything_.issubset(nothing) == (math.prod(shape) == 0)
    assert everything_.mask().all()
    assert not nothing.mask().any()
    assert len(everything_.boxes) == min(math.prod(shape), 1)
