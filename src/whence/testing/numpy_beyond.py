"""Calls of the rest of NumPy's public functions that accept float arrays, and why others are omitted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from whence.testing.numpy_calls import (
    OTHERS,
    PAPERS,
    Call,
    Maker,
    Rng,
    _axis,
    _chain,
    _m,
    _one,
    _pair,
    _square,
    _symmetric,
    _two,
    _vector,
    side,
)


def _sharing(function: Callable[..., Any]) -> Maker:
    """Two vectors with common values."""

    def make(rng: Rng) -> Call:
        values = rng.random(8) + 0.1
        return Call(function, (rng.choice(values, side(rng, 2)), rng.choice(values, side(rng, 2))), {})

    return make


def _repeated(function: Callable[..., Any], **kwargs: Any) -> Maker:
    return lambda rng: Call(function, (rng.choice(rng.random(4) + 0.1, side(rng, 2)),), kwargs)


def _with_nan(function: Callable[..., Any], **kwargs: Any) -> Maker:
    def make(rng: Rng) -> Call:
        a = rng.random((4, 5)) + 0.1
        a[1, 2] = a[3, 0] = np.nan
        return Call(function, (a,), {"axis": int(rng.integers(2)), **kwargs})

    return make


def _writing(function: Callable[..., Any], *rest: Callable[[Rng, Any], Any]) -> Maker:
    """Turn a function that writes into its first argument into one that returns what it wrote."""

    def make(rng: Rng) -> Call:
        a = rng.random((4, 4)) + 0.1
        given = [each(rng, a) for each in rest]

        def written(a: Any, *others: Any) -> Any:
            copy = a.copy()
            function(copy, *others)
            return copy

        return Call(written, (a, *given), {})

    return make


def _mask(rng: Rng, a: Any) -> Any:
    return rng.random(a.shape) > 0.5


def _like(rng: Rng, a: Any) -> Any:
    return rng.random(a.shape)


BEYOND: dict[str, Maker] = {
    # sets
    "intersect1d": _sharing(np.intersect1d), "union1d": _sharing(np.union1d), "setdiff1d": _sharing(np.setdiff1d),
    "setxor1d": _sharing(np.setxor1d), "isin": _sharing(np.isin), "unique_values": _repeated(np.unique_values),
    "unique_all": _repeated(np.unique_all), "unique_counts": _repeated(np.unique_counts),
    "unique_inverse": _repeated(np.unique_inverse),
    "unique with counts": _repeated(np.unique, return_index=True, return_inverse=True, return_counts=True),
    "unique of rows": lambda rng: Call(np.unique, (np.repeat(rng.random((2, 3)), 2, axis=0),), {"axis": 0}),
    "array_equal": _two(lambda a, b: a * np.array_equal(a, b)), "allclose": _two(lambda a, b: a * np.allclose(a, b)),
    "array_equiv": _two(lambda a, b: a * np.array_equiv(a, b)),
    # polynomials
    "polyadd": _pair(np.polyadd), "polysub": _pair(np.polysub), "polymul": _pair(np.polymul),
    "polyder": _vector(np.polyder, 3), "polyint": _vector(np.polyint, 2), "polyval": _pair(np.polyval),
    "polydiv": lambda rng: Call(np.polydiv, (rng.random(5) + 0.1, rng.random(3) + 0.1), {}),
    "poly": _vector(np.poly, 2), "roots": _vector(np.roots, 3),
    "polyfit": lambda rng: Call(np.polyfit, (np.arange(6.0), rng.random((6, 2)), 2), {}),
    # picking
    "piecewise": lambda rng: Call(
        np.piecewise, (a := rng.random(6), [a < 0.5, a >= 0.5], [lambda v: -v, lambda v: v * v]), {}
    ),
    "argpartition": _vector(np.argpartition, 3, 1), "argwhere": _one(np.argwhere), "nonzero": _one(np.nonzero),
    "flatnonzero": _one(np.flatnonzero), "lexsort": lambda rng: Call(np.lexsort, ((rng.random(5), rng.random(5)),), {}),
    "nanargmax": _axis(np.nanargmax), "nanargmin": _axis(np.nanargmin), "nanmedian": _with_nan(np.nanmedian),
    "nanpercentile": _with_nan(np.nanpercentile, q=30), "nanquantile": _with_nan(np.nanquantile, q=0.7),
    "median with NaN": _with_nan(np.median), "sum with NaN": _with_nan(np.nansum),
    "quantiles": lambda rng: Call(np.quantile, (_m(rng, 3), [0.2, 0.5]), {"axis": 0}),
    "sort_complex": _vector(np.sort_complex, 2),
    # bins
    "bincount by code": lambda rng: Call(np.bincount, (rng.integers(0, 3, 6), rng.random(6)), {}),
    "histogram2d": lambda rng: Call(np.histogram2d, (rng.random(7), rng.random(7)), {"bins": 3}),
    "histogramdd": lambda rng: Call(np.histogramdd, (rng.random((7, 2)),), {"bins": 3}),
    "histogram_bin_edges": _vector(np.histogram_bin_edges, 2),
    "histogram with weights": lambda rng: Call(np.histogram, (rng.random(7), 3), {"weights": rng.random(7)}),
    "histogram as density": lambda rng: Call(np.histogram, (rng.random(7), 3), {"density": True}),
    # element by element, and shapes
    "amax of an axis": _axis(np.amax), "amin of an axis": _axis(np.amin), "array": _one(np.array),
    "astype": lambda rng: Call(np.astype, (_m(rng), np.float64), {}), "iscomplex": _one(np.iscomplex),
    "isreal": _one(np.isreal), "isneginf": _one(np.isneginf), "isposinf": _one(np.isposinf),
    "ldexp": lambda rng: Call(np.ldexp, (a := _m(rng), rng.integers(0, 3, a.shape)), {}),
    "cumulative_prod": _axis(np.cumulative_prod), "nancumprod": _axis(np.nancumprod),
    "full_like": lambda rng: Call(np.full_like, (rng.random((3, 4)), rng.random(4)), {}),
    "zeros_like": _one(np.zeros_like), "ones_like": _one(np.ones_like),
    "linspace": lambda rng: Call(np.linspace, (rng.random(3), rng.random(3) + 1, 4), {}),
    "geomspace": lambda rng: Call(np.geomspace, (rng.random(3) + 1, rng.random(3) + 2, 4), {}),
    "logspace": lambda rng: Call(np.logspace, (rng.random(3), rng.random(3) + 1, 4), {}),
    "ix_": lambda rng: Call(np.ix_, (rng.random(3), rng.random(2)), {}),
    "lib.stride_tricks.sliding_window_view": lambda rng: Call(
        np.lib.stride_tricks.sliding_window_view, (rng.random(6), 6), {}
    ),
    "lib.stride_tricks.as_strided": lambda rng: Call(
        np.lib.stride_tricks.as_strided, (rng.random(6), (4, 3), (8, 8)), {}
    ),
    "apply_along_axis": lambda rng: Call(np.apply_along_axis, (np.cumsum, 0, _m(rng, 2)), {}),
    "apply_over_axes": lambda rng: Call(np.apply_over_axes, (np.sum, rng.random((2, 3, 2)), [0, 2]), {}),
    "matvec": lambda rng: Call(np.matvec, (rng.random((2, 3)), rng.random(3)), {}),
    "vecmat": lambda rng: Call(np.vecmat, (rng.random(3), rng.random((3, 2))), {}),
    # writing into an argument
    "copyto": _writing(np.copyto, _like), "fill_diagonal": _writing(np.fill_diagonal, lambda rng, a: rng.random(4)),
    "place": _writing(np.place, _mask, lambda rng, a: rng.random(3)), "putmask": _writing(np.putmask, _mask, _like),
    "put": _writing(np.put, lambda rng, a: [1, 5], lambda rng, a: rng.random(2)),
    "put_along_axis": _writing(
        np.put_along_axis, lambda rng, a: np.argsort(a, 1), _like, lambda rng, a: 1
    ),
    # linear algebra
    "linalg.cond": _square(np.linalg.cond), "linalg.cross": lambda rng: Call(
        np.linalg.cross, (rng.random((2, 3)), rng.random((2, 3))), {}
    ),
    "linalg.diagonal": _one(np.linalg.diagonal), "linalg.eig": _symmetric(np.linalg.eig),
    "linalg.eigvals": _symmetric(np.linalg.eigvals), "linalg.matmul": _chain(np.linalg.matmul),
    "linalg.matrix_norm": _one(np.linalg.matrix_norm), "linalg.matrix_rank": _square(np.linalg.matrix_rank),
    "linalg.matrix_transpose": _one(np.linalg.matrix_transpose), "linalg.outer": _pair(np.linalg.outer),
    "linalg.svdvals": _one(np.linalg.svdvals, 2),
    "linalg.tensordot": lambda rng: Call(np.linalg.tensordot, (rng.random((2, 3)), rng.random((3, 2))), {"axes": 1}),
    "linalg.tensorinv": lambda rng: Call(np.linalg.tensorinv, (np.eye(4).reshape(2, 2, 4) + rng.random((2, 2, 4)) / 9,),
                                         {"ind": 2}),
    "linalg.tensorsolve": lambda rng: Call(
        np.linalg.tensorsolve, (np.eye(4).reshape(2, 2, 4) + rng.random((2, 2, 4)) / 9, rng.random((2, 2))), {}
    ),
    "linalg.trace": _one(np.linalg.trace), "linalg.vecdot": _two(np.linalg.vecdot),
    "linalg.vector_norm": _axis(np.linalg.vector_norm),
    "linalg.qr of a wide matrix": lambda rng: Call(np.linalg.qr, (rng.random((2, 5)),), {}),
    "linalg.qr of a tall matrix": lambda rng: Call(np.linalg.qr, (rng.random((5, 2)),), {"mode": "r"}),
    "linalg.cholesky of a batch": lambda rng: Call(
        np.linalg.cholesky, (np.eye(3) * 4 + (h := rng.random((2, 3, 3))) + h.swapaxes(1, 2),), {}
    ),
    # Fourier transforms
    "fft.ifft2": _one(np.fft.ifft2), "fft.ifftn": _one(np.fft.ifftn), "fft.rfft2": _one(np.fft.rfft2),
    "fft.rfftn": _one(np.fft.rfftn), "fft.irfft2": _one(np.fft.irfft2, 2), "fft.irfftn": _one(np.fft.irfftn, 2),
}  # fmt: skip

FAMILIES = {
    "polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "laguerre": "lag", "hermite": "herm",
    "hermite_e": "herme",
}  # fmt: skip
"""The modules of numpy.polynomial, and the prefix of the names in each."""


def _coefficients(rng: Rng, low: int = 3) -> Any:
    return rng.random(side(rng, low)) + 0.1


def _family(module: str, prefix: str) -> Iterator[tuple[str, Maker]]:
    def points(rng: Rng) -> Any:
        return rng.random(3)

    given: dict[str, Callable[[Rng], tuple[Any, ...]]] = {
        "add": lambda rng: (_coefficients(rng), _coefficients(rng)), "der": lambda rng: (_coefficients(rng),),
        "sub": lambda rng: (_coefficients(rng), _coefficients(rng)), "int": lambda rng: (_coefficients(rng),),
        "mul": lambda rng: (_coefficients(rng), _coefficients(rng)), "mulx": lambda rng: (_coefficients(rng),),
        "div": lambda rng: (rng.random(5) + 0.1, rng.random(3) + 0.1), "pow": lambda rng: (_coefficients(rng), 2),
        "val": lambda rng: (points(rng), _coefficients(rng)), "fromroots": lambda rng: (_coefficients(rng),),
        "val2d": lambda rng: (points(rng), points(rng), rng.random((2, 3))), "roots": lambda rng: (_coefficients(rng),),
        "val3d": lambda rng: (points(rng), points(rng), points(rng), rng.random((2, 2, 2))),
        "grid2d": lambda rng: (points(rng), points(rng), rng.random((2, 3))),
        "grid3d": lambda rng: (points(rng), points(rng), points(rng), rng.random((2, 2, 2))),
        "vander": lambda rng: (points(rng), 3), "vander2d": lambda rng: (points(rng), points(rng), [1, 2]),
        "vander3d": lambda rng: (points(rng), points(rng), points(rng), [1, 1, 1]),
        "fit": lambda rng: (np.arange(5.0) / 5, rng.random(5), 2), "companion": lambda rng: (_coefficients(rng),),
        "weight": lambda rng: (points(rng),),
    }  # fmt: skip
    for name, arguments in given.items():
        function = getattr(getattr(np.polynomial, module), prefix + name, None)
        if function is not None:
            yield f"polynomial.{module}.{prefix}{name}", _calling(function, arguments)


def _calling(function: Callable[..., Any], arguments: Callable[[Rng], tuple[Any, ...]]) -> Maker:
    return lambda rng: Call(function, arguments(rng), {})


for _module, _prefix in FAMILIES.items():
    BEYOND.update(_family(_module, _prefix))

EVERYTHING: dict[str, Maker] = {**PAPERS, **OTHERS, **BEYOND}
"""All calls that are surveyed."""

EXCUSED = {
    "makes arrays out of numbers, texts or files, not of arrays": (
        "arange bartlett blackman broadcast_shapes empty eye from_dlpack frombuffer fromfile fromfunction fromiter "
        "fromregex fromstring full genfromtxt hamming hanning identity indices kaiser load loadtxt mask_indices "
        "ones tri tril_indices triu_indices zeros diag_indices fft.fftfreq fft.rfftfreq"
    ),
    "is of integers, booleans, dates or text alone": (
        "base_repr binary_repr bitwise_and bitwise_count bitwise_invert bitwise_left_shift bitwise_not bitwise_or "
        "bitwise_right_shift bitwise_xor busday_count busday_offset datetime_as_string datetime_data gcd invert "
        "is_busday isnat lcm left_shift packbits ravel_multi_index right_shift unpackbits unravel_index"
    ),
    "returns no cells: a shape, a type, a text, a setting": (
        "array2string array_repr array_str can_cast common_type diag_indices_from einsum_path empty_like "
        "format_float_positional format_float_scientific get_include get_printoptions getbufsize geterr geterrcall "
        "info iscomplexobj isdtype isfortran isrealobj isscalar issubdtype iterable may_share_memory "
        "min_scalar_type mintypecode ndim nested_iters printoptions promote_types result_type set_printoptions "
        "setbufsize seterr seterrcall shape shares_memory show_config show_runtime size test tril_indices_from "
        "triu_indices_from typename"
    ),
    "writes files, which tracked arrays refuse by name": "save savetxt savez savez_compressed",
    "makes matrices (numpy.matrix), which have no lineage here": "asmatrix bmat",
    "makes a function of a function": "frompyfunc",
    "is the same function by another name": "amax amin row_stack",
}
"""Public functions that the survey omits, by reason."""


def public() -> Iterator[tuple[str, Any]]:
    """Yield every public function of NumPy that could accept arrays, with its dotted name."""
    for prefix, space in (
        ("", np), ("linalg.", np.linalg), ("fft.", np.fft), ("lib.stride_tricks.", np.lib.stride_tricks)
    ):  # fmt: skip
        for name in getattr(space, "__all__", dir(space)):
            found = getattr(space, name, None)
            if callable(found) and not inspect.isclass(found) and not name.startswith("_"):
                yield prefix + name, found


def unaccounted() -> list[str]:
    """Return the public functions that are neither surveyed nor excused."""
    called = {id(make(np.random.default_rng(0)).function) for make in EVERYTHING.values()}
    named = {name.split(" ")[0] for name in EVERYTHING}
    excused = {name for names in EXCUSED.values() for name in names.split()}
    return sorted(
        name for name, found in public() if id(found) not in called and name not in named and name not in excused
    )
