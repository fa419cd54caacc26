"""An array that knows where its cells came from: NumPy computes the values, rules the lineage.

It is no subclass of ndarray, on purpose: code that would look through it at bare numbers gets an error, not a loss.
Memory is shared as NumPy shares it. A view holds, besides its values, which cells of the memory it shows; writing
through any view changes the origins of the memory, so every other view sees it.
"""

from __future__ import annotations

import dis
import functools
import operator
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from whence import _tracked
from whence.arrays import rules
from whence.arrays.rules._rows import moved
from whence.arrays.rules.elementwise import broadcast
from whence.arrays.rules.shapes import reshaped
from whence.arrays.tracing._composed import COMPOSED, nan_to_num_in_place
from whence.arrays.tracing._finished import Body, Finished
from whence.arrays.tracing._members import Members
from whence.arrays.tracing._origins import Origins, Shape, composed, merged, overwritten, union, united
from whence.arrays.tracing._sizes import LENGTH, Noticing, bare
from whence.errors import BadType, NoRule
from whence.relation import Relation
from whence.selection import Selection

if TYPE_CHECKING:
    from whence.arrays.tracing._run import Run


class Buffer:
    """Memory that views share: its shape, and the origins of its cells."""

    __slots__ = ("origins", "shape", "version")

    def __init__(self, shape: Shape, origins: Origins) -> None:
        self.shape = shape
        self.origins = origins
        self.version = 0


def _refusing(method: Callable[..., Any]) -> Callable[..., Any]:
    """The method of a traced array, noting what it refuses."""

    @functools.wraps(method)
    def noting(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            return method(self, *args, **kwargs)
        except NoRule as error:
            self._run.refuse(error)
            raise

    return noting


class Traced(Members, Body):
    """A NumPy array within a run; `value` are its numbers, `relation(n)` its lineage from the n-th input."""

    __slots__ = ()
    _buffer: Buffer
    _view: Relation | None

    def __init__(self, run: Run, buffer: Buffer, view: Relation | None, value: Any) -> None:
        self._run = run
        self._buffer = buffer
        self._view = view  # own cells <- the buffer's; None: the same
        self.value = value
        self._number_in_run = run.next_array(self)
        self._cached: tuple[int, Origins] | None = None
        self._decided: Origins = {}  # what decided which cells of the buffer a view shows

    # --- lineage

    def origins(self) -> Origins:
        """Where the cells came from."""
        if self._view is None:
            return self._buffer.origins
        if self._cached is None or self._cached[0] != self._buffer.version:
            found = composed(self._view, self._buffer.origins)
            self._cached = (self._buffer.version, united([found, self._decided]) if self._decided else found)
        return self._cached[1]

    def relation(self, number: int, kind: rules.Kind = "value") -> Relation:
        """The lineage from one input; what came from nothing has an empty one."""
        found = union(self.origins().get((number, kind), ()))
        if not found:
            return Relation.empty(self.value.shape, self._run.shapes[number])
        return found[0] if len(found) == 1 else merged(found)

    def _reshaped(self, relation: Relation) -> None:
        """The array itself has another shape from now on."""
        self._view = relation if self._view is None else relation.compose(self._view)
        self._cached = None

    def _write(self, target: Relation, origins: Origins) -> None:
        """Cells of this array were written: `target` (own cells <- cells of the new value) says which, from where."""
        whole = target if self._view is None else self._view.inverse.compose(target)
        written = whole.forward(Selection.all(whole.in_shape))
        self._buffer.origins = overwritten(self._buffer.origins, composed(whole, origins), written)
        if self._decided:  # other values would have had other cells of the memory written
            every = Relation.whole(self._buffer.shape, self.value.shape)
            self._buffer.origins = united([self._buffer.origins, composed(every, self._decided, "selection")])
        self._buffer.version += 1
        self._run.wrote = True

    # --- calls

    @_refusing
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        out = kwargs.pop("out", None)
        targets = out if isinstance(out, tuple) else (() if out is None else (out,))
        if method == "at":
            raise NoRule(f"the lineage of {rules.name_of(ufunc, method)} is not known: write it without .at")
        if any(each is not None and not isinstance(each, Traced) for each in targets):
            raise NoRule(
                f"{rules.name_of(ufunc, method)} writes into an array that is not traced (out=, or +=): "
                "make it with np.zeros_like or np.empty_like of a traced one"
            )
        for each in targets:
            if each is not None:
                self._run.before_writing(each)
        unwrapped, mine = self._unwrapped((inputs, kwargs))
        self._run.parameters(kwargs if method == "__call__" else (inputs[1:], kwargs))
        self._run.step(ufunc, method, [_operand(each) for each in inputs], kwargs, targets)
        arrays = {key: each.value for key, each in mine.items()}
        outputs, by_values = rules.watched(ufunc, unwrapped[0], unwrapped[1], arrays, method)
        self._run.values_matter |= by_values
        raw = dict(unwrapped[1])
        if targets:
            raw["out"] = tuple(None if each is None else each.value for each in targets)
        numbers = None if raw or method != "__call__" or ufunc not in OPERATORS else _numbers(inputs)
        if numbers is not None:  # Python's operators on numbers, which notice that integers overflow
            result = self._run.call(OPERATORS[ufunc], ufunc, numbers, {})
        else:
            result = self._run.call(getattr(ufunc, method), ufunc, unwrapped[0], raw)
        if not targets:
            return self._wrapped(result, outputs, mine)
        results = result if isinstance(result, tuple) else (result,)
        made = []
        for target, value, links in zip(targets, results, outputs, strict=True):
            origins = self._origins_of(links, mine)
            if target is None:
                made.append(Traced(self._run, Buffer(value.shape, origins), None, value))
            else:
                target._write(Relation.identity(target.value.shape), origins)
                made.append(target)
        return made[0] if len(made) == 1 else tuple(made)

    @_refusing
    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.shape, np.size) and len(args) == 1:
            return getattr(args[0], function.__name__)
        if function is np.nan_to_num and rules.argument(function, args, kwargs, "copy") is False:
            return nan_to_num_in_place(*args, **kwargs)
        if function in COMPOSED:
            return COMPOSED[function](*args, **kwargs)
        unwrapped, mine = self._unwrapped((args, kwargs))
        self._run.parameters(args, kwargs)
        self._run.step(function, args, kwargs)
        self._run.divisors |= rules.divisors(function, *unwrapped)
        self._run.by_layout |= rules.by_layout(function, *unwrapped)
        if rules.argument(function, args, kwargs, "out") is not None:
            raise NoRule(f"{rules.name_of(function)} with out=: assign its result instead, out[...] = ...")
        if self._run.winner and function in rules.EXTREMES:
            outputs = rules.winner(function, *unwrapped[0], **unwrapped[1])
            self._run.values_matter = True
        else:
            arrays = {key: each.value for key, each in mine.items()}
            outputs, by_values = rules.watched(function, unwrapped[0], unwrapped[1], arrays)
            self._run.values_matter |= by_values
        return self._wrapped(self._run.call(function, function, *unwrapped), outputs, mine)

    def _unwrapped(self, call: tuple[Any, Any]) -> tuple[Any, dict[int, Traced]]:
        """The arguments with the arrays behind the traced ones; and these, by the identity of their array."""
        mine: dict[int, Traced] = {}
        return (self._bare(call[0], mine), self._bare(call[1], mine)), mine

    def _bare(self, item: Any, mine: dict[int, Traced]) -> Any:
        if isinstance(item, Traced):
            self._same_run(item)
            mine[id(item.value)] = item
            return item.value
        if type(item) is Finished:
            return item.value
        if isinstance(item, _tracked.Held):
            raise BadType(
                "a tracked array cannot be mixed with arrays of a traced run: they are of two captures; "
                "pass its numbers, whence.arrays.values(x)"
            )
        if isinstance(item, (list, tuple)) and not hasattr(item, "_fields"):
            return type(item)(self._bare(each, mine) for each in item)
        if isinstance(item, dict):
            return {key: self._bare(each, mine) for key, each in item.items()}
        return bare(item)

    def _same_run(self, other: Traced) -> None:
        if other._run is not self._run:
            raise BadType("arrays of two captures cannot be mixed: read both in one, or pass on the plain result")

    def _wrapped(self, result: Any, outputs: tuple[rules.Links, ...], mine: dict[int, Traced]) -> Any:
        if not isinstance(result, (tuple, list)):
            if len(outputs) == 1 and not outputs[0] and not isinstance(result, np.ndarray):
                return result  # a shape, a type, a text
            return self._made(result, outputs[0], mine)
        if len(result) != len(outputs):
            raise NoRule(f"a rule gives {len(outputs)} outputs where NumPy has {len(result)}")
        made = [self._made(each, links, mine) for each, links in zip(result, outputs, strict=True)]
        if isinstance(result, list):
            return made
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)

    def _made(self, result: Any, links: rules.Links, mine: dict[int, Traced]) -> Traced:
        if id(result) in mine and [link.operand for link in links if link.operand is not result]:
            raise NoRule("a function that writes into its argument (out= by position) is not followed")
        value = np.asarray(result)
        for link in links:
            if link.relation.out_shape != value.shape:
                raise NoRule(f"a rule gives the shape {link.relation.out_shape} where NumPy has {value.shape}")
        values = [link for link in links if link.kind == "value"]
        shown = [link for link in values if id(link.operand) in mine and _root(value) is _root(link.operand)]
        if shown and len(values) == 1:
            source, relation = mine[id(shown[0].operand)], shown[0].relation
            view = relation if source._view is None else relation.compose(source._view)
            made = Traced(self._run, source._buffer, view, value)
            made._decided = self._origins_of([link for link in links if link.kind != "value"], mine)
            return made
        if shown and value.size:
            raise NoRule("a function that returns the memory of one argument with numbers of others is not followed")
        return Traced(self._run, Buffer(value.shape, self._origins_of(links, mine)), None, value)

    def _origins_of(self, links: rules.Links, mine: dict[int, Traced]) -> Origins:
        parts: list[Origins] = []
        for link in links:
            source = mine.get(id(link.operand))
            if source is not None and (link.kind == "value" or self._run.selection):
                parts.append(composed(link.relation, source.origins(), link.kind))
        return united(parts) if parts else {}

    # --- indexing

    @_refusing
    def __getitem__(self, key: Any) -> Any:
        plain, chosen_by = self._key(key)
        relation = rules.indexed(self.value.shape, plain)
        result = self.value[plain]
        made = self._made(result, [rules.Link(self.value, relation)], {id(self.value): self})
        if chosen_by and self._run.selection:
            shape = np.shape(result)
            decided = [
                composed(rules.deciding(plain, shape, each.value), each.origins(), "selection") for each in chosen_by
            ]
            if made._view is not None:  # whoever writes into it writes into this array
                made._decided = united(decided)
                return made
            return Traced(self._run, Buffer(shape, united([made.origins(), *decided])), None, made.value)
        return made

    @_refusing
    def __setitem__(self, key: Any, value: Any) -> None:
        value = value.value if type(value) is Finished else value
        if isinstance(value, Traced) and value._buffer is self._buffer and value.value.shape and _from_compiled_code():
            raise NoRule(
                "compiled code moves rows of a traced array, and may do so in another way than with a plain one "
                "(rng.shuffle): write x = x[rng.permutation(len(x))]"
            )
        plain, chosen_by = self._key(key)
        target_shape = np.shape(self.value[plain]) if _basic(plain) else None
        given = value.value if isinstance(value, Traced) else np.asarray(value)
        if target_shape is not None:
            spread = broadcast(_trimmed(given.shape, target_shape), target_shape)
            target = rules.indexed(self.value.shape, plain).inverse.compose(spread)
        else:  # indices may name a cell twice: the last one stays, which NumPy is asked
            sources = np.full(self.value.shape, -1, np.int64)
            numbers = np.arange(given.size, dtype=np.int64).reshape(given.shape)
            sources[plain] = numbers
            target = moved(sources, _trimmed(given.shape, given.shape))
        if isinstance(value, Traced):
            self._same_run(value)
        origins = value.origins() if isinstance(value, Traced) else {}
        if isinstance(value, Traced) and target.in_shape != given.shape:
            origins = composed(reshaped(given.shape, target.in_shape), origins)
        self._run.before_writing(self)
        self.value[plain] = given
        self._write(target, origins)
        if self._run.selection:
            for each in chosen_by:
                relation = rules.deciding_writes(plain, self.value.shape, given.shape, each.value)
                whole = relation if self._view is None else self._view.inverse.compose(relation)
                decided = composed(whole, each.origins(), "selection")
                self._buffer.origins = united([self._buffer.origins, decided])

    def _key(self, key: Any) -> tuple[Any, list[Traced]]:
        """The index with plain arrays in it, and the traced ones that were."""
        parts = key if isinstance(key, tuple) else (key,)
        traced = [each for each in parts if isinstance(each, Traced)]
        for each in traced:
            self._same_run(each)
        if traced:
            self._run.values_matter = True
        self._run.parameters(*parts)
        self._run.step("index", self, parts)
        self._notice_ends(parts)
        plain = tuple(_plain_index(each) for each in parts)
        return (plain if isinstance(key, tuple) else plain[0]), traced

    def _notice_ends(self, parts: tuple[Any, ...]) -> None:
        """A slice that is cut off at the end of an axis would not be in a longer array."""
        taking = [each for each in parts if each is not None]
        after = next((i for i, each in enumerate(taking) if each is Ellipsis), len(taking))
        several = any(getattr(each, "ndim", 0) > 1 for each in taking)
        for i, part in enumerate(taking):
            if isinstance(part, slice):
                side = 0 if several else self.value.shape[i if i < after else i - len(taking)]
                for bound in (part.start, part.stop):
                    if bound is not None and not -side <= bare(bound) <= side:
                        self._run.looked_at |= {LENGTH} | (bound._names if isinstance(bound, Noticing) else set())

    def __iter__(self) -> Iterator[Any]:
        if not self.value.shape:
            raise TypeError("iteration over a 0-d array")
        return (self[i] for i in range(len(self)))  # which notes that a length was looked at: steps can be counted

    def __len__(self) -> int:
        # len() gives plain integers, whose comparisons nobody notices; a rebound function has a len of its own.
        self._run.looked_at.add(LENGTH)
        return len(self.value)


OPERATORS: dict[np.ufunc, Callable[..., Any]] = {
    np.add: operator.add, np.subtract: operator.sub, np.multiply: operator.mul, np.divide: operator.truediv,
    np.floor_divide: operator.floordiv, np.remainder: operator.mod, np.power: operator.pow, np.negative: operator.neg,
    np.absolute: operator.abs, np.left_shift: operator.lshift, np.right_shift: operator.rshift,
}  # fmt: skip


def _numbers(inputs: tuple[Any, ...]) -> tuple[Any, ...] | None:
    """The operands as the numbers that they are without a trace, if there is no array among them."""
    plain = tuple(bare(each.plain if isinstance(each, Traced) else each) for each in inputs)
    return plain if all(isinstance(each, (int, float, np.generic)) for each in plain) else None


def _from_compiled_code() -> bool:
    """Whether the method that asks was called by compiled code (or by its name), and not by an assignment."""
    frame = sys._getframe(3)  # beyond the method, and what notes its refusals
    return dis.opname[frame.f_code.co_code[frame.f_lasti]].startswith("CALL")


def _root(array: Any) -> Any:
    """The array that owns the memory, or the object that does."""
    while isinstance(array, np.ndarray) and isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _plain_index(part: Any) -> Any:
    if isinstance(part, Traced):
        return part.value if part.value.shape else part.value[()]
    return bare(part)


def _operand(item: Any) -> Any:
    """An operand as it counts for lineage: which number it is does not."""
    return item if isinstance(item, (Traced, np.ndarray)) else "a number"


def _basic(key: Any) -> bool:
    parts = key if isinstance(key, tuple) else (key,)
    return all(each is None or each is Ellipsis or isinstance(each, (int, np.integer, slice)) for each in parts)


def _trimmed(shape: Shape, target: Shape) -> Shape:
    """Assignment, unlike broadcasting, drops leading axes of length one."""
    while len(shape) > len(target) and shape[0] == 1:
        shape = shape[1:]
    return shape
