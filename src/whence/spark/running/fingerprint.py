"""Recognize a pipeline in another session: by a hash of its plan and of the settings that change its meaning."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

from whence.rows import (
    AggCall,
    Attr,
    Call,
    Opaque,
    Operator,
    Source,
    Udf,
    Values,
    WindowCall,
    walk,
)
from whence.rows.saving import ANNOTATED, OUTPUT, PlanPath, operator_at
from whence.rows.tree import Tree, transform, written

if TYPE_CHECKING:
    from whence.spark.analysis import Analysis

SETTINGS = ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.caseSensitive")


def canonical(plan: Operator) -> str:
    """The plan as a string that is the same in every session: columns are numbered in order of appearance."""
    numbers: dict[int, int] = {}

    def change(part: Tree) -> Tree:
        if isinstance(part, Attr):
            return replace(part, id=numbers.setdefault(part.id, len(numbers)))
        if isinstance(part, Call) and part.name == "Uuid":  # its seed differs between sessions
            return replace(part, detail="")
        if isinstance(part, Udf | AggCall) and part.code:  # Spark's reference to it differs between sessions
            return replace(part, detail=part.code)
        return part

    return written(transform(plan, change))


def fingerprint(analysis: Analysis) -> str | None:
    """A hash that is the same for the same pipeline. None if the plan does not show everything that it does."""
    for part in walk(analysis.unpinned_plan):
        if (isinstance(part, Udf | Opaque) and not part.code) or _has_hidden_code(part):
            return None
        if isinstance(part, Source) and not part.paths:
            return None
        if isinstance(part, Values) and getattr(part.origin, "nodeName", str)() != "OneRowRelation":
            return None
    settings = [str(analysis.session.conf.get(name)) for name in SETTINGS]
    text = "\n".join((canonical(analysis.unpinned_plan), analysis.settings.witness, *settings))
    return hashlib.sha256(text.encode()).hexdigest()


def _has_hidden_code(part: Tree) -> bool:
    """Whether it is a Python aggregate whose code has no known hash."""
    if isinstance(part, AggCall):
        return part.python and not part.code
    return isinstance(part, WindowCall) and part.python


def digest(op: Operator) -> str:
    """A short hash of an operator and everything below it."""
    return hashlib.sha256(canonical(op).encode()).hexdigest()[:16]


def saved_at(plan: Operator, place: PlanPath) -> Operator:
    """The operator whose rows are in a saved table."""
    return plan if place in (OUTPUT, ANNOTATED) else operator_at(plan, place)
