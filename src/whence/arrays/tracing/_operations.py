"""Cache the lineage of single operations: a rule gives the same lineage for the same arguments.

Most rules depend only on shapes and arguments. A rule is first called with outlines instead of arrays, which have no
values. If it needs values, it is called again with the values of plain arrays, then with all values. The values that it
needs are part of the key of the operation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from whence.arrays import rules
from whence.arrays.rules._outlines import Outline
from whence.arrays.tracing._later import Later
from whence.arrays.tracing._spelling import Spelled, text_of, with_stand_ins
from whence.arrays.tracing._tape import Shape, Tape, content, short
from whence.errors import NoRule
from whence.relation import Relation

Reads = Literal["shapes", "plain", "values"]
"""What a rule needs of arrays: only shapes, also the values of plain arrays, or also those of traced arrays."""

LARGE = 1 << 14
"""For arrays of at least this many cells, the rule is called later, and only if no known lineage is found."""

MOST = 1 << 12
MOST_ROWS = 1 << 9
"""Relations of more rows are not cached."""


class NumberedLink(NamedTuple):
    """A link whose operand is the index of an array among the arguments of the call."""

    array: int
    relation: Relation
    kind: rules.Kind


Places = tuple[tuple[NumberedLink, ...], ...]  # for each output


class Operation(NamedTuple):
    """The cached facts about an operation with these arguments; also its lineage, if that needs no values."""

    text: str
    given: Shape
    divisors: frozenset[int]
    reads: Reads
    by_layout: bool
    places: Places | None


_operations: dict[Any, Operation] = {}
_places: dict[Any, Places] = {}
_STRONGER: dict[Reads, int] = {"shapes": 0, "plain": 1, "values": 2}


def unsupported(function: Callable[..., Any]) -> NoRule:
    """Return the error of a rule that cannot follow the arguments of a call."""
    return NoRule(f"the rule of {rules.name_of(function)} does not support these arguments")


class Step:
    """One operation with its arguments, both as NumPy takes them and as a key."""

    __slots__ = ("_key", "args", "function", "kwargs", "method", "spelled", "winner")

    def __init__(
        self, function: Any, spelled: Spelled, args: tuple[Any, ...], kwargs: Mapping[str, Any],
        method: str = "__call__", winner: bool = False,
    ) -> None:  # fmt: skip
        self.function, self.method, self.winner, self.spelled = function, method, winner, spelled
        if method == "__call__" and type(function) is np.ufunc:
            self.args = spelled.operands(args)
        else:
            self.args = tuple(map(spelled.spell, args))
        self.kwargs: dict[str, Any] = spelled.spell(kwargs) if kwargs else {}
        self._key = (function, method, winner, len(args), *spelled.key) if spelled.complete else None

    def identified(self) -> Operation:
        """Return the cached operation; its rule is called if it is new."""
        known = _operations.get(self._key)
        if known is None:
            if self.winner or rules.values_matter(self.function):
                known = self._new("values", rules.by_layout(self.function, self.args, self.kwargs), ())
            else:
                places, reads, by_layout = self._located()
                known = self._new(reads, by_layout, places)
        return known

    def _new(self, reads: Reads, by_layout: bool, places: Places) -> Operation:
        always = reads == "shapes" and not by_layout
        text, given = text_of(tuple(self.spelled.key))
        if version := rules.foreign(
            self.function
        ):  # rules of other packages are not known to work the same way at other lengths
            text = f"{version} {self.spelled.key!r}"
        text = short(f"{rules.name_of(self.function, self.method)} {text}")
        divisors = frozenset(rules.divisors(self.function, self.args, self.kwargs))
        known = Operation(text, given, divisors, reads, by_layout, places if always else None)
        if self._key is not None:
            _keep(_operations, self._key, known, places if always else ())
        return known

    def read(self, operation: Operation, tape: Tape) -> str:
        """Return what the operation reads of its arrays in addition to their shapes, as a string."""
        tape.complete &= self.spelled.complete
        if operation.places is not None:
            return ""
        found: list[Any] = []
        for each, mine in zip(self.spelled.arrays, self.spelled.mine, strict=True):
            traced = hasattr(type(each), "_is_traced")
            if operation.reads == "values" or (operation.reads == "plain" and not mine):
                found.append(content(each.value if traced else each))
                tape.values |= mine and (not traced or each.from_inputs)
            if operation.by_layout:
                found.append((each.value if traced else each).strides)
        return repr(found)

    def places(self, operation: Operation, read: str) -> Places:
        """Return the lineage of each output."""
        if operation.places is not None:
            return operation.places
        if self._key is None:
            return self._located()[0]
        found = _places.get((self._key, read))
        if found is None:
            found, reads, by_layout = self._located()
            if _STRONGER[reads] > _STRONGER[operation.reads] or by_layout > operation.by_layout:
                raise NoRule(f"the rule of {rules.name_of(self.function)} reads more of arrays than it did at first")
            _keep(_places, (self._key, read), found, found)
        return found

    def as_numpy(self, error: Exception) -> NoReturn:
        """Raise NumPy's own error, since the rule failed: wrong arguments get the same error as without tracing."""
        function = self.function if self.method == "__call__" else getattr(self.function, self.method)
        function(*self.args, **self.kwargs)
        raise unsupported(self.function) from error

    def done(self, tape: Tape, *, at_once: bool) -> tuple[Operation, str, Places | None]:
        """Return what `_done` returns, or raise the error that NumPy raises for these arguments."""
        try:
            return self._done(tape, at_once=at_once)
        except NoRule:
            raise
        except Exception as error:
            failed = error
        self.as_numpy(failed)

    def _done(self, tape: Tape, *, at_once: bool) -> tuple[Operation, str, Places | None]:
        """Return the operation, what it reads, and the lineage of its outputs; None if that is better computed
        later.
        """
        operation = self.identified()
        if operation.places is not None and self._key is not None:
            return operation, "", operation.places
        read = self.read(operation, tape)
        large = sum(each.size for each in self.spelled.arrays) >= LARGE
        if at_once or not large or self._key is None or operation.by_layout:
            return operation, read, self.places(operation, read)
        return operation, read, _places.get((self._key, read))

    def later(self, operation: Operation, read: str) -> Later:
        """Return the deferred lineage of the outputs, from copies of what the rule reads, because the arrays may be
        written to.
        """
        held = object.__new__(Step)
        held.function, held.method, held.winner, held._key = self.function, self.method, self.winner, self._key
        held.spelled = Spelled()  # without the arrays, to avoid reference cycles
        mine = held.spelled.mine = self.spelled.mine
        numbers = iter(range(len(mine)))

        def copied(array: Any) -> Any:
            wanted = operation.reads == "values" or not mine[next(numbers)]
            return array.copy() if wanted else np.broadcast_to(np.empty((), array.dtype), array.shape)

        held.args, held.kwargs = with_stand_ins(self.args, copied), with_stand_ins(self.kwargs, copied)
        return Later(held.places, operation, read)

    def _located(self) -> tuple[Places, Reads, bool]:
        """Return the lineage, what the rule read of arrays, and whether it read their memory layout."""
        function, args, kwargs, mine = self.function, self.args, self.kwargs, self.spelled.mine
        if self.winner:
            drawn = _Drawn(args, kwargs, mine, lambda array, _: array.view())
            return drawn.places(rules.winner(function, *drawn.args, **drawn.kwargs)), "values", False
        by_layout = rules.by_layout(function, args, kwargs)
        if not rules.values_matter(function):
            wanted: list[Reads] = ["shapes"] if all(mine) else ["shapes", "plain"]
            for reads in wanted:
                drawn = _Drawn(args, kwargs, mine, _shape_only if reads == "shapes" else _outline_of_mine)
                try:
                    found = drawn.lineage(function, self.method)
                except Exception:  # noqa: S112  # it needs values; other errors are raised again below
                    continue
                asked = any(each.laid_out for each in drawn.made if type(each) is Outline)
                return drawn.places(found), reads, asked or by_layout
        drawn = _Drawn(args, kwargs, mine, lambda array, _: array.view())
        return drawn.places(drawn.lineage(function, self.method)), "values", by_layout


def _keep(where: dict[Any, Any], key: Any, item: Any, places: Places) -> None:
    if sum(len(each.relation) for per_output in places for each in per_output) <= MOST_ROWS:
        if len(where) >= MOST:
            where.pop(next(iter(where)), None)
        where[key] = item


def _shape_only(array: Any, _: bool) -> Any:
    return Outline(array)


def _outline_of_mine(array: Any, mine: bool) -> Any:
    return Outline(array) if mine else array.view()


class _Drawn:
    """A call with a separate stand-in for every array."""

    def __init__(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], traced: Sequence[bool], make: Callable[[Any, bool], Any]
    ) -> None:
        self.made: list[Any] = []
        self._traced = traced

        def stand_in(array: Any) -> Any:
            made = make(array, traced[len(self.made)])
            self.made.append(made)
            return made

        self.args, self.kwargs = with_stand_ins(args, stand_in), with_stand_ins(kwargs, stand_in)

    def lineage(self, function: Any, method: str) -> tuple[rules.Links, ...]:
        """Return the lineage by the rule, with every traced array in some link."""
        mine = {id(each): each for each, traced in zip(self.made, self._traced, strict=True) if traced}
        return rules.complete(
            function, method, (self.args, self.kwargs), mine, rules.lineage(function, self.args, self.kwargs, method)
        )

    def places(self, found: tuple[rules.Links, ...]) -> Places:
        """Return the links of traced arrays, by the index of the array in the call."""
        at = {id(each): n for n, (each, traced) in enumerate(zip(self.made, self._traced, strict=True)) if traced}
        return tuple(
            tuple(
                NumberedLink(at[id(each.operand)], each.relation, each.kind) for each in links if id(each.operand) in at
            )
            for links in found
        )


class Index(NamedTuple):
    """An index without its arrays: as a string, its integers, and the relation of the cells that it selects."""

    text: str
    given: Shape
    relation: Relation | None


_indices: dict[Any, Index] = {}


def indexed(shape: Shape, key: Any, spelled: Spelled) -> Index:
    """Return the cached facts about `a[key]`; also its lineage, if the key contains no arrays."""
    at = (shape, type(key) is tuple, *spelled.key)
    known = _indices.get(at)
    if known is None:
        relation = rules.indexed(shape, key) if not spelled.arrays else None
        text, given = text_of(tuple(spelled.key))
        known = Index(short(text), given, relation)
        if spelled.complete:
            _keep(_indices, at, known, ((NumberedLink(0, relation, "value"),),) if relation is not None else ())
    return known
