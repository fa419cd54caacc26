"""Rules of known operations against NumPy run on cells that remember where they came from."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from whence.arrays import rules
from whence.testing import cells

Rng = np.random.Generator
Shape = tuple[int, ...]


class Draw:
    """Random shapes and arguments for one call."""

    def __init__(self, rng: Rng) -> None:
        self.rng = rng

    def whole(self, low: int, high: int) -> int:
        return int(self.rng.integers(low, high + 1))

    def shape(self, rank: int, low: int = 1, high: int = 4) -> Shape:
        return tuple(self.whole(low, high) for _ in range(rank))

    def any(self, low: int = 1, high: int = 4) -> Shape:
        return self.shape(self.whole(1, 3), low, high)

    def axis(self, shape: Shape) -> int:
        return self.whole(-len(shape), len(shape) - 1)


def plain(
    function: Any,
    *shapes: Shape,
    lead: tuple[Any, ...] = (),
    args: tuple[Any, ...] = (),
    listed: bool = False,
    **kwargs: Any,
) -> Any:
    """A call: arrays of these shapes (as one list, if said so) between other arguments."""
    return list(shapes), function, lead, args, listed, kwargs


def elementwise(d: Draw) -> Any:
    shape = d.any()
    other = tuple(side if d.whole(0, 1) else 1 for side in shape)[d.whole(0, len(shape) - 1) :]
    return plain(np.multiply, *((shape, other) if d.whole(0, 1) else (other, shape)))


def transpose(d: Draw) -> Any:
    shape = d.any()
    return plain(np.transpose, shape, args=(tuple(int(i) for i in d.rng.permutation(len(shape))),))


def reduce(d: Draw) -> Any:
    shape = d.any()
    axis = (
        None if d.whole(0, 3) == 0 else tuple(int(i) for i in d.rng.permutation(len(shape))[: d.whole(1, len(shape))])
    )
    return plain(np.sum, shape, axis=axis, keepdims=bool(d.whole(0, 1)))


def along(function: Any, low: int = 1) -> Callable[[Draw], Any]:
    def make(d: Draw) -> Any:
        shape = d.any(low)
        return plain(function, shape, axis=d.axis(shape))

    return make


def reshape(d: Draw) -> Any:
    shape = d.any()
    size = int(np.prod(shape))
    first = next(n for n in (4, 3, 2, 1) if size % n == 0)
    return plain(np.reshape, shape, args=((first, -1),), order="F" if d.whole(0, 1) else "C")


def pad(mode: str) -> Callable[[Draw], Any]:
    def make(d: Draw) -> Any:
        shape = d.any(2)
        widths = [(d.whole(0, 3), d.whole(0, 3)) for _ in shape]
        return plain(np.pad, shape, args=(widths,), mode=mode)

    return make


def concatenate(d: Draw) -> Any:
    shape = d.any()
    axis = d.axis(shape)
    at = axis % len(shape)
    shapes = [(*shape[:at], d.whole(0, 3), *shape[at + 1 :]) for _ in range(3)]
    return plain(np.concatenate, *shapes, listed=True, axis=axis)


def stacked(function: Any, ranks: tuple[int, ...]) -> Callable[[Draw], Any]:
    def make(d: Draw) -> Any:
        shape = d.shape(ranks[d.whole(0, len(ranks) - 1)])
        return plain(function, shape, shape, listed=True)

    return make


def convolve(function: Any) -> Callable[[Draw], Any]:
    def make(d: Draw) -> Any:
        return plain(function, (d.whole(1, 6),), (d.whole(1, 6),), mode=("full", "same", "valid")[d.whole(0, 2)])

    return make


def dot(d: Draw) -> Any:
    k = d.whole(1, 3)
    right = (k,) if d.whole(0, 1) else (*d.shape(d.whole(0, 1)), k, d.whole(1, 3))
    return plain(np.dot, (*d.shape(d.whole(0, 2)), k), right)


def matmul(d: Draw) -> Any:
    m, k, n = d.shape(3)
    batch = d.shape(d.whole(0, 2))
    other = tuple(side if d.whole(0, 1) else 1 for side in batch)[d.whole(0, len(batch)) :]
    return plain(np.matmul, (*batch, m, k) if d.whole(0, 3) else (k,), (*other, k, n) if d.whole(0, 3) else (k,))


def tensordot(d: Draw) -> Any:
    a, b, c, e = d.shape(4)
    return plain(np.tensordot, (a, b, c), (c, e, a), axes=((0, 2), (2, 0)))


def einsum(d: Draw) -> Any:
    i, j, k = d.shape(3)
    texts: list[tuple[str, list[Shape]]] = [
        ("ij,jk->ik", [(i, j), (j, k)]), ("ij->ji", [(i, j)]), ("ii->i", [(i, i)]), ("ii", [(i, i)]),
        ("ij,ij->i", [(i, j), (i, j)]), ("i,j,k->kij", [(i,), (j,), (k,)]), ("...ij,...j->...i", [(k, i, j), (k, j)]),
        ("iij,j->i", [(i, i, j), (j,)]),
    ]  # fmt: skip
    text, shapes = texts[d.whole(0, 7)]
    return plain(np.einsum, *shapes, lead=(text,))


def cross(d: Draw) -> Any:
    n = d.whole(1, 3)
    return plain(np.cross, (n, 3), (3,) if d.whole(0, 1) else (n, 3))


def diff(d: Draw) -> Any:
    shape = d.any()
    return plain(np.diff, shape, args=(d.whole(1, 3),), axis=d.axis(shape))


def index(d: Draw) -> Any:
    shape = d.shape(3, 1, 5)
    steps = [slice(None), slice(None, None, -1), slice(1, None, 2), slice(None, None, -2), d.whole(0, 0), slice(0, 0)]
    key: list[Any] = [steps[d.whole(0, 5)] for _ in range(d.whole(1, 3))]
    if d.whole(0, 1):
        key.insert(d.whole(0, len(key)), None)
    return plain("index", shape, args=(tuple(key),))


def fancy(d: Draw) -> Any:
    shape = d.shape(2, 2, 5)
    rows = d.rng.integers(0, shape[0], d.whole(0, 6))
    keys = [rows, (rows, d.rng.integers(0, shape[1], len(rows))), (slice(None), d.rng.random(shape[1]) < 0.5)]
    return plain("index", shape, args=(keys[d.whole(0, 2)],))


def sized(
    function: Any, rank: int, low: int = 1, high: int = 5, **options: Callable[[Draw], Any]
) -> Callable[[Draw], Any]:
    def make(d: Draw) -> Any:
        return plain(function, d.shape(rank, low, high), **{key: option(d) for key, option in options.items()})

    return make


def pair(function: Any, ranks: tuple[int, int]) -> Callable[[Draw], Any]:
    return lambda d: plain(function, d.shape(ranks[0]), d.shape(ranks[1]))


def rolled(d: Draw) -> Any:
    shape = d.any()
    if d.whole(0, 1):
        return plain(np.roll, shape, args=(d.whole(-9, 9),))
    return plain(np.roll, shape, args=((d.whole(-5, 5), d.whole(-5, 5)),), axis=(0, d.axis(shape)))


def take(d: Draw) -> Any:
    shape = d.shape(2, 2, 5)
    axis = d.axis(shape)
    return plain(np.take, shape, args=(d.rng.integers(0, shape[axis], d.shape(d.whole(0, 2), 0)),), axis=axis)


def inserted(d: Draw) -> Any:
    shape = d.shape(2, 2)
    return plain(np.insert, shape, args=(d.whole(0, 2), 7.0), axis=d.axis(shape))


CASES: dict[str, Callable[[Draw], Any]] = {
    "elementwise": elementwise, "transpose": transpose, "sum": reduce, "reshape": reshape, "concatenate": concatenate,
    "stack": lambda d: plain(np.stack, *([d.shape(2)] * 3), listed=True, axis=d.whole(-3, 2)),
    "vstack": stacked(np.vstack, (1, 2, 3)), "hstack": stacked(np.hstack, (1, 2, 3)),
    "dstack": stacked(np.dstack, (1, 2, 3)), "column_stack": stacked(np.column_stack, (1, 2)),
    "append": lambda d: plain(np.append, d.shape(2), d.shape(1)),
    "cumsum": along(np.cumsum), "cumsum flat": sized(np.cumsum, 2), "flip": along(np.flip),
    "rot90": sized(np.rot90, 3, k=lambda d: d.whole(-3, 3)), "roll": rolled,
    "moveaxis": sized(np.moveaxis, 3, source=lambda d: d.whole(0, 2), destination=lambda d: d.whole(-3, 2)),
    "swapaxes": lambda d: plain(np.swapaxes, d.shape(3), args=(d.whole(0, 2), d.whole(0, 2))),
    "ravel": sized(np.ravel, 2, order=lambda d: "CF"[d.whole(0, 1)]),
    "squeeze": lambda d: plain(np.squeeze, (1, d.whole(1, 3), 1)),
    "expand_dims": along(np.expand_dims),
    "broadcast_to": lambda d: plain(np.broadcast_to, (3, 1), args=((d.whole(1, 3), 3, d.whole(1, 4)),)),
    "repeat": sized(np.repeat, 2, repeats=lambda d: d.whole(0, 3), axis=lambda d: (None, 0, 1)[d.whole(0, 2)]),
    "repeat each": lambda d: plain(np.repeat, (2, 3), args=(d.rng.integers(0, 4, 3),), axis=1),
    "tile": sized(np.tile, 2, reps=lambda d: d.shape(d.whole(1, 3))),
    "pad constant": pad("constant"), "pad edge": pad("edge"), "pad wrap": pad("wrap"), "pad reflect": pad("reflect"),
    "pad symmetric": pad("symmetric"), "diagonal": sized(np.diagonal, 2, offset=lambda d: d.whole(-1, 1)),
    "diag of matrix": sized(np.diag, 2, k=lambda d: d.whole(-1, 1)),
    "diag of vector": sized(np.diag, 1, k=lambda d: d.whole(-3, 3)),
    "diagflat": sized(np.diagflat, 2, high=3, k=lambda d: d.whole(-2, 2)),
    "tril": sized(np.tril, 2, k=lambda d: d.whole(-5, 5)), "triu": sized(np.triu, 3, k=lambda d: d.whole(-5, 5)),
    "trace": sized(np.trace, 3, offset=lambda d: d.whole(-1, 1)),
    "diff": diff, "ediff1d": sized(np.ediff1d, 2),
    "ediff1d with ends": lambda d: plain(np.ediff1d, d.shape(1), d.shape(1), d.shape(1)),
    "convolve": convolve(np.convolve), "correlate": convolve(np.correlate),
    "dot": dot, "matmul": matmul, "inner": lambda d: plain(np.inner, (2, 3), (*d.shape(d.whole(0, 2)), 3)),
    "outer": pair(np.outer, (1, 2)), "vdot": lambda d: plain(np.vdot, (2, 3), (6,)), "kron": pair(np.kron, (1, 2)),
    "kron of matrices": pair(np.kron, (2, 2)), "tensordot": tensordot, "einsum": einsum, "cross": cross,
    "multi_dot": lambda d: plain(np.linalg.multi_dot, (2, 3), (3, 4), (4, 2), listed=True),
    "index": index, "fancy": fancy, "take": take, "insert": inserted,
    "compress": lambda d: plain(np.compress, (4, 3), lead=(d.rng.random(4) < 0.5,), axis=0),
    "delete": lambda d: plain(np.delete, (4, 3), args=(d.whole(0, 3),), axis=0),
    "resize": lambda d: plain(np.resize, d.shape(2), args=(d.shape(2),)),
    "split": lambda d: plain(np.array_split, (d.whole(1, 7), 2), args=(d.whole(1, 3),)),
    "hsplit": lambda d: plain(np.hsplit, (2, 6), args=(d.whole(1, 1) * 3,)),
    "atleast_3d": sized(np.atleast_3d, 2), "block": lambda d: plain(np.block, (2, 3), (2, 1), listed=True),
    "meshgrid": lambda d: plain(np.meshgrid, *(d.shape(1) for _ in range(3)), indexing=("xy", "ij")[d.whole(0, 1)]),
    "vander": lambda d: plain(np.vander, (d.whole(1, 4),), args=(d.whole(1, 5),), increasing=bool(d.whole(0, 1))),
}  # fmt: skip


def both(made: Any) -> tuple[Any, Any, list[Any]]:
    """The oracle's answer, the rules' answer, the operands."""
    shapes, function, lead, args, listed, kwargs = made

    def call(*arrays: Any) -> Any:
        if function == "index":
            return np.asarray(arrays[0][args[0]], object)
        return function(*lead, *([list(arrays)] if listed else arrays), *args, **kwargs)

    arrays = [np.zeros(shape) for shape in shapes]
    expected = cells.run(call, *shapes)
    if function == "index":
        return expected, ([rules.Link(arrays[0], rules.indexed(shapes[0], args[0]))],), arrays
    given = (*lead, list(arrays), *args) if listed else (*lead, *arrays, *args)
    return expected, rules.lineage(function, given, kwargs), arrays


@pytest.mark.parametrize("name", CASES)
def test_rule_equals_numpy_run_on_cells(name: str) -> None:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    for _ in range(25):
        made = CASES[name](Draw(rng))
        expected, found, arrays = both(made)
        assert len(found) == len(expected), made
        for links, per_input in zip(found, expected, strict=True):
            for array, wanted in zip(arrays, per_input, strict=True):
                got: set[tuple[int, ...]] = set()
                for link in links:
                    if link.operand is array:
                        got |= {tuple(each) for each in link.relation.to_array().tolist()}
                        assert link.relation.in_shape == array.shape
                assert got == wanted, made


def perturbed(call: Callable[..., Any], arrays: list[Any]) -> list[list[set[tuple[int, ...]]]]:
    """Which output cells change when an input cell does: what lineage must hold at least."""

    def outputs(given: list[Any]) -> list[Any]:
        result = call(*given)
        return [np.asarray(each) for each in result] if isinstance(result, (tuple, list)) else [np.asarray(result)]

    before = outputs(arrays)
    found: list[list[set[tuple[int, ...]]]] = [[set() for _ in arrays] for _ in before]
    for number, array in enumerate(arrays):
        for cell in np.ndindex(array.shape):
            for change in (1e-3, -1e-3):
                given = [each.copy() for each in arrays]
                given[number][cell] += change
                for at, (old, new) in enumerate(zip(before, outputs(given), strict=True)):
                    changed = np.argwhere(np.abs(old - new) > 1e-13)
                    found[at][number] |= {(*map(int, index), *cell) for index in changed}
    return found


def regular(rng: Rng, *shape: int) -> Any:
    return rng.random(shape) + 3 * np.eye(shape[-2], shape[-1])


# (function, arrays, other arguments, whether a small change shows all of the lineage)
PERTURBED: list[tuple[Any, Callable[[Rng], list[Any]], dict[str, Any], bool]] = [
    (np.gradient, lambda r: [r.random((4, 5))], {"axis": 1, "edge_order": 2}, True),
    (np.gradient, lambda r: [r.random((4, 5))], {}, True),
    (np.gradient, lambda r: [r.random(5), np.cumsum(r.random(5) + 1)], {}, False),
    (np.linalg.inv, lambda r: [regular(r, 2, 3, 3)], {}, True),
    (np.linalg.solve, lambda r: [regular(r, 2, 3, 3), r.random((2, 3, 4))], {}, True),
    (np.linalg.solve, lambda r: [regular(r, 3, 3), r.random(3)], {}, True),
    (np.linalg.det, lambda r: [regular(r, 2, 3, 3)], {}, True),
    (np.linalg.pinv, lambda r: [r.random((3, 2))], {}, True),
    (np.linalg.svd, lambda r: [r.random((2, 3, 4))], {"full_matrices": False}, False),
    (np.linalg.qr, lambda r: [r.random((4, 3))], {}, False),
    (np.linalg.eigvalsh, lambda r: [regular(r, 3, 3)], {}, False),
    (np.linalg.lstsq, lambda r: [r.random((5, 2)), r.random((5, 3))], {"rcond": None}, False),
    (np.linalg.norm, lambda r: [r.random((3, 4))], {"axis": 1}, True),
    (np.cov, lambda r: [r.random((3, 4))], {}, True),
    (np.corrcoef, lambda r: [r.random((3, 4))], {"rowvar": False}, False),
    (np.fft.fft, lambda r: [r.random((3, 4))], {"n": 3}, True),
    (np.fft.rfft, lambda r: [r.random((3, 5))], {"axis": 0}, True),
    (np.fft.irfft, lambda r: [r.random((2, 4))], {}, False),
    (np.fft.fft2, lambda r: [r.random((2, 3, 4))], {}, True),
    (np.fft.fftn, lambda r: [r.random((2, 3))], {"s": (3, 2), "axes": (1, 0)}, True),
    (np.fft.fftshift, lambda r: [r.random((3, 4))], {}, True),
    (np.fft.ifftshift, lambda r: [r.random((3, 4))], {"axes": 0}, True),
    (np.sort, lambda r: [r.random((3, 4))], {"axis": 0}, True),
    (np.partition, lambda r: [r.random((3, 6))], {"kth": 2}, True),
    (np.median, lambda r: [r.random((3, 4))], {"axis": 1}, True),
    (np.median, lambda r: [r.random((3, 5))], {"axis": (0, 1), "keepdims": True}, True),
    (np.percentile, lambda r: [r.random((3, 7))], {"q": 30, "axis": 1}, True),
    (np.quantile, lambda r: [r.random((3, 7))], {"q": [0.1, 0.5], "axis": 0}, True),
    (np.unique, lambda r: [r.random((3, 2))], {}, True),
    (np.interp, lambda r: [r.random(6) * 5, np.arange(4.0), r.random(4)], {}, False),
    (np.trapezoid, lambda r: [r.random((3, 4)), np.cumsum(r.random(4) + 1)], {}, True),
    (np.average, lambda r: [r.random((3, 4)), r.random((3, 4)) + 1], {}, True),
    (np.unwrap, lambda r: [r.random((2, 5)) * 9], {}, False),
    (np.clip, lambda r: [r.random((2, 3)), r.random(3), r.random((2, 1)) + 1], {}, False),
    (np.vecdot, lambda r: [r.random((2, 3)), r.random(3)], {}, True),
    (np.std, lambda r: [r.random((2, 3))], {"axis": 0}, True),
    (np.max, lambda r: [r.random((2, 3))], {"axis": 0}, False),
    (np.add.reduce, lambda r: [r.random((2, 3))], {"axis": 1}, True),
]  # fmt: skip


@pytest.mark.parametrize(("function", "arrays", "kwargs", "tight"), PERTURBED)
def test_cells_outside_the_lineage_do_not_matter(
    function: Any, arrays: Any, kwargs: dict[str, Any], tight: bool
) -> None:
    names = {np.average: ("a", "weights"), np.trapezoid: ("y", "x")}.get(function)
    operands = arrays(np.random.default_rng(5))

    def call(*given: Any) -> Any:
        more = dict(zip(names[1:], given[1:], strict=True)) if names else {}
        return function(*(given[:1] if names else given), **more, **kwargs)

    more = dict(zip(names[1:], operands[1:], strict=True)) if names else {}
    found = rules.lineage(function, tuple(operands[:1] if names else operands), {**more, **kwargs})
    changed = perturbed(call, operands)
    result = call(*operands)
    shapes = [np.shape(each) for each in result] if isinstance(result, (tuple, list)) else [np.shape(result)]
    assert len(found) == len(changed)
    for links, per_input, shape in zip(found, changed, shapes, strict=True):
        for array, wanted in zip(operands, per_input, strict=True):
            mine = [link.relation for link in links if link.operand is array and link.kind == "value"]
            assert all(relation.out_shape == shape for relation in mine)
            got = {tuple(each) for relation in mine for each in relation.to_array().tolist()}
            assert wanted == got if tight else wanted <= got


CONSTANT = [
    (np.negative, [(300, 400)], {}), (np.sum, [(300, 400)], {"axis": 1}), (np.cumsum, [(300, 400)], {"axis": 0}),
    (np.flip, [(300, 400)], {}), (np.transpose, [(30, 40, 50)], {}), (np.reshape, [(300, 400)], {"shape": (400, 300)}),
    (np.repeat, [(300, 400)], {"repeats": 3, "axis": 1}), (np.tile, [(300, 400)], {"reps": (2, 3)}),
    (np.matmul, [(300, 400), (400, 500)], {}), (np.kron, [(30, 40), (5, 6)], {}), (np.tril, [(300, 400)], {}),
    (np.convolve, [(3000,), (7,)], {}), (np.diff, [(300, 400)], {}),
    (np.pad, [(300, 400)], {"pad_width": 3, "mode": "edge"}),
    (np.roll, [(300, 400)], {"shift": 5}), (np.gradient, [(3000,)], {}), (np.linalg.inv, [(8, 300, 300)], {}),
]  # fmt: skip


@pytest.mark.parametrize(("function", "shapes", "kwargs"), CONSTANT)
def test_rows_do_not_grow_with_the_array(function: Any, shapes: list[Shape], kwargs: dict[str, Any]) -> None:
    for links in rules.lineage(function, tuple(np.broadcast_to(0.0, shape) for shape in shapes), kwargs):
        assert all(len(link.relation) <= 9 for link in links)


def test_no_rule_names_the_function() -> None:
    with pytest.raises(rules.NoRule, match=r"numpy\.histogramdd "):
        rules.lineage(np.histogramdd, (np.zeros(3),))
    with pytest.raises(rules.NoRule, match=r"numpy\.sum with where="):
        rules.lineage(np.sum, (np.zeros(3),), {"where": np.array([True, False, True])})
