"""Pipelines as in notebooks: whether answers are right and precise, and how long inference and a question take.

It writes docs/reference/pipelines.md if it runs all pipelines.
"""

from __future__ import annotations

import sys
import warnings
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._common import Claim, Progress, check_size, claim, main, quiet, workspace

INFERENCE = 1.0  # seconds


def run(size: str = "small", progress: Progress = quiet) -> list[Claim]:
    """The pipelines of tests/pipelines: their lineage against that written by hand, and the time that it takes."""
    from bench._pipeline_page import PAGE, page
    from tests.pipelines.all_pipelines import PIPELINES
    from tests.pipelines.asking import SETTINGS, Report, asked
    from tests.pipelines.tables import write

    from whence.spark import local_session

    chosen = PIPELINES[:2] if check_size(size) == "tiny" else PIPELINES
    spark = local_session("local[2]", **SETTINGS)
    reports: list[Report] = []
    with workspace() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # advice of pandas API on Spark
        paths = write(folder)
        for piped in chosen:
            progress(piped.name)
            reports.append(asked(piped, spark, paths, 1 if size != "full" else 5))
    spark.stop()
    if len(reports) == len(PIPELINES):
        PAGE.write_text(page(reports))
    wrong = [each.name for each in reports if each.faults]
    table = [asdict(each) for each in reports]
    slowest = max(each.inference for each in reports)
    return [
        claim(
            f"pipelines whose lineage is wrong, of {len(reports)}",
            len(wrong),
            {"allowed": 1},
            unit="pipelines",
            at_most=0.5,
            true=not wrong,
            supersets={each.name: each.reasons for each in reports if each.reasons},
            table=table,
            paper="PredTrace: 70 of 70 right, 65 without saving",
        ),
        claim("inference for a pipeline, at most", slowest, {"allowed": INFERENCE}, unit="s", at_most=INFERENCE),
    ]


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the time of inference and of a question, one point for each pipeline."""
    import matplotlib.pyplot as plt

    table = claims[0]["table"]
    figure, axes = plt.subplots(figsize=(5, 4))
    axes.loglog([each["inference"] for each in table], [each["question"] for each in table], "o", alpha=0.7)
    axes.set_xlabel("inference (s)")
    axes.set_ylabel("a question (s)")
    directory.mkdir(parents=True, exist_ok=True)
    target = directory / "pipelines.png"
    figure.savefig(target, bbox_inches="tight")
    plt.close(figure)
    return [target]


if __name__ == "__main__":
    main(run, plot)
