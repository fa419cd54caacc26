"""Results that DuckDB recomputes from the files of the sources when a question needs them."""

from __future__ import annotations

from whence.rows import Attr, Limit, Operator, walk
from whence.rows.duck import DuckQuery
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import Saved
from whence.spark.sources.row_ids import local_files

AGAIN = 1 << 30  # bytes of files from which a question may compute a result that a run did not write


def cheap_to_recompute(saved: Saved) -> bool:
    """Whether a question can compute a result from the files in about a second, so that a run need not write it.

    A limit may take another one of equal rows each time.
    """
    found = duck_query(saved.operator, saved.columns)
    limited = any(isinstance(part, Limit) for part in walk(saved.operator))
    return found is not None and not limited and found.readable(found.columns) and found.size() <= AGAIN


def duck_query(operator: Operator, columns: tuple[Attr, ...], every: bool = False) -> DuckQuery | None:
    """What an operator gives as DuckDB computes it from the files of the sources; None if they are not files here."""
    files = {}
    for source in sources_of(operator):
        found = local_files(source)
        if found is None:
            return None
        files[source.occurrence] = found
    return DuckQuery(operator, files, columns, every=every)
