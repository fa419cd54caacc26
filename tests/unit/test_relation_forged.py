"""Files whose checksums are right and whose content is nonsense: refused as Damaged by every question."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence import _core
from whence.errors import Damaged, OutOfRange, TooLarge, WhenceError
from whence.relation import columns
from whence.relation.blocks import pack
from whence.testing import operations as ops
from whence.testing.forge import (
    BLOCKS,
    GAPS,
    ForgedPart,
    affine,
    constant,
    file_of,
    inline,
    repaired,
    running,
)
from whence.testing.strategies import LONG, effort

FOUR = ((4,), (4,))
LONG_AXIS = ((1 << 40,), (1 << 40,))


def boxed(lo: tuple[int, int], width: tuple[int, int] = (0, 0), rows: int = 1) -> ForgedPart:
    """Rows of one output interval and one input interval, all the same."""
    return ForgedPart(rows, [constant(x) for x in (*lo, *width)])


def in_blocks(lo: list[int], bits: int = 16, bounds: tuple[int, ...] = (), code: bytes = BLOCKS) -> ForgedPart:
    """Rows of one output cell each, in blocks, from the input cell 0."""
    size = 1 << bits
    blocks = [pack(np.array(lo[i : i + size])) for i in range(0, len(lo), size)]
    return ForgedPart(len(lo), [code, constant(0), constant(0), constant(0)], bits=bits, blocks=[blocks], bounds=bounds)


CHILD = [(-1, 0, 0), (0, 1, 1)]

FORGED: dict[str, bytes] = {
    "2^40 rows in 40 bytes": file_of(*FOUR, [boxed((0, 0), rows=1 << 40)]),
    "the same row 2^40 times": file_of(*LONG_AXIS, [boxed((0, 0), rows=1 << 40)]),
    "a row twice": file_of(*FOUR, [boxed((0, 0), rows=2)]),
    "a row in two parts": file_of(*FOUR, [boxed((0, 0)), boxed((0, 0))]),
    "rows that overlap": file_of(*FOUR, [ForgedPart(2, [inline(0, 1), constant(0), constant(1), constant(0)])]),
    "rows of two patterns that overlap": file_of(
        *FOUR,
        [boxed((0, 0), (3, 0)), ForgedPart(1, [constant(0)] * 2 + [constant(3), constant(0)], axes=CHILD)],
    ),
    "no rows": file_of(*FOUR, [boxed((0, 0), rows=0)]),
    "rows of an empty array": file_of((0,), (4,), [boxed((0, 0))]),
    "outside": file_of(*FOUR, [boxed((0, 100))]),
    "just outside": file_of(*FOUR, [boxed((0, 3), (0, 1))]),
    "negative": file_of(*FOUR, [boxed((0, -3))]),
    "far outside": file_of(*FOUR, [boxed((0, 10**8), (0, 10**6))]),
    "as far as can be": file_of(*FOUR, [boxed((0, 2**63 - 1), (0, 2**63 - 1))]),
    "empty interval": file_of(*FOUR, [boxed((0, 0), (0, -5))]),
    "empty for some values": file_of(
        *FOUR, [ForgedPart(1, [constant(0), constant(0), constant(3), constant(0)], axes=[(-1, 0, 0), (0, 1, 0)])]
    ),
    "wide": file_of(*FOUR, [boxed((0, 0), (0, 1 << 61))]),
    "steep": file_of(
        *FOUR, [ForgedPart(1, [constant(0)] * 2 + [constant(3), constant(0)], axes=[(-1, 0, 0), (0, 1 << 61, 1 << 61)])]
    ),
    "beyond 64 bits": file_of(
        *LONG_AXIS,
        [ForgedPart(1, [constant(0)] * 2 + [constant(1 << 39), constant(0)], axes=[(-1, 0, 0), (0, 1 << 40, 1 << 40)])],
    ),
    "affine out of bounds": file_of(*LONG_AXIS, [ForgedPart(9, [affine(0, 1 << 38)] + [constant(0)] * 3)]),
    "affine beyond 64 bits": file_of(*LONG_AXIS, [ForgedPart(1 << 39, [affine(0, 1 << 60)] + [constant(0)] * 3)]),
    "running 2^34": file_of(*LONG_AXIS, [ForgedPart(1 << 34, [running(0), constant(0), affine(0, 1), constant(0)])]),
    "running out of bounds": file_of(*FOUR, [ForgedPart(3, [running(0), constant(0), inline(1, 1, 1), constant(0)])]),
    "running with a parent": file_of(
        *FOUR, [ForgedPart(1, [constant(0), running(0), constant(0), constant(0)], axes=CHILD)]
    ),
    "running widths": file_of(*FOUR, [ForgedPart(1, [constant(0)] * 3 + [running(0)])]),
    "a view of another size": file_of(*FOUR, [boxed((0, 0))], views=((5,), None)),
    "a view of no axes": file_of(*FOUR, [ForgedPart(1, [constant(0)] * 2)], views=((), None)),
    "too many cells": file_of((1 << 61, 4), (4,), []),
    "too many axes": file_of((1,) * 129, (4,), []),
    "its own parent": file_of(*FOUR, [ForgedPart(1, [constant(0)] * 4, axes=[(0, 1, 1), (-1, 0, 0)])]),
    "parents in a circle": file_of(*FOUR, [ForgedPart(1, [constant(0)] * 4, axes=[(1, 1, 1), (0, 1, 1)])]),
    "a parent beyond the axes": file_of(*FOUR, [ForgedPart(1, [constant(0)] * 4, axes=[(2**40, 1, 1), (-1, 0, 0)])]),
    "a number of 70 bits": file_of(*FOUR, [ForgedPart(1, [b"\x00" + b"\xff" * 9 + b"\x7f"] + [constant(0)] * 3)]),
    "a column of unknown code": file_of(*FOUR, [ForgedPart(1, [b"\x09"] + [constant(0)] * 3)]),
    "inline beyond 64 bits": file_of(
        *FOUR, [ForgedPart(2, [b"\x02" + (b"\xfe" + b"\xff" * 8 + b"\x01") * 2] + [constant(0)] * 3)]
    ),
    "a block of 2^34 rows": file_of(
        *LONG_AXIS,
        [ForgedPart(1 << 34, [BLOCKS] + [constant(0)] * 3, bits=34, blocks=[[pack(np.arange(9) * 5)]])],
    ),
    "a block shorter than its part": file_of(
        *LONG_AXIS, [ForgedPart(9, [BLOCKS] + [constant(0)] * 3, blocks=[[pack(np.array([1, 2]))]])]
    ),
    "a block of garbage": file_of(*LONG_AXIS, [ForgedPart(9, [BLOCKS] + [constant(0)] * 3, blocks=[[b"\0\0garbage"]])]),
    "an empty block": file_of(*LONG_AXIS, [ForgedPart(9, [BLOCKS] + [constant(0)] * 3, blocks=[[b""]])]),
    "a block of another code": file_of(*LONG_AXIS, [ForgedPart(9, [BLOCKS] + [constant(0)] * 3, blocks=[[b"\0\7"]])]),
    "60 low bits": file_of(
        *LONG_AXIS, [ForgedPart(9, [BLOCKS] + [constant(0)] * 3, blocks=[[b"\0\1\x3c\0" + b"\xff" * 99]])]
    ),
    "a block out of bounds": file_of(*FOUR, [in_blocks([0, 1, 2, 9])]),
    "gaps out of bounds": file_of(*FOUR, [in_blocks([0, 1, 5], code=GAPS)]),
    "rows of a block twice": file_of(*FOUR, [in_blocks([0, 2, 1, 2])]),
    "a directory that misleads": file_of(
        (40,), (4,), [in_blocks([0, 2, 10, 12, 20, 22], bits=1, bounds=(0, 5, 20, 2, 12, 22, 0, 0, 0, 0, 0, 0))]
    ),
    "a directory beyond the file": file_of(
        *LONG_AXIS, [ForgedPart(1 << 39, [BLOCKS] + [constant(0)] * 3, blocks=[[pack(np.arange(9) * 5)]])]
    ),
}  # fmt: skip


def use(relation: wh.Relation) -> None:
    """Everything that a reader may do with what it opened."""
    assert repr(relation).startswith("Relation(")
    if relation.count() > 10**6:  # declared larger than it was
        raise TooLarge("this would only take long")
    tuples = relation.to_array()
    assert len(tuples) == relation.count()
    cut = len(relation.out_shape)
    for ask, given_, wanted, shapes in (
        (relation.backward, tuples[:, :cut], tuples[:, cut:], (relation.out_shape, relation.in_shape)),
        (relation.forward, tuples[:, cut:], tuples[:, :cut], (relation.in_shape, relation.out_shape)),
    ):
        every = ask(wh.Selection.all(shapes[0]))
        assert every == wh.Selection.from_cells(wanted, shapes[1])
        if len(given_):
            one = ask(given_[:1])
            assert one == wh.Selection.from_cells(wanted[(given_ == given_[0]).all(axis=1)], shapes[1])
            one.draw() if 1 <= len(shapes[1]) <= 3 else None
    assert np.array_equal(relation.inverse.inverse.to_array(), tuples)
    assert np.array_equal(wh.Relation.identity(relation.out_shape).compose(relation).to_array(), tuples)


USES: dict[str, Callable[[wh.Relation], Any]] = {
    "count": lambda relation: relation.count(),
    "repr": repr,
    "to_array": lambda relation: relation.to_array(),
    "all": use,
}

ASKED: dict[str, Callable[[wh.Relation], Any]] = {
    "backward": lambda relation: relation.backward(wh.Selection.all(relation.out_shape)),
    "forward": lambda relation: relation.forward(wh.Selection.all(relation.in_shape)),
    "mask": lambda relation: relation.backward(wh.Selection.all(relation.out_shape)).mask(),
}

HOLDS_TWICE = {
    name for name in FORGED if "overlap" in name or "twice" in name or "in two parts" in name or "times" in name
}
"""A tuple that is there twice spoils no answer but a count: it is looked for when tuples are counted."""


@pytest.mark.parametrize("name", FORGED)
@pytest.mark.parametrize("how", USES)
def test_forged_files_are_damaged(name: str, how: str) -> None:
    with pytest.raises(Damaged):
        USES[how](wh.Relation.from_bytes(FORGED[name]))


@pytest.mark.parametrize("name", sorted(FORGED.keys() - HOLDS_TWICE))
@pytest.mark.parametrize("how", ASKED)
def test_forged_files_answer_nothing(name: str, how: str) -> None:
    with pytest.raises(Damaged):
        ASKED[how](wh.Relation.from_bytes(FORGED[name]))


@pytest.mark.parametrize("name", sorted(HOLDS_TWICE))
def test_a_tuple_twice_is_a_cell_once(name: str) -> None:
    relation = wh.Relation.from_bytes(FORGED[name]) if "2^40" not in name else None
    if relation is not None:
        found = relation.backward(wh.Selection.all(relation.out_shape))
        assert found.count <= 4
        assert found.mask().sum() == found.count


def test_the_error_names_the_file(tmp_path: Path) -> None:
    path = tmp_path / "from-a-stranger"
    path.write_bytes(FORGED["outside"])
    with pytest.raises(Damaged, match="from-a-stranger.*outside"):
        wh.Relation.load(path).backward([(0,)])


def test_a_block_is_checked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first question that reads a block checks it; later ones do not pay for that again."""
    for size in ("USUAL", "SMALL", "LARGE"):
        monkeypatch.setattr(columns, size, 1 << 9)
    relation = wh.Relation.from_bytes(wh.compress(*ops.sort((5000,))).to_bytes())
    seen: list[int] = []

    class Watched(_core.Table):
        def add_validated(self, rows: int, *args: Any) -> Any:
            seen.append(rows)
            return super().add_validated(rows, *args)

    monkeypatch.setattr(_core, "Table", Watched)
    for cell in (3, 4, 3, 4000, 4001, 5):
        relation.backward([(cell,)])
    assert seen == [512, 512]


def test_a_mask_never_leaves_its_array() -> None:
    """Whoever makes a selection wrongly gets an error, not a write into other memory."""
    for lo, hi in ((100, 100), (-3, -3), (10**12, 10**12), (2, 4), (-1, 2), (3, 1)):
        wrong = wh.Selection._trusted(np.array([[[lo, hi]]]), (4,))
        with pytest.raises(OutOfRange, match="outside the shape"):
            wrong.mask()
        if lo <= hi:
            with pytest.raises(OutOfRange, match="outside the shape"):
                wrong.draw()
    for box in ([[0, 1], [0, 4]], [[-1, 1], [0, 3]], [[0, 2], [0, 3]]):
        with pytest.raises(OutOfRange):
            wh.Selection._trusted(np.array([box]), (2, 4)).mask()


FLIPPED = {
    "one row": ops.sum_over((3, 2), 1),
    "windows": ops.convolve_nd((5, 6), (3, 3)),
    "triangle": ops.cumsum((6,)),
    "reshape": ops.reshape((4, 6), (3, 8)),
    "permutation": ops.sort((60,)),
    "groups": ops.group_by((40, 2), 5),
    "0-d": ops.negative(()),
    "blocks": ops.sort((900,)),
    "runs": ops.filter_rows((900, 1)),
}


@given(st.data())
@effort(300)
def test_flipped_bytes_with_right_checksums(data: st.DataObject) -> None:
    """What is still a relation answers like its own tuples; anything else is Damaged or TooLarge."""
    with pytest.MonkeyPatch.context() as patch:
        for size in ("USUAL", "SMALL", "LARGE"):
            patch.setattr(columns, size, 1 << 7)
        name = data.draw(st.sampled_from(sorted(FLIPPED)))
        altered = bytearray(wh.compress(*FLIPPED[name]).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(13, len(altered) - 1))
        altered[at] = data.draw(st.integers(0, 255))
    try:
        relation = wh.Relation.from_bytes(repaired(bytes(altered)))
        use(relation)
    except (Damaged, TooLarge):
        return
    assert relation.verify()


SWEEP = """
import resource, signal, sys
import numpy as np
import whence as wh
from whence.errors import WhenceError
from whence.relation import columns
from whence.testing import operations as ops
from whence.testing.forge import repaired
sys.path.insert(0, sys.argv[1])
from test_relation_forged import FLIPPED, use
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
columns.USUAL = columns.SMALL = columns.LARGE = 1 << 7
rng = np.random.default_rng(int(sys.argv[2]))
refused = 0
files = [wh.compress(*raw).to_bytes() for raw in FLIPPED.values()]
for i in range(int(sys.argv[3])):
    data = bytearray(files[i % len(files)])
    for _ in range(rng.integers(1, 5)):
        at = int(rng.integers(13, len(data)))
        if rng.random() < 0.5:
            data[at] ^= 1 << int(rng.integers(0, 8))
        else:
            data[at] = int(rng.integers(0, 256))
    signal.alarm(60)
    try:
        use(wh.Relation.from_bytes(repaired(bytes(data))))
    except WhenceError:
        refused += 1
    except BaseException:
        print("raw error for", bytes(data).hex(), file=sys.stderr)
        raise
print(refused)
"""


def test_many_flips_in_little_memory() -> None:
    """In a process of its own: no crash, no loop without end, no allocation beyond 4 GiB."""
    count = 20_000 if LONG else 900
    done = subprocess.run(
        [sys.executable, "-c", SWEEP, os.path.dirname(__file__), "1", str(count)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert count // 2 < int(done.stdout) <= count


def test_the_check_of_a_log_finds_them(tmp_path: Path) -> None:
    import sqlite3

    from whence.relation.parts import hash_of

    for number, (name, data) in enumerate({**FORGED, "other shapes": file_of((9,), (9,), [boxed((0, 0))])}.items()):
        where = tmp_path / str(number)
        with wh.open(where) as log:
            log.array("a", shape=(4,))
            log.array("b", shape=(4,))
            log.lineage("b", "a", np.array([[0, 0], [1, 2]]))
        blob = where / "blobs" / hash_of(data)[:2] / hash_of(data)
        blob.parent.mkdir(exist_ok=True)
        blob.write_bytes(data)
        connection = sqlite3.connect(where / "catalog.sqlite")
        connection.execute(
            "update relations set hash = ?, size = ?, boxes = 1, tuples = '1'", (hash_of(data), len(data))
        )
        connection.execute("update was_derived_from set relation = ?", (hash_of(data),))
        connection.commit()
        connection.close()
        with wh.open(where) as log:
            assert not log.check().ok, name
            if name not in HOLDS_TWICE:
                with pytest.raises(Damaged):
                    log.backward("b", [(0,)], to="a")
                with pytest.raises(Damaged):
                    log.forward("a", [(0,)], to="b")
            with pytest.raises(WhenceError):
                log.lineage("a", "b", wh.Relation.from_bytes(data))
