"""Results that DuckDB recomputes from the source files when a question needs them."""

from __future__ import annotations

from whence.rows import Attr, Limit, Operator, walk
from whence.rows.duck import DuckQuery
from whence.rows.questions.restrict import sources as sources_of
from whence.rows.saving import Saved
from whence.spark.sources.row_ids import local_files

AGAIN = 1 << 30  # a question recomputes a result from at most this many bytes of files


def cheap_to_recompute(saved: Saved) -> bool:
    """Whether DuckDB can compute a result from the files in about a second, so that a run need not write it.

    A result with a limit cannot be recomputed: among equal rows, the limit may take another one each time.
    """
    found = duck_query(saved.operator, saved.columns)
    limited = any(isinstance(part, Limit) for part in walk(saved.operator))
    return found is not None and not limited and found.readable(found.columns) and found.size() <= AGAIN


def duck_query(operator: Operator, columns: tuple[Attr, ...], every: bool = False) -> DuckQuery | None:
    """The DuckDB query that computes an operator from the source files; None if they are not local files."""
    files = {}
    for source in sources_of(operator):
        found = local_files(source)
        if found is None:
            return None
        files[source.occurrence] = found
    return DuckQuery(operator, files, columns, every=every)
