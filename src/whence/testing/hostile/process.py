"""Functions that read the process: its environment, files, clocks, random numbers, threads."""

from __future__ import annotations

import contextvars
import datetime as dt
import decimal
import gc
import logging
import os
import random
import sys
import tempfile
import threading
import time
import types
import uuid
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from whence.testing.hostile._case import Case, Cases, Thing, made, names, nothing

CASES = case = Cases()


@case
def environment() -> Case:
    os.environ["WHENCE_TEST_SHIFT"] = "1"
    return (
        (lambda x: np.roll(x, int(os.environ["WHENCE_TEST_SHIFT"]))),
        lambda: os.environ.update(WHENCE_TEST_SHIFT="2"),
    )


@case
def file() -> Case:
    directory = tempfile.TemporaryDirectory()
    path = Path(directory.name, "shift")
    path.write_text("1")

    def f(x: Any, _: Any = directory) -> Any:  # it exists as long as the function
        return np.roll(x, int(path.read_text()))

    return f, lambda: path.write_text(str(int(path.read_text()) + 1))


@case
def clock() -> Case:
    return (lambda x: np.roll(x, time.perf_counter_ns() // 1000 % 3)), nothing


@case
def date() -> Case:
    return (lambda x: np.roll(x, dt.datetime.now(tz=dt.UTC).microsecond % 3)), nothing


@case
def global_random_numbers() -> Case:
    return (lambda x: np.roll(x, random.randrange(4))), nothing


@case
def global_random_numbers_of_numpy() -> Case:
    return (lambda x: x[np.random.permutation(4)]), nothing  # noqa: NPY002  # the case tests this


@case
def own_random_numbers() -> Case:
    rng = np.random.default_rng(0)
    return (lambda x: rng.permutation(len(x))[:3] @ np.eye(3) * 0 + x[rng.permutation(3)]), nothing


@case
def shuffled() -> Case:
    rng = random.Random(0)

    def f(x: Any) -> Any:
        order = list(range(len(x)))
        rng.shuffle(order)
        return x[order]

    return f, nothing


@case
def unique_numbers() -> Case:
    return (lambda x: np.roll(x, uuid.uuid4().int % 4)), nothing


@case
def identities() -> Case:
    return (lambda x: np.roll(x, id(object()) // 64 % 3)), nothing


@case
def context_variable() -> Case:
    shift: contextvars.ContextVar[int] = contextvars.ContextVar("shift", default=1)
    return (lambda x: np.roll(x, shift.get())), lambda: shift.set(shift.get() + 1)


@case
def thread_local() -> Case:
    local = threading.local()
    local.k = 1
    return (lambda x: np.roll(x, local.k)), lambda: setattr(local, "k", local.k + 1)


@case
def other_thread() -> Case:
    steps = [1]

    def change() -> None:
        thread = threading.Thread(target=lambda: steps.insert(0, steps[0] + 1))
        thread.start()
        thread.join()

    return (lambda x: np.roll(x, steps[0])), change


@case
def weak_reference() -> Case:
    alive = [Thing()]
    seen = weakref.ref(alive[0])
    return (lambda x: x * 1 if seen() is not None else x[::-1] * 1), alive.clear


@case
def garbage_collector() -> Case:
    return (lambda x: np.roll(x, sum(gc.get_count()) % 3)), nothing


@case
def recursion_limit() -> Case:
    state = {"more": 0}
    limit = sys.getrecursionlimit

    def change() -> None:
        state["more"] += 1

    return (lambda x: np.roll(x, (limit() + state["more"]) % 4)), change


@case
def decimal_context() -> Case:
    context = decimal.Context(prec=3)
    return (
        (lambda x: np.roll(x, len(str(context.divide(decimal.Decimal(1), 3))))),
        lambda: setattr(context, "prec", context.prec + 1),
    )


@case
def error_handling_of_numpy() -> Case:
    state: dict[str, Any] = {"divide": "ignore"}

    def f(x: Any) -> Any:
        try:
            with np.errstate(**state):
                1 / (x - 1)
            return x * 1
        except FloatingPointError:
            return x[::-1] * 1

    return f, lambda: state.update(divide="raise")


@case
def print_options_of_numpy() -> Case:
    state: dict[str, Any] = {"precision": 2}

    def f(x: Any) -> Any:
        with np.printoptions(**state):
            return np.roll(x, len(str(np.array([1 / 3]))) - 4)

    return f, lambda: state.update(precision=state["precision"] + 1)


@case
def working_directory() -> Case:
    held: Any = names(where="ab")
    return made("def f(x): return np.roll(x, len(where))", held), lambda: held.update(where=str(Path.cwd())[:1])


@case
def logging_level() -> Case:
    logger = logging.getLogger("whence.testing.hostile")
    logger.setLevel(logging.INFO)
    return (
        (lambda x: x[::-1] * 1 if logger.isEnabledFor(logging.INFO) else x * 1),
        lambda: logger.setLevel(logging.ERROR),
    )


@case
def loaded_modules() -> Case:
    sys.modules.pop("whence_test_loaded", None)
    return (
        (lambda x: x * 1 if "whence_test_loaded" in sys.modules else x[::-1] * 1),
        lambda: sys.modules.update(whence_test_loaded=types.ModuleType("whence_test_loaded")),
    )
