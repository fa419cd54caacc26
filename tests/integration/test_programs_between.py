"""Small programs of several tracked calls with plain Python in between: answers against what a change changes."""

from __future__ import annotations

import collections
import dataclasses
import functools
import json
import types
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.testing.influence import influences

Track = Callable[..., Any]
Program = Callable[[Track, Any], Any]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as log:
        yield log


def plain(function: Any = None, **_: Any) -> Any:
    return (lambda each: each) if function is None else function


# --- what a function reads besides its arguments


def a_dict_around(track: Track, x: Any) -> Any:
    settings = {"w": x[:3]}
    use = track(lambda y: y * settings["w"].sum(), name="use")
    use(x[3:])
    settings["w"] = x[6:]
    return use(x[3:6])


def a_list_that_calls_fill(track: Track, x: Any) -> Any:
    kept: list[Any] = []

    def push(y: Any) -> None:
        kept.append(y * 2)

    pushed = track(push)
    pushed(x[:3])
    pushed(x[3:6])
    return track(lambda y: y + sum(kept), name="total")(x[6:])


def a_method_of_a_method(track: Track, x: Any) -> Any:
    class Model:
        w = x[:3]

        def run(self, y: Any) -> Any:
            return self.prepared(y) * 2

        def prepared(self, y: Any) -> Any:
            return y - self.w.mean()

    return track(Model().run, name="run")(x[3:6])


def an_object_that_is_called(track: Track, x: Any) -> Any:
    class Model:
        def __init__(self, w: Any) -> None:
            self.w = w

        def __call__(self, y: Any) -> Any:
            return self.w * y

    return track(Model(x[:3]), name="model")(x[3:6])


def a_property(track: Track, x: Any) -> Any:
    class Model:
        __slots__ = ("w",)
        w: Any

        @property
        def doubled(self) -> Any:
            return self.w * 2

    model = Model()
    model.w = x[:3]
    return track(lambda m, y: m.doubled + y, name="use")(model, x[3:6])


def functions_in_a_dict(track: Track, x: Any) -> Any:
    w = x[:3]
    steps = {"scale": lambda y: y * w}
    return track(lambda y: steps["scale"](y), name="use")(x[3:6])


def a_partial_of_a_helper(track: Track, x: Any) -> Any:
    helper = functools.partial(lambda y, w: y * w, w=x[:3])
    return track(lambda y: helper(y), name="use")(x[3:6])


def a_default_of_a_helper(track: Track, x: Any) -> Any:
    def helper(y: Any, w: Any = x[:3]) -> Any:
        return y * w

    return track(lambda y: helper(y), name="use")(x[3:6])


def a_module_of_the_program(track: Track, x: Any) -> Any:
    module = types.ModuleType("__main__")
    setattr(module, "weights", x[:3])  # noqa: B010  # of a module nothing else is known
    return track(lambda y: y * module.weights, name="use")(x[3:6])


def a_known_number_around(track: Track, x: Any) -> Any:
    mean = track(lambda y: y.mean(), name="mean")(x[:4])
    return track(lambda y: y - mean, name="use")(x[4:])


def a_number_kept_by_an_object(track: Track, x: Any) -> Any:
    class Scaler:
        mean: Any = 0.0

        def fit(self, y: Any) -> Scaler:
            self.mean = y.mean()
            return self

        def transform(self, y: Any) -> Any:
            return y - self.mean

    scaler = Scaler()
    track(scaler.fit, name="fit")(x[:5])
    return track(scaler.transform, name="transform")(x[5:])


def arrays_kept_in_slots(track: Track, x: Any) -> Any:
    class Model:
        __slots__ = ("b", "w")

    def fit(m: Any, y: Any) -> None:
        m.w, m.b = y[:3] * 2, y.mean()

    model = Model()
    track(fit)(model, x[:6])
    return track(lambda m, y: m.w * y + m.b, name="use")(model, x[6:])


def many_arrays_in_a_list(track: Track, x: Any) -> Any:
    parts = [x[n % 9 : n % 9 + 1] for n in range(40)]
    return track(lambda y: y + sum(parts), name="use")(x[3:6])


def found_by_text(track: Track, x: Any) -> Any:
    class Model:
        pass

    model: Any = Model()
    model.weights = x[:3]
    return track(lambda y: y * vars(model)["wei" + "ghts"], name="use")(x[3:6])


def found_deep_within(track: Track, x: Any) -> Any:
    settings = {"a": {"b": {"c": {"d": [x[:3]]}}}}
    return track(lambda y: y * settings["a"]["b"]["c"]["d"][0], name="use")(x[3:6])


def kept_by_a_cache(track: Track, x: Any) -> Any:
    cached = functools.lru_cache(lambda: x[:3] * 2)
    return track(lambda y: y * cached(), name="use")(x[3:6])


def held_by_a_library(track: Track, x: Any) -> Any:
    line = np.poly1d(x[:3])
    return track(lambda y: line(y), name="use")(x[3:6])


BESIDES: list[Program] = [
    a_dict_around, a_list_that_calls_fill, a_method_of_a_method, an_object_that_is_called, a_property,
    functions_in_a_dict, a_partial_of_a_helper, a_default_of_a_helper, a_module_of_the_program, a_known_number_around,
    a_number_kept_by_an_object, arrays_kept_in_slots, many_arrays_in_a_list,
    found_by_text, found_deep_within, kept_by_a_cache, held_by_a_library,
]  # fmt: skip


# --- arguments


def a_partial(track: Track, x: Any) -> Any:
    return track(functools.partial(lambda y, k, w: y * k + w, k=3, w=x[:3]), name="use")(x[3:6])


def an_array_by_default(track: Track, x: Any) -> Any:
    def use(y: Any, w: Any = x[:3], *, v: Any = x[6:]) -> Any:
        return y * w + v

    return track(use)(x[3:6])


def a_list_that_is_updated(track: Track, x: Any) -> Any:
    def update(weights: list[Any], step: Any) -> None:
        for n in range(len(weights)):
            weights[n] = weights[n] - 0.1 * step

    weights, updated = [x[:3] * 1, x[3:6] * 1], track(update)
    weights = list(track(lambda a, b: (a * 1, b * 1), name="start")(x[:3], x[3:6]))
    for _ in range(2):
        updated(weights, x[6:])
    return track(lambda a, b: a * b, name="use")(*weights)


def a_list_that_grows(track: Track, x: Any) -> Any:
    def record(kept: list[Any], y: Any) -> None:
        kept.append(y * 2)

    kept: list[Any] = []
    for n in range(3):
        track(record)(kept, x[3 * n : 3 * n + 2])
    return track(lambda parts: np.concatenate(parts), name="use")(kept)


@dataclasses.dataclass
class State:
    x: Any
    steps: int = 0


def an_object_that_is_advanced(track: Track, x: Any) -> Any:
    def step(state: State, by: Any) -> None:
        state.x = state.x[::-1] * by
        state.steps += 1

    state = State(track(lambda y: y + 1, name="start")(x[:4]))
    for n in (4, 5):
        track(step)(state, x[n : n + 1])
    assert state.steps == 2
    return track(lambda y: y * 1, name="use")(state.x)


# --- plain code in between


def picked_cells(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    return track(lambda a: a * 2, name="use")(y[[5, 1, 7]])


def sorted_cells(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    return track(lambda a: a[:4] * 2, name="use")(np.sort(y)[::-1])


def masked_cells(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    return track(lambda a: a * 2, name="use")(y[y > np.median(y)])


def shuffled_and_split(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    order = np.random.default_rng(0).permutation(len(y))
    return track(lambda a, b: b - a.mean(), name="use")(y[order[:6]], y[order[6:]])


def a_copied_part(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    return track(lambda a: a.cumsum(), name="use")(y[2:7].copy())


def collected_numbers(track: Track, x: Any) -> Any:
    total = track(lambda a: a.sum(), name="total")
    found = np.empty(4)
    for n in range(4):
        found[n] = total(x[2 * n : 2 * n + 2])
    return track(lambda a: a[::-1] * 2, name="use")(found)


def numbers_through_json(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    return track(lambda a: a * 2, name="use")(np.array(json.loads(json.dumps(y.tolist()))))


EXACT: list[Program] = [
    a_partial, an_array_by_default, a_list_that_is_updated, a_list_that_grows, an_object_that_is_advanced, picked_cells,
    sorted_cells, masked_cells, shuffled_and_split, a_copied_part, collected_numbers, numbers_through_json,
]  # fmt: skip


def a_number_that_python_computed(track: Track, x: Any) -> Any:
    mean = track(lambda a: float(a.mean()), name="mean")(x[:4])
    twice = mean * 2 + 1
    return track(lambda a, m: a - m, name="use")(x[4:], twice)


def a_number_of_plain_numpy(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    limit = np.percentile(y, 90)
    return track(lambda a, m: a - m, name="use")(y, limit)


def a_transform_of_plain_numpy(track: Track, x: Any) -> Any:
    y = track(lambda a: np.sqrt(a), name="root")(x)
    return track(lambda a: np.abs(a), name="use")(np.fft.rfft(y))


SAID: list[Program] = [a_number_that_python_computed, a_number_of_plain_numpy, a_transform_of_plain_numpy]

X = np.random.default_rng(5).random(9) + 0.1


def changed_by(program: Program) -> dict[tuple[int, ...], set[tuple[int, ...]]]:
    found: dict[tuple[int, ...], set[tuple[int, ...]]] = collections.defaultdict(set)
    pairs = influences(lambda x: program(plain, x), [X], lambda number: number * 1.001)[0, 0]
    for *out, cell in pairs:
        found[tuple(out)].add((cell,))
    return found


def asked(log: wh.Log, program: Program) -> tuple[Any, str]:
    """The result of the program, and the dataset that it is."""
    made = []

    def track(function: Any, **options: Any) -> Any:
        made.append(log.track(function, **options))
        return made[-1]

    source = log.track(lambda a: a * 1.0, name="source", names={"a": "A"})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a program of this kind is warned of is part of its answers, too
        result = program(track, source(X.copy()))
    np.testing.assert_allclose(result, program(plain, X.copy()))
    return result, made[-1].last.outputs[0]


@pytest.mark.parametrize("program", EXACT, ids=lambda each: each.__name__)
def test_the_answer_is_what_a_change_changes(log: wh.Log, program: Program) -> None:
    result, name = asked(log, program)
    expected = changed_by(program)
    for cell in np.ndindex(result.shape):
        answer = log.backward(name, [cell])
        assert {key: set(map(tuple, each.cells().tolist())) for key, each in answer.items()} == {"A": expected[cell]}


@pytest.mark.parametrize("program", BESIDES, ids=lambda each: each.__name__)
def test_what_is_read_besides_is_in_the_answer_as_a_whole(log: wh.Log, program: Program) -> None:
    result, name = asked(log, program)
    expected = changed_by(program)
    for cell in np.ndindex(result.shape):
        answer = log.backward(name, [cell])
        assert expected[cell] <= set(map(tuple, answer["A"].cells().tolist()))
        assert set(answer) == {"A"}
        assert not answer.precise


@pytest.mark.parametrize("program", SAID, ids=lambda each: each.__name__)
def test_a_link_that_is_lost_is_said(log: wh.Log, program: Program) -> None:
    result, name = asked(log, program)
    answer = log.backward(name, [(0,) * result.ndim])
    [other] = set(answer) - {"A"}
    assert any(note.startswith(f"{other!r} starts at test_programs_between.py:") for note in answer.notes)


def test_cells_that_are_in_two_arrays_are_not_linked(log: wh.Log) -> None:
    one, other = log.track(lambda a: a + 0, name="one"), log.track(lambda a: a[::-1] * 1, name="other")
    kept = [one(X), other(X)]
    use = log.track(lambda a: a * 2, name="use")
    with pytest.warns(wh.UnknownOrigin, match="its cells are in .* may be from either"):
        use(np.sort(kept[0]))
    assert list(log.backward("use", [(0,)])) == list(use.last.inputs)


def test_cells_that_people_write_are_not_linked(log: wh.Log) -> None:
    kept = log.track(lambda a: np.floor(a * 40), name="floor")(X)
    use = log.track(lambda a: a * 2, name="use")
    use(kept[[4, 2, 7, 1]])
    assert list(log.backward("use", [(0,)])) == list(use.last.inputs)


def test_what_a_call_stores_is_a_result_of_it(log: wh.Log) -> None:
    class Model:
        def fit(self, y: Any) -> None:
            self.mean, self.spread, self.parts = y.mean(axis=0), float(y.std()), [y[0] * 2]

    model = Model()
    fit = log.track(model.fit, name="fit")
    with pytest.warns(wh.LineageLost, match="1 value"):  # float() may have gone anywhere
        fit(X.reshape(3, 3))
    assert fit.last.outputs == ("fit.mean", "fit.spread", "fit.parts[0]")
    assert type(model.mean) is np.ndarray
    assert log.backward("fit.mean", 1, to="y").cells().tolist() == [[0, 1], [1, 1], [2, 1]]
    assert log.backward("fit.spread", [()], to="y").count == 9


def test_an_array_that_was_defined_is_known_by_its_name(log: wh.Log) -> None:
    x = X.copy()
    log.array("measured", x)
    use = log.track(lambda part: part * 2, name="use")
    use(x[2:5])
    assert log.backward("use", 0)["measured"].cells().tolist() == [[2]]
    x[:] = 0
    use(x)
    assert use.last.inputs == ("measured@v2",)


def test_a_name_that_is_both_an_argument_and_a_variable_is_said(log: wh.Log) -> None:
    double, total = log.track(lambda a: a * 2, name="double"), log.track(lambda y: y.sum(), name="total")
    y = double(X)
    with pytest.warns(wh.UnknownOrigin):
        z = total(X[::2] + 1.0)
    assert z == (X[::2] + 1.0).sum()
    assert len(y) == 9
    assert "'y' is a dataset, named after an argument; the variable 'y' of the program got 'double'" in (
        log.backward("total", [()], to="y").notes
    )
    assert not any("the variable" in note for note in log.backward("double", 0).notes)


def test_files_that_a_function_reads_itself_are_named(log: wh.Log, tmp_path: Path) -> None:
    np.save(tmp_path / "weights.npy", np.arange(4.0) + 0.1)
    (tmp_path / "scale.json").write_text("2.5")

    def scaled(x: Any) -> Any:
        with open(tmp_path / "scale.json") as file:
            return x * np.load(tmp_path / "weights.npy") * json.load(file)

    tracked = log.track(scaled)
    for _ in range(2):  # the second call is reused
        tracked(np.sqrt(np.arange(4.0)))
        answer = log.backward(tracked.last.outputs[0], "1")
        assert not answer.precise
        assert "'scale.json', 'weights.npy', which the function read itself" in (answer.reason or "")
    double = log.track(lambda x: x * 2, name="double")
    double(np.sqrt(np.arange(4.0)))
    assert log.backward("double", "1").precise


def test_files_that_a_function_reads_in_an_activity_are_inputs(log: wh.Log, tmp_path: Path) -> None:
    np.save(tmp_path / "weights.npy", np.arange(4.0) + 0.1)
    scaled = log.track(lambda x: x * np.load(tmp_path / "weights.npy"), name="scaled")
    with log.activity("scaling"):
        scaled(np.sqrt(np.arange(4.0)))
    answer = log.backward("scaled", "1")
    assert "weights.npy@v1" in answer
    assert "read itself" not in (answer.reason or "")
