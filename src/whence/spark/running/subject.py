"""The subject of questions: the plan of a pipeline, and what a run of it saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from whence.rows.saving import ANNOTATED
from whence.spark.running.annotated import AnnotatedOutput
from whence.spark.running.artifacts import RunArtifacts
from whence.spark.tracing.matching import Matcher, RowSet

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Subject:
    """A plan at one time, and its known run, if there is one.

    `annotated` is the output of that run with the ids of source rows, if the run annotated its rows.
    """

    analysis: Analysis
    run: RunArtifacts | None = None
    annotated: AnnotatedOutput | None = None

    @classmethod
    def of(cls, analysis: Analysis, run: RunArtifacts | None) -> Subject:
        """Return the subject for a run.

        Annotated rows are read from files: a cache may be lost, and a second run could give another result.
        """
        if run is None or not run.annotated:
            return cls(analysis, run)
        table, output = run.results.get(ANNOTATED), run.output

        def rows() -> DataFrame:
            if table is not None:
                return Matcher(analysis.jvm).dataframe(RowSet(table.columns, table.files))
            assert output is not None
            return output

        tagged = analysis.annotated(analysis.settings.witness)
        return cls(analysis, run, AnnotatedOutput(tagged, rows, run.row_id, table))

    def output(self) -> DataFrame:
        """The rows that the run gave."""
        analysis = self.analysis
        if self.annotated is not None:
            return self.annotated.output(analysis.plan, analysis.df.columns, analysis.jvm)
        assert self.run is not None
        assert self.run.output is not None
        return self.run.output
