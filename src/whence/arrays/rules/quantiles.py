"""Rules for medians and quantiles: one or two cells of each slice along the axes, selected by values."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import affine, factor, linked, numbered, product, row, whole_out
from whence.arrays.rules._rules import Link, Links, axes_of, rule, shape
from whence.arrays.rules.reductions import reduced


@rule("median", values=True)
def median(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Links:
    """The median comes from the middle cell or the two around it; the selection lineage is the whole slice."""
    _in_place(overwrite_input)
    return _quantiles(a, axis, keepdims, 0.5)


@rule("nanmedian", values=True)
def nanmedian(a: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False, keepdims: Any = False) -> Links:
    """The same, without NaN."""
    _in_place(overwrite_input)
    return _quantiles(a, axis, keepdims, 0.5, among_numbers=True)


def _in_place(overwrite_input: bool) -> None:
    if overwrite_input:
        raise TypeError("overwrite_input, which moves the cells of the input")


@rule("quantile", values=True)
def quantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
             method: str = "linear", keepdims: Any = False, **more: Any) -> Links:  # fmt: skip
    """The quantile comes from the one or two cells around the fraction."""
    return _several(a, q, 1, axis, keepdims, method, overwrite_input, more, among_numbers=False)


@rule("nanquantile", values=True)
def nanquantile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
                method: str = "linear", keepdims: Any = False, **more: Any) -> Links:  # fmt: skip
    """The same, without NaN."""
    return _several(a, q, 1, axis, keepdims, method, overwrite_input, more, among_numbers=True)


@rule("percentile", values=True)
def percentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
               method: str = "linear", keepdims: Any = False, **more: Any) -> Links:  # fmt: skip
    """A quantile in percent."""
    return _several(a, q, 100, axis, keepdims, method, overwrite_input, more, among_numbers=False)


@rule("nanpercentile", values=True)
def nanpercentile(a: Any, q: Any, axis: Any = None, out: Any = None, overwrite_input: bool = False,
                  method: str = "linear", keepdims: Any = False, **more: Any) -> Links:  # fmt: skip
    """The same, without NaN."""
    return _several(a, q, 100, axis, keepdims, method, overwrite_input, more, among_numbers=True)


def _several(
    a: Any, q: Any, whole: int, axis: Any, keepdims: Any, method: str, overwrite: bool, more: dict[str, Any], *,
    among_numbers: bool,
) -> Links:  # fmt: skip
    """Link quantiles to the array, and to the fractions (of 1, or of 100), which weight the two cells around each."""
    if method != "linear" or more.get("weights") is not None or overwrite:
        raise TypeError("weights, a method other than linear, or overwrite_input")
    fractions = np.asarray(q, float) / whole
    links = _at_fractions(a, fractions, axis, keepdims, among_numbers)
    if hasattr(q, "shape") and links:
        out = links[0].relation.out_shape
        rest = [whole_out(i, side) for i, side in enumerate(out) if i >= fractions.ndim]
        own = [affine(i, i, side) for i, side in enumerate(fractions.shape)]
        links.append(Link(q, product(out, fractions.shape, [*own, *rest])))
    return links


def _at_fractions(a: Any, fractions: Any, axis: Any, keepdims: Any, among_numbers: bool) -> Links:
    if not fractions.shape:
        return _quantiles(a, axis, keepdims, float(fractions), among_numbers=among_numbers)
    links: Links = []
    for index in np.ndindex(fractions.shape):
        for link in _quantiles(a, axis, keepdims, float(fractions[index]), among_numbers=among_numbers):
            placing = [factor([i], [], [row((at, at))]) for i, at in enumerate(index)]
            inner = link.relation.out_shape
            placing += [affine(len(index) + i, i, side) for i, side in enumerate(inner)]
            outer = product((*fractions.shape, *inner), inner, placing)
            links.append(link._replace(relation=outer.compose(link.relation)))
    return links


def _quantiles(a: Any, axis: Any, keepdims: Any, fraction: float, *, among_numbers: bool = False) -> Links:
    in_shape, keep = shape(a), keepdims is True
    axes = axes_of(axis, len(in_shape))
    kept = [i for i in range(len(in_shape)) if i not in axes]
    values = np.asarray(a).transpose([*kept, *axes]).reshape([in_shape[i] for i in kept] + [-1])
    decided = Link(a, reduced(in_shape, axis, keep), "selection")
    missing = np.isnan(values)
    count = values.shape[-1] - missing.sum(axis=-1)
    if (missing.any() and not among_numbers) or not count.all():
        # The result is NaN because of some cell; the whole slice is recorded.
        return [Link(a, decided.relation), decided]
    cells = numbered(in_shape).transpose([*kept, *axes]).reshape(values.shape)
    exact = fraction * (count - 1)
    picks = np.stack([np.floor(exact), np.ceil(exact)], axis=-1).astype(np.int64)
    order = np.take_along_axis(np.argsort(values, -1, kind="stable"), picks, -1)  # NaN comes last
    sources = np.take_along_axis(cells, order, -1)
    targets = np.broadcast_to(numbered(values.shape[:-1])[..., None], sources.shape)
    return [Link(a, linked(targets.ravel(), sources.ravel(), decided.relation.out_shape, in_shape)), decided]
