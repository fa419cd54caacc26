"""Views kept in memory instead of a log."""

from __future__ import annotations

from whence.arrays.reuse import Level, View


class Shelf:
    """What `whence.arrays.reuse.ReuseIndex` keeps its views on; another ReuseIndex finds them there."""

    def __init__(self) -> None:
        self.views: dict[tuple[str, str], View] = {}

    def load(self, identity: str) -> list[View]:
        """All views, since one shelf serves one function."""
        return list(self.views.values())

    def put(self, view: View) -> None:
        """Keep a view, in place of an older one."""
        self.views[view.level, view.signature] = view

    def count(self, identity: str, level: Level, signature: str, *, hits: int = 0, misses: int = 0) -> None:
        """Nobody asks how often a view was of use."""
