"""Lineage known for shapes never seen: many functions, random shapes, and not one reuse wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from whence.arrays.recording.calls import captured
from whence.arrays.recording.structures import parameters_of
from whence.arrays.reuse import ReuseIndex
from whence.arrays.reuse.learned import same
from whence.testing.shelf import Shelf

Rng = np.random.Generator


def length(rng: Rng) -> int:
    return int(rng.integers(1, 16))


def vector(rng: Rng) -> tuple[Any, ...]:
    return (rng.random(length(rng)),)


def long(rng: Rng) -> tuple[Any, ...]:
    return (rng.random(int(rng.integers(1, 60))),)


def matrix(rng: Rng) -> tuple[Any, ...]:
    return (rng.random((length(rng), length(rng))),)


def two(rng: Rng) -> tuple[Any, ...]:
    shape = (length(rng), length(rng))
    return rng.random(shape), rng.random(shape)


def chain(rng: Rng) -> tuple[Any, ...]:
    m, k, n = (length(rng) for _ in range(3))
    return rng.random((m, k)), rng.random((k, n))


def two_vectors(rng: Rng) -> tuple[Any, ...]:
    return rng.random(length(rng)), rng.random(length(rng))


def threes(rng: Rng) -> tuple[Any, ...]:
    n = length(rng)
    return rng.random((n, 3)), rng.random((n, 3))


def with_length(rng: Rng) -> tuple[Any, ...]:
    return rng.random(length(rng)), int(rng.integers(1, 30))


def with_two_lengths(rng: Rng) -> tuple[Any, ...]:
    return rng.random(length(rng)), (int(rng.integers(1, 12)), int(rng.integers(1, 12)))


def with_rows(rng: Rng) -> tuple[Any, ...]:
    n = length(rng)
    return rng.random(n), (int(rng.integers(1, 12)), n)


def factored(rng: Rng) -> tuple[Any, ...]:
    n, m = length(rng), length(rng)
    return rng.random(n * m), (n, m)


def matrix_and_length(rng: Rng) -> tuple[Any, ...]:
    return (*matrix(rng), int(rng.integers(1, 20)))


def short(rng: Rng) -> tuple[Any, ...]:
    """Lengths that stay below a number of the function's own, and now and then do not."""
    return (rng.random(int(rng.integers(1, 12) if rng.random() < 0.9 else rng.integers(30, 60))),)


def longer(rng: Rng) -> tuple[Any, ...]:
    """Lengths between which something changes, most of them on one side."""
    return (rng.random(int(rng.integers(6, 30) if rng.random() < 0.8 else rng.integers(38, 48))),)


def short_matrix(rng: Rng) -> tuple[Any, ...]:
    n = len(short(rng)[0])
    return (rng.random((n, n)),)


def parity(a: Any) -> Any:
    return a[: len(a) - len(a) % 3].sum()


def windows(a: Any, k: int) -> Any:
    return np.array([a[i : i + k].sum() for i in range(len(a) - k + 1)]) if k <= len(a) else a * 1


def special(a: Any) -> Any:
    if a.shape[0] == 7:
        return a[::-1]
    return a * 1


def threshold(a: Any) -> Any:
    return np.flip(a) if len(a) > 9 else a + 0


def centred(a: Any) -> Any:
    return (a - a.mean(axis=0)) / (1 + a.std(axis=0))


def stencil(a: Any) -> Any:
    padded = np.pad(a, 1, mode="edge")
    return padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * a


def halves(a: Any) -> Any:
    return a[: a.shape[0] // 2] + 0


# (function, arguments, whether lineage for any shape can be had from twenty calls)
FUNCTIONS: dict[str, tuple[Callable[..., Any], Callable[[Rng], tuple[Any, ...]], bool]] = {
    "negative": (lambda a: -a, matrix, True), "add": (lambda a, b: a + b, two, True),
    "sum": (lambda a: a.sum(axis=1), matrix, True), "slice": (lambda a: a[1:-1] * 1, vector, True),
    "tile": (lambda a: np.tile(a, (2, 3)), matrix, True), "diff": (lambda a: np.diff(a, axis=1), matrix, True),
    "pad": (lambda a: np.pad(a, 2), matrix, True), "flip": (np.flip, matrix, True),
    "concatenate": (lambda a, b: np.concatenate([a, b]), two_vectors, True),
    "stack": (lambda a, b: np.stack([a, b]), two, True), "ravel": (lambda a: a.ravel() * 1, matrix, True),
    "transpose": (lambda a: a.T + 0, matrix, True), "repeat": (lambda a: np.repeat(a, 3, axis=1), matrix, True),
    "cumsum": (lambda a: np.cumsum(a, axis=0), matrix, True), "matmul": (lambda a, b: a @ b, chain, True),
    "outer": (lambda a, b: np.outer(a, b), two_vectors, True), "cross": (lambda a, b: np.cross(a, b), threes, True),
    "convolve": (lambda a, b: np.convolve(a, b), two_vectors, False),
    "kernel": (lambda a: np.convolve(a, [1, 2, 1]), vector, True),
    "centred": (centred, matrix, True), "stencil": (stencil, matrix, True),
    "roll": (lambda a: np.roll(a, 1), vector, True),
    "inverse": (lambda a: np.linalg.inv(a @ a.T + np.eye(len(a))), matrix, True),
    "special": (special, vector, False), "threshold": (threshold, vector, False), "halves": (halves, matrix, False),
    "sort": (lambda a: np.sort(a), vector, False), "positive": (lambda a: a[a > 0.5], vector, False),
    "peak": (lambda a: a[: int(a.argmax()) + 1] + 0, vector, False), "step": (lambda a: a[::2] + 0, vector, True),
    "steps": (lambda a: a[1::2, ::-2] + 0, matrix, False), "thirds": (lambda a: a[::3] + 0, long, True),
    # integers that were given
    "tile by": (lambda a, k: np.tile(a, k), with_length, True),
    "repeat by": (lambda a, k: np.repeat(a, k), with_length, True),
    "broadcast to": (lambda a, k: np.broadcast_to(a, k) * 1, with_rows, True),
    "resize to": (lambda a, k: np.resize(a, k), with_two_lengths, False),
    "reshape to": (lambda a, k: a.reshape(k) * 1, factored, True), "NumPy's reshape": (np.reshape, factored, True),
    "roll by": (lambda a, k: np.roll(a, k), with_length, False), "head": (lambda a, k: a[:k].sum(), with_length, False),
    "tail": (lambda a, k: a[-k:] * 1, with_length, False), "pad by": (lambda a, k: np.pad(a, k), with_length, True),
    "triangle by": (lambda a, k: np.tril(a, k), matrix_and_length, False), "windows": (windows, with_length, False),
    "times": (lambda a, k: a * k, with_length, True),
    "full of": (lambda a, k: a + np.full(len(a), k), with_length, True),
    # integers of the function's own
    "first hundred": (lambda a: a[:20].sum(), short, False),
    "band": (lambda a: np.tril(a, 20).sum(axis=0), short_matrix, False),
    "rolled": (lambda a: np.roll(a, 20), short, False),
    "ramp": (lambda a: a[np.arange(len(a)) < 20].sum(), short, False),
    "cut": (lambda a: np.split(a, [20])[0].sum(), short, False), "remainder": (parity, vector, False),
    "kernel of 20": (lambda a: np.convolve(a, np.ones(20)), short, False),
    # lengths that are hashed, written as text, or counted
    "key of a dict": (lambda a: a[:: {40: -1, 41: -1, 42: -1}.get(len(a), 1)] * 1, longer, False),
    "member of a set": (lambda a: a[::-1] * 1 if len(a) in {40, 41, 42} else a * 1, longer, False),
    "shape in a set": (lambda a: a[::-1] * 1 if a.shape in {(40,), (41,), (42,)} else a * 1, longer, False),
    "text": (lambda a: a[::-1] * 1 if str(len(a))[0] == "4" else a * 1, longer, False),
    "formatted": (lambda a: a[: int(f"{len(a):03d}"[0]) + 2] * 1, longer, False),
    "digits": (lambda a: a[: len(f"{len(a)}")] * 1, longer, False),
    "length of a range": (lambda a: a[: len(range(40, len(a))) + 1].sum(), longer, False),
    "steps of a loop": (lambda a: a[: sum(1 for _ in range(40, len(a))) + 1].sum(), longer, False),
    "rows counted": (lambda a: a[: max(sum(1 for _ in a) - 40, 1)].sum(), longer, False),
    "rows listed": (lambda a: a[: max(len(list(a)) - 40, 1)].sum(), longer, False),
    "pairs counted": (lambda a: a[: max(len(list(zip(a, a, strict=True))) - 40, 1)].sum(), longer, False),
    "every fifth": (lambda a: sum(a[i] for i in range(len(a)) if i % 5 == 0) + a[0], vector, False),
}  # fmt: skip


def seed_of(name: str) -> int:
    return sum(map(ord, name))


def told(memory: ReuseIndex, function: Callable[..., Any], args: tuple[Any, ...]) -> str | None:
    """Compute the lineage of a call; the level if it was known, which is compared."""
    found = captured(function, args, {}, parameters_of(function), "f", selection=False)
    assert found.call_record is not None
    known = memory.find(found.call_record, tuple(each.shape for each in found.outputs))
    if known is None:
        memory.learn(found)
        return None
    assert same(known.edges, found.edges), (known.level, [np.shape(each) or each for each in args])
    return known.level


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore::whence.arrays.recording.track.LineageLost")
def test_no_reuse_is_wrong(name: str) -> None:
    function, arguments, general = FUNCTIONS[name]
    rng = np.random.default_rng(seed_of(name))
    shelf = Shelf()
    memory = ReuseIndex(shelf, name)
    calls = 90 if "k" in parameters_of(function) else 45
    levels = [told(memory, function, arguments(rng)) for _ in range(calls)]
    if general:
        assert "gen" in levels
        assert "confirmed" in {each.state for each in shelf.rules.values() if each.level == "gen"}
    again = ReuseIndex(shelf, name)  # another program
    levels = [told(again, function, arguments(rng)) for _ in range(8)]
    assert set(levels) - {None} or not general


def test_values_that_decide_are_part_of_the_call_record() -> None:
    for name in ("sort", "positive"):
        function, arguments, _ = FUNCTIONS[name]
        found = captured(function, arguments(np.random.default_rng(0)), {}, ("a",), name, selection=False)
        assert found.call_record is not None
        assert found.call_record.values


def test_a_wrong_rule_is_taken_away() -> None:
    memory = ReuseIndex(Shelf(), "f")
    x = np.ones(4)
    right = captured(lambda a: a[::-1] + 1, (x,), {}, ("a",), "f", selection=False)
    other = captured(lambda a: a + 1, (x,), {}, ("a",), "f", selection=False)
    assert right.call_record is not None
    memory.learn(replace(right, edges=other.edges))  # as if a rule of NumPy's functions had been wrong
    assert memory.find(right.call_record, ((4,),)) is not None
    assert not memory.verify(right)
    assert memory.find(right.call_record, ((4,),)) is None


def test_arrays_that_are_the_same_one_are_another_call_where_one_is_written() -> None:
    def shifted(a: Any, b: Any) -> Any:
        a[1:] = b[:-1] + 0
        return b + 0

    memory = ReuseIndex(Shelf(), "f")
    x, y = np.ones(4), np.zeros(4)
    assert told(memory, shifted, (x, x)) is None
    assert told(memory, shifted, (x, y)) is None
    assert told(memory, shifted, (y, y)) == "dim"


def test_a_function_that_always_does_something_else_does_not_fill_the_log() -> None:
    shelf = Shelf()
    memory = ReuseIndex(shelf, "f")
    masks = [np.array([bool(n >> bit & 1) for bit in range(9)]) for n in range(1, 400)]
    for mask in masks:
        assert told(memory, lambda a, mask=mask: a[mask] * 1, (np.arange(9.0),)) is None
    assert len(shelf.rules) < 600  # of 798
    assert told(memory, lambda a: a[masks[-1]] * 1, (np.arange(9.0),)) == "dim"  # this program knows them all


def test_memory_is_bounded_by_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    from whence.arrays import reuse

    monkeypatch.setattr(reuse, "MOST_ROWS", 40)
    memory = ReuseIndex(Shelf(), "f")
    rng = np.random.default_rng(0)
    calls = [(rng.random(16),) for _ in range(6)]
    for args in calls:
        told(memory, lambda a: np.sort(a) * 1, args)
    assert memory._rows <= 40
    assert memory._rows == sum(each.rows for each in memory._known.values())
    assert told(memory, lambda a: np.sort(a) * 1, calls[-1]) == "base"
