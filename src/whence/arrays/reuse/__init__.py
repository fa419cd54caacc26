"""Reuse of lineage: learned from runs, stored in the log, used for runs with the same call record.

The call record of a run (`whence.arrays.tracing`) contains everything that its lineage is computed from. Another run
reuses the lineage only if its call record is the same, so it does not matter which files, globals or random numbers a
function reads. For runs of the same operations at other lengths, the integers in the lineage and in the call record are
fitted as functions of the lengths. The fit is used if it gives every integer of the new call record.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Any

from whence.arrays.recording.calls import Captured
from whence.arrays.reuse.fitting import fitted
from whence.arrays.reuse.learned import Known, Level, ReuseRule, Shelf, packed, same, unpacked
from whence.arrays.reuse.templates import Observation, Template, observed
from whence.arrays.tracing._tape import CallRecord

__all__ = ["Known", "Level", "ReuseIndex", "ReuseRule", "Shelf"]

MOST_OBSERVATIONS = 60
MOST_KNOWN = 1 << 12
MOST_ROWS = 1 << 22
"""The most rows of relations that are kept in memory for each function, in addition to the latest lineage."""

MOST_STORED = 1 << 8
"""The most rules of a function in the log. If lineage depends on contents, each call makes another rule."""


@dataclass(slots=True)
class Group:
    """All runs of the same operations, at any lengths."""

    signature: str
    ranks: tuple[int, ...]
    refused: bool = False
    divisors: set[int] = field(default_factory=set)  # integers by which operations divided lengths
    observations: list[tuple[Observation, dict[str, Any]]] = field(default_factory=list)
    templates: tuple[Template, ...] = ()
    notes: dict[str, int] | None = None

    def fit(self) -> None:
        """Fit templates to the observations, by structure; drop a template that an observation contradicts."""
        self.templates = ()
        if self.refused:
            return
        seen = [each for each, _ in self.observations]
        found = []
        for structure in dict.fromkeys(each.structure for each in seen):
            alike = [each for each in seen if each.structure == structure]
            tried = fitted(alike, self.ranks, frozenset(self.divisors))
            found += [template for template in tried if all(template.agrees(each) for each in seen)]
        self.templates = tuple(found)

    def predict(self, call_record: CallRecord) -> Any:
        """Return the prediction of the templates that cover this call record, if they agree; else None."""
        covering = [found for each in self.templates if (found := each.predict(call_record)) is not None]
        alike = all(each[0] == covering[0][0] and same(each[1], covering[0][1]) for each in covering[1:])
        return covering[0] if covering and alike else None

    def payload(self) -> dict[str, Any]:
        """Return the group as a dictionary for JSON."""
        seen = [
            {"sizes": list(each.sizes), "given": list(each.given), "made": list(each.made), **data}
            for each, data in self.observations
        ]
        return {
            "ranks": list(self.ranks), "refused": self.refused, "divisors": sorted(self.divisors),
            "notes": self.notes or {}, "observations": seen,
        }  # fmt: skip

    @property
    def state(self) -> str:
        """Whether it can be used for other lengths."""
        return "confirmed" if self.templates else "refused" if self.refused else "candidate"


class ReuseIndex:
    """The known lineage of runs of one function name, including the rules that other programs stored in the log.

    Correctness depends on call records alone. Names only make rules easy to load and to list.
    """

    def __init__(self, shelf: Shelf, name: str) -> None:
        self._shelf = shelf
        self.identity = name
        self._known: dict[str, Known] = {}
        self._rows = 0
        self._groups: dict[str, Group] = {}
        self._stored: dict[str, ReuseRule] = {}
        self._kept = 0
        self._lock = threading.RLock()
        self._load()

    # --- asking

    def find(self, call_record: CallRecord, outputs: tuple[tuple[int, ...], ...]) -> Known | None:
        """Return the lineage of a run with this call record and results of these shapes; None if it is not known."""
        with self._lock:
            found = self._known.get(call_record.exact) or self._restored(call_record) or self._fitting(call_record)
        if found is None or found.outputs != outputs:
            return None
        self._shelf.count(self.identity, found.level, found.signature, hits=1)
        return found

    def _restored(self, call_record: CallRecord) -> Known | None:
        rule = self._stored.get(call_record.exact)
        if rule is None or rule.state != "confirmed":
            return None
        outputs, edges = unpacked(rule.payload)
        found = Known(rule.level, rule.signature, outputs, edges, rule.payload.get("notes", {}))
        self._remember(call_record.exact, found)
        return found

    def _fitting(self, call_record: CallRecord) -> Known | None:
        group = self._groups.get(call_record.general)
        predicted = group.predict(call_record) if group is not None and group.templates else None
        if group is None or predicted is None:
            return None
        outputs, edges = predicted
        found = Known("gen", group.signature, outputs, edges, group.notes or {})
        self._remember(call_record.exact, found)
        return found

    def _remember(self, exact: str, known: Known) -> None:
        """Keep a lineage in memory, and drop the oldest ones if there are too many."""
        self._rows += known.rows - (self._known[exact].rows if exact in self._known else 0)
        self._known[exact] = known
        while len(self._known) > 1 and (len(self._known) > MOST_KNOWN or self._rows > MOST_ROWS):
            self._rows -= self._known.pop(next(iter(self._known))).rows

    # --- learning

    def learn(self, found: Captured) -> None:
        """Store the computed lineage of a run for later runs."""
        call_record = found.call_record
        if call_record is None:
            return  # not all of its operations were recorded
        with self._lock:
            level: Any = call_record.level
            outputs = tuple(each.shape for each in found.outputs)
            known = Known(level, call_record.exact, outputs, found.edges, dict(found.notes))
            self._remember(call_record.exact, known)
            self._keep(known)
            if not call_record.values:
                self._observe(call_record, outputs, found)

    def _keep(self, known: Known) -> None:
        payload = known.payload() if self._kept < MOST_STORED and known.signature not in self._stored else None
        if payload is not None:
            rule = ReuseRule(self.identity, known.level, known.signature, "confirmed", 0, 0, self.identity, payload)
            self._stored[known.signature] = rule
            self._kept += 1
            self._shelf.put(rule)

    def _observe(self, call_record: CallRecord, outputs: Any, found: Captured) -> None:
        group = self._groups.get(call_record.general)
        if group is None:
            if len(self._groups) >= MOST_KNOWN:
                self._groups.pop(next(iter(self._groups)))
            group = self._groups[call_record.general] = Group(call_record.general, call_record.ranks)
        if group.refused or not call_record.sizes or len(group.observations) >= MOST_OBSERVATIONS:
            return
        seen, data = observed(call_record, outputs, found.edges), packed(outputs, found.edges)
        if any(each.lengths == (*call_record.sizes, *call_record.given) for each, _ in group.observations):
            return
        notes = dict(found.notes)
        if seen is None or data is None or (group.notes is not None and group.notes != notes):
            group.refused = True
        else:
            group.notes = notes
            group.divisors |= call_record.divisors
            group.observations.append((seen, data))
        group.fit()
        self._save(group)
        self._shelf.count(self.identity, "gen", group.signature, misses=1)

    # --- doubting

    def verify(self, found: Captured) -> bool:
        """Compare the lineage that would have been reused with the computed one; a wrong rule is never used again."""
        call_record = found.call_record
        if call_record is None:
            return True
        outputs = tuple(each.shape for each in found.outputs)
        known = self.find(call_record, outputs)
        agreed = known is None or same(known.edges, found.edges)
        if not agreed:
            self.forget(call_record)
        elif known is None:
            self.learn(found)
        return agreed

    def forget(self, call_record: CallRecord) -> None:
        """Drop the lineage for this call record, because it was wrong."""
        with self._lock:
            known = self._known.pop(call_record.exact, None)
            self._rows -= 0 if known is None else known.rows
            if known is not None and known.level != "gen":
                refused = ReuseRule(self.identity, known.level, known.signature, "refused", 0, 0, self.identity, {})
                self._stored[call_record.exact] = refused
                self._shelf.put(refused)
            group = self._groups.get(call_record.general)
            if group is not None:
                group.refused = True
                group.fit()
                self._save(group)

    # --- keeping

    def _save(self, group: Group) -> None:
        state: Any = group.state
        if len(self._groups) <= MOST_STORED:
            self._shelf.put(
                ReuseRule(self.identity, "gen", group.signature, state, 0, 0, self.identity, group.payload())
            )

    def _load(self) -> None:
        for rule in self._shelf.load(self.identity):
            if rule.level != "gen":
                self._stored[rule.signature] = rule
                self._kept += 1
                continue
            data = rule.payload
            group = Group(rule.signature, tuple(data["ranks"]), data["refused"], set(data["divisors"]))
            group.notes = data["notes"] if data["observations"] else None
            for each in data["observations"]:
                outputs, edges = unpacked(each)
                sizes, given, made = (tuple(each[key]) for key in ("sizes", "given", "made"))
                seen = observed(Observation(sizes, given, made, (), ()), outputs, edges)
                if seen is not None:
                    group.observations.append((seen, {key: each[key] for key in ("outputs", "edges")}))
            group.fit()
            self._groups[rule.signature] = group
