"""Algorithms 1 and 2 of PredTrace: push the question down; where a step is not precise, save a result.

The paper saves the output of the operator that is not precise, and moves it to a later one that is smaller. Here every
operator from there up to the last grouping is tried, widened by columns of its inputs, and the cheapest is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from whence.rows.expressions import FALSE, Attr, conjunction, conjuncts
from whence.rows.operators import Arrange, Filter, Join, Operator, Project, Sort, Source, Values
from whence.rows.operators.join import LEFT_ONLY
from whence.rows.pushdown.base import Aim
from whence.rows.pushdown.step import Question, Step, step
from whence.rows.saving.limits import last_limit, without_limit
from whence.rows.saving.paths import PlanPath
from whence.rows.saving.relevant import asked_below, origins, relevant
from whence.rows.saving.sizes import Sizes, width
from whence.rows.saving.trace_plan import OUTPUT, Note, Saved, TracePlan, Use, selection
from whence.rows.saving.widen import BLOCK, widened

MOST_FACTS = 400_000  # conjuncts to push through operators (about ten seconds) before the plan is left to replay
TRIED, NEAR = 3, 8  # with more operators than TRIED, those with over NEAR times the rows of the smallest are skipped
WORTH = 0.9  # try another operator only if its result may take less than this fraction of the best one's space


def trace_plan(
    plan: Operator,
    witness: str = "rows",
    sizes: Sizes | None = None,
    chosen: Mapping[PlanPath, Sequence[int]] | None = None,
) -> TracePlan:
    """Choose what a run saves so that any row of its output can be traced, and the predicates that trace it.

    `chosen` says what an earlier run saved: at which paths, and the column indices of the widened operator.

    >>> from whence.rows import Attr, Project, Source, keep
    >>> a, b = Attr(1, "a", "long"), Attr(2, "b", "long")
    >>> print(trace_plan(Project(Source("t", 0, (a, b)), keep(a))).uses[0].predicate)
    a#1 <=> :-1:1
    """
    found = _planned(plan, witness, sizes or Sizes(), chosen or {})
    limit = last_limit(plan) if found.unavailable_reason else None
    if limit is not None:
        clear = _planned(without_limit(plan, limit), witness, sizes or Sizes(), chosen or {}, limit)
        if not clear.unavailable_reason:
            return replace(clear, limit_to_check=limit)
    return found


def _planned(
    plan: Operator, witness: str, sizes: Sizes, chosen: Mapping[PlanPath, Sequence[int]], limit: PlanPath | None = None
) -> TracePlan:
    walker = _Walker(witness, sizes, chosen, limit)
    try:
        part = walker.go(Question(plan, selection(OUTPUT, _comparable(plan.output))), OUTPUT, closed=False)
    except _Stuck as stuck:
        return TracePlan(unavailable_reason=str(stuck))
    return TracePlan(part.saved, part.uses, part.notes)


@dataclass(frozen=True, slots=True)
class _Choice:
    saved: tuple[Saved, ...] = ()
    uses: tuple[Use, ...] = ()
    notes: tuple[Note, ...] = ()

    def __add__(self, other: _Choice) -> _Choice:
        return _Choice(self.saved + other.saved, self.uses + other.uses, self.notes + other.notes)


@dataclass(frozen=True, slots=True)
class _Cut:
    """A result is saved further up, at `place`; `part` is everything from there down."""

    place: PlanPath
    part: _Choice


_Path: TypeAlias = tuple[Question, ...]


class _Stuck(Exception):
    """No result that could be saved makes the lineage precise."""


class _Walker:
    def __init__(
        self, witness: str, sizes: Sizes, chosen: Mapping[PlanPath, Sequence[int]], limit: PlanPath | None = None
    ) -> None:
        """Save nothing at `limit` or above: the plan here is without that limit."""
        self._witness, self._sizes, self._chosen, self._limit = witness, sizes, chosen, limit
        self._pushed = 0  # conjuncts so far
        self._serving: dict[tuple[PlanPath, int], bool] = {}
        self._tried: dict[tuple[PlanPath, int], _Choice] = {}
        self._widened: dict[PlanPath, tuple[Operator, Operator]] = {}  # original and widened operator
        self._columns: dict[tuple[PlanPath, tuple[Attr, ...]], tuple[Operator, list[Attr]]] = {}

    def go(self, at: Question, table: PlanPath, *, closed: bool, trying: bool = False) -> _Choice:
        """Follow a question from an operator down to the sources.

        `closed`: nothing more is saved before the next grouping. `trying`: only find out whether there is a way.
        """
        found = self._go(at, table, (), closed, trying)
        return found.part if isinstance(found, _Cut) else found

    def _go(self, at: Question, table: PlanPath, path: _Path, closed: bool, trying: bool) -> _Choice | _Cut:
        """`path` has the operators above whose results could be saved instead."""
        op, part = at.operator, _Choice(notes=(Note(at.place, at.predicate),))
        if isinstance(op, Source):
            return part if op.is_domain_copy else part + _Choice(uses=(Use(op, table, at.predicate),))
        if isinstance(op, Values):
            return part
        taken = self._step(at)
        if not taken.precise:
            why = f"{type(op).__name__}: {taken.why}"
            if closed or taken.large:
                raise _Stuck(why)
            return self._cut((*path, at), table, why, trying)
        below = self._limit is None or at.place != self._limit[: len(at.place)]
        further = (*path, at) if isinstance(op, BLOCK) and below else ()
        for index, child in enumerate(taken.below):
            within = isinstance(op, BLOCK) and not (isinstance(op, Join) and op.how in LEFT_ONLY and index)
            found = self._go(child, table, further if within else (), closed and within, trying)
            if isinstance(found, _Cut):
                if found.place != child.place:
                    return found
                found = found.part
            part += found
        return part

    def _step(self, at: Question) -> Step:
        """Take one step down, and count its conjuncts."""
        self._pushed += 0 if at.predicate == FALSE else len(conjuncts(at.predicate))
        if self._pushed > MOST_FACTS:
            raise _Stuck(f"{type(at.operator).__name__}: there are too many ways to choose the results to save")
        return step(at, Aim.LINEAGE, self._witness)

    def _cut(self, path: _Path, table: PlanPath, why: str, trying: bool) -> _Cut:
        """Save the result of the operator on the path that takes the least space."""
        for at in path:
            if at.place != table and at.place in self._chosen:
                return _Cut(at.place, self._saved(at, table, why, trying))
        best: tuple[float, Question] | None = None
        for at in self._smallest(path):
            # All columns of a table are known already. A saved result has no order, and a limit above may need one.
            if at.place == table or _has_order(at.operator):
                continue
            least = self._sizes.rows(at.operator) * sum(map(width, at.predicate.attrs))
            if (best is not None and least >= WORTH * best[0]) or not self._serves(at):
                continue
            cost = least if trying else _cost(self._saved(at, table, why, trying=True))
            if best is None or cost < best[0]:
                best = (cost, at)
        if best is None:
            raise _Stuck(why)
        at = best[1]
        if not trying:
            return _Cut(at.place, self._saved(at, table, why, trying))
        # With all columns saved, the choice below does not depend on the question from above.
        key = (at.place, len(at.operator.output))
        if key not in self._tried:
            self._tried[key] = self._saved(at, table, why, trying)
        return _Cut(at.place, self._tried[key])

    def _smallest(self, path: _Path) -> list[Question]:
        """The operators that may take the least space, those with the fewest rows first."""
        rows = {at.place: self._sizes.rows(at.operator) for at in path}
        most = NEAR * min(rows[at.place] for at in path)
        near = [at for at in path if rows[at.place] <= most] if len(path) > TRIED else path
        return sorted(near, key=lambda at: rows[at.place])

    def _serves(self, at: Question) -> bool:
        """Whether saving all columns of the operator, and results below it, is enough."""
        key = (at.place, len(at.operator.output))
        if key not in self._serving:
            self._serving[key] = False  # until the answer is known
            wide = self._wide(at)
            for closed in (True, False):
                try:
                    self._below(wide, at.place, _comparable(wide.output), closed)
                except _Stuck:
                    continue
                self._serving[key] = True
                break
        return self._serving[key]

    def _wide(self, at: Question) -> Operator:
        """Return the widened operator. It is cached, because widening creates new attributes each time."""
        known = self._widened.get(at.place)
        if known is None or known[0] is not at.operator:
            known = self._widened[at.place] = (at.operator, widened(at.operator))
        return known[1]

    def _saved(self, at: Question, table: PlanPath, why: str, trying: bool) -> _Choice:
        wide = self._wide(at)
        if at.place in self._chosen:
            columns = tuple(wide.output[index] for index in self._chosen[at.place])
            # `compact` left out only columns that are functionally dependent on the others.
            known = (fact for fact in conjuncts(at.predicate) if fact.attrs <= frozenset(columns))
            at = replace(at, predicate=conjunction(*known))
            return self._with(at, wide, columns, table, why, self._below(wide, at.place, columns, False, trying=trying))
        needed = tuple(sorted(at.predicate.attrs, key=lambda attr: attr.id))
        read = at.predicate.attrs
        others = [attr for attr in dict.fromkeys(_comparable(wide.output)) if attr not in read]
        closed = True
        try:
            most = len(self._below(wide, at.place, (*needed, *others), closed).saved)
        except _Stuck:
            closed = False
            most = len(self._below(wide, at.place, (*needed, *others), closed).saved)
        chosen = others
        if not trying or table == OUTPUT:
            found = self._columns.get((at.place, needed))
            if found is None or found[0] is not wide:
                found = (wide, self._fewest(wide, at.place, needed, others, closed, most))
                self._columns[at.place, needed] = found
            chosen = found[1]
        columns = (*needed, *chosen)
        return self._with(at, wide, columns, table, why, self._below(wide, at.place, columns, closed, trying=trying))

    def _with(
        self, at: Question, wide: Operator, columns: tuple[Attr, ...], table: PlanPath, why: str, part: _Choice
    ) -> _Choice:
        cost = self._sizes.rows(at.operator) * sum(map(width, columns))
        own = Saved(at.place, wide, columns, table, at.predicate, at.row_exists, why, cost)
        return _Choice((own, *part.saved), part.uses, (Note(at.place, at.predicate), *part.notes))

    def _fewest(
        self, wide: Operator, place: PlanPath, needed: tuple[Attr, ...], others: list[Attr], closed: bool, most: int
    ) -> list[Attr]:
        """Return the other columns that must be saved; try to leave out the widest first.

        Columns that no condition or key below depends on do not matter, so the first tries ignore them: few remain of a
        wide table. If they matter after all, try again with every column.
        """

        def serves(known: tuple[Attr, ...], attrs: Iterable[Attr]) -> bool:
            try:
                return len(self._below(wide, place, (*known, *attrs), closed).saved) <= most
            except _Stuck:
                return False

        matter = relevant(wide)
        asked, known_as = asked_below(wide), origins(wide, others)
        likely = [attr for attr in others if asked & known_as[attr]]
        deciding = [attr for attr in others if attr in matter]
        few = tuple(attr for attr in needed if attr in matter)
        for known, choices in ((few, (likely, deciding)), (needed, (likely, others))):
            start = next((each for each in choices if serves(known, each)), None)
            if start is not None:
                chosen = _smallest_serving(start, partial(serves, known))
                if known is needed or serves(needed, chosen):
                    return chosen
        return others

    def _below(
        self, wide: Operator, place: PlanPath, columns: Iterable[Attr], closed: bool, *, trying: bool = True
    ) -> _Choice:
        """Follow a row of the saved columns down to the sources; it is known to exist."""
        at = Question(wide, selection(place, columns), place=place)
        return self.go(at, place, closed=closed, trying=trying)


def _smallest_serving(start: list[Attr], serves: Callable[[list[Attr]], bool]) -> list[Attr]:
    """Return a minimal list of columns that is enough: leave out many at once, and if that fails, half of them."""
    chosen, left = start, [sorted(start, key=width, reverse=True)]
    while left:
        part = left.pop()
        without = frozenset(part)
        fewer = [each for each in chosen if each not in without]
        if serves(fewer):
            chosen = fewer
        elif len(part) > 1:
            half = len(part) // 2
            left += [part[half:], part[:half]]
    return chosen


def _has_order(op: Operator) -> bool:
    """Whether the rows are sorted."""
    while isinstance(op, Project | Filter | Arrange):
        op = op.child
    return isinstance(op, Sort)


def _cost(part: _Choice) -> float:
    return sum(each.cost for each in part.saved)


def _comparable(attrs: Iterable[Attr]) -> tuple[Attr, ...]:
    """The columns that Spark can compare: not maps, variants or types that contain them."""
    return tuple(attr for attr in attrs if '"type":"map"' not in attr.dtype and "variant" not in attr.dtype)
