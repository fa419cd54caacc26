"""Programs of tracked calls with plain NumPy in between: every answer against sets of cells that follow each step.

Between the calls arrays are changed in place, globals, helpers and attributes change, functions are defined anew under
their old names, earlier calls are run again, and the log is closed and opened.

Beside each array lies an array of sets: the cells of the program's first arrays that went into each cell. Views are
taken of both, writes done to both. A dataset at which lineage ends stands for the sets that it had when it was
recorded: the sets behind an answer must be the sets of the cells that were asked for, wherever it ends.
"""

from __future__ import annotations

import functools
import itertools
import os
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import as_strided, sliding_window_view
from scipy import ndimage

import whence as wh
from whence.arrays.linking.layout import Layout
from whence.arrays.linking.living import root_of

NOTHING: frozenset[Any] = frozenset()
EXAMPLES = int(os.environ.get("WHENCE_EXAMPLES", "30"))


class World:
    """What functions read besides their arguments, and what changes between their calls."""

    shift: int
    limit: float
    order: dict[str, bool]
    weights: Any
    helper: Any


WORLD = World()


def _same(a: Any) -> Any:
    return a * 1.5


def _turned(a: Any) -> Any:
    return a[::-1] + 1


def _running(a: Any) -> Any:
    return np.cumsum(a, axis=0)


def _next(a: Any) -> Any:
    out = np.zeros_like(a)
    for i in range(len(a)):
        out[i] = a[(i + WORLD.shift) % len(a)]
    return out


HELPERS: dict[Any, Callable[[Any], Any]] = {
    _same: lambda sets: each(sets),
    _turned: lambda sets: each(sets[::-1]),
    _running: lambda sets: accumulated(sets),
    _next: lambda sets: np.roll(each(sets), -WORLD.shift, axis=0),
}
"""What a function may be defined as, and what it does to sets."""


def accumulated(sets: Any) -> Any:
    out = each(sets)
    for i in range(1, len(out)):
        out[i] = each(out[i - 1], out[i]) if out.ndim > 1 else out[i - 1] | out[i]
    return out


def windowed(sets: Any) -> Any:
    """Three neighbours, fewer at the ends."""
    before, after = np.concatenate([sets[:1], sets[:-1]]), np.concatenate([sets[1:], sets[-1:]])
    return each(before, sets, after)


def _rolled(a: Any) -> Any:
    return np.roll(a, WORLD.shift, axis=0)


def _decided(a: Any) -> Any:
    if a.sum() > WORLD.limit:
        return a[::-1] * 2
    return a - 1


def _in_order(a: Any) -> Any:
    return (a.T if WORLD.order["turned"] else a) + 0.5


def _helped(a: Any) -> Any:
    return WORLD.helper(a) * 2


def _weighed(a: Any) -> Any:
    return a * WORLD.weights.sum()


def _blurred(a: Any) -> Any:
    return ndimage.uniform_filter1d(a, 3, axis=0, mode="nearest")


@dataclass
class Both:
    """An array, and the sets of its cells; both of the same layout."""

    x: Any
    sets: Any


def sets_like(x: Any, fill: Callable[[Any], Any]) -> Any:
    """Sets in an array that lies in memory as the other does."""
    root = root_of(x)
    made = np.empty(root.shape, object, order="F" if root.flags.fnc else "C")
    for index in np.ndindex(*root.shape):
        made[index] = fill(index)
    return made


def united(sets: Any, axis: int | None = None) -> Any:
    if axis is None:
        return frozenset().union(*sets.ravel())
    moved = np.moveaxis(sets, axis, 0)
    out = np.empty(moved.shape[1:], object)
    for index in np.ndindex(*out.shape):
        out[index] = frozenset().union(*(moved[(k, *index)] for k in range(len(moved))))
    return out


def each(*sets: Any) -> Any:
    spread = np.broadcast_arrays(*sets)
    out = np.empty(spread[0].shape, object)
    for index in np.ndindex(*out.shape):
        out[index] = frozenset().union(*(one[index] for one in spread))
    return out


class Program:
    """A program that is made up step by step."""

    def __init__(self, path: Path, data: st.DataObject) -> None:
        self.path, self.log, self.data = path, wh.open(path), data
        self.rng = np.random.default_rng(data.draw(st.integers(0, 999)))
        self.arrays: list[Both] = []
        self.numbers: list[tuple[Any, frozenset[Any]]] = []
        self.recorded: dict[str, Any] = {}  # sets of datasets when they were recorded
        self.memories: dict[int, tuple[Any, Any]] = {}  # arrays that own memory, and their sets
        self.first = itertools.count()
        self.calls = 0
        self.again: list[Callable[[], None]] = []  # calls that may be run once more
        WORLD.shift, WORLD.limit, WORLD.order = 1, 2.0, {"turned": False}
        WORLD.helper, self.step_as = _same, _same
        self.track()
        self.weights()

    def track(self) -> None:
        """Define all functions, in the log as it is open now."""
        track = self.log.track
        self.double = track(lambda a: a * 2, name="double")
        self.add = track(lambda a, b: a + b, name="add")
        self.down = track(lambda a: a.sum(axis=0), name="down")
        self.total = track(lambda a: a.mean(), name="total")
        self.number = track(lambda a: float(a.max()), name="number")
        self.scale = track(lambda a, by: a * by, name="scale")
        self.pair = track(lambda a: {"up": a[::-1], "rest": (a + 1, 3.0, None)}, name="pair")
        self.windows = track(lambda a: sliding_window_view(a, 2, axis=0).std(axis=-1), name="windows")
        self.write = track(_write, name="write")
        self.named = track(lambda a: a + 1, name="named", names={"return": "B"})

        self.rolled = track(_rolled, name="rolled")
        self.decided = track(_decided, name="decided")
        self.in_order = track(_in_order, name="in_order")
        self.helped = track(_helped, name="helped")
        self.weighed = track(_weighed, name="weighed")
        self.blurred = track(_blurred, name="blurred")
        self.step = track(self.step_as, name="step", names={"return": "S"})

    def weights(self) -> None:
        """Another array among the globals."""
        number = next(self.first)
        WORLD.weights = self.held(self.rng.random(3), lambda index: frozenset([(number, *index)])).x
        self.arrays.pop()

    def change(self) -> None:
        """Something else than the arrays of the program changes."""
        match self.data.draw(st.sampled_from(["shift", "limit", "order", "helper", "step", "weights", "within",
                                              "reopen"])):  # fmt: skip
            case "shift":
                WORLD.shift = self.data.draw(st.integers(0, 3))
            case "limit":
                WORLD.limit = self.data.draw(st.sampled_from([-10.0, 2.0, 5.0, 50.0]))
            case "order":
                WORLD.order["turned"] = not WORLD.order["turned"]
            case "helper":
                WORLD.helper = self.data.draw(st.sampled_from([*HELPERS]))
            case "step":
                self.step_as = self.data.draw(st.sampled_from([*HELPERS]))
                self.step = self.log.track(self.step_as, name="step", names={"return": "S"})
            case "weights":
                self.weights()
            case "within":
                number = next(self.first)
                WORLD.weights[0] = self.rng.random()
                self.sets_at(WORLD.weights)[0] = frozenset([(number, 0)])
            case "reopen":
                self.log.close()
                self.log = wh.open(self.path)
                self.track()

    def beside(self) -> None:
        """A call of a function that reads the world."""
        one = self.some()
        x = one.x
        if not x.ndim or not x.shape[0]:
            return
        kinds = ["rolled", "decided", "in_order", "helped", "weighed", "step", "blurred"]
        kind = self.data.draw(st.sampled_from(kinds))
        self.again.append(functools.partial(self.run, kind, one))
        self.run(kind, one)

    def run(self, kind: str, one: Both) -> None:
        x, sets = one.x, one.sets
        if kind == "rolled":
            expected = np.roll(each(sets), WORLD.shift, axis=0)
        elif kind == "decided":
            expected = each(sets[::-1] if x.sum() > WORLD.limit else sets)
        elif kind == "in_order":
            expected = each(sets.T if WORLD.order["turned"] else sets)
        elif kind == "helped":
            expected = HELPERS[WORLD.helper](sets)
        elif kind == "step":
            expected = HELPERS[self.step_as](sets)
        elif kind == "blurred":
            expected = windowed(sets)
        else:
            expected = each(sets, _zero_d(united(self.sets_at(WORLD.weights))))
        function = getattr(self, kind)
        self.gave(function, function(x), expected)
        if kind == "step":
            self.check("S", expected)  # of the latest definition and run

    # --- arrays

    def new(self, shape: tuple[int, ...]) -> Both:
        number = next(self.first)
        x = self.rng.random(shape)
        if self.data.draw(st.integers(0, 9)) == 0:
            x = np.zeros(shape)  # nothing may follow from content such as this
        return self.held(x, lambda index: frozenset([(number, *index)]))

    def held(self, x: Any, fill: Callable[[Any], Any]) -> Both:
        """An array that owns its memory."""
        made = Both(x, sets_like(x, fill))
        self.memories[id(x)] = (x, made.sets)
        self.arrays.append(made)
        return made

    def fresh(self, x: Any, sets: Any) -> Both:
        """The result of a call or of plain code, in memory of its own or not."""
        root = root_of(x)
        if id(root) not in self.memories:
            self.memories[id(root)] = (root, sets_like(root, lambda _: NOTHING))
            self.sets_at(x)[...] = sets
        made = Both(x, self.sets_at(x))
        self.arrays.append(made)
        return made

    def sets_at(self, x: Any) -> Any:
        """The sets of whatever lies where an array lies."""
        return self.sets_in(root_of(x), Layout.of(x))

    def sets_in(self, owner: Any, layout: Layout) -> Any:
        root, sets = self.memories[id(owner)]
        start = (layout.address - root.__array_interface__["data"][0]) // root.itemsize
        flat = sets.reshape(-1, order="A")
        steps = [step // root.itemsize * sets.itemsize for step in layout.strides]
        return as_strided(flat[start:] if 0 not in layout.shape else flat, layout.shape, steps)

    def some(self) -> Both:
        return self.data.draw(st.sampled_from(self.arrays))

    # --- steps

    def plain(self) -> None:
        one = self.some()
        x, sets = one.x, one.sets
        match self.data.draw(st.sampled_from(["slice", "turn", "flat", "flip", "all", "copy", "cast", "join", "stack",
                                              "constant", "twice", "move", "compute", "new"])):  # fmt: skip
            case "slice" if x.ndim and x.shape[0] > 1:
                key = slice(self.data.draw(st.integers(0, 1)), None, self.data.draw(st.sampled_from([1, 2])))
                self.arrays.append(Both(x[key], sets[key]))
            case "turn":
                self.arrays.append(Both(x.T, sets.T))
            case "flip" if x.ndim:
                self.arrays.append(Both(x[::-1], sets[::-1]))
            case "all" if x.ndim:
                self.arrays.append(Both(x[:], sets[:]))
            case "flat" if x.flags.c_contiguous:
                self.arrays.append(Both(x.reshape(-1), self.sets_at(x.reshape(-1))))
            case "copy":
                self.fresh(x.copy(), sets)
            case "cast":
                self.fresh(x.astype(np.float32), sets)
            case "join":
                other = self.some()
                if x.ndim and other.x.dtype == x.dtype and other.x.shape[1:] == x.shape[1:] and other.x.ndim == x.ndim:
                    self.fresh(np.concatenate([x, other.x]), np.concatenate([sets, other.sets]))
            case "stack":
                self.fresh(np.stack([x, x * 3]), np.stack([sets, sets]))
            case "constant" if x.size:
                place = tuple(0 for _ in x.shape)
                x[place], sets[place] = 7.5, NOTHING
            case "twice":
                x *= 2
            case "move" if x.ndim and x.shape[0] > 1 and not np.array_equal(x[0], x[1]):  # which nothing would tell
                x[0], sets[0] = x[1].copy(), sets[1].copy()
            case "compute":
                self.fresh(np.sqrt(np.abs(x)) + 1, sets)
            case "new":
                self.new(self.data.draw(st.sampled_from([(3, 4), (4, 3), (5,), (4,)])))

    def call(self) -> None:
        one = self.some()
        x, sets = one.x, one.sets
        kind = self.data.draw(st.sampled_from(["double", "add", "down", "total", "number", "scale", "pair", "windows",
                                               "write", "named"]))  # fmt: skip
        before = each(sets)
        if kind == "double":
            self.gave(self.double, self.double(x), before)
        elif kind == "named":
            self.gave(self.named, self.named(x), before)
            self.check("B", before)  # the latest version
        elif kind == "add":
            other = self.some()
            if other.x.shape == x.shape:
                self.gave(self.add, self.add(x, other.x), each(sets, other.sets))
        elif kind == "down" and x.ndim and x.shape[0]:
            self.gave(self.down, self.down(x), united(sets, 0))
        elif kind in ("total", "number") and x.size:
            function = self.total if kind == "total" else self.number
            self.gave(function, function(x), united(sets))
        elif kind == "scale" and self.numbers:
            by, own = self.data.draw(st.sampled_from(self.numbers))
            result = self.scale(x, by)
            self.recorded.setdefault(self.scale.last.inputs[1], _zero_d(own))  # where the log was opened again since
            self.gave(self.scale, result, each(sets, _zero_d(own)))
        elif kind == "pair" and x.ndim:
            found = self.pair(x)
            self.note(self.pair)
            self.check(self.pair.last.outputs[0], each(sets[::-1]))
            self.check(self.pair.last.outputs[1], before)
            self.fresh(found["up"], before[::-1])
            self.fresh(found["rest"][0], before)
            self.note(self.pair)
        elif kind == "windows" and x.ndim and x.shape[0] > 1 and x.dtype == np.float64:
            self.gave(self.windows, self.windows(x), each(sets[:-1], sets[1:]))
        elif kind == "write" and x.ndim and x.shape[0] > 1:
            after = each(sets)
            after[:1] = sets[1:2]
            result = self.write(x)
            self.recorded.setdefault(self.write.last.inputs[0], before)
            sets[...] = after
            self.gave(self.write, result, united(after))
            self.check(self.write.last.outputs[1], after)

    def gave(self, function: Any, result: Any, sets: Any) -> None:
        self.note(function)
        name = function.last.outputs[0]
        self.check(name, sets if np.ndim(result) else _zero_d(sets))
        if np.ndim(result):
            self.fresh(result, sets)
        else:
            self.numbers.append((result, sets if isinstance(sets, frozenset) else sets[()]))
        self.note(function)

    def note(self, function: Any) -> None:
        """Remember the sets of the datasets that were recorded just now: nobody changed their memory yet."""
        living = self.log._store.tracker.links.living
        for _, owned in living._owned.values():
            for seen in (*owned.wide, *owned.exact.values()):
                if seen.name not in self.recorded and id(seen.owner()) in self.memories:
                    self.recorded[seen.name] = each(self.sets_in(seen.owner(), seen.layout))

    def name_of(self, source: str) -> str:
        return source if source in self.recorded else source.removesuffix("@v1")

    def check(self, name: str, expected: Any) -> None:
        self.calls += 1
        for index in itertools.islice(np.ndindex(*expected.shape), 6):
            answer = self.log.backward(name, [index])
            found: set[Any] = set()
            lost = [each for each in answer if self.name_of(each) not in self.recorded]
            for each in lost:  # an array that was changed, and written at once by a call that took a part of it
                assert any(note.startswith(f"{each!r} is what") for note in answer.notes)
            if lost:
                continue
            for source, cells in answer.items():
                own = self.recorded[self.name_of(source)]
                for cell in cells.cells().tolist():
                    found |= own[tuple(cell)]
            assert found == expected[index], (name, index, dict(answer), answer.notes)


def _zero_d(own: Any) -> Any:
    made = np.empty((), object)
    made[()] = own if isinstance(own, frozenset) else own[()]
    return made


def _write(a: Any) -> Any:
    a[0] = a[1] * 3
    return a.sum()


@settings(max_examples=EXAMPLES, deadline=None)
@given(st.data())
def test_programs(data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as directory, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        program = Program(Path(directory, "log"), data)
        program.new((4, 3))
        for _ in range(data.draw(st.integers(2, 9))):
            match data.draw(st.sampled_from(["plain", "call", "call", "beside", "beside", "change", "again"])):
                case "plain":
                    program.plain()
                case "call":
                    program.call()
                case "beside":
                    program.beside()
                case "change":
                    program.change()
                case "again" if program.again:
                    data.draw(st.sampled_from(program.again))()
        assert program.log.check().ok
        program.log.close()
