"""The words of W3C PROV that a graph is made of: three kinds of vertices, and relations between them."""

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
    """A record that PROV allows, and that a graph takes in another way than it might look."""


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation of PROV: which kinds it connects, and what PROV-JSON calls its two ends."""

    name: str
    source: Kind | None  # None: any
    target: Kind | None
    source_key: str
    target_key: str
    loops: bool = False  # whether PROV lets something stand in this relation to itself


# Ancestry runs along the first three: all of them lead from the younger to the older.
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
    # The next version of the same thing, whether or not anybody looked at the one before. PROV has no word for it: its
    # revisions are derivations. In documents it is a derivation of the type prov:Revision with a mark of whence.
    Relation("wasRevisionOf", "entity", "entity", "prov:generatedEntity", "prov:usedEntity"),
)
CODES: dict[str, int] = {relation.name: code for code, relation in enumerate(RELATIONS)}
USED, GENERATED, DERIVED, ASSOCIATED, ATTRIBUTED = range(5)
REVISION = CODES["wasRevisionOf"]


@dataclass(frozen=True, slots=True)
class Vertex:
    """A vertex, as passed to functions of a user.

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
    """An edge, as passed to functions of a user; source and target are vertices."""

    source: Vertex
    relation: str
    target: Vertex
    properties: Mapping[str, Any] = field(default_factory=dict)
