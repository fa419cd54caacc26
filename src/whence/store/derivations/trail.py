"""The steps of a walk: where each led, to how many cells, how it was answered, and whether it is exact."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from whence.relation import Traced
from whence.selection import Selection
from whence.store.answers import Step
from whence.store.derivations.adjacency import WEIGHT, Direction, Way, is_activity

WHOLE = "it is known only as a whole"
WEIGHED = "its contributions are estimated by weights"


class Walked(Protocol):
    """The members of a plan that a trail uses."""

    @property
    def direction(self) -> Direction: ...
    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]: ...
    @property
    def notes(self) -> Mapping[str, str]: ...
    @property
    def doubts(self) -> frozenset[str]: ...
    @property
    def public(self) -> Mapping[str, str]: ...


@dataclass(slots=True)
class _Taken:
    """One derivation that was followed; in a cycle, several times."""

    here: str
    way: Way
    arrived: Selection
    reason: str | None
    how: str
    seconds: float


class Trail:
    """The derivations that a walk followed, in order."""

    def __init__(self, plan: Walked) -> None:
        self._plan = plan
        self._taken: dict[tuple[str, str, str], _Taken] = {}

    def add(self, here: str, way: Way, traced: Traced, seconds: float) -> None:
        """Add a derivation that was followed, unless it led to no cells."""
        if not traced.selection:
            return
        key = (here, way.there, way.hash)
        known = self._taken.get(key)
        if known is None:
            self._taken[key] = _Taken(here, way, traced.selection, traced.reason, traced.how, seconds)
            return
        known.arrived |= traced.selection
        known.reason = known.reason or traced.reason
        known.seconds += seconds

    def steps(self) -> tuple[Step, ...]:
        """Return the steps from dataset to dataset; the derivations to an activity and from it are one step.

        Each input and each output of an activity is in at least one step, but not each pair of them is a step.
        """
        found: list[Step] = []
        towards: dict[str, list[_Taken]] = {}
        away: dict[str, list[_Taken]] = {}
        for each in self._taken.values():
            if is_activity(each.way.there):
                towards.setdefault(each.way.there, []).append(each)
            elif is_activity(each.here):
                away.setdefault(each.here, []).append(each)
        for each in self._taken.values():
            if is_activity(each.here):
                first = towards[each.here][0]
                found.append(self._step(first.here, each, self._public_name(each.here), "activity"))
            elif not is_activity(each.way.there):
                found.append(self._step(each.here, each, each.way.activity, each.how))
            elif each is not towards[each.way.there][0] and (beyond := away.get(each.way.there)):
                found.append(self._step(each.here, beyond[0], self._public_name(each.way.there), "activity"))
        return tuple(found)

    def _public_name(self, name: str) -> str:
        return self._plan.public.get(name, name)

    def _step(self, here: str, taken: _Taken, activity: str | None, how: str) -> Step:
        there = taken.way.there
        why = "; ".join(self._reasons(here, taken, activity)) or None
        return Step(
            self._public_name(there), self._public_name(here), self._plan.direction, activity, taken.arrived.count, how,
            taken.seconds, why, taken.arrived,
        )  # fmt: skip

    def _reasons(self, here: str, taken: _Taken, activity: str | None) -> Iterable[str]:
        plan, there = self._plan, taken.way.there
        output, input = (here, there) if plan.direction == "backward" else (there, here)
        if output in plan.doubts:
            yield f"{self._public_name(output)!r} {plan.notes[output]}"
        why = taken.reason
        if why is None and taken.way.kind == "whole" and math.prod(plan.shapes[there]) > 1:
            why = WHOLE
        if why is None and taken.way.kind.startswith(WEIGHT):
            why = WEIGHED
        if why is not None:
            by = f" by {activity}" if activity else ""
            yield f"{self._public_name(output)!r} from {self._public_name(input)!r}{by}: {why}"
