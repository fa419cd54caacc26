"""Convert every form of cells to canonical boxes, and check every index.

Each function returns boxes (n, axes, 2) in canonical form, or raises an error that names what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from operator import index as exact_int
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.errors import BadCells, BadType, OutOfRange, ShapeMismatch, TooLarge
from whence.selection._boxes import read_only
from whence.selection._text import FORMS, indices_of_text

Shape = tuple[int, ...]
Boxes = NDArray[np.int64]

LONGEST_AXIS = 2**63 - 1
BOX_LIMIT = 2**26  # the most separate boxes that a slice with steps may select


def as_shape(shape: Any) -> Shape:
    """Return a shape as a tuple of sizes.

    >>> as_shape([3, 2]), as_shape(5), as_shape(())
    ((3, 2), (5,), ())
    """
    try:
        # Most shapes are tuples, and isinstance(x, Iterable) is slow.
        sizes = tuple(map(exact_int, shape)) if isinstance(shape, tuple | list | Iterable) else (exact_int(shape),)
    except TypeError:
        raise BadType(f"a shape is a tuple of whole numbers, such as (3, 2); got {shape!r}") from None
    for size in sizes:
        if not 0 <= size <= LONGEST_AXIS:
            raise BadCells(f"a shape has sizes from 0 to 2**63 - 1; got {shape!r}")
    return sizes


def boxes_of(cells: Any, shape: Shape) -> Boxes:
    """Return the boxes of cells in any form except text: see `Selection.of`."""
    if isinstance(cells, np.ndarray | np.bool_ | bool):
        if isinstance(cells, bool) or cells.dtype == np.bool_:
            return boxes_of_mask(cells, shape)
        return boxes_of_cells(cells.reshape(1) if cells.ndim == 0 and len(shape) == 1 else cells, shape)
    if isinstance(cells, slice) or cells is Ellipsis:
        return boxes_of_slices(cells, shape)
    if isinstance(cells, tuple):
        if any(isinstance(entry, slice) or entry is Ellipsis for entry in cells):
            return boxes_of_slices(cells, shape)
        if not any(isinstance(entry, tuple | list) for entry in cells):
            return read_only(boxes_of_one(cells, shape))
    if hasattr(cells, "__index__"):
        return read_only(boxes_of_one((cells,), shape))
    return boxes_of_cells(cells, shape)


def boxes_of_text(text: str, shape: Shape) -> Boxes:
    """Return the boxes of cells written as text."""
    indices = indices_of_text(text)
    if not indices and shape:
        raise BadCells(f"{text!r} names no cell; {FORMS}")
    try:
        boxes = [boxes_of_slices(index, shape) for index in indices or [()]]
    except BadCells as error:
        raise BadCells(f"{text!r}: {error}") from None
    return boxes[0] if len(boxes) == 1 else _core.normalize(np.concatenate(boxes))


def boxes_of_one(cell: Sequence[Any], shape: Shape) -> Boxes:
    """Return the box of a single index tuple."""
    try:
        at = [_int(i) for i in cell]
    except TypeError:
        raise BadCells(_not_a_cell(cell, shape)) from None
    if len(at) != len(shape):
        raise BadCells(_wrong_rank(f"the index {tuple(at)}", len(at), shape))
    if not _in_range(at, shape, from_end=True):
        raise outside(at, shape, from_end=True)
    return np.array([[[i % n] * 2 for i, n in zip(at, shape, strict=True)]], np.int64).reshape(1, len(shape), 2)


def boxes_of_cells(cells: Any, shape: Shape) -> Boxes:
    """Return the boxes of many cells: an integer array (n, axes), or index tuples in any order."""
    array = _as_cells(cells, shape)
    sides = np.array(shape, dtype=np.int64)
    bad = _core.first_outside(array, sides)
    if bad is not None:  # perhaps negative indices
        if not ((array >= -sides) & (array < sides)).all():
            wrong = next(each for each in array.tolist() if not _in_range(each, shape, from_end=True))
            raise outside(wrong, shape, from_end=True)
        array = np.ascontiguousarray(array % sides)
    return _core.boxes_of_cells(array)


def boxes_of_mask(mask: Any, shape: Shape | None = None) -> Boxes:
    """Return the boxes of the true cells of a boolean array."""
    array = np.asarray(mask)
    if array.dtype != np.bool_:
        raise BadCells(f"a mask must be an array of booleans, not of {array.dtype}: write `array != 0`")
    if shape is not None and array.shape != shape:
        raise ShapeMismatch(f"the mask has the shape {array.shape}, and the dataset has {shape}")
    return _core.boxes_of_mask(np.asarray(array, order="C").view(np.uint8))


def boxes_of_boxes(boxes: Any, shape: Shape) -> Boxes:
    """Return the canonical form of boxes with inclusive bounds, in any order, overlapping or not."""
    array = _integers(boxes if isinstance(boxes, np.ndarray) else _as_list(boxes), "bounds")
    axes = len(shape)
    if array.size == 0 and (array.ndim < 2 or array.shape[0] == 0):
        array = array.reshape(0, axes, 2)
    if axes == 0 and array.shape[1:] == (0,):  # [[]] is one box without axes, as a list
        array = array.reshape(array.shape[0], 0, 2)
    if array.ndim != 3 or array.shape[1:] != (axes, 2):
        raise BadCells(
            f"boxes of a dataset with the shape {shape} are an array (n, {axes}, 2) of inclusive bounds [lo, hi]; "
            f"got one of the shape {array.shape}"
        )
    if _core.first_outside(array, np.array(shape, dtype=np.int64)) is not None or (array[..., 0] > array[..., 1]).any():
        _check_bounds(array, shape)
    return _core.normalize(array)


def _check_bounds(boxes: Boxes, shape: Shape) -> None:
    """Find and report the wrong box. [lo, lo - 1] is empty; a smaller upper bound is an error."""
    lo, hi = boxes[..., 0], boxes[..., 1]
    for i in np.flatnonzero(((lo > hi) & (hi != lo - 1)).any(axis=1))[:1]:
        raise BadCells(f"box {boxes[i].tolist()} ends before it starts; a box is [lo, hi] on each axis, both inclusive")
    full = boxes[(lo <= hi).all(axis=1)]
    bad = _core.first_outside(np.ascontiguousarray(full), np.array(shape, dtype=np.int64))
    if bad is not None:
        corner = next(c for c in (full[bad, :, 0].tolist(), full[bad, :, 1].tolist()) if not _in_range(c, shape))
        raise OutOfRange(f"box {full[bad].tolist()}: {outside(corner, shape)}")


def boxes_of_slices(index: Any, shape: Shape) -> Boxes:
    """Return the boxes of an index of slices, integers and `...`, one entry for each axis.

    Missing axes at the end are selected completely, as in NumPy, except after a single integer: `(3,)` in a dataset of
    two axes may be a row or a mistake.
    """
    entries = _entries_of_index(index, shape)
    chosen = [
        _indices_on_axis(entry, size, axis, shape)
        for axis, (entry, size) in enumerate(zip(entries, shape, strict=True))
    ]
    runs = [len(indices) if indices.step > 1 else min(len(indices), 1) for indices in chosen]
    total = math.prod(runs)
    if total > BOX_LIMIT:
        raise TooLarge(f"{_index_text(entries)} has steps and selects {total:,} separate boxes; select fewer at a time")
    boxes = np.empty((total, len(shape), 2), dtype=np.int64)
    if total == 1:
        boxes[0] = [[indices[0], indices[-1]] for indices in chosen] or np.empty((0, 2))
    elif total:
        # The product of canonical axes is canonical: all intervals have the same rest, and no two of them touch.
        grid = boxes.reshape(*runs, len(shape), 2)
        for axis, (indices, count) in enumerate(zip(chosen, runs, strict=True)):
            # np.arange(start, stop, step) would compute the count in floating point.
            lo = indices.start + indices.step * np.arange(count, dtype=np.int64)
            span = 0 if count > 1 else len(indices) - 1
            grid[..., axis, :] = np.stack([lo, lo + span], axis=-1).reshape(-1, *(1,) * (len(shape) - 1 - axis), 2)
    return read_only(boxes)


def _entries_of_index(index: Any, shape: Shape) -> list[Any]:
    given = list(index) if isinstance(index, tuple) else [index]
    dots = [i for i, entry in enumerate(given) if entry is Ellipsis]
    missing = len(shape) - (len(given) - len(dots))
    if len(dots) > 1:
        raise BadCells(f"'...' may occur only once in an index; got {_index_text(given)}")
    if missing < 0:
        raise BadCells(_wrong_rank(f"the index {_index_text(given)}", len(given) - len(dots), shape))
    if dots:
        return [*given[: dots[0]], *[slice(None)] * missing, *given[dots[0] + 1 :]]
    if missing and not any(isinstance(entry, slice) for entry in given):
        raise BadCells(_wrong_rank(f"the index {_index_text(given)}", len(given), shape))
    return [*given, *[slice(None)] * missing]


def _indices_on_axis(entry: Any, size: int, axis: int, shape: Shape) -> range:
    """Return the indices that one entry of an index selects on its axis, in ascending order."""
    if isinstance(entry, slice):
        try:
            chosen = range(size)[entry]
        except (TypeError, ValueError) as error:
            raise BadCells(f"the slice {_index_text([entry])} on axis {axis}: {error}") from None
        if chosen.step < 0:
            chosen = chosen[::-1]
        return chosen if len(chosen) > 1 else range(chosen.start, chosen.start + len(chosen))
    try:
        at = _int(entry)
    except TypeError:
        raise BadCells(
            f"an index consists of integers, slices and '...'; on axis {axis} it has {_shortened_list(entry)}. Pass"
            " cells as a "
            "list of index tuples (np.argwhere gives them), and a mask as a boolean array"
        ) from None
    if not -size <= at < size:
        raise OutOfRange(_off_axis(f"index {at} on axis {axis}", at, axis, shape))
    at %= size
    return range(at, at + 1)


# Cells as arrays ------------------------------------------------------------------------------------------------------


def _as_cells(cells: Any, shape: Shape) -> Boxes:
    axes = len(shape)
    given = cells if isinstance(cells, np.ndarray) else _as_list(cells)
    if axes == 0 and isinstance(given, list) and all(isinstance(cell, tuple) and not cell for cell in given):
        return np.empty((len(given), 0), dtype=np.int64)
    array = _integers(given, "indices")
    if array.size == 0 and (array.ndim < 2 or array.shape[0] == 0):
        return np.empty((0, axes), dtype=np.int64)
    if axes == 1 and array.ndim == 1:
        return array.reshape(-1, 1)
    if array.ndim != 2:
        raise BadCells(
            f"cells of a dataset with the shape {shape} are an array (n, {axes}) of indices, one row per cell; got"
            f" one of the shape {array.shape}"
        )
    if array.shape[1] != axes:
        raise BadCells(_wrong_rank(f"the cell {tuple(array[0].tolist())}", array.shape[1], shape))
    return array


def _as_list(cells: Any) -> list[Any]:
    if isinstance(cells, str | bytes) or not isinstance(cells, Iterable):
        raise BadCells(f"cells are an integer array (n, axes) or a list of index tuples; got {cells!r}")
    return list(cells)


def _integers(given: NDArray[Any] | list[Any], what: str) -> Boxes:
    """Return an array or a list of (tuples of) integers as a contiguous int64 array."""
    if isinstance(given, list):
        try:
            array = np.array(given)
        except ValueError:
            raise BadCells(f"all cells need the same number of {what}: {_shortened_list(given)}") from None
        except OverflowError:
            raise _not_integers(given, what) from None
    else:
        array = given
    kind = array.dtype.kind
    if array.size == 0 and kind in "fiu":
        return np.empty(array.shape, dtype=np.int64)
    if kind == "b":
        raise BadCells(f"{what} are integers, not booleans; pass a mask to from_mask")
    if kind == "u" and int(array.max()) > LONGEST_AXIS:
        raise _not_integers(array.ravel().tolist(), what)
    if kind not in "iu":
        raise _not_integers(given if isinstance(given, list) else array.ravel()[:1].tolist(), what)
    return np.asarray(array, dtype=np.int64, order="C")


def _not_integers(given: Iterable[Any], what: str) -> BadCells | OutOfRange:
    """Return the error for the first value that cannot be an index."""
    for value in _flattened(given):
        try:
            if abs(_int(value)) > LONGEST_AXIS:
                return OutOfRange(f"{value} is too large for an index")
        except TypeError:
            return BadCells(f"{what} are integers, and {value!r} is not one")
    return BadCells(f"{what} are integers; got {_shortened_list(given)}")


def _flattened(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, list | tuple | np.ndarray):
            yield from _flattened(value)
        else:
            yield value


def _int(value: Any) -> int:
    """Return an integer of any type except bool: True is a value of a mask, not the index 1."""
    if value is True or value is False:
        raise TypeError
    return exact_int(value)


# Messages -------------------------------------------------------------------------------------------------------------


def outside(cell: Sequence[int], shape: Shape, *, from_end: bool = False) -> OutOfRange:
    """Return the error for a cell outside the dataset; with `from_end`, negative indices count from the end of an
    axis.
    """
    least = [-size if from_end else 0 for size in shape]
    axis = next(a for a, (i, size) in enumerate(zip(cell, shape, strict=True)) if not least[a] <= i < size)
    return OutOfRange(_off_axis(f"cell {tuple(cell)}", cell[axis], axis, shape))


def _in_range(cell: Sequence[int], shape: Shape, *, from_end: bool = False) -> bool:
    return all((-size if from_end else 0) <= i < size for i, size in zip(cell, shape, strict=True))


def _off_axis(what: str, i: int, axis: int, shape: Shape) -> str:
    size = shape[axis]
    there = f"has the indices 0 to {size - 1}" if size else "has no cells"
    return f"{what} is outside the shape {shape}: axis {axis} {there}"


def _wrong_rank(what: str, has: int, shape: Shape) -> str:
    axes = len(shape)
    indices = "1 index" if has == 1 else f"{has} indices"
    wanted = "1 axis" if axes == 1 else f"{axes} axes"
    hint = ""
    if 0 < has < axes:
        hint = "; for whole axes use slices (':' in text), or '...' for all the others"
    elif axes == 1 and has > 1:
        hint = "; pass several cells as a list, [0, 1], or as text, '0;1'"
    return f"{what} has {indices}, and the shape {shape} has {wanted}{hint}"


def _not_a_cell(cell: Sequence[Any], shape: Shape) -> str:
    if any(isinstance(part, np.ndarray) for part in cell):
        return "a tuple of arrays is not a list of cells: np.argwhere gives an array (n, axes)"
    return f"an index of the shape {shape} is a tuple of {len(shape)} integers; got {_shortened_list(list(cell))}"


def _shortened_list(values: Any) -> str:
    text = repr(values)
    return text if len(text) <= 80 else text[:77] + "..."


def _index_text(entries: Sequence[Any]) -> str:
    """Return an index as text, as between brackets."""
    parts = []
    for entry in entries:
        if isinstance(entry, slice):
            ends = ["" if end is None else str(end) for end in (entry.start, entry.stop, entry.step)]
            parts.append(":".join(ends if ends[2] else ends[:2]))
        else:
            parts.append("..." if entry is Ellipsis else str(entry))
    return f"[{', '.join(parts)}]"
