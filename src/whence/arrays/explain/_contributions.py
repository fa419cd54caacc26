"""Estimated lineage: contributions with a weight, stored in bands, so that a question can select those above a level.

A band is a relation: the tuples whose weight is between its level and the next. A question above a level unites the
bands from that level on, so it is exact at the levels. Between two levels it would be a guess, so the question is
refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from whence.arrays.rules._rows import linked
from whence.errors import BadType, NoLineage, ShapeMismatch
from whence.relation import Relation
from whence.selection import Selection

LEVELS = (0.1, 0.25, 0.5, 0.75)
Shape = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Contributions:
    """Relations by level, lowest first: `log.lineage(out, inp, contributions)` records them.

    >>> found = from_weights([[0.9, 0.3, 0.0]], (1,), (3,), levels=(0.2, 0.5))
    >>> found.backward([(0,)]), found.backward([(0,)], above=0.5)
    (Selection(shape=(3,), 2 cells: [0:2]), Selection(shape=(3,), 1 cell: [0]))
    """

    bands: tuple[tuple[float, Relation], ...]

    @property
    def levels(self) -> tuple[float, ...]:
        """The levels that a question may use."""
        return tuple(level for level, _ in self.bands)

    def backward(self, cells: Any, above: float | None = None) -> Selection:
        """The input cells that contributed to these output cells with at least this weight."""
        chosen = self._above(above)
        found = Selection.empty(chosen[0].in_shape)
        for relation in chosen:
            found |= relation.backward(cells)
        return found

    def forward(self, cells: Any, above: float | None = None) -> Selection:
        """The output cells that these input cells contributed to with at least this weight."""
        chosen = self._above(above)
        found = Selection.empty(chosen[0].out_shape)
        for relation in chosen:
            found |= relation.forward(cells)
        return found

    def _above(self, above: float | None) -> list[Relation]:
        if above is None:
            return [relation for _, relation in self.bands]
        if not any(math.isclose(above, level) for level in self.levels):
            raise NoLineage(
                f"contributions were recorded at the levels {', '.join(f'{level:g}' for level in self.levels)}, "
                f"so those above {above:g} are not known exactly: use one of these levels, or record others"
            )
        return [relation for level, relation in self.bands if level >= above or math.isclose(level, above)]

    def kinds(self) -> Iterable[tuple[str, Relation]]:
        """Yield each band with the kind of its edge in the log."""
        return ((f"weight {level!r}", relation) for level, relation in self.bands)

    @classmethod
    def of_kinds(cls, edges: Iterable[tuple[str, Relation]]) -> Contributions:
        """Return the contributions in edges of the log."""
        found = [
            (float(kind.removeprefix("weight ")), relation) for kind, relation in edges if kind.startswith("weight ")
        ]
        if not found:
            raise NoLineage("no contributions with weights were recorded between the two")
        return cls(tuple(sorted(found, key=lambda band: band[0])))


def from_weights(
    weights: Any,
    out_shape: Sequence[int],
    in_shape: Sequence[int],
    *,
    levels: Sequence[float] = LEVELS,
    relative: bool = True,
    segments: Any = None,
) -> Contributions:
    """Make contributions from a matrix of weights (output cells, input cells), such as attributions of captum or shap.

    Relative levels are fractions of each output cell's largest weight. Weights below the lowest level are dropped. With
    `segments`, the columns are segments of the input, and label its cells.
    """
    out, into = tuple(out_shape), tuple(in_shape)
    matrix: NDArray[np.float64] = np.abs(np.asarray(weights, float))
    columns = math.prod(into) if segments is None else int(np.max(segments)) + 1
    if matrix.size != math.prod(out) * columns:
        raise ShapeMismatch(f"weights of shape {matrix.shape} are not {math.prod(out)} x {columns}, output by input")
    matrix = matrix.reshape(math.prod(out), columns)
    if not np.isfinite(matrix).all():
        raise BadType("weights must be finite numbers; these contain NaN or infinity")
    steps = sorted(float(level) for level in levels)
    if not steps or steps[0] <= 0 or len(set(steps)) != len(steps):
        raise BadType(f"levels are distinct numbers above zero, such as {LEVELS}; got {tuple(levels)}")
    if relative:
        largest = matrix.max(axis=1, keepdims=True, initial=0.0)
        matrix = np.divide(matrix, largest, out=np.zeros_like(matrix), where=largest > 0)
    bands = []
    for low, high in pairwise([*steps, math.inf]):
        targets, sources = np.nonzero((matrix >= low) & (matrix < high))
        if segments is None:
            bands.append((low, linked(targets, sources, out, into)))
        else:
            owner = np.asarray(segments)
            if owner.shape != into:
                raise ShapeMismatch(f"segments of shape {owner.shape} do not label an input of shape {into}")
            cells = linked(owner.ravel(), np.arange(owner.size), (columns,), into)
            bands.append((low, linked(targets, sources, out, (columns,)).compose(cells)))
    return Contributions(tuple(bands))
