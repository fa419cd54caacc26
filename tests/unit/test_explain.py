"""Explanations as lineage: planted causes are found, weights become levels, bad input is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.errors import BadType, NoLineage, ShapeMismatch


def test_lime_finds_what_a_model_goes_by() -> None:
    x = np.random.default_rng(0).random((8, 8)) + 1

    def model(image: Any) -> Any:
        return np.array([image[:4, :4].sum(), 5 * image[4:, 4:].sum() + 0.01 * image[0, 0]])

    found = wh.explain.lime(model, x, samples=600, baseline=0.0, segments=wh.explain.grid((8, 8), most=4))
    assert found.backward([(0,)], above=0.5) == wh.Selection.from_slices((slice(0, 4), slice(0, 4)), (8, 8))
    assert found.backward([(1,)], above=0.1) == wh.Selection.from_slices((slice(4, 8), slice(4, 8)), (8, 8))
    assert found.forward([(7, 7)], above=0.5).cells().tolist() == [[1]]


def test_lime_of_a_linear_model_is_its_weights() -> None:
    weights = np.array([[1.0, -2.0, 0.0], [0.5, 0.0, 3.0]])
    found = wh.explain.lime(
        lambda x: weights @ x, np.ones(3), baseline=0.0, samples=200, levels=(0.4, 1.5, 2.5), relative=False
    )
    assert found.levels == (0.4, 1.5, 2.5)
    assert found.backward([(0,)]).cells().ravel().tolist() == [0, 1]
    assert found.backward([(0,), (1,)], above=1.5).cells().ravel().tolist() == [1, 2]
    assert found.backward([(1,)], above=2.5).cells().ravel().tolist() == [2]


def bright_square(image: Any) -> Any:
    """A detector: one box around what is bright, as sure as it is bright."""
    rows, columns = np.nonzero(image > 0.5)
    if not len(rows):
        return np.zeros((0, 7))
    box = [columns.min(), rows.min(), columns.max() + 1, rows.max() + 1]
    return np.array([[*box, min(len(rows) / 16, 1.0), 1.0, 0.0]])


def test_drise_finds_the_pixels_of_a_detection() -> None:
    image = np.zeros((16, 16))
    image[4:8, 9:13] = 1
    found = wh.explain.drise(bright_square, image, masks=300, cells=(4, 4), levels=(0.3, 0.8))
    strong = found.backward([(0,)], above=0.8).mask()
    inside = np.zeros((16, 16), bool)
    inside[3:9, 8:14] = True
    assert strong.any()
    assert not (strong & ~inside).any()
    assert strong.sum() < found.backward([(0,)]).mask().sum()
    colour = wh.explain.drise(
        lambda x: bright_square(x[..., 0]), np.repeat(image[..., None], 3, 2), masks=50, cells=(4, 4)
    )
    assert colour.bands[0][1].in_shape == (16, 16, 3)


def test_drise_of_a_detector_that_returns_the_same_array_again() -> None:
    """The detections of the image itself must not become those of the last masked one."""
    image = np.zeros((12, 12))
    image[2:6, 7:11] = 1.0
    buffer = np.zeros((1, 7))

    def detector(given: Any) -> Any:
        found = bright_square(given)
        buffer[:] = found if len(found) else 0.0
        return buffer

    reused = wh.explain.drise(detector, image, masks=100, cells=(6, 6))
    plain = wh.explain.drise(lambda given: detector(given).copy(), image, masks=100, cells=(6, 6))
    assert [relation.to_array().tolist() for _, relation in reused.bands] == [
        relation.to_array().tolist() for _, relation in plain.bands
    ]


def test_weights_are_kept_with_the_edges_of_the_log(tmp_path: Path) -> None:
    found = wh.explain.from_weights([[0.2, 0.6, 1.0], [0.0, 0.0, 0.0]], (2,), (3,), levels=(0.1, 0.5, 0.9))
    with wh.open(tmp_path / "l") as log:
        log.array("scores", shape=2)
        log.array("pixels", shape=3)
        log.lineage("scores", "pixels", found)
    with wh.open(tmp_path / "l") as log:
        again = log.contributions("scores", "pixels")
        assert again.levels == (0.1, 0.5, 0.9)
        for above, cells in ((None, [0, 1, 2]), (0.5, [1, 2]), (0.9, [2])):
            assert again.backward([(0,)], above=above).cells().ravel().tolist() == cells
        assert not again.backward([(1,)])
        assert len(log.backward("scores", [(0,)], to="pixels")) == 3
        assert log.check().ok
        with pytest.raises(NoLineage, match="above 0.7"):
            again.backward([(0,)], above=0.7)
        log.array("other", shape=3)
        log.lineage("other", "pixels", "identity")
        with pytest.raises(NoLineage, match="no contributions"):
            log.contributions("other", "pixels")


def test_bad_weights_are_refused() -> None:
    with pytest.raises(ShapeMismatch, match="2 x 3"):
        wh.explain.from_weights(np.ones((2, 2)), (2,), (3,))
    with pytest.raises(BadType, match="NaN"):
        wh.explain.from_weights([[np.nan]], (1,), (1,))
    with pytest.raises(BadType, match="levels"):
        wh.explain.from_weights([[1.0]], (1,), (1,), levels=(0.0,))
    with pytest.raises(ShapeMismatch, match="objectness"):
        wh.explain.drise(lambda x: [[1, 2, 3]], np.zeros((4, 4)))
    with pytest.raises(BadType, match="no detection"):
        wh.explain.drise(bright_square, np.zeros((4, 4)))
    with pytest.raises(ShapeMismatch, match="segments"):
        wh.explain.lime(lambda x: x, np.ones(3), segments=np.zeros(2, int))


def cells(found: wh.Selection) -> list[int]:
    return [int(each) for each in found.cells().ravel()]


def test_contributions_above_a_level_along_a_path(tmp_path: Path) -> None:
    first = wh.explain.from_weights([[0.9, 0.3, 0.0], [0.0, 0.6, 0.2]], (2,), (3,), levels=(0.1, 0.5), relative=False)
    second = wh.explain.from_weights([[1.0, 0.2]], (1,), (2,), levels=(0.1, 0.5), relative=False)
    with wh.open(tmp_path / "log") as log:
        for name, side in (("x", 3), ("copy", 3), ("h", 2), ("y", 1)):
            log.array(name, shape=side)
        log.lineage("copy", "x", wh.Relation.identity(3))  # a step that is certain
        log.lineage("h", "copy", first)
        log.lineage("y", "h", second)
        assert cells(log.backward("y", [(0,)], to="x")) == [0, 1, 2]
        assert cells(log.backward("y", [(0,)], to="x", above=0.1)) == [0, 1, 2]
        assert cells(log.backward("y", [(0,)], to="x", above=0.5)) == [0]
        assert cells(log.backward("y", [(0,)], above=0.5)["x"]) == [0]
        assert cells(log.query(["y", "h", "copy"], [(0,)], above=0.5)) == [0]
        assert cells(log.query(["copy", "h", "y"], [(1,)], above=0.5)) == []
        assert cells(log.forward("x", [(0,)], to="y", above=0.5)) == [0]
        assert cells(log.forward("x", [(2,)], to="y", above=0.5)) == []
        with pytest.raises(NoLineage, match=r"levels 0\.1, 0\.5"):
            log.backward("y", [(0,)], to="x", above=0.3)


def test_an_output_that_nothing_moves_has_no_contributions() -> None:
    found = wh.explain.lime(lambda x: np.array([7.0, x @ np.array([5.0, 0.0, 0.0, -4.0])]), np.ones(4))  # off is on
    assert [relation.count() for _, relation in found.bands] == [0, 0, 0, 0]
    found = wh.explain.lime(lambda x: np.array([7.0, x @ np.array([5.0, 0.0, 0.0, -4.0])]), np.ones(4), baseline=0.0)
    assert found.backward([(0,)]).cells().tolist() == []
    assert found.backward([(1,)]).cells().tolist() == [[0], [3]]


def test_a_level_without_contributions_is_a_level(tmp_path: Path) -> None:
    """Bands without tuples are one blob, whatever their levels: the log answers wherever the contributions do."""
    found = wh.explain.from_weights([[1.0, 0.9, 0.0], [0.3, 0.0, 0.0]], (2,), (3,), relative=False)
    with wh.open(tmp_path / "l") as log:
        log.array("scores", shape=2)
        log.array("pixels", shape=3)
        log.lineage("scores", "pixels", found)
    with wh.open(tmp_path / "l") as log:
        assert log.contributions("scores", "pixels").levels == found.levels
        for above in (None, *found.levels):
            for cell in (0, 1):
                expected = found.backward([(cell,)], above=above)
                assert log.backward("scores", [(cell,)], to="pixels", above=above) == expected
                assert log.query(["scores", "pixels"], [(cell,)], above=above) == expected
            assert log.forward("pixels", [(0,)], to="scores", above=above) == found.forward([(0,)], above=above)
        with pytest.raises(NoLineage, match=r"levels 0\.1, 0\.25, 0\.5, 0\.75"):
            log.backward("scores", [(0,)], to="pixels", above=0.3)
