"""Proof of pushdown by a solver: rules are tested by it, and doubtful ones decided by it."""

from whence.testing.proofs.judge import equivalent

__all__ = ["equivalent"]
