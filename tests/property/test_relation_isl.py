"""A second oracle that shares nothing with the first: isl, the integer set library, on formulas.

The sets of tuples come from enumerating; isl reasons about the constraints. Where all three agree, a mistake would
have to be made three times.
"""

from __future__ import annotations

import functools
import itertools
from dataclasses import dataclass
from typing import Any

import islpy as isl
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import whence as wh
from whence.testing import operations as ops
from whence.testing.conformance import answer
from whence.testing.operations import Raw
from whence.testing.oracle import Cells, Shape
from whence.testing.strategies import effort, shapes


def points(found: Any, axes: int) -> Cells:
    """All points of an isl set, as cells."""
    cells: list[tuple[int, ...]] = []

    def keep(point: Any) -> None:
        cells.append(tuple(point.get_coordinate_val(isl.dim_type.set, axis).to_python() for axis in range(axes)))

    found.foreach_point(keep)
    return frozenset(cells)


def tuples_of(relation: Any, raw: Raw) -> list[list[int]]:
    """All pairs of an isl map, sorted, as an array's rows."""
    return [list(cell) for cell in sorted(points(relation.wrap().flatten(), len(raw.out_shape) + len(raw.in_shape)))]


def box(low: list[int], high: list[int]) -> Any:
    names = [f"x{axis}" for axis in range(len(low))]
    bounds = [f"{a} <= {name} <= {b}" for a, name, b in zip(low, names, high, strict=True)] or ["1 = 1"]
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(bounds)} }}")


def slices(low: list[int], high: list[int]) -> tuple[slice, ...]:
    return tuple(slice(a, b + 1) for a, b in zip(low, high, strict=True))


# The formulas, written by hand from the definitions; output cell -> input cell.
FORMULAS: dict[str, tuple[str, Raw]] = {
    "flip": ("{ [i] -> [8 - i] : 0 <= i < 9 }", ops.flip((9,))),
    "rot90": ("{ [i, j] -> [j, 6 - i] : 0 <= i < 7 and 0 <= j < 4 }", ops.rot90((4, 7))),
    "step": ("{ [i] -> [3i] : 0 <= i < 4 }", ops.sliced((11,), slice(None, None, 3))),
    "repeat": ("{ [i] -> [floor(i/3)] : 0 <= i < 12 }", ops.repeat((4,), 3)),
    "tile": ("{ [i] -> [i mod 4] : 0 <= i < 12 }", ops.tile((4,), 3)),
    "roll": ("{ [i] -> [(i + 4) mod 7] : 0 <= i < 7 }", ops.roll((7,), 3)),
    "ravel": ("{ [i] -> [floor(i/4), i mod 4] : 0 <= i < 12 }", ops.reshape((3, 4), (12,))),
    "reshape": (
        "{ [i, j] -> [k, l] : 8i + j = 6k + l and 0 <= i < 3 and 0 <= j < 8 and 0 <= k < 4 and 0 <= l < 6 }",
        ops.reshape((4, 6), (3, 8)),
    ),
    "transpose": (
        "{ [i, j, k] -> [j, k, i] : 0 <= i < 4 and 0 <= j < 2 and 0 <= k < 3 }",
        ops.transpose((2, 3, 4), (2, 0, 1)),
    ),
    "diag": ("{ [i] -> [i, i] : 0 <= i < 6 }", ops.diag_extract((6, 6))),
    "diag constructed": ("{ [i, i] -> [i] : 0 <= i < 6 }", ops.diag_construct((6,))),
    "tril": ("{ [i, j] -> [i, j] : 0 <= j <= i < 6 }", ops.tril((6, 6))),
    "cumsum": ("{ [i] -> [j] : 0 <= j <= i < 8 }", ops.cumsum((8,))),
    "convolve": ("{ [i] -> [j] : i - 2 <= j <= i and 0 <= j < 8 }", ops.convolve((8,), 3)),
    "image filter": (
        "{ [i, j] -> [k, l] : i - 1 <= k <= i + 1 and j - 1 <= l <= j + 1 and "
        "0 <= i < 5 and 0 <= j < 6 and 0 <= k < 5 and 0 <= l < 6 }",
        ops.convolve_nd((5, 6), (3, 3)),
    ),
    "sum": ("{ [i] -> [i, j] : 0 <= i < 4 and 0 <= j < 5 }", ops.sum_over((4, 5), 1)),
    "sum of all": ("{ [] -> [i, j] : 0 <= i < 4 and 0 <= j < 5 }", ops.sum_over((4, 5))),
    "broadcast": ("{ [i, j] -> [j] : 0 <= i < 4 and 0 <= j < 5 }", ops.add((5,), (4, 1))),
    "matmul left": ("{ [i, j] -> [i, k] : 0 <= i < 3 and 0 <= j < 4 and 0 <= k < 5 }", ops.matmul_left((3, 5), 4)),
    "matmul right": ("{ [i, j] -> [k, j] : 0 <= i < 3 and 0 <= j < 4 and 0 <= k < 5 }", ops.matmul_right((5, 4), 3)),
    "pool": ("{ [i] -> [j] : 3i <= j < 3i + 3 and 0 <= i < 4 }", ops.pool((13,), (3,))),
    "diff": ("{ [i] -> [j] : i <= j <= i + 1 and 0 <= i < 6 }", ops.diff((7,))),
    "kron": ("{ [i] -> [i mod 3] : 0 <= i < 6 }", ops.kron_right((3,), (2,))),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_formula_generator_and_relation_agree(name: str) -> None:
    text, raw = FORMULAS[name]
    formula, relation = isl.Map(text), wh.compress(*raw)
    assert tuples_of(formula, raw) == raw.tuples.tolist() == relation.to_array().tolist()
    assert relation.count() == formula.wrap().count_val().to_python()
    joined = relation.compose(relation.inverse)
    assert joined.count() == formula.apply_range(formula.reverse()).wrap().count_val().to_python()


@pytest.mark.parametrize("name", FORMULAS)
def test_every_box_is_answered_as_isl_does(name: str) -> None:
    text, raw = FORMULAS[name]
    formula, relation = isl.Map(text), wh.compress(*raw)
    rng = np.random.default_rng(2)
    for _ in range(12):
        low = [int(rng.integers(0, side)) for side in raw.out_shape]
        high = [int(rng.integers(a, side)) for a, side in zip(low, raw.out_shape, strict=True)]
        asked = slices(low, high) if low else [()]
        assert answer(relation.backward(asked)) == points(box(low, high).apply(formula), len(raw.in_shape))
        low = [int(rng.integers(0, side)) for side in raw.in_shape]
        high = [int(rng.integers(a, side)) for a, side in zip(low, raw.in_shape, strict=True)]
        found = box(low, high).apply(formula.reverse())
        assert answer(relation.forward(slices(low, high))) == points(found, len(raw.out_shape))


@dataclass(frozen=True)
class Affine:
    """The affine image of a box of parameters, cut to the shapes: for isl as a formula, for whence as tuples."""

    out_shape: Shape
    in_shape: Shape
    extents: tuple[int, ...]
    constants: tuple[int, ...]
    slopes: tuple[tuple[int, ...], ...]

    def formula(self) -> Any:
        names = [f"x{axis}" for axis in range(len(self.constants))]
        params = [f"t{number}" for number in range(len(self.extents))]
        rules = [f"0 <= {t} < {extent}" for t, extent in zip(params, self.extents, strict=True)]
        for name, side, constant, slope in zip(
            names, self.out_shape + self.in_shape, self.constants, self.slopes, strict=True
        ):
            terms = [str(constant), *(f"{factor}{t}" for factor, t in zip(slope, params, strict=True))]
            rules += [f"{name} = {' + '.join(terms)}", f"0 <= {name} < {side}"]
        cut = len(self.out_shape)
        exists = f"exists {', '.join(params)} : " if params else ""
        return isl.Map(
            f"{{ [{', '.join(names[:cut])}] -> [{', '.join(names[cut:])}] : {exists}{' and '.join(rules) or '1 = 1'} }}"
        )

    def raw(self) -> Raw:
        rows = []
        sides = self.out_shape + self.in_shape
        for point in itertools.product(*map(range, self.extents)):
            row = [
                c + sum(a * b for a, b in zip(slope, point, strict=True))
                for c, slope in zip(self.constants, self.slopes, strict=True)
            ]
            if all(0 <= x < side for x, side in zip(row, sides, strict=True)):
                rows.append(row)
        return Raw(np.array(rows, np.int64).reshape(len(rows), len(sides)), self.out_shape, self.in_shape)


@st.composite
def affine(draw: st.DrawFn, out_shape: Shape, in_shape: Shape) -> Affine:
    extents = tuple(draw(st.lists(st.integers(1, 6), max_size=3)))
    sides = out_shape + in_shape
    steps = st.sampled_from([0, 0, 0, 1, 1, -1, 2, 3, -2])
    return Affine(
        out_shape,
        in_shape,
        extents,
        tuple(draw(st.integers(0, max(side - 1, 0))) for side in sides),
        tuple(tuple(draw(steps) for _ in extents) for _ in sides),
    )


@given(st.data())
@effort(100)
def test_unions_of_affine_images(data: st.DataObject) -> None:
    out_shape, in_shape = data.draw(shapes(max_axes=3)), data.draw(shapes(max_axes=3))
    patterns = [data.draw(affine(out_shape, in_shape)) for _ in range(data.draw(st.integers(1, 3)))]
    formula = functools.reduce(lambda a, b: a.union(b), [pattern.formula() for pattern in patterns])
    raw = Raw(np.concatenate([pattern.raw().tuples for pattern in patterns]), out_shape, in_shape)
    relation = wh.compress(*raw)
    assert relation.to_array().tolist() == tuples_of(formula, raw)
    if 0 in out_shape:
        return
    low = [data.draw(st.integers(0, side - 1)) for side in out_shape]
    high = [data.draw(st.integers(a, side - 1)) for a, side in zip(low, out_shape, strict=True)]
    asked = slices(low, high) if low else [()]
    assert answer(relation.backward(asked)) == points(box(low, high).apply(formula), len(in_shape))


@given(st.data())
@effort(60)
def test_chains_of_affine_images(data: st.DataObject) -> None:
    sides = [data.draw(shapes(max_axes=2)) for _ in range(data.draw(st.integers(3, 5)))]
    patterns = [data.draw(affine(later, earlier)) for earlier, later in itertools.pairwise(sides)]
    joined = functools.reduce(lambda earlier, later: later.compose(earlier), [wh.compress(*p.raw()) for p in patterns])
    formula = functools.reduce(lambda earlier, later: later.apply_range(earlier), [p.formula() for p in patterns])
    ends = Raw(np.empty((0, 0), np.int64), sides[-1], sides[0])
    assert joined.to_array().tolist() == tuples_of(formula, ends)
