"""A pipeline, and its lineage as pandas tells it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from tests.pipelines.tables import Tables

Lineage: TypeAlias = dict[str, set[int]]
Expected: TypeAlias = Callable[[Tables, dict[str, Any]], Lineage]


@dataclass
class Piped:
    """`make` gives the DataFrame; `expected` the ids of the rows of each source that a row of it comes from."""

    name: str
    kind: str  # spark, sql, pandas
    make: Callable[..., Any]
    superset: str = ""  # why an answer is known to be one
    expected: Expected | None = field(default=None)

    def lineage(self, function: Expected) -> Expected:
        self.expected = function
        return function


PIPELINES: list[Piped] = []


def pipeline(name: str, kind: str, superset: str = "") -> Callable[[Callable[..., Any]], Piped]:
    def made(function: Callable[..., Any]) -> Piped:
        found = Piped(name, kind, function, superset)
        PIPELINES.append(found)
        return found

    return made
