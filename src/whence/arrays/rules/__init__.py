"""Rules: the lineage of a single NumPy call, computed from its shapes and arguments.

>>> import numpy as np
>>> x = np.zeros((1000, 1000))
>>> lineage(np.sum, (x,), {"axis": 1})[0][0].relation
Relation((1000,) <- (1000, 1000), 1,000,000 tuples in 1 box)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from whence.arrays.rules import (
    elementwise,
    histograms,
    joining,
    matrices,
    polynomials,
    products,
    quantiles,
    reductions,
    selecting,
    sets,
    shapes,
    transforms,
    views,
    windows,
)
from whence.arrays.rules._arguments import argument, named, says_where, spelled_out
from whence.arrays.rules._layouts import BY_LAYOUT, order_of
from whence.arrays.rules._outlines import Outline, occurrences, separated
from whence.arrays.rules._rows import affine, product, whole_out
from whence.arrays.rules._rules import FOREIGN, FROM_NOTHING, RULES, VALUES_MATTER, Function, Kind, Link, Links
from whence.arrays.rules.selecting import EXTREMES, winner
from whence.errors import NoRule, WhenceError
from whence.relation import Relation

__all__ = [
    "EXTREMES",
    "Kind",
    "Link",
    "Links",
    "NoRule",
    "argument",
    "by_layout",
    "complete",
    "deciding",
    "deciding_writes",
    "divisors",
    "foreign",
    "has_rule",
    "indexed",
    "lineage",
    "name_of",
    "values_matter",
    "watched",
    "winner",
]

_MODULES = (
    elementwise, histograms, joining, matrices, polynomials, products, quantiles, reductions, selecting, sets, shapes,
    transforms, views, windows,
)  # fmt: skip


def name_of(function: Function, method: str = "__call__") -> str:
    """Return the name of a function as users write it.

    >>> name_of(np.linalg.inv), name_of(np.add, "reduce")
    ('numpy.linalg.inv', 'numpy.add.reduce')
    """
    module = getattr(function, "__module__", None) or "numpy"
    name = getattr(function, "__name__", repr(function))
    return f"{module}.{name}" + ("" if method == "__call__" else f".{method}")


def has_rule(function: Function) -> bool:
    """Whether there is a rule at all; it may not support every argument of the function."""
    return function in RULES or (isinstance(function, np.ufunc) and function.signature is None)


def foreign(function: Function) -> str:
    """Return the package and its version if the function is not NumPy's; else ""."""
    return FOREIGN.get(function, "")


def values_matter(function: Function) -> bool:
    """Whether the lineage depends on values, and not only on shapes and arguments."""
    return function in VALUES_MATTER


DIVIDING = {np.array_split, np.split, np.hsplit, np.vsplit, np.dsplit}
"""Functions that divide lengths by one of their arguments."""

HALVING = {
    np.fft.fftshift, np.fft.ifftshift, np.fft.rfft, np.fft.irfft, np.fft.rfft2, np.fft.irfft2, np.fft.rfftn,
    np.fft.irfftn, np.fft.hfft, np.fft.ihfft,
}  # fmt: skip
"""Functions that need the middle of an axis, as do convolutions with mode="same"."""


def divisors(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> set[int]:
    """Return the integers by which a call divides lengths, with rounding.

    >>> divisors(np.array_split, (np.zeros(7), 3), {"axis": 0}), divisors(np.roll, (np.zeros(7), 3), {})
    ({3}, set())
    """
    given = (*args[1:], *kwargs.values())
    modes = [each for each in given if isinstance(each, (str, int))]
    if function in HALVING or (function in (np.convolve, np.correlate) and modes not in ([], ["full"], ["valid"])):
        return {2}
    given = given if function in DIVIDING else ()
    return {int(each) for each in given if isinstance(each, (int, np.integer)) and each > 1}


def by_layout(function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    """Whether the lineage of a call depends on the memory layout of its arrays.

    >>> by_layout(np.ravel, (np.zeros(3), "K"), {}), by_layout(np.copy, (np.zeros(3), "K"), {})
    (True, False)
    """
    if function in (np.ravel, np.reshape):
        return order_of(argument(function, args, kwargs, "order")) in BY_LAYOUT
    return function is np.lib.stride_tricks.as_strided


def lineage(
    function: Function, args: tuple[Any, ...], kwargs: Mapping[str, Any] | None = None, method: str = "__call__"
) -> tuple[Links, ...]:
    """Return the links of each output of a call; raise NoRule if the lineage is not known."""
    if isinstance(owner := getattr(function, "__self__", None), np.ufunc):  # such as np.add.reduce
        function, method = owner, function.__name__
    kwargs = kwargs or {}
    if method == "__call__" and function in RULES:
        args, kwargs = spelled_out(function, RULES[function], args, kwargs)
    options = {key: value for key, value in kwargs.items() if key not in ("out", "dtype", "casting", "order")}
    if "order" in kwargs and function in (np.reshape, np.ravel):
        options["order"] = kwargs["order"]
    if function in FOREIGN:
        options = dict(kwargs)
    mask = options.pop("where", True)
    if mask is not True and mask is not np._NoValue:
        raise NoRule(f"{name_of(function, method)} with where=: select the cells first, or use np.where on the result")
    try:
        if isinstance(function, np.ufunc) and (method != "__call__" or function.signature is None):
            return _of_ufunc(function, method, args, options)
        if function not in RULES:
            raise TypeError("no rule")
        found = RULES[function](*args, **options)
    except WhenceError:
        raise
    except (TypeError, AttributeError, RuntimeError) as error:  # raised by the rule, or by code that it calls
        reason = str(error)
        given = "" if reason == "no rule" else f" ({reason})"
        raise NoRule(
            f"the lineage of {name_of(function, method)}{given} is not known: "
            "write it with functions that have a rule, or give its lineage with log.lineage"
        ) from error
    return found if isinstance(found, tuple) else (found,)


def watched(
    function: Function,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    arrays: Mapping[int, Any],
    method: str = "__call__",
) -> tuple[tuple[Links, ...], bool]:
    """Return the links of each output of a call, and whether they may depend on the values of these arrays (by id).

    Each of these arrays must be an operand of some link, or a parameter such as indices, which is selection lineage. If
    a rule ignores an array, an error is raised, because its lineage would be lost silently.

    >>> x, by = np.zeros(3), np.array([1])
    >>> watched(np.roll, (x, by), {}, {id(x): x})[1], watched(np.roll, (x, by), {}, {id(x): x, id(by): by})[1]
    (False, True)
    """
    if isinstance(function, np.ufunc) and method == "__call__":
        if any(True for _ in occurrences(kwargs, arrays)):
            raise NoRule(f"{name_of(function)} takes a traced array as a keyword argument whose lineage is not known")
        return lineage(function, args, kwargs, method), function in VALUES_MATTER
    by_values = function in VALUES_MATTER
    call = (args, dict(kwargs))
    if not by_values:
        drawn, back = separated(call, arrays, Outline)
        try:
            found = lineage(function, drawn[0], drawn[1], method)
        except Exception:  # it needs the values; other errors are raised again below
            by_values = True
    if by_values:
        drawn, back = separated(call, arrays, lambda each: each.view())
        found = lineage(function, drawn[0], drawn[1], method)
    found = complete(function, method, drawn, back, found)
    return tuple(
        [link._replace(operand=back.get(id(link.operand), link.operand)) for link in each] for each in found
    ), by_values


def complete(
    function: Function, method: str, call: tuple[Any, Any], back: Mapping[int, Any], found: tuple[Links, ...]
) -> tuple[Links, ...]:
    """Add selection links for arrays such as indices; raise an error for an array that is in no link."""
    used = {id(link.operand) for each in found for link in each}
    if function in FROM_NOTHING or used.issuperset(back):
        return found
    called = function if method == "__call__" else getattr(function, method)
    deciding: list[Any] = []
    for name, item in named(called, *call):
        for each in occurrences(item, back):
            if id(each) in used or not each.size or name == "out":  # the caller handles out=
                continue
            if not says_where(function, name):
                raise NoRule(
                    f"{name_of(function, method)} takes a traced array as {name!r}, whose lineage is not "
                    "known: write it with functions that have a rule, or give its lineage with log.lineage"
                )
            deciding.append(each)
    return tuple(
        [
            *links,
            *(Link(each, Relation.whole(links[0].relation.out_shape, each.shape), "selection") for each in deciding),
        ]
        if links
        else links
        for links in found
    )


def _of_ufunc(ufunc: np.ufunc, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Links, ...]:
    if method == "__call__":
        return elementwise.called(ufunc, args)
    if ufunc.nin != 2 or ufunc.nout != 1 or ufunc.signature is not None:
        raise TypeError("a method of a function of two operands")
    first, *rest = args
    if method == "reduce":
        axis = options.get("axis", rest[0] if rest else 0)
        keep = options.get("keepdims", False)
        return (reductions.reduction(first, axis, keepdims=keep, initial=options.get("initial")),)
    if method == "accumulate":
        axis = options.get("axis", rest[0] if rest else 0)
        return (reductions.cumulative(first, axis),)
    if method == "outer":
        return (_outer_product(first, rest[0]),)
    if method == "reduceat":
        indices = options.get("indices", rest[0] if rest else ())
        return (reductions.reduced_at(first, indices, options.get("axis", rest[1] if len(rest) > 1 else 0)),)
    raise TypeError("no rule")


def _outer_product(a: Any, b: Any) -> Links:
    left = [("a", i) for i in range(np.ndim(a))]
    right = [("b", i) for i in range(np.ndim(b))]
    return products.contracted([*left, *right], (a, left), (b, right))


def indexed(in_shape: tuple[int, ...], key: Any) -> Relation:
    """Return the lineage of `a[key]`: for basic indexing from strides, for arrays and masks from the selected cells.

    >>> indexed((5,), slice(None, None, 2)).backward([(1,)])
    Selection(shape=(5,), 1 cell: [2])
    """
    parts = key if isinstance(key, tuple) else (key,)
    if all(each is None or each is Ellipsis or isinstance(each, (int, np.integer, slice)) for each in parts):
        return views.indexed(in_shape, key)
    if not isinstance(key, tuple):
        chosen = np.asarray(key)
        if chosen.dtype != bool and in_shape:
            return shapes.take(np.broadcast_to(np.zeros(()), in_shape), chosen, 0)[0].relation
    return selecting.picked(in_shape, key)


def deciding_writes(key: Any, shape: tuple[int, ...], value: tuple[int, ...], index: Any) -> Relation:
    """Return the selection lineage of each cell after `a[key] = value`, from an array in the index.

    If the same value is written everywhere, each cell comes from the mask at its own index. With index arrays, or a
    separate value for each cell, it comes from the whole array.

    >>> deciding_writes(np.array([True, False]), (2, 3), (), np.array([True, False])).backward([(1, 0)])
    Selection(shape=(2,), 1 cell: [1])
    """
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) != 1 or index.dtype != bool or len(value) > len(shape) - index.ndim:
        return Relation.whole(shape, np.shape(index))
    own = [affine(i, i, side) for i, side in enumerate(index.shape)]
    return product(shape, index.shape, [*own, *(whole_out(i, shape[i]) for i in range(index.ndim, len(shape)))])


def deciding(key: Any, out_shape: tuple[int, ...], index: Any) -> Relation:
    """Return the selection lineage of each cell of `a[key]`, from an array in the index.

    For a mask, a cell comes from the mask up to the cell that was selected. For an index array, it comes from its own
    index. If several arrays are combined in other ways, it comes from all of them.

    >>> deciding(np.array([2, 0]), (2, 3), np.array([2, 0])).backward([(1, 0)])
    Selection(shape=(2,), 1 cell: [1])
    """
    parts = key if isinstance(key, tuple) else (key,)
    if len(parts) == 1 and index.dtype == bool:
        return selecting.up_to(np.flatnonzero(index), index.shape, out_shape[1:])
    if not all(isinstance(each, (int, np.integer, np.ndarray)) and np.asarray(each).dtype != bool for each in parts):
        return Relation.whole(out_shape, np.shape(index))
    chosen = np.broadcast_shapes(*(np.shape(each) for each in parts))
    own = elementwise.broadcast(np.shape(index), chosen)
    rest = [whole_out(i, side) for i, side in enumerate(out_shape) if i >= len(chosen)]
    return product(out_shape, chosen, [*(affine(i, i, side) for i, side in enumerate(chosen)), *rest]).compose(own)
