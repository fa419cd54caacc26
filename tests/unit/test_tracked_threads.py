"""Threads that capture at once share one arena and do not disturb each other."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import whence as wh


def work(number: int) -> int:
    rng = np.random.default_rng(number)
    shape = (60 + number, 80)
    plain = rng.random(shape)
    name = f"thread {number}"
    x = wh.tracked(plain, name)
    checked = 0
    for _ in range(15):
        order = rng.permutation(shape[0])
        y = x[order] + x * 2.0
        z = np.sort(y, axis=1).sum(axis=1)
        stencil = x[:-2, :-2] + x[1:-1, 1:-1] + x[2:, 2:]
        i = int(rng.integers(shape[0]))
        rows = sorted({i, int(order[i])})
        assert y[i, 3].parents == [(name, (r, 3)) for r in rows]
        assert z[i].parents == [(name, (r, c)) for r in rows for c in range(80)]
        assert wh.relation_of(stencil, name).count() == 3 * stencil.size
        assert wh.relation_of(x @ plain.T, name).count() == shape[0] * shape[0] * 80
        checked += 1
    return checked


def test_captures_in_threads() -> None:
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(8))) == [15] * 8
