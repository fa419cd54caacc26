"""The runs of a log as a list that prints as a table."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from whence.spark.stored.run import StoredRun
from whence.store.catalog import runs
from whence.words import table

if TYPE_CHECKING:
    from whence.store import Store

COLUMNS = ("run", "pipeline", "sources", "rows", "recorded")


class Runs(list[StoredRun]):
    """Runs of pipelines, the oldest first."""

    @classmethod
    def of(cls, store: Store, pipeline: str | None = None) -> Runs:
        """Return all runs of a log, or those of the pipeline with this name."""
        return cls(StoredRun(store, each) for each in runs.listed(store, pipeline))

    def _rows(self) -> list[tuple[object, ...]]:
        return [
            (run.id, run.pipeline, ", ".join(run.sources), "" if run.rows is None else run.rows, run.created)
            for run in self
        ]

    def __repr__(self) -> str:
        return table(COLUMNS, self._rows()) if self else "no runs"

    def _repr_html_(self) -> str:
        head = "".join(f"<th>{each}</th>" for each in COLUMNS)
        rows = ("".join(f"<td>{html.escape(str(each))}</td>" for each in row) for row in self._rows())
        return f"<table><tr>{head}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
