"""Calls of NumPy's functions with random shapes and arguments, for the survey and the benchmark of reuse.

Each entry makes one call: a function, its positional arguments (with arrays of random length), and its keyword
arguments. `PAPERS` has the 136 functions of the DSLog papers, by their names there; `OTHERS` has further functions of
NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

Rng = np.random.Generator


class Call(NamedTuple):
    """One call."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: dict[str, Any]


Maker = Callable[[Rng], Call]


LONGEST = 18


def side(rng: Rng, low: int = 1) -> int:
    """A random length of an axis."""
    return int(rng.integers(low, max(LONGEST, low) + 1))


def _m(rng: Rng, low: int = 1) -> Any:
    return rng.random((side(rng, low), side(rng, low))) + 0.1


def _v(rng: Rng, low: int = 1) -> Any:
    return rng.random(side(rng, low)) + 0.1


def _pick(rng: Rng, *choices: Any) -> Any:
    return choices[int(rng.integers(len(choices)))]


def _one(function: Callable[..., Any], low: int = 1, /, **kwargs: Any) -> Maker:
    return lambda rng: Call(function, (_m(rng, low),), kwargs)


def _vector(function: Callable[..., Any], low: int = 1, /, *args: Any, **kwargs: Any) -> Maker:
    return lambda rng: Call(function, (_v(rng, low), *args), kwargs)


def _axis(function: Callable[..., Any], low: int = 1, /, **kwargs: Any) -> Maker:
    return lambda rng: Call(function, (_m(rng, low),), {"axis": _pick(rng, 0, 1), **kwargs})


def _two(function: Callable[..., Any]) -> Maker:
    def make(rng: Rng) -> Call:
        a = _m(rng)
        return Call(function, (a, rng.random(a.shape) + 0.1), {})

    return make


def _pair(function: Callable[..., Any], **kwargs: Any) -> Maker:
    return lambda rng: Call(function, (_v(rng), _v(rng)), kwargs)


def _list(function: Callable[..., Any], **kwargs: Any) -> Maker:
    def make(rng: Rng) -> Call:
        a = _m(rng)
        return Call(function, ([a, rng.random(a.shape)],), kwargs)

    return make


def _chain(function: Callable[..., Any]) -> Maker:
    def make(rng: Rng) -> Call:
        m, k, n = (side(rng) for _ in range(3))
        return Call(function, (rng.random((m, k)), rng.random((k, n))), {})

    return make


def _inner(rng: Rng) -> Call:
    m, k, n = (side(rng) for _ in range(3))
    return Call(np.inner, (rng.random((m, k)), rng.random((n, k))), {})


def _multi_dot(rng: Rng) -> Call:
    a, b, c, d = (side(rng) for _ in range(4))
    return Call(np.linalg.multi_dot, ([rng.random((a, b)), rng.random((b, c)), rng.random((c, d))],), {})


def _vdot(rng: Rng) -> Call:
    a = _v(rng)
    return Call(np.vdot, (a, rng.random(a.shape)), {})


def _cross(rng: Rng) -> Call:
    n = side(rng)
    return Call(np.cross, (rng.random((n, 3)), rng.random((n, 3))), {})


def _reshape(rng: Rng) -> Call:
    return Call(np.reshape, (_m(rng), -1), {})


def _interp(rng: Rng) -> Call:
    n = side(rng, 3)
    return Call(np.interp, (rng.random(side(rng)), np.linspace(0, 1, n), rng.random(n)), {})


def _broadcast(rng: Rng) -> Call:
    n = side(rng)
    return Call(np.broadcast_to, (rng.random(n), (3, n)), {})


def _trim(rng: Rng) -> Call:
    return Call(np.trim_zeros, (np.concatenate([np.zeros(2), _v(rng), np.zeros(1)]),), {})


def _square(function: Callable[..., Any], **kwargs: Any) -> Maker:
    def make(rng: Rng) -> Call:
        n = side(rng, 2)
        return Call(function, (rng.random((n, n)) + n * np.eye(n),), kwargs)

    return make


def _symmetric(function: Callable[..., Any]) -> Maker:
    def make(rng: Rng) -> Call:
        n = side(rng, 2)
        half = rng.random((n, n))
        return Call(function, (half + half.T + 2 * n * np.eye(n),), {})

    return make


def _solve(rng: Rng) -> Call:
    n = side(rng, 2)
    return Call(np.linalg.solve, (rng.random((n, n)) + n * np.eye(n), rng.random((n, side(rng)))), {})


def _einsum(rng: Rng) -> Call:
    m, k, n = (side(rng) for _ in range(3))
    return Call(np.einsum, ("ij,jk->ik", rng.random((m, k)), rng.random((k, n))), {})


def _tensordot(rng: Rng) -> Call:
    m, k, n = (side(rng) for _ in range(3))
    return Call(np.tensordot, (rng.random((m, k)), rng.random((k, n))), {"axes": 1})


_UNARY = [
    "sin",
    "cos",
    "tan",
    "arcsin",
    "arccos",
    "arctan",
    "degrees",
    "radians",
    "deg2rad",
    "rad2deg",
    "sinh",
    "cosh",
    "tanh",
    "arcsinh",
    "arctanh",
    "rint",
    "floor",
    "ceil",
    "trunc",
    "exp",
    "expm1",
    "exp2",
    "log",
    "log10",
    "log2",
    "log1p",
    "spacing",
    "reciprocal",
    "positive",
    "negative",
    "sqrt",
    "cbrt",
    "square",
    "absolute",
    "fabs",
    "sign",
    "conj",
    "conjugate",
]
_BINARY = [
    "hypot",
    "arctan2",
    "logaddexp",
    "logaddexp2",
    "copysign",
    "nextafter",
    "add",
    "multiply",
    "divide",
    "power",
    "subtract",
    "true_divide",
    "floor_divide",
    "float_power",
    "fmod",
    "mod",
    "remainder",
    "maximum",
    "fmax",
    "minimum",
    "fmin",
    "heaviside",
]

PAPERS: dict[str, Maker] = {
    **{name: _one(getattr(np, name)) for name in _UNARY},
    **{name: _two(getattr(np, name)) for name in _BINARY},
    "arccosh": lambda rng: Call(np.arccosh, (_m(rng) + 1,), {}),
    **{name: _one(getattr(np, name)) for name in ("fix", "sinc", "angle", "real", "imag", "real_if_close")},
    "around": _one(np.around, 1, decimals=1), "round_": _one(np.round, 1, decimals=1),
    # misc
    "unique": _vector(np.unique), "sort": _vector(np.sort), "msort": _axis(np.sort),
    "partition": _vector(np.partition, 3, 1),
    "ptp": _axis(np.ptp), "percentile": _axis(np.percentile, 2, q=30), "quantile": _axis(np.quantile, 2, q=0.3),
    "median": _axis(np.median), "mean": _axis(np.mean), "std": _axis(np.std), "var": _axis(np.var),
    "correlate": _pair(np.correlate, mode="full"),
    # manipulation
    "reshape": _reshape, "ravel": _one(np.ravel), "moveaxis": _one(np.moveaxis, 1, source=0, destination=1),
    "swapaxes": _one(np.swapaxes, 1, axis1=0, axis2=1), "transpose": _one(np.transpose),
    "atleast_1d": _one(np.atleast_1d), "atleast_2d": _vector(np.atleast_2d), "broadcast_to": _broadcast,
    "expand_dims": _axis(np.expand_dims), "squeeze": lambda rng: Call(np.squeeze, (rng.random((1, side(rng))),), {}),
    "asarray": _one(np.asarray), "asanyarray": _one(np.asanyarray), "asfortranarray": _one(np.asfortranarray),
    "ascontiguousarray": _one(np.ascontiguousarray), "asarray_chkfinite": _one(np.asarray_chkfinite),
    "require": _one(np.require), "concatenate": _list(np.concatenate), "stack": _list(np.stack),
    "block": lambda rng: Call(np.block, ([[_a := _m(rng), _a * 2]],), {}), "vstack": _list(np.vstack),
    "hstack": _list(np.hstack),
    "column_stack": _list(np.column_stack), "row_stack": _list(np.vstack), "tile": _one(np.tile, 1, reps=(2, 3)),
    "repeat": _axis(np.repeat, 1, repeats=3), "delete": _axis(np.delete, 4, obj=1),
    "insert": _axis(np.insert, 4, obj=1, values=0.5),
    "append": _pair(np.append), "resize": lambda rng: Call(np.resize, (_v(rng), (30, 40)), {}), "trim_zeros": _trim,
    "flip": _axis(np.flip), "fliplr": _one(np.fliplr), "flipud": _one(np.flipud), "roll": _axis(np.roll, 1, shift=2),
    "rot90": _one(np.rot90),
    # math
    "unwrap": _vector(np.unwrap), "prod": _axis(np.prod), "sum": _axis(np.sum), "cumprod": _axis(np.cumprod),
    "cumsum": _axis(np.cumsum), "diff": _axis(np.diff), "ediff1d": _vector(np.ediff1d), "cross": _cross,
    "trapz": _axis(np.trapezoid), "amax": _axis(np.max), "amin": _axis(np.min), "convolve": _pair(np.convolve),
    "interp": _interp,
    # linear algebra
    "dot": _chain(np.dot), "multi_dot": _multi_dot, "vdot": _vdot, "inner": _inner, "outer": _pair(np.outer),
    "matmul": _chain(np.matmul), "kron": _pair(np.kron),
}  # fmt: skip

_ELSEWHERE = {"modf", "frexp", "divmod", "ldexp", "matmul", "vecdot", "matvec", "vecmat"}
_UFUNCS = sorted(
    name
    for name, each in vars(np).items()
    if isinstance(each, np.ufunc) and each.nout == 1 and name not in PAPERS and name not in _ELSEWHERE
    and any(kinds.startswith("d" * each.nin + "->") for kinds in each.types)
)  # fmt: skip

OTHERS: dict[str, Maker] = {
    **{name: (_one if getattr(np, name).nin == 1 else _two)(getattr(np, name)) for name in _UFUNCS},
    "add.reduce": _axis(np.add.reduce), "add.accumulate": _axis(np.add.accumulate),
    "multiply.outer": _pair(np.multiply.outer),
    "modf": _one(np.modf), "frexp": _one(np.frexp), "divmod": _two(np.divmod), "vecdot": _two(np.vecdot),
    "all": _axis(np.all), "any": _axis(np.any), "argmax": _axis(np.argmax), "argmin": _axis(np.argmin),
    "argsort": _axis(np.argsort), "array_split": lambda rng: Call(np.array_split, (_m(rng, 3), 3), {}),
    "atleast_3d": _one(np.atleast_3d), "average": _axis(np.average),
    "bincount": _vector(lambda w: np.bincount(np.arange(len(w)) % 3, w)),
    "broadcast_arrays": lambda rng: Call(np.broadcast_arrays, (_m(rng), rng.random(1)), {}),
    "choose": lambda rng: Call(np.choose, (rng.integers(0, 2, 5), [rng.random(5), rng.random(5)]), {}),
    "clip": lambda rng: Call(np.clip, (_m(rng), 0.3, 0.7), {}),
    "compress": lambda rng: Call(np.compress, ([True, False, True], _m(rng, 3)), {"axis": 0}),
    "copy": _one(np.copy), "corrcoef": _one(np.corrcoef, 3), "cov": _one(np.cov, 3),
    "count_nonzero": _axis(np.count_nonzero),
    "cumulative_sum": _axis(np.cumulative_sum), "diag": _one(np.diag), "diag of a vector": _vector(np.diag),
    "diagflat": _vector(np.diagflat),
    "diagonal": _one(np.diagonal), "digitize": _vector(np.digitize, 1, [0.3, 0.6]),
    "dsplit": lambda rng: Call(np.dsplit, (rng.random((2, side(rng), 4)), 2), {}),
    "dstack": _list(np.dstack),
    "einsum": _einsum, "extract": lambda rng: Call(np.extract, ([True, False, True, True], rng.random(4)), {}),
    "gradient": _axis(np.gradient, 3), "histogram": _vector(np.histogram, 2),
    "hsplit": lambda rng: Call(np.hsplit, (rng.random((side(rng), 6)), 3), {}),
    "i0": _one(np.i0), "isclose": _two(np.isclose), "linalg.cholesky": _symmetric(np.linalg.cholesky),
    "linalg.det": _square(np.linalg.det),
    "linalg.eigh": _symmetric(np.linalg.eigh), "linalg.eigvalsh": _symmetric(np.linalg.eigvalsh),
    "linalg.inv": _square(np.linalg.inv),
    "linalg.lstsq": lambda rng: Call(np.linalg.lstsq, (rng.random((9, 3)), rng.random(9)), {"rcond": None}),
    "linalg.matrix_power": _square(np.linalg.matrix_power, n=2), "linalg.norm": _axis(np.linalg.norm),
    "linalg.pinv": _one(np.linalg.pinv, 2),
    "linalg.qr": _one(np.linalg.qr, 2), "linalg.slogdet": _square(np.linalg.slogdet), "linalg.solve": _solve,
    "linalg.svd": _one(np.linalg.svd, 2, full_matrices=False), "matrix_transpose": _one(np.matrix_transpose),
    "meshgrid": _pair(np.meshgrid), "nan_to_num": _one(np.nan_to_num), "nanmax": _axis(np.nanmax),
    "nanmean": _axis(np.nanmean),
    "nanmin": _axis(np.nanmin), "nanstd": _axis(np.nanstd), "nansum": _axis(np.nansum), "nanvar": _axis(np.nanvar),
    "nancumsum": _axis(np.nancumsum), "nanprod": _axis(np.nanprod), "pad": _one(np.pad, 1, pad_width=2),
    "pad edge": _one(np.pad, 1, pad_width=2, mode="edge"),
    "pad reflect": _one(np.pad, 3, pad_width=2, mode="reflect"), "rollaxis": _one(np.rollaxis, 1, axis=1),
    "searchsorted": lambda rng: Call(np.searchsorted, (np.sort(_v(rng)), _v(rng)), {}),
    "select": lambda rng: Call(np.select, ([_a > 0.5 for _a in [rng.random(5)]], [rng.random(5)], 0.0), {}),
    "split": lambda rng: Call(np.split, (rng.random((6, side(rng))), 3), {}),
    "take": lambda rng: Call(np.take, (_m(rng, 3), [0, 2, 1]), {"axis": 0}),
    "take_along_axis": lambda rng: Call(np.take_along_axis, (_a := _m(rng), np.argsort(_a, 1)), {"axis": 1}),
    "tensordot": _tensordot, "trace": _one(np.trace), "tril": _one(np.tril), "triu": _one(np.triu),
    "unstack": lambda rng: Call(np.unstack, (rng.random((3, side(rng))),), {}),
    "vander": _vector(np.vander, 1, 3), "vsplit": lambda rng: Call(np.vsplit, (rng.random((6, side(rng))), 2), {}),
    "where": lambda rng: Call(np.where, ((_a := _m(rng)) > 0.5, _a, 0.0), {}),
    "fft.fft": _axis(np.fft.fft), "fft.ifft": _axis(np.fft.ifft), "fft.rfft": _axis(np.fft.rfft),
    "fft.irfft": _axis(np.fft.irfft, 2),
    "fft.hfft": _axis(np.fft.hfft, 2), "fft.ihfft": _axis(np.fft.ihfft), "fft.fft2": _one(np.fft.fft2),
    "fft.fftn": _one(np.fft.fftn),
    "fft.fftshift": _one(np.fft.fftshift), "fft.ifftshift": _one(np.fft.ifftshift),
}  # fmt: skip
