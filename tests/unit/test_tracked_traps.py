"""The ways in which a dtype of one's own crashes NumPy or loses lineage, each tried in a process of its own."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import pytest

BEGIN = """
import numpy as np, whence as wh
from whence.arrays import values, watch
x = wh.tracked(np.arange(12.0).reshape(3, 4), "A")
def parents(cell): return [index for _, index in cell.parents]
"""

TRAPS = {
    "np.empty holds no handles yet": """
        y = np.empty((1000, 1000), dtype=wh.TrackedFloat64)
        assert (y + y).sum().parents == []
        assert np.empty_like(x)[0, 0].parents == []
        assert np.zeros(3, dtype=wh.TrackedFloat64)[0].parents == []
    """,
    "nonzero": "assert len(np.nonzero(x)[0]) == 11 and np.count_nonzero(x) == 11 and np.flatnonzero(x)[0] == 1",
    "place and putmask": """
        y = x.copy(); np.place(y, y > 5, [0.0]); assert values(y).max() == 5
        y = x.copy(); np.putmask(y, y > 5, x[::-1]); assert parents(y[2, 0]) == [(0, 0)]
        y = x.copy(); np.copyto(y, x[::-1], where=values(x) > 5); assert parents(y[2, 0]) == [(0, 0)]
        y = x.copy(); y.put([0, 1], [7.0, 8.0]); assert parents(y[0, 0]) == []
    """,
    "sorts of every kind": """
        for kind in ("quicksort", "heapsort", "stable", None):
            assert parents(np.sort(x[::-1], axis=0, kind=kind)[0, 1]) == [(0, 1)]
            assert np.argsort(x, axis=None, kind=kind).tolist() == list(range(12))
        np.lexsort((x[0], x[1])); np.partition(x, 1); np.argpartition(x, 1); np.searchsorted(x[0], 1.5); np.unique(x)
    """,
    "norm, gradient, roots, interp do not drop lineage": """
        x = np.asarray(x)  # the dtype alone, without the rules of its array class
        with watch() as lost:
            assert parents(np.gradient(x[0])[0]) == [(0, 0), (0, 1)]
            for work in (lambda: np.linalg.norm(x), lambda: np.roots(x[0]), lambda: np.interp(x[0], [0, 1], [0, 1]),
                         lambda: np.linalg.inv(x[:3, :3]), lambda: np.linalg.qr(x), lambda: np.polyfit(x[0], x[1], 1),
                         lambda: np.bincount([0, 1], weights=x[0, :2]), lambda: np.einsum("ij->i", x)):
                try:
                    made = work()
                except (TypeError, np.exceptions.DTypePromotionError):
                    continue
                assert getattr(made, "dtype", None) == wh.TrackedFloat64, made
        assert lost.cast_cells == 0, lost
    """,
    "older code paths": """
        assert parents(np.dot(x, x.T)[0, 1]) == [(i, j) for i in (0, 1) for j in range(4)]
        np.inner(x, x); np.correlate(x[0], x[1], "full"); np.convolve(x[0], x[1]); np.vdot(x, x); np.cov(x)
        np.tensordot(x, x, 2); np.kron(x, x); np.outer(x, x); np.trace(x); np.cross(x[:, :3], x[:, 1:]); np.corrcoef(x)
    """,
    "arange, linspace, full, clip, select, piecewise": """
        assert parents(np.full(3, x[0, 1])[2]) == [(0, 1)]
        np.arange(3, dtype=wh.TrackedFloat64); np.linspace(x[0, 0], x[2, 3], 4); np.clip(x, 1, 2)
        assert parents(np.select([values(x) > 3], [x], 0.0)[2, 2]) == [(2, 2)]
        np.ones(2, dtype=wh.TrackedFloat64); np.eye(2, dtype=wh.TrackedFloat64); np.full_like(x, 2.0)
    """,
    "unaligned and strided memory": """
        even = np.zeros(5, dtype=np.dtype([("a", "u1"), ("b", wh.TrackedFloat64)], align=True))
        even["b"] = x.ravel()[:5]
        assert (even["b"] + 1.0).sum().value == 15.0
        assert len((even["b"] + even["b"]).sum().parents) == 5
        odd = np.zeros(5, dtype=[("a", "u1"), ("b", wh.TrackedFloat64)])
        try:
            odd["b"] = x.ravel()[:5]
            raise AssertionError("cells at odd addresses are written")
        except wh.errors.BadType as error:
            assert "cut tracked cells" in str(error)
    """,
    "broadcasting, zero strides, zero sizes": """
        y = np.broadcast_to(x[0], (1000, 4)); assert len(y.sum().parents) == 4
        assert (x[:, None] + x[None]).shape == (3, 3, 4)
        assert x[:0].sum(axis=0).shape == (4,) and (x[:, :0] @ x[:, :0].T)[0, 0].parents == []
        assert np.concatenate([x[:0], x]).shape == (3, 4)
    """,
    "object arrays and back": """
        o = x.astype(object); assert o[0, 1].parents == [("A", (0, 1))]
        back = np.array(o.tolist(), dtype=wh.TrackedFloat64); assert parents(back[1, 1]) == [(1, 1)]
        assert parents(np.array([x[0, 0], x[0, 1]]).sum()) == [(0, 0), (0, 1)]
    """,
    "iterators and views of all kinds": """
        it = np.nditer([x, None], flags=["buffered"], op_dtypes=[wh.TrackedFloat64] * 2, casting="safe",
                       op_flags=[["readonly"], ["writeonly", "allocate"]])
        for a, b in it: b[...] = a
        assert parents(it.operands[1][2, 1]) == [(2, 1)]
        assert parents(x.flat[5]) == [(1, 1)]; x.flat[3] = x[2, 2]; assert parents(x[0, 3]) == [(2, 2)]
        np.lib.stride_tricks.sliding_window_view(x, 2, axis=1).sum(axis=-1)
        x.tolist(); x.item(0); repr(x); str(x); x.reshape(-1, order="F"); np.moveaxis(x, 0, 1); np.array_equal(x, x)
    """,
    "apply along, vectorize, fromiter": """
        assert parents(np.apply_along_axis(lambda row: row.sum(), 1, x)[1]) == [(1, j) for j in range(4)]
        assert parents(np.fromiter((cell for cell in x[0]), dtype=wh.TrackedFloat64, count=4)[2]) == [(0, 2)]
    """,
    "fork after use": """
        import os
        before = (x + x.T[:3, :3].sum()).sum()
        child = os.fork()
        if child == 0:
            ok = len((x * x[::-1]).sum(axis=0)[0].parents) == 3
            os._exit(0 if ok else 1)
        assert os.waitpid(child, 0)[1] == 0
    """,
    "deep chains of irregular unions": """
        import sys
        rng = np.random.default_rng(0)
        y = wh.tracked(rng.random(2000), "B"); z = y
        for _ in range(200): z = z + y[rng.permutation(2000)]
        cell = z[0]; assert 100 < len(cell.parents) <= 201, len(cell.parents)
        assert wh.relation_of(z[:5], "B").count() == sum(len(c.parents) for c in z[:5])
    """,
}


@pytest.mark.parametrize("trap", TRAPS)
def test_trap(trap: str) -> None:
    code = BEGIN + textwrap.dedent(TRAPS[trap])
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-X", "faulthandler", "-c", code], capture_output=True, text=True, timeout=120
    )
    assert run.returncode == 0, run.stderr[-3000:]
