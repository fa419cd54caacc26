"""Pictures of selections: one, two and three axes, large and thin datasets, backgrounds."""

from __future__ import annotations

import io
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from whence.errors import BadCells, ShapeMismatch, StoreError
from whence.selection import Selection

RED, GREY = (194, 65, 12), (233, 236, 239)


def test_html_has_the_text_and_a_picture_of_its_own() -> None:
    html = Selection.parse("0:2,0:2", (3, 2))._repr_html_()
    assert "4 cells: [0:2, 0:2]" in html
    assert "data:image/png;base64," in html
    assert "<script" not in html
    assert "http" not in html
    for shape in ((), (2, 2, 2, 2), (0, 3)):
        assert "<img" not in Selection.all(shape)._repr_html_()


def pixels_of(png: bytes) -> Any:
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


def shades(png: bytes, rows: int, columns: int, height: int, width: int) -> list[str]:
    """What is seen at the middle of each cell of a picture of cells of height x width pixels."""
    seen = pixels_of(png)[height // 2 : rows * height : height, width // 2 : columns * width : width]
    names: dict[tuple[int, ...], str] = {RED: "#", GREY: "."}
    return ["".join(names[tuple(int(c) for c in pixel)] for pixel in line) for line in seen]


def test_two_axes_are_an_image() -> None:
    assert shades(Selection.parse("0:2,1; 2,0", (3, 2)).draw(), 3, 2, 24, 24) == [".#", ".#", "#."]


def test_one_axis_is_a_strip() -> None:
    assert shades(Selection.parse("1:3 4", (5,)).draw(), 1, 5, 24, 24) == [".##.#"]


def test_three_axes_are_a_sheet_of_slices() -> None:
    png = Selection.parse("0,:,0; 3,1,:", (4, 2, 2)).draw()
    tile = np.array(Image.open(io.BytesIO(png)).size)
    assert tile.min() > 96
    found = pixels_of(png)
    reds = np.argwhere((found == RED).all(axis=2))
    middle = (reds.min(axis=0) + reds.max(axis=0)) // 2
    quarters = {(bool(y > middle[0]), bool(x > middle[1])) for y, x in reds}
    assert quarters == {(False, False), (True, True)}  # of four tiles, two by two, the first and the last


def test_large_datasets_are_drawn_small_and_single_cells_stay_visible() -> None:
    shape = (2**40, 2**41)
    png = Selection.from_cells([(0, 0), (2**40 - 1, 2**41 - 1)], shape).draw()
    found = pixels_of(png)
    assert max(found.shape[:2]) <= 1100
    reds = np.argwhere((found == RED).all(axis=2))
    assert len(reds) == 2
    assert reds[0].tolist() == [0, 0]
    assert abs(reds[1][1] - 1023) <= 1
    whole = pixels_of(Selection.all((2**40,)).draw())
    assert (whole[:24, :1024] == RED).all()


@pytest.mark.parametrize("shape", [(1000, 3), (3, 1000), (10**6, 2), (1, 1), (1,), (2000, 5, 5), (5, 3000, 2)])
def test_pictures_of_any_proportions(shape: tuple[int, ...]) -> None:
    png = Selection.of(tuple(n - 1 for n in shape), shape).draw()
    width, height = struct.unpack(">II", png[16:24])
    assert max(width, height) < 2500
    assert (pixels_of(png) == RED).all(axis=2).any()


def test_empty_datasets_have_a_picture() -> None:
    assert Selection.all((0, 3)).draw().startswith(b"\x89PNG")


def test_a_picture_goes_to_a_path(tmp_path: Path) -> None:
    given = Selection.parse("0,0", (3, 2))
    path = tmp_path / "picture.png"
    assert given.draw(path) == path.read_bytes() == given.draw()
    missing = tmp_path / "missing" / "picture.png"
    with pytest.raises(StoreError, match="cannot write the picture"):
        given.draw(missing)


@pytest.mark.parametrize("shape", [(), (2, 2, 2, 2)])
def test_other_numbers_of_axes_have_no_picture(shape: tuple[int, ...]) -> None:
    with pytest.raises(BadCells, match="1 to 3 axes"):
        Selection.all(shape).draw()


def test_a_selection_on_a_background() -> None:
    background = np.array([[0.0, 1.0], [0.5, np.nan]])
    seen = pixels_of(Selection.parse("0,0", (2, 2)).draw(background=background))
    corner, white, half, unknown = (seen[y, x].tolist() for y, x in [(5, 5), (5, 40), (40, 5), (40, 40)])
    assert white == [255, 255, 255]
    assert half == unknown == [127, 127, 127]
    assert corner[0] > 100 > corner[1]
    colours = np.full((2, 2, 3), (0, 255, 0), dtype=np.uint8)
    assert pixels_of(Selection.empty((2, 2)).draw(background=colours))[0, 0].tolist() == [0, 255, 0]


def test_backgrounds_that_do_not_fit() -> None:
    given = Selection.all((2, 2))
    with pytest.raises(ShapeMismatch, match=r"the background has the shape \(3, 2\)"):
        given.draw(background=np.zeros((3, 2)))
    with pytest.raises(BadCells, match="numbers"):
        given.draw(background=np.array([["a", "b"], ["c", "d"]]))
    with pytest.raises(BadCells, match="only a selection of 2 axes"):
        Selection.all((2,)).draw(background=np.zeros(2))


@pytest.mark.parametrize("values", [[[1e308, -1e308]], [[np.inf, 0.0]], [[np.nan, np.nan]], [[7, 7]], [[True, False]]])
def test_backgrounds_of_any_numbers(values: list[list[float]]) -> None:
    assert Selection.all((1, 2)).draw(background=np.array(values)).startswith(b"\x89PNG")
