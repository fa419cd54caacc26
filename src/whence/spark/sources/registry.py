"""All kinds of sources. A leaf has the first kind that matches."""

from __future__ import annotations

import weakref
from typing import Any

from whence.spark.sources.files import FileKind
from whence.spark.sources.kind import Kind
from whence.spark.sources.local import CacheKind, LocalKind, RangeKind
from whence.spark.sources.rdds import RddKind
from whence.spark.sources.stored import StoredKind
from whence.spark.sources.tables import RelationKind, TableKind

KINDS: tuple[Kind, ...] = (
    FileKind(),
    TableKind(),
    RelationKind(),
    RddKind(),
    LocalKind(),
    RangeKind(),
    CacheKind(),
    StoredKind(),
)
LEAVES = frozenset(name for kind in KINDS for name in kind.nodes)
OTHER = Kind()


# By py4j's name of a JVM object, with the object itself, because a name may be reused.
_kinds: dict[str, tuple[weakref.ref[Any], Kind]] = {}


def kind_of(leaf: Any) -> Kind:
    """Return the kind of a leaf, or the generic kind if none matches.

    The result is cached, because a question needs it many times and each lookup calls the JVM.
    """
    if leaf is None:
        return OTHER
    name = str(getattr(leaf, "_target_id", id(leaf)))
    known = _kinds.get(name)
    if known is None or known[0]() is not leaf:
        node = leaf.nodeName()
        found = next((kind for kind in KINDS if node in kind.nodes and kind.matches(leaf)), OTHER)
        known = _kinds[name] = (weakref.ref(leaf, lambda _: _kinds.pop(name, None)), found)
    return known[1]
