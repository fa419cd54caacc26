"""Rules for elementwise functions: each output cell comes from the cells at its own index, with broadcasting."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import Shape, affine, moved, numbered, only_in, product, whole_out
from whence.arrays.rules._rules import Link, Links, rule, shape
from whence.relation import Relation


def broadcast(in_shape: Shape, out_shape: Shape) -> Relation:
    """Return the relation of an operand that is broadcast to the output's shape.

    >>> broadcast((3, 1), (2, 3, 4)).backward([(1, 2, 3)])
    Selection(shape=(3, 1), 1 cell: [2, 0])
    """
    if in_shape == out_shape:
        return Relation.identity(in_shape)
    missing = len(out_shape) - len(in_shape)
    factors = [whole_out(i, out_shape[i]) for i in range(missing)]
    for i, side in enumerate(in_shape):
        if side == out_shape[missing + i]:
            factors.append(affine(missing + i, i, side))
        else:
            factors += [whole_out(missing + i, out_shape[missing + i]), only_in(i, 0)]
    return product(out_shape, in_shape, factors)


def elementwise(*operands: Any) -> Links:
    """Link all operands, broadcast against each other."""
    out_shape = np.broadcast_shapes(*(shape(each) for each in operands))
    return [Link(each, broadcast(shape(each), out_shape)) for each in operands]


def called(ufunc: np.ufunc, operands: tuple[Any, ...]) -> tuple[Links, ...]:
    """Link every output of a ufunc without core dimensions to every operand."""
    links = elementwise(*operands[: ufunc.nin])
    return (links,) * ufunc.nout


@rule(
    "abs", "angle", "array", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray",
    "copy", "fix", "i0", "imag", "isneginf", "isposinf", "real", "real_if_close", "require", "sinc",
    "astype", "isreal", "iscomplex",
)  # fmt: skip
def of_one(x: Any, *_: Any, **__: Any) -> Links:
    """Elementwise functions of one array; their other arguments do not matter."""
    return elementwise(x)


@rule("nan_to_num")
def nan_to_num(x: Any, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Links:
    """Each cell comes from itself, and from the replacement if it is NaN or infinite."""
    links = elementwise(x)
    tests: tuple[Any, ...] = (np.isnan, np.isposinf, np.isneginf)
    given = [(each, test) for each, test in zip((nan, posinf, neginf), tests, strict=True) if hasattr(each, "shape")]
    for each, test in given:
        sources = np.broadcast_to(numbered(shape(each)), shape(x))
        links.append(Link(each, moved(np.where(test(np.asarray(x)), sources, -1), shape(each))))
    if not copy:
        raise TypeError("copy=False, which writes into its argument")
    return links


@rule("around", "round")
def around(a: Any, decimals: int = 0, out: Any = None) -> Links:
    """Rounding."""
    return elementwise(a)


@rule("isclose")
def isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: bool = False) -> Links:
    """Each cell comes from both arrays, and from tolerances that are arrays."""
    return elementwise(a, b, rtol, atol)


@rule("clip")
def clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **limits: Any) -> Links:
    """Each cell comes from the array and its limits."""
    given = (a, a_min, a_max, limits.get("min"), limits.get("max"))
    return elementwise(*(each for each in given if each is not None))


@rule("full_like")
def full_like(a: Any, fill_value: Any, *_: Any, shape: Any = None, **__: Any) -> Links:
    """Each cell comes from the fill value; only the shape comes from the array."""
    if shape is not None:
        raise TypeError("a shape of its own")
    nothing = Link(a, Relation.empty(np.shape(a), np.shape(a)))
    return [Link(fill_value, broadcast(np.shape(fill_value), np.shape(a))), nothing]


@rule("linspace", "geomspace", "logspace")
def spaced(start: Any, stop: Any, num: Any = 50, endpoint: bool = True, base: Any = 10.0, dtype: Any = None,
           axis: int = 0, **more: Any) -> Links:  # fmt: skip
    """Each cell comes from both ends of its range."""
    if more.get("retstep") or axis != 0 or not isinstance(num, int) or hasattr(base, "shape"):
        raise TypeError("the step as well, another axis, or bases")
    lanes = np.broadcast_shapes(shape(start), shape(stop))
    every = product((num, *lanes), lanes, [whole_out(0, num), *(affine(i + 1, i, n) for i, n in enumerate(lanes))])
    return [Link(each, every.compose(broadcast(shape(each), lanes))) for each in (start, stop)]


@rule("zeros_like", "ones_like", "empty_like", "shape", "ndim", "size", "result_type", "iscomplexobj",
      "isrealobj", "can_cast", "min_scalar_type", "common_type", "array_repr", "array_str", "array2string",
      "may_share_memory", "shares_memory", "tril_indices_from", "triu_indices_from", "diag_indices_from",
      "einsum_path", nothing=True)  # fmt: skip
def from_nothing(*_: Any, **__: Any) -> Links:
    """Functions that read only a shape or a dtype: no cell comes from the operands."""
    return []
