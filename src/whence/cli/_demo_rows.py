"""The part of `whence demo` that runs on Spark: trace a row of a report backward and a customer forward."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whence.cli import _shop
from whence.cli._output import emit_table
from whence.cli._rows import counted, waiting
from whence.errors import MissingExtra

if TYPE_CHECKING:
    import pandas as pd

    from whence.log import Log
    from whence.spark.pipeline import Pipeline

T = TypeVar("T")
STORY = "story.html"
SHOWN_ROWS = 5
SMALL = {
    "spark.sql.shuffle.partitions": "2",  # for a few thousand rows
    # The demo runs for seconds: starting Java's second compiler and parallel collector would take as long as the rest.
    "spark.driver.extraJavaOptions": "-XX:+IgnoreUnrecognizedVMOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """One question to the pipeline: how many rows of a table it found, and whether pandas finds the same."""

    question: str
    table: str
    of: int
    count: int
    seconds: float
    brute_seconds: float
    agrees: bool


@dataclass(frozen=True, slots=True)
class Shop:
    """The results, for the report."""

    log: Path
    script: Path
    sources: dict[str, Path]
    plan: str
    report: list[tuple[Any, ...]]
    reports: int
    asked: dict[str, Any]
    customer: int
    precise: bool
    answers: list[Answer]
    story: str
    commit: str | None

    @property
    def agrees(self) -> bool:
        """Whether brute force gives the same answers."""
        return all(each.agrees for each in self.answers)

    def as_dict(self) -> dict[str, Any]:
        """Return this as a dictionary for JSON."""
        return {
            "log": str(self.log),
            "script": str(self.script),
            "sources": {name: str(path) for name, path in self.sources.items()},
            "asked": self.asked,
            "precise": self.precise,
            "story": str(self.log.parent / STORY),
            "commit": self.commit,
            "answers": [asdict(each) for each in self.answers],
        }


def run(where: Path) -> Shop:
    """Create the shop, run the report, ask the log, and check the answers."""
    out = where.parent
    import whence as wh
    from whence.spark.sessions.command import session
    from whence.spark.sessions.scripts import load

    for each in ("pyspark", "pandas"):
        if find_spec(each) is None:
            raise MissingExtra.of(each, "spark")
    made = _shop.tables()
    paths = _shop.write(made, out / "shop")
    script = out / "shop" / "report.sql"
    script.write_text(_shop.REPORT, encoding="utf-8")
    commit = _committed(out / "shop")
    every = _shop.joined(made)
    with waiting("Spark runs a report and is asked about it"), session(SMALL) as spark, wh.open(where) as log:
        loaded = load(spark, script, {name: str(path) for name, path in paths.items()})
        pipeline = log.pipeline(loaded.df, "report")
        rows = pipeline.run().orderBy("city", "month").collect()
        asked = {"city": rows[0]["city"], "month": rows[0]["month"]}
        precise, back, customer = _backward(pipeline, every, asked, made)
        forth = _forward(pipeline, every, customer, len(rows))
        if commit is not None:
            log.import_(f"git:{out / 'shop'}")
        across, story = _across(log, pipeline, every, asked, made, out / STORY)
        plan = str(pipeline.explain())
        pipeline.materialize()  # whoever opens the log later needs no Spark to ask about rows
    shown = [tuple(row) for row in rows[:SHOWN_ROWS]]
    answers = [*back, forth, across]
    return Shop(where, script, paths, plan, shown, len(rows), asked, customer, precise, answers, story, commit)


def _committed(directory: Path) -> str | None:
    """Commit the files of the shop to a new repository; return the commit, None without git."""
    git = shutil.which("git")
    if git is None:
        return None

    def run(*arguments: str) -> str:
        given = [git, "-C", str(directory), *arguments]
        return subprocess.run(given, capture_output=True, text=True, check=False).stdout.strip()

    run("init", "--quiet")
    run("add", "--all")
    run("-c", "user.name=whence demo", "-c", "user.email=demo@example.org", "-c", "commit.gpgsign=false",
        "commit", "--quiet", "--message", "The shop and its report")  # fmt: skip
    return run("rev-parse", "HEAD") or None


def _backward(
    pipeline: Pipeline, every: pd.DataFrame, asked: dict[str, Any], made: dict[str, dict[str, Any]]
) -> tuple[bool, list[Answer], int]:
    """Find the rows of each table that made a row of the report, and one of its customers."""
    lineage, asking = _timed(lambda: pipeline.backward(asked))
    expected, brute = _timed(lambda: _shop.contributed(every, asked))
    question = "backward " + ", ".join(f"{name} = {value}" for name, value in asked.items())
    answers = []
    customers: list[int] = []
    for name, keys in _shop.KEYS.items():
        # mypy infers no type for a default.
        found, seconds = _timed(lambda name=name, keys=keys: lineage[name].select(*keys).collect())  # type: ignore[misc]  # a lambda's default has no type
        agrees = sorted(map(tuple, found)) == sorted(expected[name])
        of = len(next(iter(made[name].values())))
        answers.append(Answer(question, name, of, len(found), asking + seconds, brute, agrees))
        if name == "customers":
            customers = sorted(row["id"] for row in found)
    return lineage.precise, answers, customers[0]


def _forward(pipeline: Pipeline, every: pd.DataFrame, customer: int, of: int) -> Answer:
    """Find the rows of the report that a customer contributed to."""
    found, seconds = _timed(lambda: pipeline.forward("customers", {"id": customer}).collect())
    expected, brute = _timed(lambda: _shop.reached(every, customer))
    agrees = sorted((row["city"], row["month"]) for row in found) == sorted(expected)
    return Answer(f"forward customer {customer}", "the report", of, len(found), seconds, brute, agrees)


def _across(
    log: Log,
    pipeline: Pipeline,
    every: pd.DataFrame,
    asked: dict[str, Any],
    made: dict[str, dict[str, Any]],
    path: Path,
) -> tuple[Answer, str]:
    """Trace a number that NumPy computed from the report to the cells of a CSV file, and save its story."""
    cents = pipeline.to_numpy(["cents"], name="cents")
    log.track(lambda cents: cents / 100, name="euros", names={"return": "euros"})(cents)
    row = int(log.forward("report", asked, to="euros").cells()[0, 0])
    answer, seconds = _timed(lambda: log.backward("euros", [(row, 0)], lineage="value"))
    expected, brute = _timed(lambda: _shop.summed(every, made["lines"], asked))
    found = {(int(line), int(column)) for line, column in answer["lines"].cells()}
    story = log.explain("euros", [(row, 0)], lineage="value")
    story.save(path)
    of = len(made["lines"]) * len(next(iter(made["lines"].values())))
    question = f"backward euros[{row}], in NumPy"
    asked_cells = Answer(
        question, "cells of lines", of, len(found), seconds, brute, answer.precise and found == expected
    )
    return asked_cells, str(story)


def _timed(run: Callable[[], T]) -> tuple[T, float]:
    start = time.perf_counter()
    found = run()
    return found, time.perf_counter() - start


def report(shop: Shop) -> None:
    """Print the results."""
    click.echo("A shop's customers, orders and order lines, joined, filtered and added up by Spark, city by month.\n")
    columns = ("city", "month", "orders", "cents")
    emit_table(columns, shop.report, numbers=columns[1:], aligned=True)
    click.echo(f"... {counted(shop.reports - len(shop.report))} more\n\nThe plan that was read:\n")
    click.echo(shop.plan)
    how = "exactly these" if shop.precise else "these, or some of them"
    click.echo(f"\nWhich rows made the report's first row? In which rows of the report is a customer? In {how}:\n")
    rows = [
        (
            each.question,
            each.table,
            f"{each.of:,}",
            f"{each.count:,}",
            f"{each.seconds:.2f} s",
            "the same" if each.agrees else "SOMETHING ELSE",
        )
        for each in shop.answers
    ]
    emit_table(
        ("question", "table", "rows", "found", "time", "pandas says"),
        rows,
        numbers=("rows", "found", "time"),
        aligned=True,
    )
    to_commit = ", and to the commit that it is in" if shop.commit is not None else ""
    click.echo(
        "\nThe last question began in NumPy, at a number made of the report, and went on through Spark to cells of"
    )
    click.echo(f"a CSV file{to_commit}. Its story:\n\n{shop.story}\n")
    click.echo(f"With picture: {shop.log.parent / STORY}")
    click.echo(f"The log:      {shop.log}")
    sources = " ".join(f"--source {path}" for path in shop.sources.values())
    asked = " ".join(f"--row {name}={value}" for name, value in shop.asked.items())
    click.echo(f"Ask yourself: whence pipeline {shop.script} {sources} {asked} --log {shop.log}")
