"""Lineage of rows of TPC-H on Spark: what a run costs more, what it saves, and how long a question takes."""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench import _tpch
from bench._common import Claim, Progress, check_size, claim, dots, main, quiet, workspace

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

    from whence.log import Log
    from whence.spark.lineage import Lineage
    from whence.spark.pipeline import Pipeline

NUMBERS = tuple(f"q{number:02}" for number in range(1, 23))


@dataclass(frozen=True)
class Scale:
    """The scale factor, the queries, how often each is run, and how many of its rows are in questions."""

    factor: float
    queries: tuple[str, ...]
    runs: int
    rows: int


SCALES = {
    "tiny": Scale(0.01, ("q03", "q12"), 1, 1),
    "small": Scale(0.1, NUMBERS, 2, 3),
    "full": Scale(1.0, NUMBERS, 3, 5),
}
PAPER = {
    "added": "10.35% on Q1, 3, 10, 12 (PostgreSQL); Smoke 14.5%; Titian 25-60%",
    "saved": "4.5 MB average, 34 MB at most; Panda 5.6 MB",
    "asking": "226.6 ms average, 2254 ms at most; GProM 22 s, Trace 1.3 s",
    "inference": "< 1 s",
    "without": "6.6% false positives, 3852 ms; naive pushdown 70.7%",
}


@dataclass
class Measured:
    """One query. Times are in seconds; `always` and `saved` belong to a run that saves everything."""

    name: str
    plain: float = 0.0
    ours: float = 0.0
    first: float = 0.0  # additional time of a run that the log does not know yet
    always: float = 0.0
    inference: float = 0.0
    saved: int = 0
    written: int = 0  # bytes that a run saves by default
    asking: list[float] = field(default_factory=list)  # which rows
    looking: list[float] = field(default_factory=list)  # the same with the results of a run that saves everything
    reading: list[float] = field(default_factory=list)  # and the contents of the rows
    how: str = ""
    precise: bool = True
    eager: float | None = None
    rewritten: float | None = None
    replay: float | None = None
    extra: float | None = None  # the share of rows beyond the lineage that pushdown without saving returns
    large: int = 0  # bytes of the same results with all columns


def run(size: str = "small", progress: Progress | None = None) -> list[Claim]:
    """Lineage of rows of TPC-H on Spark: what a run costs more, what it saves, and how long a question takes."""
    say, scale = progress or quiet, SCALES[check_size(size)]
    with workspace() as place, _session(place) as spark:
        say(f"TPC-H at scale factor {scale.factor:g}")
        _tpch.register(spark, _tpch.make(place / "data", scale.factor))
        found = []
        for name in scale.queries:
            found.append(_measure(name, spark, place, scale))
            say(_line(found[-1]))
    return _claims(found, size)


def _measure(name: str, spark: SparkSession, place: Path, scale: Scale) -> Measured:
    import whence as wh

    text, out = _tpch.query(name, scale.factor), Measured(name)
    spark.sql(text).collect()  # warm up
    plain, ours, always = [], [], []
    with wh.open(place / f"{name}.whence") as log:
        pipeline = saving = log.pipeline(spark.sql(text), name=name)
        rows: list[Row] = []
        for _ in range(scale.runs):
            spark.catalog.clearCache()  # cached results of a run would answer the plain query
            plain.append(_timed(lambda: spark.sql(text).collect())[0])
            out.inference, pipeline = _timed(_planned, log, spark.sql(text), name, "auto")
            spent, rows = _timed(_collected, pipeline)
            ours.append(spent)
            spark.catalog.clearCache()
            _, saving = _timed(_planned, log, spark.sql(text), f"{name} saved", "always")
            always.append(_timed(_collected, saving)[0])
        out.plain, out.ours, out.always = min(plain), min(ours), min(always)
        out.first = ours[0] / plain[0] - 1
        out.saved, out.written = _saved(saving), _saved(pipeline)
        chosen = rows[:: max(1, len(rows) // scale.rows)][: scale.rows]
        if chosen:
            _identify(pipeline, chosen[0])  # warm up: files are opened and verified once
            _identify(saving, chosen[0])
        for row in chosen:
            spent, answer = _timed(_identify, pipeline, row)
            out.asking.append(spent)
            out.looking.append(_timed(_identify, saving, row)[0])
            out.reading.append(_timed(_ask, pipeline, row)[0])
            out.how, out.precise = answer.how, out.precise and answer.precise
        if chosen:
            _baselines(out, spark, log, text, pipeline, saving, chosen[0], place)
    return out


def _planned(log: Log, df: DataFrame, name: str, save: str) -> Pipeline:
    """Return the pipeline, with its plan read and its trace plan made."""
    made = log.pipeline(df, name=name, save=save)
    assert made.trace_plan is not None
    return made


def _baselines(
    out: Measured,
    spark: SparkSession,
    log: Log,
    text: str,
    pipeline: Pipeline,
    saving: Pipeline,
    row: Row,
    place: Path,
) -> None:
    from whence.rows.pushdown import infer
    from whence.rows.questions.rows import asked_rows, predicate
    from whence.spark.tracing.matching import Matcher
    from whence.spark.tracing.results import source_table

    eager = log.pipeline(spark.sql(text), mode="eager")
    out.eager, _ = _timed(_collected, eager)
    expected = _contents(_ask(eager, row)[1])
    spark.catalog.clearCache()
    never = log.pipeline(spark.sql(text), save="never")
    out.replay = _timed(_identify, never, row)[0]
    out.precise = out.precise and all(_contents(_ask(each, row)[1]) == expected for each in (pipeline, saving, never))
    question = predicate(asked_rows(pipeline.plan.output, row))
    inference = infer(pipeline.plan, question)
    engine, superset, exact = Matcher(pipeline.analysis.jvm), 0, 0
    for source in _first_uses(pipeline):
        clauses = [(inference.lineage[use.occurrence], use) for use in _uses(pipeline, source.name)]
        if len(clauses) == 1:
            superset += engine.arrow(engine.matching(source_table(source), (clauses[0][0], None))).num_rows
            exact += expected[source.name][0]
    out.extra = (superset - exact) / superset if superset else 0.0
    out.large = _unprojected(saving, place)
    if out.name in _tpch.REWRITTEN:
        key, column = _tpch.REWRITTEN_KEYS[out.name]
        rewritten = spark.sql(_tpch.REWRITTEN[out.name])
        out.rewritten, _ = _timed(lambda: rewritten.where(rewritten[key] == row[column]).toArrow())


def _identify(pipeline: Pipeline, row: Row) -> Lineage:
    """Find which rows of every source are in the lineage of a row."""
    answer = pipeline.backward(row)
    for name in answer:
        answer.identities(name)
    return answer


def _ask(pipeline: Pipeline, row: Row) -> tuple[Any, dict[str, Any]]:
    """Return the lineage of a row, completely in memory."""
    answer = pipeline.backward(row)
    return answer, {name: answer.arrow(name) for name in answer}


def _contents(tables: dict[str, Any]) -> dict[str, tuple[int, int]]:
    """Return the number of rows of each table, and a sum of their hashes, which does not depend on their order."""
    import duckdb

    found = {}
    with duckdb.connect() as connection:
        for name, table in tables.items():
            connection.register("rows", table.rename_columns([f"c{index}" for index in range(table.num_columns)]))
            ((count, total),) = connection.execute("SELECT count(*), sum(hash(rows)::HUGEINT) FROM rows").fetchall()
            found[name] = (int(count), int(total or 0))
    return found


def _uses(pipeline: Pipeline, name: str) -> list[Any]:
    from whence.rows.questions.restrict import sources

    return [each for each in sources(pipeline.plan) if each.name == name]


def _first_uses(pipeline: Pipeline) -> Iterator[Any]:
    return (_uses(pipeline, name)[0] for name in pipeline.sources)


def _saved(pipeline: Pipeline) -> int:
    from whence.rows.saving import OUTPUT

    assert pipeline.artifacts is not None
    results = pipeline.artifacts.results.items()
    return sum(Path(path).stat().st_size for place, result in results if place != OUTPUT for path in result.paths)


def _unprojected(pipeline: Pipeline, place: Path) -> int:
    """Return the bytes of the same results with all their columns, as Spark writes them."""
    from whence.rows.saving import operator_at
    from whence.spark.catalyst.frames import frame

    total = 0
    for number, each in enumerate(pipeline.trace_plan.saved):
        rows = frame(operator_at(pipeline.plan, each.place), pipeline.analysis.jvm)
        folder = place / f"{pipeline.analysis.name}-all-{number}"
        rows.toDF(*(f"c{index}" for index in range(len(rows.columns)))).write.parquet(f"file://{folder}")
        total += sum(path.stat().st_size for path in folder.glob("*.parquet"))
    return total


def _collected(pipeline: Pipeline) -> list[Row]:
    return pipeline.run().collect()


def _timed(work: Callable[..., Any], *args: Any) -> tuple[float, Any]:
    start = time.perf_counter()
    result = work(*args)
    return time.perf_counter() - start, result


@contextmanager
def _session(place: Path) -> Iterator[SparkSession]:
    from whence.spark import local_session

    spark = local_session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": "4",
            "spark.driver.memory": "6g",
            "spark.driver.host": "127.0.0.1",
            "spark.log.level": "ERROR",
            "spark.sql.warehouse.dir": str(place / "warehouse"),
            "spark.ui.enabled": "false",
        },
    )
    try:
        yield spark
    finally:
        spark.stop()


def _line(one: Measured) -> str:
    asking, looking, reading = (
        statistics.median(times) * 1e3 if times else float("nan") for times in (one.asking, one.looking, one.reading)
    )
    return (
        f"{one.name}: {one.plain:.2f} s, with lineage {one.ours:.2f} s ({one.written / 1e6:.2f} MB saved), saving all "
        f"{one.always:.2f} s ({one.saved / 1e6:.2f} MB); inferred in {one.inference * 1e3:.0f} ms; "
        f"rows found in {asking:.0f} ms ({looking:.0f} with all saved), read in {reading:.0f} ms; "
        f"eager {one.eager or float('nan'):.2f} s, without a run {one.replay or float('nan'):.2f} s"
        f"{'' if one.precise else ', NOT PRECISE'}"
    )


def _claims(found: list[Measured], size: str) -> list[Claim]:
    """Return the claims about the targets, and about each query."""
    asked = [one for one in found if one.asking]
    exact = all(one.precise for one in found)
    added = statistics.mean(one.ours / one.plain - 1 for one in found)
    saving = statistics.mean(one.always / one.plain - 1 for one in found)
    eager = [one for one in asked if one.eager is not None]
    ratio = [statistics.median(one.asking) / one.plain for one in asked]
    reading = [statistics.median(one.reading) / one.plain for one in asked]
    out = [
        claim(
            "queries without precise lineage", float(sum(not one.precise for one in found)), {"GProM (paper)": 2.0},
            unit="queries", at_most=0.5, true=exact, paper="22 of 22; GProM 20, Trace 12, Panda 5",
        ),
        claim(
            "time added to a run, on average", 100 * added,
            {"eager": 100 * statistics.mean(one.eager / one.plain - 1 for one in eager if one.eager)},
            unit="%", at_most=5.0, true=exact, paper=PAPER["added"],
        ),
        claim(
            "time added to the first run of a pipeline, on average", 100 * statistics.mean(one.first for one in found),
            {"eager": 100 * statistics.mean(one.eager / one.plain - 1 for one in eager if one.eager)},
            unit="%", true=exact, paper=PAPER["added"],
        ),
        claim(
            "time added to a run that saves all it may, on average", 100 * saving,
            {"eager": 100 * statistics.mean(one.eager / one.plain - 1 for one in eager if one.eager)},
            unit="%", true=exact, paper=PAPER["added"],
        ),
        claim(
            "saved by a run that saves all it may, on average", statistics.mean(one.saved for one in found) / 1e6,
            {"PredTrace (paper)": 4.5, "all columns": statistics.mean(one.large for one in found) / 1e6},
            unit="MB", at_most=3.0, true=exact, paper=PAPER["saved"],
        ),
        claim(
            "a question, which rows: median", 1e3 * statistics.median(time for one in asked for time in one.asking),
            {"with all saved": 1e3 * statistics.median(time for one in asked for time in one.looking),
             "eager": 1e3 * statistics.median(one.eager for one in eager if one.eager),
             "without a run": 1e3 * statistics.median(one.replay for one in eager if one.replay)},
            unit="ms", at_most=100.0, true=exact, paper=PAPER["asking"],
        ),
        claim(
            "a question, which rows: share of the pipeline's time, average", 100 * statistics.mean(ratio),
            {"running it again": 100.0}, unit="%", at_most=10.0, true=exact, paper=PAPER["asking"],
        ),
        claim(
            "a question, which rows: share of the pipeline's time, worst", 100 * max(ratio),
            {"running it again": 100.0}, unit="%", at_most=100.0, true=exact, paper=PAPER["asking"],
        ),
        claim(
            "a question, with all that the rows hold: share of the pipeline's time, average",
            100 * statistics.mean(reading), {"running it again": 100.0}, unit="%", at_most=100.0, true=exact,
            paper=PAPER["asking"], median_ms=1e3 * statistics.median(time for one in asked for time in one.reading),
        ),
        claim(
            "inference, slowest", max(one.inference for one in found), {"PredTrace (paper)": 1.0}, unit="s",
            at_most=1.0, true=exact, paper=PAPER["inference"],
        ),
        claim(
            "a question without a run: share of the pipeline's time, average",
            100 * statistics.mean(one.replay / one.plain for one in eager if one.replay),
            {"eager": 100 * statistics.mean(one.eager / one.plain for one in eager if one.eager)},
            unit="%", at_most=100.0, true=exact, paper=PAPER["without"],
            naive_false_positives=statistics.mean(one.extra for one in eager if one.extra is not None),
        ),
    ]  # fmt: skip
    out += [
        claim(
            f"a question to {one.name}, against rewriting as GProM does",
            1e3 * statistics.median(one.asking),
            {"rewritten": 1e3 * one.rewritten},
            unit="ms",
            true=one.precise,
        )
        for one in asked
        if one.rewritten is not None
    ]
    for row in out:
        row["size"] = size
        row["queries"] = [asdict(one) for one in found]
    return out


def plot(claims: list[Claim], directory: Path) -> list[Path]:
    """Draw the claims as one picture."""
    return [dots(claims, directory / "rows.png", "Rows of TPC-H on Spark", "ms, MB, s or %: see each claim")]


if __name__ == "__main__":
    main(run, plot)
