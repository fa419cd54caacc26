"""Reuse rules in memory instead of in a log."""

from __future__ import annotations

from whence.arrays.reuse import Level, ReuseRule


class Shelf:
    """Storage for the rules of `whence.arrays.reuse.ReuseIndex`; several indexes can share it."""

    def __init__(self) -> None:
        self.rules: dict[tuple[str, str], ReuseRule] = {}

    def load(self, identity: str) -> list[ReuseRule]:
        """Return all rules, because a shelf is for one function."""
        return list(self.rules.values())

    def put(self, rule: ReuseRule) -> None:
        """Store a rule; it replaces an older one."""
        self.rules[rule.level, rule.signature] = rule

    def count(self, identity: str, level: Level, signature: str, *, hits: int = 0, misses: int = 0) -> None:
        """Do nothing: uses of rules are not counted."""
