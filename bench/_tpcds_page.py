"""The page of docs/reference that `make test-tpcds` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_HEAD = """\
# TPC-DS

<!-- written by bench/tpcds_coverage.py -->

The 99 queries of TPC-DS at scale {scale:g}, with data of DuckDB's generator. At that scale a third of the queries
have no output; `bench/_tpcds_parameters.py` changes some data and constants so that they do. For each query, the
output with row ids is compared with that of the plain query, and the lineage of a row from `Pipeline.backward` with
the ids. "By predicates" means that pushed-down predicates alone select the lineage; "by replay" means that the
pipeline runs again on the rows that they select. `make test-tpcds` checks all queries.

| query | rows | plan read | inference | answered | lineage |
|---|---|---|---|---|---|
"""


def page(reports: Sequence[Mapping[str, Any]], scale: float) -> str:
    """Return the page for some or all queries."""
    rows = [
        f"| {each['query']} | {each['rows']} | {each['read']:.2f} s | {each['infer']:.3f} s | "
        f"{'by predicates' if each['precise'] else 'by replay'} | {_verdict(each)} |"
        for each in sorted(reports, key=lambda each: str(each["query"]))
    ]
    right = sum(not each["trouble"] for each in reports)
    marked = sum(bool(each["reason"]) for each in reports)
    slowest = max(each["infer"] for each in reports)
    counts = f"Checked: {len(reports)} of 99; right: {right}; marked as a superset: {marked}."
    foot = ["", f"{counts} Inference takes at most {slowest:.2f} s.", ""]
    return _HEAD.format(scale=scale) + "\n".join([*rows, *foot])


def _verdict(report: Mapping[str, Any]) -> str:
    if report["trouble"]:
        return "**wrong**: " + "; ".join(report["trouble"]).replace("|", "/")
    return f"a superset: {report['reason']}".replace("|", "/") if report["reason"] else "right"
