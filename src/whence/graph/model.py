"""The model of W3C PROV: three kinds of vertices, and the relations between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int32]
Mask = NDArray[np.bool_]
Kind = Literal["entity", "activity", "agent"]

KINDS: tuple[Kind, ...] = ("entity", "activity", "agent")
ENTITY, ACTIVITY, AGENT = range(3)


class GraphWarning(UserWarning):
    """A warning about a record that PROV allows, but that a graph interprets in an unexpected way."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of PROV: the kinds that it connects, and the names of its ends in PROV-JSON."""

    name: str
    source: Kind | None  # None: any
    target: Kind | None
    source_key: str
    target_key: str
    loops: bool = False  # whether a vertex may have this relation to itself


# The first three are ancestry. All of them lead from the younger to the older vertex.
RELATIONS: tuple[Relation, ...] = (
    Relation("used", "activity", "entity", "prov:activity", "prov:entity"),
    Relation("wasGeneratedBy", "entity", "activity", "prov:entity", "prov:activity"),
    Relation("wasDerivedFrom", "entity", "entity", "prov:generatedEntity", "prov:usedEntity"),
    Relation("wasAssociatedWith", "activity", "agent", "prov:activity", "prov:agent"),
    Relation("wasAttributedTo", "entity", "agent", "prov:entity", "prov:agent"),
    Relation("wasInformedBy", "activity", "activity", "prov:informed", "prov:informant", loops=True),
    Relation("wasStartedBy", "activity", "entity", "prov:activity", "prov:trigger"),
    Relation("wasEndedBy", "activity", "entity", "prov:activity", "prov:trigger"),
    Relation("wasInvalidatedBy", "entity", "activity", "prov:entity", "prov:activity"),
    Relation("actedOnBehalfOf", "agent", "agent", "prov:delegate", "prov:responsible", loops=True),
    Relation("specializationOf", "entity", "entity", "prov:specificEntity", "prov:generalEntity"),
    Relation("alternateOf", "entity", "entity", "prov:alternate1", "prov:alternate2", loops=True),
    Relation("hadMember", "entity", "entity", "prov:collection", "prov:entity"),
    Relation("mentionOf", "entity", "entity", "prov:specificEntity", "prov:generalEntity"),
    Relation("wasInfluencedBy", None, None, "prov:influencee", "prov:influencer", loops=True),
    # The next version of an artifact, whether or not the version before was read. PROV has no such relation: its
    # revisions are derivations. In documents it is a derivation of the type prov:Revision with a mark of whence.
    Relation("wasRevisionOf", "entity", "entity", "prov:generatedEntity", "prov:usedEntity"),
)
CODES: dict[str, int] = {relation.name: code for code, relation in enumerate(RELATIONS)}
USED, GENERATED, DERIVED, ASSOCIATED, ATTRIBUTED = range(5)
REVISION = CODES["wasRevisionOf"]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex, as it is passed to a user's functions.

    >>> Vertex("model-v1", "entity", {"filename": "model"})["filename"]
    'model'
    """

    id: str
    kind: Kind
    properties: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> Any:
        return self.properties[name]

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a property, or the default."""
        return self.properties.get(name, default)


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge, as it is passed to a user's functions. `source` and `target` are vertices."""

    source: Vertex
    relation: str
    target: Vertex
    properties: Mapping[str, Any] = field(default_factory=dict)
