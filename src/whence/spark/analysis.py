"""The plan of a pipeline at one time, and everything that is inferred from it without running it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from whence.errors import BadType
from whence.rows import TRUE, Operator, Source
from whence.rows.columns import ColumnLineage, columns
from whence.rows.determinism.clock import pin_time
from whence.rows.determinism.reasons import Cause
from whence.rows.duck import DuckQuery, count
from whence.rows.eager import WITNESSES, Tagged, eager
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import Sizes, TracePlan, trace_plan
from whence.spark.running.sizes import known_sizes
from whence.spark.sources.kind import Version
from whence.spark.sources.versions import require_unchanged
from whence.spark.tracing.nondeterminism import Nondeterminism
from whence.spark.tracing.recompute import AGAIN, cheap_to_recompute, duck_query
from whence.store.values import name_of

if TYPE_CHECKING:
    from datetime import datetime

    from pyspark.sql import DataFrame, SparkSession

    from whence.spark.catalyst.jvm import Jvm
    from whence.store import Store

MODES = ("lazy", "eager")
SAVES = ("auto", "always", "never")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options that the user chose for a pipeline."""

    name: str | None = None
    mode: str = "lazy"
    save: str = "auto"
    witness: str = "rows"

    def __post_init__(self) -> None:
        known = {"mode": MODES, "save": SAVES, "witness": WITNESSES}
        if self.name is not None:
            name_of(self.name, "pipeline")
        for what, choices in known.items():
            if getattr(self, what) not in choices:
                raise BadType(f"{what} is one of {', '.join(choices)}, not {getattr(self, what)!r}")


@dataclass(frozen=True, eq=False)
class Analysis:
    """The plan of a pipeline at one time. Each inference is computed when it is first used, and cached.

    A plan that calls `current_timestamp()` is a different plan at another time: `at(time)` returns a new object.
    """

    df: DataFrame
    jvm: Jvm
    unpinned_plan: Operator  # as read: `current_timestamp()` is still a call
    versions: Mapping[str, Version]  # the files of each source when the DataFrame was made
    settings: Settings
    store: Store | None = None
    time: datetime | None = None  # the time of the run, if the plan reads the clock
    _annotated: dict[str, Tagged] = field(default_factory=dict, init=False, repr=False)  # by witness

    def at(self, time: datetime) -> Analysis:
        """Return the same pipeline with `current_timestamp()` fixed to a time."""
        return replace(self, time=time)

    @property
    def session(self) -> SparkSession:
        """The session that the pipeline belongs to."""
        return self.df.sparkSession

    @cached_property
    def plan(self) -> Operator:
        """The operators, with the time as a literal if it is fixed."""
        if self.time is None:
            return self.unpinned_plan
        return pin_time(self.unpinned_plan, self.time, str(self.session.conf.get("spark.sql.session.timeZone")))

    @cached_property
    def sources(self) -> tuple[Source, ...]:
        """All uses of sources."""
        return sources_of(self.plan)

    @property
    def source_names(self) -> tuple[str, ...]:
        """The names of the sources, in the order of the plan."""
        return tuple(dict.fromkeys(each.name for each in self.sources))

    @property
    def cuts(self) -> tuple[str, ...]:
        """The cuts: leaves whose rows were computed outside of the plan."""
        return tuple(dict.fromkeys(each.cut for each in self.sources if each.cut))

    @property
    def name(self) -> str:
        """The name of the pipeline in the log."""
        return self.settings.name or "pipeline"

    @property
    def files(self) -> dict[str, list[list[Any]]]:
        """The sources with their files in the form of the log: name, size in bytes, time in milliseconds."""
        return {name: [list(each) for each in sorted(files)] for name, files in sorted(self.versions.items())}

    @cached_property
    def sizes(self) -> Sizes:
        """The number of rows of each operator: estimated, or measured by earlier runs in the log."""
        return known_sizes(self)

    @cached_property
    def trace_plan(self) -> TracePlan:
        """What a run saves, and how rows are traced with it."""
        found = trace_plan(self.plan, self.settings.witness, self.sizes)
        return found if self.settings.save == "always" else found.with_recomputed(cheap_to_recompute)

    @cached_property
    def nondeterminism(self) -> Nondeterminism:
        """Why another run may give another result."""
        return Nondeterminism(self.plan, self.jvm)

    @property
    def causes(self) -> tuple[Cause, ...]:
        """Why a run must annotate its rows; empty if it need not."""
        return self.nondeterminism.to_pin(picked=self.settings.save == "always")

    def annotated(self, witness: str) -> Tagged:
        """The plan that annotates each row with the ids of its source rows."""
        if witness not in self._annotated:
            self._annotated[witness] = eager(self.plan, witness)
        return self._annotated[witness]

    @cached_property
    def output_query(self) -> DuckQuery | None:
        """The DuckDB query that computes the output from the files, if there is one."""
        found = duck_query(self.plan, tuple(dict.fromkeys(self.plan.output)), every=True)
        return found if found is not None and found.readable(found.columns) and found.size() <= AGAIN else None

    def limits_are_clear(self) -> bool:
        """Whether every limit takes the same rows each time. DuckDB computes the output to find out."""
        return self._limits_are_clear

    @cached_property
    def _limits_are_clear(self) -> bool:
        return self.output_query is not None and count(self.output_query, TRUE) is not None

    def columns(self) -> dict[str, ColumnLineage]:
        """Return for each output column the source columns it comes from; a repeated name gets `#2`, `#3`."""
        found: dict[str, ColumnLineage] = {}
        for attr, lineage in columns(self.plan):
            name, number = attr.name, 1
            while name in found:
                number += 1
                name = f"{attr.name}#{number}"
            found[name] = lineage
        return found

    def require_unchanged(self) -> None:
        """Raise an error if the files of a source have changed since the DataFrame was made."""
        for source in self.sources:
            require_unchanged(source, self.versions[source.name], self.jvm)
