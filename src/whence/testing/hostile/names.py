"""Functions that read names: globals, closures, defaults, helpers, modules."""

from __future__ import annotations

import builtins
import importlib
import sys
import tempfile
import types
from pathlib import Path
from typing import Any

import numpy as np

from whence.testing.hostile._case import Case, Cases, made, names, nothing, run

CASES = case = Cases()


@case
def global_number() -> Case:
    held = names(k=1)
    return made("def f(x): return np.roll(x, k)", held), lambda: held.update(k=held["k"] + 1)


@case
def global_array_in_place() -> Case:
    steps = np.array([1, 2])
    return made("def f(x): return x[steps]", names(steps=steps)), lambda: steps.__iadd__(1)


@case
def global_array_rebound() -> Case:
    held = names(steps=np.array([1, 2]))
    return made("def f(x): return x[steps]", held), lambda: held.update(steps=held["steps"][::-1])


@case
def global_dict() -> Case:
    settings = {"deep": {"list": [1]}}
    f = made("def f(x): return np.roll(x, settings['deep']['list'][0])", names(settings=settings))
    return f, lambda: settings["deep"]["list"].insert(0, 3)


@case
def looked_up_by_name() -> Case:
    held = names(k=1)
    return made("def f(x): return np.roll(x, globals()['k'])", held), lambda: held.update(k=held["k"] + 1)


@case
def a_builtin() -> Case:
    vars(builtins)["whence_shift"] = 1
    f = made("def f(x): return np.roll(x, whence_shift)", names())
    return f, lambda: vars(builtins).update(whence_shift=vars(builtins)["whence_shift"] + 1)


@case
def a_builtin_replaced() -> Case:
    held = names()
    return made("def f(x): return x[:max(2, 3)] * 1", held), lambda: held.update(max=min)


@case
def a_name_that_comes_into_being() -> Case:
    held = names()
    source = "def f(x):\n    try:\n        return np.roll(x, late)\n    except NameError:\n        return x * 1"
    return made(source, held), lambda: held.update(late=2)


@case
def NumPy_replaced() -> Case:
    held = names()
    back = types.SimpleNamespace(roll=lambda x, k: np.roll(x, -k))
    return made("def f(x): return np.roll(x, 1)", held), lambda: held.update(np=back)


@case
def counter() -> Case:
    held = names(calls=0)
    return made("def f(x):\n    global calls\n    calls += 1\n    return np.roll(x, calls % 4)", held), nothing


# --- closures, defaults, attributes of functions


@case
def closure_number() -> Case:
    k = 1

    def f(x: Any) -> Any:
        return np.roll(x, k)

    def change() -> None:
        nonlocal k
        k += 1

    return f, change


@case
def closure_list() -> Case:
    steps = [1]
    return (lambda x: np.roll(x, steps[-1])), lambda: steps.append(steps[-1] + 2)


@case
def closure_of_a_closure() -> Case:
    steps = [1]

    def outer() -> Any:
        def inner(x: Any) -> Any:
            return np.roll(x, len(steps))

        return inner

    inner = outer()
    return (lambda x: inner(x)), lambda: steps.append(0)


@case
def closure_array() -> Case:
    mask = np.array([True, False, True, False, False])
    return (lambda x: x[:5][mask] * 1), lambda: np.logical_not(mask, out=mask)


@case
def closure_counter() -> Case:
    calls = 0

    def f(x: Any) -> Any:
        nonlocal calls
        calls += 1
        return np.roll(x, calls % 3)

    return f, nothing


@case
def mutable_default() -> Case:
    def f(x: Any, steps: list[int] = [1]) -> Any:  # noqa: B006  # the case tests this
        return np.roll(x, steps[-1])

    return f, lambda: f.__defaults__[0].append(2)  # type: ignore[index]  # it has one


@case
def default_that_grows() -> Case:
    def f(x: Any, steps: list[int] = []) -> Any:  # noqa: B006 # that it outlives the call is the point
        steps.append(1)
        return np.roll(x, len(steps) % 5)

    return f, nothing


@case
def default_rebound() -> Case:
    def f(x: Any, k: int = 1) -> Any:
        return np.roll(x, k)

    return f, lambda: setattr(f, "__defaults__", (2,))


@case
def keyword_default() -> Case:
    def f(x: Any, *, k: int = 1) -> Any:
        return np.roll(x, k)

    return f, lambda: setattr(f, "__kwdefaults__", {"k": 3})


@case
def function_attribute() -> Case:
    f = made("def f(x): return np.roll(x, f.k)", names())
    f.k = 1
    return f, lambda: setattr(f, "k", f.k + 1)


@case
def doc_string() -> Case:
    f = made("def f(x):\n    '''1'''\n    return np.roll(x, int(f.__doc__))", names())
    return f, lambda: setattr(f, "__doc__", "2")


@case
def annotated() -> Case:
    f = made("def f(x: 'one'): return np.roll(x, len(g.__annotations__['x']))\ng = f", names())
    return f, lambda: f.__annotations__.update(x="two and more")


# --- helpers and modules


@case
def helper_redefined() -> Case:
    held = names()
    f = made("def helper(x): return x[::-1]\ndef f(x): return helper(x) * 1", held)
    return f, lambda: run("def helper(x): return x[1:]", held)


@case
def helper_of_a_helper() -> Case:
    held = names(k=1)
    f = made("def inner(x): return np.roll(x, k)\ndef outer(x): return inner(x)\ndef f(x): return outer(x)", held)
    return f, lambda: held.update(k=held["k"] + 1)


@case
def code_replaced() -> Case:
    held = names()
    f = made("def helper(x): return x[::-1] * 1\ndef f(x): return helper(x)", held)
    return f, lambda: setattr(held["helper"], "__code__", (lambda x: x * 1).__code__)


@case
def helper_of_a_module() -> Case:
    helpers = types.ModuleType("helpers")
    run("def helper(x): return x[::-1] * 1", vars(helpers))
    f = made("def f(x): return helpers.helper(x)", names(helpers=helpers))
    return f, lambda: run("def helper(x): return x * 1", vars(helpers))


@case
def constant_of_a_module_by_another_name() -> Case:
    helpers = types.ModuleType("helpers")
    vars(helpers)["k"] = 1
    f = made("def f(x):\n    m = helpers\n    return np.roll(x, m.k)", names(helpers=helpers))
    return f, lambda: vars(helpers).update(k=vars(helpers)["k"] + 1)


@case
def module_edited_and_reloaded() -> Case:
    directory = tempfile.TemporaryDirectory()
    path = Path(directory.name, "whence_edited.py")
    path.write_text("def moved(x): return x[::-1] * 1\n")
    sys.path.insert(0, directory.name)
    before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    importlib.invalidate_caches()
    module = importlib.import_module("whence_edited")
    sys.path.remove(directory.name)
    sys.dont_write_bytecode = before
    edits = iter(["x[1:] * 1", "x[:-2] * 1"])

    def change() -> None:
        run(f"def moved(x): return {next(edits)}\n", vars(module))  # as reloading it does
        directory.cleanup()

    return (lambda x: module.moved(x)), change


@case
def import_inside() -> Case:
    module = types.ModuleType("whence_test_imported")
    vars(module)["k"] = 1
    sys.modules["whence_test_imported"] = module
    f = made("def f(x):\n    from whence_test_imported import k\n    return np.roll(x, k)", names())
    return f, lambda: vars(module).update(k=vars(module)["k"] + 1)


@case
def text_that_is_run() -> Case:
    held = names(text="np.roll(x, 1)")
    return made("def f(x): return eval(text)", held), lambda: held.update(text="x[::-1] * 1")


@case
def who_calls() -> Case:
    held = names(sys=sys, k=1)
    f = made("def f(x): return np.roll(x, sys._getframe().f_globals['k'])", held)
    return f, lambda: held.update(k=2)
