"""Attributes and methods that a traced array shares with NumPy's arrays, and ways to take plain numbers out of it.

The function must not notice the difference: it may check the class, print, compare or sort in place. Taking numbers out
of traced arrays is counted, or raises an error.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from whence.arrays.rules.shapes import reshaped
from whence.arrays.tracing._methods import METHODS
from whence.arrays.tracing._operations import NumberedLink
from whence.errors import NoRule
from whence.relation import Relation

if TYPE_CHECKING:
    from whence.arrays.tracing._later import Later
    from whence.arrays.tracing._origins import Origins
    from whence.arrays.tracing._run import Run


class Members(NDArrayOperatorsMixin):
    """The members of an array. `Traced` implements what they use."""

    __slots__ = ()

    if TYPE_CHECKING:
        value: Any
        _run: Run
        _number_in_run: int

        def _origins(self) -> Origins | Later: ...
        def _made(self, result: Any, links: tuple[NumberedLink, ...], arrays: list[Any]) -> Any: ...
        def __getitem__(self, key: Any) -> Any: ...
        def __setitem__(self, key: Any, value: Any) -> None: ...
        def _reshaped(self, before: tuple[int, ...]) -> None: ...
        def _measured(self) -> None: ...

    @property  # type: ignore[misc]  # type checkers assume that a class does not change
    def __class__(self) -> Any:
        """The class that the traced function sees: isinstance(x, np.ndarray), isinstance(x[0], float)."""
        return type(self.plain)

    @property
    def plain(self) -> Any:
        """The plain value as NumPy would have returned it: a single number is not an array."""
        return self.value[()] if not self.value.shape and self.value.base is None else self.value

    # --- out of the traced world

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        self._refused(
            "a traced array was about to become a plain one, which would lose its lineage (np.asarray, np.array, or "
            "writing into an array that is not traced): make results with np.zeros_like(x, shape=...), "
            "and call NumPy's functions on x itself"
        )

    def _number(self, cells: int = 1) -> Any:
        self._run.tape.add(("number", self._number_in_run))
        self._run.cast(self._origins(), cells)
        return self.value

    def _seen(self) -> Any:
        """Return the plain value for a branch. The operations that follow are on the tape."""
        self._run.tape.add(("seen", self._number_in_run))
        self._run.branches += 1
        self._run.decided_by(self.value.shape, self._origins())
        return self.plain

    def _written(self) -> Any:
        """Return the plain value for a string: mostly for people, but it may be parsed again."""
        self._run.tape.add(("text", self._number_in_run))
        self._run.texts += 1
        return self.plain

    def __float__(self) -> float:
        number = float(self._number())
        self._taken(number)
        return number

    def _taken(self, number: Any) -> Any:
        """Note a number that was taken out of a traced array."""
        return self._run.take(number, self._origins()) if not self.value.shape and type(number) is float else number

    def __int__(self) -> int:
        return int(self._number())

    def __index__(self) -> int:
        self._number()
        return operator.index(self.plain)

    def __complex__(self) -> complex:
        return complex(self._number())

    def __bool__(self) -> bool:
        return bool(self._seen())

    def __hash__(self) -> int:
        return hash(self._seen())

    def __eq__(self, other: Any) -> Any:
        return self.value == other if isinstance(other, str) else np.equal(self, other)

    def __ne__(self, other: Any) -> Any:
        return self.value != other if isinstance(other, str) else np.not_equal(self, other)

    def __delitem__(self, key: Any) -> None:
        del self.plain[key]  # raises NumPy's own error

    def __contains__(self, item: Any) -> bool:
        return bool((self == item).any())

    def is_integer(self) -> bool:
        """Whether a single number is an integer."""
        return bool(self._seen().is_integer())

    def __str__(self) -> str:
        return str(self._written())

    def __format__(self, how: str) -> str:
        return format(self._written(), how)

    def __round__(self, digits: Any = None) -> Any:
        if digits is None or self.value.shape or self.value.base is not None:
            return round(self._number()[()], digits)
        return np.round(self, digits)

    def item(self, *args: Any) -> Any:
        """Return a plain number. It is counted, because its lineage ends here."""
        return self._taken(self._number().item(*args))

    def tolist(self) -> Any:
        """Return plain numbers. They are counted, because their lineage ends here."""
        return self._number(self.value.size).tolist()

    def __reduce_ex__(self, protocol: Any) -> Any:
        self._refused("a traced array cannot be pickled, which would lose its lineage: pickle what the call returns")

    def __copy__(self) -> Any:
        return np.copy(self)

    def __deepcopy__(self, memo: Any) -> Any:
        return np.copy(self)

    def __repr__(self) -> str:
        return repr(self._written())

    # --- attributes and methods of arrays

    def __iter__(self) -> Iterator[Any]:
        if not self.value.shape:
            iter(self.plain)  # raises NumPy's own error
        return (self[i] for i in range(len(self)))

    def __len__(self) -> int:
        length = len(self.plain)
        self._measured()
        return length

    @property
    def shape(self) -> tuple[int, ...]:
        """The lengths of the axes."""
        shape: tuple[int, ...] = self.value.shape
        self._measured()
        return shape

    @shape.setter
    def shape(self, given: Any) -> None:
        if self._run.holds_also(self):
            self._refused("setting the shape of an array that other variables refer to is not followed: use reshape")
        before = self.value.shape
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # the function's own warning is not shown to its caller
            self.value.shape = given
        self._reshaped(before)

    @property
    def size(self) -> int:
        """The number of cells."""
        self._measured()
        return int(self.value.size)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return int(self.value.ndim)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.value.dtype

    @property
    def T(self) -> Any:
        """The transpose, a view."""
        return np.transpose(self)

    @property
    def mT(self) -> Any:
        """The transpose of the last two axes, a view."""
        return np.matrix_transpose(self)

    @property
    def real(self) -> Any:
        """The real parts."""
        return np.real(self)

    @property
    def imag(self) -> Any:
        """The imaginary parts."""
        return np.imag(self)

    @property
    def itemsize(self) -> int:
        """The size of a cell in bytes."""
        return int(self.value.itemsize)

    @property
    def device(self) -> str:
        """The device, for code that also takes arrays of other libraries."""
        return "cpu"

    @property
    def nbytes(self) -> int:
        """The size of all cells in bytes."""
        return self.size * self.itemsize

    def astype(self, dtype: Any, *args: Any, **options: Any) -> Any:
        """Return the same cells as another dtype."""
        return self.held_as(self.value.astype(dtype, *args, **options))

    def held_as(self, result: Any) -> Any:
        """Wrap the same cells as NumPy returned them: in another dtype, in other memory, or in a shape with more
        axes.
        """
        if result is self.value:
            return self
        own = self.value.shape
        self._run.tape.add(("held", self._number_in_run))
        relation = Relation.identity(own) if result.shape == own else reshaped(own, result.shape)
        made = self._made(result, (NumberedLink(0, relation, "value"),), [self])
        made._sized = self._sized
        return made

    def reshape(self, *shape: Any, order: Any = "C", copy: Any = None) -> Any:
        """Return the same cells in another shape."""
        options = {} if copy is None else {"copy": copy}
        return np.reshape(self, shape[0] if len(shape) == 1 else shape, order=order, **options)

    def transpose(self, *axes: Any) -> Any:
        """Return a view with the axes in another order."""
        given = axes[0] if len(axes) == 1 and not isinstance(axes[0], (int, np.integer)) else (axes or None)
        return np.transpose(self, given)

    def flatten(self, order: Any = "C") -> Any:
        """Return a flat copy."""
        return np.copy(np.ravel(self, order))

    def fill(self, value: Any) -> None:
        """Write one number into every cell."""
        self[...] = value

    def sort(self, axis: int = -1, **options: Any) -> None:
        """Sort in place."""
        self[...] = np.sort(self, axis, **options)

    def partition(self, kth: Any, axis: int = -1, **options: Any) -> None:
        """Partition in place."""
        self[...] = np.partition(self, kth, axis, **options)

    def __getattr__(self, name: str) -> Any:
        function = METHODS.get(name)
        if name.startswith("__"):  # protocols that NumPy probes for; a missing one is a valid answer
            if name in ("__array_interface__", "__array_struct__"):
                self._run.refuse(
                    NoRule("a traced array has no accessible memory, which np.asarray and as_strided need")
                )
            raise AttributeError(name)
        if not hasattr(self.plain, name):
            return getattr(self.plain, name)  # raises NumPy's own error
        if function is None:
            self._refused(f"the lineage of ndarray.{name} is not known: use a function of NumPy that has a rule")
        return lambda *args, **kwargs: function(self, *args, **kwargs)

    def _refused(self, why: str) -> NoReturn:
        error = NoRule(why)
        self._run.refuse(error)
        raise error
