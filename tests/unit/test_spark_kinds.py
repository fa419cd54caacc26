"""Kinds of sources: each is in the registry, and a leaf gets the first that matches."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest

from whence.rows import Attr, Source
from whence.spark import sources
from whence.spark.sources.files import FileKind
from whence.spark.sources.kind import Kind, Past
from whence.spark.sources.local import CacheKind, LocalKind, RangeKind
from whence.spark.sources.rdds import RddKind
from whence.spark.sources.registry import KINDS, LEAVES, OTHER, kind_of
from whence.spark.sources.stored import StoredKind
from whence.spark.sources.tables import RelationKind, TableKind


class Named:
    """Something of the JVM that has a class."""

    def __init__(self, name: str) -> None:
        self._name = name

    def getClass(self) -> Named:
        return self

    def getName(self) -> str:
        return self._name


class Leaf:
    """A leaf as Catalyst would give it, as far as it takes to know its kind."""

    def __init__(self, node: str, relation: str = "") -> None:
        self._node, self._relation = node, relation

    def nodeName(self) -> str:
        return self._node

    def relation(self) -> Named:
        return Named(self._relation)


def _below(kind: type[Kind]) -> set[type[Kind]]:
    return {each for below in kind.__subclasses__() for each in (below, *_below(below))}


def test_every_kind_is_in_the_registry() -> None:
    for module in pkgutil.iter_modules(sources.__path__):
        importlib.import_module(f"{sources.__name__}.{module.name}")
    own = {each for each in _below(Kind) if each.__module__.startswith(sources.__name__)}
    assert own == {type(each) for each in KINDS}
    assert all(kind.nodes for kind in KINDS)
    assert {node for kind in KINDS for node in kind.nodes} == LEAVES


@pytest.mark.parametrize(
    ("leaf", "kind"),
    [
        (Leaf("LogicalRelation", "org.apache.spark.sql.execution.datasources.HadoopFsRelation"), FileKind),
        (Leaf("LogicalRelation", "org.apache.spark.sql.execution.datasources.jdbc.JDBCRelation"), RelationKind),
        (Leaf("HiveTableRelation"), TableKind),
        (Leaf("DataSourceV2Relation"), TableKind),
        (Leaf("LogicalRDD"), RddKind),
        (Leaf("LocalRelation"), LocalKind),
        (Leaf("Range"), RangeKind),
        (Leaf("InMemoryRelation"), CacheKind),
        (Leaf("StoredLeaf"), StoredKind),
        (Leaf("SomethingNew"), Kind),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_leaf_has_the_first_kind_that_matches(leaf: Leaf, kind: type[Kind]) -> None:
    assert type(kind_of(leaf)) is kind
    assert kind_of(leaf) is kind_of(leaf)


def test_of_a_leaf_that_no_kind_matches_nothing_is_known() -> None:
    source, leaf = Source("t", 0, (Attr(1, "a", "long"),)), Leaf("SomethingNew")
    jvm: Any = None
    assert kind_of(None) is OTHER
    assert (OTHER.format(leaf), OTHER.name(leaf), OTHER.default_name(leaf), OTHER.paths(leaf)) == (
        "memory",
        None,
        None,
        (),
    )
    assert (OTHER.version(source, jvm), OTHER.version_read(leaf), OTHER.files_read(leaf)) == (frozenset(),) * 3
    assert (OTHER.listing(leaf), OTHER.local_files(source), OTHER.past(leaf)) == (None, None, None)


def test_what_lies_before_a_leaf_rules_out_files_that_had_no_part() -> None:
    class Read(Leaf):
        def output(self) -> Any:
            return Empty()

    class Empty:
        def size(self) -> int:
            return 0

    past = Past("an RDD", files=frozenset({"a"}), whole=True)
    leaf = Read("LogicalRelation")
    assert past.shows(leaf, frozenset({"a", "b"}))
    assert past.excludes(leaf, frozenset({"b"}))
    assert not past.excludes(leaf, frozenset()), "rows in memory leave no trace"
