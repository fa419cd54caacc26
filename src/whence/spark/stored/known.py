"""Answers of which a part can no longer be looked up: it is an error for that source, and not for the others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whence.spark.lineage import Answer, Lineage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.errors import SourceChanged
    from whence.rows import Source


def guarded(lineage: Lineage, changed: Mapping[str, SourceChanged]) -> Lineage:
    """The lineage, which raises for a source that is no longer what it was."""
    return lineage.answered_by(lambda answer: Guarded(answer, changed)) if changed else lineage


class Guarded:
    """An answer about sources some of which have changed since the run."""

    def __init__(self, answer: Answer, changed: Mapping[str, SourceChanged]) -> None:
        self._answer, self._changed = answer, changed

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        return self._asked(uses).dataframe(uses, identity)

    def arrow(self, uses: list[Source]) -> pa.Table:
        return self._asked(uses).arrow(uses)

    def identities(self, uses: list[Source]) -> pa.Table:
        return self._asked(uses).identities(uses)

    def some(self, uses: list[Source]) -> bool:
        return self._asked(uses).some(uses)

    def _asked(self, uses: list[Source]) -> Answer:
        error = self._changed.get(uses[0].name)
        if error is not None:
            raise error
        return self._answer
