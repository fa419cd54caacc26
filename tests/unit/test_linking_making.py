"""Which arrays were made from nothing: no warning where no link can be lost, and one wherever it can."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import whence as wh

RNG = np.random.default_rng(0)
RESULT: Any = None


def make(count: int) -> Any:
    return RNG.random(count)


def lossy(count: int) -> Any:
    return RESULT[:count] * 3.3


def temporary(f: Any) -> None:
    f(RNG.random(31))


def variable(f: Any) -> None:
    x = RNG.random((3, 11))
    f(x)


def helper(f: Any) -> None:
    x = make(33)
    f(x)
    f(make(12))


def comprehension(f: Any) -> None:
    x = np.array([RNG.normal() for _ in range(40)])
    f(x)


def computed(f: Any) -> None:
    x = RESULT * 1.1
    f(x)


def computed_at_once(f: Any) -> None:
    f(RESULT * 1.2)


def written(f: Any) -> None:
    x = RNG.random(30)
    x[:] = RESULT * 1.3
    f(x)


def in_place(f: Any) -> None:
    x = RNG.random(30)
    x += RESULT * 1.4
    f(x)


def by_helper(f: Any) -> None:
    f(lossy(29))


def by_comprehension(f: Any) -> None:
    f(np.array([RESULT[i] * 1.5 for i in range(21)]))


def one_of_two(f: Any) -> None:
    x = RNG.random(30) if len(RESULT) > 40 else RESULT * 1.6
    f(x)


@pytest.mark.parametrize("program", [temporary, variable, helper, comprehension])
def test_no_warning(tmp_path: Path, program: Callable[[Any], None]) -> None:
    assert not _said(tmp_path, program)


@pytest.mark.parametrize(
    "program", [computed, computed_at_once, written, in_place, by_helper, by_comprehension, one_of_two]
)
def test_a_warning(tmp_path: Path, program: Callable[[Any], None]) -> None:
    assert _said(tmp_path, program)


def _said(tmp_path: Path, program: Callable[[Any], None]) -> list[Any]:
    global RESULT
    with wh.open(tmp_path / "log") as log:
        double = log.track(lambda a: a * 2, name="double")
        RESULT = double(RNG.random(30))
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            program(double)
        return [each for each in said if each.category is wh.UnknownOrigin]
