"""A relation in many files: parts that any process may write, and an index that combines them."""

from whence.relation.parts._parted import PartedRelation, asked_how
from whence.relation.parts.index import Entry, Index, index_of, is_index, parse
from whence.relation.parts.places import Directory, Place, hash_of
from whence.relation.parts.writing import bounds_of, publish, write_part

__all__ = [
    "Directory",
    "Entry",
    "Index",
    "PartedRelation",
    "Place",
    "asked_how",
    "bounds_of",
    "hash_of",
    "index_of",
    "is_index",
    "parse",
    "publish",
    "write_part",
]
