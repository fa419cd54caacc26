"""The cells of every output row, to be stored: which source cells made each of its columns.

Often the plan says which columns contribute in each row of the lineage; then the pairs of rows are enough. For other
columns the pipeline runs once more and annotates each row with cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from whence.errors import NotTraceable, SparkFailed
from whence.rows import Attr, Named, Project, fresh, keep
from whence.rows.cells import LINEAGES, cells_of
from whence.rows.eager.ids import LIST, Ids, as_list
from whence.spark.catalyst.frames import frame
from whence.spark.running.artifacts import described_jobs
from whence.spark.tables.equal_rows import has_equal_rows, matched
from whence.spark.tables.ordered import id_pairs
from whence.spark.tracing.cells import CellTracer, covering
from whence.spark.tracing.matching import Matcher
from whence.spark.tracing.tracer import Asking

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.rows.cells.static import Place
    from whence.rows.expressions import Expr
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
    analysis = found.subject.analysis
    tracer = CellTracer(found.subject, Asking(Matcher(analysis.jvm), covering(found.subject)))
    static = _Static(found, tracer)
    for lineage in LINEAGES:
        try:
            made[lineage] = _pairs(found, tracer, static, lineage)
        except (NotTraceable, SparkFailed) as error:
            missing.append(f"the cells by {lineage} are not stored: {error}")
    return made, tuple(missing)


def _pairs(found: Ordered, tracer: CellTracer, static: _Static, lineage: str) -> CellPairs:
    analysis = found.subject.analysis
    known: dict[Attr, tuple[Entered, ...]] = {}
    reasons: list[str] = []
    for attr in dict.fromkeys(analysis.plan.output):
        places = tracer.from_rows((attr,), lineage)
        entered = None if places is None else static.entered(places[0])
        if places is not None and entered is not None:
            known[attr] = entered
            reasons += places[1]
    rest = tuple(attr for attr in dict.fromkeys(analysis.plan.output) if attr not in known)
    if rest:
        run, more = _run(found, rest, lineage)
        known |= run
        reasons += more
    of = {at: known[attr] for at, attr in enumerate(analysis.plan.output)}
    return CellPairs(of, tuple(dict.fromkeys((*reasons, *analysis.cuts))))


class _Static:
    """The pairs of rows that entered a column, where the plan determines them."""

    def __init__(self, found: Ordered, tracer: CellTracer) -> None:
        assert found.pairs is not None
        self._pairs, self._rows, self._tracer = found.pairs, found.rows, tracer
        self._output = found.subject.analysis.plan.output
        self._uses = {use.occurrence: use for use in found.subject.analysis.sources}
        self._unlike: dict[tuple[int, Expr], Ints] = {}
        self._attaining: dict[tuple[int, Expr, Attr], NDArray[np.bool_] | None] = {}

    def entered(self, places: frozenset[Place]) -> tuple[Entered, ...] | None:
        """The pairs, without source rows that fail the condition of a place or do not attain its value; None if values
        of this type are not compared here.
        """
        made = []
        for place in sorted(places, key=lambda each: (each.occurrence, each.column)):
            if place.occurrence not in self._pairs:
                continue
            outs, ids = self._pairs[place.occurrence]
            kept = np.ones(len(ids), bool)
            if place.attained is not None:
                attaining = self._with_value(place.occurrence, *place.attained)
                if attaining is None:
                    return None
                kept &= attaining
            if place.where is not None:
                unlike = self._failing(place.occurrence, place.where)
                kept &= ~np.isin(ids, unlike)
            if not kept.all():
                outs, ids = outs[kept], ids[kept]
            made.append(Entered(place.occurrence, frozenset({place.column}), outs, ids))
        return tuple(made)

    def _failing(self, number: int, where: Expr) -> Ints:
        if (number, where) not in self._unlike:
            self._unlike[number, where] = self._tracer.unlike(self._uses[number], where)
        return self._unlike[number, where]

    def _with_value(self, number: int, value: Expr, shown: Attr) -> NDArray[np.bool_] | None:
        """The pairs whose source row has the value that the output row shows."""
        known = (number, value, shown)
        if known not in self._attaining:
            outs, ids = self._pairs[number]
            every, values = self._tracer.values(self._uses[number], value)
            own = values.take(np.searchsorted(every, ids))
            there = self._rows.column(self._output.index(shown)).take(outs)
            self._attaining[known] = equal_values(own, there)
        return self._attaining[known]


def equal_values(one: pa.ChunkedArray, other: pa.ChunkedArray) -> NDArray[np.bool_] | None:
    """Where two columns have the same value, which is not NULL; NaN equals NaN. None for nested values.

    >>> import pyarrow as pa
    >>> nan = float("nan")
    >>> equal_values(pa.chunked_array([[1.0, None, nan]]), pa.chunked_array([[1.0, None, nan]])).tolist()
    [True, False, True]
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_nested(one.type) or one.type != other.type:
        return None
    same = pc.equal(one, other)
    if pa.types.is_floating(one.type):
        same = pc.or_(same, pc.and_(pc.is_nan(one), pc.is_nan(other)))
    return np.asarray(pc.fill_null(same, False).to_numpy(), bool)


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
