"""scipy.ndimage in tracked functions: lineage against perturbation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import ndimage

from whence.errors import NoRule
from whence.testing.influence import by_step, influences, recorded

CROSS = np.array([[0, 1, 0], [1, 2, 1], [0, 1, 0.0]])
MODES = ("reflect", "constant", "nearest", "mirror", "wrap")


def nan(_: Any) -> float:
    return float("nan")


def image(shape: tuple[int, ...] = (7, 6), seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(1, 100, shape).astype(float)


def called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[[Any], Any]:
    return lambda x: function(x, *args, **kwargs)


# Each of these computes with every cell of its window, also where the weight is nought: a NaN shows it.
LINEAR: dict[str, Callable[[Any], Any]] = {
    **{f"gaussian {mode}": called(ndimage.gaussian_filter, 0.7, mode=mode) for mode in MODES},
    **{f"convolve1d {mode}": called(ndimage.convolve1d, [1, 2, 3, 4], 0, mode=mode) for mode in MODES},
    **{f"correlate {mode}": called(ndimage.correlate, CROSS, mode=mode) for mode in MODES},
    "gaussian per axis": lambda x: ndimage.gaussian_filter(x, (0, 0.5), mode=("wrap", "constant"), order=(0, 1)),
    "gaussian axes": lambda x: ndimage.gaussian_filter(x, 0.6, axes=(0,), truncate=2),
    "gaussian radius": lambda x: ndimage.gaussian_filter(x, 1.0, radius=1),
    "gaussian1d": lambda x: ndimage.gaussian_filter1d(x, 1.5, axis=0, order=1),
    "correlate1d origin": lambda x: ndimage.correlate1d(x, [1.0, 0, 2], origin=1, mode="constant"),
    "convolve1d origin": lambda x: ndimage.convolve1d(x, [1.0, 5, 2, 7], origin=-1, mode="mirror"),
    "convolve origin": lambda x: ndimage.convolve(x, [[1.0, 0], [2, 3], [0, 0]], origin=(1, -1), mode="reflect"),
    "convolve hole": lambda x: ndimage.convolve(x, [[1.0, 0, 0], [0, 0, 2]], mode="wrap"),
    "sobel": lambda x: ndimage.sobel(x, 0),
    "prewitt": lambda x: ndimage.prewitt(x, mode="wrap"),
    "laplace": lambda x: ndimage.laplace(x, mode="nearest"),
    "pipeline": lambda x: ndimage.gaussian_filter(np.pad(x, 1)[1:], 0.5)[::2] / 2,
}

# A sum that runs along hands a NaN on to the end of its line, and a change of a number no farther than the window.
RUNNING: dict[str, Callable[[Any], Any]] = {
    "uniform": lambda x: ndimage.uniform_filter(x, 3),
    "uniform even": lambda x: ndimage.uniform_filter(x, (2, 4), mode="constant", origin=(0, 1)),
    "uniform wrap": lambda x: ndimage.uniform_filter(x, 3, mode="wrap"),
    "uniform1d": lambda x: ndimage.uniform_filter1d(x, 4, axis=0, mode="mirror"),
}

RANKED: dict[str, Callable[[Any], Any]] = {
    "median": lambda x: ndimage.median_filter(x, 3),
    "median even": lambda x: ndimage.median_filter(x, (2, 3), mode="constant", cval=50),
    "median cross": lambda x: ndimage.median_filter(x, footprint=CROSS > 0, mode="wrap"),
    "maximum": lambda x: ndimage.maximum_filter(x, 3, mode="mirror"),
    "maximum1d": lambda x: ndimage.maximum_filter1d(x, 4, axis=0, mode="constant"),
    "minimum footprint": lambda x: ndimage.minimum_filter(x, footprint=[[1, 0, 1]], mode="constant", cval=1e9),
    "rank": lambda x: ndimage.rank_filter(x, 1, size=(1, 3)),
    "percentile": lambda x: ndimage.percentile_filter(x, 60, size=2, origin=-1),
    "grey erosion": lambda x: ndimage.grey_erosion(x, size=(2, 3)),
    "grey dilation": lambda x: ndimage.grey_dilation(x, footprint=[[1, 1], [1, 0]], mode="constant"),
}


@pytest.mark.parametrize("name", LINEAR)
def test_linear_filters(name: str) -> None:
    function = LINEAR[name]
    for shape in ((7, 6), (2, 3)):
        x = image(shape)
        assert recorded(function, [x]) == influences(function, [x], nan)


@pytest.mark.parametrize("name", RUNNING)
def test_running_sums(name: str) -> None:
    function, x = RUNNING[name], image()
    assert recorded(function, [x]) == influences(function, [x], by_step)


@pytest.mark.parametrize("name", RANKED)
def test_filters_by_rank_see_their_window(name: str) -> None:
    function = RANKED[name]
    said = recorded(function, [image()])
    seen: set[tuple[int, ...]] = set()
    for seed in range(20):
        found = influences(function, [image((7, 6), seed)], lambda _: -1000.0, lambda _: 1000.0)[0, 0]
        assert found <= said[0, 0]
        seen |= found
    inside = {
        each for each in said[0, 0] if 2 <= each[0] < 5 and 2 <= each[1] < 4
    }  # at the ends some cells count twice
    assert inside <= seen


@pytest.mark.parametrize("structure", [None, np.ones((2, 3)), [[1, 0, 0], [1, 1, 0], [0, 0, 1]]])
@pytest.mark.parametrize("iterations", [1, 2])
def test_erosion_and_dilation(structure: Any, iterations: int) -> None:
    erode = lambda x: ndimage.binary_erosion(x, structure, iterations, border_value=1)  # noqa: E731  # read as one line beside its call
    full = np.ones((6, 5), bool)
    assert recorded(erode, [full]) == influences(erode, [full])
    dilate = lambda x: ndimage.binary_dilation(x, structure, iterations)  # noqa: E731  # read as one line beside its call
    empty = np.zeros((6, 5), bool)
    assert recorded(dilate, [empty]) == influences(dilate, [empty])


def test_opening_is_an_erosion_and_a_dilation() -> None:
    x = image((8, 8)) > 30
    said = recorded(ndimage.binary_opening, [x])
    assert influences(ndimage.binary_opening, [x])[0, 0] <= said[0, 0]
    assert {each[2:] for each in said[0, 0] if each[:2] == (4, 4)} == {
        (i, j) for i in range(8) for j in range(8) if abs(i - 4) + abs(j - 4) <= 2
    }


def test_weights_that_were_computed_are_inputs() -> None:
    def blurred(x: Any, kernel: Any) -> Any:
        return ndimage.convolve(x, kernel / kernel.sum())

    x, kernel = image((4, 5)), np.array([[1.0, 2], [3, 4]])
    said = recorded(blurred, [x, kernel])
    assert said[0, 1] == {(i, j, a, b) for i in range(4) for j in range(5) for a in range(2) for b in range(2)}
    assert said[0, 0] == influences(lambda x: blurred(x, kernel), [x], nan)[0, 0]


def test_labels_are_of_all_and_background_of_itself() -> None:
    def objects(x: Any) -> Any:
        marks, count = ndimage.label(x > 50)
        return marks, count, ndimage.mean(x, marks, [1, 2])

    x = np.zeros((4, 6))
    x[0, :2] = x[2:, 4:] = 60.0
    said = recorded(objects, [x])
    assert {each[2:] for each in said[0, 0] if each[:2] == (1, 1)} == {(1, 1)}
    assert len({each[2:] for each in said[0, 0] if each[:2] == (0, 1)}) == 24
    assert len(said[1, 0]) == 24
    assert said[2, 0] == {(0, 0, 0), (0, 0, 1), (1, 2, 4), (1, 2, 5), (1, 3, 4), (1, 3, 5)}
    assert influences(lambda x: objects(x)[0], [x], lambda v: 60.0 - v)[0, 0] <= said[0, 0]


def test_a_tracked_filter_has_a_rule_itself() -> None:
    x = image()
    assert (
        recorded(ndimage.gaussian_filter, [x, np.array(1.0)], unknown="whole")[0, 0]
        >= recorded(lambda x: ndimage.gaussian_filter(x, 1.0), [x])[0, 0]
    )


def test_imports_within_the_function() -> None:
    def inner(x: Any) -> Any:
        import numpy as np
        import scipy.ndimage as nd
        from scipy.ndimage import uniform_filter

        out = np.zeros(x.shape)
        out[:] = nd.gaussian_filter(x, 0.5)
        return out + uniform_filter(x, 1)

    x = image((4, 5))
    assert recorded(inner, [x]) == influences(inner, [x], nan)


def test_an_output_that_is_given_is_refused() -> None:
    with pytest.raises(NoRule, match="output="):
        recorded(lambda x: ndimage.gaussian_filter(x, 1, output=np.empty(x.shape)), [image()])
