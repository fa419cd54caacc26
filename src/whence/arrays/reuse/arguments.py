"""Arguments that lineage does not follow from are found, and left out of signatures (section 5.2.4 of the thesis).

Agreement of a few calls is no proof, and a wrong prediction is worse than none. So an argument is left out only if its
calls agree *and* it is known why they do:

- a number that no code looked at, and that was no index or parameter: whatever its value;
- an argument that the rule of a NumPy function, or the code of a function, never reads: whatever its value;
- other arguments (a flag, a text): for values whose calls did the very same things with the same arrays, step by step.

A mismatch ends it for good.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from whence.arrays.recording.calls import Captured, Edge, Shape
from whence.arrays.reuse.signatures import Any_, Unkeyed, base_sig, dim_sig, value_of
from whence.arrays.reuse.views import same

CONTEXTS = 64  # calls that an argument's values are compared in, at most
VALUES = 8  # values that are remembered in each


class Seen(NamedTuple):
    """What a call came to."""

    outputs: tuple[Shape, ...]
    edges: tuple[Edge, ...]
    trail: str

    def agrees(self, other: Seen) -> bool:
        """Whether the lineage is the same."""
        return self.outputs == other.outputs and same(self.edges, other.edges)


@dataclass(slots=True)
class Argument:
    """What is known of one argument."""

    kept: bool = False  # it matters, or may
    dropped: bool = False  # it does not, whatever its value
    pool: dict[str, str] = field(default_factory=dict)  # values, and which other one each is as good as
    literal: bool = False  # its integers decided something, so they are no lengths
    seen: dict[Hashable, dict[str, Seen]] = field(default_factory=dict)

    @property
    def state(self) -> str:
        """As a view has it."""
        return "confirmed" if self.dropped or self.pool else "refused" if self.kept else "candidate"

    def payload(self) -> dict[str, Any]:
        """In the terms of JSON."""
        return {"kept": self.kept, "dropped": self.dropped, "pool": dict(self.pool), "literal": self.literal}


class Arguments:
    """What is known of all arguments of a function."""

    def __init__(self, confirmations: int) -> None:
        self._confirmations = confirmations
        self._known: dict[str, Argument] = {}

    def load(self, name: str, payload: Mapping[str, Any]) -> None:
        """What another program found out."""
        self._known[name] = Argument(payload["kept"], payload["dropped"], dict(payload["pool"]), payload["literal"])

    def __getitem__(self, name: str) -> Argument:
        return self._known[name]

    @property
    def literal(self) -> set[str]:
        """The arguments whose integers are no lengths."""
        return {name for name, each in self._known.items() if each.literal}

    def reduced(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments, without the values of those that do not matter."""
        if not any(each.dropped or each.pool for each in self._known.values()):
            return given
        return {name: self._left_out(name, item) for name, item in given.items()}

    def _left_out(self, name: str, item: Any) -> Any:
        known = self._known.get(name)
        if known is None or known.kept or not _simple(item):
            return item
        if known.dropped:
            return Any_(item)
        like = known.pool.get(repr(value_of(item))) if known.pool else None
        return item if like is None else Any_(item, like)

    def learn(self, given: Mapping[str, Any], found: Captured) -> set[str]:
        """A call was traced; the arguments that are left out from now on, or no longer."""
        if not found.certain or found.written or found.unsteady:
            return set()
        changed = set()
        for name, item in _candidates(given):
            known = self._known.setdefault(name, Argument())
            before = (known.dropped, dict(known.pool))
            known.literal |= name in found.literal
            if not known.kept:
                self._compare(known, name, item, given, found)
            if (known.dropped, known.pool) != before:
                changed.add(name)
        return changed

    def _compare(self, known: Argument, name: str, item: Any, given: Mapping[str, Any], found: Captured) -> None:
        sure, number = name in found.unread, type(item) in (int, float)
        if number and not sure:
            known.kept = True  # somebody looked
        else:
            others = {key: each for key, each in self.reduced(given).items() if key != name}
            context = (type(item).__name__, base_sig(others) if found.values_matter else dim_sig(others))
            if context not in known.seen and len(known.seen) >= CONTEXTS:
                return
            calls = known.seen.setdefault(context, {})
            call = Seen(tuple(each.shape for each in found.outputs), found.edges, found.trail)
            known.kept = not all(each.agrees(call) for each in calls.values())
            if len(calls) < VALUES:
                calls[repr(value_of(item))] = call
            if sure:
                known.dropped |= len(calls) > (self._confirmations if number else 1)
            elif call.trail and not (found.values_matter or found.sizes_compared):
                known.pool.update(_classes(calls, call.trail, known.pool))
        if known.kept:
            known.dropped, known.pool, known.seen = False, {}, {}

    def doubt(self) -> set[str]:
        """A prediction was wrong: no argument is left out any more."""
        wrong = {name for name, each in self._known.items() if each.dropped or each.pool}
        for name in wrong:
            self._known[name] = Argument(kept=True, literal=self._known[name].literal)
        return wrong


def _candidates(given: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for name, item in given.items():
        if _simple(item):
            try:
                value_of(item)
            except Unkeyed:
                continue
            yield name, item


def _simple(item: Any) -> bool:
    """No array, and nothing with arrays in it."""
    if isinstance(item, (list, tuple)):
        return all(map(_simple, item))
    return not isinstance(item, (np.ndarray, dict, Any_))


def _classes(calls: Mapping[str, Seen], trail: str, pool: Mapping[str, str]) -> dict[str, str]:
    """The values whose calls left this trail, if there are several, and one of them that stands for all."""
    values = [value for value, call in calls.items() if call.trail == trail]
    like = next((pool[value] for value in values if value in pool), values[0] if values else "")
    return dict.fromkeys(values, like) if len(values) > 1 else {}
