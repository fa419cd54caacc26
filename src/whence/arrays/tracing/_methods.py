"""Methods of arrays that are NumPy functions under another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def _chosen_from(a: Any, *choices: Any, **options: Any) -> Any:
    return np.choose(a, choices[0] if len(choices) == 1 else choices, **options)


def _compress(a: Any, condition: Any, *more: Any, **options: Any) -> Any:
    return np.compress(condition, a, *more, **options)


def _copy(a: Any, order: Any = "C") -> Any:
    return np.copy(a, order=order)  # np.copy keeps the memory order by default, the method does not


METHODS: dict[str, Callable[..., Any]] = {
    "all": np.all, "any": np.any, "argmax": np.argmax, "argmin": np.argmin, "argpartition": np.argpartition,
    "argsort": np.argsort, "choose": _chosen_from, "clip": np.clip, "compress": _compress, "conj": np.conjugate,
    "conjugate": np.conjugate, "copy": _copy, "cumprod": np.cumprod, "cumsum": np.cumsum, "diagonal": np.diagonal,
    "dot": np.dot, "max": np.max, "mean": np.mean, "min": np.min, "nonzero": np.nonzero, "prod": np.prod,
    "put": np.put, "ravel": np.ravel, "repeat": np.repeat, "round": np.round, "searchsorted": np.searchsorted,
    "squeeze": np.squeeze, "std": np.std, "sum": np.sum, "swapaxes": np.swapaxes, "take": np.take, "trace": np.trace,
    "var": np.var,
}  # fmt: skip
