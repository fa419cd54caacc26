"""Run a pipeline so that its rows can be traced: intermediate results are saved, and the run continues from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from whence.rows import Attr, Operator, Project, keep
from whence.rows.saving import OUTPUT, PlanPath, Saved, TracePlan, operator_at, read_above, replaced_at
from whence.spark.catalyst.frames import frame
from whence.spark.running import outputs
from whence.spark.running.artifacts import Held, Result, RunArtifacts, described_jobs, first_line, row_count, written
from whence.spark.running.compact import shrunk
from whence.spark.running.limits import checked_limit, rows_under
from whence.spark.running.outputs import surely_small

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm

SAMPLED = 1000  # values of a column show whether values repeat
Local: TypeAlias = "Callable[[pa.Table], DataFrame | None]"


def run_saving(
    df: DataFrame,
    plan: Operator,
    planned: TracePlan,
    witness: str,
    jvm: Jvm,
    local: Local,
    few: bool,
    fetched: bool = False,
) -> RunArtifacts:
    """Run a pipeline, and save what the trace plan says. If something cannot be saved, the failure is noted and the run
    continues.

    `local` makes a frame of the rows of a small output, if it can. `few` means that it can, and that the output is
    probably small. With `fetched`, the output is saved whatever its size, and needs no frame.
    """
    try:
        return _save_artifacts(df, plan, planned, witness, jvm, local, few, fetched)
    except Exception as error:  # an error of the pipeline itself occurs again
        held = Held()
        held.persist(df)
        df.count()
        why = f"nothing could be saved: {first_line(error)}"
        return RunArtifacts(TracePlan(unavailable_reason=why), output=df, failures=(why,), held=(held,))


def _save_artifacts(
    df: DataFrame, plan: Operator, planned: TracePlan, witness: str, jvm: Jvm, local: Local, few: bool, fetched: bool
) -> RunArtifacts:
    held = Held()
    folder, going = held.folder, plan
    results: dict[PlanPath, Result] = {}
    failures: list[str] = []
    for each in reversed(planned.written):  # operators below come first
        try:
            with described_jobs(jvm, f"saving the output of {type(each.operator).__name__}"):
                rows, attrs = _rows_to_save(each, planned.written, going, jvm)
                result = _saved(each, rows, folder / f"result{len(results)}")
        except Exception as error:  # saving must not fail the pipeline
            failures.append(f"the output of {type(each.operator).__name__} could not be saved: {first_line(error)}")
            continue
        results[each.place] = result
        held.cached.append(rows)
        going = replaced_at(going, each.place, rows_under(rows, attrs, read_above(going, each.place)))
    first = None
    if planned.limit_to_check is not None:
        going, first, clear = checked_limit(going, planned.limit_to_check, few, held.cached, jvm)
        if not clear:
            planned = TracePlan(unavailable_reason="Limit: equal rows may lie on both sides of the limit")
    output = df if going is plan else frame(going, jvm).toDF(*df.columns)
    if first is None and fetched:
        with described_jobs(jvm, "the output, to be handed over"):
            first = fetched_rows(output)
    elif first is None:
        first = _compute_output(output, plan, few, held, failures, jvm)
    if first is not None:
        try:
            results[OUTPUT] = output_result(first, plan.output, folder / "output")
        except OSError as error:
            failures.append(f"the output could not be saved: {first_line(error)}")
    kept: DataFrame | None = output
    if fetched and OUTPUT in results:
        kept = None  # caching it would take a second job
    elif first is not None:
        kept = _instead(output, first, local, held, failures)
    refined = planned
    try:
        refined, results = shrunk(plan, planned, results, witness)
    except Exception as error:
        failures.append(f"the saved results could not be compacted: {first_line(error)}")
    return RunArtifacts(refined, results, kept, tuple(failures), (held,))


def _compute_output(
    output: DataFrame, plan: Operator, few: bool, held: Held, failures: list[str], jvm: Jvm
) -> pa.Table | None:
    """Compute the output. A small one is returned; a large one is cached, so that it is computed once."""
    if not few:
        held.persist(output)
    with described_jobs(jvm, "the pipeline"):
        try:
            first = _small_output(output, surely_small(plan))
        except Exception as error:  # for example, a type that Arrow lacks
            first = None
            failures.append(f"the output could not be saved: {first_line(error)}")
        if first is None:
            held.persist(output)
            output.count()  # an error of the pipeline itself occurs again
    return first


def _instead(output: DataFrame, rows: pa.Table, local: Local, held: Held, failures: list[str]) -> DataFrame:
    """The output that replaces the computed one: local data if that is equivalent, else the cached output."""
    try:
        found = local(rows)
    except Exception as error:  # the output can be computed again
        found = None
        failures.append(f"the output is cached, because it could not be made local data: {first_line(error)}")
    if found is None:
        held.persist(output)
        return output
    held.let_go(output)
    return found


def _rows_to_save(
    each: Saved, saved: tuple[Saved, ...], going: Operator, jvm: Jvm
) -> tuple[DataFrame, tuple[Attr, ...]]:
    """Return the rows to save, with the columns that the rest of the pipeline needs; and the attributes of these
    columns.
    """
    operator = each.operator
    done: list[PlanPath] = []
    for other in saved:  # operators above come first
        inside = other.place[len(each.place) :]
        if not inside or not _is_below(other.place, each.place) or any(_is_below(other.place, place) for place in done):
            continue
        new = operator_at(going, other.place)
        done.append(other.place)
        if set(read_above(operator, inside)) <= set(new.output):
            operator = replaced_at(operator, inside, new)
    attrs = tuple(dict.fromkeys((*each.columns, *read_above(going, each.place))))
    return frame(Project(operator, keep(*attrs)), jvm).persist(), attrs


def _is_below(place: PlanPath, above: PlanPath) -> bool:
    return place[: len(above)] == above


def _saved(each: Saved, rows: DataFrame, folder: Path) -> Result:
    paths = written(rows, len(each.columns), folder)
    return Result(paths, each.columns, tuple(each.places), row_count(paths))


def _small_output(output: DataFrame, few: bool) -> pa.Table | None:
    """The output in memory if it is small; otherwise None."""
    table = fetched_rows(output if few else output.limit(outputs.MOST_ROWS + 1))
    return table if table.num_rows <= outputs.MOST_ROWS and table.nbytes <= outputs.MOST_BYTES else None


def fetched_rows(output: DataFrame) -> pa.Table:
    """The rows, with columns named c0, c1 ... if Spark takes some of their names for equal."""
    if len({name.lower() for name in output.columns}) < len(output.columns):
        output = output.toDF(*(f"c{index}" for index in range(len(output.columns))))
    return output.toArrow()


def output_result(table: pa.Table, columns: tuple[Attr, ...], folder: Path) -> Result:
    """Write the rows of an output, in their order."""
    import pyarrow.parquet as pq

    first = {attr: index for index, attr in reversed(list(enumerate(columns)))}  # the output may have a column twice
    places = tuple(sorted(first.values()))
    folder.mkdir()
    path = folder / "output.parquet"
    chosen = table.select(list(places)).rename_columns([f"c{index}" for index in range(len(places))])
    pq.write_table(chosen, path, compression="zstd", use_dictionary=_with_dictionary(chosen))
    return Result((str(path),), tuple(columns[place] for place in places), places, table.num_rows)


def _with_dictionary(table: pa.Table) -> list[str] | bool:
    """The columns to write with a dictionary: not floats that rarely repeat, for which it costs most of the time."""
    import pyarrow as pa
    import pyarrow.compute as pc

    def repeats(column: pa.ChunkedArray) -> bool:
        few = column.slice(0, SAMPLED)
        return bool(pc.count_distinct(few, mode="all").as_py() * 2 <= len(few))

    if any(pa.types.is_nested(field.type) for field in table.schema):  # Arrow would want the paths of their parts
        return True
    return [
        name
        for name, column in zip(table.column_names, table.columns, strict=True)
        if not pa.types.is_floating(column.type) or repeats(column)
    ]
