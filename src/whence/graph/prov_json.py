"""Read a PROV-JSON document into vertices and edges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from whence.errors import BadGraph, StoreError
from whence.graph import names, strict_json
from whence.graph.model import CODES, KINDS, RELATIONS
from whence.graph.prov_records import Attributes, EdgeRecord, Records, VertexRecord, several

_NUMBERS = {
    "int": int, "integer": int, "long": int, "short": int, "byte": int, "nonNegativeInteger": int,
    "positiveInteger": int, "unsignedInt": int, "unsignedLong": int, "double": float, "float": float, "decimal": float,
}  # fmt: skip
_KNOWN = {"prefix", "bundle", *KINDS, *CODES}
# Attributes of relations whose values are ids.
_IDS = {key for each in RELATIONS for key in (each.source_key, each.target_key)} | {
    "prov:plan", "prov:starter", "prov:ender", "prov:generation", "prov:usage", "prov:bundle",
}  # fmt: skip


def read(
    document: str | PathLike[str] | Mapping[str, Any],
) -> tuple[list[VertexRecord], list[EdgeRecord], dict[str, str]]:
    """Return the vertices, edges and prefixes of a PROV-JSON document, or of a file with one."""
    whole = document if isinstance(document, Mapping) else load(Path(document))
    records, parts = Records(), list(_document_and_bundles(whole))
    for bundle, part, names_ in parts:
        for kind in KINDS:
            for name, attributes in _records(part, kind, names_):
                records.add_vertex(names_.id(name), kind, attributes, bundle)
    for bundle, _, _ in parts:
        if bundle:
            records.add_bundle(bundle)
    for bundle, part, names_ in parts:
        for relation in RELATIONS:
            for name, attributes in _records(part, relation.name, names_):
                if not name.startswith("_:"):  # a blank id, for a relation without an id
                    attributes["prov:id"] = names_.id(name)
                for each in _records_of_members(relation.name, attributes):
                    records.add_edge(f"{relation.name} {name!r}", relation.name, each, bundle)
    prefixes: dict[str, str] = {}
    for bundle, _, names_ in parts:
        for prefix, uri in names_.meanings.items():
            if prefixes.setdefault(prefix, uri) != uri:
                raise BadGraph(
                    f"the bundle {bundle!r} defines the prefix {prefix!r} differently from the document: read it"
                    " with whence.interop.prov.read"
                )
    return records.vertices(), records.edges, names.foreign(prefixes)


def _records_of_members(relation: str, attributes: Attributes) -> list[Attributes]:
    """Return the record, or one record for each member if a collection lists several."""
    members = attributes.get("prov:entity")
    if relation != "hadMember" or not isinstance(members, tuple):
        return [attributes]
    return [{**attributes, "prov:entity": each} for each in members]


def load(path: Path) -> Mapping[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    try:
        document = strict_json.loads(text, str(path))
    except BadGraph as error:
        error.add_note("other formats of PROV are read by whence.interop.prov.read")
        raise
    if not isinstance(document, dict):
        raise BadGraph(f"{path} is not PROV-JSON: a document is an object with 'entity', 'activity', 'used' ...")
    return document


class _Names:
    """Reads names of a document. Names that whence wrote become the original ones again."""

    def __init__(self, prefixes: Mapping[str, Any]) -> None:
        for prefix, uri in prefixes.items():
            if not isinstance(uri, str):
                raise BadGraph(f"the prefix {prefix!r} must stand for a namespace, not for {uri!r}")
        self.prefixes = dict(prefixes)
        self.read = names.Read({})
        self._ids: dict[str, str] = {}  # a cache: each id occurs again in every relation
        self._properties: dict[str, str] = {}

    @property
    def meanings(self) -> dict[str, str]:
        """The namespaces of prefixes in the names that are read; the default namespace has a prefix there, too."""
        return {names.DEFAULT if prefix == "default" else prefix: uri for prefix, uri in self.prefixes.items()}

    def id(self, name: str) -> str:
        found = self._ids.get(name)
        if found is None:
            uri = self._ours(name)
            found = self._ids[name] = self._qualified(name) if uri is None else self.read.id(uri)
        return found

    def property(self, name: str) -> str:
        found = self._properties.get(name)
        if found is None:
            uri = self._ours(name)
            found = self._properties[name] = self._qualified(name) if uri is None else self.read.property(uri)
        return found

    def _qualified(self, name: str) -> str:
        """The name with a prefix. In PROV-JSON, `default` is the namespace of names without one."""
        if "default" not in self.prefixes or ":" in name:
            return name
        return f"{names.DEFAULT}:{name}"

    def _ours(self, name: str) -> str | None:
        prefix, colon, local = name.partition(":")
        space = self.prefixes.get(prefix, "") if colon else ""
        return f"{space}{local}" if space.startswith(names.OURS) else None


def _document_and_bundles(document: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], _Names]]:
    """The document and its bundles, which may define prefixes differently."""
    outer = _prefixes(document)
    own = _Names(outer)
    yield "", _checked_records(document), own
    for name, bundle in _objects(document, "bundle"):
        yield own.id(name), _checked_records(bundle), _Names({**outer, **_prefixes(bundle)})


def _prefixes(part: Mapping[str, Any]) -> Mapping[str, Any]:
    found = part.get("prefix", {})
    if not isinstance(found, Mapping):
        raise BadGraph(f"'prefix' must map prefixes to namespaces, and is {found!r}")
    return found


def _checked_records(part: Mapping[str, Any]) -> Mapping[str, Any]:
    for name in part:
        if name not in _KNOWN:
            raise BadGraph(f"{name!r} is not a kind of record of PROV-JSON: use one of {', '.join(sorted(_KNOWN))}")
    return part


def _objects(part: Mapping[str, Any], name: str) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The records of one type. An id may have a list of several records."""
    records = part.get(name, {})
    if not isinstance(records, Mapping):
        raise BadGraph(f"{name!r} must be an object that maps ids to records, and is {type(records).__name__}")
    for key, content in records.items():
        for each in content if isinstance(content, list) else (content,):
            if not isinstance(each, dict) and not isinstance(each, Mapping):
                raise BadGraph(f"{name} {key!r} must be an object with attributes, and is {each!r}")
            yield key, each


def _records(part: Mapping[str, Any], name: str, names_: _Names) -> Iterator[tuple[str, Attributes]]:
    spelled, called = names_.property, names_.id
    for key, each in _objects(part, name):
        found = {}
        for own, value in each.items():
            if isinstance(value, str):
                found[spelled(own)] = called(value) if own in _IDS else value
            else:
                found[spelled(own)] = _plain_value(value, names_)
        yield key, found


def _plain_value(value: Any, names_: _Names) -> Any:
    """Convert a typed value of PROV-JSON to a plain one. Values that need more (a language, a qualified name) keep
    their form.

    >>> _plain_value({"$": "0.5", "type": "xsd:double"}, _Names({}))
    0.5
    >>> _plain_value([{"$": "a", "lang": "en"}, 3], _Names({}))
    ({'$': 'a', 'lang': 'en'}, 3)
    """
    if isinstance(value, list):
        return several([_plain_value(each, names_) for each in value]) if value else ()
    if not isinstance(value, Mapping) or "$" not in value:
        return value
    plain, kind = value["$"], str(value.get("type", "")).rpartition(":")[2]
    if "lang" in value:
        return {"$": plain, "lang": value["lang"]}
    if kind == "boolean" and isinstance(plain, str):
        return plain in ("true", "1")
    if kind in _NUMBERS:
        try:
            return _NUMBERS[kind](plain)
        except (TypeError, ValueError) as error:
            raise BadGraph(f"{plain!r} is not a {value['type']}") from error
    if kind in ("QName", "QUALIFIED_NAME"):
        return {"$": names_.id(str(plain)), "type": "prov:QUALIFIED_NAME"}
    if kind in ("", "string"):
        return plain
    if names_.id(str(value["type"])) == "json":  # whence's type for values that PROV has no type for
        try:
            return json.loads(plain)
        except (TypeError, json.JSONDecodeError) as error:
            raise BadGraph(f"{plain!r} has the type JSON, but is not JSON: {error}") from error
    return {"$": plain, "type": value["type"]}
