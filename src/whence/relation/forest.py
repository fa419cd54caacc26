"""Join two rows without expanding them: eliminate the axes in the middle, or raise NoForm if the result is no row.

A row is a forest of axes (docs/design/boxes.md). Joining C <- B with B <- A connects two forests at the axes of B. It
needs three steps. An axis that is a one-to-one image of its parent can be swapped with it. A constant bound on an axis
is passed to its parent, and splits the parent's range where another bound takes over. And a middle axis is dropped if
it has no children, one value for each value of its parent, or one child whose intervals have no gaps.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace


class NoForm(Exception):
    """The joined row is not a forest of axes: it must be split into cells."""


@dataclass(frozen=True, slots=True)
class Bound:
    """lo + p * parent <= axis <= hi + q * parent; without a parent: lo <= axis <= hi."""

    lo: int
    hi: int
    parent: Hashable = None
    p: int = 0
    q: int = 0

    @property
    def single(self) -> bool:
        """Whether there is one value for each value of the parent."""
        return self.p == self.q and self.lo == self.hi

    @property
    def unit(self) -> bool:
        """Whether it is a one-to-one image of the parent."""
        return self.single and self.p in (1, -1)


Forest = dict[Hashable, Bound]


def join(outer: Forest, inner: Forest, middle: list[tuple[Hashable, Hashable]]) -> list[Forest]:
    """Return all forests over the axes of both except the middle ones; each pair in `middle` names the same axis in
    both.

    >>> outer = {"c": Bound(0, 9), "b": Bound(0, 0, "c", 1, 1)}
    >>> inner = {"B": Bound(0, 9), "a": Bound(0, 1, "B", 2, 2)}
    >>> join(outer, inner, [("b", "B")])
    [{'c': Bound(lo=0, hi=9, parent=None, p=0, q=0), 'a': Bound(lo=0, hi=1, parent='c', p=2, q=2)}]
    """
    forests = [{**outer, **inner}]
    for x, y in middle:
        forests = [merged for forest in forests for merged in _identify(forest, x, y)]
    names = [x for x, _ in middle]
    return [_without(forest, names) for forest in forests]


def hull(forest: Forest, v: Hashable) -> tuple[int, int]:
    """Return the least and the greatest value of an axis."""
    bound = forest[v]
    if bound.parent is None:
        return bound.lo, bound.hi
    a, b = hull(forest, bound.parent)
    return bound.lo + min(bound.p * a, bound.p * b), bound.hi + max(bound.q * a, bound.q * b)


def canonical(forest: Forest, names: Sequence[Hashable]) -> Forest:
    """Return the same row with each axis, in the order of names, as a root if possible.

    >>> canonical({"b": Bound(1, 1, "a", -1, -1), "a": Bound(0, 1)}, ["b", "a"])
    {'b': Bound(lo=0, hi=1, parent=None, p=0, q=0), 'a': Bound(lo=1, hi=1, parent='b', p=-1, q=-1)}
    """
    settled: set[Hashable] = set()
    for v in names:
        if _root(forest, v) not in settled:
            with suppress(NoForm):
                forest = _rooted(forest, v)
            settled.add(_root(forest, v))
    return {v: forest[v] for v in names}


def _root(forest: Forest, v: Hashable) -> Hashable:
    while (u := forest[v].parent) is not None:
        v = u
    return v


def _children(forest: Forest, v: Hashable) -> list[Hashable]:
    return [w for w, bound in forest.items() if bound.parent == v]


def _identify(forest: Forest, x: Hashable, y: Hashable) -> Iterator[Forest]:
    """Make x and y the same axis; x stays."""
    if _root(forest, x) == _root(forest, y):
        raise NoForm  # a cycle, which is not a forest
    if forest[y].parent is not None:
        if forest[x].parent is not None:
            try:
                forest = _rooted(forest, y)
            except NoForm:
                forest = _rooted(forest, x)
        if forest[y].parent is not None:  # x is a root: swap their bounds
            kept = forest[x]
            forest = {**forest, x: forest[y], y: kept}
    lone = forest[y]
    forest = {w: replace(b, parent=x) if b.parent == y else b for w, b in forest.items() if w != y}
    yield from _clipped(forest, x, lone.lo, lone.hi)


def _rooted(forest: Forest, v: Hashable) -> Forest:
    """Return the same forest with v as a root: every edge above it is reversed."""
    bound = forest[v]
    if bound.parent is None:
        return forest
    if not bound.unit:
        raise NoForm
    forest = _rooted(forest, bound.parent)
    low, high = hull(forest, v)
    # v = p * parent + s, so parent = p * v - p * s for p = 1 or -1
    turned = Bound(-bound.p * bound.lo, -bound.p * bound.lo, v, bound.p, bound.p)
    return {**forest, v: Bound(low, high), bound.parent: turned}


def _clipped(forest: Forest, v: Hashable, low: int, high: int) -> Iterator[Forest]:
    """Yield the forests of the part of a forest in which v is in [low, high]."""
    if low > high:
        return
    bound = forest[v]
    u = bound.parent
    if u is None:
        if max(bound.lo, low) <= min(bound.hi, high):
            yield {**forest, v: Bound(max(bound.lo, low), min(bound.hi, high))}
        return
    first, last = hull(forest, u)
    # Split where v's own lower bound is stricter and where `low` is; the same for the upper bound.
    for lower_first, lower_last, lo, p in _stricter_ranges(bound.lo, bound.p, low, first, last, above=True):
        for upper_first, upper_last, hi, q in _stricter_ranges(
            bound.hi, bound.q, high, lower_first, lower_last, above=False
        ):
            a, b = _range_where(lo, p, high, upper_first, upper_last, above=False)  # lower bound <= high
            a, b = _range_where(hi, q, low, a, b, above=True)  # upper bound >= low
            if a <= b:
                piece = {**forest, v: _under(lo, p, hi, q, u)}
                yield from [piece] if (a, b) == (first, last) else _clipped(piece, u, a, b)


def _stricter_ranges(
    c: int, k: int, bound: int, first: int, last: int, *, above: bool
) -> Iterator[tuple[int, int, int, int]]:
    """Yield ranges of u in which c + k*u, or the constant bound, is the stricter one, with that bound."""
    a, b = _range_where(c, k, bound, first, last, above=above)
    if a <= b:
        yield a, b, c, k
    if a > b:
        yield first, last, bound, 0
    else:
        if first <= a - 1:
            yield first, a - 1, bound, 0
        if b + 1 <= last:
            yield b + 1, last, bound, 0


def _range_where(c: int, k: int, bound: int, first: int, last: int, *, above: bool) -> tuple[int, int]:
    """Return the part of [first, last] where c + k*u >= bound (above) or <= bound."""
    if first > last:
        return first, last
    if k == 0:
        return (first, last) if (c >= bound if above else c <= bound) else (1, 0)
    if (k > 0) == above:
        return max(first, -((c - bound) // k)), last  # from ceil((bound - c) / k) on
    return first, min(last, (bound - c) // k)


def _without(forest: Forest, names: list[Hashable]) -> Forest:
    """Return the forest without the named axes."""
    left = list(names)
    while left:
        for v in left:
            try:
                forest = _eliminated(forest, v)
            except NoForm:
                continue
            left.remove(v)
            break
        else:
            raise NoForm
    return forest


def _eliminated(forest: Forest, v: Hashable) -> Forest:
    bound, children = forest[v], _children(forest, v)
    rest = {w: b for w, b in forest.items() if w != v}
    if not children:
        return rest
    if bound.single:
        for w in children:
            b = forest[w]
            rest[w] = _under(b.lo + b.p * bound.lo, b.p * bound.p, b.hi + b.q * bound.lo, b.q * bound.p, bound.parent)
        return rest
    if bound.parent is None:
        twin = next((w for w in children if forest[w].unit), None)
        if twin is not None and len(children) > 1:
            return _eliminated(_rooted(forest, twin), v)
    if len(children) > 1:
        raise NoForm
    (w,) = children
    b = forest[w]
    first, last = hull(forest, v)
    for x in (first, last - 1):
        if last > first and b.lo + b.p * x + max(b.p, 0) > b.hi + b.q * x + min(b.q, 0) + 1:
            raise NoForm  # gaps between the intervals of neighbours
    lower = (bound.lo, bound.p) if b.p >= 0 else (bound.hi, bound.q)
    upper = (bound.hi, bound.q) if b.q >= 0 else (bound.lo, bound.p)
    rest[w] = _under(b.lo + b.p * lower[0], b.p * lower[1], b.hi + b.q * upper[0], b.q * upper[1], bound.parent)
    return rest


def _under(lo: int, p: int, hi: int, q: int, parent: Hashable) -> Bound:
    return Bound(lo, hi, parent, p, q) if parent is not None and (p or q) else Bound(lo, hi)
