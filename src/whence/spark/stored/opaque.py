"""Parts of a plan that the log cannot store, and whether a question can be answered without them."""

from __future__ import annotations

from dataclasses import replace

from whence.rows import (
    AggCall,
    Arrange,
    Call,
    Expr,
    Generate,
    Literal,
    Operator,
    Param,
    Source,
    Tree,
    Values,
    WindowCall,
    attrs_of,
    conjunction,
    conjuncts,
    fresh,
    transform,
    walk,
)
from whence.rows.documents import NotHeld
from whence.rows.duck.translate import translated
from whence.rows.saving import TracePlan
from whence.spark.catalyst import stored_calls
from whence.spark.catalyst.write_expressions import has_python_form
from whence.spark.sources.stored import StoredLeaf


def relaxed(trace: TracePlan) -> tuple[TracePlan, tuple[str, ...]]:
    """Return the trace plan without the conditions that cannot be computed from the log alone, and why answers are
    supersets.

    Such a condition calls a function of the pipeline, or one of Spark's functions of which only the name is stored.
    Each predicate is a conjunction. Without one of its conditions it selects more rows, never fewer.
    """
    reasons: dict[str, None] = {}

    def change(predicate: Expr, by_duckdb: bool) -> Expr:
        facts = conjuncts(predicate)
        lost = {fact: why for fact in facts if (why := _missing(fact)) and not (by_duckdb and _translates(fact))}
        reasons.update(
            (f"the answer has too many rows, because a condition was dropped: {why}", None) for why in lost.values()
        )
        return conjunction(*(fact for fact in facts if fact not in lost)) if lost else predicate

    saved = tuple(replace(each, predicate=change(each.predicate, True)) for each in trace.saved)
    uses = tuple(replace(each, predicate=change(each.predicate, _is_listed(each.source))) for each in trace.uses)
    return (replace(trace, saved=saved, uses=uses) if reasons else trace), tuple(reasons)


def _missing(fact: Expr) -> str | None:
    """Return why Spark cannot compute a condition from the log alone, or None if it can."""
    for part in walk(fact):
        if isinstance(part, Call | AggCall | WindowCall) and isinstance(part.origin, NotHeld):
            if not stored_calls.known(part):
                return part.origin.why
        elif isinstance(part, Literal) and isinstance(part.origin, NotHeld) and not has_python_form(part):
            return f"a log cannot hold a constant of type {part.dtype}"
    return None


def _translates(fact: Expr) -> bool:
    """Whether DuckDB computes a condition as Spark does, for all parameters."""

    def change(part: Tree) -> Tree:
        return fresh(part.name, part.dtype) if isinstance(part, Param) else part

    asked = transform(fact, change)
    return translated(asked, dict.fromkeys(attrs_of(asked), "x")) is not None


def _is_listed(source: Source) -> bool:
    """Whether DuckDB may read a source."""
    return isinstance(source.origin, StoredLeaf) and source.origin.listing is not None


def not_replayable(plan: Operator) -> str | None:
    """Return why Spark cannot run a stored plan again, or None if it can."""
    for part in walk(plan):
        if isinstance(part, Source):
            if isinstance(part.origin, StoredLeaf) and part.origin.lost:
                return f"source {part.name!r} cannot be read again: {part.origin.lost}"
            continue
        origin = getattr(part, "origin", None)
        if not isinstance(origin, NotHeld) or isinstance(part, Arrange | Generate):
            continue
        if isinstance(part, Literal) and has_python_form(part):
            continue
        if isinstance(part, Values) and not part.columns:
            continue
        if isinstance(part, Call | AggCall | WindowCall) and stored_calls.known(part):
            continue
        return origin.why
    return None
