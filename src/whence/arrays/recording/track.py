"""Functions whose calls are recorded: `log.track`, and `log.capture` for code that is not a function."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import threading
import warnings
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Literal, Protocol

import numpy as np

from whence.arrays.adapters.labelled import is_labelled
from whence.arrays.recording.calls import Captured, Edge, ReuseLookup, captured
from whence.arrays.recording.files_read import files_read
from whence.arrays.recording.handing import handed_over, with_files, with_met, with_opaque
from whence.arrays.recording.said import THROUGH_TEXT
from whence.arrays.recording.structures import Array, Function, arrays_in, parameters_of
from whence.arrays.recording.unknown import WAYS, Unknown
from whence.arrays.tracing import Run, Traced
from whence.arrays.tracing._code import code_reads_text
from whence.arrays.tracing._origins import union
from whence.errors import BadType

Lineage = Literal["value", "value+selection"]
Reuse = bool | Literal["verify"]
Extremes = Literal["all", "winner"]


class LineageLost(UserWarning):
    """Numbers were taken out of arrays; what was computed from them has no lineage."""


class Learned(ReuseLookup, Protocol):
    """Lineage learned from earlier calls; see whence.arrays.reuse."""

    def learn(self, found: Captured) -> None: ...
    def verify(self, found: Captured) -> bool: ...


class Recorder(Protocol):
    """Where calls are recorded: the log."""

    def ready(self) -> None: ...
    def arrived(self, values: Iterable[Any]) -> Any: ...
    def number(self, value: Any, *, outside: bool = False) -> Any: ...
    def suspects(self, number: Any) -> bool: ...
    def watched(self, *, hand_overs: bool = False) -> Any: ...
    @property
    def address(self) -> tuple[Function, tuple[Any, ...]]: ...
    def record(
        self, call: str, found: Captured, names: Mapping[str, str], scalars: dict[str, Any], reused: bool,
        handed: Any = None,
    ) -> Any: ...  # fmt: skip
    def learned(self, name: str) -> Learned: ...


class Tracked:
    """A function whose calls are recorded, with the lineage of their results.

    `last` describes the latest recorded call.
    """

    def __init__(
        self,
        recorder: Recorder,
        function: Function,
        name: str,
        names: Mapping[str, str],
        lineage: Lineage,
        reuse: Reuse,
        extremes: Extremes,
        unknown: Unknown,
    ) -> None:
        functools.update_wrapper(self, function)
        self.function = function
        self.name = name
        self._recorder = recorder
        self._names = names
        self._selection = lineage == "value+selection"
        self._winner = extremes == "winner"
        self._reuse = reuse
        self._unknown = unknown
        self._options = {"name": name, "names": dict(names), "lineage": lineage, "reuse": reuse, "extremes": extremes}
        self._options["unknown"] = unknown
        self._inner, self._bound, self._keywords = _unwrapped(function)
        self._parameters = parameters_of(self._inner)
        self._defaults = _arrays_by_default(self._inner)
        self._last = threading.local()

    @property
    def last(self) -> Any:
        """The record of the latest call in this thread: the names of its inputs and outputs."""
        return getattr(self._last, "record", None)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if _inside(args, kwargs):  # part of a larger tracked call, which traces this one as well
            return self.function(*args, **kwargs)
        self._recorder.ready()
        args, kwargs = (*self._bound, *args), {**self._keywords, **kwargs}
        given = self._parameters[: len(args)]
        kwargs.update((k, each) for k, each in self._defaults.items() if k not in kwargs and k not in given)
        own = handed_over(self._recorder, self._inner, self._parameters, args, kwargs)
        learned = self._recorder.learned(self.name) if self._reuse else None
        with files_read() as opened:
            found = captured(
                self._inner, own.args, own.kwargs, self._parameters, self.name, selection=self._selection,
                winner=self._winner, memory=learned if self._reuse is True else None, unknown=self._unknown,
            )  # fmt: skip
        if not found.outputs and found.result is not None:
            warnings.warn(
                f"{self.name} returned no array, so there is no lineage to record",
                LineageLost,
                stacklevel=2,
            )
            return found.result
        if found.guessed:
            warnings.warn(
                f"{self.name} is recorded as if each result came from every cell, because it is not followed: "
                f"{found.guessed}. log.track(..., unknown=...) chooses what else to do",
                LineageLost,
                stacklevel=2,
            )
        # For single numbers, the lineage is known, or a note says why not.
        if found.notes and any(np.ndim(each.value) for each in found.outputs):
            _warn_of_casts(self.name, found.notes, stacklevel=3)
        if learned is not None and not found.reused:
            if self._reuse is True:
                learned.learn(found)
            else:
                learned.verify(found)
        if found.met:
            own = with_met(self._recorder, own, found.met)
        scalars = _scalars(self._parameters, own.args, own.kwargs)
        self._last.record = self._recorder.record(
            self.name,
            with_opaque(with_files(found, opened), own.opaque, own.closed),
            self._names,
            scalars,
            found.reused,
            own.handed,
        )
        return found.result

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle by name, or as what is needed to create it again, with the log opened in the other process."""
        from whence.arrays.recording.pickling import reduced

        return reduced(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __repr__(self) -> str:
        return f"<tracked {self.name}>"


def track(
    recorder: Recorder,
    function: Function | None = None,
    *,
    name: str | None = None,
    names: Mapping[str, str] | None = None,
    lineage: Lineage = "value",
    reuse: Reuse = True,
    extremes: Extremes = "all",
    unknown: Unknown = "whole",
) -> Any:
    """Return the tracked function, or a decorator that tracks."""
    if unknown not in WAYS:
        raise BadType(f"unknown is one of {', '.join(map(repr, WAYS))}, not {unknown!r}")
    _check(lineage, extremes)
    if reuse not in (True, False, "verify"):
        raise BadType(f"reuse is True, False or 'verify', not {reuse!r}")
    if names is not None and not isinstance(names, Mapping):
        raise BadType(f"names maps parameters to names, such as {{'x': 'image', 'return': 'edges'}}, not {names!r}")
    if name is not None and not isinstance(name, str):
        raise BadType(f"a name is a string, not {type(name).__name__}: {name!r}")
    if function is None:
        options: dict[str, Any] = {"name": name, "names": names, "lineage": lineage, "reuse": reuse}
        return lambda each: track(recorder, each, extremes=extremes, unknown=unknown, **options)
    if not callable(function):
        raise BadType(f"log.track takes a function of arrays, not {type(function).__name__}")
    if inspect.iscoroutinefunction(function):
        raise BadType(f"{function.__name__} is a coroutine: track an ordinary function that it calls")
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadType(f"{function.__name__} yields its results one by one: track a function that returns arrays")
    own = name or getattr(function, "__name__", None) or type(function).__name__
    _check_names(function, own, names or {})
    return Tracked(recorder, function, own, dict(names or {}), lineage, reuse, extremes, unknown)


def _check_names(function: Function, own: str, names: Mapping[str, str]) -> None:
    """Raise BadType if `names` has a key that no input or output of the function can have."""
    inner = _unwrapped(function)[0]
    try:
        parameters = inspect.signature(inner).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return
    if any(each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD) for each in parameters.values()):
        return
    code = getattr(inner, "__code__", None)
    outside = (*code.co_names, *code.co_freevars) if code else ()  # arrays that it reads, but does not take
    known = {*parameters, "return", own, *outside}
    for each in names:
        if re.split(r"[.\[]", str(each), maxsplit=1)[0] not in known:
            some = ", ".join(map(repr, (*parameters, "return")))
            raise BadType(f"names: {own} has no {each!r}; names maps {some} to the names of datasets")


def _unwrapped(function: Function) -> tuple[Function, tuple[Any, ...], dict[str, Any]]:
    """Return the function inside `functools.partial`, and the arguments that were bound there."""
    if not isinstance(function, functools.partial):
        return function, (), {}
    inner, args, keywords = _unwrapped(function.func)
    return inner, (*args, *function.args), {**keywords, **function.keywords}


def _arrays_by_default(function: Function) -> dict[str, Any]:
    """Return the parameters whose defaults are arrays."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):  # some builtins have no signature
        return {}
    return {
        name: each.default
        for name, each in parameters.items()
        if isinstance(each.default, np.ndarray) and each.kind is not each.POSITIONAL_ONLY
    }


def _check(lineage: object, extremes: object) -> None:
    if extremes not in ("all", "winner"):
        raise BadType(f"extremes is 'all' or 'winner', not {extremes!r}")
    if lineage not in ("value", "value+selection"):
        raise BadType(f"lineage is 'value' or 'value+selection', not {lineage!r}")


def _warn_of_casts(name: str, notes: Mapping[str, int], stacklevel: int) -> None:
    if lost := notes.get("casts"):
        warnings.warn(
            f"{name} took {lost} value{'s' * (lost > 1)} out of arrays as plain numbers: "
            "what was computed from them has no lineage",
            LineageLost,
            stacklevel=stacklevel,
        )


class Capture:
    """A block of code whose arrays are traced: `read` inputs, compute, `write` results. It is recorded at the end.

    After an exception, nothing is recorded.
    """

    def __init__(self, recorder: Recorder, name: str, lineage: Lineage = "value", extremes: Extremes = "all") -> None:
        _check(lineage, extremes)
        self.name = name
        self.record: Any = None
        self._recorder = recorder
        self._run = Run(selection=lineage == "value+selection", winner=extremes == "winner")
        self._inputs: list[Array] = []
        self._handed: list[Any] = []
        self._outputs: list[tuple[str, Traced]] = []
        self._open = False
        self._files: Any = None

    def __enter__(self) -> Capture:
        self._recorder.ready()
        self._files = self._recorder.watched(hand_overs=True)
        self._open = True
        return self

    def read(self, name: str, array: Any) -> Any:
        """Return a traced array for the input `name`."""
        self._must_be_open()
        given = array if isinstance(array, np.ndarray) else np.asarray(array)
        traced = self._run.input(given, repr(name))
        self._handed.append(self._recorder.arrived([given]))
        self._inputs.append(Array(name, given))
        return traced

    def write(self, name: str, array: Any) -> Any:
        """Record a result as `name`, and return it as a plain array."""
        self._must_be_open()
        if not isinstance(array, Traced):
            raise BadType(f"{name!r} was not computed from an array of capture.read, so it has no lineage here")
        if array._run is not self._run:
            raise BadType(f"{name!r} belongs to another capture: read it here first")
        self._outputs.append((name, array))
        return array.value

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._open = False
        self._files.stop()
        try:
            if error is None and self._outputs:
                self._record(code_reads_text(sys._getframe(1).f_code))
        finally:
            self._run.finish()

    def _record(self, reads_text: bool) -> None:
        run = self._run
        edges = tuple(
            Edge(at, number, edge_kind, relation)
            for at, (_, array) in enumerate(self._outputs)
            for origins in (array.origins(), run.decisions(array.value.shape) if run.selection else {})
            for (number, edge_kind), relations in origins.items()
            for relation in union(relations)
        )
        doubt = THROUGH_TEXT if run.texts and (run.selection or reads_text) else ""
        outputs = tuple(Array(name, array.value) for name, array in self._outputs)
        notes = self._run.notes
        _warn_of_casts(self.name, notes, stacklevel=4)
        found = Captured(None, tuple(self._inputs), outputs, edges, notes=notes, said=(doubt,) * len(outputs))
        names = {each.label: each.label for each in (*self._inputs, *outputs)}
        arrived = tuple(own for every, _ in self._handed for own in every)
        handed = (arrived, self._handed[0][1]) if self._handed else None
        self.record = self._recorder.record(self.name, found, names, {}, False, handed)

    def _must_be_open(self) -> None:
        if not self._open:
            raise BadType("use a capture within its block: with log.capture() as capture: ...")


def _inside(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return any(
        isinstance(item, Traced)
        or (_holds_others(item) and any(isinstance(each.value, Traced) for each in _held(item)))
        for item in (*args, *kwargs.values())
    )


def _holds_others(item: Any) -> bool:
    return isinstance(item, (list, tuple, dict)) or is_labelled(item)


def _held(item: Any) -> Iterable[Array]:
    return arrays_in(("a",), (item,), {})


def _scalars(names: tuple[str, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments, by parameter, that neither are arrays nor contain any."""
    found: dict[str, Any] = {}
    for position, item in enumerate(args):
        found[names[position] if position < len(names) else f"argument {position}"] = item
    found.update(kwargs)
    return {key: item for key, item in found.items() if not isinstance(item, np.ndarray) and not _any_held(item)}


def _any_held(item: Any) -> bool:
    return _holds_others(item) and any(True for _ in _held(item))


__all__ = ["Capture", "Learned", "LineageLost", "Recorder", "Tracked", "track"]
