"""Functions that read more than their arguments: a known lineage is not used once what they read has changed."""

from __future__ import annotations

import functools
import subprocess
import sys
import textwrap
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays.reuse import Surroundings

Change = Callable[[], object]
Case = tuple[Callable[..., Any], Change]


@pytest.fixture
def log(tmp_path: Path) -> Iterator[wh.Log]:
    with wh.open(tmp_path / "log.whence") as opened:
        yield opened


FACTOR = 2.0


def world(**names: Any) -> dict[str, Any]:
    """The globals of a module of its own."""
    return {"np": np, "functools": functools, "__name__": "elsewhere", **names}


def made(source: str, names: dict[str, Any]) -> Any:
    """The function `f` of this source, with these globals."""
    exec(compile(textwrap.dedent(source), "<elsewhere>", "exec"), names)
    return names["f"]


def global_number() -> Case:
    names = world(k=1)
    return made("def f(x): return np.roll(x, k)", names), lambda: names.update(k=2)


def global_array_changed_in_place() -> Case:
    order = np.array([0, 1, 2, 3])
    return made("def f(x): return x[order]", world(order=order)), lambda: order.__setitem__(slice(None), [3, 2, 1, 0])


def global_array_rebound() -> Case:
    names = world(order=np.array([0, 1, 2, 3]))
    return made("def f(x): return x[order]", names), lambda: names.update(order=np.array([1, 1, 1, 1]))


def global_dict() -> Case:
    settings = {"k": 1, "deep": {"list": [1]}}
    return (
        made("def f(x): return np.roll(x, settings['deep']['list'][0])", world(settings=settings)),
        lambda: settings["deep"]["list"].append(settings["deep"]["list"].pop() + 1),  # type: ignore[index]  # a dict
    )


def closure_number() -> Case:
    k = 1

    def f(x: Any) -> Any:
        return np.roll(x, k)

    def change() -> None:
        nonlocal k
        k = 2

    return f, change


def closure_list() -> Case:
    steps = [1]
    return (lambda x: np.roll(x, steps[-1])), lambda: steps.append(3)


def mutable_default() -> Case:
    def f(x: Any, steps: list[int] = [1]) -> Any:  # noqa: B006  # which is what is tried
        return np.roll(x, steps[-1])

    return f, lambda: f.__defaults__[0].append(2)  # type: ignore[index]  # it has one


def default_rebound() -> Case:
    def f(x: Any, k: int = 1) -> Any:
        return np.roll(x, k)

    return f, lambda: setattr(f, "__defaults__", (2,))


def function_attribute() -> Case:
    names = world()
    f = made("def f(x): return np.roll(x, f.k)", names)
    f.k = 1
    return f, lambda: setattr(f, "k", 2)


def helper_redefined() -> Case:
    names = world()
    f = made("def helper(x): return x[::-1]\ndef f(x): return helper(x)", names)
    return f, lambda: exec("def helper(x): return x * 1", names)


def helper_of_a_module() -> Case:
    helpers = types.ModuleType("helpers")
    exec("def helper(x): return x[::-1]", vars(helpers))
    return made("def f(x): return helpers.helper(x)", world(helpers=helpers)), lambda: exec(
        "def helper(x): return x * 1", vars(helpers)
    )


def constant_of_a_module() -> Case:
    helpers = types.ModuleType("helpers")
    helpers.k = 1  # type: ignore[attr-defined]  # that is how a module gets one
    return made("def f(x): return np.roll(x, helpers.k)", world(helpers=helpers)), lambda: setattr(helpers, "k", 2)


def module_held_by_another_name() -> Case:
    helpers = types.ModuleType("helpers")
    helpers.k = 1  # type: ignore[attr-defined]
    source = "def f(x):\n    m = helpers\n    return np.roll(x, m.k)"
    return made(source, world(helpers=helpers)), lambda: setattr(helpers, "k", 2)


def helper_of_a_helper() -> Case:
    names = world(k=1)
    f = made("def inner(x): return np.roll(x, k)\ndef outer(x): return inner(x)\ndef f(x): return outer(x)", names)
    return f, lambda: names.update(k=2)


class Inner:
    k = 1


class Roller:
    def __init__(self, k: int) -> None:
        self.k = k
        self.inner = Inner()

    def roll(self, x: Any) -> Any:
        return np.roll(x, self.k)

    def __call__(self, x: Any) -> Any:
        return np.roll(x, self.k)


def bound_method() -> Case:
    roller = Roller(1)
    return roller.roll, lambda: setattr(roller, "k", 2)


def callable_object() -> Case:
    roller = Roller(1)
    return roller, lambda: setattr(roller, "k", 2)


def attribute_of_a_global_object() -> Case:
    roller = Roller(1)
    return made("def f(x): return np.roll(x, roller.k)", world(roller=roller)), lambda: setattr(roller, "k", 2)


def part_of_a_global_object() -> Case:
    roller = Roller(1)
    return (
        made("def f(x): return np.roll(x, roller.inner.k)", world(roller=roller)),
        lambda: setattr(roller.inner, "k", 2),
    )


def attribute_of_a_class() -> Case:
    class Options:
        k = 1

    return made("def f(x): return np.roll(x, Options.k)", world(Options=Options)), lambda: setattr(Options, "k", 2)


def refitted() -> Case:
    class Sorter:
        def fit(self, x: Any) -> None:
            self.order = np.argsort(x)

        def transform(self, x: Any) -> Any:
            return x[self.order]

    sorter = Sorter()
    sorter.fit(np.arange(4.0))
    return sorter.transform, lambda: sorter.fit(-np.arange(4.0))


def partial_of_a_list() -> Case:
    steps = [1]

    def roll(steps: list[int], x: Any) -> Any:
        return np.roll(x, steps[-1])

    return functools.partial(roll, steps), lambda: steps.append(2)


def under_wraps() -> Case:
    state = {"k": 1}

    def shifting(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return np.roll(function(*args, **kwargs), state["k"])

        return wrapper

    return shifting(lambda x: x * 1), lambda: state.update(k=2)


def counter() -> Case:
    names = world(calls=0)
    f = made("def f(x):\n    global calls\n    calls += 1\n    return np.roll(x, calls)", names)
    return f, lambda: None


def closure_counter() -> Case:
    calls = 0

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.roll(x, calls)

    return f, lambda: None


def iterator() -> Case:
    steps = iter(range(100))
    return (lambda x: np.roll(x, next(steps))), lambda: None


def appended() -> Case:
    calls: list[int] = []

    def f(x: Any) -> Any:
        calls.append(1)
        return np.roll(x, len(calls))

    return f, lambda: None


def environment() -> Case:
    names = world()
    f = made("import os\ndef f(x): return np.roll(x, int(os.environ.get('WHENCE_TEST_SHIFT', '1')))", names)
    return f, lambda: names["os"].environ.update(WHENCE_TEST_SHIFT="2")


def by_name() -> Case:
    names = world(k=1)
    return made("def f(x): return np.roll(x, globals()['k'])", names), lambda: names.update(k=2)


def import_inside() -> Case:
    module = types.ModuleType("whence_test_imported")
    module.k = 1  # type: ignore[attr-defined]
    sys.modules["whence_test_imported"] = module
    source = "def f(x):\n    from whence_test_imported import k\n    return np.roll(x, k)"
    return made(source, world()), lambda: setattr(module, "k", 2)


def made_by_numpy() -> Case:
    steps = [1]
    picked = np.frompyfunc(lambda i: (i + steps[-1]) % 4, 1, 1)
    return (lambda x: x[picked(np.arange(4)).astype(int)]), lambda: steps.append(2)


def properties() -> Case:
    class Options:
        def __init__(self) -> None:
            self._k = 1

        @property
        def k(self) -> int:
            return self._k

    options = Options()
    return made("def f(x): return np.roll(x, options.k)", world(options=options)), lambda: setattr(options, "_k", 2)


def slots() -> Case:
    class Options:
        __slots__ = ("k",)

        def __init__(self) -> None:
            self.k = 1

    options = Options()
    return made("def f(x): return np.roll(x, options.k)", world(options=options)), lambda: setattr(options, "k", 2)


def inner_function() -> Case:
    names = world(k=1)
    return made("def f(x):\n    def g(): return np.roll(x, k)\n    return g()", names), lambda: names.update(k=2)


def code_replaced() -> Case:
    names = world()
    f = made("def helper(x): return x[::-1]\ndef f(x): return helper(x)", names)
    return f, lambda: setattr(names["helper"], "__code__", (lambda x: x * 1).__code__)


CASES = (
    global_number, global_array_changed_in_place, global_array_rebound, global_dict, closure_number, closure_list,
    mutable_default, default_rebound, function_attribute, helper_redefined, helper_of_a_module, constant_of_a_module,
    module_held_by_another_name, helper_of_a_helper, bound_method, callable_object, attribute_of_a_global_object,
    part_of_a_global_object, attribute_of_a_class, refitted, partial_of_a_list, under_wraps, counter, closure_counter,
    iterator, appended, environment, by_name, import_inside, made_by_numpy, properties, slots, inner_function,
    code_replaced,
)  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
@pytest.mark.filterwarnings("ignore::whence.arrays.recording.track.LineageLost")
def test_lineage_follows_what_the_function_reads_now(log: wh.Log, case: Callable[[], Case]) -> None:
    function, change = case()
    tracked = log.track(function, name="f")
    for step in range(6):
        if step == 3:
            change()
        x = np.arange(4.0) + 10 * step
        result = tracked(x)
        found = {
            (i, int(j))
            for i in range(4)
            for (j,) in log.backward(tracked.last.outputs[0], [(i,)], to=tracked.last.inputs[0]).cells()
        }
        # Each of these functions moves cells; the values say which went where.
        moved = {(i, int(np.flatnonzero(x == value)[0])) for i, value in enumerate(result) if value in x}
        assert found == moved, (step, tracked.last.reused)


def test_what_can_be_compared_is_still_reused(log: wh.Log) -> None:
    steps = [1]
    rolled = log.track(lambda x: np.roll(x, steps[0]) * FACTOR, name="rolled")
    rolled(np.arange(4.0))
    rolled(np.arange(4.0) + 1)
    assert rolled.last.reused
    roller = log.track(Roller(1).roll)
    roller(np.arange(4.0))
    roller(np.arange(4.0) + 1)
    assert roller.last.reused


def test_what_changes_back_is_known_again(log: wh.Log) -> None:
    names = world(k=1)
    f = log.track(made("def f(x): return np.roll(x, k)", names))
    reused = []
    for k in (1, 2, 1, 2):
        names["k"] = k
        f(np.arange(4.0))
        reused.append(f.last.reused)
    assert reused == [False, False, True, True]


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("def f(x): return x * len(open('factor').read())", "open"),
        ("import os\ndef f(x): return x * len(os.environ)", "environ"),
        ("def f(x):\n    global k\n    k = 1\n    return x", "global variable k"),
        ("import subprocess\ndef f(x): return x * subprocess.call(['true'])", "Popen|module|it "),
        ("def f(x): return np.random.permutation(x)", "random|permutation"),
        ("def f(x):\n    import json\n    return x", "imports json"),
        ("def f(x): return getattr(x, 'T')", "getattr"),
    ],
)
def test_why_a_function_is_never_reused(source: str, reason: str) -> None:
    near = Surroundings(made(source, world()), None)
    assert near.fingerprint() is None
    assert any(word in near.reason for word in reason.split("|")), near.reason


def test_arguments_of_a_wrapper_are_not_taken_for_unread(log: wh.Log) -> None:
    def passing(function: Any) -> Any:
        @functools.wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> Any:
            return function(*args, **kwargs)

        return wrapper

    rolled = log.track(passing(lambda x, how="left": np.roll(x, 1 if how == "left" else -1)), name="rolled")
    for how, source in (("left", 3), ("left", 3), ("left", 3), ("right", 1), ("left", 3)):
        rolled(np.arange(4.0), how=how)
        assert log.backward(rolled.last.outputs[0], [(0,)], to=rolled.last.inputs[0]).cells().tolist() == [[source]]


def test_error_handling_of_numpy_is_part_of_the_surroundings() -> None:
    near = Surroundings(lambda x: 1 / x, None)
    assert near.fingerprint() is not None
    with np.errstate(divide="raise"):
        assert near.fingerprint() is None


SCRIPT = """
import sys, numpy as np, whence as wh
import helpers
with wh.open(sys.argv[1]) as log:
    @log.track
    def f(a):
        return helpers.moved(a)
    f(np.arange(4.0))
    print(f.last.reused, log.backward(f.last.outputs[0], [(0,)], to=f.last.inputs[0]).cells().tolist())
"""


def test_a_helper_that_was_edited_between_two_programs(tmp_path: Path) -> None:
    def run(helper: str) -> str:
        (tmp_path / "helpers.py").write_text(helper)
        (tmp_path / "script.py").write_text(SCRIPT)
        command = [sys.executable, "-B", "script.py", "log.whence"]
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()

    assert run("def moved(a):\n    return a * 2\n") == "False [[0]]"
    assert run("def moved(a):\n    return a * 2\n") == "True [[0]]"
    assert run("def moved(a):\n    return a[::-1] * 2\n") == "False [[3]]"
