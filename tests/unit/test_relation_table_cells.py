"""Relations between tables that know their cells: against the tuples that they were made of."""

from __future__ import annotations

import json
import struct
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import whence as wh
from whence.errors import Damaged, FutureVersion
from whence.relation.table_cells import LENGTH, MAGIC, TableRelation, restored
from whence.relation.tables import over_columns
from whence.spark.sources.numbering import Numbering
from whence.spark.tables.cell_pieces import Pieces
from whence.spark.tables.stored_rows import whole_rows

ROWS, COLUMNS, SOURCE_ROWS, SOURCE_COLUMNS = 4, 3, 5, 3
SHAPES = (ROWS, COLUMNS), (SOURCE_ROWS, SOURCE_COLUMNS)

pairs = st.lists(st.tuples(st.integers(0, ROWS - 1), st.integers(0, SOURCE_ROWS - 1)), max_size=8)
places = st.frozensets(st.integers(0, SOURCE_COLUMNS - 1), min_size=1)
entered = st.lists(st.tuples(st.integers(0, COLUMNS - 1), places, st.integers(0, 2)), max_size=6)


def made(terms: list[Any], every: list[list[tuple[int, int]]]) -> tuple[TableRelation, set[tuple[int, int, int, int]]]:
    """A relation of which each column was entered by some pairs of rows, and all tuples of cells in it."""
    arrays = [np.array(each, np.int64).reshape(-1, 2).T for each in every]
    parts = [(out, SimpleNamespace(occurrence=0, columns=own, outs=arrays[at][0], ids=arrays[at][1]))
             for out, own, at in terms]  # fmt: skip
    of = {column: tuple(each for out, each in parts if out == column) for column in range(COLUMNS)}
    pieces = Pieces(ROWS, Numbering.of([(0, SOURCE_ROWS)]))
    whole = np.concatenate(arrays, axis=1)
    rows = over_columns(pieces.add(whole[0], whole[1]), COLUMNS, SOURCE_COLUMNS)
    cells = pieces.cells(SimpleNamespace(of=of, reasons=()), [0])  # type: ignore[arg-type] # what it reads of them
    tuples = {(a, out, b, column) for out, own, at in terms for a, b in every[at] for column in own}
    return TableRelation.of(rows, pieces.relations[1:], {"value": cells}), tuples


@settings(max_examples=60, deadline=None)
@given(entered, st.lists(pairs, min_size=3, max_size=3), st.data())
def test_cells_are_those_that_were_given(terms: list[Any], every: list[list[tuple[int, int]]], data: Any) -> None:
    relation, tuples = made(terms, every)
    again = restored(relation.to_bytes())
    assert isinstance(again, TableRelation)
    assert again == relation
    ways: list[tuple[Literal["backward", "forward"], int, int]] = [("backward", 0, 1), ("forward", 1, 0)]
    for direction, here, there in ways:
        shape = SHAPES[here]
        asked = data.draw(st.sets(st.tuples(*(st.integers(0, each - 1) for each in shape)), max_size=5))
        selection = wh.Selection.of(sorted(asked), shape) if asked else wh.Selection.empty(shape)
        found = again.traced_cells(selection, direction, "value").selection
        halves = [(each[:2], each[2:]) for each in tuples]
        assert set(map(tuple, found.cells().tolist())) == {each[there] for each in halves if each[here] in asked}


@settings(max_examples=100, deadline=None)
@given(st.sets(st.tuples(st.integers(0, 4), st.integers(0, 2))))
def test_whole_rows_are_those_with_all_their_cells(asked: set[tuple[int, int]]) -> None:
    selection = wh.Selection.of(sorted(asked), (5, 3)) if asked else wh.Selection.empty((5, 3))
    whole = {row for row, _ in asked if all((row, column) in asked for column in range(3))}
    assert set(map(tuple, whole_rows(selection).cells().tolist())) == {(row, c) for row in whole for c in range(3)}


def test_equal_pairs_are_stored_once() -> None:
    relation, _ = made([(0, frozenset({0}), 0), (1, frozenset({1, 2}), 1), (2, frozenset({0}), 2)],
                       [[(0, 1), (2, 3)], [(2, 3), (0, 1)], [(0, 1)]])  # fmt: skip
    header = _header(relation.to_bytes())[0]
    assert len(header["sizes"]) == 2, "the pairs of all rows, which are those of two columns, and those of the third"
    assert relation.verify()


def _header(data: bytes) -> tuple[dict[str, Any], bytes]:
    start = len(MAGIC) + LENGTH.size
    (length,) = LENGTH.unpack(data[len(MAGIC) : start])
    return json.loads(data[start : start + length]), data[start + length :]


def _with(header: Any, rest: bytes) -> bytes:
    text = json.dumps(header).encode()
    return MAGIC + LENGTH.pack(len(text)) + text + rest


def test_bytes_that_are_no_such_relation() -> None:
    data = made([(0, frozenset({0}), 0)], [[(0, 1)], [], []])[0].to_bytes()
    header, rest = _header(data)
    for length in range(len(MAGIC), len(data), 7):
        with pytest.raises(Damaged):
            restored(data[:length], "the file")
    between = {"value": {"pieces": [[0, [[[COLUMNS], [0]]]]]}}
    wrongs: list[Any] = [
        {**header, "sizes": []},
        {**header, "sizes": [1]},
        {**header, "cells": between},
        [],
        {"version": 1},
        {**header, "cells": {"value": {"pieces": [[9, [[[0], [0]]]]]}}},
    ]
    for wrong in wrongs:
        with pytest.raises(Damaged, match="materialize the run again"):
            restored(_with(wrong, rest), "the file")
    with pytest.raises(Damaged):
        restored(MAGIC + struct.pack("<Q", 1 << 60) + b"{}", "the file")
    with pytest.raises(FutureVersion):
        restored(_with({**header, "version": 2}, rest), "the file")
