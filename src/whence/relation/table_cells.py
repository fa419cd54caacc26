"""Relations between tables that also store cells: for each pair of rows, which columns came from which.

Columns of a table mostly share their rows: a sum and a key of a group come from the same ones. So a few relations
between rows are stored, each once, and for each kind of lineage a short list of the columns that each relates.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.errors import BadType, Damaged, FutureVersion
from whence.relation._relation import Relation
from whence.relation.layout import Shape
from whence.relation.protocol import Traced
from whence.relation.stored import Stored
from whence.selection import Selection

MAGIC = b"whence-table-cells\n"
VERSION = 1
LENGTH = struct.Struct("<Q")
MOST_HEADER = 1 << 26  # the most bytes; more cannot be a list of columns

Ints = NDArray[np.int64]
Columns = tuple[int, ...]
Between = tuple[tuple[Columns, Columns], ...]
"""Columns of the output, each with the columns of the input that they came from."""

Direction = Literal["backward", "forward"]


@dataclass(frozen=True, slots=True)
class Cells:
    """The cells of one kind of lineage: indices of relations between rows, with the columns that each relates.

    `reason` says why these cells are a superset of the lineage; None if they are not.
    """

    pieces: tuple[tuple[int, Between], ...]
    reason: str | None = None


class TableRelation(Relation):
    """Cells of an output table <- cells of another, by rows; and for some kinds of lineage, which of these cells count.

    As a `Relation`, it relates rows: all cells of one row come from all cells of the other. `traced_cells` is finer.

    >>> from whence.relation import compress
    >>> from whence.relation.tables import over_columns
    >>> rows = compress([[0, 0], [0, 1], [1, 2]], (2,), (3,))
    >>> made = TableRelation.of(over_columns(rows, 2, 2), [compress([[0, 1], [1, 2]], (2,), (3,))],
    ...     {"value": Cells(((0, (((0,), (0,)),)), (1, (((1,), (1,)),))))})
    >>> made
    TableRelation((2, 2) <- (3, 2), 12 tuples in 2 boxes, cells of value)
    >>> made.traced_cells(Selection.parse("0,:", (2, 2)), "backward", "value").selection
    Selection(shape=(3, 2), 3 cells: [0, 0], [1, 0:2])
    >>> restored(made.to_bytes()).traced_cells(Selection.parse("1,1", (3, 2)), "forward", "value").selection
    Selection(shape=(2, 2), 1 cell: [0, 1])
    """

    __slots__ = ("_between", "_pieces")

    def __init__(
        self, out_shape: Shape, in_shape: Shape, held: _core.Table | Stored, pieces: Sequence[Relation] = (),
        cells: Mapping[str, Cells] | None = None,
    ) -> None:  # fmt: skip
        super().__init__(out_shape, in_shape, held)
        self._pieces, self._between = tuple(pieces), dict(cells or {})

    @classmethod
    def of(cls, rows: Relation, pieces: Sequence[Relation], cells: Mapping[str, Cells]) -> TableRelation:
        """Make a relation from one between rows, over all columns, and further relations between rows alone.

        In `cells`, piece 0 is `rows`, and the next ones are `pieces`.
        """
        held = rows._table if rows._table is not None else rows._held
        for each in pieces:
            if (each.out_shape, each.in_shape) != (rows.out_shape[:1], rows.in_shape[:1]):
                raise BadType(f"a piece relates rows only, {rows.out_shape[:1]} <- {rows.in_shape[:1]}, not {each}")
        return cls(rows.out_shape, rows.in_shape, held, pieces, cells)

    @property
    def numbers(self) -> int:
        """The number of integers that all rows of all pieces need in memory."""
        return super().numbers + sum(each.numbers for each in self._pieces)

    @property
    def lineages(self) -> tuple[str, ...]:
        """The kinds of lineage for which cells are stored."""
        return tuple(self._between)

    def traced_cells(self, selection: Selection, direction: Direction, lineage: str) -> Traced:
        """Return the cells of the other table that count for these, by one of `lineages`."""
        known, backward = self._between[lineage], direction == "backward"
        there = self._in_shape if backward else self._out_shape
        boxes: list[Ints] = []
        for number, between in known.pieces:
            asked: dict[bytes, Ints] = {}  # columns that are asked about in the same rows share their answer
            for outs, ins in between:
                here, other = (outs, ins) if backward else (ins, outs)
                spans = _spans(selection.boxes, here)
                if len(spans):
                    key = spans.tobytes()
                    found = asked[key] = asked[key] if key in asked else self._rows(number, spans, backward)
                    boxes += [_box(found, low, high) for low, high in _runs(other)]
        empty = not sum(map(len, boxes))
        made = Selection.empty(there) if empty else Selection.from_boxes(np.concatenate(boxes), there)
        return Traced(made, known.reason, "cells")

    def _rows(self, number: int, spans: Ints, backward: bool) -> Ints:
        """Return the ranges of rows that one piece relates to these ranges of rows."""
        piece: Relation = self if number == 0 else self._pieces[number - 1]
        shape = self._out_shape if backward else self._in_shape
        if number == 0:
            boxes = np.concatenate([spans[:, None], np.broadcast_to([[[0, shape[1] - 1]]], (len(spans), 1, 2))], 1)
            asked = Selection.from_boxes(boxes, shape)
        else:
            asked = Selection.from_boxes(spans[:, None], shape[:1])
        found: Ints = (piece.backward(asked) if backward else piece.forward(asked)).boxes[:, 0]
        return found

    def verify(self) -> bool:
        """Read all of it and validate it. Raise Damaged if anything is wrong."""
        decided = [super().verify(), *(each.verify() for each in self._pieces)]
        return all(decided)

    def to_bytes(self) -> bytes:
        """Return the relation as the bytes of its file."""
        parts = [super().to_bytes(), *(each.to_bytes() for each in self._pieces)]
        cells = {
            lineage: {
                "pieces": [[at, [[list(o), list(i)] for o, i in between]] for at, between in each.pieces],
                **({"reason": each.reason} if each.reason else {}),
            }
            for lineage, each in self._between.items()
        }
        header = json.dumps({"version": VERSION, "sizes": [len(each) for each in parts], "cells": cells}).encode()
        return b"".join([MAGIC, LENGTH.pack(len(header)), header, *parts])

    def __repr__(self) -> str:
        known = " and ".join(self._between) or "nothing"
        return f"Table{super().__repr__()[:-1]}, cells of {known})"


def is_table(data: bytes | memoryview) -> bool:
    """Whether the bytes are those of a relation between tables with cells."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def restored(data: bytes | memoryview, name: str = "the stored relation") -> Relation:
    """Make a relation from the bytes of its file, with cells if it has them. Errors call it `name`."""
    if not is_table(data):
        return Relation.from_bytes(data, name)
    start = len(MAGIC) + LENGTH.size
    try:
        (length,) = LENGTH.unpack(data[len(MAGIC) : start])
        if length > MOST_HEADER:
            raise ValueError(f"a header of {length:,} bytes")
        header = json.loads(bytes(data[start : start + length]))
        if int(header["version"]) > VERSION:
            raise FutureVersion(f"{name} was written by a newer whence: upgrade to read it")
        sizes = [int(each) for each in header["sizes"]]
        if not sizes or min(sizes) < 0 or start + length + sum(sizes) != len(data):
            raise ValueError("its parts have another total length")
        ends = (start + length + np.cumsum(sizes)).tolist()
        parts = [Relation.from_bytes(data[end - size : end], name) for end, size in zip(ends, sizes, strict=True)]
        rows = parts[0]
        cells = {str(key): _cells(each, len(parts), rows) for key, each in header["cells"].items()}
        return TableRelation.of(rows, parts[1:], cells)
    except (LookupError, TypeError, ValueError, AttributeError, struct.error, BadType) as error:
        raise Damaged(f"{name} is damaged: {error}; restore it from a backup, or materialize the run again") from error


def _cells(held: Any, pieces: int, rows: Relation) -> Cells:
    """Return the cells of one kind of lineage in a header; any error means damage."""
    widths = rows.out_shape[1], rows.in_shape[1]
    found = []
    for number, between in held["pieces"]:
        sides = tuple((_columns(outs, widths[0]), _columns(ins, widths[1])) for outs, ins in between)
        if type(number) is not int or not 0 <= number < pieces:
            raise ValueError(f"there is no piece {number}")
        found.append((number, sides))
    return Cells(tuple(found), None if "reason" not in held else str(held["reason"]))


def _columns(held: Any, width: int) -> Columns:
    if not held or any(type(each) is not int or not 0 <= each < width for each in held):
        raise ValueError(f"there are no columns {held}")
    return tuple(held)


def _spans(boxes: Ints, columns: Columns) -> Ints:
    """Return the row ranges of the boxes that overlap one of the columns."""
    met = np.zeros(len(boxes), bool)
    for low, high in _runs(columns):
        met |= (boxes[:, 1, 0] <= high) & (boxes[:, 1, 1] >= low)
    spans: Ints = boxes[met, 0]
    return spans


def _box(spans: Ints, low: int, high: int) -> Ints:
    columns = np.broadcast_to(np.array([low, high], np.int64), spans.shape)
    return np.stack([spans, columns], axis=1)


def _runs(columns: Iterable[int]) -> list[tuple[int, int]]:
    """Return ranges of consecutive integers.

    >>> _runs((0, 1, 2, 5))
    [(0, 2), (5, 5)]
    """
    found: list[tuple[int, int]] = []
    for each in sorted(columns):
        if found and found[-1][1] == each - 1:
            found[-1] = found[-1][0], each
        else:
            found.append((each, each))
    return found
