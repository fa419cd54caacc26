"""Lineage for any shape: every number of a relation as a function of the lengths of the input's axes.

Observations of one function at several shapes have the same rows with other numbers. Each number (a bound, a length, a
step) is fitted as a linear combination of 1, the lengths, and products of neighbouring lengths of one array, which is
what the size of a flattened array is. A fit counts only if there are more observations than unknowns, all independent,
and it is exact on every one; so it is the only one. It is used only for lengths that are like those observed: lengths
that never varied must be the same, lengths that were always equal must be equal, those that were always smaller must
be so by as much, and none may be shorter than the shortest seen, nor than 4, since lengths of 1, 2 and 3 are where
functions have special cases.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.arrays.capturing import Edge
from whence.arrays.known import Kind
from whence.relation import Relation
from whence.relation.columns import spread

Shape = tuple[int, ...]
SMALL = 4
MOST_ROWS = 64
FEW = 3
"""Of so few lengths every product of two is tried: the Kronecker product of two vectors is as long as one."""

SPARE = 2
"""So many observations more than unknowns."""


@dataclass(frozen=True, slots=True)
class Observation:
    """One call: the lengths of its inputs' axes, and its lineage taken apart into what must agree and what may vary."""

    sizes: tuple[int, ...]
    structure: tuple[object, ...]
    numbers: tuple[int, ...]


def observed(sizes: tuple[int, ...], outputs: Sequence[Shape], edges: Sequence[Edge]) -> Observation | None:
    """An observation, unless the relations have too many rows to be of a form."""
    structure: list[object] = [tuple(len(each) for each in outputs)]
    numbers: list[int] = [side for each in outputs for side in each]
    for edge in edges:
        if len(edge.relation) > MOST_ROWS:
            return None
        out_view, in_view = edge.relation._views
        parts: list[object] = []
        numbers += [*out_view, *in_view]
        for part in edge.relation.parts():
            parts.append((part.rows, tuple(axis[0] for axis in part.axes)))
            for axis, lo, width in zip(part.axes, part.lo, part.width, strict=True):
                numbers += [axis[1], axis[2]]
                numbers += [int(n) for column in (lo, width) for n in spread(column, 0, part.rows)]
        structure.append((edge.output, edge.input, edge.kind, len(out_view), len(in_view), tuple(parts)))
    return Observation(sizes, tuple(structure), tuple(numbers))


@dataclass(frozen=True, slots=True)
class Template:
    """A fit: the numbers as coefficients over the terms, and for which lengths it holds."""

    structure: tuple[object, ...]
    ranks: tuple[int, ...]  # of the inputs
    symbols: tuple[int, ...]  # positions of the lengths that vary, one for each group of equal ones
    terms: tuple[tuple[int, ...], ...]  # products of symbols, by their numbers; () is 1
    coefficients: NDArray[np.int64]
    divisor: int
    fixed: tuple[tuple[int, int], ...]  # (position, length)
    equal: tuple[tuple[int, int], ...]  # pairs of positions
    least: tuple[int, ...]  # of each symbol
    apart: tuple[tuple[int, int, int], ...]  # (symbol, symbol, how much longer the first is at least)

    def covers(self, sizes: tuple[int, ...]) -> bool:
        """Whether these lengths are like those observed."""
        values = [sizes[at] for at in self.symbols]
        return (
            len(sizes) == sum(self.ranks)
            and all(sizes[at] == length for at, length in self.fixed)
            and all(sizes[a] == sizes[b] for a, b in self.equal)
            and all(value >= least for value, least in zip(values, self.least, strict=True))
            and all(values[i] - values[j] >= gap for i, j, gap in self.apart)
        )

    def predict(self, sizes: tuple[int, ...]) -> tuple[tuple[Shape, ...], tuple[Edge, ...]] | None:
        """The shapes of the outputs and the lineage at these lengths; None where the fit does not hold."""
        if not self.covers(sizes):
            return None
        values = [sizes[at] for at in self.symbols]
        terms = [math.prod(values[i] for i in term) for term in self.terms]
        if max(terms) > 1 << 40:
            return None
        totals = self.coefficients @ np.array(terms, np.int64)
        if (totals % self.divisor).any():
            return None
        return _rebuilt(self.structure, (totals // self.divisor).tolist(), self.ranks, sizes)


def fitted(observations: Sequence[Observation], ranks: tuple[int, ...]) -> Template | None:
    """The one template that explains all observations, if there is one and they are enough to be sure of it."""
    distinct = {each.sizes: each for each in observations}
    seen = list(distinct.values())
    sizes = np.array([each.sizes for each in seen], np.int64).reshape(len(seen), -1)
    varying = [at for at in range(sizes.shape[1]) if len(set(sizes[:, at])) > 1]
    groups: dict[tuple[int, ...], list[int]] = {}
    for at in varying:
        groups.setdefault(tuple(sizes[:, at].tolist()), []).append(at)
    symbols = tuple(group[0] for group in groups.values())
    seen = [each for each in seen if all(each.sizes[at] >= SMALL for at in symbols)]
    if not symbols or len({each.structure for each in seen}) != 1:
        return None
    of = {at: number for number, group in enumerate(groups.values()) for at in group}
    terms = _terms(of, ranks)
    matrix = np.array([[math.prod(each.sizes[symbols[i]] for i in term) for term in terms] for each in seen], float)
    if len(seen) < len(terms) + SPARE or any(len({each.sizes[at] for each in seen}) < 3 for at in symbols):
        return None
    scale = np.abs(matrix).max(axis=0)
    if np.linalg.matrix_rank(matrix / scale) < len(terms):
        return None
    wanted = np.array([each.numbers for each in seen], float)
    found = np.linalg.lstsq(matrix / scale, wanted, rcond=None)[0].T / scale
    exact = _exact(found, [[int(n) for n in row] for row in matrix.tolist()], seen)
    if exact is None:
        return None
    coefficients, divisor = exact
    values = np.array([[each.sizes[at] for at in symbols] for each in seen], np.int64)
    apart = []
    for i, j in itertools.permutations(range(len(symbols)), 2):
        gap = int((values[:, i] - values[:, j]).min())
        if gap > 0:
            apart.append((i, j, gap))
    return Template(
        seen[0].structure, ranks, symbols, terms, coefficients, divisor,
        tuple((at, int(sizes[0, at])) for at in range(sizes.shape[1]) if at not in of),
        tuple((group[0], each) for group in groups.values() for each in group[1:]),
        tuple(int(n) for n in values.min(axis=0)), tuple(apart),
    )  # fmt: skip


def _terms(of: dict[int, int], ranks: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """1, each symbol, and the products of neighbouring axes of one input that vary."""
    terms: dict[tuple[int, ...], None] = {(): None, **{(number,): None for number in sorted(set(of.values()))}}
    first = 0
    for rank in ranks:
        for start, stop in itertools.combinations(range(first, first + rank + 1), 2):
            terms.setdefault(tuple(sorted(of[at] for at in range(start, stop) if at in of)))
        first += rank
    symbols = sorted(set(of.values()))
    if len(symbols) <= FEW:
        terms.update(dict.fromkeys(itertools.combinations(symbols, 2)))
    return tuple(terms)


def _exact(
    found: NDArray[np.float64], matrix: list[list[int]], seen: Sequence[Observation]
) -> tuple[NDArray[np.int64], int] | None:
    """The coefficients as fractions over one divisor, if they give every number exactly."""
    rows = [[Fraction(value).limit_denominator(16) for value in row] for row in found.tolist()]
    divisor = math.lcm(*(value.denominator for row in rows for value in row)) if rows else 1
    whole = [[int(value * divisor) for value in row] for row in rows]
    for each, terms in zip(seen, matrix, strict=True):
        for coefficients, number in zip(whole, each.numbers, strict=True):
            if sum(c * t for c, t in zip(coefficients, terms, strict=True)) != number * divisor:
                return None
    return np.array(whole, np.int64).reshape(len(whole), len(matrix[0])), divisor


def _rebuilt(
    structure: tuple[object, ...], numbers: list[int], ranks: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[tuple[Shape, ...], tuple[Edge, ...]] | None:
    """Outputs and edges from their structure and numbers; None if a row would lie outside its arrays."""
    stream = iter(numbers)

    def take(count: int) -> Shape:
        return tuple(itertools.islice(stream, count))

    ends = list(itertools.accumulate(ranks, initial=0))
    in_shapes = [sizes[a:b] for a, b in itertools.pairwise(ends)]
    outputs = tuple(take(rank) for rank in cast("tuple[int, ...]", structure[0]))
    edges: list[Edge] = []
    for each in structure[1:]:
        output, source, kind, out_rank, in_rank, parts = cast("tuple[int, int, Kind, int, int, Any]", each)
        out_view, in_view = take(out_rank), take(in_rank)
        if math.prod(out_view) != math.prod(outputs[output]) or math.prod(in_view) != math.prod(in_shapes[source]):
            return None
        table = _core.Table(outputs[output], in_shapes[source], out_view, in_view)
        for rows, parents in parts:
            axes: list[tuple[int, int, int]] = []
            lo: list[NDArray[np.int64]] = []
            width: list[NDArray[np.int64]] = []
            for parent in parents:
                p, q = take(2)
                axes.append((parent, p, q))
                lo.append(np.array(take(rows), np.int64))
                width.append(np.array(take(rows), np.int64))
            if not _inside(axes, lo, width, out_view + in_view):
                return None
            table.add(rows, axes, [*lo], [*width])
        edges.append(Edge(output, source, kind, Relation(outputs[output], in_shapes[source], table)))
    return outputs, tuple(edges)


def _inside(
    axes: list[tuple[int, int, int]], lo: list[NDArray[np.int64]], width: list[NDArray[np.int64]], view: Shape
) -> bool:
    """Whether every row lies within its arrays, and no interval is empty."""
    least: dict[int, NDArray[np.int64]] = {}
    most: dict[int, NDArray[np.int64]] = {}
    while len(least) < len(axes):
        for v, (parent, p, q) in enumerate(axes):
            if v in least or (parent >= 0 and parent not in least):
                continue
            low, high = lo[v], lo[v] + width[v]
            if parent >= 0:
                a, b = least[parent], most[parent]
                if (high - low + np.minimum((q - p) * a, (q - p) * b) < 0).any():
                    return False
                low, high = low + np.minimum(p * a, p * b), high + np.maximum(q * a, q * b)
            least[v], most[v] = low, high
    return all(
        bool((least[v] >= 0).all() and (most[v] < view[v]).all() and (least[v] <= most[v]).all())
        for v in range(len(axes))
    )
