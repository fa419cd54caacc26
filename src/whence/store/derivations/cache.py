"""A cache of open relations, limited in bytes."""

from __future__ import annotations

from collections import OrderedDict

from whence.relation import Relation


class RelationCache:
    """A least recently used cache. Callers hold the log's lock.

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
        """Return the relation, or None if it is not in the cache."""
        item = self._relations.get(hash)
        if item is None:
            return None
        self._relations.move_to_end(hash)
        return item[0]

    def put(self, hash: str, relation: Relation, size: int) -> None:
        """Add a relation, unless it is larger than the limit: it would evict all others."""
        if hash in self._relations or size > self.limit:
            return
        self._relations[hash] = (relation, size)
        self._bytes += size
        while self._bytes > self.limit:
            _, (_, freed) = self._relations.popitem(last=False)
            self._bytes -= freed
