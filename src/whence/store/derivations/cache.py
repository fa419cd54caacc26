"""The relations used last, kept open up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict

from whence.relation import Relation


class RelationCache:
    """Least recently used goes first. The log's lock guards it.

    >>> from whence import Relation
    >>> cache = RelationCache(limit=100)
    >>> cache.put("a", Relation.identity((3,)), size=60)
    >>> cache.put("b", Relation.identity((4,)), size=60)
    >>> cache.get("a") is None, cache.get("b") is None
    (True, False)
    """

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self._bytes = 0
        self._relations: OrderedDict[str, tuple[Relation, int]] = OrderedDict()

    def get(self, hash: str) -> Relation | None:
        """The relation, if it is open."""
        item = self._relations.get(hash)
        if item is None:
            return None
        self._relations.move_to_end(hash)
        return item[0]

    def put(self, hash: str, relation: Relation, size: int) -> None:
        """Keep a relation. One larger than the limit is not kept: it would drive out all others."""
        if hash in self._relations or size > self.limit:
            return
        self._relations[hash] = (relation, size)
        self._bytes += size
        while self._bytes > self.limit:
            _, (_, freed) = self._relations.popitem(last=False)
            self._bytes -= freed
