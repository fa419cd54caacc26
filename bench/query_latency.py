"""Time to answer a question along a chain of operations, against joins of the same lineage."""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench import _workflows
from bench._asking import Manner, Question, asked, put
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet
from bench._ours import Log, Relations
from bench._workflows import Workflow
from bench.baselines.systems import BACKWARD, BASELINES, FORWARD, THREADS

OTHERS = tuple(kind.name for kind in BASELINES)
PARQUET = ("Parquet", "Parquet-GZip")  # the target is for DuckDB on Parquet; but no other system may be faster either
REGULAR_MS = 10.0  # for 100,000 cells over ten regular steps


@dataclass(frozen=True)
class Scale:
    """The sizes of the workflows, and how to ask."""

    frame: tuple[int, int]
    image: int
    titles: int
    channels: int
    side: int
    cells: int
    chains: int
    tuples: int
    manner: Manner
    target: float  # of the fixed workflows; on small tables, DuckDB needs most of its time to start a statement


SCALES = {
    "tiny": Scale((36, 64), 20, 300, 2, 6, 400, 1, 10_000, Manner((0.0, 0.1), 20, 1), 1.0),
    "small": Scale((360, 640), 208, 12_000, 8, 28, 100_000, 2, 1_000_000, Manner((0.0, 0.001, 0.1, 1.0), 30, 3), 100.0),
    "full": Scale((720, 1280), 416, 300_000, 16, 56, 100_000, 20, 6_000_000,
                  Manner((0.0, 1e-4, 0.001, 0.01, 0.1, 1.0), 600, 5), 1000.0),
}  # fmt: skip
REGULAR_SIDES = {"tiny": (20, 10), "small": (500, 400), "full": (500, 400)}  # half of the cells are in the question

UP_TO_1500 = "up to 1500x the next best; slower on the most selective questions of the image workflow"
UP_TO_20 = "up to 20x the next best"


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Time to answer a question along a chain of operations, against joins of the same lineage."""
    say = progress or quiet
    scale = SCALES[check_size(size)]
    claims: list[Claim] = []
    fixed: list[tuple[str, Callable[[], Workflow]]] = [
        ("image workflow", lambda: _workflows.image(scale.frame, scale.image)),
        ("relational workflow", lambda: _workflows.relational(scale.titles)),
        ("ResNet workflow", lambda: _workflows.resnet(scale.channels, scale.side)),
    ]
    for name, make in fixed:
        say(f"query latency: {name}")
        claims += judged(name, asked(make(), scale.manner), scale.target, UP_TO_1500)
    for length in (5, 10):
        questions: list[Question] = []
        for number in range(scale.chains):
            workflow = _workflows.random_chain(length, scale.cells, scale.tuples, seed=100 * length + number)
            say(f"query latency: {workflow.name}")
            questions += asked(workflow, scale.manner)
        claims += judged(f"random chains of {length}", questions, 100.0, UP_TO_20)
    say("query latency: ten regular steps")
    return [*claims, regular(*REGULAR_SIDES[size], scale.manner)]


def ratio(times: dict[str, float], against: Collection[str] = OTHERS, ours: str = Relations.name) -> float:
    """Return the best time of these systems divided by ours, for one question."""
    return min(times[name] for name in against) / times[ours]


def medians(questions: Sequence[Question]) -> dict[str, float]:
    """Return the median of each system's warm times."""
    return {name: statistics.median(question.warm[name] for question in questions) for name in questions[0].warm}


def judged(name: str, questions: Sequence[Question], target: float, paper: str) -> list[Claim]:
    """Return the claims about one workflow, or about a set of random ones: both directions count equally."""
    times = medians(questions)
    by_direction = {
        direction: statistics.median(ratio(each.warm, PARQUET) for each in questions if each.direction == direction)
        for direction in (FORWARD, BACKWARD)
    }
    claims = [claim(
        f"{name}: median question", times[Relations.name], others(times), unit="ms", against=PARQUET, at_least=target,
        ratio=statistics.median(ratio(each.warm, PARQUET) for each in questions), true=right(questions), paper=paper,
        threads=THREADS, questions=[told(question) for question in questions],
        **{f"median ratio {direction}": found for direction, found in by_direction.items()},
    )]  # fmt: skip
    worst = min(questions, key=lambda question: ratio(question.warm))
    claims.append(claim(
        f"{name}: the question where a baseline comes closest", worst.warm[Relations.name], others(worst.warm),
        unit="ms", true=right(questions), question=told(worst),
    ))  # fmt: skip
    log = min(questions, key=lambda question: ratio(question.warm, PARQUET, Log.name))
    claims.append(claim(
        f"{name}: the same through a log, closest question", log.warm[Log.name], others(log.warm), unit="ms",
        against=PARQUET, true=right(questions), question=told(log),
    ))  # fmt: skip
    cold = min((each for each in questions if each.cold), key=lambda question: ratio(question.cold))
    claims.append(claim(
        f"{name}: cold, closest question", cold.cold[Relations.name], others(cold.cold), unit="ms",
        true=right(questions), question=told(cold),
    ))  # fmt: skip
    return claims


def others(times: dict[str, float]) -> dict[str, float | None]:
    """Return the baselines' times."""
    return {name: times[name] for name in OTHERS}


def right(questions: Sequence[Question]) -> bool:
    """Whether every system gave the same cells on every question."""
    return not any(question.wrong for question in questions)


def told(question: Question) -> dict[str, Any]:
    """Return a question as a dictionary for the results."""
    found: dict[str, Any] = {
        "workflow": question.workflow, "direction": question.direction, "cells": question.cells,
        "box": [list(bounds) for bounds in question.box], "warm": question.warm, "cold": question.cold,
        "answer": 0 if question.answer is None else len(question.answer),
    }  # fmt: skip
    if question.wrong:
        found["wrong"] = question.wrong
    if question.stopped:
        found["stopped at the limit"] = question.stopped
    return found


def regular(rows: int, columns: int, manner: Manner) -> Claim:
    """Ask about half of the cells, in one box, over ten regular steps."""
    question = Question("regular", FORWARD, ((rows // 4, rows // 4 + rows // 2 - 1), (0, columns - 1)))
    put(_workflows.regular(rows, columns), [question], manner)
    return claim(
        f"{question.cells:,} cells over ten regular steps", question.warm[Relations.name], others(question.warm),
        unit="ms", at_most=REGULAR_MS, true=right([question]), question=told(question),
    )  # fmt: skip


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw median times as dots, and times by the share of cells for each workflow."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    median = [row for row in claims if row["name"].endswith("median question")]
    drawn = [dots(median, directory / "query-latency.png", "Median time of a question", "ms")]
    figure, every = plt.subplots(2, len(median), figsize=(4.5 * len(median), 8), layout="constrained", squeeze=False)
    for column, row in zip(every.T, median, strict=True):
        for axes, direction in zip(column, (FORWARD, BACKWARD), strict=True):
            own = [question for question in row["questions"] if question["direction"] == direction]
            for system in (*OTHERS, Log.name, Relations.name):
                points = sorted((question["cells"], question["warm"][system]) for question in own)
                style = {"color": "black", "zorder": 3} if system == Relations.name else {}
                axes.scatter(*zip(*points, strict=True), s=14, label=system, **style)
            axes.set(xscale="log", yscale="log", xlabel="cells asked", ylabel="ms")
            axes.set_title(f"{row['name'].removesuffix(': median question')}, {direction}", fontsize="medium")
            axes.grid(alpha=0.3)
    figure.legend(*every[0][0].get_legend_handles_labels(), loc="outside lower center", ncols=8)
    path = directory / "query-latency-by-cells.png"
    figure.savefig(path, dpi=120)
    plt.close(figure)
    return [*drawn, path]


if __name__ == "__main__":
    main(run, plot)
