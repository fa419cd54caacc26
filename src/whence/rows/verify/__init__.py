"""Proof of pushdown by a solver: rules are tested by it, and doubtful ones decided by it."""

from whence.rows.verify.judge import equivalent

__all__ = ["equivalent"]
