"""Lineage for any shape: every integer of a relation is fitted as a function of the lengths of the input's axes.

Runs of the same operations at several shapes have relations with the same rows, but other integers. Each integer (a
bound, a length, a step) is fitted as a linear combination of 1, the lengths, and products of neighbouring lengths of
one array, because such a product is the size of a flattened array. The integers on the tape are fitted as well: the
arguments of operations, and the lengths of their results. An integer that does not follow from the lengths (a chosen
shift, a length that was halved and rounded) is treated as another length. A fit is accepted only if there are more
observations than unknowns, all independent, and it is exact for each of them. Then it is the only possible one.

A fit is used for a run of the same operations whose tape has exactly the integers that the fit gives. Then only the way
in which rules turn such integers into rows is extrapolated. Special cases of rules begin where lengths are equal to
each other or to given integers. So the order of all integers on the tape must be one that was observed. Lengths that
never varied must be the same, those that were always equal must be equal, and those that were always smaller must be
smaller by as much. None may be shorter than the shortest observed length, nor than 4, because functions have special
cases at lengths of 1, 2 and 3. Integers that do not vary with the lengths (a part that was cut off, a block of repeated
cells) show where special cases begin, too: the fit is used beyond the observed lengths only if these were all well
above such integers.

Some rules divide lengths and round. For lengths with the same remainders by all divisors, that is linear, with the same
factors for all remainders. So the observations of one class of remainders must determine the fit. An observation of
another class confirms it for that class, and classes that were never observed are not covered.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from whence.arrays.reuse.templates import Observation, Shape, Template, class_of, order_of
from whence.arrays.tracing._tape import SMALL

Columns = dict[tuple[int, ...], list[int]]  # for each term, its value in each observation
FEW_LENGTHS = 3
"""With at most this many lengths, every product of two is tried, because a Kronecker product has that length."""

SPARE = 2
"""How many more observations than unknowns a fit needs."""

MOST_FREE = 3
"""The most integers on the tape that do not follow from lengths. With more, no fit is tried."""

MODULI = (2, 3, 4)
"""Remainders by these divisors are tried if an integer does not follow from the lengths."""


@dataclass(frozen=True, slots=True)
class _Lengths:
    """The indices of lengths that vary among observations, in groups of equal ones. The first of each group is its
    symbol.
    """

    groups: tuple[tuple[int, ...], ...]
    axes: int  # the first so many are lengths of axes; the others are other integers

    @property
    def symbols(self) -> tuple[int, ...]:
        return tuple(group[0] for group in self.groups)

    @property
    def given(self) -> tuple[int, ...]:
        """The symbols that are not the length of an axis."""
        return tuple(n for n, group in enumerate(self.groups) if all(at >= self.axes for at in group))


def _lengths(seen: Sequence[_Seen], axes: int) -> _Lengths:
    groups: dict[tuple[int, ...], list[int]] = {}
    for at, column in enumerate(zip(*(each.sizes for each in seen), strict=True)):
        if len(set(column)) > 1:
            groups.setdefault(column, []).append(at)
    return _Lengths(tuple(tuple(group) for group in groups.values()), axes)


@dataclass(frozen=True, slots=True)
class _Seen:
    """An observation to be fitted: the integers that count as lengths, and all integers that should follow from
    them.
    """

    sizes: Shape
    numbers: tuple[int, ...]
    order: tuple[int, ...]


def _free_integers(observations: Sequence[Observation], ranks: Shape, most: int) -> tuple[int, ...] | None:
    """Return which integers of the tapes do not follow from the lengths; None if there are too many of them, or too few
    observations.
    """
    sizes = [list(each.sizes) for each in observations]
    columns = list(zip(*(each.given + each.made for each in observations), strict=True))
    free: list[int] = []
    known: set[tuple[int, ...]] = set()
    terms: list[list[int]] | None = None
    for at, column in enumerate(columns):
        if column in known or len(set(column)) == 1:
            continue
        if terms is None:
            terms = _columns_of([_Seen(tuple(each), (), ()) for each in sizes], ranks)
        if terms is None or len(observations) < len(terms) + SPARE:
            return None
        known.add(column)
        if _solved(terms, [column]) is None:
            if len(free) == most:
                return None
            free.append(at)
            for each, number in zip(sizes, column, strict=True):
                each.append(number)
            terms = None
    return tuple(free)


def _columns_of(seen: Sequence[_Seen], ranks: Shape) -> list[list[int]] | None:
    lengths = _lengths(seen, sum(ranks))
    if not lengths.symbols:
        return None
    symbols = lengths.symbols
    columns = {
        term: [math.prod(each.sizes[symbols[i]] for i in term) for each in seen] for term in _terms(lengths, ranks)
    }
    return [columns[term] for term in _independent(columns)]


def fitted(
    observations: Sequence[Observation], ranks: tuple[int, ...], divisors: frozenset[int] = frozenset()
) -> list[Template]:
    """Return the templates that fit all observations, or all with the same remainder, if the observations determine
    them.
    """
    distinct = list({each.lengths: each for each in observations}.values())
    if len(distinct) < 2 + SPARE or len({each.structure for each in distinct}) != 1:
        return []
    free = _free_integers(distinct, ranks, MOST_FREE)
    found = _fitted_templates(distinct, ranks, divisors, free)
    if free == ():
        return found or _by_remainder(distinct, ranks, divisors, divisors)
    return found + _by_remainder(distinct, ranks, divisors, divisors.union(MODULI))  # perhaps something was rounded


def _fitted_templates(
    distinct: Sequence[Observation], ranks: Shape, divisors: frozenset[int], free: Shape | None
) -> list[Template]:
    if free is None or len(distinct) < 2 + SPARE:
        return []
    rest = [each.given + each.made for each in distinct]
    seen = [
        _Seen(each.sizes + tuple(more[at] for at in free), each.numbers + more, order_of(each))
        for each, more in zip(distinct, rest, strict=True)
    ]
    lengths = _lengths(seen, sum(ranks))
    seen = [each for each in seen if all(each.sizes[at] >= SMALL for at in lengths.symbols)]
    if not lengths.symbols or len(seen) < 2 + SPARE:
        return []
    fit = _Fit(distinct[0].structure, lengths, ranks, tuple(sorted(divisors - {0, 1})), free)
    near = fit.of(seen)
    if near is None or not near.highest:
        return [] if near is None else [near]
    above = [each for each in seen if all(each.sizes[at] >= 2 * near.highest + 2 for at in lengths.symbols)]
    far = fit.of(above) if len(above) < len(seen) else None
    return [near] if far is None else [near, far]


def _by_remainder(
    distinct: Sequence[Observation], ranks: Shape, divisors: frozenset[int], moduli: frozenset[int]
) -> list[Template]:
    """Return templates for lengths with the same remainder: of one length, or of all that vary."""
    columns = zip(*(each.sizes for each in distinct), strict=True)
    varying = [at for at, column in enumerate(columns) if len(set(column)) > 1]
    for some in dict.fromkeys([*((at,) for at in varying), tuple(varying)]):
        for modulus in sorted(moduli - {0, 1}):
            classes: dict[tuple[int, ...], list[Observation]] = {}
            for each in distinct:
                classes.setdefault(tuple(each.sizes[at] % modulus for at in some), []).append(each)
            found = [
                _fitted_templates(members, ranks, divisors, _free_integers(members, ranks, 0))
                for members in classes.values()
            ]
            if any(found):
                return [each for templates in found for each in templates]
    return []


@dataclass(frozen=True, slots=True)
class _Fit:
    """The parameters that all fits of some observations share."""

    structure: tuple[object, ...]
    lengths: _Lengths
    ranks: tuple[int, ...]
    rounding: tuple[int, ...]
    free: tuple[int, ...]

    def of(self, seen: Sequence[_Seen]) -> Template | None:
        """Return the template of these observations, if they determine one; else None."""
        lengths, symbols, rounding = self.lengths, self.lengths.symbols, self.rounding
        terms = _terms(lengths, self.ranks)
        columns = {term: [math.prod(each.sizes[symbols[i]] for i in term) for each in seen] for term in terms}
        if not seen or any(len({each.sizes[at] for each in seen}) < 3 for at in symbols):
            return None
        terms = _independent(columns)
        if len(seen) < len(terms) + SPARE:
            return None
        wanted = list(zip(*(each.numbers for each in seen), strict=True))
        exact = _solved(
            [columns[term] for term in terms], [*wanted, *(columns[each] for each in columns if each not in terms)]
        )
        if exact is None:
            return None
        rows, tied = exact[: len(wanted)], exact[len(wanted) :]
        divisor = math.lcm(*(value.denominator for row in rows for value in row)) if rows else 1
        coefficients = np.array([[int(value * divisor) for value in row] for row in rows], np.int64)
        values = np.array([[each.sizes[at] for at in symbols] for each in seen], np.int64)
        classes: dict[tuple[int, ...], list[int]] = {}
        for at, some in enumerate(values.tolist()):
            classes.setdefault(class_of(some, rounding), []).append(at)
        if not any(
            len(_independent(_rows_of_members(columns, terms, members))) == len(terms) for members in classes.values()
        ):
            return None
        varying = {at for group in lengths.groups for at in group}
        highest = max((math.ceil(abs(row[terms.index(())])) for row in rows), default=0)
        bounded = highest >= SMALL and bool((values < 2 * highest + 2).any())
        return Template(
            self.structure, self.ranks, symbols, terms, coefficients.reshape(len(rows), len(terms)), divisor,
            tuple((at, length) for at, length in enumerate(seen[0].sizes) if at not in varying),
            tuple((group[0], each) for group in lengths.groups for each in group[1:]),
            tuple(int(n) for n in values.min(axis=0)), tuple(_distances(values, lengths.given)),
            tuple(int(n) * bounded for n in values.max(axis=0)),
            tuple(zip((each for each in columns if each not in terms), map(tuple, tied), strict=True)),
            rounding, frozenset(classes), self.free, frozenset(each.order for each in seen), highest * bounded,
        )  # fmt: skip


def _rows_of_members(columns: Columns, terms: tuple[tuple[int, ...], ...], members: list[int]) -> Columns:
    return {term: [columns[term][at] for at in members] for term in terms}


def _distances(values: NDArray[np.int64], given: tuple[int, ...]) -> Iterator[tuple[int, int, int, int]]:
    """Yield how far apart symbols have to be, as (i, factor, j, distance)."""
    for i, j in itertools.permutations(range(values.shape[1]), 2):
        gap = int((values[:, i] - values[:, j]).min())
        if i not in given and j not in given:
            if gap >= 0:
                yield i, 1, j, gap
        elif j in given and (values[:, i] >= 2 * values[:, j] + 2).all():  # well above: any distance will do
            yield i, 2, j, 2
        elif not (i in given and (values[:, j] >= 2 * values[:, i] + 2).all()):
            yield i, 1, j, gap


def _terms(lengths: _Lengths, ranks: tuple[int, ...]) -> tuple[tuple[int, ...], ...]:
    """Return the terms: 1, each symbol, products of varying neighbouring axes of one input, and of other integers with
    each.
    """
    of = {at: number for number, group in enumerate(lengths.groups) for at in group}
    terms: dict[tuple[int, ...], None] = {(): None, **{(number,): None for number in sorted(set(of.values()))}}
    first = 0
    for rank in ranks:
        for start, stop in itertools.combinations(range(first, first + rank + 1), 2):
            terms.setdefault(tuple(sorted(of[at] for at in range(start, stop) if at in of)))
        first += rank
    symbols = sorted(set(of.values()))
    pairs = itertools.combinations(symbols, 2)
    terms.update(dict.fromkeys(pair for pair in pairs if len(symbols) <= FEW_LENGTHS or set(pair) & set(lengths.given)))
    return tuple(terms)


def _independent(columns: Columns) -> tuple[tuple[int, ...], ...]:
    """Return the terms that earlier ones do not determine: a reshaped array has as many cells as its new shape."""
    kept: list[tuple[int, ...]] = []
    for term in columns:
        tried = np.array([columns[each] for each in (*kept, term)], float)
        if np.linalg.matrix_rank(tried / np.abs(tried).max(axis=1, keepdims=True)) == len(tried):
            kept.append(term)
    return tuple(kept)


def _solved(terms: list[list[int]], wanted: Sequence[Sequence[int]]) -> list[list[Fraction]] | None:
    """Return each wanted column as fractions of the terms' columns; None if one of them is not exact."""
    if not wanted:
        return []
    matrix = np.array(terms, float).T
    scale = np.abs(matrix).max(axis=0)
    found = np.linalg.lstsq(matrix / scale, np.array(wanted, float).T, rcond=None)[0].T / scale
    rows = [[Fraction(value).limit_denominator(16) for value in row] for row in found.tolist()]
    for row, column in zip(rows, wanted, strict=True):
        divisor = math.lcm(*(value.denominator for value in row))
        whole = [int(value * divisor) for value in row]
        for number, at in zip(column, zip(*terms, strict=True), strict=True):
            if sum(c * t for c, t in zip(whole, at, strict=True)) != number * divisor:
                return None
    return rows
