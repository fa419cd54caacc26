"""Follow objects that later calls of a function also see, in the function's code: to other names and into calls."""

from __future__ import annotations

import dis
import sys
import types
from collections.abc import Iterator
from dataclasses import dataclass

from whence.rows.determinism.names import ACCESSORS, CHANGES_ARGUMENT, MUTATING, PASSING

Place = tuple[int, int]
CALLS = frozenset({"CALL", "CALL_KW", "CALL_FUNCTION_EX", "CALL_FUNCTION_KW"})
# Instructions that create a new object from their operands.
MAKES = (
    "BINARY_OP", "COMPARE_OP", "CONTAINS_OP", "IS_OP", "UNARY", "BUILD_STRING", "BUILD_LIST", "BUILD_MAP", "BUILD_SET",
    "BUILD_CONST_KEY_MAP", "FORMAT", "DICT_UPDATE", "DICT_MERGE", "LIST_EXTEND", "SET_UPDATE",
)  # fmt: skip
MOVES = (
    "COPY", "SWAP", "ROT", "UNPACK", "STORE_FAST", "PUSH_NULL", "PRECALL", "BUILD_TUPLE", "BINARY_SUBSCR", "LOAD",
    "BINARY_SLICE", "BUILD_SLICE", "GET_ITER", "FOR_ITER", "KW_NAMES", "MAKE_FUNCTION", *CALLS,
)  # fmt: skip
STORING = ("STORE_FAST", "UNPACK", "SWAP", "ROT", "COPY")  # between two names of one assignment


@dataclass(slots=True)
class _Loaded:
    """A shared object on the stack; if `inside`, whatever is taken out of it is a part of it."""

    start: Place
    path: str
    place: int | None  # position on the stack, if known
    inside: bool = True


@dataclass(frozen=True, slots=True)
class Given:
    """A call that gets a shared object: the callee, its keywords, and which argument the object is."""

    callee: object
    keywords: tuple[object, ...]
    path: str
    place: int | None = None
    count: int = 0

    def parameter(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """The parameters of a function that may be the object; all, if unknown."""
        if self.place is None or not 0 <= self.place < self.count:
            return names
        by_place = self.count - len(self.keywords)
        if self.place >= by_place:
            return (str(self.keywords[self.place - by_place]),)
        return names[self.place : self.place + 1] or names


class Shared:
    """The variables and stack entries that are shared objects or parts of them. `parts` has the variables.

    Shared objects are those that later calls see. Instructions are read in their order in the code, which is the order
    of evaluation in an expression.
    """

    def __init__(self, code: types.CodeType, parts: dict[str, str]) -> None:
        self._code = code
        self.parts = dict(parts)
        self._loaded: list[_Loaded] = []
        self._callees: dict[Place, tuple[object, str]] = {}  # the callee, by the position where its expression begins
        self._keywords: tuple[object, ...] = ()
        self._stored = False
        self._depth: int | None = 0  # of the stack, within a statement; None after a jump
        self._before = 0  # the same, before the arguments of a call were taken

    def load(self, step: dis.Instruction, path: str, *, inside: bool = True) -> None:
        """Note that a shared object is loaded."""
        if (span := _span(step)) is not None:
            self._loaded.append(_Loaded(span[0], path, None if self._depth is None else self._depth - 1, inside))

    def begins(self, step: dis.Instruction) -> str | None:
        """The shared object that an expression begins with."""
        span = _span(step)
        return next((each.path for each in self._loaded if span is not None and each.start == span[0]), None)

    def follow(self, step: dis.Instruction) -> Iterator[Given]:
        """Read one instruction, and yield the calls that get a shared object."""
        name, span = step.opname, _span(step)
        if self._stored and not name.startswith(STORING):
            self._loaded.clear()  # the statement has ended
            self._stored, self._depth = False, 0
        self._count_stack(step)
        if name in ("KW_NAMES", "LOAD_CONST"):  # the names of keywords come directly before the call
            const = self._code.co_consts[step.arg or 0]
            self._keywords = const if isinstance(const, tuple) else ()
        if span is None:
            return
        if name in CALLS:
            yield from self._call(span, (step.arg or 0) if name != "CALL_FUNCTION_EX" else None)
        elif name.startswith("STORE_FAST"):
            several = step.argval if isinstance(step.argval, tuple) else (step.argval,)
            for each in several[:1] if "LOAD" in name else several:
                self._store(str(each))
        elif not name.startswith((*MAKES, *MOVES)):
            self._loaded.clear()
        elif name.startswith(MAKES):
            self._loaded = [each for each in self._loaded if not span[0] <= each.start <= span[1]]

    def called(self, step: dis.Instruction, value: object, name: str) -> None:
        """Note the value of a name or attribute, because it may be called next."""
        if (span := _span(step)) is not None:
            self._callees[span[0]] = value, name

    def _count_stack(self, step: dis.Instruction) -> None:
        if self._depth is None:
            return
        if step.opcode in dis.hasjrel or step.opcode in dis.hasjabs:
            self._depth = None
            return
        if step.opname == "PRECALL" or (step.opname in CALLS and sys.version_info >= (3, 12)):
            self._before = self._depth
        self._depth += dis.stack_effect(step.opcode, step.arg, jump=False)

    def _call(self, span: tuple[Place, Place], count: int | None) -> Iterator[Given]:
        callee, name = self._callees.get(span[0], (None, ""))
        left = []
        for each in self._loaded:
            if not span[0] <= each.start <= span[1]:
                left.append(each)
            elif each.start == span[0]:  # a method of it
                left += [each] if name in ACCESSORS and each.inside else []
            else:
                left += [each] if name in PASSING else []
                if count is None or self._depth is None or each.place is None:
                    yield Given(callee, self._keywords, each.path)
                else:
                    yield Given(callee, self._keywords, each.path, each.place - (self._before - count), count)
        self._loaded, self._keywords = left, ()

    def _store(self, name: str) -> None:
        self._stored = True
        inside = [each.path for each in self._loaded if each.inside]
        if inside:
            self.parts[name] = inside[0]
        else:
            self.parts.pop(name, None)


def changes_argument(callee: object, keywords: tuple[object, ...]) -> bool:
    """Whether compiled code changes its argument."""
    if "out" in keywords:
        return True
    if isinstance(callee, types.MethodDescriptorType):  # list.append, np.add.at
        return callee.__name__ in MUTATING or (callee.__objclass__.__name__, callee.__name__) == ("ufunc", "at")
    full = f"{getattr(callee, '__module__', None)}.{getattr(callee, '__name__', '')}"
    return full in CHANGES_ARGUMENT


def _span(step: dis.Instruction) -> tuple[Place, Place] | None:
    """The positions where the expression of an instruction begins and ends in the source."""
    place = step.positions
    if place is None or place.lineno is None or place.col_offset is None:
        return None
    start = (place.lineno, place.col_offset)
    return start, (place.end_lineno or start[0], place.end_col_offset or start[1])
