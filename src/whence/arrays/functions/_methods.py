"""The methods of arrays that are functions of NumPy by another name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

METHODS: dict[str, Callable[..., Any]] = {
    "all": np.all, "any": np.any, "argmax": np.argmax, "argmin": np.argmin, "argsort": np.argsort, "clip": np.clip,
    "compress": lambda a, condition, **options: np.compress(condition, a, **options), "conj": np.conjugate,
    "conjugate": np.conjugate, "copy": np.copy, "cumprod": np.cumprod, "cumsum": np.cumsum, "diagonal": np.diagonal,
    "dot": np.dot, "max": np.max, "mean": np.mean, "min": np.min, "prod": np.prod, "ravel": np.ravel,
    "repeat": np.repeat, "round": np.round, "squeeze": np.squeeze, "std": np.std, "sum": np.sum,
    "swapaxes": np.swapaxes, "take": np.take, "trace": np.trace, "var": np.var,
}  # fmt: skip
