"""Functions that depend on values in ways that bypass arrays: through Python, strings, exceptions, warnings."""

from __future__ import annotations

import contextlib
import itertools
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from whence.testing.hostile._case import Case

Function = Callable[[Any, Any], Any]


def _inverse_or_not(x: Any, k: Any) -> Any:
    try:
        np.linalg.inv(np.eye(2) * (x[0] - k))
        return x * 1
    except np.linalg.LinAlgError:
        return x[::-1] * 1


def _suppressed(x: Any, k: Any) -> Any:
    with contextlib.suppress(ZeroDivisionError):
        return x[: 3 // (int(x[0]) - k)] * 1
    return x[::-1] * 1


def _raised_by_numpy(x: Any, k: Any) -> Any:
    try:
        with np.errstate(all="raise"):
            1 / (x - k)
            return x * 1
    except FloatingPointError:
        return x[::-1] * 1


def _warned(x: Any, k: Any) -> Any:
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        1 / (x - k)
    return x[::-1] * 1 if said else x * 1


def _called_back(x: Any, k: Any) -> Any:
    said: list[str] = []
    with np.errstate(divide="call", call=lambda kind, _: said.append(kind)):
        1 / (x - k)
    return x[::-1] * 1 if said else x * 1


def _first_above(x: Any, k: Any) -> Any:
    for i, each in enumerate(x):
        if each > 2 * k:
            return x[i:] * 1
    return x * 1


FUNCTIONS: dict[str, Function] = {
    "branch": lambda x, k: x[::-1] * 1 if x[1] > 2 * k else x * 1,
    "whole number": lambda x, k: np.roll(x, int(x[k])),
    "float": lambda x, k: np.roll(x, int(float(x[k]) ** 0.5)),
    "item": lambda x, k: np.roll(x, x[k].item().is_integer() + k),
    "list": lambda x, k: np.roll(x, int(x.tolist()[k])),
    "text": lambda x, k: np.roll(x, len(str(x[k] * x[4]))),
    "formatted": lambda x, k: np.roll(x, len(f"{x[k] * x[3]:.0f}")),
    "mask": lambda x, k: x[x > 2**k],
    "order": lambda x, k: x[np.argsort(np.cos(k * x))],
    "sorted by a key": lambda x, k: np.array(sorted(x, key=lambda each: np.cos(float(each) * k))),
    "largest": lambda x, k: x[: int(np.argmax(np.sin(k * x))) + 1] * 1,
    "chosen": lambda x, k: np.where(np.sin(k * x) > 0, x, 0.0),
    "cut at a value": lambda x, k: x[: np.searchsorted(x, 3 * k)] * 1,
    "found": lambda x, k: x[np.nonzero(np.sin(k * x) > 0)[0]],
    "any": lambda x, k: x[::-1] * 1 if (x == 2**k).any() else x * 1,
    "member": lambda x, k: x[::-1] * 1 if 3.0 * k in x else x * 1,
    "hashed": lambda x, k: x[::-1] * 1 if hash(x[0]) == k else x * 1,
    "maximum": lambda x, k: np.roll(x, min(int(max(x)), k)),
    "pairs": lambda x, k: sum(a for a, b in itertools.pairwise(x) if b > 2**k),
    "inverse": _inverse_or_not,
    "suppressed": _suppressed,
    "raised": _raised_by_numpy,
    "warned": _warned,
    "called": _called_back,
    "first above": _first_above,
}


def _case_of(function: Function) -> Callable[[], Case]:
    def case() -> Case:
        state = {"k": 2}
        return (lambda x: function(x, state["k"])), lambda: state.update(k=1)

    return case


CASES: dict[str, Callable[[], Case]] = {f"value: {name}": _case_of(function) for name, function in FUNCTIONS.items()}
