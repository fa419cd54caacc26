"""The class of tracked arrays, for functions that a dtype cannot support: LAPACK, FFT, einsum, interp, bincount.

NumPy computes the values from plain numbers, and a rule gives their lineage. The lineage of each output cell is the
union over the rule's relation, which the dtype computes as a sum. Everything else is left to the dtype.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays import rules
from whence.arrays.dtype.arrays import is_tracked, values
from whence.errors import BadType, NoRule, TooLarge, WhenceError
from whence.relation import Relation

MOST_TUPLES = 1 << 24
"""The most tuples of a relation without a simple form, because it is followed tuple by tuple."""

_RULED = ("einsum", "interp", "bincount", "linalg.inv", "linalg.det", "linalg.solve", "linalg.svd", "linalg.pinv",
          "linalg.qr", "linalg.eigh", "linalg.eigvalsh", "linalg.cholesky", "linalg.slogdet", "linalg.lstsq",
          "linalg.matrix_power", "linalg.svdvals", "linalg.cond", "linalg.norm", "fft.irfft", "fft.hfft",
          "fft.irfft2", "fft.irfftn", "histogram", "histogram2d", "polymul")  # fmt: skip


class TrackedArray(_tracked.Held):
    """An array of the tracked dtype that also supports functions whose compiled code takes only plain numbers."""

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        first = args[0] if args else None
        if not is_tracked(first) and not _any_tracked((args, kwargs)):  # only plain numbers, as after a cast
            return super().__array_function__(function, types, args, kwargs)
        if function in RULED:
            return _by_rule(function, args, kwargs)
        if function in BY_CLASS and isinstance(first, TrackedArray):
            found = function(np.asarray(first), *args[1:], **kwargs)
            return found.view(type(self)) if type(found) is np.ndarray else found
        if function in ORDERED:
            try:
                return _by_rule(function, args, kwargs)
            except TooLarge:
                pass  # use the dtype's own sum, which may differ from NumPy's in the last bit
            except NoRule:
                if function not in (np.cov, np.corrcoef):  # their rules do not support all arguments
                    raise
        try:
            return _require_tracked(function, super().__array_function__(function, types, args, kwargs))
        except TypeError as error:
            if isinstance(error, WhenceError) or "tracked" not in str(error).lower():
                raise
            if not rules.has_rule(function):
                raise NoRule(
                    f"the lineage of {rules.name_of(function)} is not known: it computes with plain numbers, and"
                    " whence does not convert a tracked array implicitly"
                ) from error
            return _by_rule(function, args, kwargs)

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """View the same cells as another array class. Viewing the memory as another dtype raises an error."""
        for each in (*args, *kwargs.values()):
            if not (isinstance(each, type) and issubclass(each, np.ndarray)) and np.dtype(each) != self.dtype:
                raise BadType(
                    f"a tracked array cannot be viewed as {np.dtype(each)}: its memory holds lineage beside the "
                    "numbers; whence.arrays.values(x) are the numbers"
                )
        return super().view(*args, **kwargs)

    @property
    def strides(self) -> Any:
        """The strides in bytes; a cell has 16 bytes."""
        return np.ndarray.strides.__get__(self)

    @strides.setter
    def strides(self, _: Any) -> None:
        raise BadType("the strides of a tracked array cannot be set: index and slice it, or use sliding_window_view")

    @property
    def dtype(self) -> Any:
        """The tracked dtype."""
        return np.ndarray.dtype.__get__(self)

    @dtype.setter
    def dtype(self, given: Any) -> None:
        if np.dtype(given) != self.dtype:
            raise BadType("the dtype of a tracked array cannot be set; whence.arrays.values(x) are the numbers")

    @property
    def ctypes(self) -> Any:
        """Raise an error: the memory contains lineage in addition to numbers."""
        raise BadType("a tracked array has no address; whence.arrays.values(x) are the numbers")

    def tobytes(self, *_: Any, **__: Any) -> Any:
        """Raise an error: the memory is meaningful only in this process."""
        raise BadType(
            "a tracked array cannot be saved: its lineage lives in this process only; keep the numbers "
            "with whence.arrays.values(x) and the lineage with whence.relation_of(x, name).save(path)"
        )

    tofile = tobytes

    def byteswap(self, *_: Any, **__: Any) -> Any:
        """Raise an error: the memory contains lineage in addition to numbers."""
        raise BadType(
            "the memory of a tracked array holds lineage beside the numbers, so it cannot be read directly; "
            "whence.arrays.values(x) are the numbers"
        )

    getfield = setfield = byteswap

    def dot(self, b: Any, out: Any = None) -> Any:
        """Call np.dot, which adds in the same order as for plain numbers."""
        return np.dot(self, b, out=out)

    def conj(self, *_: Any, **__: Any) -> Any:
        """Return the array itself: its numbers are real."""
        return self

    conjugate = conj

    def __array_wrap__(self, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
        if return_scalar:
            return np.asarray(array)[()]
        plain = np.asarray(array)
        return plain.view(type(self)) if is_tracked(plain) else plain


def _any_tracked(item: Any) -> bool:
    if isinstance(item, (list, tuple)):
        return any(map(_any_tracked, item))
    if isinstance(item, dict):
        return any(map(_any_tracked, item.values()))
    return is_tracked(item)


_ORDERED = ("dot", "inner", "vdot", "tensordot", "linalg.multi_dot", "convolve", "correlate", "cov", "corrcoef")
ORDERED = {found for name in _ORDERED if (found := rules._rules.named(name)) is not None}
"""Functions that the dtype supports, but whose sums NumPy adds in another order for plain numbers."""

BY_CLASS = (np.nanmin, np.nanmax)
"""Functions that compute differently for subclasses: NaN, and not `initial`, if a mask leaves no cell."""

RULED = {found for name in _RULED if (found := rules._rules.named(name)) is not None}


def _require_tracked(function: Callable[..., Any], result: Any) -> Any:
    """Return the result; raise an error if it consists of plain numbers, which have no lineage."""
    for each in result if isinstance(result, (list, tuple)) else (result,):
        if isinstance(each, np.ndarray) and each.dtype.kind in "fc" and each.size and not is_tracked(each):
            raise NoRule(f"{rules.name_of(function)} returned plain numbers for tracked ones: its lineage is not known")
    return result


def _by_rule(function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
    mine: dict[int, Any] = {}
    memory: list[tuple[int, int, Any]] = []

    def plain(item: Any) -> Any:
        if is_tracked(item):
            numbers = laid_out(values(np.asarray(item)), memory)
            mine[id(numbers)] = item
            return numbers
        if isinstance(item, (list, tuple)):
            return type(item)(plain(each) for each in item)
        return item

    if isinstance(into := rules.argument(function, args, kwargs, "out"), np.ndarray) and not is_tracked(into):
        raise NoRule(f"{rules.name_of(function)} would write into an array that is not tracked: leave out= out")
    plain_args, plain_kwargs = plain(tuple(args)), {key: plain(each) for key, each in kwargs.items()}
    plain_arrays = {id(each): each for each in _arrays_in((plain_args, plain_kwargs)) if id(each) in mine}
    outputs, by_values = rules.watched(function, plain_args, plain_kwargs, plain_arrays)
    if by_values:
        _tracked.look()
    result = function(*plain_args, **plain_kwargs)
    given = (*plain_args, *plain_kwargs.values())
    if isinstance(result, np.ndarray) and result.size and any(result is each for each in given):  # the out= argument
        if id(result) not in mine:
            raise NoRule(f"{rules.name_of(function)} would write into an array that is not tracked: leave out= out")
        into = mine[id(result)]
        into[...] = _as_tracked(function, result.copy(), outputs[0], mine)
        return into
    if not isinstance(result, tuple):
        return _as_tracked(function, result, outputs[0], mine)
    made = [_as_tracked(function, each, links, mine) for each, links in zip(result, outputs, strict=True)]
    return type(result)(*made) if hasattr(result, "_fields") else tuple(made)


def _arrays_in(item: Any) -> Iterator[Any]:
    if isinstance(item, np.ndarray):
        yield item
    elif isinstance(item, (list, tuple, dict)):
        for each in item.values() if isinstance(item, dict) else item:
            yield from _arrays_in(each)


def laid_out(numbers: Any, memory: list[tuple[int, int, Any]]) -> Any:
    """Return a plain copy with the memory layout of the tracked cells, because the order of BLAS sums depends on it.

    `memory` has earlier copies as (first byte, last byte, copy): an array and its transpose share one.
    """
    if numbers.size == 0:
        return np.empty(numbers.shape)
    at = numbers.__array_interface__["data"][0]
    reach = [(side - 1) * step for side, step in zip(numbers.shape, numbers.strides, strict=True)]
    low, high = at + sum(min(each, 0) for each in reach), at + sum(max(each, 0) for each in reach)
    held = next((each for each in memory if each[0] <= low and high <= each[1]), None)
    if held is None:
        held = (low, high, np.empty((high - low) // 16 + 1))  # a cell of 16 bytes is a number and a set
        memory.append(held)
    strides = [step // 2 for step in numbers.strides]
    made: Any = np.ndarray(numbers.shape, np.float64, held[2], (at - held[0]) // 2, strides)
    made[...] = numbers
    return made


def _as_tracked(function: Callable[..., Any], result: Any, links: rules.Links, mine: dict[int, Any]) -> Any:
    """Return the numbers as a tracked array (one number as a cell), with the lineage in the links."""
    numbers = np.asarray(result)
    if numbers.dtype.kind == "c":
        raise NoRule(
            f"{rules.name_of(function)} returns complex numbers, which a tracked array cannot hold: use log.track"
        )
    if numbers.dtype.kind in "biu":
        return result  # a rank or a count, which has no value lineage
    total: Any = None
    for link in links:
        if link.kind == "value" and id(link.operand) in mine:
            carried = _carried(link.relation, _zeroed(np.asarray(mine[id(link.operand)])))
            total = carried if total is None else total + carried
    if total is None:
        return result
    made = with_values(total, numbers)
    if numbers.base is not None and any(np.may_share_memory(numbers, link.operand) for link in links):
        # NumPy returns a view of the operand, but this is a copy, so that writing must raise an error.
        made.flags.writeable = False
    return made.view(TrackedArray) if isinstance(result, np.ndarray) else made[()]


def with_values(cells: Any, numbers: Any) -> Any:
    """Return a tracked array of these numbers, each with the lineage of the cell at the same index."""
    made = np.array(cells, copy=True, order="C").view(np.ndarray)
    pairs = made.reshape(-1).view(np.float64)  # values and sets alternate in memory
    pairs[0::2] = np.asarray(numbers, np.float64).reshape(-1)
    return made


def _zeroed(cells: Any) -> Any:
    return with_values(cells, np.zeros(cells.shape))


def _carried(relation: Relation, zeros: Any) -> Any:
    """Return zeros of the output's shape, each with the lineage of all its cells in the relation."""
    simple = _simple(relation)
    if simple is not None:
        summed, places = simple
        kept = zeros.sum(axis=summed) if summed else zeros
        shape = relation.out_shape
        order = np.argsort(places)
        moved = np.asarray(kept).transpose(order) if len(places) > 1 else np.asarray(kept)
        full = moved.reshape([shape[i] if i in places else 1 for i in range(len(shape))])
        return np.broadcast_to(full, shape)
    if relation.count() > MOST_TUPLES:
        raise TooLarge(f"{relation!r} has no simple form and too many tuples to follow one by one")
    made = _zeroed_empty(relation.out_shape, zeros)
    tuples = relation.to_array()
    if not len(tuples):
        return made
    rank = len(relation.out_shape)
    targets = _flat_index(tuples[:, :rank], relation.out_shape)
    sources = _flat_index(tuples[:, rank:], relation.in_shape)
    starts = np.flatnonzero(np.concatenate([[True], targets[1:] != targets[:-1]]))
    made.reshape(-1)[targets[starts]] = np.add.reduceat(zeros.reshape(-1)[sources], starts)
    return made


def _zeroed_empty(shape: tuple[int, ...], like: Any) -> Any:
    return np.zeros(shape, like.dtype)


def _flat_index(index: Any, shape: tuple[int, ...]) -> Any:
    return np.ravel_multi_index(tuple(index.T), shape) if shape else np.zeros(len(index), np.int64)


def _simple(relation: Relation) -> tuple[tuple[int, ...], list[int]] | None:
    """For a relation of one row: return the input axes that are summed over, and the output axis of each other one."""
    if len(relation) != 1 or relation._views != (relation.out_shape, relation.in_shape):
        return None
    (part,) = relation.parts()
    outs = len(relation.out_shape)
    sides = relation.out_shape + relation.in_shape
    lo, width = (tuple(int(np.ravel(column)[0]) for column in columns) for columns in (part.lo, part.width))
    summed, places = [], []
    for v, (parent, p, q) in enumerate(part.axes):
        if parent < 0:
            if (lo[v], width[v]) != (0, sides[v] - 1):
                return None
            if v >= outs:
                summed.append(v - outs)
        elif v < outs or parent >= outs or (p, q, lo[v], width[v]) != (1, 1, 0, 0) or parent in places:
            return None
        else:
            places.append(parent)
    return tuple(summed), places
