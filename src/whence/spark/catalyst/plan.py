"""Read a DataFrame's plan into whence's operators."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from whence.errors import BadType, Closed, MissingExtra, NotTraceable, WhenceError
from whence.rows import Aggregate, Attr, Named, Opaque, Operator, Project, Sort, keep, walk
from whence.rows.determinism.clock import reads_clock
from whence.rows.determinism.reasons import causes
from whence.rows.pushdown.pins import substituted
from whence.spark.catalyst.jvm import Jvm, items
from whence.spark.catalyst.operators import Plans, plan_tree
from whence.spark.catalyst.rewrites import tidied, without_subqueries
from whence.spark.catalyst.self_joins import renewed, separated
from whence.spark.catalyst.shared import Compact
from whence.spark.catalyst.subqueries import subqueries_joined
from whence.spark.running.outputs import REPEATABLE, plan_of
from whence.spark.sources import checkpoints
from whence.spark.sources.files import state
from whence.spark.sources.naming import Sources, view_names
from whence.spark.sources.pandas_api import as_spark, is_pandas, without_index
from whence.spark.sources.registry import kind_of
from whence.store.values import name_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True, slots=True)
class Plan:
    """The operators of a plan, and the JVM that can run them."""

    root: Operator
    jvm: Jvm


def read(df: object, sources: Mapping[str, Any] | None = None) -> Plan:
    """Read the plan of a DataFrame, made with the DataFrame API, SQL, or pandas API on Spark."""
    frame = classic(df)
    if sources is not None and not isinstance(sources, Mapping):
        raise BadType(f"sources maps names to DataFrames, such as {{'orders': df}}, not {type(sources).__name__}")
    given = {name_of(name, "source"): _plan_of_source(each, name) for name, each in (sources or {}).items()}
    jvm = Jvm(frame.sparkSession)
    compact = Compact(jvm)
    found = Sources(given, lambda leaf: plan_of(leaf, jvm) is not None, jvm.same_object)

    def prepare(java: Any) -> tuple[Any, int]:
        java, first = without_subqueries(jvm, java)
        found.views.update(view_names(java, compact.plan))
        return tidied(jvm, java), first

    def whole(java: Any) -> Operator:
        return separated(subqueries_joined(plans.read_java(java)))

    def through(leaf: Any, columns: tuple[Attr, ...]) -> Operator | None:
        """The plan of a leaf that is the output of a run or a checkpoint, if it is known."""
        java = plan_of(leaf, jvm)
        if java is None and found.given_name(leaf) is None:
            java = checkpoint(leaf)
        return followed(leaf, columns) if java is None else _under_columns(renewed(whole(java))[0], columns)

    def checkpoint(leaf: Any) -> Any:
        """The plan of a checkpoint, if it is remembered and gives the same rows again."""
        known = checkpoints.plan_of(leaf, jvm.spark.sparkContext)
        if known is None:
            return None
        why = _changed_file(known, jvm) or checkpoints.reason(
            leaf, jvm.spark.sparkContext, lambda: _why_plan_varies(known, jvm)
        )
        if why:
            found.notes[int(leaf.rdd().id())] = f"they come from a checkpoint that cannot be computed again: {why}"
        return None if why else known

    def followed(leaf: Any, columns: tuple[Attr, ...]) -> Operator | None:
        """A leaf that Spark computed, as an opaque operator over the named sources that it may have come from; None if
        there are none.
        """
        before = None if not found.given or found.given_name(leaf) is not None else kind_of(leaf).past(leaf)
        if before is None:
            return None
        files = {name: kind_of(each).files_read(each) for name, each in found.given.items()}
        names = [name for name, each in found.given.items() if not before.excludes(each, files[name])]
        if all(name in read_elsewhere and not before.shows(found.given[name], files[name]) for name in names):
            return None
        for name in names:
            found.use(name)
        inputs = tuple(renewed(plans.read(plan_tree(found.given[name], compact)))[0] for name in names)
        return Opaque(inputs, columns, f"it reads rows made outside Spark's plan ({before.what})", leaf)

    analyzed = frame._jdf.queryExecution().analyzed()
    read_elsewhere = {found.given_name(leaf) for leaf in items(analyzed.collectLeaves())} if given else set()
    plans = Plans(found, prepare, through, compact, jvm.literal_of)
    root = whole(analyzed)
    found.require_used()
    return Plan(root, jvm)


def _changed_file(java: Any, jvm: Jvm) -> str:
    """A message if a file that a plan read has changed; otherwise empty."""
    for leaf in items(java.collectLeaves()):
        for file, size, changed in kind_of(leaf).version_read(leaf):
            if state(file, jvm) != (size, changed):
                return f"{file} has changed"
    return ""


def _why_plan_varies(java: Any, jvm: Jvm) -> str:
    """Why a plan may give other rows each time, even if its files do not change; otherwise empty."""
    try:
        root = read(jvm.frame(java)).root
    except WhenceError as error:
        return str(error)
    if any(not isinstance(part, REPEATABLE) for part in walk(root) if isinstance(part, Operator)):
        return "it uses a function or a sample"
    if reads_clock(root):
        return "it was made at another time"
    merged = Aggregate(root, root.output, keep(*root.output))  # `causes` reports picked rows only below a merge
    return next((each.why for each in causes(merged)), "")


def _plan_of_source(df: object, name: str) -> Any:
    """The plan of a DataFrame that is named as a source. For pandas API on Spark, without the attached index."""
    java = classic(df, f"sources={{{name!r}: ...}} takes")._jdf.queryExecution().analyzed()
    return without_index(java) if is_pandas(df) else java


def _under_columns(rows: Operator, columns: tuple[Attr, ...]) -> Operator:
    """The rows with other columns. A sort stays on top, because a limit may follow."""
    pairs = list(zip(columns, rows.output, strict=True))
    named = tuple(Named(new, old) for new, old in pairs)
    if not isinstance(rows, Sort):
        return Project(rows, named)
    new = {old: attr for attr, old in pairs}
    keys = tuple(replace(key, expr=substituted(key.expr, new)) for key in rows.keys)
    return Sort(Project(rows.child, named), keys, rows.everywhere)


def classic(df: object, what: str = "a pipeline is") -> DataFrame:
    """Return the DataFrame of a classic session. Raise, with the reason, if it is something else."""
    try:
        from pyspark.sql import DataFrame as Any_
        from pyspark.sql.classic.dataframe import DataFrame
    except ImportError as error:
        raise MissingExtra.of("pyspark", "spark") from error
    if is_pandas(df):
        df = as_spark(df)
    if not isinstance(df, DataFrame):
        if isinstance(df, Any_) or "connect" in type(df).__module__:
            raise NotTraceable(
                "this DataFrame belongs to a Spark Connect session, whose plan whence cannot read: use a classic"
                " session, "
                "SparkSession.builder.master('local[*]') or spark-submit"
            )
        raise BadType(f"{what} a PySpark DataFrame, not {type(df).__name__}")
    context = df.sparkSession.sparkContext
    if context._jsc is None or context._jsc.sc().isStopped():
        raise Closed("the Spark session of this DataFrame was stopped: make the DataFrame again in a running one")
    if df.isStreaming:
        raise NotTraceable("whence does not trace streaming DataFrames: trace the batch that it writes")
    return df
