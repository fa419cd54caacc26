"""Numbers that notice when Python code looks at them: lengths of axes, and numbers given as arguments.

Lineage learned from some calls is only good for others as long as no decision hangs on what differs between them. What
is computed from such a number notices too; NumPy takes it for the number that it is.
"""

from __future__ import annotations

import hashlib
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from whence.arrays.tracing._run import Run

LENGTH = ""
"""Stands among the names of arguments for the lengths of axes."""

LONG = 120


class Noticing:
    """What a length and a given number have in common: the run, what they were computed from, and how."""

    _run: Run
    _names: frozenset[str]
    _said: str

    def _looked(self) -> None:
        self._run.looked_at |= self._names

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if _any_traced(inputs) or _any_traced(kwargs):
            return NotImplemented
        return self._among_plain(getattr(ufunc, method), inputs, kwargs)

    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if _any_traced(args) or _any_traced(kwargs):
            return NotImplemented
        return self._among_plain(function, args, kwargs)

    def _among_plain(self, function: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """NumPy on plain numbers: an array that comes from it is traced from here on, a number is looked at."""
        made = function(*bare(args), **bare(kwargs))
        if isinstance(made, np.ndarray) or self._run.finished:
            return self._run.fresh(made)
        self._looked()
        return made

    def __reduce__(self) -> Any:
        self._looked()
        return type(bare(self)), (bare(self),)


class Size(Noticing, int):
    """The length of an axis, or an integer that was given as an argument.

    >>> from whence.arrays.tracing import Run
    >>> run = Run()
    >>> n = Size.of(5, run)
    >>> n // 2 + 1, run.sizes_compared
    (3, False)
    >>> n > 3, run.sizes_compared
    (True, True)
    """

    @classmethod
    def of(cls, value: int, run: Run, names: frozenset[str] = frozenset([LENGTH]), said: str = "n") -> Size:
        """A number seen in this run, computed from the arguments named (a length, unless others are)."""
        made = cls(value)
        _mark(made, run, names, said)
        return made

    def __hash__(self) -> int:
        self._looked()  # a key of a dict, a member of a set
        return hash(bare(self))


class Number(Noticing, float):
    """A number that was given as an argument.

    >>> from whence.arrays.tracing import Run
    >>> run = Run()
    >>> by = Number.of(0.5, run, frozenset(["by"]), "by")
    >>> type(2 * by + 1).__name__, run.looked_at
    ('Number', set())
    >>> by > 0, run.looked_at
    (True, {'by'})
    """

    @classmethod
    def of(cls, value: float, run: Run, names: frozenset[str], said: str) -> Number:
        """A number of this run, computed from the arguments named."""
        made = cls(value)
        _mark(made, run, names, said)
        return made

    def __hash__(self) -> int:
        self._looked()
        return hash(bare(self))


def _mark(made: Noticing, run: Run, names: frozenset[str], said: str) -> None:
    made._run, made._names = run, names
    made._said = said if len(said) <= LONG else hashlib.blake2b(said.encode(), digest_size=12).hexdigest()


def bare(item: Any) -> Any:
    """The same with plain numbers; nobody looked."""
    if isinstance(item, Size):
        return int.__int__(item)
    if isinstance(item, Number):
        return float.__float__(item)
    if isinstance(item, (list, tuple)):
        return type(item)(*map(bare, item)) if hasattr(item, "_fields") else type(item)(map(bare, item))
    if isinstance(item, dict):
        return {key: bare(each) for key, each in item.items()}
    if isinstance(item, slice):
        return slice(bare(item.start), bare(item.stop), bare(item.step))
    return item


def noticing_in(item: Any) -> list[Any]:
    """The numbers among arguments that notice."""
    if isinstance(item, Noticing):
        return [item]
    if isinstance(item, (list, tuple)):
        return [each for part in item for each in noticing_in(part)]
    if isinstance(item, dict):
        return noticing_in(list(item.values()))
    return noticing_in([item.start, item.stop, item.step]) if isinstance(item, slice) else []


def _any_traced(item: Any) -> bool:
    from whence.arrays.tracing._traced import Traced

    if isinstance(item, (list, tuple)):
        return any(map(_any_traced, item))
    if isinstance(item, dict):
        return any(map(_any_traced, item.values()))
    return isinstance(item, Traced)


# --- arithmetic gives numbers that notice; everything else is a look


def _computed(plain: Any, *operands: Any, sign: str) -> Any:
    noticing = [each for each in operands if isinstance(each, Noticing)]
    run = noticing[0]._run
    if run.finished:
        return plain
    names = frozenset().union(*(each._names for each in noticing))
    said = f"({sign}{','.join(each._said if isinstance(each, Noticing) else repr(each) for each in operands)})"
    if type(plain) is int:
        return Size.of(plain, run, names, said)
    return Number.of(plain, run, names, said) if type(plain) is float else plain


def _binary(name: str, *, swapped: bool) -> Any:
    function = getattr(operator, name)

    def method(self: Any, other: Any) -> Any:
        if not isinstance(other, (int, float)) or isinstance(other, np.generic):
            return NotImplemented  # an array's own operation
        pair = (other, self) if swapped else (self, other)
        return _computed(function(*map(bare, pair)), *pair, sign=name)

    return method


def _floor_divided(self: Any, other: Any) -> Any:
    """What is rounded goes in steps, which are known where the divisor is; by another length it is a look."""
    if not isinstance(other, (int, float)) or isinstance(other, np.generic):
        return NotImplemented
    if isinstance(other, (Noticing, float)):
        return self.__divmod__(other)[0]  # which looks at both
    self._run.divisors.add(abs(other))
    return _computed(bare(self) // other, self, other, sign="floordiv")


def _unary(name: str) -> Any:
    function = getattr(operator, name)
    return lambda self: _computed(function(bare(self)), self, sign=name)


def _look(name: str, plain: Any) -> Any:
    def method(self: Any, *others: Any) -> Any:
        self._looked()
        for each in others:
            if isinstance(each, Noticing):
                each._looked()
        return plain(bare(self), *bare(others))

    method.__name__ = name
    return method


_NOT_OURS = {"from_bytes", "fromhex", "__getformat__", "__getnewargs__"}
for _type, _plain in ((Size, int), (Number, float)):
    setattr(_type, "__floordiv__", _floor_divided)  # noqa: B010  # as the others, of which typing knows nothing
    for _name in ("add", "sub", "mul", "truediv", "pow"):
        setattr(_type, f"__{_name}__", _binary(_name, swapped=False))
        setattr(_type, f"__r{_name}__", _binary(_name, swapped=True))
    for _name in ("neg", "pos"):
        setattr(_type, f"__{_name}__", _unary(_name))
    for _name in ("__str__", "__repr__", "__format__"):  # a text may be compared, or read back as a number
        setattr(_type, _name, _look(_name, getattr(_plain, _name)))
    for _name in dir(_plain):
        _own = getattr(_plain, _name)
        if callable(_own) and _name not in _NOT_OURS.union(vars(_type), dir(object), dir(Noticing)):
            setattr(_type, _name, _look(_name, _own))
    for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
        setattr(_type, _name, _look(_name, getattr(_plain, _name)))
