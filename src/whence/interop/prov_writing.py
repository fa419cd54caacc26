"""Converting a graph to a document of the `prov` library."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from whence.errors import BadGraph
from whence.graph import names
from whence.graph.model import CODES, RELATIONS, Kind
from whence.graph.prov_records import BUNDLE, OPEN, marked

if TYPE_CHECKING:
    from prov.model import ProvBundle, ProvDocument

PLAIN = "whence:plain"
# In RDF, the library merges such a relation without attributes with another of the same source that has some. So it
# gets the attribute PLAIN.
_MIXED = {"wasInfluencedBy", "wasAssociatedWith", "wasAttributedTo", "wasInformedBy", "actedOnBehalfOf"}
Attributes = dict[str, Any]


class Recorded(Protocol):
    """A graph, or anything with the same records."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """The URIs of the prefixes."""

    def records(self) -> tuple[Sequence[tuple[str, Kind, Attributes]], Sequence[tuple[str, str, str, Attributes]]]:
        """Return the vertices and edges with their properties."""


def default_prefix(uri: str, prefixes: Mapping[str, str], known: Mapping[str, str]) -> str:
    """Return a prefix for names without one: the log's prefix of the namespace, or an unused one."""
    for prefix, meaning in known.items():
        if meaning == uri and prefix not in prefixes:
            return prefix
    number, found = 1, names.DEFAULT
    while found in prefixes or found in known:
        number += 1
        found = f"{names.DEFAULT}_{number}"
    return found


class Writer:
    """Creates the document; `rdf` says whether it is for an RDF format."""

    def __init__(self, graph: Recorded, prefixes: Mapping[str, str], rdf: bool) -> None:
        from prov.constants import PROV_N_MAP
        from prov.identifier import Namespace
        from prov.model import ProvDocument

        self.graph, self.prefixes, self.rdf = graph, prefixes, rdf
        self.types = {name: kind for kind, name in PROV_N_MAP.items()}
        self.made: ProvDocument = ProvDocument()
        self.parts: dict[str, ProvBundle] = {"": self.made}
        self.spaces: dict[str, Namespace] = {}

    def space(self, prefix: str, uri: str) -> Any:
        if prefix not in self.spaces:
            written = prefix if prefix != "default" else default_prefix(uri, self.prefixes, {})
            self.spaces[prefix] = self.made.add_namespace(written, uri)
        return self.spaces[prefix]

    def name(self, text: str) -> Any:
        prefix, uri, local = names.split(text, self.prefixes)
        return self.space(prefix, uri)[names.local_id(local, uri)]

    def property(self, text: str) -> Any:
        prefix, uri, local = names.split(text, self.prefixes)
        return self.space(prefix, uri)[names.local_property(local, uri)]

    def document(self) -> ProvDocument:
        from prov.model import ProvException

        vertices, edges = self.graph.records()
        try:
            for name, kind, properties in vertices:
                own = dict(properties)
                bundles = own.pop(BUNDLE, "")
                for bundle, attributes in bundles.items() if isinstance(bundles, Mapping) else [(bundles, own)]:
                    self.vertex(name, kind, dict(attributes), str(bundle))
            described = self.described(edges)
            for source, relation, target, properties in edges:
                own = dict(properties)
                if not own.keys() - {BUNDLE} and (source, relation, own.get(BUNDLE, "")) in described:
                    own[PLAIN] = True
                self.relation(source, relation, target, own)
        except ProvException as error:
            raise BadGraph(f"the graph is not PROV: {error}") from error
        return self.made

    def described(self, edges: Sequence[tuple[str, str, str, Attributes]]) -> set[tuple[str, str, str]]:
        """Return where RDF would merge a relation without attributes with one that has some."""
        if not self.rdf:
            return set()
        return {
            (source, relation, own.get(BUNDLE, ""))
            for source, relation, _, own in edges
            if relation in _MIXED and own.keys() - {BUNDLE}
        }

    def part(self, bundle: str) -> ProvBundle:
        """Return the bundle with that name or, without a name, the document."""
        if bundle not in self.parts:
            self.parts[bundle] = self.made.bundle(self.name(bundle))
        return self.parts[bundle]

    def vertex(self, name: str, kind: Kind, own: Attributes, bundle: str) -> None:
        half = own.pop(OPEN, ())
        if not all(isinstance(each, Mapping) and each.keys() == {"relation", "attributes"} for each in half):
            raise BadGraph(f"{name!r} has the property {OPEN!r}, a name that whence reserves: rename the property")
        self.part(bundle).new_record(self.types[kind], self.name(name), None, self.attributes(own))
        for each in half:
            self.relation(name, each["relation"], None, {**each["attributes"], BUNDLE: bundle})

    def relation(self, source: str, relation: str, target: str | None, own: Attributes) -> None:
        from prov.constants import PROV, PROV_ATTRIBUTE_QNAMES

        if relation == "wasRevisionOf":
            relation, own = "wasDerivedFrom", marked(own)
        keys = RELATIONS[CODES[relation]]
        formal = [(PROV[keys.source_key[5:]], self.name(source))]
        if target is not None:
            formal.append((PROV[keys.target_key[5:]], self.name(target)))
        bundle, identifier = own.pop(BUNDLE, ""), own.pop("prov:id", None)
        more = [key for key in own if key.startswith("prov:") and PROV[key[5:]] in PROV_ATTRIBUTE_QNAMES]
        formal += [(PROV[key[5:]], self.name(str(own.pop(key)))) for key in more]
        identity = None if identifier is None else self.name(str(identifier))
        self.part(str(bundle)).new_record(self.types[relation], identity, formal, self.attributes(own))

    def attributes(self, properties: Mapping[str, Any]) -> list[tuple[Any, Any]]:
        return [
            (self.property(name), each)
            for name, value in properties.items()
            if value is not None
            for each in self.values(value)
        ]

    def values(self, value: Any) -> list[Any]:
        from prov.identifier import Identifier
        from prov.model import Literal

        match value:
            case bool() | int() | float() | str():
                return [value]
            case tuple() if value and all(isinstance(each, (bool, int, float, str, Mapping)) for each in value):
                return [own for each in value for own in self.values(each)]
            case {"$": "values", "value": [*several], **rest} if not rest:  # several values, in the encoding of a log
                return [own for each in several for own in self.values(each)]
            case {"$": str(text), "lang": str(language), **rest} if not rest:
                return [Literal(text, langtag=language)]
            case {"$": str(text), "type": "prov:QUALIFIED_NAME", **rest} if not rest:
                return [self.name(text)]
            case {"$": str(text), "type": "xsd:anyURI", **rest} if not rest:
                return [Identifier(text)]
            case {"$": str(text), "type": str(kind), **rest} if not rest:
                return [Literal(text, datatype=self.name(kind))]
            case _:
                return [Literal(json.dumps(value, sort_keys=True), datatype=self.name("json"))]
