"""Templates: lineage in which integers are filled in for other lengths."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from whence import _core
from whence.arrays.recording.calls import Edge
from whence.arrays.rules import Kind
from whence.relation import Relation
from whence.relation.columns import spread

Shape = tuple[int, ...]
MOST_ROWS = 64


class Integers(Protocol):
    """An object with the integers of a call record."""

    @property
    def sizes(self) -> Shape: ...
    @property
    def given(self) -> Shape: ...
    @property
    def made(self) -> Shape: ...


@dataclass(frozen=True, slots=True)
class Observation:
    """One run: the integers of its tape, and its lineage split into structure and integers."""

    sizes: Shape
    given: Shape
    made: Shape
    structure: tuple[object, ...]
    numbers: tuple[int, ...]

    @property
    def lengths(self) -> Shape:
        """The integers that differ from other runs."""
        return self.sizes + self.given


def observed(tape: Integers, outputs: Sequence[Shape], edges: Sequence[Edge]) -> Observation | None:
    """Return an observation; None if the relations have too many rows for a template."""
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
    return Observation(tape.sizes, tape.given, tape.made, tuple(structure), tuple(numbers))


def order_of(tape: Integers) -> tuple[int, ...]:
    """Return the rank of each integer of a tape among all of them.

    >>> order_of(Observation((9, 4), (5,), (4, 9), (), ()))
    (2, 0, 1, 0, 2)
    """
    every = tape.sizes + tape.given + tape.made
    ranks = {number: rank for rank, number in enumerate(sorted(set(every)))}
    return tuple(ranks[number] for number in every)


@dataclass(frozen=True, slots=True)
class Template:
    """A fit: coefficients of the terms for each integer, and the lengths for which the fit holds."""

    structure: tuple[object, ...]
    ranks: tuple[int, ...]  # the numbers of axes of the inputs
    symbols: tuple[int, ...]  # indices of the lengths that vary, one for each group of equal ones
    terms: tuple[tuple[int, ...], ...]  # products of symbols, by their index; () is 1
    coefficients: NDArray[np.int64]
    divisor: int
    fixed: tuple[tuple[int, int], ...]  # (index, length)
    equal: tuple[tuple[int, int], ...]  # pairs of indices
    least: tuple[int, ...]  # the least value of each symbol
    apart: tuple[tuple[int, int, int, int], ...]  # (i, factor, j, d): symbol i is at least factor * symbol j + d
    most: tuple[int, ...]  # the greatest value of each symbol; 0: no limit
    ties: tuple[tuple[tuple[int, ...], tuple[Fraction, ...]], ...]  # products that equal combinations of terms
    divisors: tuple[int, ...]
    classes: frozenset[tuple[int, ...]]  # observed remainders of all symbols by all divisors
    free: tuple[int, ...]  # indices of the integers of the tape that count as lengths
    orders: frozenset[tuple[int, ...]]  # observed orders of the integers of tapes
    highest: int  # the highest integer that does not vary, if some lengths were near it; else 0

    def covers(self, sizes: tuple[int, ...]) -> bool:
        """Whether these lengths are like the observed ones."""
        values = [sizes[at] for at in self.symbols]
        return (
            all(sizes[at] == length for at, length in self.fixed)
            and all(sizes[a] == sizes[b] for a, b in self.equal)
            and all(value >= least for value, least in zip(values, self.least, strict=True))
            and all(not most or value <= most for value, most in zip(values, self.most, strict=True))
            and all(values[i] - factor * values[j] >= gap for i, factor, j, gap in self.apart)
            and class_of(values, self.divisors) in self.classes
        )

    @staticmethod
    def _tied(values: list[int], terms: list[int], product: tuple[int, ...], parts: tuple[Fraction, ...]) -> bool:
        return math.prod(values[i] for i in product) == sum(c * t for c, t in zip(parts, terms, strict=True))

    def agrees(self, seen: Observation) -> bool:
        """Whether the fit gives what was observed, or does not cover the run."""
        found = self.predict(seen)
        return found is None or observed(seen, *found) == seen

    def predict(self, tape: Integers) -> tuple[tuple[Shape, ...], tuple[Edge, ...]] | None:
        """Return the output shapes and the lineage of a run of the same operations; None if the fit does not hold."""
        rest = tape.given + tape.made
        sizes = tape.sizes + tuple(rest[at] for at in self.free)
        if not self.covers(sizes) or order_of(tape) not in self.orders:
            return None
        values = [sizes[at] for at in self.symbols]
        terms = [math.prod(values[i] for i in term) for term in self.terms]
        if max(terms) > 1 << 40 or not all(self._tied(values, terms, *tie) for tie in self.ties):
            return None
        totals = self.coefficients @ np.array(terms, np.int64)
        if (totals % self.divisor).any():
            return None
        numbers: list[int] = (totals // self.divisor).tolist()
        lineage = len(numbers) - len(rest)
        if tuple(numbers[lineage:]) != rest:
            return None  # the same operations with other integers
        return _outputs_and_edges(self.structure, numbers[:lineage], self.ranks, tape.sizes)


def class_of(values: Sequence[int], divisors: tuple[int, ...]) -> tuple[int, ...]:
    """Return the remainders of all values by all divisors."""
    return tuple(value % divisor for value in values for divisor in divisors)


def _outputs_and_edges(
    structure: tuple[object, ...], numbers: list[int], ranks: tuple[int, ...], sizes: tuple[int, ...]
) -> tuple[tuple[Shape, ...], tuple[Edge, ...]] | None:
    """Return outputs and edges from their structure and integers; None if a row would be outside its arrays."""
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
            if not _all_rows_fit(axes, lo, width, out_view + in_view):
                return None
            table.add(rows, axes, [*lo], [*width])
        edges.append(Edge(output, source, kind, Relation(outputs[output], in_shapes[source], table)))
    return outputs, tuple(edges)


def _all_rows_fit(
    axes: list[tuple[int, int, int]], lo: list[NDArray[np.int64]], width: list[NDArray[np.int64]], view: Shape
) -> bool:
    """Whether every row is inside its arrays, and no interval is empty."""
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
