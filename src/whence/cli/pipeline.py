"""`whence pipeline`: trace rows of a Spark pipeline's output to source rows, and source rows to output rows."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli._options import blobs_option, json_option, log_option, open_log, open_or_make_log
from whence.cli._output import emit_json, emit_table
from whence.store.locating import locate

if TYPE_CHECKING:
    from whence.cli._rows import Shown
    from whence.log import Log
    from whence.rows import Attr
    from whence.spark.pipeline import Pipeline

LIMIT = 10  # printed rows of each table


@dataclass(frozen=True, slots=True)
class Question:
    """The question from the options, before the columns are known."""

    pairs: tuple[tuple[str, str], ...] = ()
    nulls: tuple[str, ...] = ()
    rows: str | None = None  # JSON
    forward: str | None = None

    @property
    def asked(self) -> bool:
        """Whether a row was given."""
        return bool(self.pairs or self.nulls or self.rows is not None)

    def read(self, columns: Sequence[Attr]) -> list[dict[str, object]]:
        """Return the rows, their values converted to the types of the columns."""
        from whence.rows.questions.text import read_json, read_pairs

        if self.rows is not None:
            return read_json(columns, self.rows)
        return [read_pairs(columns, self.pairs, self.nulls)]


@dataclass(slots=True)
class Report:
    """The results, to print as text or JSON."""

    plan: str
    output: Shown | None = None
    columns: dict[str, Any] | None = None
    asked: list[dict[str, object]] = field(default_factory=list)
    lineage: dict[str, Shown] = field(default_factory=dict)
    reached: Shown | None = None
    precise: bool | None = None
    reason: str | None = None
    how: str | None = None
    used: frozenset[str] = frozenset()
    written: list[Path] = field(default_factory=list)


@click.command("pipeline")
@click.argument("script", type=click.Path(dir_okay=False, path_type=Path))
@click.option(
    "--source",
    "sources",
    multiple=True,
    metavar="NAME=PATH",
    help="Data that the script reads as table NAME: a file or directory of Parquet, CSV (with a header), JSON or ORC.",
)
@click.option(
    "--row",
    "pairs",
    multiple=True,
    metavar="COLUMN=VALUE",
    help="A value of the row to ask about. Repeat it for more columns of the same row; not all are needed.",
)
@click.option("--null", "nulls", multiple=True, metavar="COLUMN", help="A column that is NULL in the row to ask about.")
@click.option(
    "--rows",
    "rows_file",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Many rows to ask about at once: JSON objects, in a list or one per line; - reads standard input.",
)
@click.option(
    "--forward", metavar="SOURCE", help="Ask about a row of SOURCE, and print the output rows that it reached."
)
@click.option("--columns", is_flag=True, help="Print for each output column the source columns it comes from.")
@click.option("--run", "run_first", is_flag=True, help="Run the pipeline first, and record the run in the log.")
@click.option(
    "--save",
    type=click.Choice(["auto", "always", "never"]),
    default="auto",
    help="Whether a run saves the intermediate results that exact answers need; auto leaves out results that "
    "a question can recompute from local files in about a second.",
)
@click.option(
    "--engine", type=click.Choice(["auto", "duckdb", "spark"]), default="auto", help="What answers the question."
)
@click.option(
    "--witness",
    type=click.Choice(["rows", "group"]),
    default="rows",
    help="The lineage of min, max, first, last and any: the rows that attain the value, or the whole group.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    metavar="N",
    help="Rows to show of each source. Default: 10, or all with --json.",
)
@click.option("--places", is_flag=True, help="Show the file of each row, and its number in the file.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write all rows of the answer: .parquet, .csv or .json; with several sources, a file for each.",
)
@click.option("--conf", multiple=True, metavar="KEY=VALUE", help="A setting of Spark, such as spark.driver.memory=8g.")
@click.option("--verbose", is_flag=True, help="Print Spark's own messages, too.")
@log_option
@blobs_option
@json_option
def command(
    script: Path,
    sources: tuple[str, ...],
    pairs: tuple[str, ...],
    nulls: tuple[str, ...],
    rows_file: Any,
    forward: str | None,
    columns: bool,
    run_first: bool,
    save: str,
    engine: str,
    witness: str,
    limit: int | None,
    places: bool,
    out: Path | None,
    conf: tuple[str, ...],
    verbose: bool,
    log: str | None,
    blobs: str | None,
    as_json: bool,
) -> None:
    """Which source rows made an output row of a Spark pipeline.

    SCRIPT is a .sql file that ends with a query, or a .py file with a function build(spark). The function returns a
    DataFrame, or a DataFrame and a dictionary that names its sources. Prints the plan and the lineage of the row;
    without a row, the plan and the output.

    \b
      whence pipeline q4.sql --source orders=orders.parquet --source lineitem=l.parquet \\
          --row o_orderpriority=1-URGENT
      whence pipeline report.py --forward customers --row id=17
    """
    from whence.cli._rows import Shown, require_out, waiting
    from whence.spark.catalyst.plan import classic
    from whence.spark.sessions.command import session
    from whence.spark.sessions.failures import plainly
    from whence.spark.sessions.scripts import load

    question = _question(pairs, nulls, rows_file, forward)
    if out is not None:
        require_out(out)
    given = _without_repeats("--source", (_source_option(each) for each in sources))
    settings = _without_repeats("--conf", (_name_and_value("--conf", each) for each in conf))
    shown = limit if limit is not None or as_json else LIMIT
    with ExitStack() as stack:
        with waiting("starting Spark"):
            spark = stack.enter_context(session(settings, verbose=verbose))
        with waiting(f"reading {script.name}"):
            loaded = load(spark, script, given)
            opened = stack.enter_context(_log(log, blobs, run_first))
            stack.enter_context(plainly(script.name, given))
            p = opened.pipeline(loaded.df, script.stem, sources=loaded.sources, save=save, witness=witness)
            report = Report(p.explain(), used=_used(p), columns=_column_lineage(p) if columns else None)
        if run_first or not (columns or question.asked):
            with waiting("running the pipeline"):
                report.output = Shown("output", p.run() if run_first else classic(loaded.df), shown)
        if question.asked:
            with waiting("asking"):
                _ask(p, question, report, engine, shown, places, out)
    if as_json:
        emit_json(_as_dict(script, report, question))
    else:
        _emit_report(report, question)


def _name_and_value(option: str, text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not (name and sign):
        raise click.UsageError(f"{option} {text}: write NAME=VALUE")
    return name, value


def _without_repeats(option: str, pairs: Iterable[tuple[str, str]]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in pairs:
        if name in found:
            raise click.UsageError(f"{option} gives {name} twice: {found[name]} and {value}")
        found[name] = value
    return found


def _source_option(text: str) -> tuple[str, str]:
    """Parse NAME=PATH; for a PATH alone, the name is that of the file without its suffix."""
    name, sign, _ = text.partition("=")
    if sign and "/" not in name:
        return _name_and_value("--source", text)
    return text.rstrip("/").rsplit("/", 1)[-1].split(".")[0], text


def _question(pairs: tuple[str, ...], nulls: tuple[str, ...], rows_file: Any, forward: str | None) -> Question:
    if rows_file is not None and (pairs or nulls):
        raise click.UsageError("--rows already gives the rows: leave out --row and --null")
    found = tuple(_name_and_value("--row", each) for each in pairs)
    question = Question(found, nulls, rows_file.read() if rows_file is not None else None, forward)
    if forward is not None and not question.asked:
        raise click.UsageError(f"--forward {forward}: give a row of it, --row COLUMN=VALUE")
    return question


@contextmanager
def _log(log: str | None, blobs: str | None, recording: bool) -> Iterator[Log]:
    """Open the given or nearest log; a question without a log uses a temporary one."""
    if recording:
        with open_or_make_log(log, blobs) as opened:
            yield opened
    elif locate(log) is not None:
        with open_log(log, blobs) as opened:
            yield opened
    else:
        from whence.log import open as open_store

        with tempfile.TemporaryDirectory(prefix="whence-") as place, open_store(Path(place) / "asked.whence") as opened:
            yield opened


def _used(p: Pipeline) -> frozenset[str]:
    """Return the source columns that the output depends on, which are printed before others."""
    return frozenset(name for each in p.columns().values() for _, name in each.direct | each.through)


def _column_lineage(p: Pipeline) -> dict[str, Any]:
    def listed(found: frozenset[tuple[str, str]]) -> list[str]:
        return [f"{source}.{column}" for source, column in sorted(found)]

    return {name: {"from": listed(each.direct), "through": listed(each.through)} for name, each in p.columns().items()}


def _ask(
    p: Pipeline,
    question: Question,
    report: Report,
    engine: str,
    limit: int | None,
    places: bool,
    out: Path | None,
) -> None:
    from whence.cli._rows import Shown, write
    from whence.errors import UnknownName
    from whence.rows.questions.restrict import sources as sources_of

    if question.forward is not None:
        uses = [each for each in sources_of(p.plan) if each.name == question.forward]
        if not uses:
            raise UnknownName.of("source", question.forward, p.sources)
        report.asked = question.read(uses[0].columns)
        reached = p.forward(question.forward, report.asked, engine=engine)
        report.precise, report.reason = reached.precise, reached.reason
        report.reached = Shown("output", reached.dataframe(), limit)
        frames = {"output": reached.dataframe()}
    else:
        report.asked = question.read(p.plan.output)
        lineage = p.backward(report.asked, engine=engine)
        report.precise, report.reason, report.how = lineage.precise, lineage.reason, lineage.how
        frames = {name: lineage.identified(name) if places else lineage[name] for name in lineage}
        report.lineage = {name: Shown(name, df, limit) for name, df in frames.items()}
    if out is not None:
        report.written = write(frames, out)


def _as_dict(script: Path, report: Report, question: Question) -> dict[str, object]:
    from whence.rows.questions.text import plain

    found: dict[str, object] = {"pipeline": str(script), "plan": str(report.plan).splitlines()}
    if report.columns is not None:
        found["columns"] = report.columns
    if report.output is not None:
        found["output"] = report.output.as_dict()
    if report.asked:
        direction = "backward" if question.forward is None else "forward"
        found |= {"direction": direction, "asked": [plain(row) for row in report.asked]}
    if report.precise is not None:
        found |= {"precise": report.precise, "reason": report.reason}
    if report.precise is not None and question.forward is None:
        found["how"] = report.how
        found["sources"] = {name: each.as_dict() for name, each in report.lineage.items()}
    if report.reached is not None:
        found |= {"source": question.forward, "output": report.reached.as_dict()}
    if report.written:
        found["written"] = [str(each) for each in report.written]
    return found


def _emit_report(report: Report, question: Question) -> None:
    click.echo(report.plan)
    if report.columns is not None:
        click.echo()
        rows = [(name, ", ".join(each["from"]), ", ".join(each["through"])) for name, each in report.columns.items()]
        emit_table(("column", "comes from", "through"), rows, aligned=True)
    if report.output is not None:
        report.output.emit("The output")
        if not report.asked and report.output.rows and sys.stdout.isatty():
            click.echo("\nTo trace a row, give --row COLUMN=VALUE.")
    if report.precise is not None and report.reached is None:
        click.echo(f"\nThe lineage of {_described(report.asked)}: ", nl=False)
        click.echo("precise" if report.precise else f"a superset, because {report.reason}")
        for name, each in report.lineage.items():
            each.emit(name, report.used)
    if report.reached is not None:
        report.reached.emit(f"What {_described(report.asked)} of {question.forward} reached")
        if not report.precise:
            click.echo(f"\nThis is a superset, because {report.reason}")
    for path in report.written:
        click.echo(f"\nwritten: {path}" if path == report.written[0] else f"written: {path}")


def _described(asked: list[dict[str, object]]) -> str:
    if len(asked) > 1:
        return f"{len(asked):,} rows"
    from whence.rows.questions.text import plain

    parts = (f"{name} = {'NULL' if value is None else plain(value)}" for name, value in asked[0].items())
    return "the row " + ", ".join(parts)
