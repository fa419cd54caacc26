"""Rules for histograms."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import Ints, linked
from whence.arrays.rules._rules import Link, Links, rule, shape
from whence.relation import Relation


@rule("bincount", values=True)
def bincount(x: Any, /, weights: Any = None, minlength: int = 0) -> Links:
    """Each bin comes from the cells that fall into it."""
    codes = np.asarray(x)
    out = (max(int(codes.max(initial=-1)) + 1, minlength),)
    found = linked(codes, np.arange(len(codes)), out, shape(x))
    if weights is None:
        return [Link(x, found)]
    return [Link(weights, found), Link(x, found, "selection")]


@rule("digitize", values=True)
def digitize(x: Any, bins: Any, right: bool = False) -> Links:
    """The index of the bin is selected by the cell and all edges."""
    return [
        Link(x, Relation.identity(shape(x)), "selection"),
        Link(bins, Relation.whole(shape(x), shape(bins)), "selection"),
    ]


def _bins_of(values: Any, edges: Any) -> Ints:
    """Return the bin of each value; -1 if it is outside. The last bin includes both its edges."""
    found: Ints = np.searchsorted(edges, values, "right") - 1
    found[values == edges[-1]] = len(edges) - 2
    found[found > len(edges) - 2] = -1
    return found


@rule("histogram", values=True)
def histogram(a: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Each bin comes from the cells inside its edges; the edges, unless given, from all cells."""
    values = np.asarray(a).ravel()
    edges = np.histogram_bin_edges(values, bins, range, None if weights is None else np.asarray(weights).ravel())
    codes = _bins_of(values, edges)
    inside = np.flatnonzero(codes >= 0)
    counted = linked(codes[inside], inside, (len(edges) - 1,), shape(a))
    if density:  # divided by the total count, and by widths
        counted = Relation.whole(counted.out_shape, shape(a))
    links = [Link(a, counted)]
    if np.ndim(bins) == 0 and range is None:
        links.append(Link(a, Relation.whole(counted.out_shape, shape(a)), "selection"))
    if weights is not None:
        links.append(Link(weights, counted))
    if np.ndim(bins) == 1:
        links.append(Link(bins, Relation.whole(counted.out_shape, shape(bins))))
    return links, _bin_edges(a, bins, range, edges.shape)


def _bin_edges(a: Any, bins: Any, range: Any, out: tuple[int, ...]) -> Links:
    if np.ndim(bins) == 1:
        return [Link(bins, Relation.identity(out))]
    return [] if range is not None else [Link(a, Relation.whole(out, shape(a)))]


@rule("histogram_bin_edges", values=True)
def histogram_bin_edges(a: Any, bins: Any = 10, range: Any = None, weights: Any = None) -> Links:
    """The edges alone."""
    out = np.histogram_bin_edges(np.asarray(a), bins, range, weights).shape
    return _bin_edges(a, bins, range, out)


@rule("histogram2d", values=True)
def histogram2d(x: Any, y: Any, bins: Any = 10, range: Any = None, density: Any = None, weights: Any = None) -> Any:
    """Each bin comes from the points inside it; the edges from all points, unless edges or ranges are given."""
    given = list(bins) if isinstance(bins, (list, tuple)) else [bins, bins]
    if len(given) != 2:
        raise TypeError("edges for another number of axes")
    plain = [np.asarray(each) if np.ndim(each) else each for each in given]
    _, *edges = np.histogram2d(np.asarray(x), np.asarray(y), plain, range)
    rows, columns = (_bins_of(np.asarray(each), some) for each, some in zip((x, y), edges, strict=True))
    inside = np.flatnonzero((rows >= 0) & (columns >= 0))
    out = (len(edges[0]) - 1, len(edges[1]) - 1)
    counted = linked(rows[inside] * out[1] + columns[inside], inside, out, shape(x))
    if density:  # divided by the total count, and by areas
        counted = Relation.whole(out, shape(x))
    links = [Link(each, counted) for each in (x, y, weights) if each is not None]
    for points, own in zip((x, y), given, strict=True):
        if np.ndim(own):
            links.append(Link(own, Relation.whole(out, shape(own))))
        elif range is None:
            links.append(Link(points, Relation.whole(out, shape(points)), "selection"))
    return (
        links,
        *(_bin_edges(points, own, range, some.shape) for points, own, some in zip((x, y), given, edges, strict=True)),
    )
