"""The traced array: NumPy computes the values, rules compute the lineage.

It is deliberately not a subclass of ndarray: code that reads the plain numbers gets an error instead of losing lineage.
Memory is shared as in NumPy. A view has a relation to its memory; writing through any view changes the origins of the
memory, so every other view has the new origins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.arrays import rules
from whence.arrays.rules._rows import moved
from whence.arrays.rules.shapes import reshaped
from whence.arrays.tracing._buffer import Buffer, refusing
from whence.arrays.tracing._combining import combined_at
from whence.arrays.tracing._composed import COMPOSED, nan_to_num_in_place
from whence.arrays.tracing._finished import Body, Finished
from whence.arrays.tracing._later import Later, now
from whence.arrays.tracing._members import Members
from whence.arrays.tracing._operations import LARGE, Index, NumberedLink, Operation, Places, Step, indexed
from whence.arrays.tracing._origins import Origins, Shape, composed, merged, union
from whence.arrays.tracing._sized import counts_from_start, selects_cells, sized_by
from whence.arrays.tracing._spelling import PLAIN_ARRAYS, Spelled
from whence.arrays.tracing._tape import content
from whence.arrays.tracing._ways import OPERATORS, as_bound, as_number, from_compiled_code, numbers_of, root, trimmed
from whence.arrays.tracing._writing import (
    added_in,
    assigned,
    copied,
    picked_from,
    placed,
    seen_through,
    united_all,
    written,
)
from whence.errors import NoRule
from whence.relation import Relation

if TYPE_CHECKING:
    from whence.arrays.tracing._run import Run


class Traced(Members, Body):
    """A NumPy array within a run; `value` is the plain array, `relation(n)` its lineage from the n-th input."""

    __slots__ = ()
    _is_traced = True
    _buffer: Buffer
    _view: Relation | Later | None
    _decided: Origins | Later

    def __init__(self, run: Run, buffer: Buffer, view: Relation | Later | None, value: Any) -> None:
        self._run = run
        self._buffer = buffer
        self._view = view  # own cells <- the buffer's; None if they are the same
        self.value = value
        self._number_in_run = run.next_array(self)
        self._cached: tuple[int, Later] | None = None
        self._decided = {}  # selection lineage of a view: what selected its cells of the buffer
        self._sized: Later | None = None  # if selection lineage is wanted: what decided how many cells it has

    # --- lineage

    def origins(self) -> Origins:
        """Return the origins of the cells."""
        found: Origins = now(self._origins())
        return found

    def _origins(self) -> Origins | Later:
        """Return the origins, which may be deferred."""
        if self._view is None:
            return self._buffer.origins
        if self._cached is None or self._cached[0] != self._buffer.version:
            found = Later(composed, self._view, self._buffer.origins)
            self._cached = (self._buffer.version, Later(united_all, found, self._decided) if self._decided else found)
        return self._cached[1]

    @property
    def from_inputs(self) -> bool:
        """Whether its values may come from inputs. Those of new memory that was not written do not."""
        return self._buffer.origins != {}

    def relation(self, number: int, kind: rules.Kind = "value") -> Relation:
        """Return the lineage from one input; it is empty if no cells came from it."""
        found = union(self.origins().get((number, kind), ()))
        if not found:
            return Relation.empty(self.value.shape, self._run.shapes[number])
        return found[0] if len(found) == 1 else merged(found)

    def _reshaped(self, before: Shape) -> None:
        """Note that the shape of the array was set."""
        self._run.tape.add(("shape", self._number_in_run, self.value.ndim), (), self.value.shape)
        self._view = seen_through(Later(reshaped, before, self.value.shape), self._view)
        self._cached = None

    def _write(self, target: Relation | Later, origins: Origins | Later) -> None:
        """Note that cells of this array were written: `target` is own cells <- cells of the new value."""
        buffer = self._buffer
        buffer.origins = Later(written, buffer.origins, self._view, target, origins)
        if self._decided:  # with other values, other cells of the memory would have been written
            every = Later(Relation.whole, buffer.shape, self.value.shape)
            buffer.origins = Later(united_all, buffer.origins, Later(composed, every, self._decided, "selection"))
        self._replaced_origins(buffer.origins)

    def _add_decided(self, origins: Origins | Later) -> None:
        """Add selection lineage to all cells."""
        if self._view is None:
            self._buffer.origins = Later(united_all, self._buffer.origins, origins)
        else:
            self._decided = Later(united_all, self._decided, origins) if self._decided else origins
            self._cached = None

    def _measured(self) -> None:
        """Note that Python code read how many cells there are."""
        if self._sized is not None:
            self._run.decided_by((), self._sized)

    def _replaced_origins(self, origins: Origins | Later) -> None:
        """Note that the memory was written to."""
        self._buffer.origins = origins
        self._buffer.version += 1
        self._run.most_writes = max(self._run.most_writes, self._buffer.version)

    # --- calls

    @refusing
    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        run = self._run
        out = kwargs.pop("out", None)
        targets = out if isinstance(out, tuple) else (() if out is None else (out,))
        if method == "at":
            return combined_at(ufunc, *inputs)
        for each in targets:
            if each is not None:
                if type(each) is not Traced:
                    raise NoRule(
                        f"{rules.name_of(ufunc, method)} writes into an array that is not traced (out=, or +=): "
                        "make it with np.zeros_like or np.empty_like of a traced one"
                    )
                run.before_writing(each)
        step = Step(ufunc, Spelled(self._run), inputs, kwargs, method)
        arrays, options = step.spelled.arrays, step.kwargs
        operation, read, places = step.done(run.tape, at_once=True)
        assert places is not None
        if targets:
            options = {**options, "out": tuple(None if each is None else each.value for each in targets)}
        numbers = None if options or method != "__call__" or ufunc not in OPERATORS else numbers_of(inputs)
        try:
            if numbers is not None:  # Python's operators on numbers warn when integers overflow
                result = OPERATORS[ufunc](*numbers)
            else:
                result = getattr(ufunc, method)(*step.args, **options)
        except FloatingPointError:
            if targets:
                run.refuse(NoRule(f"{rules.name_of(ufunc, method)} raised after it had written into its out="))
            raise
        self._record_step(operation, read, arrays)
        if not targets:
            return sized_by(self._run, arrays, self._wrapped(result, places, arrays), aligned=method == "__call__")
        results = result if isinstance(result, tuple) else (result,)
        made = []
        for target, value, links in zip(targets, results, places, strict=True):
            origins = self._origins_of(links, arrays)
            if target is None:
                made.append(self._new(value, origins))
            else:
                run.tape.add(("out", target._number_in_run))
                target._write(Relation.identity(target.value.shape), origins)
                made.append(target)
        return made[0] if len(made) == 1 else tuple(made)

    @refusing
    def __array_function__(self, function: Callable[..., Any], types: Any, args: Any, kwargs: Any) -> Any:
        if function in (np.shape, np.size) and len(args) == 1:
            return getattr(args[0], function.__name__)
        if function is np.nan_to_num and rules.argument(function, args, kwargs, "copy") is False:
            return nan_to_num_in_place(*args, **kwargs)
        if function in COMPOSED:
            return COMPOSED[function](*args, **kwargs)
        if rules.argument(function, args, kwargs, "out") is not None:
            raise NoRule(f"{rules.name_of(function)} with out=: assign its result instead, out[...] = ...")
        winner = self._run.winner and function in rules.EXTREMES
        step = Step(function, Spelled(self._run), args, kwargs, winner=winner)
        arrays = step.spelled.arrays
        operation, read, places = step.done(self._run.tape, at_once=self._run.at_once)
        result = function(*step.args, **step.kwargs)
        self._record_step(operation, read, arrays)
        made = self._results(step, operation, read, places, result)
        return sized_by(self._run, arrays, made, selects=self._run.selection and selects_cells(function, args, kwargs))

    def _results(self, step: Step, operation: Operation, read: str, places: Places | None, result: Any) -> Any:
        """Wrap the results of a function of NumPy."""
        arrays = step.spelled.arrays
        if places is None:
            found = list(result) if isinstance(result, (tuple, list)) else [result]
            if all(type(each) is np.ndarray and each.base is None for each in found):
                return self._wrapped_later(result, step.later(operation, read), arrays)
            places = step.places(operation, read)
        return self._wrapped(result, places, arrays)

    def _record_step(self, operation: Operation, read: str, arrays: list[Any]) -> None:
        """Add the operation to the tape."""
        tape = self._run.tape
        numbers = [each._number_in_run if type(each) is Traced else 0 for each in arrays]
        tape.add((operation.text, read, numbers), operation.given)
        if operation.divisors:
            tape.divisors |= operation.divisors

    def _wrapped(self, result: Any, outputs: Places, arrays: list[Any]) -> Any:
        if not isinstance(result, (tuple, list)):
            if len(outputs) == 1 and not outputs[0] and not isinstance(result, np.ndarray):
                self._run.texts += isinstance(result, str)
                return result  # a shape, a dtype, a string
            return self._made(result, outputs[0], arrays)
        if len(result) != len(outputs):
            raise NoRule(f"a rule gives {len(outputs)} outputs where NumPy has {len(result)}")
        made = [self._made(each, links, arrays) for each, links in zip(result, outputs, strict=True)]
        if isinstance(result, list):
            return made
        return type(result)(*made) if hasattr(result, "_fields") else tuple(made)

    def _wrapped_later(self, result: Any, places: Later, arrays: list[Any]) -> Any:
        """Wrap results that own their memory, and whose lineage is not known yet."""
        self._run.selects = True  # it may have selection lineage
        origins = [each._origins() if type(each) is Traced else {} for each in arrays]
        results = result if isinstance(result, (tuple, list)) else (result,)
        made = [
            self._new(each, Later(placed, places, (at, len(results), each.shape, self._run.selection), *origins))
            for at, each in enumerate(results)
        ]
        if not isinstance(result, (tuple, list)):
            return made[0]
        return type(result)(*made) if hasattr(result, "_fields") else type(result)(made)

    def _made(self, result: Any, links: tuple[NumberedLink, ...], arrays: list[Any]) -> Traced:
        value = np.asarray(result)
        same = False
        for link in links:
            if link.relation.out_shape != value.shape:
                raise NoRule(f"a rule gives the shape {link.relation.out_shape} where NumPy has {value.shape}")
            same = same or arrays[link.array].value is value
        if value.base is None and not same:
            return self._new(value, self._origins_of(links, arrays))
        return self._maybe_shown(value, links, arrays, same)

    def _maybe_shown(self, value: Any, links: tuple[NumberedLink, ...], arrays: list[Any], same: bool) -> Traced:
        if same and any(arrays[each.array].value is not value for each in links):
            raise NoRule("a function that writes into its argument (out= by position) is not followed")
        values = [link for link in links if link.kind == "value"]
        shown = [link for link in values if root(value) is root(arrays[link.array].value)]
        if shown and len(values) == 1:
            return self._shown(value, arrays[shown[0].array], shown[0].relation, links, arrays)
        if shown and value.size:
            raise NoRule("a function that returns the memory of one argument with numbers of others is not followed")
        return self._new(value, self._origins_of(links, arrays))

    def _new(self, value: Any, origins: Origins | Later) -> Traced:
        """Make an array that owns its memory."""
        self._run.tape.add(value.ndim, (), value.shape)
        return Traced(self._run, Buffer(value.shape, origins), None, value)

    def _shown(
        self,
        value: Any,
        source: Traced,
        relation: Relation,
        links: Sequence[NumberedLink] = (),
        arrays: Sequence[Any] = (),
    ) -> Traced:
        """Make a view of another array's memory."""
        self._run.tape.add(("view", source._number_in_run, value.ndim), (), value.shape)
        made = Traced(self._run, source._buffer, seen_through(relation, source._view), value)
        decided: list[Origins | Later] = [self._origins_of([each for each in links if each.kind != "value"], arrays)]
        if source._decided:
            decided.append(Later(composed, relation, source._decided, "selection"))
        if any(each != {} for each in decided):
            made._decided = Later(united_all, *decided)
        return made

    def _origins_of(self, links: Sequence[NumberedLink], arrays: Sequence[Any]) -> Origins | Later:
        self._run.selects |= any(link.kind != "value" for link in links)
        parts = [
            Later(composed, link.relation, arrays[link.array]._origins(), link.kind)
            for link in links
            if link.kind == "value" or self._run.selection
        ]
        return Later(united_all, *parts) if len(parts) > 1 else parts[0] if parts else {}

    # --- indexing

    @refusing
    def __getitem__(self, key: Any) -> Any:
        plain, index, chosen_by, picked = self._key(key)
        made = self._picked(plain, index, chosen_by, picked)
        if not self._run.selection:
            return made
        aligned = self._sized is None or counts_from_start(key)
        return sized_by(self._run, [self, *chosen_by], made, chosen_by, aligned=aligned)

    def _picked(self, plain: Any, index: Index, chosen_by: list[Traced], picked: Any) -> Traced:
        """Return the cells that an index selects."""
        value = self.value
        whole = np.asarray(value[plain] if picked is None else picked)
        relation = index.relation
        if relation is None and not self._run.at_once and value.size >= LARGE and not self._run.selection:
            return self._new(whole, Later(picked_from, value.shape, copied(plain), whole.shape, self._origins()))
        relation = rules.indexed(value.shape, plain) if relation is None else relation
        if relation.out_shape != whole.shape:
            raise NoRule(f"a rule gives the shape {relation.out_shape} where NumPy has {whole.shape}")
        if chosen_by and self._run.selection:
            shape = whole.shape
            decided = [
                Later(composed, rules.deciding(plain, shape, each.value), each._origins(), "selection")
                for each in chosen_by
            ]
            if whole.base is not None and root(whole) is root(value):  # writing to the view writes to this array
                made = self._shown(whole, self, relation)
                made._decided = Later(united_all, made._decided, *decided)
                return made
            return self._new(whole, Later(united_all, Later(composed, relation, self._origins()), *decided))
        if whole.base is not None and root(whole) is root(value):
            return self._shown(whole, self, relation)
        return self._new(whole, Later(composed, relation, self._origins()))

    @refusing
    def __setitem__(self, key: Any, value: Any) -> None:
        value = value.value if type(value) is Finished else value
        traced = type(value) is Traced
        if traced and value._buffer is self._buffer and value.value.shape and from_compiled_code():
            raise NoRule(
                "compiled code moves rows of a traced array, and may do so differently from a plain one "
                "(rng.shuffle): write x = x[rng.permutation(len(x))]"
            )
        plain, index, chosen_by, _ = self._key(key)
        given = value.value if traced else np.asarray(value)
        target: Relation | Later
        if index.relation is not None:
            shape = index.relation.out_shape
            into = trimmed(given.shape, shape)
            target = Later(assigned, index.relation, into)
        else:  # indices may contain a cell twice: NumPy decides which value stays
            sources = np.full(self.value.shape, -1, np.int64)
            sources[plain] = np.arange(given.size, dtype=np.int64).reshape(given.shape)
            into = given.shape
            target = moved(sources, into)
        origins: Origins | Later = {}
        if traced:
            Spelled(self._run).check(value)
            origins = value._origins()
            if into != given.shape:
                origins = Later(composed, Later(reshaped, given.shape, into), origins)
        self._run.before_writing(self)
        self.value[plain] = given if traced else value  # if it is wrong, NumPy's error is about the value as it is
        self._run.tape.add(("=", value._number_in_run if traced else 0, given.ndim), (), given.shape)
        self._write(target, origins)
        if self._run.selection:
            for each in chosen_by:
                relation = rules.deciding_writes(plain, self.value.shape, given.shape, each.value)
                decided = Later(added_in, self._view, relation, each._origins(), "selection")
                self._buffer.origins = Later(united_all, self._buffer.origins, decided)

    def _key(self, key: Any) -> tuple[Any, Index, list[Traced], Any]:
        """Return the index with plain arrays, what is known of it, its traced arrays, and the cells it selects if it
        has no arrays.

        The index is added to the tape.
        """
        spelled, tape = Spelled(self._run), self._run.tape
        chosen_by: list[Traced] = []
        said: list[Any] = []
        plain = []
        for part in key if type(key) is tuple else (key,):
            if type(part) is Traced:
                chosen_by.append(part)
                self._run.selects = True
                said.append(part._number_in_run)
                tape.values |= bool(part.value.shape) and part.from_inputs
                spelled.check(part)
                part = part.value if part.value.shape else as_number(part.value[()])
            elif type(part) is list:
                part = np.asarray(part) if part else np.zeros(0, np.intp)
            elif type(part) is slice:
                part = slice(*map(as_bound, (part.start, part.stop, part.step)))
                if part.step is not None:
                    tape.divisors.add(abs(part.step))
            elif isinstance(part, str):
                raise NoRule("the fields of a structured array are not followed")
            plain.append(spelled.spell(part))
            if type(part) in PLAIN_ARRAYS:
                said.append(content(part))
        tape.complete &= spelled.complete
        whole = tuple(plain) if type(key) is tuple else plain[0]
        picked = self.value[whole] if not spelled.arrays else None  # raises NumPy's own error if it is out of bounds
        index = indexed(self.value.shape, whole, spelled)
        tape.add((index.text, self._number_in_run, said), index.given)
        return whole, index, chosen_by, picked
