"""Collect the records of a PROV document into vertices and edges. Warnings name each doubtful record."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from typing import Any

from whence.errors import BadGraph
from whence.graph.model import CODES, RELATIONS, GraphWarning, Kind

Attributes = dict[str, Any]
VertexRecord = tuple[str, Kind, Attributes]
EdgeRecord = tuple[str, str, str, Attributes]  # source, relation, target, properties

# The bundle of a record: a name. For a vertex that several bundles describe: the attributes by bundle,
# where "" is the document itself.
BUNDLE = "whence:bundle"
OPEN = "whence:open"  # relations of a vertex without a target, such as a generation by an unknown activity
# On a derivation that is only a revision. The value says whether the type prov:Revision was added to it.
REVISION = "whence:revision"
IS_REVISION = {"$": "prov:Revision", "type": "prov:QUALIFIED_NAME"}
IS_BUNDLE = {"$": "prov:Bundle", "type": "prov:QUALIFIED_NAME"}


class Records:
    """Collects records one by one: first those of vertices, then those of relations."""

    def __init__(self) -> None:
        self.kinds: dict[str, Kind] = {}
        self.attributes_of: dict[str, dict[str, Attributes]] = {}  # by vertex, by bundle
        self.edges: list[EdgeRecord] = []
        self.twofold: set[str] = set()  # described as both entity and agent

    def vertices(self) -> list[VertexRecord]:
        """All vertices, with their attributes from all parts of the document."""
        for places in self.attributes_of.values():
            for own in places.values():
                if OPEN in own:
                    own[OPEN].sort(key=lambda each: json.dumps(each, sort_keys=True))  # for any order of reading
        return [(name, kind, _in_all_places(self.attributes_of.get(name, {}))) for name, kind in self.kinds.items()]

    def add_bundle(self, name: str) -> None:
        """Add a bundle, which is an entity even if the document does not describe it as one."""
        if name not in self.kinds:
            self.add_vertex(name, "entity", {"prov:type": IS_BUNDLE})
        elif self.kinds[name] != "entity":
            raise BadGraph(
                f"{name!r} is {_a(self.kinds[name])} and a bundle, which PROV excludes: a bundle is an entity"
            )

    def add_vertex(self, name: str, kind: Kind, attributes: Attributes, bundle: str = "") -> None:
        """Add a record that describes a vertex."""
        known = self.kinds.setdefault(name, kind)
        if known != kind:
            if "activity" in (known, kind):
                raise BadGraph(f"{name!r} is both {_a(known)} and {_a(kind)}, which PROV excludes")
            warnings.warn(
                f"{name!r} is both an entity and an agent: its edges decide which",
                GraphWarning, stacklevel=5,
            )  # fmt: skip
            self.twofold.add(name)
        _check_names(f"{known} {name!r}", attributes)
        own = self.attributes_of.setdefault(name, {}).setdefault(bundle, {})
        for key, value in attributes.items():
            if own.setdefault(key, value) != value:
                raise BadGraph(f"the id {name!r} occurs twice, with different values of {key!r}")

    def add_edge(self, record: str, name: str, attributes: Attributes, bundle: str = "") -> None:
        """Add a record of a relation. Messages call it `record`."""
        _check_names(record, attributes)
        if name == "wasDerivedFrom" and REVISION in attributes:
            name, attributes = "wasRevisionOf", _without_mark(attributes)
        relation = RELATIONS[CODES[name]]
        ends = [attributes.pop(key, None) for key in (relation.source_key, relation.target_key)]
        for key, end in zip((relation.source_key, relation.target_key), ends, strict=True):
            if end is not None and not isinstance(end, str):
                raise BadGraph(f"{record}: {key} is not an id but {end!r}")
        source, target = ends
        if source is None:
            warnings.warn(f"{record} names no {relation.source_key} and is left out", GraphWarning, stacklevel=5)
            return
        self.require(source, relation.source, record)
        if target is None:
            warnings.warn(
                f"{record} names no {relation.target_key}: it becomes a property of {source!r} instead of an edge",
                GraphWarning, stacklevel=5,
            )  # fmt: skip
            own = self.attributes_of.setdefault(source, {}).setdefault(bundle, {})
            own.setdefault(OPEN, []).append({"relation": name, "attributes": _as_held_in_log(attributes)})
            return
        self.require(target, relation.target, record)
        self.edges.append((source, name, target, {**attributes, **({BUNDLE: bundle} if bundle else {})}))

    def require(self, name: str, kind: Kind | None, record: str) -> None:
        """Check the kind of a vertex. Add it if it is missing, because PROV allows records about vertices described
        elsewhere.
        """
        known = self.kinds.get(name)
        if known is None:
            if kind is None:
                raise BadGraph(f"{record} refers to {name!r}, which is not in the document: its kind is unknown")
            warnings.warn(
                f"{record} refers to {name!r}, which is not in the document: whence assumes {_a(kind)}", GraphWarning, 5
            )
            self.kinds[name] = kind
        elif kind is not None and known != kind:
            if name not in self.twofold:
                raise BadGraph(f"{record}: {name!r} is {_a(known)}, and {_a(kind)} belongs there")
            if kind == "entity":
                self.kinds[name] = "entity"


def _check_names(record: str, attributes: Attributes) -> None:
    if BUNDLE not in attributes and OPEN not in attributes:
        return
    for key in (BUNDLE, OPEN):
        if key in attributes:
            raise BadGraph(f"{record} has the property {key!r}, a name that whence reserves: rename the property")


def marked(attributes: Attributes) -> Attributes:
    """The attributes of the derivation that represents a revision in a document.

    >>> marked({"by": "ada"})["whence:revision"], _without_mark(marked({"by": "ada"}))
    (True, {'by': 'ada'})
    """
    if "prov:type" in attributes:
        return {**attributes, REVISION: False}
    return {**attributes, "prov:type": IS_REVISION, REVISION: True}


def _without_mark(attributes: Attributes) -> Attributes:
    hidden = {REVISION, "prov:type"} if attributes[REVISION] else {REVISION}
    return {name: value for name, value in attributes.items() if name not in hidden}


def several(values: list[Any]) -> Any:
    """One value, or a tuple of values sorted independently of the order in which they were read."""
    if len(values) == 1:
        return values[0]
    return tuple(sorted(values, key=lambda value: (type(value).__name__, json.dumps(value, sort_keys=True))))


def _in_all_places(places: Mapping[str, Attributes]) -> Attributes:
    """Merge the attributes of a vertex from all bundles. If bundles describe it, its attributes by bundle are kept."""
    if not places.keys() - {""}:
        return places.get("", {})
    if len(places) == 1:
        [(bundle, own)] = places.items()
        return {**own, BUNDLE: bundle}
    values: dict[str, list[Any]] = {}
    for own in places.values():
        for name, value in own.items():
            known = values.setdefault(name, [])
            known += [each for each in (value if isinstance(value, tuple) else (value,)) if each not in known]
    values.pop(OPEN, None)
    merged = {name: several(each) for name, each in values.items()}
    return {**merged, BUNDLE: {bundle: _as_held_in_log(own) for bundle, own in places.items()}}


def _as_held_in_log(attributes: Attributes) -> Attributes:
    """Attributes as the log's JSON: several values of one attribute are marked, a list is not."""
    return {
        name: {"$": "values", "value": list(value)} if isinstance(value, tuple) else value
        for name, value in attributes.items()
    }


def _a(kind: str) -> str:
    return f"an {kind}"
