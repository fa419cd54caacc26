"""Rules for polynomials as arrays of coefficients, the highest power first (numpy) or last (numpy.polynomial)."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from whence.arrays.rules._rows import Shape, affine, factor, placed, product, row, whole_in, whole_out
from whence.arrays.rules._rules import RULES, Link, Links, rule, shape
from whence.arrays.rules.windows import convolve
from whence.relation import Relation


def _from_flat(relation: Relation, in_shape: Shape) -> Relation:
    from whence.arrays.rules.shapes import reshaped

    return relation if relation.in_shape == in_shape else relation.compose(reshaped(in_shape, relation.in_shape))


def _by_power(arrays: tuple[Any, Any], *, at_end: bool) -> Links:
    """Link sums of coefficients, where coefficients of the same power are at the same index."""
    sides = [math.prod(shape(each)) for each in arrays]
    out = max(sides)
    links = []
    for each, side in zip(arrays, sides, strict=True):
        found = product((out,), (side,), [placed(0, 0, side, out - side if at_end else 0)])
        links.append(Link(each, _from_flat(found, shape(each))))
    return links


@rule("polyadd", "polysub")
def polyadd(a1: Any, a2: Any) -> Links:
    """Each coefficient comes from those of the same power; the lowest power comes last."""
    return _by_power((a1, a2), at_end=True)


@rule("polymul", values=True)
def polymul(a1: Any, a2: Any) -> Links:
    """A convolution; NumPy drops leading zeros, so they have no cell in the result."""
    links = []
    kept = [np.trim_zeros(np.atleast_1d(np.asarray(each)), "f") for each in (a1, a2)]
    if not all(map(len, kept)):
        raise TypeError("a polynomial that is zero")
    for each, some, link in zip((a1, a2), kept, convolve(*kept), strict=True):
        whole = math.prod(shape(each))
        left = product((len(some),), (whole,), [affine(0, 0, len(some), whole - len(some))])
        links.append(Link(each, _from_flat(link.relation.compose(left), shape(each))))
    out = links[0].relation.out_shape
    return [*links, *(Link(each, Relation.whole(out, shape(each)), "selection") for each in (a1, a2))]


@rule("polyder")
def polyder(p: Any, m: int = 1) -> Links:
    """Each coefficient comes from that of the next higher power; the lowest ones disappear."""
    side = math.prod(shape(p))
    out = max(side - int(m), 0)
    if not out:
        raise TypeError("more derivatives than there are powers")
    return [Link(p, product((out,), (side,), [affine(0, 0, out)]))]


@rule("polyint")
def polyint(p: Any, m: int = 1, k: Any = None) -> Links:
    """Each coefficient comes from that of the next lower power; the last ones are constants of integration."""
    if k is not None:
        raise TypeError("constants of integration")
    side = math.prod(shape(p))
    return [Link(p, product((side + int(m),), (side,), [placed(0, 0, side, 0)]))]


@rule("polyval")
def polyval(p: Any, x: Any) -> Links:
    """Each value comes from all coefficients and its point; for a constant polynomial, the point does not matter."""
    links = [Link(p, Relation.whole(shape(x), shape(p)))]
    place = Relation.identity(shape(x)) if math.prod(shape(p)) > 1 else Relation.empty(shape(x), shape(x))
    return [*links, Link(x, place)]


@rule("poly")
def poly(seq_of_zeros: Any) -> Links:
    """The leading coefficient is one; all others come from all roots, or from the whole matrix."""
    side = shape(seq_of_zeros)[0]
    found = [factor([0], [], [row((1, side))]), *(whole_in(i, n) for i, n in enumerate(shape(seq_of_zeros)))]
    return [Link(seq_of_zeros, product((side + 1,), shape(seq_of_zeros), found))]


@rule("polyfit")
def polyfit(x: Any, y: Any, deg: Any, rcond: Any = None, full: bool = False, w: Any = None, cov: Any = False) -> Links:
    """Every coefficient comes from all points; each column of values has its own coefficients."""
    if full or cov or np.ndim(deg):
        raise TypeError("more than the coefficients")
    out = (int(deg) + 1, *shape(y)[1:])
    columns = [affine(i, i, n) for i, n in enumerate(shape(y)) if i]
    from_y = product(out, shape(y), [whole_out(0, out[0]), whole_in(0, shape(y)[0]), *columns])
    links = [Link(x, Relation.whole(out, shape(x))), Link(y, from_y)]
    return links if w is None else [*links, Link(w, Relation.whole(out, shape(w)))]


# --- every result comes from every cell


def _from_everything(function: Callable[..., Any]) -> None:
    """Add a rule that runs the function once more for the shapes of its results; all their cells come from all
    arrays.
    """

    def everything(*args: Any, **kwargs: Any) -> Any:
        operands = [each for each in (*args, *kwargs.values()) if isinstance(each, np.ndarray)]
        nested = [each for item in args if isinstance(item, (list, tuple)) for each in item]
        operands += [each for each in nested if isinstance(each, np.ndarray)]
        made = function(*args, **kwargs)
        results = made if isinstance(made, (tuple, list)) else (made,)
        if any(isinstance(each, (tuple, list)) for each in results):
            raise TypeError("results within results")
        links = tuple([Link(each, Relation.whole(np.shape(one), shape(each))) for each in operands] for one in results)
        return links if isinstance(made, (tuple, list)) else links[0]

    rule(function, values=True)(everything)


for _function in (np.polydiv, np.roots, np.linalg.tensorinv, np.linalg.tensorsolve):
    _from_everything(_function)


def _add_family(module: Any, prefix: str) -> None:
    """Add rules for one family of numpy.polynomial, which has the lowest power first."""

    def named(name: str) -> Any:
        return getattr(module, prefix + name)

    def values(x: Any, c: Any, tensor: bool = True) -> Links:
        """Each value comes from all coefficients and its point."""
        if len(shape(c)) != 1:
            raise TypeError("several polynomials at once")
        return [Link(x, Relation.identity(shape(x))), Link(c, Relation.whole(shape(x), shape(c)))]

    rule(named("val"))(values)
    for name in (
        "2poly", "add", "companion", "der", "div", "fit", "fromroots", "gauss", "grid2d", "grid3d", "int", "line",
        "mul", "mulx", "pow", "roots", "sub", "val2d", "val3d", "vander", "vander2d", "vander3d", "weight",
    ):  # fmt: skip
        function = getattr(module, prefix + name, None)
        if function is not None and function not in RULES:
            _from_everything(function)


for _name, _prefix in (
    ("polynomial", "poly"), ("chebyshev", "cheb"), ("legendre", "leg"), ("laguerre", "lag"), ("hermite", "herm"),
    ("hermite_e", "herme"),
):  # fmt: skip
    _add_family(getattr(np.polynomial, _name), _prefix)
