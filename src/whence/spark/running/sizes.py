"""The sizes of results: Catalyst's estimates for the sources, and measurements of earlier runs in the log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from whence.errors import WhenceError
from whence.rows.saving import Sizes
from whence.spark.running.fingerprint import digest, saved_at

if TYPE_CHECKING:
    from whence.spark.analysis import Analysis


def known_sizes(analysis: Analysis) -> Sizes:
    """Return the estimated rows of each source, and the rows that earlier runs measured."""
    found: dict[str, float] = {}
    for source in analysis.sources:
        origin: Any = source.origin
        width = max(1, sum(8 for _ in source.columns))
        found[source.name] = float(str(origin.stats().sizeInBytes())) / width
    return Sizes(found, _measured(analysis))


def _measured(analysis: Analysis) -> dict[str, int]:
    from whence.store.catalog import runs

    measured: dict[str, int] = {}
    if analysis.store is None:
        return measured
    try:
        earlier = runs.listed(analysis.store, analysis.name)
    except WhenceError:  # use estimates; a question that needs the log raises the error
        return measured
    for run in earlier:
        for saved in run.document.get("saved", ()):
            place = tuple(saved["place"])
            try:
                before, now = saved_at(analysis.unpinned_plan, place), saved_at(analysis.plan, place)
            except IndexError:  # the plan was different then
                continue
            if saved.get("operator") == digest(before):
                measured[str(now)] = int(saved["rows"])
    return measured
