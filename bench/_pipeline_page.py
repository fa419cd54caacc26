"""The page of docs/reference that `whence bench pipelines` writes."""

from __future__ import annotations

import os
import re
import statistics
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from tests.pipelines.asking import STAGES, Report
from tests.pipelines.counting import TABLE_7

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "pipelines.md"

_HEAD = """\
# Seventy-two pipelines

<!-- written by `whence bench pipelines` -->

These pipelines resemble those of notebooks: cleaning, imputing, encoding, ranking, sessions, cohorts, fuzzy joins,
text, leagues, turnstiles, surveys. They are in `tests/pipelines`, over small tables with missing values and ties. The
lineage of each was written by hand in pandas. `make test-pipelines` compares whence with it, backward and forward,
before a run, after a run, and in eager mode.
"""


def page(reports: Sequence[Report]) -> str:
    """Return the page for the reports of all pipelines."""
    return "\n".join((_HEAD, *_summary(reports), "", *_kinds(reports), "", *_table(reports), ""))


def _summary(reports: Sequence[Report]) -> list[str]:
    precise = sum(not each.reasons for each in reports)
    unsaved = sum(not each.saved for each in reports)
    wrong = sum(bool(each.faults) for each in reports)
    inference = [each.inference for each in reports]
    added = [each.run - each.plain for each in reports]
    question = [each.question for each in reports]
    return [
        "## Compared with PredTrace",
        "",
        "PredTrace's figures are from its paper (section 7.5), for other pipelines on another machine, in pandas.",
        "",
        "| | PredTrace | whence |",
        "|---|---|---|",
        f"| pipelines | 70 | {len(reports)} |",
        f"| wrong lineage | 0 | {wrong} |",
        f"| precise at every stage | 70 | {precise} |",
        f"| nothing saved by a run | 65 | {unsaved} |",
        f"| inference | below 1 s for most | median {_s(statistics.median(inference))}, at most {_s(max(inference))} |",
        f"| what a run adds | below 1 s | median {_s(statistics.median(added))}, at most {_s(max(added))} |",
        f"| a question | below 0.1 s for most, on small inputs | median {_s(statistics.median(question))}, "
        f"at most {_s(max(question))} |",
        "",
        f"Times are of one run each, on {os.cpu_count()} cores with a load of {os.getloadavg()[0]:.0f}. If the load is",
        "larger than the number of cores, they mean little. Most time of a run or question is the start of jobs.",
    ]


def _kinds(reports: Sequence[Report]) -> list[str]:
    counted = Counter(kind for each in reports for kind in each.kinds)
    return [
        "## Kinds of operators",
        "",
        "How many pipelines have a kind of operator, counted from Spark's analyzed plan, and in PredTrace's Table 7.",
        "",
        "| kind | PredTrace | whence |",
        "|---|---|---|",
        *(f"| {kind} | {count} | {counted[kind]} |" for kind, count in TABLE_7.items()),
    ]


def _table(reports: Sequence[Report]) -> list[str]:
    rows = [
        f"| {each.name} | {each.kind} | {each.operators} | {_precise(each)} | {_s(each.inference)} | "
        f"{_s(each.run - each.plain)} | {_s(each.question)} |"
        for each in reports
    ]
    head = "| pipeline | kind | operators | precise | inference | a run adds | a question |"
    return ["## All of them", "", head, "|---|---|---|---|---|---|---|", *rows]


def _precise(report: Report) -> str:
    if report.faults:
        return "**wrong**"
    if not report.reasons:
        return "yes"
    stages = [stage for stage in STAGES if stage in report.reasons]
    where = "" if len(stages) == len(STAGES) else f" ({', '.join(stages)})"
    why = re.sub(r"#\d+", "", report.reasons[stages[0]])  # ids of columns differ between runs
    return f"a superset{where}: {why}".replace("|", "/")


def _s(seconds: float) -> str:
    return f"{max(seconds, 0.0):.2f} s"
