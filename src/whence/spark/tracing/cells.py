"""Cell questions: which source cells made some columns of output rows, and which output cells they reached.

Often the plan alone says which columns contribute in each row of the lineage. Then the rows are found as for any row
question. Otherwise the plan runs again over restricted sources, and each row has the ids of the cells that made the
columns of the question.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from whence.errors import BadType, UnknownName
from whence.rows import TRUE, Attr, Named, Not, Project, Source, disjunction, fresh, keep
from whence.rows.arrow import numbers_of
from whence.rows.cells import LINEAGES, Noted, cells_of, noted_cells
from whence.rows.cells.flat import Flat, flat_cells
from whence.rows.cells.static import Place, of_witnesses, static_cells
from whence.rows.cells.terms import Known, Terms, true
from whence.rows.duck import select
from whence.rows.eager.ids import LIST, LONG, as_list
from whence.rows.expressions import Call, Compare, Expr, IsNull, Literal
from whence.rows.filtering import filtered
from whence.rows.pushdown.pins import substituted
from whence.rows.questions.from_pandas import MISSING
from whence.rows.questions.restrict import restrict
from whence.rows.questions.rows import Asked, is_simple, predicate
from whence.selection import distinct
from whence.spark.catalyst.frames import frame
from whence.spark.sources.files import SHIFT
from whence.spark.sources.row_ids import ROW, files_of
from whence.spark.tracing.matching import RowSet
from whence.spark.tracing.questions import asked_of, matching
from whence.spark.tracing.recompute import AGAIN, duck_query
from whence.spark.tracing.replayed import RESTRICTED_FOR, restriction
from whence.spark.tracing.results import source_table
from whence.spark.tracing.tracer import Asking, absent, require_one

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.spark.lineage import Lineage
    from whence.spark.running.subject import Subject

Ints = NDArray[np.int64]
EMPTY: Mapping[Attr, object] = {}


@dataclass(frozen=True, slots=True)
class FoundCells:
    """For each use of a source: sets of column indices, with the ids of the rows in which these columns contribute."""

    parts: Mapping[int, tuple[tuple[frozenset[int], Ints], ...]]
    rows: int  # the number of output rows in the question
    reasons: tuple[str, ...]
    how: str

    def of(self, uses: Iterable[Source]) -> dict[tuple[int, ...], Ints]:
        """Return the row ids for the columns of a source, over all given uses: columns with the same rows together.
        Columns without rows are left out.
        """
        parts = [part for use in uses for part in self.parts.get(use.occurrence, ()) if len(part[1])]
        together: dict[tuple[int, ...], list[int]] = {}
        for column in sorted(frozenset[int]().union(*(columns for columns, _ in parts))):
            own = tuple(at for at, (columns, _) in enumerate(parts) if column in columns)
            together.setdefault(own, []).append(column)
        return {
            tuple(columns): distinct(np.concatenate([parts[at][1] for at in own])) for own, columns in together.items()
        }

    @classmethod
    def united(cls, every: Sequence[FoundCells]) -> FoundCells:
        """Merge the cells that several questions found."""
        parts: dict[int, tuple[tuple[frozenset[int], Ints], ...]] = {}
        for each in every:
            for number, own in each.parts.items():
                parts[number] = (*parts.get(number, ()), *own)
        reasons = tuple(dict.fromkeys(reason for each in every for reason in each.reasons))
        return cls(parts, sum(each.rows for each in every), reasons, every[0].how)

    def ids(self, uses: Iterable[Source]) -> Ints:
        """The ids of all rows with at least one cell."""
        all_ids = [ids for use in uses for _, ids in self.parts.get(use.occurrence, ())]
        return distinct(np.concatenate(all_ids)) if all_ids else np.empty(0, np.int64)


def named_columns(known: Sequence[Attr], columns: object, where: str, case_sensitive: bool) -> tuple[Attr, ...]:
    """Return the columns with the given names, or all columns if `columns` is None."""
    if columns is None:
        return tuple(known)
    if isinstance(columns, str) or not isinstance(columns, Iterable):
        raise BadType(f"columns are a list of names, such as ['total'], not {columns!r}")
    found: list[Attr] = []
    for name in columns:
        if not isinstance(name, str):
            raise BadType(f"a column is named by a string, not by {name!r}")
        same = [attr for attr in known if attr.name == name]
        if not same and not case_sensitive:
            same = [attr for attr in known if attr.name.lower() == name.lower()]
        if not same:
            raise UnknownName.of(f"column of {where}", name, [attr.name for attr in known])
        found += same
    if not found:
        raise BadType("no columns were given to ask about: name some, or leave columns out for all")
    return tuple(dict.fromkeys(found))


def require_lineage(lineage: str) -> None:
    """Raise if `lineage` is not one of the supported values."""
    if lineage not in LINEAGES:
        raise BadType(f"lineage is one of {', '.join(LINEAGES)}, not {lineage!r}")


def covering(subject: Subject) -> str:
    """The value of `witness` for which row lineage has all rows of a group."""
    analysis = subject.analysis
    return "group" if of_witnesses(analysis.plan) else analysis.settings.witness


class CellTracer:
    """Answers cell questions about one subject."""

    def __init__(self, subject: Subject, asking: Asking) -> None:
        self._subject, self._analysis, self._asking = subject, subject.analysis, asking

    def from_rows(self, columns: tuple[Attr, ...], lineage: str) -> tuple[frozenset[Place], tuple[str, ...]] | None:
        """Return the columns that contribute in each row of the lineage, and the reasons for a superset. None if the
        plan does not determine them. A place may depend on a value of the output row (`attained`).
        """
        found = static_cells(self._analysis.plan, columns, lineage)
        if found is None or covering(self._subject) == self._analysis.settings.witness:
            return found
        # The witnesses of a minimum are part of the lineage with either choice of witnesses.
        some = of_witnesses(self._analysis.plan)
        return None if any(place.occurrence in some and place.attained is None for place in found[0]) else found

    def in_rows(
        self, places: frozenset[Place], reasons: tuple[str, ...], found: Lineage, shown: Mapping[Attr, object] = EMPTY
    ) -> FoundCells:
        """Return the cells, given the rows of the lineage. `shown` has the values of the output row."""
        uses = {use.occurrence: use for use in self._analysis.sources}
        together: dict[tuple[int, Expr | None, tuple[Expr, Attr] | None], set[int]] = {}
        for place in places:
            together.setdefault((place.occurrence, place.where, place.attained), set()).add(place.column)
        parts: dict[int, list[tuple[frozenset[int], Ints]]] = {}
        rows = {number: _ids(found.use_identities(uses[number]), uses[number]) for number, _, _ in together}
        for (number, where, attained), columns in together.items():
            ids = rows[number]
            if attained is not None and len(ids):
                value, attr = attained
                same = Compare("<=>", value, Literal(shown[attr], attr.dtype))
                held = np.empty(0, np.int64) if shown[attr] is None else self._like(uses[number], same)
                ids = np.intersect1d(ids, held, assume_unique=True)
            if where is not None and len(ids):
                ids = np.setdiff1d(ids, self.unlike(uses[number], where), assume_unique=True)
            parts.setdefault(number, []).append((frozenset(columns), ids))
        why = (*((found.reason,) if found.reason else ()), *reasons)
        return FoundCells({at: tuple(each) for at, each in parts.items()}, found.rows, why, found.how)

    def _like(self, use: Source, where: Expr) -> Ints:
        """The ids of rows for which a condition is true."""
        found = self._asking.matcher.numbers(source_table(use), (where, None))
        return self._ids_where(use, where) if found is None else np.sort(numbers_of(found))

    def unlike(self, use: Source, where: Expr) -> Ints:
        """The ids of rows for which a condition is not true."""
        found = self._asking.matcher.numbers(source_table(use), (_not_true(where), None))
        return self._ids_where(use, Not(true(where))) if found is None else np.sort(numbers_of(found))

    def values(self, use: Source, value: Expr) -> tuple[Ints, pa.ChunkedArray]:
        """The ids of all rows in order, and a value computed from each row."""
        import pyarrow.compute as pc

        numbered = source_table(use, True)
        columns = (*keep(numbered.columns[-1]), Named(fresh("_value", value.dtype), value))
        table = frame(Project(numbered.data, columns), self._analysis.jvm).toArrow()
        table = table.take(pc.sort_indices(table.column(0)))
        return table.column(0).to_numpy(), table.column(1)

    def _ids_where(self, use: Source, where: Expr) -> Ints:
        numbered = source_table(use, True)
        operator = filtered(numbered.data, where)
        rows = frame(Project(operator, keep(numbered.columns[-1])), self._analysis.jvm).toArrow()
        return np.sort(numbers_of(rows.column(0)))

    def flat(self, asked: tuple[Asked, ...], columns: tuple[Attr, ...], lineage: str) -> Flat | None:
        """Return the plan of the rows that entered the groups of the question, or None if DuckDB may not compute it."""
        analysis = self._analysis
        if self._asking.matcher.engine == "spark" or analysis.settings.mode == "eager":
            return None
        if len(asked) > RESTRICTED_FOR or not is_simple(asked) or analysis.nondeterminism.reasons():
            return None
        found = flat_cells(analysis.plan, columns, lineage, noted_cells)
        given = [dict(row) for row in asked]
        if found is None or not all(set(found.keys.values()) <= row.keys() for row in given):
            return None
        same = [[(attr, row[attr]) for attr in found.keys.values()] for row in given]
        if any(value is MISSING for row in same for _, value in row):
            return None
        own: dict[Attr, Expr] = {attr: key for key, attr in found.keys.items()}
        where = substituted(predicate(tuple(map(tuple, same))), own) if found.keys else TRUE
        return replace(found, plan=filtered(found.plan, where))

    def in_groups(self, flat: Flat, found: Lineage) -> FoundCells | None:
        """Find the cells that entered groups with DuckDB. Return None if it may answer differently from Spark."""
        shown = tuple(dict.fromkeys(known.ids.attr for known in flat.terms))
        held: dict[Attr, Ints] = {}
        if shown:
            query = duck_query(flat.plan, shown, every=True)
            table = None if query is None or query.size() > AGAIN else select(query, TRUE, columns=shown)
            if table is None:
                return None
            held = {attr: _unique(table.column(at)) for at, attr in enumerate(shown)}
        parts: dict[int, list[tuple[frozenset[int], Ints]]] = {}
        for known, places in flat.terms.items():
            parts.setdefault(known.occurrence, []).append((places, held[known.ids.attr]))
        why = (*((found.reason,) if found.reason else ()), *flat.reasons, *self._analysis.cuts)
        return FoundCells(
            {at: tuple(each) for at, each in parts.items()}, found.rows, tuple(dict.fromkeys(why)), "replayed"
        )

    def replayed(self, rows: object, columns: tuple[Attr, ...], lineage: str, *, one: bool) -> FoundCells:
        """Find the cells by running the plan again."""
        analysis, spark = self._analysis, self._analysis.session
        asked = asked_of(analysis.plan.output, rows, spark)
        noted = self._noted(asked, columns, lineage)
        selected = matching(noted.plan, asked, spark)
        terms = noted.of(*columns)
        lists = tuple(Named(fresh(f"_ids_{at}", LIST), as_list(known.ids)) for at, known in enumerate(terms))
        counted = Named(fresh("_one", "integer"), Literal(1, "integer"))
        table = frame(Project(selected, (counted, *lists)), analysis.jvm).toArrow()
        if not table.num_rows:
            raise absent(self._subject, "the output", asked)
        count = require_one(table.num_rows, asked, one)
        parts: dict[int, list[tuple[frozenset[int], Ints]]] = {}
        for at, (known, places) in enumerate(terms.items(), 1):
            parts.setdefault(known.occurrence, []).append((places, _flat(table.column(at))))
        return FoundCells({at: tuple(each) for at, each in parts.items()}, count, self._reasons(noted), "replayed")

    def _noted(self, asked: tuple[Asked, ...], columns: tuple[Attr, ...], lineage: str) -> Noted:
        """The plan annotated with cells, over restricted sources. The restriction is not part of the lineage."""
        noted = cells_of(self._analysis.plan, columns, lineage)
        cut = restriction(self._subject, asked, "group")
        return noted if cut is None else replace(noted, plan=restrict(noted.plan, cut))

    def _reasons(self, noted: Noted) -> tuple[str, ...]:
        analysis = self._analysis
        return tuple(dict.fromkeys((*noted.reasons, *analysis.cuts, *analysis.nondeterminism.reasons())))

    def source_ids(self, source: Source, row: object) -> list[int]:
        """The ids of the source rows that match the question."""
        analysis, spark = self._analysis, self._analysis.session
        asked = asked_of(source.columns, row, spark)
        row_id = fresh("_id", LONG, nullable=False)
        rows = matching(replace(source, row_id=row_id), asked, spark)
        return [each[0] for each in frame(Project(rows, keep(row_id)), analysis.jvm).collect()]

    def reached(
        self, uses: Sequence[Source], ids: list[int], columns: tuple[int, ...], rows: list[Any], lineage: str
    ) -> tuple[RowSet, NDArray[np.bool_], tuple[str, ...]]:
        """Return the given output rows that have cells from the source rows, a mask of these cells, and why they may be
        a superset.
        """
        analysis, spark = self._analysis, self._analysis.session
        output = analysis.plan.output
        asked = asked_of(output, rows, spark)
        noted = self._noted(asked, output, lineage)
        selected = matching(noted.plan, asked, spark)
        numbers = {use.occurrence for use in uses}
        wanted = Call("array", tuple(Literal(each, LONG) for each in ids), LIST)
        flags = tuple(
            Named(fresh("_held", "boolean"), _held(noted.of(attr), numbers, frozenset(columns), wanted))
            for attr in output
        )
        made = Project(selected, (*keep(*output), *flags))
        unique = [f"c{at}" for at in range(2 * len(output))]
        table = frame(made, analysis.jvm).toDF(*unique).toArrow()
        flagged = [table.column(at).to_numpy() for at in range(len(output), 2 * len(output))]
        held = np.column_stack(flagged).astype(bool) if flagged else np.zeros((table.num_rows, 0), bool)
        some = np.asarray(held.any(axis=1))
        kept = table.select(range(len(output))).filter(_mask(some))
        return RowSet(output, kept), held[some], self._reasons(noted)


def _held(terms: Terms, uses: set[int], columns: frozenset[int], ids: Expr) -> Expr:
    """An expression that is true if a cell has any of the ids, in any of the columns."""

    def has(known: Known) -> Expr:
        return Call("arrays_overlap", (as_list(known.ids), ids), "boolean")

    return disjunction(*(has(known) for known, own in terms.items() if known.occurrence in uses and own & columns))


def _not_true(where: Expr) -> Expr:
    """An expression that is true if a condition is not. DuckDB computes it as Spark does."""
    if isinstance(where, Not) and isinstance(where.arg, IsNull):
        return where.arg
    return disjunction(Not(where), IsNull(where))


def _mask(some: NDArray[np.bool_]) -> Any:
    import pyarrow as pa

    return pa.array(some)


def _unique(ids: pa.ChunkedArray) -> Ints:
    """The distinct ids in a column, without NULL."""
    values = ids.drop_null().to_numpy()
    return distinct(np.asarray(values, np.int64))


def _flat(lists: pa.ChunkedArray) -> Ints:
    """The distinct ids in a column of lists."""
    values = [chunk.flatten().to_numpy(zero_copy_only=False) for chunk in lists.chunks]
    return distinct(np.concatenate(values).astype(np.int64)) if values else np.empty(0, np.int64)


def _ids(table: pa.Table, source: Source) -> Ints:
    """The ids of rows, in the form that `identities` uses."""
    rows = numbers_of(table.column(ROW))
    files = files_of(source)
    if files is None:
        return distinct(rows)
    places = {name: at for at, name in enumerate(files)}
    ids = [
        np.array([places[name] for name in chunk.dictionary.to_pylist()], np.int64)[numbers_of(chunk.indices)] << SHIFT
        for chunk in table.column("_file").chunks
        if len(chunk)
    ]
    return distinct(np.concatenate(ids) + rows) if ids else np.empty(0, np.int64)
