"""Rules for linear algebra: within a matrix every cell contributes to every result, except in triangular factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from whence.arrays.rules._rows import Factor, Shape, affine, factor, product, row, whole_in, whole_out
from whence.arrays.rules._rules import Link, Links, rule, shape
from whence.arrays.rules.joining import joined
from whence.arrays.rules.shapes import reshaped
from whence.relation import Relation
from whence.relation.codec import Part


def batched(in_shape: Shape, core: int, out_core: Shape, batch: Shape | None = None) -> Relation:
    """Every cell of the output's core comes from every cell of the input's last `core` axes; the axes before are a
    batch.

    >>> batched((5, 3, 3), 2, (3,)).backward([(4, 0)])
    Selection(shape=(5, 3, 3), 9 cells: [4, 0:3, 0:3])
    """
    own = in_shape[: len(in_shape) - core]
    batch = own if batch is None else batch
    factors = _batch_factors(batch, own)
    factors += [whole_in(len(own) + i, side) for i, side in enumerate(in_shape[len(own) :])]
    factors += [whole_out(len(batch) + i, side) for i, side in enumerate(out_core)]
    return product((*batch, *out_core), in_shape, factors)


def _core(a: Any) -> Shape:
    return shape(a)[-2:]


def _matrix(name: str, *cores: Any) -> None:
    """Add a rule for a function of one matrix; each core returns the shape of one output, given that of the matrix."""

    @rule(name)
    def of_matrix(a: Any, *_: Any, **__: Any) -> Any:
        found = tuple([Link(a, batched(shape(a), 2, core(*_core(a))))] for core in cores)
        return found[0] if len(found) == 1 else found


_matrix("linalg.inv", lambda n, _: (n, n))
_matrix("linalg.pinv", lambda n, m: (m, n))
_matrix("linalg.det", lambda n, m: ())
_matrix("linalg.slogdet", lambda n, m: (), lambda n, m: ())
_matrix("linalg.eig", lambda n, m: (n,), lambda n, m: (n, n))
_matrix("linalg.eigvals", lambda n, m: (n,))
_matrix("linalg.matrix_rank", lambda n, m: ())
_matrix("linalg.svdvals", lambda n, m: (min(n, m),))
_matrix("linalg.matrix_power", lambda n, m: (n, n))


def factored(in_shape: Shape, out_core: Shape, *rows: Part | None) -> Relation:
    """Return the relation of a factor of each matrix of a batch: rows over two axes of the output and two of the
    input.
    """
    own = in_shape[:-2]
    axes = [len(own), len(own) + 1]
    return product((*own, *out_core), in_shape, [*_batch_factors(own, own), factor(axes, axes, rows)])


@rule("linalg.cholesky")
def cholesky(a: Any, /, *, upper: bool = False) -> Links:
    """Cell (i, j) of the lower factor comes from the triangle up to (j, j), and from its own row up to column j."""
    if upper:
        raise TypeError("an upper factor")
    n = shape(a)[-1]
    up_to_j = row((0, n - 1), (0, 0, 0, 0, 1), (0, 0, 1, 0, 1), (0, 0, 2, 0, 1))
    own_row = row((1, n - 1), (0, -1, 0, 0, 1), (0, 0, 0, 1, 1), (0, 0, 1, 0, 1))
    return [Link(a, factored(shape(a), (n, n), up_to_j, own_row if n > 1 else None))]


def _from_triangle(a: Any, out_core: Shape, upper: bool) -> Links:
    """Every cell of the output comes from one triangle of the matrix."""
    own, n = shape(a)[:-2], shape(a)[-1]
    half = row((0, n - 1), (0, n - 1, 0, 1, 0)) if upper else row((0, n - 1), (0, 0, 0, 0, 1))
    factors = [*_batch_factors(own, own), factor([], [len(own), len(own) + 1], [half])]
    factors += [whole_out(len(own) + i, side) for i, side in enumerate(out_core)]
    return [Link(a, product((*own, *out_core), shape(a), factors))]


@rule("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> tuple[Links, ...]:
    """Eigenvalues and eigenvectors of a symmetric matrix come from one triangle."""
    n = shape(a)[-1]
    return tuple(_from_triangle(a, core, UPLO.upper() == "U") for core in ((n,), (n, n)))


@rule("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Links:
    """Eigenvalues come from one triangle."""
    return _from_triangle(a, (shape(a)[-1],), UPLO.upper() == "U")


@rule("linalg.cond")
def cond(x: Any, p: Any = None) -> Links:
    """One number for each matrix."""
    return [Link(x, batched(shape(x), 2, ()))]


@rule("linalg.svd")
def svd(a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False) -> Any:
    """Singular values and both bases come from the whole matrix."""
    n, m = _core(a)
    small = min(n, m)
    cores = [(n, n if full_matrices else small), (small,), (m if full_matrices else small, m)]
    links = tuple([Link(a, batched(shape(a), 2, core))] for core in cores)
    return links if compute_uv else links[1]


@rule("linalg.qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    """Column j of the orthogonal factor comes from the columns up to j. Cell (i, j) of the triangular factor comes from
    the columns up to i and from column j.
    """
    n, m = _core(a)
    small = min(n, m)
    if mode in ("reduced", "r"):
        columns = factored(shape(a), (n, small), row((0, n - 1), (0, small - 1), (0, n - 1), (0, 0, 1, 0, 1)))
        up_to_i = row((0, small - 1), (0, m - 1, 0, 1, 0), (0, n - 1), (0, 0, 0, 0, 1))
        own = row((0, small - 1), (1, m - 1, 0, 1, 0), (0, n - 1), (0, 0, 1, 1, 1)) if m > 1 else None
        last = [own] if m > small or m == 1 else _above_diagonal(n, small)
        triangle = [Link(a, factored(shape(a), (small, m), up_to_i, *last))]
        return triangle if mode == "r" else ([Link(a, columns)], triangle)
    cores: dict[str, list[Shape]] = {
        "reduced": [(n, small), (small, m)], "complete": [(n, n), (n, m)], "r": [(small, m)], "raw": [(m, n), (small,)],
    }  # fmt: skip
    links = tuple([Link(a, batched(shape(a), 2, core))] for core in cores[mode])
    return links if len(links) > 1 else links[0]


def _above_diagonal(n: int, side: int) -> list[Part | None]:
    """Column j for the cells above the diagonal of a square factor; its last row has none."""
    return [row((0, side - 2), (1, side - 1, 0, 1, 0), (0, n - 1), (0, 0, 1, 1, 1))]


@rule("linalg.solve")
def solve(a: Any, b: Any) -> Links:
    """Each column of the solution comes from the whole matrix and the same column of the right-hand side."""
    vector = len(shape(b)) == 1
    n = shape(a)[-1]
    own = shape(b)[: len(shape(b)) - (1 if vector else 2)]
    batch = np.broadcast_shapes(shape(a)[:-2], own)
    columns = () if vector else (shape(b)[-1],)
    right = product(
        (*batch, n, *columns), shape(b),
        [*_batch_factors(batch, own), whole_out(len(batch), n), whole_in(len(own), n),
         *(affine(len(batch) + 1, len(own) + 1, side) for side in columns)],
    )  # fmt: skip
    return [Link(a, batched(shape(a), 2, (n, *columns), batch)), Link(b, right)]


def _batch_factors(batch: Shape, own: Shape) -> list[Factor]:
    lead = len(batch) - len(own)
    factors = [whole_out(i, side) for i, side in enumerate(batch[:lead])]
    for i, side in enumerate(own):
        if side == batch[lead + i]:
            factors.append(affine(lead + i, i, side))
        else:
            factors += [whole_out(lead + i, batch[lead + i]), factor([], [i], [row((0, 0))])]
    return factors


@rule("linalg.lstsq")
def lstsq(a: Any, b: Any, rcond: Any = None) -> Any:
    """The solution, the residuals, the rank and the singular values."""
    n, m = _core(a)
    columns = shape(b)[1:]
    solution = [Link(a, Relation.whole((m, *columns), (n, m))), Link(b, _same_column((m, *columns), shape(b)))]
    residual = int(np.prod(columns, dtype=int)) if columns else 1
    full = n > m and np.linalg.matrix_rank(np.asarray(a)) == m  # otherwise NumPy returns no residuals
    out = (residual,) if full else (0,)
    from_b = _same_column(out, shape(b)) if full and columns else Relation.whole(out, shape(b))
    residuals = [Link(a, Relation.whole(out, (n, m))), Link(b, from_b)]
    return (solution, residuals, [Link(a, Relation.whole((), (n, m)))], [Link(a, Relation.whole((min(n, m),), (n, m)))])


def _same_column(out_shape: Shape, in_shape: Shape) -> Relation:
    """Each output cell comes from all rows of the same column."""
    if len(in_shape) == 1:
        return Relation.whole(out_shape, in_shape)
    at = len(out_shape) - 1
    factors = [affine(at, 1, in_shape[1]), whole_in(0, in_shape[0])]
    return product(out_shape, in_shape, [*factors, *(whole_out(i, out_shape[i]) for i in range(at))])


@rule("linalg.norm", "linalg.vector_norm", "linalg.matrix_norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Links:
    """Each result comes from every cell along the axes; without axes, from the whole array."""
    from whence.arrays.rules.reductions import reduced

    return [Link(x, reduced(shape(x), axis, keepdims))]


@rule("cov")
def cov(m: Any, y: Any = None, rowvar: bool = True, *_: Any, fweights: Any = None, aweights: Any = None,
        **options: Any) -> Links:  # fmt: skip
    """Each cell comes from all observations of its two variables, and all weights."""
    return _covariance(m, y, rowvar, fweights, aweights)


@rule("corrcoef")
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, **options: Any) -> Links:
    """The lineage is that of the covariance."""
    return _covariance(x, y, rowvar, None, None)


def _covariance(m: Any, y: Any, rowvar: bool, *weights: Any) -> Links:
    """Link covariances as those of one matrix with a variable in each row and an observation in each column."""
    turned = [(m, not rowvar and len(shape(m)) == 2)]
    if y is not None:
        turned.append((y, not rowvar and len(shape(y)) == 2 and shape(y)[0] != 1))
    matrices = [_as_rows(shape(each), turn) for each, turn in turned]
    sides, observations = [each.out_shape[0] for each in matrices], matrices[0].out_shape[1]
    n = sum(sides)
    out: Shape = (n, n) if n > 1 else ()
    if n > 1:
        # Cell (i, j) comes from the variables i and j: from row i and, off the diagonal, also from row j.
        rows = [
            row((0, n - 1), (0, n - 1), (0, 0, 0, 1, 1), (0, observations - 1)),
            row((1, n - 1), (0, -1, 0, 0, 1), (0, 0, 1, 1, 1), (0, observations - 1)),
            row((0, n - 2), (1, n - 1, 0, 1, 0), (0, 0, 1, 1, 1), (0, observations - 1)),
        ]
        whole = product(out, (n, observations), [factor([0, 1], [0, 1], rows)])
    else:
        whole = Relation.whole(out, (n, observations))
    links = []
    for (each, _), own, below in zip(turned, matrices, joined([one.out_shape for one in matrices], 0), strict=True):
        links.append(Link(each, whole.compose(below).compose(own) if len(matrices) > 1 else whole.compose(own)))
    return [*links, *(Link(each, Relation.whole(out, shape(each))) for each in weights if each is not None)]


def _as_rows(in_shape: Shape, turn: bool) -> Relation:
    """Return the relation of a vector to a matrix of one row, or of a matrix to itself or its transpose."""
    if turn:
        return product(in_shape[::-1], in_shape, [affine(1, 0, in_shape[0]), affine(0, 1, in_shape[1])])
    rows = (1,) * (2 - len(in_shape)) + in_shape
    return Relation.identity(in_shape) if rows == in_shape else reshaped(in_shape, rows)


@rule("vander")
def vander(x: Any, N: int | None = None, increasing: bool = False) -> Links:
    """Each row comes from its own cell, except the column of zeroth powers, which is always one."""
    side, columns = shape(x)[0], shape(x)[0] if N is None else int(N)
    powers = (1, columns - 1) if increasing else (0, columns - 2)
    factors = [affine(0, 0, side), factor([1], [], [row(powers)])]
    return [Link(x, product((side, columns), shape(x), factors))]
