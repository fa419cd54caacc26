"""Regular operations take the same few rows at any size, and a file of less than a kilobyte."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import whence as wh
from whence.testing import operations as ops
from whence.testing.operations import Raw

# name: (most rows allowed, the operation at a size). Sizes have no common structure (20 and 173 rows, say), so that
# a lucky divisor cannot hide a row count that grows.
REGULAR: dict[str, tuple[int, Callable[[int], Raw]]] = {
    "negative": (1, lambda n: ops.negative((n, n + 3))),
    "add, broadcast over rows": (1, lambda n: ops.add((n, 1), (n + 2,))),
    "add, broadcast over columns": (1, lambda n: ops.add((n,), (n + 2, n))),
    "broadcast a scalar": (1, lambda n: ops.broadcast((), (n, n + 1))),
    "sum of one axis": (1, lambda n: ops.sum_over((n, n + 3), 1)),
    "sum of the first axis": (1, lambda n: ops.sum_over((n, n + 3), 0)),
    "sum of two axes of three": (1, lambda n: ops.sum_over((n, 5, n + 3), (0, 2))),
    "sum of everything": (1, lambda n: ops.sum_over((n, n + 3))),
    "all to all": (1, lambda n: ops.all_to_all((n,), (n + 3,))),
    "flip": (1, lambda n: ops.flip((n,))),
    "flip of two axes": (1, lambda n: ops.flip((n, n + 3))),
    "flip of one axis of three": (1, lambda n: ops.flip((n, 4, n + 3), 1)),
    "rot90": (1, lambda n: ops.rot90((n, n + 3))),
    "rot270": (1, lambda n: ops.rot90((n, n + 3), 3)),
    "[::2]": (1, lambda n: ops.sliced((n,), slice(None, None, 2))),
    "[3::7, ::-3]": (1, lambda n: ops.sliced((n, n + 3), slice(3, None, 7), slice(None, None, -3))),
    "[i, :]": (1, lambda n: ops.sliced((n, n + 3), 4, slice(None))),
    "written with a step": (1, lambda n: ops.assigned((n,), (3 * n + 1,), slice(1, None, 3))),
    "repeat": (1, lambda n: ops.repeat((n,), 3)),
    "repeat on axis 0": (1, lambda n: ops.repeat((n, n + 3), 2, 0)),
    "upsample": (1, lambda n: ops.upsample((n, n + 3), (2, 3))),
    "pool": (1, lambda n: ops.pool((3 * n, 2 * n + 2), (3, 2))),
    "ravel": (1, lambda n: ops.reshape((n, n + 3), (n * (n + 3),))),
    "unravel": (1, lambda n: ops.reshape((n * (n + 3),), (n, n + 3))),
    "reshape": (9, lambda n: ops.reshape((n, 6), (3, 2 * n))),
    "reshape with unrelated radices": (9, lambda n: ops.reshape((10 * n, 21), (14 * n, 15))),
    "transpose of rank 2": (1, lambda n: ops.transpose((n, n + 3))),
    "transpose of rank 3": (1, lambda n: ops.transpose((n, 3, n + 3), (2, 0, 1))),
    "transpose of rank 4": (1, lambda n: ops.transpose((n, 2, n + 3, 3), (3, 2, 1, 0))),
    "transpose, then ravel": (9, lambda n: ops.transpose_reshape((n, n + 3), (1, 0), (n * (n + 3),))),
    "Fortran ravel": (9, lambda n: ops.reshape((n, n + 3), (n * (n + 3),), "F")),
    "diag extracted": (1, lambda n: ops.diag_extract((n, n))),
    "diag constructed": (1, lambda n: ops.diag_construct((n,))),
    "tril": (9, lambda n: ops.tril((n, n))),
    "triu": (9, lambda n: ops.triu((n, n + 3), 1)),
    "cumsum": (9, lambda n: ops.cumsum((n,))),
    "cumsum of axis 1": (9, lambda n: ops.cumsum((7, n), 1)),
    "convolve, full": (9, lambda n: ops.convolve((n,), 5)),
    "convolve, same": (9, lambda n: ops.convolve((n,), 5, "same")),
    "convolve, valid": (1, lambda n: ops.convolve((n,), 5, "valid")),
    "image filter 3 x 3": (9, lambda n: ops.convolve_nd((n, n + 3), (3, 3))),
    "image filter, valid": (1, lambda n: ops.convolve_nd((n, n + 3), (3, 3), "valid")),
    "diff": (1, lambda n: ops.diff((n,))),
    "gradient": (9, lambda n: ops.gradient((n,))),
    "tile 2 x 2": (4, lambda n: ops.tile((n, n + 3), (2, 2))),
    "roll": (2, lambda n: ops.roll((n,), 5)),
    "pad": (1, lambda n: ops.pad((n, n + 3), 2)),
    "pad by edge": (9, lambda n: ops.pad((n, n + 3), 2, "edge")),
    "concatenate": (1, lambda n: ops.concatenate((n, n + 3), 1, 4, 5)),
    "stack": (1, lambda n: ops.stack((n, n + 3), 1, 1, 3)),
    "one-hot": (1, lambda n: ops.one_hot((n,), n + 3)),
    "outer": (1, lambda n: ops.outer_right((n,), n + 3)),
    "kron, left": (1, lambda n: ops.kron_left((n, n + 3), (2, 3))),
    "kron, right": (9, lambda n: ops.kron_right((n, n + 3), (2, 3))),
    "matrix x vector": (1, lambda n: ops.matvec((n, n + 3))),
    "sorted bins": (4, lambda n: ops.bins((n,), 4, ordered=True)),
}
MATMUL: dict[str, tuple[int, Callable[[int], Raw]]] = {
    "matmul left": (1, lambda n: ops.matmul_left((n, n + 1), n + 2)),
    "matmul right": (1, lambda n: ops.matmul_right((n, n + 1), n + 2)),
    "batched matmul": (1, lambda n: ops.matmul_left((3, n, n + 1), n + 2)),
}


def check(make: Callable[[int], Raw], small: int, large: int, most: int) -> None:
    few, many = make(small), make(large)
    assert len(many.tuples) > len(few.tuples)
    first, second = wh.compress(*few), wh.compress(*many)
    assert len(first) == len(second), "the number of rows must not depend on the size"
    assert len(second) <= most
    assert len(second.to_bytes()) < 1000
    assert second.count() == len(many.tuples)
    assert np.array_equal(second.to_array(), many.tuples)


@pytest.mark.parametrize("name", REGULAR)
def test_rows_do_not_grow(name: str) -> None:
    most, make = REGULAR[name]
    check(make, 20, 173, most)


@pytest.mark.parametrize("name", MATMUL)
def test_rows_of_products_do_not_grow(name: str) -> None:
    most, make = MATMUL[name]
    check(make, 11, 43, most)


@pytest.mark.parametrize("name", [*REGULAR, *MATMUL])
def test_order_and_duplicates_cost_no_rows(name: str) -> None:
    most, make = {**REGULAR, **MATMUL}[name]
    raw = make(20)
    rows = np.random.default_rng(0).permutation(np.concatenate([raw.tuples, raw.tuples[::7]]))
    assert len(wh.compress(rows, raw.out_shape, raw.in_shape)) <= most


@pytest.mark.parametrize("name", [*REGULAR, *MATMUL])
def test_the_inverse_costs_no_rows(name: str) -> None:
    most, make = {**REGULAR, **MATMUL}[name]
    assert len(wh.compress(*make(20)).inverse) <= most


@pytest.mark.parametrize("name", [*REGULAR, *MATMUL])
def test_chunks_cost_no_rows(name: str) -> None:
    most, make = {**REGULAR, **MATMUL}[name]
    raw = make(120) if name in REGULAR else make(30)
    chunks = iter(np.array_split(raw.tuples, 3))
    assert len(wh.compress(chunks, raw.out_shape, raw.in_shape)) <= most
