"""Rules for functions that join several arrays into one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from whence.arrays.rules._rows import Shape, affine, factor, placed, product, row
from whence.arrays.rules._rules import Link, Links, axis_of, rule, shape
from whence.relation import Relation


def joined(shapes: Sequence[Shape], axis: int) -> list[Relation]:
    """Return the relation of each piece of a concatenation: its own cells, moved along the axis.

    >>> [each.forward([(0,)]).cells().tolist() for each in joined([(2,), (3,)], 0)]
    [[[0]], [[2]]]
    """
    total = sum(each[axis] for each in shapes)
    found, start = [], 0
    for each in shapes:
        out_shape = (*each[:axis], total, *each[axis + 1 :])
        factors = [placed(i, i, side, start) if i == axis else affine(i, i, side) for i, side in enumerate(each)]
        found.append(product(out_shape, each, factors))
        start += each[axis]
    return found


def _as_seen(arrays: Sequence[Any], seen: Sequence[Shape], axis: int) -> Links:
    """Link a concatenation of arrays that are first reshaped."""
    links = []
    for array, view, relation in zip(arrays, seen, joined(seen, axis), strict=True):
        links.append(Link(array, _through_view(relation, view, shape(array))))
    return links


def _through_view(relation: Relation, view: Shape, in_shape: Shape) -> Relation:
    if view == in_shape:
        return relation
    from whence.arrays.rules.shapes import reshaped

    return relation.compose(reshaped(in_shape, view))


@rule("concatenate", "concat")
def concatenate(arrays: Any, /, axis: int | None = 0, out: Any = None, **_: Any) -> Links:
    """Concatenate along an axis, or all arrays flat."""
    arrays = list(arrays)
    if axis is None:
        return _as_seen(arrays, [(math.prod(shape(each)),) for each in arrays], 0)
    return _as_seen(arrays, [shape(each) for each in arrays], axis_of(axis, len(shape(arrays[0]))))


@rule("append")
def append(arr: Any, values: Any, axis: int | None = None) -> Links:
    """The first array, then the second."""
    return concatenate([arr, values], axis)


@rule("stack")
def stack(arrays: Any, axis: int = 0, out: Any = None, **_: Any) -> Links:
    """Each array at its own index of a new axis."""
    arrays = list(arrays)
    one = shape(arrays[0])
    at = axis_of(axis, len(one) + 1)
    out_shape = (*one[:at], len(arrays), *one[at:])
    links = []
    for n, array in enumerate(arrays):
        factors = [affine(i + (i >= at), i, side) for i, side in enumerate(one)]
        factors.append(factor([at], [], [row((n, n))]))
        links.append(Link(array, product(out_shape, one, factors)))
    return links


def _joining(name: str, seen: Any, axis: Any) -> None:
    @rule(name)
    def join(tup: Any, **_: Any) -> Links:
        arrays = list(tup)
        shapes = [seen(shape(each)) for each in arrays]
        return _as_seen(arrays, shapes, axis(shapes))


def _of_two_axes(one: Shape) -> Shape:
    return (1,) * (2 - len(one)) + one


_joining("vstack", _of_two_axes, lambda shapes: 0)
_joining("row_stack", _of_two_axes, lambda shapes: 0)
_joining("hstack", lambda one: one or (1,), lambda shapes: 0 if len(shapes[0]) == 1 else 1)
_joining("column_stack", lambda one: (math.prod(one), 1) if len(one) < 2 else one, lambda shapes: 1)
_joining("dstack", lambda one: (*_of_two_axes(one), 1) if len(one) < 3 else one, lambda shapes: 2)


@rule("block")
def block(arrays: Any) -> Links:
    """Nested lists of arrays: the innermost are joined along the last axis, the next along the axis before."""

    def depth(item: Any) -> int:
        return 1 + depth(item[0]) if isinstance(item, list) else 0

    def leaves(item: Any) -> list[Any]:
        return [leaf for each in item for leaf in leaves(each)] if isinstance(item, list) else [item]

    rank = max(depth(arrays), *(len(shape(leaf)) for leaf in leaves(arrays)))

    def build(item: Any, axis: int) -> tuple[Shape, Links]:
        if not isinstance(item, list):
            view = (1,) * (rank - len(shape(item))) + shape(item)
            return view, [Link(item, _through_view(Relation.identity(view), view, shape(item)))]
        parts = [build(each, axis + 1) for each in item]
        moves = joined([view for view, _ in parts], axis)
        links = [
            link._replace(relation=move.compose(link.relation))
            for move, (_, part) in zip(moves, parts, strict=True)
            for link in part
        ]
        return moves[0].out_shape, links

    return build(arrays, rank - depth(arrays))[1]


@rule("array")
def array(object: Any, *_: Any, **__: Any) -> Links:
    """An array of an array is a copy; an array of a list of arrays, nested or not, is a stack."""
    if not isinstance(object, (list, tuple)):
        return [Link(object, Relation.identity(shape(object)))]

    def build(item: Any) -> Links:
        if not isinstance(item, (list, tuple)):
            return [Link(item, Relation.identity(shape(item)))]
        parts = [build(each) for each in item]
        made: Links = []
        for n, part in enumerate(parts):
            for link in part:
                inner = link.relation.out_shape
                factors = [affine(i + 1, i, side) for i, side in enumerate(inner)]
                factors.append(factor([0], [], [row((n, n))]))
                made.append(link._replace(relation=product((len(item), *inner), inner, factors).compose(link.relation)))
        return made

    return build(object)
