"""The box algebra: compress tuples into rows, ask and compose rows, store them."""

from whence.relation._relation import Relation
from whence.relation.protocol import AskedRelation, RelationLike, Traced
from whence.relation.stream import compress

__all__ = ["AskedRelation", "Relation", "RelationLike", "Traced", "compress"]
