"""What a tracked function does besides returning something is done once, and to the caller's own objects."""

from __future__ import annotations

import collections
import dataclasses
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh

Track = Callable[..., Any]
X = np.random.default_rng(3).random(6)
COUNT = 0


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as log:
        yield log


def opaque(x: Any) -> Any:
    """Code that no run follows, so that functions that call it are run again."""
    return np.frombuffer(x.tobytes())[::-1] * 2


def running(x: Any) -> Any:
    """A loop over so many cells that the function is run again on the tracked dtype."""
    out = np.empty(len(x))
    out[0] = x[0]
    for n in range(1, len(x)):
        out[n] = 0.9 * out[n - 1] + 0.1 * x[n]
    return out


def through(work: Callable[[Any], Any]) -> list[Callable[[Track], Any]]:
    def a_list_around(track: Track) -> Any:
        seen: list[int] = []

        def step(x: Any) -> Any:
            seen.append(len(seen))
            return work(x) * len(seen)

        return track(step)(X.copy()).tolist(), seen

    def a_global(track: Track) -> Any:
        global COUNT
        COUNT = 0

        def step(x: Any) -> Any:
            global COUNT
            COUNT += 1
            return work(x) + COUNT

        return track(step)(X.copy()).tolist(), COUNT

    def a_variable_around(track: Track) -> Any:
        count = 0

        def step(x: Any) -> Any:
            nonlocal count
            count += 1
            return work(x) + count

        return track(step)(X.copy()).tolist(), count

    def an_object(track: Track) -> Any:
        class Model:
            def __init__(self) -> None:
                self.steps, self.seen = 0, {"lengths": [0]}

            def step(self, x: Any) -> Any:
                self.steps += 1
                self.seen["lengths"].append(len(x))
                return work(x) * self.steps

        model = Model()
        step = track(model.step, name="step")
        return [step(X.copy()).tolist() for _ in range(2)], vars(model)

    def random_numbers(track: Track) -> Any:
        rng = np.random.default_rng(0)
        np.random.seed(0)  # noqa: NPY002  # programs do

        def step(x: Any) -> Any:
            return work(x * rng.random() * np.random.rand())  # noqa: NPY002  # programs do

        return track(step)(X.copy()).tolist(), rng.random(), np.random.rand()  # noqa: NPY002  # programs do

    def an_argument_that_is_a_list(track: Track) -> Any:
        def step(x: Any, seen: list[Any]) -> Any:
            seen.append(len(x))
            return work(x)

        seen: list[Any] = []
        return track(step)(X.copy(), seen).tolist(), seen

    def an_argument_that_is_written(track: Track) -> Any:
        def step(x: Any) -> Any:
            x -= x.mean()
            return work(x)

        x = X.copy()
        return track(step)(x).tolist(), x.tolist()

    return [
        a_list_around, a_global, a_variable_around, an_object, random_numbers, an_argument_that_is_a_list,
        an_argument_that_is_written,
    ]  # fmt: skip


def long(x: Any) -> Any:
    return running(np.tile(x, 12))


AGAIN = [*through(opaque), *through(long)]


@pytest.mark.parametrize("program", AGAIN, ids=lambda each: each.__name__)
def test_effects_of_a_function_that_is_run_again_happen_once(log: wh.Log, program: Callable[[Track], Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", wh.LineageLost)
        assert program(log.track) == program(lambda function, **_: function)


@dataclasses.dataclass
class State:
    x: Any
    steps: int = 0


def test_a_list_that_a_function_changes_is_the_callers(log: wh.Log) -> None:
    def change(items: list[Any]) -> Any:
        items.append(items[0] + 1)
        items[0] = items[0] * 3
        items.sort(key=lambda each: -each.sum())
        return items

    mine, theirs = [X.copy()], [X.copy()]
    assert log.track(change)(mine) is mine
    change(theirs)
    assert [type(each) for each in mine] == [np.ndarray, np.ndarray]
    np.testing.assert_array_equal(mine, theirs)


def test_a_dict_that_a_function_changes_is_the_callers_and_of_its_kind(log: wh.Log) -> None:
    def change(items: dict[str, Any]) -> None:
        items["new"].append(items["x"][0] * 2)
        del items["old"]

    mine = collections.defaultdict(list, {"x": [X.copy()], "old": []})
    log.track(change)(mine)
    assert type(mine) is collections.defaultdict
    assert list(mine) == ["x", "new"]
    np.testing.assert_array_equal(mine["new"], [X * 2])


def test_an_object_of_a_dataclass_that_a_function_changes_is_the_callers(log: wh.Log) -> None:
    def change(state: State) -> State:
        state.x = state.x * 2
        state.steps += 1
        return state

    mine = State(X.copy())
    assert log.track(change)(mine) is mine
    np.testing.assert_array_equal(mine.x, X * 2)
    assert (type(mine.x), mine.steps) == (np.ndarray, 1)


def test_a_function_that_raises_has_changed_what_it_changed(log: wh.Log) -> None:
    def change(items: list[Any]) -> None:
        items.append(items[0] + 1)
        raise KeyError("on purpose")

    mine = [X.copy()]
    with pytest.raises(KeyError, match="on purpose"):
        log.track(change)(mine)
    np.testing.assert_array_equal(mine[1], X + 1)


def test_arguments_that_overlap_and_are_written_do_not_end_the_program(log: wh.Log) -> None:
    def change(a: Any, b: Any) -> Any:
        a[:] = b * 2
        return a + b

    def run(function: Any) -> Any:
        x = X.copy()
        return function(x[:4], x[2:]), x

    with pytest.warns(wh.LineageLost, match="shares memory with another one"):
        found = run(log.track(change))
    for one, other in zip(found, run(change), strict=True):
        np.testing.assert_array_equal(one, other)
