"""Make saved results small: distinct rows, sorted, without functionally dependent columns."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from whence.rows import Attr, Compare, Operator, conjuncts
from whence.rows.duck.engine import connected
from whence.rows.duck.literals import quoted
from whence.rows.saving import PlanPath, Saved, TracePlan, trace_plan, width

if TYPE_CHECKING:
    from whence.spark.running.artifacts import Result

EXACT_TYPES = frozenset({"boolean", "byte", "short", "integer", "long", "date", "string", "timestamp_ntz"})
GROUP = 16384  # rows of a row group, the least that a lookup reads


def shrunk(
    plan: Operator, planned: TracePlan, results: Mapping[PlanPath, Result], witness: str
) -> tuple[TracePlan, dict[PlanPath, Result]]:
    """Return the results in the form in which they are stored, and a trace plan that fits them."""
    written = planned.written
    if not written or not all(each.place in results for each in written):
        return planned, dict(results)
    wanted = {each.place: _independent_columns(each, results[each.place]) for each in written}
    chosen = {each.place: each.places for each in planned.saved}
    chosen |= {place: [results[place].places[index] for index in indexes] for place, indexes in wanted.items()}
    refined = trace_plan(plan, witness, chosen=chosen).with_recomputed(lambda each: each.place not in wanted)
    if refined.unavailable_reason or {each.place for each in refined.saved} != chosen.keys():
        wanted = {each.place: list(range(len(each.columns))) for each in written}
        refined = planned
    small = {each.place: _rewritten(results[each.place], wanted[each.place], each.columns) for each in refined.written}
    return refined, {**results, **small}


def _independent_columns(saved: Saved, result: Result) -> list[int]:
    """Return the indices of the columns to keep: all but those that follow from other columns of the predicate.

    A row of a question exists, so it has rows here. If rows that are equal in some columns are always equal in all, the
    other columns are functionally dependent on these. A query on the data tests that.
    """
    everything = list(range(len(result.columns)))
    pins = {
        fact.left
        for fact in conjuncts(saved.predicate)
        if isinstance(fact, Compare) and fact.op == "<=>" and not fact.right.attrs and isinstance(fact.left, Attr)
    }
    asked = [index for index, attr in enumerate(result.columns) if attr in pins]
    if not saved.sure or len(asked) < 2 or not result.rows or not _has_exact_types(result):
        return everything
    if any(attr not in pins for fact in conjuncts(saved.predicate) for attr in fact.attrs):
        return everything
    with connected() as connection:
        files = result.files.sql()

        def different(indexes: list[int]) -> int:
            names = ", ".join(f"c{index}" for index in indexes)
            found = connection.execute(f"SELECT count(*) FROM (SELECT DISTINCT {names} FROM {files})").fetchall()
            return int(found[0][0])

        all_of_them, kept = different(asked), list(asked)
        for index in sorted(asked, key=lambda index: width(result.columns[index]), reverse=True):
            fewer = [each for each in kept if each != index]
            if fewer and different(fewer) == all_of_them:
                kept = fewer
    return [index for index in everything if index in kept or index not in asked]


def _has_exact_types(result: Result) -> bool:
    return all(attr.dtype in EXACT_TYPES or attr.dtype.startswith("decimal") for attr in result.columns)


def _rewritten(result: Result, wanted: list[int], columns: tuple[Attr, ...]) -> Result:
    kept = replace(result, columns=columns, places=tuple(result.places[index] for index in wanted))
    if not _has_exact_types(kept) or not result.paths:
        return kept if len(wanted) == len(result.columns) else result
    path = str(Path(result.paths[0]).parent / "small.parquet")
    names = ", ".join(f"c{old} AS c{new}" for new, old in enumerate(wanted))
    order = ", ".join(f"c{new}" for new in range(len(wanted)))
    rows = f"SELECT DISTINCT {names} FROM {result.files.sql()} ORDER BY {order}"
    with connected() as connection:
        connection.execute(
            f"COPY ({rows}) TO {quoted(path)} (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE {GROUP})"
        )
    return replace(kept, paths=(path,))
