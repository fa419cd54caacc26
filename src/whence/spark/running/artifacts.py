"""What a run saved: intermediate results, the output, and failures."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from whence.errors import Damaged, TooLarge, WhenceError
from whence.rows import Attr
from whence.rows.duck import Files
from whence.rows.saving import ANNOTATED, OUTPUT, PlanPath, TracePlan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from whence.spark.catalyst.jvm import Jvm
    from whence.store import Store

LARGEST = 1 << 30  # the most bytes of a saved result; larger ones are not saved, and questions replay


@dataclass(frozen=True, slots=True)
class Result:
    """A saved result: local files with columns c0, c1 ..., and the indices of these columns in the operator's output.

    `rows` is the number of rows that the operator gave; the files contain each distinct row once.
    """

    paths: tuple[str, ...]
    columns: tuple[Attr, ...]
    places: tuple[int, ...]
    rows: int

    @property
    def files(self) -> Files:
        """The files, with the column names that they use."""
        return Files(self.paths, tuple(replace(attr, name=f"c{i}") for i, attr in enumerate(self.columns)))


@dataclass(frozen=True)
class RunArtifacts:
    """What a run saved: the trace plan, the saved results, the output, and failures."""

    trace_plan: TracePlan
    results: Mapping[PlanPath, Result] = field(default_factory=dict)
    output: DataFrame | None = None
    failures: tuple[str, ...] = ()
    held: tuple[object, ...] = ()  # objects that must live as long as this one
    annotated: bool = False  # whether the output has the ids of source rows, and row ids
    row_id: Attr | None = None  # the column that shows row ids to users, if any
    recorded: int | None = None  # the id of the run in the log

    @property
    def complete(self) -> bool:
        """Whether the lineage of rows can be found with it, without another run."""
        return (
            self.trace_plan.unavailable_reason is None
            and {each.place for each in self.trace_plan.written} <= self.results.keys()
        )


class Held:
    """A directory for results, and cached frames. Both are freed when this object is no longer referenced."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="whence-"))
        self.cached: list[DataFrame] = []
        weakref.finalize(self, _remove_results, self.folder, self.cached)

    def persist(self, rows: DataFrame) -> None:
        """Cache rows, unless they are cached already."""
        if not rows.storageLevel.useMemory and not rows.storageLevel.useDisk:
            self.cached.append(rows.persist())

    def let_go(self, rows: DataFrame) -> None:
        """Free rows if this object cached them."""
        if any(each is rows for each in self.cached):
            self.cached[:] = [each for each in self.cached if each is not rows]
            rows.unpersist()


def written(rows: DataFrame, columns: int, folder: Path) -> tuple[str, ...]:
    """Write the first columns as Parquet files, named c0, c1 ...; Spark's executors write them."""
    named = rows.toDF(*(f"c{index}" for index in range(len(rows.columns))))
    chosen = named.select(*(f"c{index}" for index in range(columns)))
    chosen.write.option("compression", "snappy").parquet(f"file://{folder}")
    if not (folder / "_SUCCESS").exists():
        raise WhenceError(f"the executors wrote to another disk: there are no files in {folder}")
    paths = tuple(sorted(str(path) for path in folder.glob("*.parquet")))
    if sum(Path(path).stat().st_size for path in paths) > LARGEST:
        raise TooLarge(f"it is more than {LARGEST >> 20} MiB")
    return paths


def row_count(paths: tuple[str, ...]) -> int:
    """The number of rows of Parquet files."""
    import pyarrow.parquet as pq

    return sum(int(pq.read_metadata(path).num_rows) for path in paths)


def opened(store: Store, files: tuple[str, ...], saved: list[dict[str, Any]], results: Any) -> dict[PlanPath, Result]:
    """The results with their files in the log's local storage."""
    found = {}
    for each in saved:
        place = tuple(each["place"])
        title = "the output" if place in (OUTPUT, ANNOTATED) else "a saved result"
        try:
            paths = tuple(str(store.blobs.local(files[number], title)) for number in each["files"])
        except Damaged as error:
            raise Damaged(f"{error}. Until then, log.pipeline(df, save='never') answers by replay") from error
        found[place] = replace(results[place], paths=paths)
    return found


@contextmanager
def described_jobs(jvm: Jvm, what: str) -> Iterator[None]:
    """Give the Spark jobs in this block a description that Spark's user interface shows."""
    context = jvm.spark.sparkContext
    before = context.getLocalProperty("spark.job.description")
    context.setJobDescription(f"whence: {what}")
    try:
        yield
    finally:
        context.setLocalProperty("spark.job.description", before)  # type: ignore[arg-type] # None clears it


def first_line(error: BaseException) -> str:
    """The first line of an error's message."""
    text = str(error).strip().splitlines()
    return text[0][:300] if text else type(error).__name__


def _remove_results(folder: Path, cached: list[DataFrame]) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    for each in cached:
        try:
            each.unpersist()
        except Exception:  # the session may have stopped, which frees the cache
            return
