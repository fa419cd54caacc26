"""The cells of every output row, to be stored: which source cells made each of its columns.

Often the plan says which columns contribute in each row of the lineage; then the pairs of rows are enough. For other
columns the pipeline runs once more and annotates each row with cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from whence.errors import NotTraceable, SparkFailed
from whence.rows import Attr, Named, Project, fresh, keep
from whence.rows.cells import LINEAGES, cells_of
from whence.rows.eager.ids import LIST, Ids, as_list
from whence.spark.catalyst.write import frame
from whence.spark.running.artifacts import described_jobs
from whence.spark.tables.ordered import has_equal_rows, id_pairs, matched
from whence.spark.tracing.cells import CellTracer, covering
from whence.spark.tracing.matching import Matcher
from whence.spark.tracing.tracer import Asking

if TYPE_CHECKING:
    from whence.rows.cells.static import Place
    from whence.spark.sources.numbering import Ints
    from whence.spark.tables.ordered import Ordered


@dataclass(frozen=True, slots=True, eq=False)
class Entered:
    """Pairs of an output row and the id of a source row, and the source columns that contribute."""

    occurrence: int  # the use of the source
    columns: frozenset[int]
    outs: Ints
    ids: Ints


@dataclass(frozen=True, slots=True)
class CellPairs:
    """For each output column, by index, the pairs that entered it; and why they may be a superset."""

    of: Mapping[int, tuple[Entered, ...]] = field(default_factory=dict)
    reasons: tuple[str, ...] = ()


def cell_pairs(found: Ordered) -> tuple[dict[str, CellPairs], tuple[str, ...]]:
    """Return the cells of all rows for each kind of lineage, and why some kinds are missing."""
    made: dict[str, CellPairs] = {}
    missing: list[str] = []
    for lineage in LINEAGES:
        try:
            made[lineage] = _pairs(found, lineage)
        except (NotTraceable, SparkFailed) as error:
            missing.append(f"the cells by {lineage} are not stored: {error}")
    return made, tuple(missing)


def _pairs(found: Ordered, lineage: str) -> CellPairs:
    analysis, witness = found.subject.analysis, covering(found.subject)
    tracer = CellTracer(found.subject, Asking(Matcher(analysis.jvm), witness))
    known: dict[Attr, tuple[Entered, ...]] = {}
    reasons: list[str] = []
    unlike: dict[Place, Ints] = {}
    for attr in dict.fromkeys(analysis.plan.output):
        places = tracer.from_rows((attr,), lineage)
        if places is not None and not any(place.attained for place in places[0]):
            known[attr] = _static(found, tracer, places[0], unlike)
            reasons += places[1]
    rest = tuple(attr for attr in dict.fromkeys(analysis.plan.output) if attr not in known)
    if rest:
        run, more = _run(found, rest, lineage)
        known |= run
        reasons += more
    of = {at: known[attr] for at, attr in enumerate(analysis.plan.output)}
    return CellPairs(of, tuple(dict.fromkeys((*reasons, *analysis.cuts))))


def _static(
    found: Ordered, tracer: CellTracer, places: frozenset[Place], unlike: dict[Place, Ints]
) -> tuple[Entered, ...]:
    """The pairs of rows, without source rows for which the condition of a use is not true."""
    assert found.pairs is not None
    uses = {use.occurrence: use for use in found.subject.analysis.sources}
    made = []
    for place in sorted(places, key=lambda each: (each.occurrence, each.column)):
        if place.occurrence not in found.pairs:
            continue
        outs, ids = found.pairs[place.occurrence]
        if place.where is not None:
            if place not in unlike:
                unlike[place] = tracer.unlike(uses[place.occurrence], place.where)
            if len(unlike[place]):
                kept = ~np.isin(ids, unlike[place])
                outs, ids = outs[kept], ids[kept]
        made.append(Entered(place.occurrence, frozenset({place.column}), outs, ids))
    return tuple(made)


def _run(found: Ordered, columns: tuple[Attr, ...], lineage: str) -> tuple[dict[Attr, tuple[Entered, ...]], list[str]]:
    """Run the pipeline with the cells of these columns, and return the pairs and the reasons for a superset."""
    analysis = found.subject.analysis
    varying = analysis.nondeterminism.reasons()
    if varying:
        raise NotTraceable(f"another run may give other rows: {varying[0]}")
    if has_equal_rows(found.rows):
        raise NotTraceable("some rows of the output are equal, so another run cannot tell them apart")
    noted = cells_of(analysis.plan, columns, lineage)
    terms = list(dict.fromkeys(known for attr in columns for known in noted.of(attr)))
    lists = tuple(Named(fresh("_ids", LIST), as_list(known.ids)) for known in terms)
    made = Project(noted.plan, (*keep(*analysis.plan.output), *lists))
    width = len(analysis.plan.output)
    with described_jobs(analysis.jvm, "the pipeline, with the ids of source cells"):
        table = frame(made, analysis.jvm).toDF(*(f"c{at}" for at in range(width + len(lists)))).toArrow()
    places = matched(found.rows, table.select(range(width)))
    if places is None:
        raise NotTraceable("another run gave other rows")
    pairs = {}
    for at, known in enumerate(terms):
        outs, ids = id_pairs(table.column(width + at), Ids(lists[at].attr, many=True))
        pairs[known] = places[outs], ids
    entered = {
        attr: tuple(Entered(known.occurrence, own, *pairs[known]) for known, own in noted.of(attr).items())
        for attr in columns
    }
    return entered, list(noted.reasons)
