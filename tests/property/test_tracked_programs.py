"""Random programs on tracked arrays against the same programs on arrays of Python sets.

CI runs them for a minute; WHENCE_LONG=1 runs them for longer.
"""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import whence as wh
from whence.arrays import forget
from whence.testing.annotated import Annotated, annotated, matmul, pairs

SECONDS = 1200.0 if os.environ.get("WHENCE_LONG") else 60.0
LONGEST = 12
MOST_CELLS = 400

Pair = tuple[Any, Any]
Step = Callable[[random.Random, Pair, Pair], Pair]


def each(work: Callable[[Any], Any]) -> Step:
    return lambda rng, a, b: (work(a[0]), work(a[1]))


def both(work: Callable[[Any, Any], Any]) -> Step:
    return lambda rng, a, b: (work(a[0], b[0]), work(a[1], b[1]))


def with_seed(work: Callable[[np.random.Generator, Any], Any]) -> Step:
    def step(rng: random.Random, a: Pair, b: Pair) -> Pair:
        seed = rng.getrandbits(32)
        return work(np.random.default_rng(seed), a[0]), work(np.random.default_rng(seed), a[1])

    return step


def sliced(rng: np.random.Generator, x: Any) -> Any:
    starts = [int(rng.integers(0, max(d, 1))) for d in x.shape]
    return x[tuple(slice(s, None, int(rng.integers(1, 4))) for s in starts)]


def assigned(rng: np.random.Generator, x: Any) -> Any:
    y = x.copy()
    y[: 1 + x.shape[0] // 2] = x[-1:]
    return y


def accumulated(x: Any) -> Any:
    y = x.copy()
    y += x[:, :1]
    return y


def blanked(rng: np.random.Generator, x: Any) -> Any:
    one: Any = Annotated(1.0) if x.dtype == object else 1.0
    return np.where(rng.random(x.shape) < 0.3, one, x)


STEPS: dict[str, Step] = {
    "add": both(lambda a, b: a + b),
    "multiply": both(lambda a, b: a * b),
    "subtract broadcast": each(lambda x: x - x[:1]),
    "constant": each(lambda x: 2.0 * x + 1.0),
    "negative": each(lambda x: -x),
    "generic": each(np.exp),
    "transpose": each(lambda x: x.T),
    "sum 0": each(lambda x: x.sum(axis=0, keepdims=True)),
    "sum 1": each(lambda x: x.sum(axis=1, keepdims=True)),
    "sum all": each(lambda x: x.sum(keepdims=True)),
    "product 1": each(lambda x: np.multiply.reduce(x, axis=1, keepdims=True)),
    "cumsum 0": each(lambda x: np.cumsum(x, axis=0)),
    "cumsum 1": each(lambda x: np.cumsum(x, axis=1)),
    "cumsum back": each(lambda x: np.cumsum(x[:, ::-1], axis=1)[:, ::-1]),
    "slice": with_seed(sliced),
    "reverse": each(lambda x: x[::-1, ::-1]),
    "concatenate 0": both(lambda a, b: np.concatenate([a, b], axis=0)),
    "concatenate 1": both(lambda a, b: np.concatenate([a, b], axis=1)),
    "fancy": with_seed(lambda rng, x: x[rng.integers(0, x.shape[0], 5)]),
    "permute": with_seed(lambda rng, x: x.ravel()[rng.permutation(x.size)].reshape(x.shape)),
    "where": with_seed(lambda rng, x: np.where(rng.random(x.shape) < 0.5, x, x[::-1])),
    "blank": with_seed(blanked),
    "assign": with_seed(assigned),
    "in place": each(accumulated),
    "roll": each(lambda x: np.roll(x, 2)),
    "tile": each(lambda x: np.tile(x, (1, 2))),
    "repeat": each(lambda x: np.repeat(x, 2, axis=0)),
    "reshape": each(lambda x: x.reshape(x.shape[::-1])),
    "outer": each(lambda x: np.multiply.outer(x[0], x[:, 0])),
    "diff": each(lambda x: x[:, 1:] - x[:, :-1]),
    "stencil": each(lambda x: x[:-2, :-2] + x[1:-1, 1:-1] + x[2:, 2:] + x[:-2, 2:]),
    "reduceat": each(lambda x: np.add.reduceat(x, [0, x.shape[1] // 2], axis=1)),
    "pad": each(lambda x: np.pad(x, 1, mode="edge")),
    "matmul": lambda rng, a, b: (a[0] @ a[0].T, matmul(a[1], a[1].T)),
    "product": lambda rng, a, b: (
        (a[0] @ b[0], matmul(a[1], b[1])) if a[0].shape[1] == b[0].shape[0] else each(np.negative)(rng, a, b)
    ),
    "dot": lambda rng, a, b: (
        (np.dot(a[0], b[0]), matmul(a[1], b[1])) if a[0].shape[1] == b[0].shape[0] else each(np.negative)(rng, a, b)
    ),
}


def program(seed: int) -> tuple[list[str], list[Pair], dict[str, tuple[int, ...]]]:
    """Runs a random program both ways; the steps taken, the results, the inputs' shapes."""
    rng = random.Random(seed)
    inputs: dict[str, tuple[int, ...]] = {}
    pool: list[Pair] = []
    large = rng.random() < 0.1  # enough cells for calls that go straight to their loops
    for name in "AB":
        shape = (rng.randint(16, 20), rng.randint(16, 20)) if large else (rng.randint(1, 7), rng.randint(1, 9))
        plain = np.random.default_rng(seed).random(shape)
        inputs[name] = plain.shape
        pool.append((wh.tracked(plain, name), annotated(plain, name)))
    taken: list[str] = []
    for _ in range(rng.randint(1, LONGEST)):
        name = rng.choice(list(STEPS))
        try:
            made = STEPS[name](rng, rng.choice(pool), rng.choice(pool))
        except (ValueError, IndexError):  # shapes that do not fit: both sides agree on that, see below
            continue
        if 0 < made[0].size <= MOST_CELLS:
            assert made[0].shape == made[1].shape
            taken.append(name)
            pool.append(made)
    return taken, pool, inputs


def check(seed: int) -> int:
    forget()
    with np.errstate(all="ignore"):  # exp of exp of exp
        taken, pool, inputs = program(seed)
    for number, (tracked, objects) in enumerate(pool):
        for name, shape in inputs.items():
            relation = wh.relation_of(tracked, name)
            expected = pairs(objects, name, shape)
            found = relation.to_array()
            where = f"seed {seed}, result {number} of {taken}, input {name}"
            assert np.array_equal(found, expected), where
            assert relation.count() == len(expected), where
    return len(pool)


@pytest.mark.parametrize("part", range(4))
def test_programs_agree_with_sets(part: int) -> None:
    end = time.monotonic() + SECONDS / 4
    seed, results = part * 10_000_000, 0
    while time.monotonic() < end or results < 50:
        results += check(seed)
        seed += 1


@pytest.mark.parametrize("step", STEPS)
def test_every_step_runs(step: str) -> None:
    plain = np.random.default_rng(0).random((4, 4))
    a = wh.tracked(plain, "every step"), annotated(plain, "every step")
    tracked, objects = STEPS[step](random.Random(1), a, a)
    expected = pairs(objects, "every step", (4, 4))
    assert len(expected)
    assert np.array_equal(wh.relation_of(tracked, "every step").to_array(), expected)
