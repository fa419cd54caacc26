"""The names of what may answer a question or compose relations: this process, or Spark."""

from __future__ import annotations

from whence.errors import BadType

ENGINES = ("auto", "local", "spark")


def require_engine(engine: str) -> None:
    """Raise BadType if there is no such engine."""
    if engine not in ENGINES:
        raise BadType(f"engine is one of {', '.join(map(repr, ENGINES))}, not {engine!r}")
