"""Converting a document of the `prov` library to a graph."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from whence.errors import BadGraph
from whence.graph import Graph, names
from whence.graph.model import KINDS
from whence.graph.prov_records import Records, several
from whence.interop.prov_writing import PLAIN, default_prefix

if TYPE_CHECKING:
    from prov.model import ProvDocument, ProvRecord


def read_document(document: ProvDocument, known: Mapping[str, str]) -> Graph:
    """Return the graph of a document. `known` are the prefixes of a log: a default namespace gets a new one."""
    prefixes: dict[str, str] = {}
    defaults: dict[str, None] = {}
    for part in (document, *document.bundles):
        for space in part.get_registered_namespaces():
            if space.prefix:
                _add_prefix(prefixes, space.prefix, space.uri)
            else:  # Turtle's `@prefix : <...>`
                defaults.setdefault(space.uri)
        default = part.get_default_namespace()
        if default is not None:
            defaults.setdefault(default.uri)
    for uri in defaults:
        if uri not in prefixes.values():
            prefixes[default_prefix(uri, prefixes, known)] = uri
    read = names.Read(prefixes)
    records = _Records(read).take(document)
    used = {prefix: prefixes[prefix] for prefix in sorted(read.used - names.STANDARD.keys())}
    return Graph.build(records.vertices(), records.edges, used)


def _add_prefix(prefixes: dict[str, str], prefix: str, uri: str) -> None:
    """Add a prefix, renamed if it has another URI already, because a bundle may redefine prefixes."""
    own, number = prefix, 1
    while prefixes.get(own, uri) != uri:
        number += 1
        own = f"{prefix}_{number}"
    prefixes[own] = uri


class _Records:
    """Collects the records of a document."""

    def __init__(self, read: names.Read) -> None:
        self.read = read
        self.records = Records()

    def take(self, document: ProvDocument) -> Records:
        from prov.constants import PROV_N_MAP

        parts = [("", document), *((self.name(each.identifier), each) for each in document.bundles)]
        edges = []
        for bundle, part in parts:
            for record in part.get_records():
                kind = PROV_N_MAP[record.get_type()]
                if kind in KINDS and record.identifier is not None:
                    own = self.attributes(record)
                    self.records.add_vertex(self.name(record.identifier), kind, own, bundle)
                else:
                    edges.append((bundle, kind, record))
        for bundle, _ in parts[1:]:
            self.records.add_bundle(bundle)
        for bundle, kind, record in edges:
            attributes = self.attributes(record)
            if record.identifier is not None:
                attributes["prov:id"] = self.name(record.identifier)
            self.records.add_edge(str(record), kind, attributes, bundle)
        return self.records

    def name(self, given: Any) -> str:
        return self.read.id(given.uri)

    def attributes(self, record: ProvRecord) -> dict[str, Any]:
        from prov.constants import PROV_ATTRIBUTE_LITERALS, PROV_ATTRIBUTE_QNAMES

        found: dict[str, list[Any]] = {}
        for name, value in record.attributes:
            if name in PROV_ATTRIBUTE_QNAMES:
                own: Any = self.read.id(value.uri)
            elif name in PROV_ATTRIBUTE_LITERALS:
                own = value.isoformat()
            else:
                own = self.value(value)
            found.setdefault(self.read.property(name.uri), []).append(own)
        found.pop(PLAIN, None)
        return {key: several(values) for key, values in found.items()}

    def value(self, value: Any) -> Any:
        """Convert a value for JSON; other types are written as in PROV-JSON."""
        from prov.identifier import Identifier, QualifiedName
        from prov.model import Literal

        if isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, dt.datetime):
            return {"$": value.isoformat(), "type": "xsd:dateTime"}
        if isinstance(value, QualifiedName):
            return {"$": self.read.id(value.uri), "type": "prov:QUALIFIED_NAME"}
        if isinstance(value, Identifier):
            return {"$": value.uri, "type": "xsd:anyURI"}
        if not isinstance(value, Literal):
            raise BadGraph(f"a value that no format of PROV has: {value!r}")
        if value.langtag:
            return {"$": value.value, "lang": value.langtag}
        kind = None if value.datatype is None else self.read.id(value.datatype.uri)
        if kind == "json":
            try:
                return json.loads(value.value)
            except json.JSONDecodeError as error:
                raise BadGraph(f"{value.value!r} has the type JSON, but is not JSON: {error}") from error
        return value.value if kind is None else {"$": value.value, "type": kind}
