"""The tracers, in the order in which they are tried."""

from __future__ import annotations

from typing import TYPE_CHECKING

from whence.spark.tracing.annotated import AnnotatedTracer
from whence.spark.tracing.recomputed import RecomputedTracer
from whence.spark.tracing.replayed import ReplayTracer, TriedTracer
from whence.spark.tracing.saved import SavedTracer

if TYPE_CHECKING:
    from whence.spark.running.subject import Subject
    from whence.spark.tracing.tracer import Asking, Tracer

TRACERS: tuple[type[Tracer], ...] = (SavedTracer, AnnotatedTracer, RecomputedTracer, ReplayTracer)


def tracer_for(subject: Subject, asking: Asking) -> Tracer:
    """Return the first tracer that can answer."""
    if asking.tried and TriedTracer(subject, asking).unavailable_reason() is None:
        return TriedTracer(subject, asking)
    for kind in TRACERS:
        tracer = kind(subject, asking)
        if tracer.unavailable_reason() is None:
            return tracer
    raise AssertionError("a replay can always answer")


def explained_choice(subject: Subject, asking: Asking) -> list[str]:
    """Say which tracer would answer, and why those before it cannot. This does not read any data."""
    refused: list[str] = []
    for kind in TRACERS:
        reason = kind(subject, asking).unavailable_reason(may_look=False)
        if reason is None:
            return [f"a question is answered from {kind.title}", *refused]
        refused.append(f"  not from {kind.title}: {reason}")
    raise AssertionError("a replay can always answer")
