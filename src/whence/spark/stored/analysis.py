"""The plan of a stored run, with what was inferred from it during the run."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from whence.rows.saving import Sizes, TracePlan
from whence.spark.analysis import Analysis, Settings
from whence.spark.stored.opaque import relaxed
from whence.spark.stored.session import JvmOnDemand, SessionOnDemand

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from whence.spark.catalyst.jvm import Jvm
    from whence.spark.running.document import RunDocument
    from whence.spark.sources.kind import Version
    from whence.store import Store


@dataclass(frozen=True, eq=False)
class StoredAnalysis(Analysis):
    """The analysis of a stored run. It has no DataFrame, and it starts a Spark session only if a question needs one."""

    traced_by: TracePlan = field(default_factory=TracePlan)
    reasons: tuple[str, ...] = ()  # why answers from the trace plan are supersets
    on_demand: SessionOnDemand = field(default_factory=lambda: SessionOnDemand({}))

    @classmethod
    def of(cls, document: RunDocument, versions: dict[str, Version], name: str, store: Store) -> StoredAnalysis:
        """Make the analysis from a document. `versions` are the files of each source as the run read them."""
        session = SessionOnDemand(document.settings)
        jvm = cast("Jvm", JvmOnDemand(session))
        trace = document.stored.trace or TracePlan(unavailable_reason="the run has no trace plan")
        trace, reasons = relaxed(trace)
        settings = Settings(name, witness=document.witness)
        no_frame: Any = None
        more: dict[str, Any] = {"traced_by": trace, "reasons": reasons, "on_demand": session}
        return cls(no_frame, jvm, document.stored.plan, versions, settings, store, **more)

    @property
    def session(self) -> SparkSession:
        return cast("SparkSession", self.on_demand)

    @property
    def cuts(self) -> tuple[str, ...]:
        return (*super().cuts, *self.reasons)

    @cached_property
    def sizes(self) -> Sizes:
        return Sizes({})

    @cached_property
    def trace_plan(self) -> TracePlan:
        return self.traced_by
