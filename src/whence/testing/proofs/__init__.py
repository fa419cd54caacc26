"""Prove pushdown rules with a solver. Tests use it to check rules."""

from whence.testing.proofs.judge import equivalent

__all__ = ["equivalent"]
