"""One run of a function: its inputs, lost lineage, and branches on values."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays.rules._layouts import overlaps_itself
from whence.arrays.tracing._buffer import Buffer
from whence.arrays.tracing._finished import finish
from whence.arrays.tracing._later import Later, now
from whence.arrays.tracing._tape import CallRecord, Tape
from whence.errors import BadType, NoRule
from whence.relation import Relation

MOST_CELLS = 1 << 36
KINDS = "biuf"
MOST_TAKEN = 1 << 10
MOST_MET = 64


@dataclass(frozen=True, slots=True)
class Taken:
    """A number that left the traced world, which of them it is, and where it came from."""

    value: Any
    number: int
    later: Any

    def origins(self) -> Any:
        """Where it came from."""
        return now(self.later)


class Overlapping(NoRule):
    """An input that shares memory with another one is about to be written: nothing was changed yet."""


class Run:
    """The inputs of a run by number, the tape of what it did, and its notes: casts out of lineage, decisions, texts."""

    def __init__(self, *, selection: bool = False, winner: bool = False, at_once: bool = True) -> None:
        self.finished = False
        self.at_once = at_once  # whether rules are asked at once, or at the end, if the lineage is not known then
        self.refused: NoRule | None = None  # an operation that was refused; the function may have gone on without it
        self.selection = selection
        self.winner = winner  # max and min come from the cell that won, not from all that took part
        self.shapes: list[tuple[int, ...]] = []
        self.tape = Tape()
        self.most_writes = 0  # into one array
        self.selects = False  # whether values may have decided, as far as that is recorded
        self.branches = 0  # Python decisions on traced values
        self.texts = 0  # traced values made into text
        self._casts: list[tuple[Any, int]] = []  # numbers that left the traced world, and where they came from
        self._taken: dict[int, Taken] = {}  # single ones of them, by identity
        self._arrays = 0
        self._inputs: list[Any] = []
        self.met: dict[int, Any] = {}  # plain arrays that operations were given beside traced ones
        self._checked: set[int] = set()
        self._before: list[tuple[Any, Any]] = []  # inputs that were written, and what they held
        self._alive: list[weakref.ref[Any]] = []
        self._many = 1 << 10
        self.plain: dict[int, Any] = {}  # what was recorded for an array of the run, by the identity of its numbers
        self.at_end: list[Callable[[], None]] = []  # of those who hold arrays of the run elsewhere

    @property
    def call_record(self) -> CallRecord | None:
        """What was done so far; None if the tape is not complete."""
        return self.tape.call_record(mode_of(self.selection, self.winner), self.shapes)

    def cast(self, origins: Any, cells: int) -> None:
        """Numbers from there left the traced world: their lineage ends here."""
        if origins != {}:
            self._casts.append((origins, cells))

    @property
    def notes(self) -> dict[str, int]:
        """What was lost, and decided, if anything."""
        casts = sum(cells for origins, cells in self._casts if any(map(len, chain(*now(origins).values()))))
        counts = (("casts", casts), ("branches", self.branches), ("texts", self.texts))
        return {key: count for key, count in counts if count}

    def next_array(self, array: Any) -> int:
        """A number for a new array, which is watched until it is gone, or the run is over."""
        self._arrays += 1
        self._alive.append(weakref.ref(array))
        if len(self._alive) > self._many:
            self._alive = [each for each in self._alive if each() is not None]
            self._many = 2 * len(self._alive) + (1 << 10)
        return self._arrays

    def finish(self) -> None:
        """The run is over: arrays of it that are still somewhere become plain ones."""
        for each in self.at_end:
            each()
        self.at_end.clear()
        self.finished = True
        self.refused = None  # an error holds the frames that it went through, and these the run
        self._inputs.clear()  # or the run itself would hold them, and looking for holders takes milliseconds
        self._before.clear()
        self.met = {}
        self._casts.clear()
        self._taken.clear()
        left = [found for each in self._alive if (found := each()) is not None]
        self._alive.clear()
        if left:
            finish(left, self.plain)
        self.plain = {}

    def take(self, number: Any, origins: Any) -> Any:
        """A number leaves the traced world; if the function returns just this object, its origins are known."""
        if len(self._taken) < MOST_TAKEN:
            self._taken[id(number)] = Taken(number, len(self._taken) + 1, origins)
        return number

    def taken_as(self, item: Any) -> Taken | None:
        """What is known of a number that left, if it is one."""
        found = self._taken.get(id(item))
        return found if found is not None and found.value is item else None

    def meets(self, array: Any) -> None:
        """A plain array goes into an operation: the function has it from elsewhere."""
        if len(self.met) < MOST_MET:
            self.met[id(array)] = array

    def holds(self, item: Any) -> bool:
        """Whether it is an array of the run, or a number that left it."""
        from whence.arrays.tracing._traced import Traced

        return isinstance(item, Traced) or (type(item) is float and self.taken_as(item) is not None)

    @property
    def has_casts(self) -> bool:
        """Whether numbers left the traced world."""
        return bool(self._casts)

    def refuse(self, error: NoRule) -> None:
        """An operation is refused. If the function handles that, it takes a way that it does not take otherwise."""
        if self.refused is None:
            self.refused = error

    def holds_also(self, array: Any) -> bool:
        """Whether the same array of NumPy's is an input, or has another traced array."""
        others = (each() for each in self._alive)
        return any(each is array for each in self._inputs) or any(
            each is not None and each is not array and each.value is array.value for each in others
        )

    def before_writing(self, array: Any) -> None:
        """An error if a write changes more than it seems to: cells of another input, or several of a view."""
        buffer = array._buffer
        own = [each for each in self._inputs if each._buffer is buffer]
        if any(each.value.flags.writeable and overlaps_itself(each.value) for each in (array, *own)):
            raise NoRule("several cells of an array share the memory that is about to be written: write to a copy")
        if id(buffer) in self._checked:
            return
        for each in own:
            for other in self._inputs:
                if other._buffer is not buffer and _overlap(each.value, other.value):
                    raise Overlapping("an argument that shares memory with another was about to be written")
        self._checked.add(id(buffer))
        self._before += [(each.value, each.value.copy()) for each in own if each.value.flags.writeable]

    def put_back(self) -> bool:
        """Inputs that were written have their numbers of before again; whether there were any."""
        for array, values in self._before:
            np.copyto(array, values)
        return bool(self._before)

    def input(self, array: Any, what: str = "an input") -> Any:
        """A traced array over this one's memory, each cell from itself."""
        from whence.arrays.tracing._traced import Traced

        checked(array, what)
        number = len(self.shapes)
        self.shapes.append(array.shape)
        if any(each.value is array for each in self._inputs):
            array = array.view()  # arrays of a run are distinguished by identity
        self.tape.add(array.dtype.str)
        made = Traced(self, Buffer(array.shape, Later(_from_itself, number, array.shape)), None, array)
        self._inputs.append(made)
        return made

    def same_input(self, traced: Any) -> Any:
        """An input that is the same array as an earlier one: whatever comes from that one comes from both."""
        number = len(self.shapes)
        self.shapes.append(traced.value.shape)
        self.tape.add(("again", traced._number_in_run))
        both = (traced._buffer.origins, Later(_from_itself, number, traced.value.shape))
        traced._buffer.origins = Later(lambda one, other: {**one, **other}, *both)
        return traced

    def fresh(self, value: Any) -> Any:
        """A traced array whose cells come from nothing."""
        from whence.arrays.tracing._traced import Traced

        if self.finished:
            return value
        array = np.asarray(value)
        self.tape.add(f"made {array.ndim}{array.dtype.str}", (), array.shape)
        return Traced(self, Buffer(array.shape, {}), None, array)


def _from_itself(number: int, shape: tuple[int, ...]) -> dict[Any, Any]:
    return {(number, "value"): (Relation.identity(shape),)}


@lru_cache
def mode_of(selection: bool, winner: bool) -> str:
    """What lineage depends on besides the run: the kind of lineage, and the versions of the rules."""
    return f"whence {version('whence')}, numpy {np.__version__}, {selection}, {winner}"


def _overlap(a: Any, b: Any) -> bool:
    """Whether two arrays share memory; if that takes too long to find out, yes."""
    try:
        return bool(np.shares_memory(a, b, max_work=1 << 16))  # type: ignore[arg-type]  # any number will do
    except np.exceptions.TooHardError:
        return True


def checked(array: Any, what: str) -> Any:
    """The array, if lineage of its cells can be kept; else an error that names it.

    >>> checked(np.array(["a"]), "'names'")
    Traceback (most recent call last):
    ...
    whence.errors.BadType: 'names' is an array of <U1: whence follows only numbers (float, integer, bool)
    """
    if isinstance(array, _tracked.Held):
        raise BadType(f"{what} is tracked already (whence.tracked): pass its numbers, whence.arrays.values(x)")
    if type(array) not in (np.ndarray, np.memmap):
        raise BadType(
            f"{what} is a {type(array).__name__}, which computes differently: pass a plain array, np.asarray(x)"
            + (", or x.filled(...)" if isinstance(array, np.ma.MaskedArray) else "")
        )
    if array.dtype.kind not in KINDS:
        raise BadType(f"{what} is an array of {array.dtype}: whence follows only numbers (float, integer, bool)")
    if array.size > MOST_CELLS:
        raise BadType(f"{what} has {array.size:,} cells; whence follows arrays of at most 2^36 cells")
    return array
