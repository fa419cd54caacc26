"""Running a pipeline so that its rows can be traced: intermediate results are saved, and it goes on from them."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from whence.errors import TooLarge, WhenceError
from whence.rows import (
    AggCall,
    Aggregate,
    Arrange,
    Attr,
    Call,
    Filter,
    Limit,
    Literal,
    Named,
    Operator,
    Project,
    Sort,
    fresh,
    keep,
    like,
    walk,
)
from whence.rows.duck import Files
from whence.rows.eager import Tagged
from whence.rows.saving import ANNOTATED, OUTPUT, PlanPath, Saved, TracePlan, operator_at, read_above, replaced_at
from whence.spark.catalyst.write import frame
from whence.spark.lineage import given
from whence.spark.running.compact import shrunk

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm

MANY, SMALL = 50_000, 32 << 20  # rows, and bytes in memory, of an output that is saved, too
LARGEST = 1 << 30  # bytes of a saved result; more than that is left to replay


Local: TypeAlias = "Callable[[pa.Table], DataFrame | None]"


@dataclass(frozen=True, slots=True)
class Result:
    """A saved result: files on this machine, with columns c0, c1 ..., and which of the operator's columns those are.

    `rows` is how many the operator gave; the files hold each different row once.
    """

    paths: tuple[str, ...]
    columns: tuple[Attr, ...]
    places: tuple[int, ...]
    rows: int

    @property
    def files(self) -> Files:
        """The files, with the columns under the names that they have there."""
        return Files(self.paths, tuple(replace(attr, name=f"c{i}") for i, attr in enumerate(self.columns)))


@dataclass(frozen=True)
class RunArtifacts:
    """What a run left behind: how rows are traced, the saved results, the output, and what could not be saved."""

    trace_plan: TracePlan
    results: Mapping[PlanPath, Result] = field(default_factory=dict)
    output: DataFrame | None = None
    failures: tuple[str, ...] = ()
    held: tuple[object, ...] = ()  # what has to live as long as this
    annotated: bool = False  # the output is that with ids and places
    row_id: Attr | None = None  # the column that shows places to users, if one does

    @property
    def complete(self) -> bool:
        """Whether lineage can be answered from it, without running anything again."""
        return (
            self.trace_plan.unavailable_reason is None
            and {each.place for each in self.trace_plan.written} <= self.results.keys()
        )


def run_saving(
    df: DataFrame,
    plan: Operator,
    planned: TracePlan,
    witness: str,
    jvm: Jvm,
    local: Local,
    few: bool,
) -> RunArtifacts:
    """Run a pipeline, saving what the scheme says. What cannot be saved is said; the pipeline runs all the same.

    `local` makes a frame of the rows of a small output, if it can; `few`: it can, and the output is likely to be small.
    """
    try:
        return _artifacts(df, plan, planned, witness, jvm, local, few)
    except Exception as error:  # if it was the pipeline that failed, it fails again
        held = Held()
        held.persist(df)
        df.count()
        why = f"nothing could be saved: {_said(error)}"
        return RunArtifacts(TracePlan(unavailable_reason=why), output=df, failures=(why,), held=(held,))


def _artifacts(
    df: DataFrame, plan: Operator, planned: TracePlan, witness: str, jvm: Jvm, local: Local, few: bool
) -> RunArtifacts:
    held = Held()
    folder, going = held.folder, plan
    results: dict[PlanPath, Result] = {}
    failures: list[str] = []
    for each in reversed(planned.written):  # what lies below comes first
        try:
            with _steps(jvm, f"saving what {type(each.operator).__name__} gives"):
                rows, attrs = _rows_of(each, planned.written, going, jvm)
                result = _saved(each, rows, folder / f"result{len(results)}")
        except Exception as error:  # whatever it was: it is the pipeline that counts
            failures.append(f"the output of {type(each.operator).__name__} could not be saved: {_said(error)}")
            continue
        results[each.place] = result
        held.cached.append(rows)
        going = replaced_at(going, each.place, _as(rows, attrs, read_above(going, each.place)))
    first = None
    if planned.limit_to_check is not None:
        going, first, clear = _looked_at(going, planned.limit_to_check, few, held.cached, jvm)
        if not clear:
            planned = TracePlan(unavailable_reason="Limit: equal rows may lie on both sides of the limit")
    output = df if going is plan else frame(going, jvm).toDF(*df.columns)
    if first is None:
        first = _run(output, plan, few, held, failures, jvm)
    if first is not None:
        try:
            results[OUTPUT] = _output(first, plan.output, folder / "output")
        except OSError as error:
            failures.append(f"the output could not be saved: {_said(error)}")
        output = _instead(output, first, local, held, failures)
    refined = planned
    try:
        refined, results = shrunk(plan, planned, results, witness)
    except Exception as error:
        failures.append(f"what was saved could not be made smaller: {_said(error)}")
    return RunArtifacts(refined, results, output, tuple(failures), (held,))


def annotated(tagged: Tagged, why: str, jvm: Jvm, *, saved: bool) -> RunArtifacts:
    """Run a pipeline with the ids of source rows beside each row; the output has ids and positions.

    They are cached; and `saved`, where another run would give another output, or make it of other rows.
    """
    held = Held()
    place = Named(fresh("_place", "long", nullable=False), Call("monotonically_increasing_id", (), "long", pure=False))
    columns = tuple(map(like, (*tagged.plan.output, place.attr)))  # one may be there twice
    below, known = tagged.plan, keep(*tagged.plan.output)
    if any(isinstance(part, AggCall) and part.python for part in walk(below)):
        # Catalyst would compute the place in the aggregate, and Spark cannot do that in one in Python.
        first = frame(below, jvm)
        held.persist(first)
        below = given(first)
        known = tuple(Named(like(attr), attr) for attr in below.output)
    rows = frame(Project(below, (*known, place)), jvm)
    held.persist(rows)
    results: dict[PlanPath, Result] = {}
    failures: list[str] = []
    with _steps(jvm, "the pipeline, with the ids of source rows"):
        if not saved:
            rows.count()
            return RunArtifacts(TracePlan(unavailable_reason=why), results, rows, (), (held,), annotated=True)
        try:
            paths = _written(rows, len(columns), held.folder / "annotated")
            results[ANNOTATED] = Result(paths, columns, tuple(range(len(columns))), _count(paths))
        except Exception as error:  # it is the pipeline that counts; if it was that which failed, it fails again
            failures.append(f"the output with the ids of source rows could not be saved: {_said(error)}")
            rows.count()
    return RunArtifacts(TracePlan(unavailable_reason=why), results, rows, tuple(failures), (held,), annotated=True)


def _run(output: DataFrame, plan: Operator, few: bool, held: Held, failures: list[str], jvm: Jvm) -> pa.Table | None:
    """Compute the output: its rows in memory if they are few; else they are cached, so that they are computed once."""
    if not few:
        held.persist(output)
    with _steps(jvm, "the pipeline"):
        try:
            first = _first(output, surely_few(plan))
        except Exception as error:  # a type that Arrow does not have, perhaps
            first = None
            failures.append(f"the output could not be saved: {_said(error)}")
        if first is None:
            held.persist(output)
            output.count()  # if it was the pipeline that failed, it fails again
    return first


def _instead(output: DataFrame, rows: pa.Table, local: Local, held: Held, failures: list[str]) -> DataFrame:
    """The output as it is from now on: local, where that is the same, or cached."""
    try:
        found = local(rows)
    except Exception as error:  # it was computed, and can be again
        found = None
        failures.append(f"the output could not be made local data, and is cached instead: {_said(error)}")
    if found is None:
        held.persist(output)
        return output
    held.let_go(output)
    return found


class Held:
    """A folder for results and the frames that are cached, let go when nobody uses them any more."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="whence-"))
        self.cached: list[DataFrame] = []
        weakref.finalize(self, _forget, self.folder, self.cached)

    def persist(self, rows: DataFrame) -> None:
        """Cache rows, unless they are cached already."""
        if not rows.storageLevel.useMemory and not rows.storageLevel.useDisk:
            self.cached.append(rows.persist())

    def let_go(self, rows: DataFrame) -> None:
        """Free rows if it was here that they were cached."""
        if any(each is rows for each in self.cached):
            self.cached[:] = [each for each in self.cached if each is not rows]
            rows.unpersist()


def _rows_of(each: Saved, saved: tuple[Saved, ...], going: Operator, jvm: Jvm) -> tuple[DataFrame, tuple[Attr, ...]]:
    """The rows to save, and with them the columns that the pipeline goes on with; and which columns these are."""
    operator = each.operator
    done: list[PlanPath] = []
    for other in saved:  # those above come first
        inside = other.place[len(each.place) :]
        if not inside or not _within(other.place, each.place) or any(_within(other.place, place) for place in done):
            continue
        new = operator_at(going, other.place)
        done.append(other.place)
        if set(read_above(operator, inside)) <= set(new.output):
            operator = replaced_at(operator, inside, new)
    attrs = tuple(dict.fromkeys((*each.columns, *read_above(going, each.place))))
    return frame(Project(operator, keep(*attrs)), jvm).persist(), attrs


def _as(rows: DataFrame, attrs: Sequence[Attr], wanted: Sequence[Attr]) -> Operator:
    """Rows whose first columns are known as an operator that has some of these: Spark may have renumbered them."""
    values = given(rows)
    place = dict(zip(attrs, values.columns, strict=False))
    return Project(values, tuple(Named(attr, place[attr]) for attr in wanted))


def _looked_at(
    plan: Operator, place: PlanPath, few: bool, cached: list[DataFrame], jvm: Jvm
) -> tuple[Operator, pa.Table | None, bool]:
    """The plan over one row more than its limit lets through, and whether the order tells that row from the others.

    If the limit is the last that the plan does, its rows are the output.
    """
    limit = operator_at(plan, place)
    assert isinstance(limit, Limit)
    assert isinstance(limit.child, Sort)
    if not isinstance(limit.count, Literal) or not isinstance(limit.count.value, int):
        return plan, None, False
    order, columns = limit.child, tuple(dict.fromkeys(limit.output))
    keys = tuple(Named(fresh(f"_key{index}", key.expr.dtype), key.expr) for index, key in enumerate(order.keys))
    more = replace(limit, count=Literal(limit.count.value + 1, limit.count.dtype))
    rows = frame(Project(more, (*keep(*columns), *keys)), jvm)
    with _steps(jvm, "the pipeline, up to its limit"):
        if few and place == () and columns == limit.output and surely_few(plan):
            return plan, *_cut(rows, limit.count.value, len(columns))
        cached.append(rows.persist())
        unique = rows.toDF(*(f"c{index}" for index in range(len(rows.columns))))
        last = unique.select(*(f"c{len(columns) + index}" for index in range(len(keys)))).tail(2)
        clear = rows.count() <= limit.count.value or not _tied(*last)
    below = replace(order, child=_as(rows, columns, columns))
    return replaced_at(plan, place, replace(limit, child=below)), None, clear


def _cut(rows: DataFrame, count: int, columns: int) -> tuple[pa.Table, bool]:
    """The first rows, without their keys, and whether the one after them has other keys than the last of them."""
    table = rows.toDF(*(f"c{index}" for index in range(len(rows.columns)))).toArrow()
    keys = [_plain(key).slice(max(0, count - 1), 2).to_pylist() for key in table.columns[columns:]]
    clear = table.num_rows <= count or count == 0 or not _tied(*zip(*keys, strict=True))
    return table.select(range(columns)).slice(0, count), clear


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Text as bytes: Spark's may be none that Python takes for text."""
    import pyarrow as pa

    return column.cast(pa.binary()) if pa.types.is_string(column.type) else column


def _tied(one: Sequence[object], other: Sequence[object]) -> bool:
    """Whether an order takes two keys for the same: NaN is NaN there."""
    return all(a == b or (a != a and b != b) for a, b in zip(one, other, strict=True))


def _within(place: PlanPath, above: PlanPath) -> bool:
    return place[: len(above)] == above


def _saved(each: Saved, rows: DataFrame, folder: Path) -> Result:
    paths = _written(rows, len(each.columns), folder)
    return Result(paths, each.columns, tuple(each.places), _count(paths))


def surely_few(plan: Operator) -> bool:
    """Whether the plan itself says that its output is small.

    >>> from whence.rows import Attr, Literal, Source
    >>> surely_few(Limit(Source("t", 0, (Attr(1, "a", "long"),)), Literal(3, "integer")))
    True
    """
    while isinstance(plan, Project | Filter | Sort | Arrange):
        plan = plan.child
    if isinstance(plan, Limit) and isinstance(plan.count, Literal) and isinstance(plan.count.value, int):
        return plan.count.value <= MANY
    return isinstance(plan, Aggregate) and not plan.keys


def _first(output: DataFrame, few: bool) -> pa.Table | None:
    """The output, in memory, if it is small. It is computed in either case, and cached."""
    unique = output
    if len({name.lower() for name in output.columns}) < len(output.columns):
        unique = output.toDF(*(f"c{index}" for index in range(len(output.columns))))
    table = (unique if few else unique.limit(MANY + 1)).toArrow()
    return table if table.num_rows <= MANY and table.nbytes <= SMALL else None


def _output(table: pa.Table, columns: tuple[Attr, ...], folder: Path) -> Result:
    import pyarrow.parquet as pq

    first = {attr: index for index, attr in reversed(list(enumerate(columns)))}  # a column may be shown twice
    places = tuple(sorted(first.values()))
    folder.mkdir()
    path = folder / "output.parquet"
    chosen = table.select(list(places)).rename_columns([f"c{index}" for index in range(len(places))])
    pq.write_table(chosen, path, compression="zstd")
    return Result((str(path),), tuple(columns[place] for place in places), places, table.num_rows)


def _written(rows: DataFrame, columns: int, folder: Path) -> tuple[str, ...]:
    """The first columns as Parquet files, named c0, c1 ...; written by Spark's executors."""
    named = rows.toDF(*(f"c{index}" for index in range(len(rows.columns))))
    chosen = named.select(*(f"c{index}" for index in range(columns)))
    chosen.write.option("compression", "snappy").parquet(f"file://{folder}")
    if not (folder / "_SUCCESS").exists():
        raise WhenceError(f"the executors do not share {folder} with this process")
    paths = tuple(sorted(str(path) for path in folder.glob("*.parquet")))
    if sum(Path(path).stat().st_size for path in paths) > LARGEST:
        raise TooLarge(f"it is more than {LARGEST >> 20} MiB")
    return paths


def _count(paths: tuple[str, ...]) -> int:
    import pyarrow.parquet as pq

    return sum(int(pq.read_metadata(path).num_rows) for path in paths)


@contextmanager
def _steps(jvm: Jvm, what: str) -> Iterator[None]:
    """Jobs of this step under a description of their own, where Spark shows jobs."""
    context = jvm.spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(f"whence: {what}")
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type]


def _said(error: BaseException) -> str:
    text = str(error).strip().splitlines()
    return text[0][:300] if text else type(error).__name__


def _forget(folder: Path, cached: list[DataFrame]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for each in cached:
        try:
            each.unpersist()
        except Exception:  # the session may be gone, and with it what it held
            return
