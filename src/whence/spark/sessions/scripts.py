"""Load a pipeline from a file, SQL or Python with a function `build(spark)`, and the files that it reads."""

from __future__ import annotations

import re
import runpy
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import BadScript, BadType, SourceChanged
from whence.spark.sessions.failures import plainly, spark_errors

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# How a file is read, by the last suffix that names a format (orders.csv.gz is CSV).
FORMATS: dict[str, tuple[str, dict[str, str]]] = {
    "parquet": ("parquet", {}),
    "csv": ("csv", {"header": "true", "inferSchema": "true"}),
    "tsv": ("csv", {"header": "true", "inferSchema": "true", "sep": "\t"}),
    "json": ("json", {}),
    "jsonl": ("json", {}),
    "ndjson": ("json", {}),
    "orc": ("orc", {}),
}
BEFORE = frozenset({"CreateViewCommand", "SetCommand"})  # commands that may precede the query of an SQL file
# Matches a string, a quoted name, a comment, the end of a statement, or any other character.
TOKEN = re.compile(
    r"""(?P<skip>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|--[^\n]*|/\*.*?\*/)|(?P<end>;)|.""", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Script:
    """The result of a file: the DataFrame to trace, and the names of its sources, if the file gives any."""

    df: object
    sources: Mapping[str, object] | None = None


def load(spark: SparkSession, path: Path, sources: Mapping[str, str] | None = None) -> Script:
    """Load the pipeline of a file. Each source becomes a view with its name."""
    given = sources or {}
    for name, place in given.items():
        with plainly(f"--source {name}={place}"):
            read_source(spark, place).createOrReplaceTempView(f"`{name}`")
    if not path.is_file():
        raise BadScript(f"there is no file {path}")
    if path.suffix == ".py":
        return _python(spark, path, given)
    if path.suffix != ".sql":
        raise BadScript(f"{path}: a pipeline is a .sql file, or a .py file with a function build(spark)")
    return Script(_sql(spark, path, given))


def read_source(spark: SparkSession, place: str) -> DataFrame:
    """Read a file or a directory as a DataFrame, in the format that the name implies."""
    form = _form(place)
    if form is None:
        known = ", ".join(f".{each}" for each in FORMATS)
        raise BadType(f"{place}: the format is not known; the name must end in one of {known}")
    kind, options = FORMATS[form]
    if kind == "json" and _is_json_list(place):
        options = {**options, "multiLine": "true"}
    # The JVM may have been started in another directory.
    return spark.read.format(kind).options(**options).load(place if "://" in place else str(Path(place).absolute()))


def _form(place: str) -> str | None:
    form = _format_of(place.rstrip("/").rsplit("/", 1)[-1])
    if "://" in place:
        return form
    path = Path(place)
    if not path.exists():
        raise SourceChanged(f"there is no file or directory {place}")
    if form is None and path.is_dir():  # part files in the directory and in its partitions
        files = (each for each in sorted(path.rglob("*")) if each.is_file() and not each.name.startswith(("_", ".")))
        forms = {_format_of(each.name) for each in files} - {None}
        return forms.pop() if len(forms) == 1 else None
    return form


def _format_of(name: str) -> str | None:
    """The format that a file name implies."""
    return next((each for each in reversed(name.lower().split(".")[1:]) if each in FORMATS), None)


def _is_json_list(place: str) -> bool:
    """Whether a local file is one JSON list, instead of one object per line."""
    path = Path(place)
    if not path.is_file() or path.suffix == ".gz":
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.read(1000).lstrip().startswith("[")


# --- SQL


def statements(text: str) -> Iterator[str]:
    """Split SQL into statements, each at its original line number. A `;` in a string or comment does not end a
    statement.

    >>> list(statements("select ';' -- ; no end\\n;\\nselect 2;"))
    ["select ';' -- ; no end\\n", '\\n\\nselect 2']
    """
    start = 0
    ends = [match.start() for match in TOKEN.finditer(text) if match["end"]]
    for end in (*ends, len(text)):
        piece = text[start:end]
        if TOKEN.sub(lambda match: "" if (match["skip"] or "").startswith(("--", "/*")) else match[0], piece).strip():
            yield "\n" * text.count("\n", 0, start) + piece
        start = end + 1


def _sql(spark: SparkSession, path: Path, given: Mapping[str, str]) -> DataFrame:
    """The only query of a file, after the views and settings that precede it."""
    query: str | None = None
    name = path.name
    with plainly(name, given):
        for text in statements(path.read_text(encoding="utf-8")):
            kind = _kind(spark, text)
            line = text[: len(text) - len(text.lstrip())].count("\n") + 1
            if kind == "query" and query is None:
                query = text
            elif kind == "query":
                raise BadScript(f"{name}:{line}: this is a second query; the file must have one, after its views")
            elif query is None and kind in BEFORE:
                spark.sql(text)
            elif query is None or kind != "DropView":  # questions still need the view
                raise BadScript(
                    f"{name}:{line}: {kind} changes data, so whence does not run it; only CREATE TEMPORARY VIEW and"
                    " SET may precede the query"
                )
        if query is None:
            raise BadScript(f"{name} has no query: it must end with a SELECT")
        return spark.sql(query)


def _kind(spark: SparkSession, text: str) -> str:
    """Return `query` or the name of the command, without running anything."""
    jvm: Any = spark._jvm
    parsed = spark._jsparkSession.sessionState().sqlParser().parsePlan(text)
    if parsed.nodeName() == "UnresolvedWith":
        parsed = parsed.child()
    plans = "org.apache.spark.sql.catalyst.plans.logical"
    for each in (f"{plans}.Command", f"{plans}.ParsedStatement"):
        if jvm.java.lang.Class.forName(each).isInstance(parsed):
            return str(parsed.nodeName())
    return "query"


# --- Python


def _python(spark: SparkSession, path: Path, given: Mapping[str, str]) -> Script:
    """Return the result of `build(spark)`. The file is the user's own, and runs as `python FILE` would run it."""
    sys.path.insert(0, str(path.resolve().parent))
    try:
        with plainly(path.name, given), redirect_stdout(sys.stderr):  # its output must not mix with the answer
            names = _with_line(path, lambda: runpy.run_path(str(path), run_name="whence_pipeline"))
            build = names.get("build")
            if not callable(build):
                raise BadScript(f"{path.name} has no function build(spark) that returns a DataFrame")
            made = _with_line(path, lambda: build(spark))
    finally:
        sys.path.remove(str(path.resolve().parent))
    match made:
        case (df, dict() as sources) if all(isinstance(name, str) for name in sources):
            return Script(df, sources)
        case tuple() | dict() | None:
            raise BadScript(
                f"{path.name}: build(spark) returned {type(made).__name__}; it must return a DataFrame, or a DataFrame "
                'and a dictionary that names its sources: (df, {"orders": orders})'
            )
        case _:
            return Script(made)


def _with_line(path: Path, run: Callable[[], Any]) -> Any:
    """Run a part of the user's file. An error in it names the line."""
    try:
        return run()
    except spark_errors():
        raise
    except Exception as error:
        lines = [each.lineno for each in traceback.extract_tb(error.__traceback__) if each.filename == str(path)]
        line = getattr(error, "lineno", None) if isinstance(error, SyntaxError) else (lines[-1] if lines else None)
        place = path.name if line is None else f"{path.name}:{line}"
        raise BadScript(f"{place}: {type(error).__name__}: {error}") from error
