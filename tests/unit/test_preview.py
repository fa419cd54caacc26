"""Previews of arrays, against a loop over the tiles; in the log, in `first`, and damaged."""

from __future__ import annotations

import contextlib
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import whence as wh
from whence.arrays.preview import BINS, preview_from, preview_of
from whence.errors import BadType, Damaged, ShapeMismatch
from whence.store.recording.previews import saved_preview
from whence.testing.strategies import effort
from whence.ui.explorer import Explorer
from whence.ui.previews import hovered, square
from whence.ui.routes import answered

arrays = hnp.arrays(
    st.sampled_from([np.float64, np.float32, np.int16, np.bool_]),
    hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=9),
)


@given(arrays, st.integers(1, 40))
@effort(60)
def test_tiles_are_those_of_a_loop(array: np.ndarray, tiles: int) -> None:
    made = preview_from(preview_of(array, tiles).to_bytes(), "it")
    assert made.finite.size <= tiles or array.size == 0
    assert made.is_exact == (made.sides == (1,) * array.ndim)
    good = array[np.isfinite(array)].astype(np.float64)
    assert made.not_finite == array.size - good.size
    assert sum(made.counts) == good.size
    if good.size:
        assert (made.low, made.high) == (good.min(), good.max())
    if made.cells is not None:
        assert made.cells.dtype == array.dtype
        np.testing.assert_array_equal(made.cells, array)
    for tile in itertools.product(*map(range, made.finite.shape)):
        part = array[tuple(slice(at * side, (at + 1) * side) for at, side in zip(tile, made.sides, strict=True))]
        own = np.asarray(part, np.float64)
        own = own[np.isfinite(own)]
        assert made.finite[tile] == own.size
        found = [made.grid(show)[tile] for show in ("min", "mean", "max")]
        if own.size == 0:
            assert np.isnan(found).all()
        else:
            assert (found[0], found[2]) == (own.min(), own.max())
            with np.errstate(over="ignore"):
                assert np.isinf(own.sum()) or found[1] == pytest.approx(own.mean(), rel=1e-9, abs=1e-300)


@given(st.data())
@effort(60)
def test_pixels_are_those_of_the_cells_they_stand_for(data: st.DataObject) -> None:
    """A pixel is the least or greatest of the tiles it meets, and lost if one of their cells is."""
    array = data.draw(hnp.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 20)),
                                 elements=st.sampled_from([1.0, 2.0, 3.0, 50.0, np.nan])))  # fmt: skip
    made = preview_of(array, data.draw(st.integers(1, 60)))
    scale, pixels = 2 ** data.draw(st.integers(0, 3)), data.draw(st.integers(1, 8))
    corner = (data.draw(st.integers(0, 2)) * pixels * scale, data.draw(st.integers(0, 2)) * pixels * scale)
    for show in ("min", "max"):
        found = square(made, (), corner, pixels, (scale, scale), show)
        for row, column in np.ndindex(found.shape):
            cells = []
            for start, side in zip((corner[0] + row * scale, corner[1] + column * scale), made.sides, strict=True):
                cells.append(slice(start // side * side, -(-(start + scale) // side) * side))
            seen = array[tuple(cells)]
            expected = np.nan if np.isnan(seen).any() else getattr(seen, show)()
            np.testing.assert_equal(found[row, column], expected)


def test_a_hot_spot_and_a_nan_stay_visible_however_large_the_array_is(tmp_path: Path) -> None:
    array = np.zeros((700, 900), np.float32)
    array[333, 444] = 7
    array[600, 10] = np.nan
    with wh.open(tmp_path / "log.whence") as log:
        log.array("A", array, preview=True)
        explorer = Explorer(log)
        for scale in (1, 4, 16):
            pixels = _tile(explorer, scale, 444 // scale // 256, 333 // scale // 256)
            assert pixels[333 // scale % 256, 444 // scale % 256] == 255
            pixels = _tile(explorer, scale, 0, 600 // scale // 256)
            assert pixels[600 // scale % 256, 10 // scale] == 0
        low = answered(explorer, "tile", {"name": "A", "scale": "16", "show": "min"})[1]
        assert isinstance(low, bytes)
        assert 255 not in np.frombuffer(low[8:], np.uint8)
        assert answered(explorer, "tile", {"name": "A", "show": "median"})[0] == 400
        told = answered(explorer, "array", {"name": "A"})[1]
        assert isinstance(told, dict)
        assert told["values"]["preview"] == {"sides": [8, 8], "exact": False}
        assert (told["values"]["not_finite"], told["values"]["high"]) == (1, 7.0)
        assert (told["values"]["counts"][0], len(told["values"]["counts"])) == (700 * 900 - 2, BINS)
        value = answered(explorer, "value", {"name": "A", "cell": "333,445"})[1]
        assert isinstance(value, dict)
        assert value["tile"] == {
            "sides": [8, 8], "cells": 64, "least": 0.0, "mean": 7 / 64, "most": 7.0, "not_finite": 0
        }  # fmt: skip


def _tile(explorer: Explorer, scale: int, x: int, y: int) -> np.ndarray:
    status, found = answered(explorer, "tile", {"name": "A", "scale": str(scale), "x": str(x), "y": str(y)})
    assert status == 200
    assert isinstance(found, bytes)
    rows, columns = np.frombuffer(found[:8], "<u4")
    return np.frombuffer(found[8:], np.uint8).reshape(rows, columns)


def test_first_takes_values_from_previews_that_have_every_cell(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        values = np.array([1.0, np.nan, 3.0])
        for name in "ABC":
            log.array(name, values, preview=True)
        log.lineage("B", "A", "identity")
        log.lineage("C", "B", "identity")
    with wh.open(tmp_path / "log.whence") as log:
        assert {name: each.cells().tolist() for name, each in log.first("C", np.isnan).items()} == {"A": [[1]]}
        log.array("B", np.array([1.0, 2.0, 3.0]), preview=True)  # replaces the one before
        assert {name: each.cells().tolist() for name, each in log.first("C", np.isnan).items()} == {"C": [[1]]}
        log.array("B", values, preview=1)  # one tile decides nothing
        answer = log.first("C", np.isnan)
        assert {name: each.cells().tolist() for name, each in answer.items()} == {"A": [[1]]}
        assert any("'B' are not known" in each for each in answer.notes)


def test_previews_are_blobs_of_the_log(tmp_path: Path) -> None:
    path = tmp_path / "log.whence"
    with wh.open(path) as log:
        log.array("A", (2, 3), preview=np.arange(6).reshape(2, 3))
        assert log.check().ok
        assert log.collect().blobs == 0
        found = saved_preview(log._store, "A", (2, 3))
        assert found is not None
        assert hovered(found, (1, 2)) == {"value": 5}
        (blob,) = (each for each in path.rglob("*") if len(each.name) == 64)
        blob.write_bytes(blob.read_bytes()[:-1] + b"?")
        with pytest.raises(Damaged):
            saved_preview(log._store, "A", (2, 3))
        assert [each.where for each in log.check().problems] == ["the values of A"]
        log.delete("A")
        assert log.collect().blobs == 1


def test_bad_previews_are_refused(tmp_path: Path) -> None:
    with wh.open(tmp_path / "log.whence") as log:
        with pytest.raises(BadType, match="needs its values"):
            log.array("A", (2, 3), preview=True)
        with pytest.raises(ShapeMismatch, match="shape \\(3,\\)"):
            log.array("A", (2, 3), preview=np.zeros(3))
        with pytest.raises(BadType, match="array of numbers"):
            log.array("A", np.array(["a"]), preview=True)
        with pytest.raises(BadType, match="tiles, not 0"):
            log.array("A", np.zeros(3), preview=0)
        assert log.datasets() == []


@given(st.data())
@effort(60)
def test_altered_bytes_are_refused_or_a_preview(data: st.DataObject) -> None:
    """Whatever a blob holds, no number in it makes a reader allocate more than the preview's own size."""
    whole = bytearray(preview_of(np.arange(300.0), data.draw(st.sampled_from([7, 1000]))).to_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, min(len(whole) - 1, 400)))] = data.draw(st.integers(0, 255))
    with contextlib.suppress(Damaged):
        found = preview_from(bytes(whole), "the preview")
        assert found.finite.size <= 1 << 22
        assert len(found.counts) == BINS


def test_an_array_that_was_defined_is_known_to_tracked_calls(tmp_path: Path) -> None:
    """A preview is saved before the first call as well as after it: both are the same dataset."""
    image = np.arange(12.0).reshape(3, 4)
    with wh.open(tmp_path / "a.whence") as log:
        log.array("image", image, preview=True)

        @log.track
        def smooth(picture: Any) -> Any:
            return picture[1:] - picture[:-1]

        found = smooth(image)
        log.array("smooth", found, preview=True)
        assert [each.name for each in log.datasets()] == ["image", "smooth"]
        assert log.backward("smooth", "0,1").reached["image"].count == 2
        log.array("again", image)  # it has a name already
        smooth(image[:2])
        assert set(log.backward("smooth#2", "0,1").reached) >= {"image"}


def test_a_shape_says_nothing_of_the_arrays_that_have_it(tmp_path: Path) -> None:
    with wh.open(tmp_path / "a.whence") as log:
        log.array("x", (3, 4))

        @log.track
        def double(x: Any) -> Any:
            return 2 * x

        double(np.ones((3, 4)))
        assert "x#2" in [each.name for each in log.datasets()]
