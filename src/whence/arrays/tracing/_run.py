"""One run of a function: its inputs, and what was lost or decided by values on the way."""

from __future__ import annotations

import hashlib
import types
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays.rules._layouts import overlaps_itself
from whence.arrays.tracing._decisions import Listening, caught, may_raise
from whence.arrays.tracing._finished import finish
from whence.arrays.tracing._sizes import LENGTH, Noticing
from whence.errors import BadType, NoRule
from whence.relation import Relation

MOST_CELLS = 1 << 36
KINDS = "biuf"
MOST_TOLD = 1 << 16
MOST_TAKEN = 1 << 10


class Overlapping(NoRule):
    """An input that shares memory with another one is about to be written: nothing was changed yet."""


class Run:
    """The inputs of a run by number, and its notes: casts out of lineage, branches, choices that follow from values."""

    def __init__(
        self, *, selection: bool = False, winner: bool = False, outermost: types.CodeType | None = None
    ) -> None:
        self.finished = False
        self.refused: NoRule | None = None  # an operation that was refused; the function may have gone on without it
        self.by_layout = False  # whether cells were taken in the order in which they lie in memory
        self.selection = selection
        self.winner = winner  # max and min come from the cell that won, not from all that took part
        self.shapes: list[tuple[int, ...]] = []
        self.casts = 0  # numbers that left the traced world: their lineage ends there
        self.branches = 0  # Python decisions on traced values
        self.texts = 0  # traced values made into text
        self.taken: dict[int, tuple[Any, Any]] = {}  # numbers that left, by identity, with their origins
        self.wrote = False  # whether memory was written that views may share
        self.values_matter = False  # whether other values could have had another lineage
        self.looked_at: set[str] = set()  # arguments whose numbers Python code looked at, and LENGTH
        self.used: set[str] = set()  # arguments whose numbers were indices or parameters of NumPy's functions
        self.marks: set[int] = set()  # integers that were so, and came from the function's own code
        self.divisors: set[int] = set()  # integers by which lengths were divided, and rounded
        self._arrays = 0
        self._inputs: list[Any] = []
        self._checked: set[int] = set()
        self._alive: dict[int, weakref.ref[Any]] = {}
        self._listening = Listening()
        self._outermost = outermost
        self._untold = False  # plain arrays took part that are too large to be looked at
        self._steps = hashlib.blake2b(digest_size=16)

    @property
    def sizes_compared(self) -> bool:
        """Whether Python code looked at the length of an axis, or an index was cut off at one."""
        return LENGTH in self.looked_at

    @property
    def trail(self) -> str:
        """A hash of what was done with which arrays: two runs that have it in common did the same. Or nothing."""
        return "" if self._untold else self._steps.hexdigest()

    @property
    def notes(self) -> dict[str, int]:
        """What was lost, and decided, if anything."""
        counts = (("casts", self.casts), ("branches", self.branches), ("texts", self.texts))
        return {key: count for key, count in counts if count}

    def next_array(self, array: Any) -> int:
        """A number for a new array, which is watched until it is gone, or the run is over."""
        self._arrays += 1
        key, alive = id(array), self._alive
        alive[key] = weakref.ref(array, lambda _: alive.pop(key, None))
        return self._arrays

    def finish(self) -> None:
        """The run is over: arrays of it that are still somewhere become plain ones."""
        self.finished = True
        self.refused = None  # an error holds the frames that it went through, and these the run
        self._inputs.clear()  # or the run itself would hold them, and looking for holders takes milliseconds
        left = [found for each in list(self._alive.values()) if (found := each()) is not None]
        self._alive.clear()
        if left:
            finish(left)

    def call(self, function: Callable[..., Any], what: Any, args: Any, kwargs: Any) -> Any:
        """NumPy's own call; that it raised, or might have and the function would know, is a decision by values."""
        if not self.values_matter and (
            self._listening.heard(self._outermost) or (may_raise(what) and caught(self._outermost))
        ):
            self.values_matter = True
        try:
            return function(*args, **kwargs)
        except Exception:
            self.values_matter = True
            self.looked_at.add(LENGTH)
            raise

    def take(self, number: Any, origins: Any) -> Any:
        """A number leaves the traced world; if the function returns just this object, its origins are known."""
        if len(self.taken) < MOST_TAKEN:
            self.taken[id(number)] = (number, origins)
        return number

    def refuse(self, error: NoRule) -> None:
        """An operation is refused. If the function handles that, it takes a way that it does not take otherwise."""
        if self.refused is None:
            self.refused = error

    def holds_also(self, array: Any) -> bool:
        """Whether the same array of NumPy's is an input, or has another traced array."""
        others = (each() for each in list(self._alive.values()))
        return any(each is array for each in self._inputs) or any(
            each is not None and each is not array and each.value is array.value for each in others
        )

    def before_writing(self, array: Any) -> None:
        """An error if a write changes more than it seems to: cells of another input, or several of a view."""
        buffer = array._buffer
        own = [each for each in self._inputs if each._buffer is buffer]
        if any(each.value.flags.writeable and overlaps_itself(each.value) for each in (array, *own)):
            raise NoRule("more than one cell of an array lies at a place that is about to be written: write to a copy")
        if id(buffer) in self._checked:
            return
        for each in own:
            for other in self._inputs:
                if other._buffer is not buffer and _overlap(each.value, other.value):
                    raise Overlapping("an argument that shares memory with another one was about to be written")
        self._checked.add(id(buffer))

    def step(self, *what: Any) -> None:
        """One more thing was done."""
        if not self._untold:
            self._steps.update(self._said(what).encode())

    def _said(self, item: Any) -> str:
        """An argument as it counts for what was done: arrays by number or contents, lengths by how they came about."""
        number = getattr(item, "_number_in_run", None)
        if number is not None:
            return f"#{number}"
        if isinstance(item, Noticing):
            return item._said
        if isinstance(item, (list, tuple)):
            return f"{type(item).__name__}({','.join(map(self._said, item))})"
        if isinstance(item, dict):
            return f"{{{','.join(f'{key}:{self._said(each)}' for key, each in item.items())}}}"
        if isinstance(item, slice):
            return f"[{self._said(item.start)}:{self._said(item.stop)}:{self._said(item.step)}]"
        if isinstance(item, np.ndarray):
            self._untold |= item.size > MOST_TOLD
            if self._untold:
                return ""
            content = hashlib.blake2b(np.ascontiguousarray(item).tobytes(), digest_size=12).hexdigest()
            return f"{item.shape}{item.dtype}{content}"
        if callable(item):
            return f"{getattr(item, '__module__', '')}.{getattr(item, '__name__', type(item).__name__)}"
        return f"{type(item).__name__} {item!r}"

    def parameters(self, *given: Any) -> None:
        """These are indices or parameters, which a rule reads."""
        for each in given:
            if hasattr(each, "_number_in_run"):
                continue  # an array of this run is no parameter
            if isinstance(each, Noticing):
                self.used |= each._names
            elif isinstance(each, (int, np.integer)):
                self.marks.add(abs(int(each)))
            elif isinstance(each, (list, tuple)):
                self.parameters(*each)
            elif isinstance(each, dict):
                self.parameters(*each.values())
            elif isinstance(each, slice):
                self.parameters(each.start, each.stop, each.step)
                if isinstance(each.step, Noticing):
                    each.step._looked()
                elif each.step is not None:
                    self.divisors.add(abs(int(each.step)))
            elif isinstance(each, np.ndarray):
                self.marks.update(each.shape)

    def input(self, array: Any, what: str = "an input") -> Any:
        """A traced array over this one's memory, each cell from itself."""
        from whence.arrays.tracing._traced import Buffer, Traced

        checked(array, what)
        number = len(self.shapes)
        self.shapes.append(array.shape)
        if any(each.value is array for each in self._inputs):
            array = array.view()  # arrays of a run are told apart by identity
        buffer = Buffer(array.shape, {(number, "value"): (Relation.identity(array.shape),)})
        made = Traced(self, buffer, None, array)
        self._inputs.append(made)
        return made

    def same_input(self, traced: Any) -> Any:
        """An input that is the same array as an earlier one: whatever comes from that one comes from both."""
        number = len(self.shapes)
        self.shapes.append(traced.value.shape)
        traced._buffer.origins[number, "value"] = (Relation.identity(traced.value.shape),)
        return traced

    def fresh(self, value: Any) -> Any:
        """A traced array whose cells come from nothing."""
        from whence.arrays.tracing._traced import Buffer, Traced

        if self.finished:
            return value
        return Traced(self, Buffer(np.shape(value), {}), None, np.asarray(value))


def _overlap(a: Any, b: Any) -> bool:
    """Whether two arrays have memory in common; if that is too hard to tell, they have."""
    try:
        return bool(np.shares_memory(a, b, max_work=1 << 16))  # type: ignore[arg-type]  # any number will do
    except np.exceptions.TooHardError:
        return True


def checked(array: Any, what: str) -> Any:
    """The array, if lineage of its cells can be kept; else an error that names it.

    >>> checked(np.array(["a"]), "'names'")
    Traceback (most recent call last):
    ...
    whence.errors.BadType: 'names' is an array of <U1: lineage is kept of numbers (float, integer, bool)
    """
    if isinstance(array, _tracked.Held):
        raise BadType(f"{what} is tracked already (whence.tracked): pass its numbers, whence.arrays.values(x)")
    if type(array) not in (np.ndarray, np.memmap):
        raise BadType(
            f"{what} is a {type(array).__name__}, which computes in a way of its own: give a plain array, np.asarray(x)"
            + (", or x.filled(...)" if isinstance(array, np.ma.MaskedArray) else "")
        )
    if array.dtype.kind not in KINDS:
        raise BadType(f"{what} is an array of {array.dtype}: lineage is kept of numbers (float, integer, bool)")
    if array.size > MOST_CELLS:
        raise BadType(f"{what} has {array.size:,} cells; lineage is kept of at most 2^36 in one array")
    return array
