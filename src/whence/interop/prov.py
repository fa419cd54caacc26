"""PROV documents: PROV-JSON, PROV-N, PROV-XML and PROV-O (Turtle), read and written through the `prov` library."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from whence.errors import BadGraph, BadType, MissingExtra, StoreError
from whence.graph import Graph
from whence.graph.model import CODES, KINDS, RELATIONS, Kind
from whence.graph.prov_json import _Reader
from whence.interop import names

if TYPE_CHECKING:
    from prov.model import ProvDocument, ProvRecord

FORMATS = {".json": "json", ".provjson": "json", ".provn": "provn", ".xml": "xml", ".provx": "xml", ".ttl": "rdf"}
Place = str | PathLike[str]
Attributes = dict[str, Any]


class Recorded(Protocol):
    """A graph, or what tells its records as a graph does."""

    def records(self) -> tuple[Sequence[tuple[str, Kind, Attributes]], Sequence[tuple[str, str, str, Attributes]]]:
        """Vertices and edges with their properties."""


class Document(NamedTuple):
    """A graph, and what the prefixes in its names mean."""

    graph: Graph
    prefixes: dict[str, str]


def format_of(path: Place) -> str:
    """The format that a file name ends in."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise BadType(f"{path}: PROV documents end in {', '.join(FORMATS)}")
    return FORMATS[ending]


def read(path: Place, format: str | None = None) -> Document:
    """Read a document."""
    meant = format or format_of(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    return parse(text, meant, str(path))


def write(graph: Recorded, path: Place, format: str | None = None, prefixes: Mapping[str, str] | None = None) -> None:
    """Write a graph as a document."""
    text = dump(graph, format or format_of(path), prefixes)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


# --- out


def dump(graph: Recorded, format: str, prefixes: Mapping[str, str] | None = None) -> str:
    """A graph as text in one of the formats: json, provn, xml, rdf.

    >>> g = Graph.build([("raw.csv", "entity", {"rows": 3}), ("wash", "activity")], [("wash", "used", "raw.csv")])
    >>> print(dump(g, "provn"))
    document
      prefix log <urn:whence:log#>
    <BLANKLINE>
      entity(log:raw.csv, [log:rows=3])
      activity(log:wash, -, -)
      used(log:wash, log:raw.csv, -)
    endDocument
    """
    _require()
    document = _Writer(graph, prefixes or {}).document()
    options = {"rdf_format": "turtle"} if format == "rdf" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that an older format would have written otherwise
            return str(document.serialize(format=format, **options))
    except ValueError as error:  # a character that XML has no way to write
        raise BadGraph(f"the graph cannot be written as {format}: {error}") from error


class _Writer:
    def __init__(self, graph: Recorded, prefixes: Mapping[str, str]) -> None:
        from prov.identifier import Namespace
        from prov.model import ProvDocument

        self.graph, self.prefixes = graph, prefixes
        self.made: ProvDocument = ProvDocument()
        self.spaces: dict[str, Namespace] = {}

    def space(self, prefix: str, uri: str) -> Any:
        if prefix not in self.spaces:
            self.spaces[prefix] = self.made.add_namespace(prefix, uri)
        return self.spaces[prefix]

    def name(self, text: str) -> Any:
        prefix, uri, local = names.split(text, self.prefixes)
        return self.space(prefix, uri)[names.local_id(local, uri)]

    def property(self, text: str) -> Any:
        prefix, uri, local = names.split(text, self.prefixes)
        return self.space(prefix, uri)[names.local_property(local, uri)]

    def document(self) -> ProvDocument:
        from prov.constants import PROV, PROV_ATTRIBUTE_QNAMES, PROV_N_MAP
        from prov.model import ProvException

        types = {name: kind for kind, name in PROV_N_MAP.items()}
        vertices, edges = self.graph.records()
        try:
            for name, kind, properties in vertices:
                self.made.new_record(types[kind], self.name(name), None, self.attributes(properties))
            for source, relation, target, properties in edges:
                keys = RELATIONS[CODES[relation]]
                formal = [
                    (PROV[keys.source_key[5:]], self.name(source)),
                    (PROV[keys.target_key[5:]], self.name(target)),
                ]
                own = dict(properties)
                identifier = own.pop("prov:id", None)
                more = [key for key in own if key.startswith("prov:") and PROV[key[5:]] in PROV_ATTRIBUTE_QNAMES]
                formal += [(PROV[key[5:]], self.name(str(own.pop(key)))) for key in more]
                identity = None if identifier is None else self.name(str(identifier))
                self.made.new_record(types[relation], identity, formal, self.attributes(own))
        except ProvException as error:
            raise BadGraph(f"the graph is no PROV: {error}") from error
        return self.made

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
            case {"$": "values", "value": [*several], **rest} if not rest:  # several, as a log holds them
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


# --- in


def parse(text: str, format: str, where: str = "the document") -> Document:
    """Read a document out of text; `where` names it in messages."""
    _require()
    from prov.model import ProvDocument

    options = {"rdf_format": "turtle"} if format == "rdf" else {}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            document = ProvDocument.deserialize(content=text, format=format, **options)
            if document.has_bundles():
                document = document.flattened()
            document = document.unified()
    except Exception as error:  # of any kind: the parsers of four formats fail on bad input each in its own ways
        raise BadGraph(f"{where} is no PROV document in the format {format}: {error}") from error
    return _read(document)


def _read(document: ProvDocument) -> Document:
    prefixes = {space.prefix: space.uri for space in document.get_registered_namespaces()}
    default = document.get_default_namespace()
    if default is not None:
        prefixes.setdefault("default", default.uri)
    read = names.Read(prefixes)
    graph = _Taker(read).graph(document)
    return Document(graph, {prefix: prefixes[prefix] for prefix in sorted(read.used - names.STANDARD.keys())})


class _Taker:
    """Takes the records of a document into a graph."""

    def __init__(self, read: names.Read) -> None:
        self.read = read

    def graph(self, document: ProvDocument) -> Graph:
        from prov.constants import PROV_N_MAP

        reader = _Reader()
        edges = []
        for record in document.get_records():
            kind = PROV_N_MAP[record.get_type()]
            if kind in KINDS and record.identifier is not None:
                reader.add_vertex(self.read.id(record.identifier.uri), kind, self.attributes(record))
            else:
                edges.append((kind, record))
        for kind, record in edges:
            attributes = self.attributes(record)
            if record.identifier is not None:
                attributes["prov:id"] = self.read.id(record.identifier.uri)
            reader.add_edge(str(record), kind, attributes)
        return Graph.build(((name, *described) for name, described in reader.vertices.items()), reader.edges)

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
        return {key: values[0] if len(values) == 1 else _several(values) for key, values in found.items()}

    def value(self, value: Any) -> Any:
        """A value in the terms of JSON; what these lack is written as PROV-JSON writes it."""
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
                raise BadGraph(f"{value.value!r} is no JSON, but its type says so: {error}") from error
        return value.value if kind is None else {"$": value.value, "type": kind}


def _several(values: list[Any]) -> tuple[Any, ...]:
    """Values without an order, in one that does not depend on how they were read."""
    return tuple(sorted(values, key=lambda value: (type(value).__name__, json.dumps(value, sort_keys=True))))


def _require() -> None:
    for package in ("prov", "lxml", "rdflib"):
        if find_spec(package) is None:
            raise MissingExtra.of(package, "prov")
