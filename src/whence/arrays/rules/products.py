"""Rules for products: each is a sum over labelled axes, as in einsum."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from whence.arrays.rules._rows import Factor, Shape, affine, factor, only_in, product, row, whole_out
from whence.arrays.rules._rules import Link, Links, axis_of, rule, shape
from whence.arrays.rules.views import viewed
from whence.relation import Relation

Labels = Sequence[Hashable]


def labelled(out: Labels, into: Labels, sides: dict[Hashable, int], in_shape: Shape) -> Relation:
    """Return the relation to one operand of a sum of products: axes with equal labels share an index, and axes with
    labels that the output lacks are summed over.

    >>> labelled("ik", "ij", {"i": 2, "j": 3, "k": 4}, (2, 3)).backward([(1, 0)])
    Selection(shape=(2, 3), 3 cells: [1, 0:3])
    """
    out_shape = tuple(sides[label] for label in out)
    return product(out_shape, in_shape, _factors_of_labels(out, into, sides, in_shape))


def _factors_of_labels(out: Labels, into: Labels, sides: dict[Hashable, int], in_shape: Shape) -> list[Factor]:
    factors: list[Factor] = []
    where = {label: position for position, label in enumerate(out)}
    for label in dict.fromkeys([*out, *into]):
        side = sides[label]
        stretched = [i for i, each in enumerate(into) if each == label and in_shape[i] != side]
        factors += [only_in(i, 0) for i in stretched]
        ins = [i for i, each in enumerate(into) if each == label and in_shape[i] == side]
        outs = [where[label]] if label in where else []
        if outs or ins:
            tied = [(0, 0, 0, 1, 1)] * (len(outs) + len(ins) - 1)
            factors.append(factor(outs, ins, [row((0, side - 1), *tied)]))
    return factors


def contracted(out: Labels, *operands: tuple[Any, Labels]) -> Links:
    """Link all operands of a sum of products."""
    sides: dict[Hashable, int] = {}
    for array, labels in operands:
        for label, side in zip(labels, shape(array), strict=True):
            sides[label] = side if sides.get(label, 1) == 1 else sides[label]
    return [Link(array, labelled(out, labels, sides, shape(array))) for array, labels in operands]


def _batch(rank: int, core: int, most: int) -> list[Hashable]:
    """Return labels of the axes before the core axes, aligned at their end."""
    return [("batch", most - i) for i in range(rank - core, 0, -1)] if rank > core else []


def _over_named_axes(axes: Any, operands: tuple[Any, ...], rule_of: Callable[..., Links]) -> Links:
    """Link a product over given axes: move them to the end, apply the rule, and move the axes of the result back."""
    named = [(each,) if isinstance(each, (int, np.integer)) else tuple(each) for each in axes]
    turns = [
        # mypy infers no type for a default.
        viewed(shape(each), lambda x, at=at: np.moveaxis(x, at, range(-len(at), 0)))  # type: ignore[misc]  # a lambda's default has no type
        for each, at in zip(operands, named, strict=False)
    ]
    links = rule_of(*(np.broadcast_to(np.zeros(()), each.out_shape) for each in turns))
    out = links[0].relation.out_shape
    at = named[len(operands)] if len(named) > len(operands) else ()
    back = viewed(out, lambda x: np.moveaxis(x, range(-len(at), 0), at))
    return [
        Link(each, back.compose(link.relation).compose(turn))
        for each, link, turn in zip(operands, links, turns, strict=True)
    ]


@rule("matmul")
def matmul(a: Any, b: Any, *, axes: Any = None, **more: Any) -> Links:
    """Each cell comes from a row of the first and a column of the second; a vector is a matrix of one row or one
    column.
    """
    if axes is not None and axes is not np._NoValue:
        return _over_named_axes(axes, (a, b), matmul)
    ranks = len(shape(a)), len(shape(b))
    left: list[Hashable] = ["k"] if ranks[0] == 1 else [*_batch(ranks[0], 2, 0), "m", "k"]
    right: list[Hashable] = ["k"] if ranks[1] == 1 else [*_batch(ranks[1], 2, 0), "k", "n"]
    out = [*_common(left, right), *(["m"] if "m" in left else []), *(["n"] if "n" in right else [])]
    return contracted(out, (a, left), (b, right))


def _common(*labels: Labels) -> list[Hashable]:
    longest = max(([each for each in one if isinstance(each, tuple)] for one in labels), key=len)
    return list(longest)


def _gufunc(name: str, left: str, right: str, out: str) -> None:
    @rule(name)
    def vectors(x1: Any, x2: Any, /, *, axis: Any = None, axes: Any = None, keepdims: Any = False, **_: Any) -> Links:
        if keepdims:
            raise TypeError("keepdims")
        if axis not in (None, -1, np._NoValue):
            axes = [(axis,), (axis,), ()]
        if axes is not None and axes is not np._NoValue:
            return _over_named_axes(axes, (x1, x2), vectors)
        first = [*_batch(len(shape(x1)), len(left), 0), *left]
        second = [*_batch(len(shape(x2)), len(right), 0), *right]
        return contracted([*_common(first, second), *out], (x1, first), (x2, second))


_gufunc("vecdot", "k", "k", "")
_gufunc("linalg.vecdot", "k", "k", "")
_gufunc("matvec", "mk", "k", "m")
_gufunc("vecmat", "k", "kn", "n")


@rule("linalg.matmul")
def linalg_matmul(x1: Any, x2: Any, /) -> Links:
    """The same as matmul."""
    return matmul(x1, x2)


@rule("dot")
def dot(a: Any, b: Any, out: Any = None) -> Links:
    """Sum over the last axis of the first and the second-to-last of the second; a product with a scalar is
    elementwise.
    """
    first, second = shape(a), shape(b)
    if not first or not second:
        from whence.arrays.rules.elementwise import elementwise

        return elementwise(a, b)
    left: list[Hashable] = [("a", i) for i in range(len(first) - 1)]
    right: list[Hashable] = [("b", i) for i in range(len(second))]
    at = max(len(second) - 2, 0)
    kept = right[:at] + right[at + 1 :]
    right[at] = "k"
    return contracted([*left, *kept], (a, [*left, "k"]), (b, right))


@rule("inner")
def inner(a: Any, b: Any, /) -> Links:
    """Sum over the last axes of both."""
    if not shape(a) or not shape(b):
        return dot(a, b)
    left = [("a", i) for i in range(len(shape(a)) - 1)]
    right = [("b", i) for i in range(len(shape(b)) - 1)]
    return contracted([*left, *right], (a, [*left, "k"]), (b, [*right, "k"]))


@rule("outer", "linalg.outer")
def outer(a: Any, b: Any, /, out: Any = None) -> Links:
    """Each cell comes from one cell of each operand, both flat."""
    n, m = math.prod(shape(a)), math.prod(shape(b))
    return [
        Link(a, product((n, m), shape(a), [affine(0, 0, n), whole_out(1, m)], in_view=(n,))),
        Link(b, product((n, m), shape(b), [whole_out(0, n), affine(1, 0, m)], in_view=(m,))),
    ]


@rule("vdot")
def vdot(a: Any, b: Any, /) -> Links:
    """Sum over all cells of both."""
    return [Link(each, Relation.whole((), shape(each))) for each in (a, b)]


@rule("tensordot", "linalg.tensordot")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Links:
    """Sum over the given axes; the other axes follow each other."""
    left: list[Hashable] = [("a", i) for i in range(len(shape(a)))]
    right: list[Hashable] = [("b", i) for i in range(len(shape(b)))]
    if isinstance(axes, (int, np.integer)):
        pairs = [(len(left) - int(axes) + i, i) for i in range(int(axes))]
    else:
        ours, theirs = ([each] if isinstance(each, int) else list(each) for each in axes)
        pairs = [(axis_of(i, len(left)), axis_of(j, len(right))) for i, j in zip(ours, theirs, strict=True)]
    for i, j in pairs:
        left[i] = right[j] = ("sum", i, j)
    kept = [each for each in (*left, *right) if isinstance(each, tuple) and each[0] != "sum"]
    return contracted(kept, (a, left), (b, right))


@rule("kron")
def kron(a: Any, b: Any) -> Links:
    """Each axis of the output is split in two: the outer index belongs to the first operand, the inner to the
    second.
    """
    rank = max(len(shape(a)), len(shape(b)))
    ours, theirs = ((1,) * (rank - len(shape(each))) + shape(each) for each in (a, b))
    out_shape = tuple(n * m for n, m in zip(ours, theirs, strict=True))
    view = tuple(side for pair in zip(ours, theirs, strict=True) for side in pair)
    links = []
    for which, (each, sides, others) in enumerate(((a, ours, theirs), (b, theirs, ours))):
        factors = [affine(2 * i + which, i, side) for i, side in enumerate(sides)]
        factors += [whole_out(2 * i + 1 - which, side) for i, side in enumerate(others)]
        links.append(Link(each, product(out_shape, shape(each), factors, view, sides)))
    return links


@rule("trace")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None, out: Any = None) -> Links:
    """Sum over a diagonal."""
    from whence.arrays.rules.reductions import reduced
    from whence.arrays.rules.views import viewed

    diagonal = viewed(shape(a), lambda x: np.diagonal(x, offset, axis1, axis2))
    return [Link(a, reduced(diagonal.out_shape, -1).compose(diagonal))]


@rule("linalg.trace")
def linalg_trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Links:
    """Sum over the diagonal of the last two axes."""
    return trace(x, offset, -2, -1)


_CROSS = {  # (own length, length of the other): the own components that each output component uses
    (3, 3): ((1, 2), (0, 2), (0, 1)),
    (2, 3): ((1,), (0,), (0, 1)),
    (3, 2): ((2,), (2,), (0, 1)),
}


@rule("cross", "linalg.cross")
def cross(a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None) -> Links:
    """Each component comes from the two other ones; the product of vectors of two components is a single number."""
    if axis is not None:
        axisa = axisb = axisc = axis
    axes = axis_of(axisa, len(shape(a))), axis_of(axisb, len(shape(b)))
    sides = shape(a)[axes[0]], shape(b)[axes[1]]
    rest = [tuple(n for i, n in enumerate(shape(each)) if i != at) for each, at in zip((a, b), axes, strict=True)]
    batch = np.broadcast_shapes(*rest)
    flat = sides == (2, 2)
    at = len(batch) if flat else axis_of(axisc, len(batch) + 1)
    out_shape = batch if flat else (*batch[:at], 3, *batch[at:])
    links = []
    for each, own, other, position, others in (
        (a, sides[0], sides[1], axes[0], rest[0]),
        (b, sides[1], sides[0], axes[1], rest[1]),
    ):
        labels: list[Hashable] = [("batch", len(others) - i) for i in range(len(others))]
        out: list[Hashable] = [("batch", len(batch) - i) for i in range(len(batch))]
        lengths: dict[Hashable, int] = dict(zip(out, batch, strict=True))
        core = _factor_of_components(at, position, None if flat else _CROSS[own, other])
        moved_out = [i + (not flat and i >= at) for i in range(len(batch))]
        moved_in = [i + (i >= position) for i in range(len(others))]
        factors = [
            Factor(tuple(moved_out[i] for i in f.outs), tuple(moved_in[i] for i in f.ins), f.parts)
            for f in _factors_of_labels(out, labels, lengths, others)
        ]
        links.append(Link(each, product(out_shape, shape(each), [*factors, core])))
    return links


def _factor_of_components(out: int, into: int, uses: tuple[tuple[int, ...], ...] | None) -> Factor:
    if uses is None:
        return factor([], [into], [row((0, 1))])
    return factor([out], [into], [row((c, c), (u, u)) for c, used in enumerate(uses) for u in used])


@rule("einsum")
def einsum(*operands: Any, **_: Any) -> Links:
    """Labels as given; without an arrow, the output has the labels that occur once, in order."""
    text, *arrays = operands
    if not isinstance(text, str):
        raise TypeError("subscripts given as lists")
    inputs, arrow, output = text.replace(" ", "").partition("->")
    terms = inputs.split(",")
    if not arrow:
        letters = [letter for letter in inputs if letter.isalpha()]
        output = ("..." if "..." in inputs else "") + "".join(sorted(x for x in set(letters) if letters.count(x) == 1))
    labels = [_subscripts(term, len(shape(array))) for term, array in zip(terms, arrays, strict=True)]
    longest = _common(*labels) if any(labels) else []
    out: list[Hashable] = []
    for part in _letters(output):
        out += longest if part == "..." else [part]
    return contracted(out, *zip(arrays, labels, strict=True))


def _letters(term: str) -> list[str]:
    before, dots, after = term.partition("...")
    return [*before, *(["..."] if dots else []), *after]


def _subscripts(term: str, rank: int) -> list[Hashable]:
    letters = _letters(term)
    extra = rank - (len(letters) - 1) if "..." in letters else 0
    spelled: list[Hashable] = []
    for letter in letters:
        spelled += [("batch", -i) for i in range(extra, 0, -1)] if letter == "..." else [letter]
    return spelled


@rule("linalg.multi_dot")
def multi_dot(arrays: Any, *, out: Any = None) -> Links:
    """Rows of the first array, columns of the last, and all cells of those between."""
    arrays = list(arrays)
    labels = [[("edge", i), ("edge", i + 1)] for i in range(len(arrays))]
    if len(shape(arrays[0])) == 1:
        labels[0] = [("edge", 1)]
    if len(shape(arrays[-1])) == 1:
        labels[-1] = [("edge", len(arrays) - 1)]
    ends = [
        one for one, array in ((("edge", 0), arrays[0]), (("edge", len(arrays)), arrays[-1])) if len(shape(array)) == 2
    ]
    return contracted(ends, *zip(arrays, labels, strict=True))
