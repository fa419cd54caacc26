"""One run of a function: its inputs, lost lineage, and branches on values."""

from __future__ import annotations

import warnings
import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from importlib.metadata import version
from itertools import chain
from typing import Any

import numpy as np

from whence import _tracked
from whence.arrays.overlap import overlaps_itself
from whence.arrays.tracing._buffer import Buffer
from whence.arrays.tracing._finished import finish
from whence.arrays.tracing._later import Later, now
from whence.arrays.tracing._origins import Origins, composed, together
from whence.arrays.tracing._tape import CallRecord, Tape
from whence.errors import BadType, NoRule
from whence.relation import Relation

# Shuffling a traced array is refused, and runs again on a plain one: there is nothing to warn of.
warnings.filterwarnings("ignore", "you are shuffling a 'Traced' object", UserWarning)

MOST_CELLS = 1 << 36
KINDS = "biuf"
MOST_TAKEN = 1 << 10
MOST_MET = 64


@dataclass(frozen=True, slots=True)
class Taken:
    """A number that was taken out of traced arrays, its index among these, and its origins."""

    value: Any
    number: int
    later: Any

    def origins(self) -> Any:
        """Return its origins."""
        return now(self.later)


class Overlapping(NoRule):
    """The function is about to write an input that shares memory with another one. Nothing was changed yet."""


class Run:
    """The inputs of a run, the tape of its operations, and counts of casts, branches and strings."""

    def __init__(self, *, selection: bool = False, winner: bool = False, at_once: bool = True) -> None:
        self.finished = False
        self.at_once = at_once  # whether rules are called at once, or at the end if no known lineage is found
        self.refused: NoRule | None = None  # an operation that was refused; the function may have caught the error
        self.selection = selection
        self.winner = winner  # max and min come from the cell that has the extreme value, not from all compared cells
        self.shapes: list[tuple[int, ...]] = []
        self.tape = Tape()
        self.most_writes = 0  # the most writes into one array
        self.selects = False  # whether the run may have selection lineage
        self.branches = 0  # branches in Python on traced values
        self.texts = 0  # traced values that were converted to strings
        self._decisions: list[Any] = []  # origins of the values and lengths that Python code decided by, of shape ()
        self._casts: list[tuple[Any, int]] = []  # origins and counts of numbers that were taken out of traced arrays
        self._taken: dict[int, Taken] = {}  # single numbers of these, by id
        self._arrays = 0
        self._inputs: list[Any] = []
        self.met: dict[int, Any] = {}  # plain arrays that were operands together with traced ones
        self._checked: set[int] = set()
        self._before: list[tuple[Any, Any]] = []  # inputs that were written, and copies of their values before
        self._alive: list[weakref.ref[Any]] = []
        self._many = 1 << 10
        self.plain: dict[int, Any] = {}  # the plain array recorded for each array of the run, by id of `value`
        self.at_end: list[Callable[[], None]] = []  # callbacks of objects that refer to arrays of the run

    @property
    def call_record(self) -> CallRecord | None:
        """The call record so far; None if the tape is not complete."""
        return self.tape.call_record(mode_of(self.selection, self.winner), self.shapes)

    def cast(self, origins: Any, cells: int) -> None:
        """Note that numbers with these origins were taken out of traced arrays: their lineage ends here."""
        if origins != {}:
            self._casts.append((origins, cells))

    def decided_by(self, shape: tuple[int, ...], origins: Any) -> None:
        """Note that Python code branched on values of this shape with these origins."""
        if self.selection and origins != {}:
            self._decisions.append(decision(shape, origins))

    def decisions(self, shape: tuple[int, ...]) -> Origins:
        """Return the origins, for results of this shape, of all that Python code branched on: any branch may decide
        any result.
        """
        return composed(Relation.whole(shape, ()), together([now(each) for each in self._decisions]), "selection")

    @property
    def notes(self) -> dict[str, int]:
        """The counts of casts, branches and strings that are not 0."""
        casts = sum(cells for origins, cells in self._casts if any(map(len, chain(*now(origins).values()))))
        counts = (("casts", casts), ("branches", self.branches), ("texts", self.texts))
        return {key: count for key, count in counts if count}

    def next_array(self, array: Any) -> int:
        """Return the index of a new array, which is watched until it is deleted or the run ends."""
        self._arrays += 1
        self._alive.append(weakref.ref(array))
        if len(self._alive) > self._many:
            self._alive = [each for each in self._alive if each() is not None]
            self._many = 2 * len(self._alive) + (1 << 10)
        return self._arrays

    def finish(self) -> None:
        """End the run: its arrays that are still referenced become plain."""
        for each in self.at_end:
            each()
        self.at_end.clear()
        self.finished = True
        self.refused = None  # an error refers to frames, and these to the run
        self._inputs.clear()  # otherwise the run refers to them, and searching for referrers takes milliseconds
        self._before.clear()
        self.met = {}
        self._casts.clear()
        self._decisions.clear()
        self._taken.clear()
        left = [found for each in self._alive if (found := each()) is not None]
        self._alive.clear()
        if left:
            finish(left, self.plain)
        self.plain = {}

    def take(self, number: Any, origins: Any) -> Any:
        """Note a number that is taken out. If the function returns this object, its origins are known."""
        if len(self._taken) < MOST_TAKEN:
            self._taken[id(number)] = Taken(number, len(self._taken) + 1, origins)
        return number

    def taken_as(self, item: Any) -> Taken | None:
        """Return what is known of a number that was taken out; None if it is not one."""
        found = self._taken.get(id(item))
        return found if found is not None and found.value is item else None

    def meets(self, array: Any) -> None:
        """Note a plain array that is an operand; it did not come from the traced arguments."""
        if len(self.met) < MOST_MET:
            self.met[id(array)] = array

    def holds(self, item: Any) -> bool:
        """Whether it is an array of the run, or a number that was taken out of one."""
        from whence.arrays.tracing._traced import Traced

        return isinstance(item, Traced) or (type(item) is float and self.taken_as(item) is not None)

    @property
    def has_casts(self) -> bool:
        """Whether numbers were taken out of traced arrays."""
        return bool(self._casts)

    def refuse(self, error: NoRule) -> None:
        """Note that an operation was refused. If the function catches the error, its run differs from an untraced
        one.
        """
        if self.refused is None:
            self.refused = error

    def holds_also(self, array: Any) -> bool:
        """Whether the same NumPy array is an input, or belongs to another traced array."""
        others = (each() for each in self._alive)
        return any(each is array for each in self._inputs) or any(
            each is not None and each is not array and each.value is array.value for each in others
        )

    def before_writing(self, array: Any) -> None:
        """Raise an error if a write changes more than it seems to: cells of another input, or several cells of a
        view.
        """
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
        """Restore the values of inputs that were written, and return whether there were any."""
        for array, values in self._before:
            np.copyto(array, values)
        return bool(self._before)

    def input(self, array: Any, what: str = "an input") -> Any:
        """Return a traced array over the memory of this one, in which each cell comes from itself."""
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
        """Add an input that is the same array as an earlier one: cells that come from that one come from both."""
        number = len(self.shapes)
        self.shapes.append(traced.value.shape)
        self.tape.add(("again", traced._number_in_run))
        both = (traced._buffer.origins, Later(_from_itself, number, traced.value.shape))
        traced._buffer.origins = Later(lambda one, other: {**one, **other}, *both)
        return traced

    def fresh(self, value: Any) -> Any:
        """Return a traced array whose cells come from nothing."""
        from whence.arrays.tracing._traced import Traced

        if self.finished:
            return value
        array = np.asarray(value)
        self.tape.add(f"made {array.ndim}{array.dtype.str}", (), array.shape)
        return Traced(self, Buffer(array.shape, {}), None, array)


def decision(shape: tuple[int, ...], origins: Any) -> Later:
    """Return the origins of something that all cells of this shape decide together, as those of one cell."""
    return Later(composed, Relation.whole((), shape), origins, "selection")


def _from_itself(number: int, shape: tuple[int, ...]) -> dict[Any, Any]:
    return {(number, "value"): (Relation.identity(shape),)}


@lru_cache
def mode_of(selection: bool, winner: bool) -> str:
    """Return the part of the key that is not on the tape: options for the lineage, and the versions of the rules."""
    return f"whence {version('whence')}, numpy {np.__version__}, {selection}, {winner}"


def _overlap(a: Any, b: Any) -> bool:
    """Whether two arrays share memory; True if that takes too long to decide."""
    try:
        return bool(np.shares_memory(a, b, max_work=1 << 16))  # type: ignore[arg-type]  # any integer is allowed
    except np.exceptions.TooHardError:
        return True


def checked(array: Any, what: str) -> Any:
    """Return the array if the lineage of its cells can be followed; else raise an error that names it.

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
