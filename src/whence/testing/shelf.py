"""Reuse rules kept in memory instead of a log."""

from __future__ import annotations

from whence.arrays.reuse import Level, ReuseRule


class Shelf:
    """What `whence.arrays.reuse.ReuseIndex` keeps its rules on; another ReuseIndex finds them there."""

    def __init__(self) -> None:
        self.rules: dict[tuple[str, str], ReuseRule] = {}

    def load(self, identity: str) -> list[ReuseRule]:
        """All rules, since one shelf serves one function."""
        return list(self.rules.values())

    def put(self, rule: ReuseRule) -> None:
        """Keep a rule, in place of an older one."""
        self.rules[rule.level, rule.signature] = rule

    def count(self, identity: str, level: Level, signature: str, *, hits: int = 0, misses: int = 0) -> None:
        """Nobody asks how often a rule was of use."""
