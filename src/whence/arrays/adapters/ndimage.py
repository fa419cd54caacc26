"""scipy.ndimage: filters read a window around each cell; the label of an object depends on all cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from whence.arrays.adapters.foreign import Arguments, follow
from whence.arrays.adapters.windows import footprint, through
from whence.arrays.rules._rows import linked, numbered
from whence.arrays.rules._rules import Link, Links, axes_of, axis_of
from whence.errors import NoRule
from whence.relation import Relation

PACKAGE = "scipy.ndimage"
EPSILON = np.finfo(float).eps  # SciPy ignores smaller weights


def install() -> None:
    """Add rules for the functions of scipy.ndimage."""
    follow(PACKAGE, ["gaussian_filter", "gaussian_filter1d"], gaussian)
    follow(PACKAGE, ["uniform_filter"], box)
    follow(PACKAGE, ["uniform_filter1d", "maximum_filter1d", "minimum_filter1d"], one_axis)
    follow(PACKAGE, ["correlate1d", "convolve1d"], one_axis_weights)
    follow(PACKAGE, ["correlate", "convolve"], weighted)
    follow(PACKAGE, ["median_filter", "maximum_filter", "minimum_filter", "rank_filter", "percentile_filter"], ranked)
    follow(PACKAGE, ["grey_erosion", "grey_dilation"], ranked)
    follow(PACKAGE, ["sobel", "prewitt"], edges)
    follow(PACKAGE, ["laplace"], laplace)
    follow(PACKAGE, ["binary_erosion", "binary_dilation", "binary_opening", "binary_closing"], eroded)
    follow(PACKAGE, ["label"], labelled, values=True)
    follow(PACKAGE, MEASURES, measured, values=True)


MEASURES = ["sum", "sum_labels", "mean", "maximum", "minimum", "median", "variance", "standard_deviation"]


def _plain_output(a: Arguments) -> None:
    if isinstance(a.output, np.ndarray):
        raise NoRule("a filter of scipy.ndimage with output=: use the returned array instead")


def _axes(a: Arguments) -> list[int]:
    """Return the axes of a filter, in the order given."""
    given = getattr(a, "axes", None)
    if given is None:
        return list(range(a.input.ndim))
    return list(axes_of(given, a.input.ndim)) if np.ndim(given) == 0 else [axis_of(i, a.input.ndim) for i in given]


def _each(given: Any, count: int) -> list[Any]:
    """Return an option for each axis, given as one value or a sequence."""
    return list(given) if isinstance(given, Sequence) and not isinstance(given, str) else [given] * count


def _around(size: int, origin: int = 0) -> tuple[int, ...]:
    start = -(int(size) // 2) - int(origin)
    return tuple(range(start, start + int(size)))


def gaussian(a: Arguments) -> Links:
    """Each cell comes from the cells within the kernel's radius on each axis."""
    _plain_output(a)
    axes = [axis_of(a.axis, a.input.ndim)] if hasattr(a, "axis") else _axes(a)
    count = len(axes)
    offsets, modes = {}, {}
    options = zip(axes, _each(a.sigma, count), _each(a.mode, count), _each(a.radius, count), strict=True)
    for axis, sigma, mode, radius in options:
        if float(sigma) > 1e-15 or hasattr(a, "axis"):
            reach = int(radius) if radius is not None else int(float(a.truncate) * float(sigma) + 0.5)
            offsets[axis], modes[axis] = tuple(range(-reach, reach + 1)), mode
    return [Link(a.input, through(a.input.shape, offsets, modes))]


def box(a: Arguments) -> Links:
    """Each cell comes from a box around it."""
    _plain_output(a)
    axes = _axes(a)
    count = len(axes)
    sizes, origins, modes = _each(a.size, count), _each(a.origin, count), _each(a.mode, count)
    offsets = {i: _around(n, o) for i, n, o in zip(axes, sizes, origins, strict=True) if n > 1}
    return [Link(a.input, through(a.input.shape, offsets, dict(zip(axes, modes, strict=True))))]


def one_axis(a: Arguments) -> Links:
    """Each cell comes from a window along one axis."""
    _plain_output(a)
    axis = axis_of(a.axis, a.input.ndim)
    return [Link(a.input, through(a.input.shape, {axis: _around(a.size, a.origin)}, {axis: a.mode}))]


def _turns(a: Arguments) -> bool:
    """Whether the window is reversed: a convolution or a dilation."""
    return "convolve" in a.function or "dilation" in a.function


def one_axis_weights(a: Arguments) -> Links:
    """Each cell comes from as many cells along the axis as there are weights, and from all weights."""
    _plain_output(a)
    axis, size = axis_of(a.axis, a.input.ndim), len(a.weights)
    origin = -a.origin - (1 - size % 2) if _turns(a) else a.origin
    own = through(a.input.shape, {axis: _around(size, origin)}, {axis: a.mode})
    return [Link(a.input, own), Link(a.weights, Relation.whole(a.input.shape, np.shape(a.weights)))]


def _window(a: Arguments, used: Any, modes: Any) -> list[Relation]:
    axes = _axes(a)
    origins = [int(each) for each in _each(a.origin, len(axes))]
    if used.ndim != len(axes):
        raise NoRule("a window whose number of axes differs from that of the filter")
    if _turns(a):
        used = used[(slice(None, None, -1),) * used.ndim]
        origins = [-each - (1 - side % 2) for each, side in zip(origins, used.shape, strict=True)]
    return footprint(a.input.shape, axes, used, origins, _each(modes, len(axes)))


def weighted(a: Arguments) -> Links:
    """Each cell comes from the cells whose weight is not zero, and from all weights."""
    _plain_output(a)
    weights = np.asarray(a.weights)
    parts = _window(a, np.abs(weights) > EPSILON, a.mode)
    own = [Link(a.input, each) for each in parts] or [Link(a.input, Relation.empty(a.input.shape, a.input.shape))]
    return [*own, Link(a.weights, Relation.whole(a.input.shape, weights.shape))]


def ranked(a: Arguments) -> Links:
    """Each cell comes from all cells of the footprint, because the largest or middle one depends on all."""
    _plain_output(a)
    if getattr(a, "structure", None) is not None:
        raise NoRule("grey morphology with a structure: give size or footprint")
    used = a.footprint
    if used is None:
        if a.size is None:
            raise NoRule("a filter needs size or footprint")
        used = np.ones([int(each) for each in _each(a.size, len(_axes(a)))], bool)
    return [Link(a.input, each) for each in _window(a, np.asarray(used, bool), a.mode)]


def edges(a: Arguments) -> Links:
    """Each cell comes from the 3 x 3 (x 3 ...) cells around it.

    That includes the middle, which SciPy multiplies by zero.
    """
    _plain_output(a)
    shape = a.input.shape
    modes = dict(enumerate(_each(a.mode, len(shape))))
    return [Link(a.input, through(shape, dict.fromkeys(range(len(shape)), (-1, 0, 1)), modes))]


def laplace(a: Arguments) -> Links:
    """Each cell comes from its neighbours along each axis, and from itself."""
    _plain_output(a)
    axes = _axes(a)
    modes = dict(zip(axes, _each(a.mode, len(axes)), strict=True))
    return [Link(a.input, through(a.input.shape, {i: (-1, 0, 1)}, {i: modes[i]})) for i in axes]


def eroded(a: Arguments) -> Links:
    """Each cell comes from the cells of the structure around it, applied once for each iteration."""
    _plain_output(a)
    if a.mask is not None or a.iterations < 1 or a.iterations > 8 or getattr(a, "axes", None) is not None:
        raise NoRule("binary morphology with mask=, axes=, or iterations < 1")
    ndim = a.input.ndim
    if a.structure is None:
        used = np.abs(np.indices((3,) * ndim) - 1).sum(axis=0) <= 1
    else:
        used = np.asarray(a.structure, bool)
    origins = [int(each) for each in _each(a.origin, ndim)]
    erosion = footprint(a.input.shape, range(ndim), used, origins, ["constant"] * ndim)
    turned = used[(slice(None, None, -1),) * ndim]
    back = [-each - (1 - side % 2) for each, side in zip(origins, used.shape, strict=True)]
    dilation = footprint(a.input.shape, range(ndim), turned, back, ["constant"] * ndim)
    steps = {"erosion": [erosion], "dilation": [dilation], "opening": [erosion, dilation],
             "closing": [dilation, erosion]}[a.function.partition("_")[2]]  # fmt: skip
    done = [Relation.identity(a.input.shape)]
    for each in (one for one in steps for _ in range(a.iterations)):
        done = [outer.compose(inner) for outer in each for inner in done]
        if len(done) > 256:
            raise NoRule("binary morphology with too many iterations: use a larger structure instead")
    return [Link(a.input, each) for each in done]


def labelled(a: Arguments) -> tuple[Links, Links]:
    """A background cell comes from itself; the label of an object and the count come from all cells."""
    _plain_output(a)
    shape = a.input.shape
    cells = numbered(shape)
    inside = np.asarray(a.input) != 0
    own = linked(cells[~inside], cells[~inside], shape, shape)
    objects = linked(cells[inside], np.zeros(int(inside.sum()), np.int64), shape, ())
    every = objects.compose(Relation.whole((), shape))
    return [Link(a.input, own), Link(a.input, every)], [Link(a.input, Relation.whole((), shape))]


def measured(a: Arguments) -> Links:
    """Each measurement comes from the cells of its label; the labels are selection lineage."""
    shape = a.input.shape
    if a.labels is None:
        if a.index is not None:
            raise NoRule("a measurement with index=, and no labels")
        return [Link(a.input, Relation.whole((), shape))]
    marks = np.broadcast_to(np.asarray(a.labels), shape)
    index = np.asarray(a.index) if a.index is not None else None
    out = () if index is None else index.shape
    if index is None:
        where = np.flatnonzero(marks > 0)
        targets = np.zeros(len(where), np.int64)
    else:
        pairs = [(np.flatnonzero(marks == each), n) for n, each in enumerate(index.ravel())]
        where = np.concatenate([found for found, _ in pairs]) if pairs else np.zeros(0, np.int64)
        targets = np.concatenate([np.full(len(found), n) for found, n in pairs]) if pairs else where
    links = [
        Link(a.input, linked(targets, where, out, shape)),
        Link(a.labels, Relation.whole(out, np.shape(a.labels)), "selection"),
    ]
    return links if index is None else [*links, Link(a.index, Relation.identity(out), "selection")]
