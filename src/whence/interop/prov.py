"""PROV documents: PROV-JSON, PROV-N, PROV-XML and PROV-O (Turtle), read and written through the `prov` library."""

from __future__ import annotations

import datetime as dt
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol
from xml.parsers import expat

from whence.errors import BadGraph, BadType, MissingExtra, StoreError, WhenceError
from whence.graph import Graph, GraphWarning, names, prov_json, strict_json
from whence.graph.model import CODES, KINDS, RELATIONS, Kind
from whence.graph.prov_records import BUNDLE, OPEN, Records, marked, several

if TYPE_CHECKING:
    from prov.model import ProvBundle, ProvDocument, ProvRecord

FORMATS = {
    ".json": "json", ".provjson": "json", ".provn": "provn", ".xml": "xml", ".provx": "xml", ".ttl": "rdf",
    ".trig": "trig",
}  # fmt: skip
_NOTATIONS = {"rdf": "turtle", "trig": "trig"}
# The library takes a relation without attributes for another of its source that has some, so that in RDF it gets one.
_MIXED = {"wasInfluencedBy", "wasAssociatedWith", "wasAttributedTo", "wasInformedBy", "actedOnBehalfOf"}
PLAIN = "whence:plain"
Place = str | PathLike[str]
Attributes = dict[str, Any]


class Recorded(Protocol):
    """A graph, or what tells its records as a graph does."""

    @property
    def prefixes(self) -> Mapping[str, str]:
        """What the prefixes of names mean."""

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


def read(path: Place, format: str | None = None, known: Mapping[str, str] | None = None) -> Document:
    """Read a document. `known` are prefixes that a log has: a default namespace gets one of its own beside them."""
    meant = format or format_of(path)
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    return parse(text, meant, str(path), known)


def write(graph: Recorded, path: Place, format: str | None = None, prefixes: Mapping[str, str] | None = None) -> None:
    """Write a graph as a document."""
    text = dump(graph, format or format_of(path), prefixes)
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        raise StoreError(f"{path} cannot be written: {error.strerror or error}") from error


# --- out


def dump(graph: Recorded, format: str, prefixes: Mapping[str, str] | None = None) -> str:
    """A graph as text in one of the formats: json, provn, xml, rdf (Turtle), trig.

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
    with _without_warnings_of_prov():
        document = _Writer(graph, graph.prefixes if prefixes is None else prefixes, format).document()
    if format == "rdf" and document.has_bundles():
        named = ", ".join(str(each.identifier) for each in document.bundles)
        warnings.warn(
            f"Turtle has no bundles, and what is in {named} is written beside the rest: TriG (.trig) keeps them",
            GraphWarning, stacklevel=2,
        )  # fmt: skip
        document = document.flattened()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of values that an older format would have written otherwise
            text = str(document.serialize(**_options(format)))
    except ValueError as error:  # a character that XML has no way to write
        raise BadGraph(f"the graph cannot be written as {format}: {error}") from error
    if format in _NOTATIONS:  # prefixes that only names with odd characters have are left out, and missed when reading
        spaces = [f"@prefix {each.prefix}: <{each.uri}> .\n" for each in document.get_registered_namespaces()]
        text = "".join(each for each in spaces if each not in text) + text
    return text


class _Writer:
    def __init__(self, graph: Recorded, prefixes: Mapping[str, str], format: str) -> None:
        from prov.constants import PROV_N_MAP
        from prov.identifier import Namespace
        from prov.model import ProvDocument

        self.graph, self.prefixes, self.format = graph, prefixes, format
        self.types = {name: kind for kind, name in PROV_N_MAP.items()}
        self.made: ProvDocument = ProvDocument()
        self.parts: dict[str, ProvBundle] = {"": self.made}
        self.spaces: dict[str, Namespace] = {}

    def space(self, prefix: str, uri: str) -> Any:
        if prefix not in self.spaces:
            written = prefix if prefix != "default" else _default_prefix(uri, self.prefixes, {})
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
                told = own.pop(BUNDLE, "")
                for bundle, attributes in told.items() if isinstance(told, Mapping) else [(told, own)]:
                    self.vertex(name, kind, dict(attributes), str(bundle))
            described = self.described(edges)
            for source, relation, target, properties in edges:
                own = dict(properties)
                if not own.keys() - {BUNDLE} and (source, relation, own.get(BUNDLE, "")) in described:
                    own[PLAIN] = True
                self.relation(source, relation, target, own)
        except ProvException as error:
            raise BadGraph(f"the graph is no PROV: {error}") from error
        return self.made

    def described(self, edges: Sequence[tuple[str, str, str, Attributes]]) -> set[tuple[str, str, str]]:
        """Where RDF would be read as if a relation with attributes and another without were one and the same."""
        if self.format not in _NOTATIONS:
            return set()
        return {
            (source, relation, own.get(BUNDLE, ""))
            for source, relation, _, own in edges
            if relation in _MIXED and own.keys() - {BUNDLE}
        }

    def part(self, bundle: str) -> ProvBundle:
        """The bundle of that name, or, without a name, the document."""
        if bundle not in self.parts:
            self.parts[bundle] = self.made.bundle(self.name(bundle))
        return self.parts[bundle]

    def vertex(self, name: str, kind: Kind, own: Attributes, bundle: str) -> None:
        half = own.pop(OPEN, ())
        if not all(isinstance(each, Mapping) and each.keys() == {"relation", "attributes"} for each in half):
            raise BadGraph(f"{name!r} has the property {OPEN!r}, a name that whence uses itself: rename the property")
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


def parse(
    text: str, format: str, where: str = "the document", known: Mapping[str, str] | None = None
) -> Document:  # fmt: skip
    """Read a document out of text; `where` names it in messages.

    PROV-JSON is read by whence itself, many times as fast as by the library, unless there is something in it that only
    the library knows how to read: bundles, a namespace for names without a prefix, or an error.
    """
    if format == "json":
        found = _plain_json(text, where)
        if found is not None:
            return found
    return parse_by_library(text, format, where, known)


def _plain_json(text: str, where: str) -> Document | None:
    """A document of PROV-JSON; None if the library has to read it."""
    whole = strict_json.loads(text, where)
    prefixes = whole.get("prefix", {}) if isinstance(whole, dict) else None
    if not isinstance(prefixes, dict) or "bundle" in whole or "default" in prefixes:
        return None
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            vertices, edges, declared = prov_json.read(whole)
            del whole
            graph = Graph.build(vertices, edges)
        except (WhenceError, AttributeError, TypeError, ValueError):  # the library says what is wrong, or reads it
            return None
    for each in told:
        warnings.warn(each.message, each.category, stacklevel=4)
    used = _used_prefixes(graph)
    graph.prefixes = {prefix: uri for prefix, uri in sorted(declared.items()) if prefix in used}
    return Document(graph, dict(graph.prefixes))


def _used_prefixes(graph: Graph) -> set[str]:
    """What stands before a colon in ids, in names of properties, and in values that are names."""
    columns = (graph.properties, graph.edge_properties)
    named = [*graph.ids, *(name for each in columns for name in each.names)]
    for each in columns:
        for name in each.names:
            for value in each.values(name):
                for own in value if isinstance(value, tuple) else (value,):
                    if isinstance(own, Mapping) and isinstance(own.get("$"), str):
                        named += [
                            str(own.get("type", "")),
                            own["$"] if own.get("type") == "prov:QUALIFIED_NAME" else "",
                        ]
                    elif name.startswith("prov:") and isinstance(own, str):
                        named.append(own)
    return {name.partition(":")[0] for name in named if ":" in name}


def parse_by_library(
    text: str, format: str, where: str = "the document", known: Mapping[str, str] | None = None
) -> Document:  # fmt: skip
    """The same by the library, whatever the format."""
    _require()
    from prov.model import ProvDocument

    if format == "json":
        text = json.dumps(strict_json.loads(text, where))  # the library accepts what is no JSON, and then fails
    elif format == "xml":
        _refuse_entities(text, where)
    with warnings.catch_warnings():
        try:
            warnings.simplefilter("ignore")
            document = ProvDocument.deserialize(content=text, **_options(format))
            document = document.unified()
        except Exception as error:  # of any kind: the parsers of four formats fail on bad input each in its own ways
            raise BadGraph(f"{where} is no PROV document in the format {format}: {error}") from error
    with _without_warnings_of_prov():
        try:
            return _read(document, known or {})
        except WhenceError as error:
            error.add_note(f"while reading {where}")
            raise
        except (AttributeError, TypeError, ValueError) as error:  # a value of a type that its place in PROV excludes
            raise BadGraph(f"{where} holds a value that PROV does not have there: {error}") from error


def _refuse_entities(text: str, where: str) -> None:
    """No document of PROV needs a document type declaration. One may read other files, or grow beyond all bounds."""

    def refuse(*_: object) -> None:
        raise BadGraph(
            f"{where} has a document type declaration (<!DOCTYPE ...>), which may refer to other files or define "
            "entities: remove it, and write out what its entities stand for"
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except BadGraph:
        raise
    except (expat.ExpatError, ValueError) as error:
        raise BadGraph(f"{where} is no XML: {error}") from error


@contextmanager
def _without_warnings_of_prov() -> Iterator[None]:
    """Hide the library's warnings of names and values that whence escapes itself; those of whence are shown."""
    with warnings.catch_warnings():
        if find_spec("prov._warnings") is not None:  # older versions have no category of their own
            from prov._warnings import ProvWarning

            warnings.simplefilter("ignore", ProvWarning)
        yield


def _read(document: ProvDocument, known: Mapping[str, str]) -> Document:
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
            prefixes[_default_prefix(uri, prefixes, known)] = uri
    read = names.Read(prefixes)
    records = _Taker(read).take(document)
    used = {prefix: prefixes[prefix] for prefix in sorted(read.used - names.STANDARD.keys())}
    return Document(Graph.build(records.vertices(), records.edges, used), used)


def _default_prefix(uri: str, prefixes: Mapping[str, str], known: Mapping[str, str]) -> str:
    """A prefix for names that had none: the one that the log has for the namespace, or one that nothing else has."""
    for prefix, meaning in known.items():
        if meaning == uri and prefix not in prefixes:
            return prefix
    number, found = 1, names.DEFAULT
    while found in prefixes or found in known:
        number += 1
        found = f"{names.DEFAULT}_{number}"
    return found


def _add_prefix(prefixes: dict[str, str], prefix: str, uri: str) -> None:
    """A bundle may give a prefix another meaning than the document; names have to tell the two apart."""
    own, number = prefix, 1
    while prefixes.get(own, uri) != uri:
        number += 1
        own = f"{prefix}_{number}"
    prefixes[own] = uri


class _Taker:
    """Takes the records of a document into a graph."""

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


def _options(format: str) -> dict[str, str]:
    """What the library calls a format: those of RDF are one, in different notations."""
    return {"format": "rdf", "rdf_format": _NOTATIONS[format]} if format in _NOTATIONS else {"format": format}


def _require() -> None:
    for package in ("prov", "lxml", "rdflib"):
        if find_spec(package) is None:
            raise MissingExtra.of(package, "prov")
