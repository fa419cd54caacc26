"""Write the tables of a run to the log: its sources, its output, and how the rows are related."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import BadType
from whence.relation import Relation
from whence.relation.table_cells import TableRelation
from whence.relation.tables import over_columns
from whence.rows.saving import ANNOTATED, OUTPUT
from whence.spark.running.artifacts import described_jobs
from whence.spark.tables.cell_pieces import Pieces
from whence.spark.tables.datasets import numberings, output_table, source_tables, sources_of

if TYPE_CHECKING:
    from whence.spark.analysis import Analysis
    from whence.spark.running.artifacts import RunArtifacts
    from whence.spark.sources.numbering import Ints, Numbering
    from whence.spark.tables.cell_pairs import CellPairs
    from whence.store import Store
    from whence.store.recording.tables import Table

Pairs = Mapping[int, tuple["Ints", "Ints"]]
"""For each use of a source, by its occurrence: numbers of output rows, and the ids of the source rows they came
from.
"""


def record_tables(
    store: Store, analysis: Analysis, run: RunArtifacts, pairs: Pairs | None = None, reasons: tuple[str, ...] = (),
    *, cells: Mapping[str, CellPairs] | None = None, quickly: bool = False,
) -> tuple[str, Table]:  # fmt: skip
    """Record the output and the sources of a recorded run, and how their rows are related.

    If `pairs` is given, the lineage of rows is stored; otherwise the run answers questions later. `reasons` say why the
    pairs are a superset of the lineage; `cells` are stored with the pairs. With `quickly`, sources whose rows take long
    to count are left out until a question needs them.
    """
    from whence.store.catalog.runs import run_of
    from whence.store.recording.tables import Origin, record

    if run.recorded is None:
        why = f": {run.failures[-1]}" if run.failures else ""
        raise BadType(f"the run is not in a log, so it has no datasets{why}")
    with described_jobs(analysis.jvm, "counting the rows of the sources"):
        numbered = numberings(analysis, quickly=quickly)
    stored = run_of(store, run.recorded)
    used = stored.document.get("used", {})
    versions = {name: used[artifact] for name, artifact in stored.document["artifacts"].items() if artifact in used}
    tables = source_tables(analysis, numbered, versions)
    table = output_table(analysis, run, _rows(run), stored, tables)
    if reasons:
        table = table.noted("; ".join(reasons))
    relations = {} if pairs is None else relations_of(analysis, table.rows, numbered, pairs, cells or {})
    origins = [
        Origin(each, relations[name]) if name in relations else Origin(each, run=stored.id, source=name)
        for name, each in tables.items()
    ]
    uncounted = {name: versions.get(name) for name in sources_of(analysis) if name not in tables}
    made = record(store, table, origins, stored.activity, stored.id, uncounted)
    return made, table


def relations_of(
    analysis: Analysis, rows: int, numbered: Mapping[str, Numbering], pairs: Pairs, cells: Mapping[str, CellPairs]
) -> dict[str, Relation]:
    """Return the relation of the output to each source: every cell of a row comes from every cell of its source rows.
    If cells are given, the relation also says which of these contribute.
    """
    relations: dict[str, Relation] = {}
    for name, source in sources_of(analysis).items():
        uses = [each.occurrence for each in analysis.sources if each.name == name]
        outs = np.concatenate([np.empty(0, np.int64), *(pairs[use][0] for use in uses if use in pairs)])
        ids = np.concatenate([np.empty(0, np.int64), *(pairs[use][1] for use in uses if use in pairs)])
        pieces = Pieces(rows, numbered[name])
        whole = over_columns(pieces.add(outs, ids), len(analysis.plan.output), len(source.columns))
        held = {lineage: pieces.cells(each, uses) for lineage, each in cells.items()}
        relations[name] = TableRelation.of(whole, pieces.relations[1:], held) if held else whole
    return relations


def _rows(run: RunArtifacts) -> int:
    """The number of output rows. The output was computed, and is saved or cached."""
    for place in (OUTPUT, ANNOTATED):
        if place in run.results:
            return run.results[place].rows
    assert run.output is not None
    return run.output.count()
