"""Operations on tables whose lineage is recorded: `log.tables`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np

from whence.arrays import frames
from whence.arrays.frames import Column, TableResult
from whence.arrays.recording.calls import Captured, Edge
from whence.arrays.recording.structures import Array
from whence.arrays.recording.track import Recorder
from whence.errors import BadType

Lineage = Literal["value", "value+selection"]
Names = Mapping[str, str] | None


class Tables:
    """Filter, group, join and extend tables (arrays or pandas frames), and record the lineage of every cell.

    `names` maps "table" ("left" and "right" in a join) and "return" to datasets. With `lineage="value+selection"`, keys
    and conditions are recorded as well. `whence.arrays.frames` has the same without a log.
    """

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def filter_rows(self, table: Any, keep: Any, *, names: Names = None, lineage: Lineage = "value") -> Any:
        """Keep the rows for which `keep` is true: a mask, or a function of the table that returns one."""
        return self._recorded("filter_rows", {"table": table}, frames.filter_rows(table, keep), names, lineage)

    def add_columns(
        self,
        table: Any,
        make: Mapping[Column, Callable[[Any], Any]] | Callable[[Any], Any],
        reads: Any = None,
        *,
        names: Names = None,
        lineage: Lineage = "value",
    ) -> Any:
        """Append columns, each computed row by row from the columns in `reads`, or from all."""
        return self._recorded("add_columns", {"table": table}, frames.add_columns(table, make, reads), names, lineage)

    def one_hot(self, table: Any, column: Column, *, names: Names = None, lineage: Lineage = "value") -> Any:
        """Replace a column of categories by one column of flags for each, after the others."""
        return self._recorded("one_hot", {"table": table}, frames.one_hot(table, column), names, lineage)

    def group_by(
        self,
        table: Any,
        key: Column,
        aggregate: Callable[[Any], Any] = np.sum,
        *,
        names: Names = None,
        lineage: Lineage = "value",
    ) -> Any:
        """Make one row per distinct key, in order: the key, then each other column aggregated over the group's rows."""
        return self._recorded("group_by", {"table": table}, frames.group_by(table, key, aggregate), names, lineage)

    def inner_join(
        self,
        left: Any,
        right: Any,
        on: Column | tuple[Column, Column],
        *,
        names: Names = None,
        lineage: Lineage = "value",
    ) -> Any:
        """Join the rows whose keys are equal, in the order of the left table: the left columns, then the right ones."""
        return self._recorded(
            "inner_join", {"left": left, "right": right}, frames.inner_join(left, right, on), names, lineage
        )

    def _recorded(
        self, operation: str, given: Mapping[str, Any], done: TableResult, names: Names, lineage: Lineage
    ) -> Any:
        if lineage not in ("value", "value+selection"):
            raise BadType(f"lineage is 'value' or 'value+selection', not {lineage!r}")
        self._recorder.ready()
        inputs = tuple(Array(label, table) for label, table in given.items())
        edges = [Edge(0, i, "value", each) for i, each in enumerate(done.relations)]
        if lineage == "value+selection":
            edges += [Edge(0, i, "selection", each) for i, each in enumerate(done.decided) if len(each)]
        found = Captured(done.result, inputs, (Array(operation, done.result),), tuple(edges))
        self._recorder.record(operation, found, dict(names or {}), {}, False)
        return done.result
