"""Functions that read objects and classes, containers and iterators."""

from __future__ import annotations

import functools
import itertools
from collections import ChainMap, defaultdict, deque
from typing import Any

import numpy as np

from whence.testing.hostile._case import Case, Cases, Thing, nothing

CASES = case = Cases()


@case
def bound_method() -> Case:
    thing = Thing()
    return thing.roll, lambda: setattr(thing, "k", thing.k + 1)


@case
def callable_object() -> Case:
    thing = Thing()
    return thing, lambda: setattr(thing, "k", thing.k + 1)


@case
def part_of_an_object() -> Case:
    thing: Any = Thing()
    thing.inner = Thing()
    return (lambda x: thing.inner.roll(x)), lambda: setattr(thing.inner, "k", thing.inner.k + 1)


@case
def attribute_of_a_class() -> Case:
    class Options:
        k = 1

    return (lambda x: np.roll(x, Options.k)), lambda: setattr(Options, "k", Options.k + 1)


@case
def attribute_of_a_parent() -> Case:
    class Parent:
        k = 1

    class Child(Parent):
        pass

    return (lambda x: np.roll(x, Child().k)), lambda: setattr(Parent, "k", Parent.k + 1)


@case
def attribute_of_a_metaclass() -> Case:
    class Kind(type):
        k = 1

    class Options(metaclass=Kind):
        pass

    return (lambda x: np.roll(x, Options.k)), lambda: setattr(Kind, "k", Kind.k + 1)


@case
def method_replaced() -> Case:
    class Mover:
        def move(self, x: Any) -> Any:
            return x[::-1] * 1

    mover = Mover()
    return (lambda x: mover.move(x)), lambda: setattr(Mover, "move", lambda _, x: x * 1)


@case
def class_of_an_object() -> Case:
    class Forth:
        def move(self, x: Any) -> Any:
            return x * 1

    class Back(Forth):
        def move(self, x: Any) -> Any:
            return x[::-1] * 1

    mover = Forth()
    return (lambda x: mover.move(x)), lambda: setattr(mover, "__class__", Back)


@case
def refitted() -> Case:
    class Sorter:
        def fit(self, x: Any) -> None:
            self.order = np.argsort(x)

        def transform(self, x: Any) -> Any:
            return x[self.order]

    sorter = Sorter()
    sorter.fit(np.arange(4.0))
    return sorter.transform, lambda: sorter.fit(-np.arange(4.0))


@case
def properties() -> Case:
    class Options:
        _k = 1

        @property
        def k(self) -> int:
            return self._k

    options = Options()
    return (lambda x: np.roll(x, options.k)), lambda: setattr(options, "_k", options.k + 1)


@case
def slots() -> Case:
    class Options:
        __slots__ = ("k",)

        def __init__(self) -> None:
            self.k = 1

    options = Options()
    return (lambda x: np.roll(x, options.k)), lambda: setattr(options, "k", options.k + 1)


@case
def made_up_attributes() -> Case:
    state = [1]

    class Options:
        def __getattr__(self, name: str) -> int:
            return len(state)

    return (lambda x: np.roll(x, Options().anything)), lambda: state.append(1)


@case
def descriptor() -> Case:
    state = [1]

    class Counted:
        def __get__(self, *_: Any) -> int:
            return len(state)

    class Options:
        k = Counted()

    return (lambda x: np.roll(x, Options.k)), lambda: state.append(1)


@case
def static_method() -> Case:
    class Moves:
        @staticmethod
        def move(x: Any) -> Any:
            return np.roll(x, 1)

    return (lambda x: Moves.move(x)), lambda: setattr(Moves, "move", staticmethod(lambda x: np.roll(x, 3)))


# --- functools, containers, iterators


@case
def partial_of_a_list() -> Case:
    steps = [1]
    return functools.partial(lambda steps, x: np.roll(x, steps[-1]), steps), lambda: steps.append(2)


@case
def under_wraps() -> Case:
    state = {"k": 1}

    def shifting(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any) -> Any:
            return np.roll(function(*args), state["k"])

        return wrapper

    return shifting(lambda x: x * 1), lambda: state.update(k=state["k"] + 1)


@case
def cached_helper() -> Case:
    state = [1]

    @functools.lru_cache
    def shift(n: int) -> int:
        return state[-1]

    def change() -> None:
        state.append(3)
        shift.cache_clear()

    return (lambda x: np.roll(x, shift(len(x)))), change


@case
def dispatched() -> Case:
    @functools.singledispatch
    def move(how: Any, x: Any) -> Any:
        return x * 1

    return (lambda x: move("back", x)), lambda: move.register(str, lambda _, x: x[::-1] * 1)


@case
def iterator() -> Case:
    steps = iter(range(1000))
    return (lambda x: np.roll(x, next(steps) % 5)), nothing


@case
def cycle() -> Case:
    steps = itertools.cycle([1, 2, 0, 3])
    return (lambda x: np.roll(x, next(steps))), nothing


@case
def generator() -> Case:
    def stepping() -> Any:
        k = 0
        while True:
            k = (k + 2) % 7
            yield k

    steps = stepping()
    return (lambda x: np.roll(x, next(steps))), nothing


@case
def queue() -> Case:
    steps = deque([1, 2, 3])

    def f(x: Any) -> Any:
        steps.rotate(1)
        return np.roll(x, steps[0])

    return f, nothing


@case
def order_of_a_dict() -> Case:
    steps = {"a": 1, "b": 2}
    return (lambda x: np.roll(x, next(iter(steps.values())))), lambda: steps.update(a=steps.pop("a"))


@case
def members_of_a_set() -> Case:
    known = {"other"}
    return (lambda x: x[::-1] * 1 if "back" in known else x * 1), lambda: known.symmetric_difference_update(["back"])


@case
def chained_maps() -> Case:
    front: dict[str, int] = {}
    steps = ChainMap(front, {"k": 1})
    return (lambda x: np.roll(x, steps["k"])), lambda: front.update(k=front.get("k", 1) + 1)


@case
def filled_by_asking() -> Case:
    seen: defaultdict[int, int] = defaultdict(int)

    def f(x: Any) -> Any:
        seen[len(x)] += 1
        return np.roll(x, seen[len(x)])

    return f, nothing


@case
def made_by_numpy() -> Case:
    steps = [1]
    picked = np.frompyfunc(lambda i: (i + steps[-1]) % 4, 1, 1)
    return (lambda x: x[picked(np.arange(4)).astype(int)]), lambda: steps.append(2)


@case
def recursion() -> Case:
    depth = [2]

    def deeper(x: Any, left: int) -> Any:
        return x * 1 if left == 0 else deeper(x[1:], left - 1)

    return (lambda x: deeper(x, depth[0])), lambda: depth.insert(0, depth[0] + 1)
