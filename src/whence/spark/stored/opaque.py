"""What a log does not hold, in a plan and its trace plan: whether a question can do without it."""

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
    Source,
    Udf,
    Values,
    WindowCall,
    conjunction,
    conjuncts,
    walk,
)
from whence.rows.documents import NotHeld
from whence.rows.saving import TracePlan
from whence.spark.catalyst import stored_calls
from whence.spark.catalyst.write_expressions import has_python_form
from whence.spark.sources.stored import StoredLeaf


def relaxed(trace: TracePlan) -> tuple[TracePlan, tuple[str, ...]]:
    """The trace plan without the facts that only a function of the pipeline's own decides, and why it is a superset.

    Each predicate is a list of facts that must all hold. With a fact less it holds for more rows, never for fewer.
    """
    reasons: dict[str, None] = {}

    def change(predicate: Expr) -> Expr:
        kept = []
        for fact in conjuncts(predicate):
            why = next((_code(part) for part in walk(fact) if _code(part)), None)
            if why is None:
                kept.append(fact)
            else:
                reasons[f"rows that only it tells apart are all in the answer: {why}"] = None
        return conjunction(*kept) if len(kept) < len(conjuncts(predicate)) else predicate

    saved = tuple(replace(each, predicate=change(each.predicate)) for each in trace.saved)
    uses = tuple(replace(each, predicate=change(each.predicate)) for each in trace.uses)
    return (replace(trace, saved=saved, uses=uses) if reasons else trace), tuple(reasons)


def _code(part: object) -> str | None:
    """Why a part cannot be computed without code of the pipeline's own."""
    if isinstance(part, Udf) or (isinstance(part, AggCall | WindowCall) and part.python):
        return part.origin.why if isinstance(part.origin, NotHeld) else part.name
    return None


def not_replayable(plan: Operator) -> str | None:
    """Why Spark cannot run a stored plan again; None if it can."""
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
        if isinstance(part, Call | AggCall) and stored_calls.known(part):
            continue
        return origin.why
    return None
