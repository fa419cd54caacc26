"""Reading PROV-JSON: records in, vertices and edges out, with each doubtful record named."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from whence.errors import BadGraph, StoreError
from whence.graph.model import CODES, KINDS, RELATIONS, GraphWarning, Kind

Attributes = dict[str, Any]
EdgeRecord = tuple[str, str, str, Attributes]  # source, relation, target, properties

_NUMBERS = {
    "int": int, "integer": int, "long": int, "short": int, "byte": int, "nonNegativeInteger": int,
    "positiveInteger": int, "unsignedInt": int, "unsignedLong": int, "double": float, "float": float, "decimal": float,
}  # fmt: skip


def read(
    document: str | PathLike[str] | Mapping[str, Any],
) -> tuple[dict[str, tuple[Kind, Attributes]], list[EdgeRecord]]:
    """The vertices by id, and the edges, of a PROV-JSON document or of the file that holds it."""
    return _Reader().read(document if isinstance(document, Mapping) else _load(Path(document)))


def _load(path: Path) -> Mapping[str, Any]:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in found if names.count(name) > 1)
            raise BadGraph(f"{path.name}: {twice!r} is there twice in one object; the second would hide the first")
        return found

    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise StoreError(f"{path} cannot be read: {error}") from error
    try:
        document = json.loads(text, object_pairs_hook=once)
    except json.JSONDecodeError as error:
        raise BadGraph(f"{path} is no JSON: {error}") from error
    if not isinstance(document, dict):
        raise BadGraph(f"{path} holds no PROV-JSON: a document is an object with 'entity', 'activity', 'used' ...")
    return document


class _Reader:
    def __init__(self) -> None:
        self.vertices: dict[str, tuple[Kind, Attributes]] = {}
        self.edges: list[EdgeRecord] = []
        self.twofold: set[str] = set()  # both entity and agent

    def read(self, document: Mapping[str, Any]) -> tuple[dict[str, tuple[Kind, Attributes]], list[EdgeRecord]]:
        for part in self.parts(document):
            for kind in KINDS:
                for name, attributes in _records(part, kind):
                    self.add_vertex(name, kind, attributes)
        for part in self.parts(document):
            for relation in RELATIONS:
                for name, attributes in _records(part, relation.name):
                    self.add_edge(name, relation.name, attributes)
        return self.vertices, self.edges

    def parts(self, document: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The document and its bundles: their records are of one graph."""
        known = {"prefix", "bundle", *KINDS, *CODES}
        for part in (document, *(bundle for _, bundle in _records(document, "bundle"))):
            for name in part:
                if name not in known:
                    raise BadGraph(f"{name!r} is no kind of record of PROV-JSON; known are {', '.join(sorted(known))}")
            yield part

    def add_vertex(self, id: str, kind: Kind, attributes: Attributes) -> None:
        known = self.vertices.get(id)
        if known is None:
            self.vertices[id] = (kind, attributes)
            return
        if known[0] != kind:
            if "activity" in (known[0], kind):
                raise BadGraph(f"{id!r} is both {_a(known[0])} and {_a(kind)}, which PROV excludes")
            warnings.warn(
                f"{id!r} is both an entity and an agent: it is taken as the one or the other by its edges",
                GraphWarning, stacklevel=5,
            )  # fmt: skip
            self.twofold.add(id)
        for name, value in attributes.items():
            if known[1].setdefault(name, value) != value:
                raise BadGraph(f"the id {id!r} is there twice, with different values of {name!r}")

    def add_edge(self, id: str, name: str, attributes: Attributes) -> None:
        relation = RELATIONS[CODES[name]]
        ends = [attributes.pop(key, None) for key in (relation.source_key, relation.target_key)]
        record = f"{name} {id!r}"
        for key, end in zip((relation.source_key, relation.target_key), ends, strict=True):
            if end is not None and not isinstance(end, str):
                raise BadGraph(f"{record}: {key} is no id but {end!r}")
        source, target = ends
        if source is None or target is None:
            missing = relation.source_key if source is None else relation.target_key
            warnings.warn(f"{record} names no {missing} and is left out", GraphWarning, stacklevel=5)
            return
        for end, kind in ((source, relation.source), (target, relation.target)):
            self.require(end, kind, record)
        self.edges.append((source, name, target, attributes))

    def require(self, id: str, kind: Kind | None, record: str) -> None:
        """The vertex is there and of that kind. PROV lets a record speak of what is described elsewhere."""
        known = self.vertices.get(id)
        if known is None:
            if kind is None:
                raise BadGraph(f"{record} speaks of {id!r}, which is nowhere described, and so of unknown kind")
            warnings.warn(
                f"{record} speaks of {id!r}, which is nowhere described: taken as {_a(kind)}", GraphWarning, 5
            )
            self.vertices[id] = (kind, {})
        elif kind is not None and known[0] != kind:
            if id not in self.twofold:
                raise BadGraph(f"{record}: {id!r} is {_a(known[0])}, and {_a(kind)} belongs there")
            if kind == "entity":
                self.vertices[id] = ("entity", known[1])


def _records(part: Mapping[str, Any], name: str) -> Iterator[tuple[str, Any]]:
    """The records of one kind. An id may hold a list: several records of the same id."""
    records = part.get(name, {})
    if not isinstance(records, Mapping):
        raise BadGraph(f"{name!r} is no object that maps ids to records, but {type(records).__name__}")
    for key, content in records.items():
        for each in content if isinstance(content, list) else (content,):
            if not isinstance(each, Mapping):
                raise BadGraph(f"{name} {key!r} is no object with attributes, but {each!r}")
            yield key, each if name == "bundle" else {own: _value(value) for own, value in each.items()}


def _value(value: Any) -> Any:
    """A plain value out of PROV-JSON's typed ones.

    >>> _value({"$": "0.5", "type": "xsd:double"}), _value([{"$": "a", "lang": "en"}, 3])
    (0.5, ('a', 3))
    """
    if isinstance(value, list):
        return tuple(_value(each) for each in value) if len(value) != 1 else _value(value[0])
    if not isinstance(value, Mapping) or "$" not in value:
        return value
    plain, kind = value["$"], str(value.get("type", "")).rpartition(":")[2]
    if kind == "boolean" and isinstance(plain, str):
        return plain in ("true", "1")
    if kind in _NUMBERS:
        try:
            return _NUMBERS[kind](plain)
        except (TypeError, ValueError) as error:
            raise BadGraph(f"{plain!r} is no {value['type']}") from error
    return plain


def _a(kind: str) -> str:
    return f"an {kind}"
