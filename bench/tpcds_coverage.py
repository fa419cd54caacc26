"""All 99 queries of TPC-DS: is the plan read, is its lineage inferred in time, and is it right?

    python bench/tpcds_coverage.py --data DIRECTORY [--python PYTHON] [--scale 0.01] [--only 1,64]
        [--json FILE] [--page FILE] [--documents]

For each query, it checks that the plan is read; that `infer` is fast enough; that the plan with row ids has the output
of the plain one; that the lineage of some output rows, from `Pipeline.backward`, is that of the plan with ids; that the
predicates select exactly these rows if `infer` says that they are precise; and that the plan over the lineage alone
gives the row again, unless an operator prevents it. The plan and its trace plan must be the same after a run's document
is written and read. With `--documents` nothing else is checked, which takes a second or two for each query. The data is
made once, by `_tpcds_data.py` in a Python that has DuckDB's extension. The JSON file keeps its results for other
queries, so that the 99 queries may be checked in several runs. The exit status is 1 if anything is wrong, or a query
has no output.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # so that `python bench/NAME.py` finds `bench`
from bench._tpcds_page import page

from whence.errors import WhenceError
from whence.rows import Aggregate, Attr, Expr, Limit, Operator, Window, walk
from whence.rows.determinism.reasons import unpinned
from whence.rows.pushdown import infer
from whence.rows.questions.restrict import sources
from whence.rows.questions.rows import predicate
from whence.spark import local_session
from whence.spark.catalyst.frames import frame
from whence.spark.catalyst.plan import Plan, read
from whence.spark.pipeline import Pipeline
from whence.testing.rows import AnnotatedRow, IdSets, annotated, over_only, same_value, selected, stored_faults, united

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ASKED = 1  # output rows of each query in questions


@dataclass
class Report:
    """The results for one query."""

    query: str
    read: float = 0.0
    infer: float = 0.0
    rows: int = 0
    precise: bool = False  # whether the predicates alone give the lineage
    answered: int = 0
    again: str = ""  # whether the lineage alone reproduces the row
    reason: str = ""  # why an answer is a superset
    trouble: list[str] = field(default_factory=list)


def checked(spark: SparkSession, path: Path, documents: bool = False) -> Report:
    """Check everything about one query, or only its document."""
    report = Report(path.stem)
    text = path.read_text()
    df = spark.sql(text)
    start = time.perf_counter()
    plan = read(df)
    report.read = time.perf_counter() - start
    report.trouble += [f"its document: {each}" for each in stored_faults(plan.root)]
    if documents:
        return report
    start = time.perf_counter()
    inference = infer(plan.root)
    report.infer, report.precise = time.perf_counter() - start, inference.precise
    rows = annotated(plan)
    report.rows = len(rows)
    if rounded(row.values for row in rows) != rounded(map(tuple, df.collect())):
        _without_limit(spark, text, report)
    if rows:
        _asked(plan, df, rows, report)
    return report


def _without_limit(spark: SparkSession, text: str, report: Report) -> None:
    """Check whether outputs differ only because of ties at the limit."""
    whole = re.sub(r"\blimit\s+\d+\s*;?\s*$", "", text.strip(), flags=re.IGNORECASE)
    df = spark.sql(whole)
    if whole == text.strip() or rounded(row.values for row in annotated(read(df))) != rounded(map(tuple, df.collect())):
        report.trouble.append("the output with ids is another")


def _asked(plan: Plan, df: DataFrame, rows: list[AnnotatedRow], report: Report) -> None:
    pipeline = Pipeline(df)
    # A floating-point sum may differ in its last digits between runs, so it is not part of the question.
    chosen = [i for i, attr in enumerate(plan.root.output) if attr.dtype not in ("float", "double")]
    again: list[bool] = []
    for row in rows[:: max(1, len(rows) // ASKED)][:ASKED]:
        question = tuple((plan.root.output[i], row.values[i]) for i in chosen)
        alike = [each for each in rows if all(same_value(each.values[i], row.values[i]) for i in chosen)]
        expected = united(alike)
        try:
            _compare(plan, pipeline, question, expected, report)
        except WhenceError as error:
            report.trouble.append(f"{type(error).__name__}: {error}")
        if len(again) < 1:
            made = frame(over_only(plan, expected), plan.jvm).collect()
            again.append(rounded([row.values])[0] in rounded(map(tuple, made)))
    free = not any(isinstance(part, Window) or _skips(part) for part in walk(plan.root)) and _depth(plan.root) < 2
    report.again = "yes" if all(again) else "no" if free else "not monotone"
    if report.again == "no":
        report.trouble.append("the lineage alone does not give the row again")


def _compare(plan: Plan, pipeline: Pipeline, question: Any, expected: IdSets, report: Report) -> None:
    lineage = pipeline.backward({attr.name: value for attr, value in question} if _named(question) else _row(question))
    wanted: dict[str, set[int]] = {}
    for source in sources(plan.root):
        wanted.setdefault(source.name, set()).update(expected[source.occurrence])
    unsteady = bool(unpinned(plan.root))
    report.reason = lineage.reason or report.reason
    for name, held_ids in wanted.items():
        ids = frozenset(held_ids)
        found = {each["_row"] for each in lineage.identified(name).select("_row").collect()}
        if found != ids and lineage.precise and not unsteady:
            report.trouble.append(f"{name}: {len(found)} rows instead of {len(ids)}")
        if not ids <= found and not unsteady:
            report.trouble.append(f"{name}: {len(ids - found)} rows are missing")
    asked: Expr = predicate((question,))
    inference = infer(plan.root, asked)
    (held,) = selected(plan, [inference.lineage])
    for number, ids in expected.items():
        if inference.precise and held[number] != ids:
            report.trouble.append(f"use {number}: the predicate holds for {len(held[number])} rows, not {len(ids)}")
        elif not ids <= held[number]:
            report.trouble.append(f"use {number}: the predicate loses {len(ids - held[number])} rows")
    report.answered += 1
    report.precise = report.precise and inference.precise


def _named(question: tuple[tuple[Attr, Any], ...]) -> bool:
    names = [attr.name.lower() for attr, _ in question]
    return len(set(names)) == len(names)


def _row(question: tuple[tuple[Attr, Any], ...]) -> tuple[Any, ...]:
    return tuple(value for _, value in question)


def _skips(part: object) -> bool:
    return isinstance(part, Limit) and part.offset is not None


def _depth(plan: Operator) -> int:
    """Return how many aggregates are nested."""
    below = max(map(_depth, plan.children), default=0)
    return below + (isinstance(plan, Aggregate) and bool(plan.calls))


def rounded(rows: Any) -> list[str]:
    """Return rows without order, with floating-point numbers rounded so that the order of addition does not matter."""

    def shown(value: Any) -> str:
        if isinstance(value, float):
            return f"{value:.9g}"
        return str(value.normalize()) if isinstance(value, Decimal) else repr(value)

    return sorted("|".join(map(shown, row)) for row in rows)


def session() -> SparkSession:
    """Return a session for small tables: few partitions, and no time for compiling."""
    return local_session(
        "local[2]",
        **{
            "spark.sql.shuffle.partitions": "2",
            "spark.default.parallelism": "2",
            "spark.driver.memory": "3g",
            "spark.driver.host": "127.0.0.1",
            "spark.log.level": "ERROR",
            "spark.sql.adaptive.enabled": "false",
            "spark.sql.codegen.wholeStage": "false",
            "spark.sql.codegen.factoryMode": "NO_CODEGEN",
            "spark.sql.ansi.doubleQuotedIdentifiers": "true",
        },
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n")[0])
    parser.add_argument("--data", type=Path, required=True, help="where the tables and queries are, or are to be made")
    parser.add_argument("--python", default=sys.executable, help="a Python that has DuckDB and its TPC-DS extension")
    parser.add_argument("--scale", type=float, default=0.01)
    parser.add_argument("--only", help="numbers of queries, with commas between")
    parser.add_argument("--json", type=Path, help="what was found; known queries of an earlier run stay in it")
    parser.add_argument("--page", type=Path, help="the same as a page of the documentation")
    parser.add_argument("--documents", action="store_true", help="check only that stored plans are the same")
    options = parser.parse_args()
    if not (options.data / "q99.sql").exists():
        maker = Path(__file__).with_name("_tpcds_data.py")
        subprocess.run([options.python, str(maker), str(options.data), str(options.scale)], check=True)
    spark = session()
    for path in options.data.glob("*.parquet"):
        spark.read.parquet(str(path)).createOrReplaceTempView(path.stem)
    numbers = [int(each) for each in options.only.split(",")] if options.only else range(1, 100)
    reports = []
    known: dict[str, dict[str, Any]] = {}
    if options.json and options.json.exists():
        known = {each["query"]: each for each in json.loads(options.json.read_text())}
    for number in numbers:
        path = options.data / f"q{number:02}.sql"
        try:
            report = checked(spark, path, options.documents)
        except WhenceError as error:
            report = Report(path.stem, trouble=[f"{type(error).__name__}: {error}"])
        reports.append(report)
        known[report.query] = asdict(report)
        if options.json:
            options.json.write_text(json.dumps(list(known.values()), indent=2) + "\n")
        print(
            f"{report.query}  read {report.read:5.2f} s  infer {report.infer:6.3f} s  {report.rows:5} rows  "
            f"{'by predicates' if report.precise else 'by replay':13}  again: {report.again or '-':12}  "
            f"{'; '.join(report.trouble) or (f'a superset: {report.reason}' if report.reason else 'right')}",
            flush=True,
        )
        spark.catalog.clearCache()
    wrong = [report.query for report in reports if report.trouble]
    empty = [report.query for report in reports if not report.rows and not report.trouble]
    slowest = max(report.infer for report in reports)
    print(f"{len(reports) - len(wrong)} of {len(reports)} right; without output: {', '.join(empty) or 'none'}")
    marked = [report.query for report in reports if report.reason]
    print(f"marked as a superset: {', '.join(marked) or 'none'}")
    print(f"inference takes at most {slowest:.3f} s; wrong: {', '.join(wrong) or 'none'}")
    if options.page:
        options.page.write_text(page(list(known.values()), options.scale))
    sys.exit(bool(wrong or empty))


if __name__ == "__main__":
    main()
