"""Random programs that share one memory: whatever is reused is what the program on cells that remember gives."""

from __future__ import annotations

import threading
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from whence.arrays import rules
from whence.arrays.recording.calls import captured
from whence.arrays.reuse import ReuseIndex
from whence.arrays.reuse.learned import same
from whence.arrays.rules._rules import RULES
from whence.arrays.tracing import _operations, _traced
from whence.errors import NoRule
from whence.testing import cells
from whence.testing.shelf import Shelf

OPERATIONS: list[Any] = [
    lambda x, k: x + x[::-1],
    lambda x, k: np.cumsum(x, axis=0),
    lambda x, k: np.roll(x, k),
    lambda x, k: np.roll(x, len(x) // 2 - k),
    lambda x, k: x[k % len(x) :],
    lambda x, k: x[: min(len(x), 4 * k + 1)],
    lambda x, k: x[:: k + 1],
    lambda x, k: x[np.arange(len(x))[::-1] // (k + 1)],
    lambda x, k: x[np.arange(len(x)) % (k + 2) == 0],
    lambda x, k: np.concatenate([x, x[:k]]),
    lambda x, k: np.repeat(x, k + 1)[: len(x)],
    lambda x, k: written(x, slice(k % len(x), None), x[0]),
    lambda x, k: written(x, [k % len(x), 0], x[-1]),
    lambda x, k: through_a_view(x, k),
    lambda x, k: x[: len(x) // 2 * 2].reshape(-1, 2).sum(axis=k % 2),
    lambda x, k: np.outer(x[:3], x[:k] if k else x[:1]).ravel(),
    lambda x, k: x - x.sum(),
    lambda x, k: x[::-1] if len(x) > 9 + k else x,
]


def written(x: Any, where: Any, value: Any) -> Any:
    made = x * 1
    made[where] = value
    return made


def through_a_view(x: Any, k: int) -> Any:
    made = x + 0
    part = made[k % len(made) :]
    part[...] = part[::-1] + 0
    return made + part[0]


steps = st.lists(st.tuples(st.integers(0, len(OPERATIONS) - 1), st.integers(0, 3)), min_size=1, max_size=4)
memory = ReuseIndex(Shelf(), "f")
levels: Counter[str] = Counter()


@settings(max_examples=120, deadline=None)
@given(steps, st.lists(st.integers(2, 24), min_size=4, max_size=12))
def test_programs_that_share_a_memory(program: list[tuple[int, int]], lengths: list[int]) -> None:
    def f(a: Any) -> Any:
        for which, k in program:
            a = OPERATIONS[which](a, k)
            if not 0 < len(a) < 60:
                a = a[:60] if len(a) else np.zeros_like(a, shape=(1,))
        return a * 1

    for n in lengths:
        found = captured(f, (np.arange(1.0, n + 1),), {}, ("a",), "f", selection=False, memory=memory)
        if found.reused:
            levels["reused"] += 1
        else:
            memory.learn(found)
        tuples = {tuple(row) for edge in found.edges for row in edge.relation.to_array().tolist()}
        assert tuples == cells.run(f, (n,))[0][0], (program, n, found.reused)


def test_some_of_them_were_reused() -> None:
    test_programs_that_share_a_memory()
    assert levels["reused"] > 50


def test_functions_with_rules_have_names_of_their_own() -> None:
    known = Counter(map(rules.name_of, set(RULES)))
    assert [name for name, count in known.items() if count > 1] == []


def test_what_threads_did_has_no_call_record() -> None:
    def f(a: Any) -> Any:
        made: list[Any] = []
        thread = threading.Thread(target=lambda: made.append(a[::-1] * 1))
        thread.start()
        thread.join()
        return made[0]

    found = captured(f, (np.arange(3.0),), {}, ("a",), "f", selection=False)
    assert found.call_record is None
    assert found.result.tolist() == [2.0, 1.0, 0.0]


READING: list[Any] = [
    lambda x, k: np.sort(x),
    lambda x, k: np.where(x > k, x, -x),
    lambda x, k: x[x > k] if (x > k).any() else x,
    lambda x, k: x[np.argsort(x)][::-1],
    lambda x, k: np.take(x, np.array([0, k, 1]) % len(x)),
    lambda x, k: np.median(np.stack([x, x[::-1]]), axis=0),
    lambda x, k: np.unique(x, return_counts=True)[0],
    lambda x, k: np.split(x, np.array([k % len(x) + 1]))[0] * 1,
    lambda x, k: sorted_in_place(x, k),
]


def sorted_in_place(x: Any, k: int) -> Any:
    made = x * 1
    made[...] = np.sort(made)
    order = np.arange(len(x))[::-1] * 1
    found = made[order]
    order[:] = 0
    made[0] = x[k % len(x)]
    return found + made


@pytest.mark.parametrize("selection", [False, True])
def test_rules_that_are_asked_later_say_the_same(monkeypatch: pytest.MonkeyPatch, selection: bool) -> None:
    monkeypatch.setattr(_operations, "LARGE", 0)
    monkeypatch.setattr(_traced, "LARGE", 0)
    own = ReuseIndex(Shelf(), "f")
    rng = np.random.default_rng(0)
    reused = 0
    for _ in range(150):
        program = [(int(rng.integers(len(READING + OPERATIONS))), int(rng.integers(4))) for _ in range(3)]

        def f(a: Any, program: list[tuple[int, int]] = program) -> Any:
            for which, k in program:
                a = (READING + OPERATIONS)[which](a, k)
            return a * 1

        for x in (rng.permutation(7.0 + np.arange(6)), rng.random(9) * 4, np.arange(6.0)):
            for _ in range(2):
                options: dict[str, Any] = {"selection": selection}
                try:
                    found = captured(f, (x,), {}, ("a",), "f", **options, memory=own)
                except (NoRule, ValueError, IndexError, ZeroDivisionError):
                    continue  # too short by now, or lineage that no rule can unite
                truth = captured(f, (x,), {}, ("a",), "f", **options)
                assert same(found.edges, truth.edges), program
                assert np.array_equal(found.result, truth.result)
                reused += found.reused
                if not found.reused:
                    own.learn(found)
    assert reused > 100
