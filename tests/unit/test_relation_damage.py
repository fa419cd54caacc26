"""A file that was cut, altered, or written by a later whence is refused: never a wrong answer, never a crash."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import whence as wh
from whence.errors import Damaged, FutureVersion, WhenceError
from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.strategies import LONG

SMALL: dict[str, Raw] = {
    "one row": ops.sum_over((3, 2), 1),
    "windows": ops.convolve_nd((5, 6), (3, 3)),
    "reshape": ops.reshape((4, 6), (3, 8)),
    "permutation": ops.sort((60,)),
    "groups": ops.group_by((40, 2), 5),
    "0-d": ops.negative(()),
    "empty": ops.nothing((3,), (2, 2)),
}


def use(buffer: bytes) -> wh.Relation:
    """Everything that a reader may do with what it opened."""
    relation = wh.Relation.from_bytes(buffer)
    relation.to_array()
    relation.count()
    relation.backward(np.ones(relation.out_shape, bool))
    relation.forward(np.ones(relation.in_shape, bool))
    return relation


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("flip", [0x01, 0x80, 0xFF])
def test_every_flipped_byte_is_noticed(name: str, flip: int) -> None:
    stored = wh.compress(*SMALL[name]).to_bytes()
    for position in range(len(stored)):
        altered = bytearray(stored)
        altered[position] ^= flip
        with pytest.raises((Damaged, FutureVersion)):
            use(bytes(altered))


@pytest.mark.parametrize("name", SMALL)
def test_every_truncation_is_noticed(name: str) -> None:
    stored = wh.compress(*SMALL[name]).to_bytes()
    for length in range(len(stored)):
        with pytest.raises(Damaged):
            use(stored[:length])


@pytest.mark.parametrize("name", SMALL)
def test_more_bytes_than_were_written_are_noticed(name: str) -> None:
    stored = wh.compress(*SMALL[name]).to_bytes()
    for tail in (b"\0", b"\0" * 8, b"\xff" * 100, stored):
        with pytest.raises(Damaged):
            use(stored + tail)


def test_pieces_of_two_files_are_noticed() -> None:
    first, second = (wh.compress(*ops.sort((60,), seed=seed)).to_bytes() for seed in (1, 2))
    assert first != second
    mixed = [first[:cut] + second[cut:] for cut in range(min(len(first), len(second)))]
    for spliced in mixed:
        if spliced not in (first, second):
            with pytest.raises((Damaged, FutureVersion)):
                use(spliced)


def test_a_large_file_is_checked_where_it_is_read(tmp_path: Path) -> None:
    raw = ops.sort((20_000,))
    stored = wh.compress(*raw).to_bytes()
    path = tmp_path / "relation"
    rng = np.random.default_rng(0)
    for position in rng.integers(0, len(stored), 400 if LONG else 60):
        altered = bytearray(stored)
        altered[position] ^= 0x10
        path.write_bytes(altered)
        with pytest.raises((Damaged, FutureVersion)):
            wh.Relation.load(path).to_array()
        cell = int(rng.integers(0, 20_000))
        try:
            found = wh.Relation.load(path).backward([(cell,)]).cells().tolist()
        except (Damaged, FutureVersion):
            continue
        assert found == [[raw.tuples[cell, 1]]], "an answer from an altered file must still be the right one"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\0",
        b"\0" * 4096,
        b"PAR1" + b"\0" * 100 + b"PAR1",
        b"\x93NUMPY\x01\x00",
        b"not a relation\n" * 50,
        b"\xff" * 64,
    ],
    ids=["empty", "one byte", "zeros", "Parquet", "NumPy", "text", "ones"],
)
def test_other_files_are_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "other"
    path.write_bytes(content)
    with pytest.raises(Damaged) as caught:
        wh.Relation.load(path)
    assert "other" in str(caught.value), "the error names the file"
    with pytest.raises(Damaged):
        wh.Relation.from_bytes(content)


def test_a_later_version_says_so(tmp_path: Path) -> None:
    """Byte 4 of the file is its version (docs/reference/format.md)."""
    stored = bytearray(wh.compress(*ops.flip((5,))).to_bytes())
    version = stored[4]
    path = tmp_path / "later"
    for later in (version + 1, 100, 255):
        stored[4] = later
        path.write_bytes(stored)
        with pytest.raises(FutureVersion, match="later"):
            wh.Relation.load(path)
        with pytest.raises(FutureVersion):
            wh.Relation.from_bytes(bytes(stored))
    stored[4] = 0
    with pytest.raises(Damaged):
        wh.Relation.from_bytes(bytes(stored))


def test_random_bytes_are_refused() -> None:
    rng = np.random.default_rng(0)
    for length in range(0, 600, 7):
        with pytest.raises(WhenceError):
            use(rng.bytes(length))


def test_random_bytes_after_a_true_beginning_are_refused() -> None:
    rng = np.random.default_rng(0)
    stored = wh.compress(*ops.sort((60,))).to_bytes()
    for kept in range(0, len(stored), 3):
        with pytest.raises((Damaged, FutureVersion)):
            use(stored[:kept] + rng.bytes(len(stored) - kept))


def test_a_missing_file_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nowhere"):
        wh.Relation.load(tmp_path / "nowhere")
    with pytest.raises(OSError, match=tmp_path.name):
        wh.Relation.load(tmp_path)


def test_saving_where_one_cannot_leaves_nothing(tmp_path: Path) -> None:
    relation = wh.compress(*ops.flip((5,)))
    with pytest.raises(OSError, match="missing"):
        relation.save(tmp_path / "missing" / "relation")
    assert list(tmp_path.iterdir()) == []


def test_saving_over_a_relation_that_is_open(tmp_path: Path) -> None:
    """A reader keeps what it opened; a new reader sees the new relation."""
    path = tmp_path / "relation"
    raw = ops.sort((5000,))
    wh.compress(*raw).save(path)
    opened = wh.Relation.load(path)
    wh.compress(*ops.flip((5,))).save(path)
    assert np.array_equal(opened.to_array(), raw.tuples)
    assert wh.Relation.load(path) == wh.compress(*ops.flip((5,)))
