"""The tracer that needs no run: DuckDB computes from the files what a run would have saved."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from whence.spark.running.artifacts import RunArtifacts
from whence.spark.tracing.recompute import cheap_to_recompute
from whence.spark.tracing.saved import SavedTracer

if TYPE_CHECKING:
    from whence.rows.saving import TracePlan


class RecomputedTracer(SavedTracer):
    """Follows the predicates of `SavedTracer` if all intermediate results are cheap to compute from the files."""

    title: ClassVar[str] = "the files, with DuckDB"
    how: ClassVar[str] = "replayed"

    def unavailable_reason(self, *, may_look: bool = True) -> str | None:
        settings, engine = self._analysis.settings, self._matcher.engine
        if settings.mode == "eager":
            return "with mode='eager' rows are annotated instead"
        if self._asking.witness != settings.witness:
            return f"saved results are for witness={settings.witness!r}"
        if engine == "duckdb":
            return "with engine='duckdb' rows are looked up only in what a run saved"
        nondeterminism = self._analysis.nondeterminism
        reasons = nondeterminism.reasons() if may_look else nondeterminism.possible_reasons
        if reasons:
            return f"another run may give other rows: {reasons[0]}"
        plan = self._trace_plan
        if reason := plan.unavailable_reason or self._not_in_arrow(plan):
            return reason
        if plan.written:
            return f"DuckDB cannot compute the output of {type(plan.written[0].operator).__name__} from files cheaply"
        if plan.limit_to_check is not None and (
            engine == "spark" or not may_look or not self._analysis.limits_are_clear()
        ):
            return "equal rows may lie on both sides of a limit"
        return None

    @cached_property
    def _trace_plan(self) -> TracePlan:
        return self._analysis.trace_plan.with_recomputed(cheap_to_recompute)

    def _run(self) -> RunArtifacts:
        return RunArtifacts(self._trace_plan)
