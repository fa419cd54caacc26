"""Answers in which some sources can no longer be read: questions about these raise an error, others work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from whence.spark.lineage import Answer, Lineage

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.errors import WhenceError
    from whence.rows import Source


def guarded(lineage: Lineage, lost: Mapping[str, WhenceError]) -> Lineage:
    """Return the lineage such that it raises an error for each lost source."""
    return lineage.answered_by(lambda answer: Guarded(answer, lost)) if lost else lineage


class Guarded:
    """An answer that raises an error for lost sources."""

    def __init__(self, answer: Answer, lost: Mapping[str, WhenceError]) -> None:
        self._answer, self._lost = answer, lost

    def dataframe(self, uses: list[Source], identity: bool) -> DataFrame:
        return self._asked(uses).dataframe(uses, identity)

    def arrow(self, uses: list[Source]) -> pa.Table:
        return self._asked(uses).arrow(uses)

    def identities(self, uses: list[Source]) -> pa.Table:
        return self._asked(uses).identities(uses)

    def some(self, uses: list[Source]) -> bool:
        return self._asked(uses).some(uses)

    def _asked(self, uses: list[Source]) -> Answer:
        error = self._lost.get(uses[0].name)
        if error is not None:
            raise error
        return self._answer
