"""scipy.signal: convolutions, filters along an axis, and functions of a whole slice along an axis."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from whence.arrays.adapters.foreign import Arguments, follow
from whence.arrays.adapters.windows import through
from whence.arrays.rules._rows import (
    Factor,
    Shape,
    affine,
    band,
    factor,
    product,
    row,
    triangle,
)
from whence.arrays.rules._rules import Link, Links, axes_of, axis_of
from whence.arrays.rules.windows import along, lane, turned
from whence.errors import NoRule
from whence.relation import Relation

PACKAGE = "scipy.signal"


def install() -> None:
    """Add rules for the functions of scipy.signal."""
    follow(PACKAGE, ["convolve", "fftconvolve", "oaconvolve", "convolve2d"], convolved)
    follow(PACKAGE, ["correlate", "correlate2d"], correlated)
    follow(PACKAGE, ["lfilter"], filtered)
    follow(PACKAGE, ["sosfilt"], sections)
    follow(PACKAGE, ["filtfilt", "sosfiltfilt"], there_and_back)
    follow(PACKAGE, ["savgol_filter"], smoothed)
    follow(PACKAGE, ["detrend"], detrended)
    follow(PACKAGE, ["medfilt", "medfilt2d"], median)
    follow(PACKAGE, ["hilbert", "resample"], lines)
    follow(PACKAGE, ["periodogram", "welch"], spectrum)


def _start(n: int, m: int, mode: str, *, exchanged: bool) -> tuple[int, int]:
    """Return the length of the output along one axis, and its offset in the full convolution."""
    if mode == "full":
        return n + m - 1, 0
    if mode == "same":  # as long as the first operand
        return n, (m - 1) // 2
    if mode == "valid":
        return (m - n + 1, n - 1) if exchanged else (n - m + 1, m - 1)
    raise NoRule(f"a convolution with mode={mode!r}")


def convolved(a: Arguments) -> Links:
    """A window of one operand moves over the other, along every axis."""
    return _swept(a, a.in1.shape, a.in2.shape, correlation=False)


def correlated(a: Arguments) -> Links:
    """The same with the second operand reversed."""
    return _swept(a, a.in1.shape, a.in2.shape, correlation=True)


def _swept(a: Arguments, one: Shape, other: Shape, *, correlation: bool) -> Links:
    if len(one) != len(other) or 0 in one + other or not one:
        raise NoRule("a convolution of empty arrays, or of arrays with different numbers of axes")
    if getattr(a, "boundary", "fill") != "fill":
        raise NoRule("a convolution with a boundary other than 'fill'")
    if any(np.dtype(each.dtype).kind == "c" for each in (a.in1, a.in2)):
        raise NoRule("a convolution of complex numbers")
    axes = axes_of(getattr(a, "axes", None), len(one))
    exchanged = a.mode == "valid" and not all(one[i] >= other[i] for i in axes)
    own, its, out = [], [], []
    for i, (n, m) in enumerate(zip(one, other, strict=True)):
        if i not in axes:
            if n != m:
                raise NoRule("a convolution along some axes, with other axes of different lengths")
            own.append(affine(i, i, n))
            its.append(affine(i, i, n))
            out.append(n)
            continue
        side, start = _start(n, m, a.mode, exchanged=exchanged)
        if a.function == "correlate2d" and a.mode == "same":
            start = m // 2  # correlate2d is centred differently
        out.append(side)
        own.append(band(i, i, side, n, start - (m - 1), start))
        # Cell b + start of the full result uses in2[b + start - i]; reversed, in2[m - 1 - (b + start - i)].
        full = band(i, i, side, m, start - (n - 1), start)
        its.append(turned(full, m) if correlation else full)
    shape = tuple(out)
    return [Link(a.in1, product(shape, one, own)), Link(a.in2, product(shape, other, its))]


def _lines(shape: Shape, axis: int, one: Factor) -> Relation:
    return along(shape, shape, axis, one)


def filtered(a: Arguments) -> Links | tuple[Links, ...]:
    """Without feedback, each cell comes from as many cells as there are coefficients; with feedback, from all before
    it.
    """
    if a.zi is not None:
        raise NoRule("lfilter with zi=: put the earlier cells before x instead")
    shape, axis = a.x.shape, axis_of(a.axis, a.x.ndim)
    side = shape[axis]
    taps, feedback = int(np.size(a.b)), np.atleast_1d(np.asarray(a.a))
    if feedback.size == 1 or not feedback[1:].any():
        own = band(axis, axis, side, side, -(taps - 1), 0)
    else:
        own = triangle(axis, axis, side)
    return [Link(a.x, _lines(shape, axis, own)), *_coefficients(shape, a.b, a.a)]


def _coefficients(shape: Shape, *given: Any) -> Links:
    """Every cell comes from all coefficients of a filter."""
    return [Link(each, Relation.whole(shape, np.shape(each))) for each in given if hasattr(each, "shape")]


def sections(a: Arguments) -> Links:
    """Each cell comes from all cells before it along the axis."""
    if a.zi is not None:
        raise NoRule("sosfilt with zi=: put the earlier cells before x instead")
    axis = axis_of(a.axis, a.x.ndim)
    return [Link(a.x, _lines(a.x.shape, axis, triangle(axis, axis, a.x.shape[axis]))), *_coefficients(a.x.shape, a.sos)]


def there_and_back(a: Arguments) -> Links:
    """A filter in both directions: each cell comes from the whole slice along the axis."""
    axis = axis_of(a.axis, a.x.ndim)
    given = [a.sos] if hasattr(a, "sos") else [a.b, a.a]
    return [Link(a.x, lane(a.x.shape, axis, a.x.shape[axis])), *_coefficients(a.x.shape, *given)]


def smoothed(a: Arguments) -> Links:
    """A polynomial is fitted to the window of each cell; near the ends, to the first or last window."""
    shape, axis, size = a.x.shape, axis_of(a.axis, a.x.ndim), int(a.window_length)
    side, half = shape[axis], int(a.window_length) // 2
    if a.mode != "interp":
        if size % 2 == 0:
            raise NoRule("savgol_filter with an even window")
        return [Link(a.x, through(shape, {axis: tuple(range(-half, half + 1))}, {axis: a.mode}))]
    if size % 2 == 0 or size > side:
        raise NoRule("savgol_filter with an even window")
    inside = row((half, side - half - 1), (-half, half, 0, 1, 1))
    first, last = row((0, half - 1), (0, size - 1)), row((side - half, side - 1), (side - size, side - 1))
    return [Link(a.x, _lines(shape, axis, factor([axis], [axis], [first, inside, last])))]


def detrended(a: Arguments) -> Links:
    """A line fitted to the whole slice is subtracted; with breaks, one for each part between them."""
    if a.overwrite_data:
        raise NoRule("detrend with overwrite_data=True")
    shape, axis = a.data.shape, axis_of(a.axis, a.data.ndim)
    side = shape[axis]
    if a.type not in ("linear", "l"):
        return [Link(a.data, lane(shape, axis, side))]
    breaks = sorted({0, side, *(int(each) for each in np.atleast_1d(a.bp))})
    parts = [row((start, stop - 1), (start, stop - 1)) for start, stop in pairwise(breaks)]
    return [Link(a.data, _lines(shape, axis, factor([axis], [axis], parts)))]


def median(a: Arguments) -> Links:
    """Each cell comes from the window around it."""
    given = getattr(a, "volume", None)
    given = a.input if given is None else given
    sizes = np.broadcast_to(3 if a.kernel_size is None else np.asarray(a.kernel_size), (given.ndim,)).tolist()
    offsets = {i: tuple(range(-(n // 2), n // 2 + 1)) for i, n in enumerate(sizes)}
    return [Link(given, through(given.shape, offsets, dict.fromkeys(offsets, "constant")))]


def lines(a: Arguments) -> Links:
    """Each cell comes from every cell of the slice along the axis."""
    axis = axis_of(a.axis, a.x.ndim)
    if (
        getattr(a, "t", None) is not None
        or getattr(a, "window", None) is not None
        or getattr(a, "domain", "time") != "time"
    ):
        raise NoRule("resample with t=, window= or domain=")
    side = getattr(a, "num", None) or getattr(a, "N", None) or a.x.shape[axis]
    return [Link(a.x, lane(a.x.shape, axis, int(side), int(side) if hasattr(a, "N") else None))]


def spectrum(a: Arguments) -> tuple[Links, Links]:
    """The frequencies come from no cell, their power from the whole slice along the axis."""
    axis = axis_of(a.axis, a.x.ndim)
    if not isinstance(a.window, str):
        raise NoRule("a spectrum with a window that is given as an array")
    side = a.x.shape[axis]
    length = side if not hasattr(a, "nperseg") else min(side, 256 if a.nperseg is None else int(a.nperseg))
    points = length if a.nfft is None else int(a.nfft)
    if hasattr(a, "nperseg") and length < side:
        step = length - (length // 2 if a.noverlap is None else int(a.noverlap))
        used = (side - length) // step * step + length  # incomplete segments are left out
    else:
        used = min(side, points)
    out = points // 2 + 1 if a.return_onesided else points
    return [], [Link(a.x, lane(a.x.shape, axis, out, used))]
