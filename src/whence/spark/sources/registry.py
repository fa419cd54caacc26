"""The kinds of sources. The first one that matches a leaf is its kind."""

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


# By the name that an object of the JVM has here, with the object itself: another may get the name after it.
_kinds: dict[str, tuple[weakref.ref[Any], Kind]] = {}


def kind_of(leaf: Any) -> Kind:
    """What knows about a leaf of a plan. Of a leaf that no kind matches, nothing is known.

    A question asks this again and again, and each time it would take calls to the JVM: the answer is remembered.
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
