"""Draw a random operation on an array of a given shape, as the raw tuples of its lineage."""

from __future__ import annotations

import math
from collections.abc import Callable

from hypothesis import strategies as st

from whence.testing import operations as ops
from whence.testing.operations import Raw
from whence.testing.oracle import Shape

Draw = st.DrawFn
Builder = Callable[[Draw, Shape], Raw]


def _draw_axis(draw: Draw, shape: Shape) -> int:
    return draw(st.integers(0, len(shape) - 1))


def _axes(draw: Draw, shape: Shape) -> tuple[int, ...]:
    return tuple(draw(st.sets(st.integers(0, len(shape) - 1)))) if shape else ()


def _permutation(draw: Draw, shape: Shape) -> tuple[int, ...]:
    return tuple(draw(st.permutations(range(len(shape)))))


def _seed(draw: Draw) -> int:
    return draw(st.integers(0, 1000))


def _factorized(draw: Draw, size: int) -> Shape:
    """Draw a shape with this many cells."""
    sides: list[int] = []
    while size > 1 and len(sides) < 3:
        side = draw(st.sampled_from([d for d in range(1, size + 1) if size % d == 0]))
        sides.append(side)
        size //= side
    return (*sides, size) if size != 1 or draw(st.booleans()) else tuple(sides)


def _slices(draw: Draw, shape: Shape) -> Raw:
    key: list[int | slice | None] = []
    for side in shape:
        if side and draw(st.integers(0, 5)) == 5:
            key.append(draw(st.integers(0, side - 1)))
            continue
        bounds = st.one_of(st.none(), st.integers(0, side))
        key.append(slice(draw(bounds), draw(bounds), draw(st.sampled_from([None, 1, 2, 3, -1, -2]))))
    return ops.sliced(shape, *key)


def _assigned(draw: Draw, shape: Shape) -> Raw:
    steps = [draw(st.sampled_from([1, 2, 3, -1, -2])) for _ in shape]
    starts = [draw(st.integers(0, 2)) for _ in shape]
    out_shape = tuple(s + (side - 1) * abs(k) + 2 for s, side, k in zip(starts, shape, steps, strict=True))
    key = []
    for start, side, step in zip(starts, shape, steps, strict=True):
        last = start + (side - 1) * abs(step)
        key.append(slice(start, last + 1, step) if step > 0 else slice(last, start - 1 if start else None, step))
    return ops.assigned(shape, out_shape, *key)


def _pad(draw: Draw, shape: Shape) -> Raw:
    width = [(draw(st.integers(0, 1)), draw(st.integers(0, 1))) for _ in shape]
    return ops.pad(shape, width, draw(st.sampled_from(["constant", "edge", "symmetric", "wrap"])))


def _draw_broadcast(draw: Draw, shape: Shape) -> Raw:
    sides = [draw(st.integers(1, 3)) if side == 1 else side for side in shape]
    lead = [draw(st.integers(1, 3))] if len(shape) < 4 and draw(st.booleans()) else []
    return ops.broadcast(shape, (*lead, *sides))


def _concatenate(draw: Draw, shape: Shape) -> Raw:
    return ops.concatenate(shape, _draw_axis(draw, shape), draw(st.integers(0, 3)), draw(st.integers(0, 3)))


def _stack(draw: Draw, shape: Shape) -> Raw:
    count = draw(st.integers(1, 3))
    return ops.stack(shape, draw(st.integers(0, len(shape))), draw(st.integers(0, count - 1)), count)


def _take(draw: Draw, shape: Shape) -> Raw:
    axis = _draw_axis(draw, shape)
    return ops.take(shape, draw(st.lists(st.integers(0, shape[axis] - 1), max_size=5)), axis)


def _pool(draw: Draw, shape: Shape) -> Raw:
    return ops.pool(shape, [draw(st.integers(1, 3)) for _ in shape])


def _convolve_nd(draw: Draw, shape: Shape) -> Raw:
    kernel = [draw(st.integers(1, min(3, side))) for side in shape]
    return ops.convolve_nd(shape, kernel, draw(st.sampled_from(["full", "same", "valid"])))


def _nonempty(shape: Shape) -> bool:
    return 0 not in shape


def _rank(*ranks: int) -> Callable[[Shape], bool]:
    return lambda shape: len(shape) in ranks and _nonempty(shape)


def _any(shape: Shape) -> bool:
    return True


def _some_axis(shape: Shape) -> bool:
    return len(shape) > 0 and _nonempty(shape)


BUILDERS: dict[str, tuple[Callable[[Shape], bool], Builder]] = {
    "negative": (_any, lambda draw, s: ops.negative(s)),
    "flip": (_any, lambda draw, s: ops.flip(s, _axes(draw, s))),
    "transpose": (_any, lambda draw, s: ops.transpose(s, _permutation(draw, s))),
    "reshape": (_nonempty, lambda draw, s: ops.reshape(s, _factorized(draw, math.prod(s)))),
    "reshape F": (_nonempty, lambda draw, s: ops.reshape(s, _factorized(draw, math.prod(s)), "F")),
    "transpose reshape": (
        _nonempty,
        lambda draw, s: ops.transpose_reshape(s, _permutation(draw, s), _factorized(draw, math.prod(s))),
    ),
    "slices": (_some_axis, _slices),
    "assigned": (_some_axis, _assigned),
    "roll": (_some_axis, lambda draw, s: ops.roll(s, draw(st.integers(-3, 3)), draw(st.sampled_from([None, 0])))),
    "tile": (_some_axis, lambda draw, s: ops.tile(s, [draw(st.integers(1, 2)) for _ in s])),
    "repeat": (_some_axis, lambda draw, s: ops.repeat(s, draw(st.integers(1, 3)), _draw_axis(draw, s))),
    "upsample": (_some_axis, lambda draw, s: ops.upsample(s, [draw(st.integers(1, 2)) for _ in s])),
    "broadcast": (_nonempty, _draw_broadcast),
    "pad": (_some_axis, _pad),
    "concatenate": (_some_axis, _concatenate),
    "stack": (_nonempty, _stack),
    "take": (_some_axis, _take),
    "rot90": (_rank(2, 3), lambda draw, s: ops.rot90(s, draw(st.integers(0, 3)))),
    "tril": (_rank(2, 3), lambda draw, s: ops.tril(s, draw(st.integers(-2, 2)))),
    "triu": (_rank(2, 3), lambda draw, s: ops.triu(s, draw(st.integers(-2, 2)))),
    "diag extract": (_rank(2), lambda draw, s: ops.diag_extract(s, draw(st.integers(-1, 1)))),
    "diag construct": (_rank(1), lambda draw, s: ops.diag_construct(s, draw(st.integers(-1, 1)))),
    "outer": (_rank(1), lambda draw, s: ops.outer_right(s, draw(st.integers(1, 3)))),
    "kron": (_rank(1, 2), lambda draw, s: ops.kron_right(s, tuple(draw(st.integers(1, 2)) for _ in s))),
    "one hot": (_rank(0, 1, 2), lambda draw, s: ops.one_hot(s, draw(st.integers(1, 3)))),
    "sum": (_any, lambda draw, s: ops.sum_over(s, _axes(draw, s), draw(st.booleans()))),
    "cumsum": (_some_axis, lambda draw, s: ops.cumsum(s, _draw_axis(draw, s))),
    "diff": (_some_axis, lambda draw, s: ops.diff(s, _draw_axis(draw, s))),
    "gradient": (lambda s: _some_axis(s) and min(s) > 1, lambda draw, s: ops.gradient(s, _draw_axis(draw, s))),
    "convolve": (_some_axis, _convolve_nd),
    "pool": (_some_axis, _pool),
    "matmul left": (_rank(2, 3), lambda draw, s: ops.matmul_left(s, draw(st.integers(1, 3)))),
    "matmul right": (_rank(2, 3), lambda draw, s: ops.matmul_right(s, draw(st.integers(1, 3)))),
    "all to all": (_any, lambda draw, s: ops.all_to_all(s, draw(st.sampled_from([(), (2,), (2, 3), (0,)])))),
    "nothing": (_any, lambda draw, s: ops.nothing(s, draw(st.sampled_from([(), (2,), (2, 3), (0,)])))),
    "sort": (_some_axis, lambda draw, s: ops.sort(s, _draw_axis(draw, s), _seed(draw))),
    "filter rows": (_some_axis, lambda draw, s: ops.filter_rows(s, 0.6, _seed(draw))),
    "filter cells": (_some_axis, lambda draw, s: ops.filter_cells(s, 0.6, _seed(draw))),
    "where": (_some_axis, lambda draw, s: ops.where_disc(s, draw(st.sampled_from([0.2, 0.4, 0.6])))),
    "bins": (_some_axis, lambda draw, s: ops.bins(s, draw(st.integers(1, 4)), draw(st.booleans()), _seed(draw))),
    "scatter": (_some_axis, lambda draw, s: ops.scatter(s, draw(st.integers(1, 4)), _seed(draw))),
    "group by": (_rank(2), lambda draw, s: ops.group_by(s, draw(st.integers(1, 3)), draw(st.booleans()), _seed(draw))),
    "join": (_rank(2), lambda draw, s: ops.join_left(s, 3, draw(st.integers(2, 4)), 1, _seed(draw))),
}


@st.composite
def operations_on(draw: Draw, shape: Shape, max_cells: int = 48, max_axes: int = 4) -> Raw:
    """Draw the lineage of a random operation on an array of this shape, with an output of few cells."""
    names = [name for name, (applies, _) in BUILDERS.items() if applies(shape)]
    raw = BUILDERS[draw(st.sampled_from(names))][1](draw, shape)
    if math.prod(raw.out_shape) > max_cells or len(raw.out_shape) > max_axes:
        return ops.sum_over(shape, _axes(draw, shape))  # so that a chain does not grow without limit
    return raw
