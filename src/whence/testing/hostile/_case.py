"""Helpers to define hostile cases."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

Change = Callable[[], object]
Case = tuple[Callable[[Any], Any], Change]
"""A function of one vector, and a function that changes the state that it depends on."""


def nothing() -> None:
    """Do nothing: the state changes by itself, or not at all."""


def names(**held: Any) -> dict[str, Any]:
    """The globals of a new module."""
    return {"np": np, "__name__": "elsewhere", **held}


def run(source: str, held: dict[str, Any]) -> None:
    """Run source code with these globals, as importing or reloading a module does.

    A function in this package has the globals of this package. A case needs a function whose globals it can change, and
    helpers that it can define again; only running source code provides these. The code is constant in this package.
    """
    exec(compile(textwrap.dedent(source), "<elsewhere>", "exec"), held)  # noqa: S102  # see above


def made(source: str, held: dict[str, Any]) -> Any:
    """Return the function `f` of this source, with these globals."""
    run(source, held)
    return held["f"]


class Cases(dict[str, Callable[[], Case]]):
    """Cases by name; as a decorator, it adds one."""

    def __call__(self, case: Callable[[], Case]) -> Callable[[], Case]:
        self[case.__name__.replace("_", " ").strip()] = case
        return case


class Thing:
    """An object with a number."""

    k = 1

    def __init__(self, k: int = 1) -> None:
        self.k = k

    def roll(self, x: Any) -> Any:
        """Roll by the object's own number."""
        return np.roll(x, self.k)

    def __call__(self, x: Any) -> Any:
        return np.roll(x, self.k)
