"""Sources, and rows that the query itself contains."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from whence.rows.expressions.base import Attr
from whence.rows.operators.base import Operator


@dataclass(frozen=True, slots=True)
class Source(Operator):
    """One use of a source: a file, table, view or in-memory frame.

    `name` is the name of the source, the same for all its uses; `occurrence` numbers the uses over the whole pipeline.
    `row_id` is an optional additional column: a long that identifies the row, the same in every run over the same data.
    `is_domain_copy` marks a copy of a source that Catalyst adds to list the values to compute for; it is not part of
    the lineage. `cut` says how the rows were computed, if they were not just read: the plan ends here, although lineage
    does not.
    """

    name: str
    occurrence: int
    columns: tuple[Attr, ...]
    format: str = "memory"
    paths: tuple[str, ...] = ()
    row_id: Attr | None = None
    is_domain_copy: bool = False
    origin: object = field(default=None, compare=False, repr=False)
    cut: str = field(default="", compare=False, repr=False)

    @property
    def is_anonymous(self) -> bool:
        """Whether its rows were made by the program and have no name."""
        return self.format == "memory" and not self.cut and re.fullmatch(r"source_[0-9]+", self.name) is not None

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.columns if self.row_id is None else (*self.columns, self.row_id)


@dataclass(frozen=True, slots=True)
class Values(Operator):
    """Rows that the query itself contains: VALUES, a range, the one row of a query without FROM. It is no source."""

    columns: tuple[Attr, ...]
    origin: object = field(default=None, compare=False, repr=False)

    @property
    def output(self) -> tuple[Attr, ...]:
        return self.columns
