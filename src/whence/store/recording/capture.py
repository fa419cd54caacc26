"""Captures: converting the forms in which users give the lineage between two datasets to relations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from whence.errors import BadCells, BadType, ShapeMismatch, WhenceError
from whence.progress import counting
from whence.relation import Relation, compress
from whence.selection import Selection

Shape = tuple[int, ...]
Cells = npt.NDArray[np.int64]

CHUNK = 1 << 18  # tuples of a callable that are compressed at once


def relation_from(capture: object, output: str, out_shape: Shape, input: str, in_shape: Shape) -> Relation:
    """Convert a capture to a relation; errors name the two datasets.

    >>> relation_from("identity", "B", (2,), "A", (2,)).to_array().tolist()
    [[0, 0], [1, 1]]
    >>> relation_from(lambda index: [(index[0], 0), (index[0], 1)], "B", (2,), "A", (2, 2)).count()
    4
    """
    with naming(output, input):
        if isinstance(capture, Relation):
            return _of_shapes(capture, out_shape, in_shape)
        if isinstance(capture, str) and capture in ("whole", "identity"):
            return _relation_named(capture, out_shape, in_shape)
        if callable(capture) and not isinstance(capture, type):
            called = cast("Callable[[tuple[int, ...]], Iterable[Any]]", capture)
            return compress(_chunks(called, output, out_shape, input, in_shape), out_shape, in_shape)
        if isinstance(capture, (list, tuple)):
            return compress(_array_or_chunks(capture, len(out_shape) + len(in_shape)), out_shape, in_shape)
        if isinstance(capture, (str, os.PathLike)) and not os.path.exists(capture):
            raise BadType(f"there is no file {os.fspath(capture)!r}: give the path of a Parquet file of index tuples")
        return compress(cast("Any", capture), out_shape, in_shape)


@contextmanager
def naming(output: str, input: str) -> Iterator[None]:
    """Add the names of the two datasets to errors in the block."""
    try:
        yield
    except WhenceError as error:
        raise type(error)(f"the lineage of {output!r} from {input!r}: {error}") from error


def _of_shapes(relation: Relation, out_shape: Shape, in_shape: Shape) -> Relation:
    if (relation.out_shape, relation.in_shape) != (out_shape, in_shape):
        raise ShapeMismatch(
            f"the relation has the shapes {relation.out_shape} <- {relation.in_shape}, "
            f"the datasets have the shapes {out_shape} <- {in_shape}"
        )
    return relation


def _relation_named(capture: str, out_shape: Shape, in_shape: Shape) -> Relation:
    if capture == "whole":
        return Relation.whole(out_shape, in_shape)
    if out_shape != in_shape:
        raise ShapeMismatch(f"'identity' needs equal shapes, and these are {out_shape} <- {in_shape}")
    return Relation.identity(out_shape)


def _array_or_chunks(capture: list[Any] | tuple[Any, ...], columns: int) -> Any:
    """Convert a list of index tuples to an array; return any other list as an iterator of chunks."""
    if not capture:
        return np.empty((0, columns), dtype=np.int64)
    if isinstance(capture[0], (list, tuple, int, np.integer)):
        return _integers(capture, columns, "a list of tuples: output indices, then input indices")
    return iter(capture)


def _integers(rows: object, columns: int, expected: str) -> Cells:
    try:
        array = np.asarray(rows)
    except ValueError:  # rows of unequal lengths
        raise BadCells(f"expected {expected}, {columns} integers in each; they are of different lengths") from None
    if array.ndim == 2 and array.shape[1] == columns and not array.size:  # NumPy makes floats of [(), ()]
        return np.empty(array.shape, dtype=np.int64)
    if array.dtype.kind not in "iu" or array.ndim != 2 or array.shape[1] != columns:
        raise BadCells(
            f"expected {expected}, {columns} integers in each; got an array of {array.dtype} with shape {array.shape}"
        )
    if array.dtype.kind == "u" and array.size and int(array.max()) > np.iinfo(np.int64).max:
        raise BadCells(f"expected {expected}; {array.max()} is larger than 2^63 - 1")
    return array.astype(np.int64, copy=False)


def _chunks(
    capture: Callable[[tuple[int, ...]], Iterable[Any]], output: str, out_shape: Shape, input: str, in_shape: Shape
) -> Iterator[Cells]:
    """Call the capture for every output cell, and yield its results as arrays of index tuples."""
    parts: list[Cells] = []
    rows = 0
    for index in counting(np.ndindex(*out_shape), int(np.prod(out_shape, dtype=object)), f"{output} <- {input}"):
        try:
            inputs = _returned_cells(capture(index), len(in_shape), in_shape)
        except WhenceError as error:
            raise type(error)(f"for the output cell {index}, {error}") from error
        except Exception as error:
            error.add_note(f"while capturing the lineage of the cell {index} of {output!r} from {input!r}")
            raise
        if not len(inputs):
            continue
        outputs = np.broadcast_to(np.asarray(index, dtype=np.int64), (len(inputs), len(out_shape)))
        parts.append(np.concatenate([outputs, inputs], axis=1))
        rows += len(inputs)
        if rows >= CHUNK:
            yield np.concatenate(parts)
            parts, rows = [], 0
    yield np.concatenate(parts) if parts else np.empty((0, len(out_shape) + len(in_shape)), dtype=np.int64)


def _returned_cells(found: object, axes: int, in_shape: Shape) -> Cells:
    """Convert what a callable returned for one output cell to an array of input cells."""
    expected = "the capture to return a list of indices"
    if isinstance(found, Selection):
        if found.shape != in_shape:
            raise ShapeMismatch(f"the capture returned a selection of shape {found.shape}, not {in_shape}")
        return found.cells()
    if not isinstance(found, np.ndarray):
        if isinstance(found, (str, bytes)) or not isinstance(found, Iterable):
            raise BadCells(f"expected {expected} such as [{(0,) * axes}], not {found!r}")
        listed = list(found)
        if not listed:
            return np.empty((0, axes), dtype=np.int64)
        if axes == 1:  # an integer is an index of the one axis
            listed = [
                (item,) if isinstance(item, (int, np.integer)) and not isinstance(item, bool) else item
                for item in listed
            ]
        elif any(not isinstance(item, (list, tuple, np.ndarray)) for item in listed):
            raise BadCells(f"expected {expected} such as [{(0,) * axes}], not {found!r}")
        found = listed
    elif axes == 1 and found.ndim == 1:
        found = found[:, None]
    return _integers(found, axes, expected)


def paired(capture: object, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> list[tuple[tuple[str, str], object]]:
    """Return the captures with their (output, input) pairs; pairs without lineage are left out."""
    if not outputs or len(set(outputs)) != len(outputs):
        raise BadType(f"`outputs` must name each output once, and at least one; got {list(outputs)}")
    pairs = list(product(outputs, inputs))
    given: list[tuple[tuple[str, str], object]]
    if capture is None:
        given = []
    elif isinstance(capture, Mapping):
        strangers = [key for key in capture if key not in pairs]
        if strangers:
            raise BadType(
                f"the capture is for {strangers[0]!r}, and this operation has the pairs (output, input) {pairs}"
            )
        given = list(capture.items())
    elif not isinstance(capture, (list, tuple)):
        raise BadType(f"capture is a list with one capture for each (output, input): {pairs}")
    elif len(capture) != len(pairs):
        raise BadType(f"{len(capture)} captures for {len(pairs)} pairs: give one, or None, for each of {pairs}")
    else:
        given = list(zip(pairs, capture, strict=True))
    return [(pair, each) for pair, each in given if each is not None]
