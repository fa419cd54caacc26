"""Files that hold a tuple in two rows, in every way that rows can meet: found by counting and by the check of a log."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whence as wh
from whence import _core
from whence.errors import Damaged
from whence.relation import _relation, columns, stored
from whence.relation.blocks import pack
from whence.testing.forge import BLOCKS, ForgedPart, affine, constant, file_of, inline

N = 1 << 40
LINE = ((N,), (N,))
SIDE = 1 << 20
PLANE = ((SIDE, SIDE), (SIDE,))
ROOT = (-1, 0, 0)


def one(axes: list[tuple[int, int, int]], *bounds: tuple[int, int]) -> ForgedPart:
    """One row: `lo` and `hi` of each axis."""
    return ForgedPart(1, [*(constant(lo) for lo, _ in bounds), *(constant(hi - lo) for lo, hi in bounds)], axes)


FORTH, BACK = [ROOT, (0, 1, 1)], [(1, 1, 1), ROOT]
"""The input is the output plus a number; the output is the input plus a number."""

TWICE: dict[str, bytes] = {
    "a diagonal and its mirror": file_of(*LINE, [one(FORTH, (0, N // 2), (5, 5)), one(BACK, (-5, -5), (9, N // 2))]),
    "a diagonal that crosses another": file_of(
        *LINE, [one(FORTH, (0, N // 2), (0, 0)), one([ROOT, (0, -1, -1)], (0, N // 2), (N // 2, N // 2))]
    ),
    "strides that meet once": file_of(  # (x, 7x) and (4y - 999,972, y): y = 259,252, x = 37,036
        *LINE,
        [one([ROOT, (0, 7, 7)], (0, N // 8), (0, 0)), one([(1, 4, 4), ROOT], (-999_972, -999_972), (250_000, N // 8))],
    ),
    "windows of strides": file_of(
        *LINE, [one([ROOT, (0, 6, 6)], (0, N // 8), (0, 1)), one([ROOT, (0, 4, 4)], (1, N // 8), (4, 5))]
    ),
    "a triangle and a row below it": file_of(
        *LINE, [one([ROOT, (0, 0, 1)], (0, N // 2), (0, 0)), one([ROOT, ROOT], (N // 4, N // 4 + 9), (N // 4, N - 1))]
    ),
    "two triangles, each with the other's parent": file_of(
        *LINE, [one([ROOT, (0, 0, 1)], (0, N // 2), (0, 0)), one([(1, 0, 1), ROOT], (0, 0), (0, N // 2))]
    ),
    "ties of three axes, each another way": file_of(
        *PLANE,
        [
            one([ROOT, (0, 1, 1), (1, 2, 2)], (0, SIDE // 8), (3, 3), (1, 1)),
            one([(1, 1, 1), ROOT, (0, 2, 2)], (-3, -3), (3, SIDE // 8), (7, 7)),
        ],
    ),
    "evenly stepped rows that overlap": file_of(
        *LINE, [ForgedPart(1 << 38, [affine(0, 1), affine(0, 2), constant(5), constant(2)])]
    ),
    "evenly stepped rows of two parts": file_of(
        *LINE,
        [
            ForgedPart(1 << 38, [affine(0, 2), affine(0, 3), constant(0), constant(0)]),
            ForgedPart(1 << 30, [affine(1 << 30, 5), affine(3 << 29, 1), constant(0), constant(4)]),
        ],
    ),
    "rows that widen as they step": file_of(
        *LINE, [ForgedPart(1 << 20, [affine(0, 100), constant(0), affine(0, 1), constant(0)])]
    ),
    "one of many rows, in another part": file_of(
        *LINE,
        [
            ForgedPart(5, [inline(0, 10, 20, 40, 80), inline(9, 2, 7, 4, 1), constant(3), constant(0)]),
            one(FORTH, (40, 50), (-38, -38)),
        ],
    ),
    "rows of two blocks": file_of(
        (100,), (100,),
        [ForgedPart(6, [BLOCKS] + [constant(0)] * 3, bits=1, bounds=(1, 7, 5, 5, 9, 8, 0, 0, 0, 0, 0, 0),
                    blocks=[[pack(np.array(x)) for x in ([1, 5], [7, 9], [5, 8])]])],
    ),
    "a view": file_of(
        (6, N), (N,), [one(FORTH, (0, N - 1), (0, 0)), one(BACK, (0, 0), (N // 2, N - 1))], views=((6 * N,), None)
    ),
}  # fmt: skip

ONCE: dict[str, bytes] = {
    "a diagonal and one beside it": file_of(*LINE, [one(FORTH, (0, N // 2), (5, 5)), one(BACK, (-6, -6), (9, N // 2))]),
    "strides that never meet": file_of(
        *LINE, [one([ROOT, (0, 6, 6)], (0, N // 8), (0, 0)), one([ROOT, (0, 4, 4)], (0, N // 8), (3, 3))]
    ),
    "triangles on both sides of a diagonal": file_of(
        *LINE, [one([ROOT, (0, 0, 1)], (0, N // 2), (0, 0)), one([(1, 0, 1), ROOT], (0, -1), (1, N // 2))]
    ),
    "evenly stepped rows": file_of(
        *LINE, [ForgedPart(1 << 38, [affine(0, 1), affine(0, 2), constant(5), constant(1)])]
    ),
    "evenly stepped rows of two parts": file_of(
        *LINE,
        [
            ForgedPart(1 << 38, [affine(0, 2), affine(0, 3), constant(0), constant(0)]),
            ForgedPart(1 << 38, [affine(1, 2), affine(0, 1), constant(0), constant(4)]),
        ],
    ),
}


@pytest.mark.parametrize("name", TWICE)
def test_a_tuple_in_two_rows_is_found(name: str) -> None:
    for use in (wh.Relation.count, wh.Relation.verify, wh.Relation.parts, lambda relation: relation.inverse, repr):
        with pytest.raises(Damaged, match="two of its rows hold the same tuple"):
            use(wh.Relation.from_bytes(TWICE[name]))


@pytest.mark.parametrize("name", ONCE)
def test_rows_that_share_nothing_pass(name: str) -> None:
    assert wh.Relation.from_bytes(ONCE[name]).verify()


@pytest.mark.parametrize("name", [*TWICE, *ONCE])
def test_the_check_of_a_log_says_which(name: str, tmp_path: Path) -> None:
    import sqlite3

    from whence.relation.parts import hash_of

    data = TWICE[name] if name in TWICE else ONCE[name]
    relation = wh.Relation.from_bytes(data)
    with wh.open(tmp_path / "log") as log:
        log.array("a", shape=relation.in_shape)
        log.array("b", shape=relation.out_shape)
        log.lineage("b", "a", wh.Relation.whole(relation.out_shape, relation.in_shape))
    blob = tmp_path / "log" / "blobs" / hash_of(data)[:2] / hash_of(data)
    blob.parent.mkdir(exist_ok=True)
    blob.write_bytes(data)
    with sqlite3.connect(tmp_path / "log" / "catalog.sqlite") as connection:
        tuples = str(relation.count()) if name in ONCE and name not in TWICE else "1"
        changed = connection.execute(
            "update relations set hash = ?, size = ?, boxes = ?, tuples = ?, data = null",
            (hash_of(data), len(data), len(relation), tuples),
        )
        assert changed.rowcount == 1
        connection.execute("update was_derived_from set relation = ?", (hash_of(data),))
    connection.close()
    with wh.open(tmp_path / "log") as log:
        problems = [str(problem) for problem in log.check()]
        if name in TWICE:
            assert len(problems) == 1
            assert "two of its rows hold the same tuple" in problems[0]
        else:
            assert problems == []


def test_what_cannot_be_decided_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with wh.open(tmp_path / "log") as log:
        log.array("a", shape=(9,))
        log.array("b", shape=(9,))
        log.lineage("b", "a", lambda index: [index[0]])
        assert log.check().ok

    class Undecided(_core.Table):
        def disjoint(self) -> None:
            return None

    monkeypatch.setattr(_core, "Table", Undecided)
    monkeypatch.setattr(stored, "FEW_TUPLES", 0)
    with wh.open(tmp_path / "log") as log:
        (problem,) = log.check()
        assert str(problem).startswith("b <- a: not decided: whether two rows hold the same tuple")
        assert log.backward("b", [(3,)], to="a").cells().tolist() == [[3]]


def test_rows_that_do_not_fit_into_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pieces whose bounds meet are compared two at a time; too many of them are left undecided."""
    for name in ("USUAL", "SMALL", "LARGE"):
        monkeypatch.setattr(columns, name, 1 << 4)
    inputs = np.random.default_rng(0).permutation(600)
    honest = wh.compress(np.stack([np.arange(600), inputs], axis=1), (600,), (600,)).to_bytes()
    rows = np.stack([[*range(599), 0], [*inputs[:-1], inputs[0]]])  # the last row is the first again
    blocks = [np.split(column, range(16, 600, 16)) for column in rows]
    part = ForgedPart(
        600,
        [BLOCKS, BLOCKS, constant(0), constant(0)],
        bits=4,
        blocks=[[pack(block) for block in column] for column in blocks],
        bounds=[int(bound(block)) for column in blocks for bound in (np.min, np.max) for block in column],
    )
    forged = file_of((600,), (600,), [part])
    monkeypatch.setattr(_relation, "LOAD_LIMIT", 1 << 5)
    monkeypatch.setattr(stored, "PIECE", 1 << 5)
    assert wh.Relation.from_bytes(honest).verify()
    with pytest.raises(Damaged, match="the same tuple"):
        wh.Relation.from_bytes(forged).verify()
    monkeypatch.setattr(stored, "NEIGHBOURS", 0)
    assert not wh.Relation.from_bytes(forged).verify()
