"""The box algebra: compress tuples into rows, query, compose and store rows."""

from whence.relation._relation import Relation
from whence.relation.protocol import AskedRelation, RelationLike, Traced
from whence.relation.stream import compress

__all__ = ["AskedRelation", "Relation", "RelationLike", "Traced", "compress"]
