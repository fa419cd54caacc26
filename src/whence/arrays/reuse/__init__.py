"""Lineage that need not be captured twice: learned from calls, kept in the log, used for others.

Three signatures, each more general than the one before (section VI of DSLog): the same inputs, inputs of the same
shapes, inputs of any shape. A traced run knows whether values or comparisons of lengths could have led to another
lineage, so what it certifies is used at once; what is not certified has to be confirmed first.
"""

from __future__ import annotations

import threading
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from whence.arrays.recording.calls import Captured, Function, named, parameters_of
from whence.arrays.reuse.arguments import Arguments
from whence.arrays.reuse.signatures import Signature, Unkeyed, base_sig, dim_sig, gen_sig, in_order, text_of
from whence.arrays.reuse.surroundings import Surroundings
from whence.arrays.reuse.templates import Observation, Template, fitted, observed
from whence.arrays.reuse.views import Known, Level, Shelf, View, packed, same, unpacked

__all__ = ["CONFIRMATIONS", "Known", "Level", "ReuseIndex", "Shelf", "Surroundings", "View"]

CONFIRMATIONS = 2
"""How many later calls with other values must agree before an uncertified lineage is used."""

MOST_OBSERVATIONS = 60

Given = Mapping[str, Any]


@dataclass(slots=True)
class Group:
    """All calls that differ in the lengths of axes alone."""

    signature: str
    ranks: tuple[int, ...]
    values: bool = False  # lineage follows from the values
    writes: bool = False  # the function changes its inputs, or may do otherwise next time: it is always traced
    compared: bool = False  # a decision hung on a length
    refused: bool = False
    marks: set[int] = field(default_factory=set)  # integers of the function's own that met lengths
    divisors: set[int] = field(default_factory=set)  # integers by which it divided lengths
    wrote: bool = False  # into memory of its own: for arrays in another order that may be another lineage
    observations: list[tuple[Observation, dict[str, Any]]] = field(default_factory=list)
    templates: tuple[Template, ...] = ()

    def fit(self) -> None:
        """Templates of the observations, by structure; one that an observation contradicts is none."""
        self.templates = ()
        if self.compared or self.refused or self.values or self.writes:
            return
        seen = [each for each, _ in self.observations]
        found = []
        for structure in dict.fromkeys(each.structure for each in seen):
            alike = [each for each in seen if each.structure == structure]
            tried = fitted(alike, self.ranks, frozenset(self.marks), frozenset(self.divisors))
            found += [template for template in tried if all(_agrees(template, each) for each in seen)]
        self.templates = tuple(found)

    def predict(self, sizes: tuple[int, ...]) -> Any:
        """What the templates that cover these lengths say, if they say the same."""
        covering = [found for each in self.templates if (found := each.predict(sizes)) is not None]
        alike = all(each[0] == covering[0][0] and same(each[1], covering[0][1]) for each in covering[1:])
        return covering[0] if covering and alike else None

    def payload(self) -> dict[str, Any]:
        """In the terms of JSON."""
        flags = {"values": self.values, "writes": self.writes, "compared": self.compared, "refused": self.refused}
        flags["wrote"] = self.wrote
        seen = [{"sizes": list(each.sizes), **data} for each, data in self.observations]
        integers = {"marks": sorted(self.marks), "divisors": sorted(self.divisors)}
        return {"ranks": list(self.ranks), **flags, **integers, "observations": seen}

    @property
    def state(self) -> str:
        """Whether it is of use for other shapes."""
        if self.templates:
            return "confirmed"
        return "refused" if self.compared or self.refused or self.values or self.writes else "candidate"


def _agrees(template: Template, seen: Observation) -> bool:
    found = template.predict(seen.sizes)
    return found is None or observed(seen.sizes, *found) == seen


@dataclass(slots=True)
class Candidate:
    """A lineage that is not certified: which contents agreed so far."""

    known: Known
    contents: set[str]
    refused: bool = False


class ReuseIndex:
    """What is known of one function in the same surroundings; the log holds what other programs learned of it.

    `fingerprint` is that of the function's code and of all that it reads besides its arguments (`surroundings.py`).
    """

    def __init__(
        self, shelf: Shelf, function: Function, name: str, mode: Hashable = None, fingerprint: str | None = None
    ) -> None:
        self._shelf = shelf
        self._name = name
        self.identity = fingerprint or Surroundings(function, mode).fingerprint() or f"only here: {id(self)}"
        self._parameters = parameters_of(function)
        self._arguments = Arguments(CONFIRMATIONS)
        self._dims: dict[Signature, Known] = {}
        self._bases: dict[str, Known] = {}
        self._groups: dict[str, Group] = {}
        self._candidates: dict[Signature, Candidate] = {}
        self._stored: dict[str, View] = {}
        self._by_order = False  # whether the order of arrays in memory may matter
        self._lock = threading.RLock()
        self._load()

    # --- asking

    def predict(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Known | None:
        """The lineage of a call with these arguments, if it is known without a run."""
        given: Given = named(self._parameters, args, kwargs)
        try:
            with self._lock:
                if self._by_order and not in_order(given):
                    return None
                given = self._arguments.reduced(given)
                signature = dim_sig(given)
                known = self._dims.get(signature)
                found = known if known is not None else self._predicted(signature, given)
        except Unkeyed:
            return None
        if found is None or found.due():
            return None
        self._shelf.count(self.identity, found.level, found.signature, hits=1)
        return found

    def _predicted(self, signature: Signature, given: Given) -> Known | None:
        text, sizes = self._general(signature)
        group = self._groups.get(text)
        if group is None or group.writes:
            return None
        if group.values:
            base = base_sig(given)
            return self._bases.get(base) or self._restored("base", base)
        found = self._restored("dim", text_of(signature))
        if found is None and group.templates:
            predicted = group.predict(sizes)
            if predicted is not None:
                found = Known("gen", group.signature, *predicted)
        if found is not None:
            self._dims[signature] = found
        return found

    def _general(self, signature: Signature) -> tuple[str, tuple[int, ...]]:
        """The signature of all calls that differ in lengths alone, and the lengths: of axes, then given ones."""
        stripped, sizes, integers = gen_sig(signature, self._arguments.literal)
        return text_of(stripped), sizes + integers

    def _restored(self, level: Level, signature: str) -> Known | None:
        view = self._stored.get(f"{level} {signature}")
        if view is None or view.state != "confirmed":
            return None
        return Known(level, signature, *unpacked(view.payload))

    # --- learning

    def learn(self, args: tuple[Any, ...], kwargs: dict[str, Any], found: Captured) -> None:
        """A call was traced: remember its lineage for the calls that it holds for."""
        given: Given = named(self._parameters, args, kwargs)
        try:
            with self._lock:
                if (found.wrote or self._by_order) and not in_order(given):
                    return  # of use for no other call
                self._save_arguments(self._arguments.learn(given, found))
                given = self._arguments.reduced(given)
                self._learned(dim_sig(given), given, found)
        except Unkeyed:
            return

    def _learned(self, signature: Signature, given: Given, found: Captured) -> None:
        text, sizes = self._general(signature)
        group = self._groups.setdefault(text, Group(text, tuple(len(each.shape) for each in found.inputs)))
        before = group.payload()
        group.values |= found.values_matter
        group.writes |= bool(found.written) or found.unsteady
        group.compared |= found.sizes_compared
        group.marks |= found.marks
        group.divisors |= found.divisors
        group.wrote |= found.wrote
        self._by_order |= found.wrote
        outputs = tuple(each.shape for each in found.outputs)
        if group.writes:
            self._drop_dims(group)
        elif group.values:
            self._drop_dims(group)
            base = base_sig(given)
            self._keep(Known("base", base, outputs, found.edges), self._bases, base)
        elif found.certain:
            self._keep(Known("dim", text_of(signature), outputs, found.edges), self._dims, signature)
            self._observe(group, sizes, outputs, found)
        else:
            self._guess(signature, group, given, outputs, found)
        if before != group.payload():
            group.fit()
            self._save_group(group)
        self._shelf.count(self.identity, "gen", text, misses=1)

    def _observe(self, group: Group, sizes: tuple[int, ...], outputs: Any, found: Captured) -> None:
        if group.compared or group.refused or not sizes or len(group.observations) >= MOST_OBSERVATIONS:
            return
        if any(each.sizes == sizes for each, _ in group.observations):
            return
        seen, data = observed(sizes, outputs, found.edges), packed(outputs, found.edges)
        if seen is None or data is None:
            group.refused = True
        else:
            group.observations.append((seen, data))

    def _guess(self, signature: Signature, group: Group, given: Given, outputs: Any, found: Captured) -> None:
        """Not certified: used for the same inputs at once, for others after they agreed."""
        known = Known("dim", text_of(signature), outputs, found.edges, certain=False)
        content = base_sig(given)
        candidate = self._candidates.setdefault(signature, Candidate(known, set()))
        if candidate.refused:
            return
        if not same(candidate.known.edges, found.edges) or candidate.known.outputs != outputs:
            candidate.refused = group.values = True
            self._dims.pop(signature, None)
            return
        candidate.contents.add(content)
        if len(candidate.contents) > CONFIRMATIONS:
            self._keep(known, self._dims, signature)

    def _keep(self, known: Known, where: dict[Any, Known], key: Any) -> None:
        if key in where and where[key].level == known.level:
            return
        where[key] = known
        payload = known.payload()
        if payload is not None and known.certain:  # what is not certified, each program finds out for itself
            self._shelf.put(View(self._name, known.level, known.signature, "confirmed", 0, 0, self.identity, payload))

    # --- doubting

    def verify(self, args: tuple[Any, ...], kwargs: dict[str, Any], found: Captured) -> bool:
        """Compare what would have been foretold with what is; a mismatch takes the view away."""
        known = self.predict(args, kwargs)
        agreed = known is None or (
            known.outputs == tuple(each.shape for each in found.outputs) and same(known.edges, found.edges)
        )
        if not agreed:
            self.forget(args, kwargs)
        self.learn(args, kwargs, found)
        return agreed

    def forget(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """A prediction was wrong: never use that view again."""
        given = named(self._parameters, args, kwargs)
        with self._lock:
            self._forgotten(dim_sig(self._arguments.reduced(given)))
            self._save_arguments(self._arguments.doubt())

    def _forgotten(self, signature: Signature) -> None:
        known = self._dims.pop(signature, None)
        group = self._groups.get(self._general(signature)[0])
        if group is not None and not group.values:
            group.refused = group.values = True
            self._drop_dims(group)
            group.fit()
            self._save_group(group)
        if known is not None:
            self._shelf.put(View(self._name, known.level, known.signature, "refused", 0, 0, self.identity, {}))

    def _drop_dims(self, group: Group) -> None:
        """What was learned of a group by shapes alone no longer holds."""
        for signature in [each for each in self._dims if self._general(each)[0] == group.signature]:
            known = self._dims.pop(signature)
            if known.level == "dim":
                self._shelf.put(View(self._name, "dim", known.signature, "refused", 0, 0, self.identity, {}))
                self._stored.pop(f"dim {known.signature}", None)

    # --- keeping

    def _save_group(self, group: Group) -> None:
        state: Any = group.state
        self._shelf.put(View(self._name, "gen", group.signature, state, 0, 0, self.identity, group.payload()))

    def _save_arguments(self, names: Iterable[str]) -> None:
        for name in names:
            known = self._arguments[name]
            state: Any = known.state
            self._shelf.put(View(self._name, "argument", name, state, 0, 0, self.identity, known.payload()))

    def _load(self) -> None:
        for view in self._shelf.load(self.identity):
            if view.level == "argument":
                self._arguments.load(view.signature, view.payload)
                continue
            if view.level != "gen":
                self._stored[f"{view.level} {view.signature}"] = view
                continue
            data = view.payload
            group = Group(
                view.signature, tuple(data["ranks"]), data["values"], data["writes"], data["compared"], data["refused"],
                set(data.get("marks", ())), set(data.get("divisors", ())), data.get("wrote", False),
            )  # fmt: skip
            for each in data["observations"]:
                outputs, edges = unpacked(each)
                seen = observed(tuple(each["sizes"]), outputs, edges)
                if seen is not None:
                    group.observations.append((seen, {key: each[key] for key in ("outputs", "edges")}))
            group.fit()
            self._groups[view.signature] = group
            self._by_order |= group.wrote
