"""PROV documents: PROV-JSON, PROV-N, PROV-XML and PROV-O (Turtle), read and written through the `prov` library."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from os import PathLike
from pathlib import Path
from typing import NamedTuple
from xml.parsers import expat

from whence.errors import BadGraph, BadType, MissingExtra, StoreError, WhenceError
from whence.graph import Graph, GraphWarning, prov_json, strict_json
from whence.interop.prov_reading import read_document
from whence.interop.prov_writing import Recorded, Writer

FORMATS = {
    ".json": "json", ".provjson": "json", ".provn": "provn", ".xml": "xml", ".provx": "xml", ".ttl": "rdf",
    ".trig": "trig",
}  # fmt: skip
_NOTATIONS = {"rdf": "turtle", "trig": "trig"}
Place = str | PathLike[str]


class Document(NamedTuple):
    """A graph, and the URIs of the prefixes in its names."""

    graph: Graph
    prefixes: dict[str, str]


def format_of(path: Place) -> str:
    """Return the format of a file by its suffix."""
    ending = Path(path).suffix.lower()
    if ending not in FORMATS:
        raise BadType(f"{path}: the file name of a PROV document must end in {', '.join(FORMATS)}")
    return FORMATS[ending]


def read(path: Place, format: str | None = None, known: Mapping[str, str] | None = None) -> Document:
    """Read a document. `known` are the prefixes of a log; a default namespace gets a new one."""
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


def dump(graph: Recorded, format: str, prefixes: Mapping[str, str] | None = None) -> str:
    """Return a graph as a string in one of the formats: json, provn, xml, rdf (Turtle), trig.

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
        document = Writer(graph, graph.prefixes if prefixes is None else prefixes, rdf=format in _NOTATIONS).document()
    if format == "rdf" and document.has_bundles():
        named = ", ".join(str(each.identifier) for each in document.bundles)
        warnings.warn(
            f"Turtle has no bundles, and what is in {named} is written without its bundle: use TriG (.trig) to keep"
            " bundles",
            GraphWarning, stacklevel=2,
        )  # fmt: skip
        document = document.flattened()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # warnings about values that older formats wrote differently
            text = str(document.serialize(**_library_options(format)))
    except ValueError as error:  # a character that XML cannot represent
        raise BadGraph(f"the graph cannot be written as {format}: {error}") from error
    if format in _NOTATIONS:  # the library omits prefixes that are only used by names with special characters
        spaces = [f"@prefix {each.prefix}: <{each.uri}> .\n" for each in document.get_registered_namespaces()]
        text = "".join(each for each in spaces if each not in text) + text
    return text


def parse(
    text: str, format: str, where: str = "the document", known: Mapping[str, str] | None = None
) -> Document:  # fmt: skip
    """Read a document from a string; `where` names it in messages.

    whence reads PROV-JSON itself, which is much faster than the library. The library reads documents with bundles, a
    default namespace, or an error.
    """
    if format == "json":
        found = _plain_json(text, where)
        if found is not None:
            return found
    return parse_by_library(text, format, where, known)


def _plain_json(text: str, where: str) -> Document | None:
    """Read a PROV-JSON document; None if the library must read it."""
    whole = strict_json.loads(text, where)
    prefixes = whole.get("prefix", {}) if isinstance(whole, dict) else None
    if not isinstance(prefixes, dict) or "bundle" in whole or "default" in prefixes:
        return None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            vertices, edges, declared = prov_json.read(whole)
            del whole
            graph = Graph.build(vertices, edges)
        except (WhenceError, AttributeError, TypeError, ValueError):  # the library reads it, or reports the error
            return None
    for each in caught:
        warnings.warn(each.message, each.category, stacklevel=4)
    used = _used_prefixes(graph)
    graph.prefixes = {prefix: uri for prefix, uri in sorted(declared.items()) if prefix in used}
    return Document(graph, dict(graph.prefixes))


def _used_prefixes(graph: Graph) -> set[str]:
    """Return the prefixes in ids, in names of properties, and in values that are names."""
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
    """Read a document of any format with the `prov` library."""
    _require()
    from prov.model import ProvDocument

    if format == "json":
        text = json.dumps(strict_json.loads(text, where))  # the library accepts invalid JSON, and fails later
    elif format == "xml":
        _refuse_entities(text, where)
    with warnings.catch_warnings():
        try:
            warnings.simplefilter("ignore")
            document = ProvDocument.deserialize(content=text, **_library_options(format))
            document = document.unified()
        except Exception as error:  # the parsers of the formats raise many types of errors
            raise BadGraph(f"{where} is not a PROV document in the format {format}: {error}") from error
    with _without_warnings_of_prov():
        try:
            graph = read_document(document, known or {})
            return Document(graph, dict(graph.prefixes))
        except WhenceError as error:
            error.add_note(f"while reading {where}")
            raise
        except (AttributeError, TypeError, ValueError) as error:  # a value of a type that PROV does not allow there
            raise BadGraph(f"{where} holds a value that PROV does not allow: {error}") from error


def _refuse_entities(text: str, where: str) -> None:
    """Refuse a document type declaration: PROV needs none, and it may read other files or expand without limit."""

    def refuse(*_: object) -> None:
        raise BadGraph(
            f"{where} has a document type declaration (<!DOCTYPE ...>), which may refer to other files or define "
            "entities: remove it, and replace its entities by their values"
        )

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    try:
        parser.Parse(text.encode("utf-8", "surrogatepass"), True)
    except BadGraph:
        raise
    except (expat.ExpatError, LookupError, ValueError) as error:  # LookupError: an unknown encoding
        raise BadGraph(f"{where} is not XML: {error}") from error


@contextmanager
def _without_warnings_of_prov() -> Iterator[None]:
    """Hide warnings of the library about names and values that whence escapes; warnings of whence are shown."""
    with warnings.catch_warnings():
        if find_spec("prov._warnings") is not None:  # older versions have no warning category
            from prov._warnings import ProvWarning

            warnings.simplefilter("ignore", ProvWarning)
        yield


def _library_options(format: str) -> dict[str, str]:
    """Return the library's options for a format; the RDF formats are notations of one format."""
    return {"format": "rdf", "rdf_format": _NOTATIONS[format]} if format in _NOTATIONS else {"format": format}


def _require() -> None:
    for package in ("prov", "lxml", "rdflib"):
        if find_spec(package) is None:
            raise MissingExtra.of(package, "prov")
