"""scipy.signal in tracked functions: lineage against perturbation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import signal

from whence.testing.influence import by_step, influences, recorded


def wave(*shape: int, seed: int = 0) -> Any:
    return np.random.default_rng(seed).integers(1, 50, shape) + 0.25


def called(function: Callable[..., Any], mode: str) -> Callable[[Any, Any], Any]:
    return lambda x, y: function(x, y, mode)


NAMES = ("convolve", "correlate", "fftconvolve", "oaconvolve", "convolve2d", "correlate2d")
MODES = ("full", "same", "valid")

TWO: dict[str, Callable[[Any, Any], Any]] = {
    **{f"{name} {mode}": called(getattr(signal, name), mode) for name in NAMES for mode in MODES},
    "convolve axes": lambda x, y: signal.fftconvolve(x[:3], y[:3], axes=1),
    "method": lambda x, y: signal.convolve(x, y, method="direct")[1:],
}

ONE: dict[str, Callable[[Any], Any]] = {
    "fir": lambda x: signal.lfilter([0.5, 0.25, 0.25], 1, x, axis=0),
    "fir of gains": lambda x: signal.lfilter([0.5, 0.25], [2.0], x),
    "iir": lambda x: signal.lfilter([1.0], [1.0, -0.9], x, axis=0),
    "butterworth": lambda x: signal.sosfilt(signal.butter(3, 0.3, output="sos"), x, axis=0),
    "filtfilt": lambda x: signal.filtfilt(*signal.butter(1, 0.4), x, axis=0, padlen=0),
    "sosfiltfilt": lambda x: signal.sosfiltfilt(signal.butter(1, 0.4, output="sos"), x, axis=0, padlen=0),
    "savgol": lambda x: signal.savgol_filter(x, 5, 2, axis=0),
    "savgol nearest": lambda x: signal.savgol_filter(x, 3, 1, axis=1, mode="nearest"),
    "savgol wrap": lambda x: signal.savgol_filter(x, 5, 2, axis=0, mode="wrap"),
    "detrend": lambda x: signal.detrend(x, axis=0),
    "detrend constant": lambda x: signal.detrend(x, type="constant"),
    "detrend breaks": lambda x: signal.detrend(x, axis=0, bp=[3]),
    "hilbert": lambda x: np.abs(signal.hilbert(x, axis=0)),
    "periodogram": lambda x: signal.periodogram(x, axis=0, detrend=False)[1],
    "welch": lambda x: signal.welch(x, nperseg=4, axis=0, window="boxcar", detrend=False)[1],
}


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("shapes", [((5, 6), (3, 2)), ((4, 5), (4, 5)), ((3, 4), (5, 4))])
def test_convolutions(name: str, shapes: tuple[Any, Any]) -> None:
    if name == "convolve axes" and shapes[0] != shapes[1]:
        shapes = ((5, 6), (5, 2))
    inputs = [wave(*shapes[0]), wave(*shapes[1], seed=1)]
    assert recorded(TWO[name], inputs) == influences(TWO[name], inputs, by_step)


@pytest.mark.parametrize("name", ONE)
def test_filters(name: str) -> None:
    x = wave(9, 4)
    said = recorded(ONE[name], [x])[0, 0]
    seen: set[tuple[int, ...]] = set()
    for seed in range(8):  # what changes by less than can be seen in one trial is seen in another
        seen |= influences(ONE[name], [wave(9, 4, seed=seed)], by_step, lambda v: v * -7)[0, 0]
        assert seen <= said
    assert seen == said


def test_resampling_computes_with_the_whole_line() -> None:
    x = wave(9, 4)
    said = recorded(lambda x: signal.resample(x, 5), [x])[0, 0]
    assert said == influences(lambda x: signal.resample(x, 5), [x], lambda _: float("nan"))[0, 0]


def test_medians_see_their_window() -> None:
    x = wave(9)
    said = recorded(lambda x: signal.medfilt(x, 3), [x])[0, 0]
    assert influences(lambda x: signal.medfilt(x, 3), [x], by_step, lambda v: -v)[0, 0] <= said
    assert {each for each in said if each[0] == 4} == {(4, 3), (4, 4), (4, 5)}
    assert {each[2:] for each in recorded(signal.medfilt2d, [wave(4, 5)])[0, 0] if each[:2] == (0, 0)} == {
        (0, 0), (0, 1), (1, 0), (1, 1),
    }  # fmt: skip


def test_coefficients_that_were_computed_are_inputs() -> None:
    def smooth(x: Any, b: Any) -> Any:
        return signal.lfilter(b / b.sum(), 1.0, x)

    inputs = [wave(6), np.array([1.0, 2.0])]
    said = recorded(smooth, inputs)
    assert said[0, 0] == influences(smooth, inputs)[0, 0]
    assert said[0, 1] == {(i, j) for i in range(6) for j in range(2)}
