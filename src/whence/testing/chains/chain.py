"""Chains: Spark pipelines with arrays between them, and the expected lineage of each step."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.testing.chains.arrays import FUNCTIONS, PLAIN, Function, Sets, cells_of
from whence.testing.chains.runs import Cell, Cells, RunLineage, lineages
from whence.testing.strategies.pipelines import STEPS, Row

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import SparkSession

    from whence.log import Log
    from whence.spark.pipeline import Pipeline

MOST_WORLDS = 200
Step = tuple[str, int]  # its name, and which table its second input is

# Converts a table of any numbers to the columns that steps expect: a string, two integers, a float.
SHAPED = (
    "select case when {a} > 1 then 'a' when {a} < 100 then 'b' end as k, "
    "cast(case when {b} > -100 and {b} < 100 then {b} else 4 end as int) as v, "
    "cast(case when {a} > -100 and {a} < 100 then {a} else 1 end as int) as w, {b} as x from {view}"
)


class Unjudged(Exception):
    """The chain has nondeterministic steps or too many equal rows, so its expected answers are unknown."""


@dataclass(frozen=True, slots=True)
class Part:
    """A pipeline, the output columns that become an array, and pairs of plain and tracked functions of the array."""

    steps: tuple[Step, ...]
    columns: tuple[str, ...] = ("v", "x")
    functions: tuple[tuple[str, str], ...] = ()
    materialize: bool = False
    frame: bool = False  # handed over as a frame, and directly back


@dataclass(frozen=True, slots=True)
class Chain:
    """Two tables, parts that each continue from the one before, and the steps of a last pipeline."""

    left: tuple[Row, ...]
    right: tuple[Row, ...]
    parts: tuple[Part, ...]
    last: tuple[Step, ...] = ()
    handed: bool = True  # whether the output of the last pipeline is handed over; if so, its equal rows have an order
    later: bool = False  # asked through another opening of the log, which does not have the pipelines


@dataclass(frozen=True, slots=True)
class ArrayStep:
    """An array or a hand-over and its input: `sets` has the input cells for each of its cells."""

    output: str
    input: str
    sets: Sets

    def backward(self, cells: Iterable[Cell], lineage: str, world: World) -> Cells:
        """The input cells of some cells."""
        return frozenset().union(*(self.sets[cell] for cell in cells))

    def forward(self, cells: Iterable[Cell], lineage: str, world: World) -> Cells:
        """The output cells of some cells."""
        given = frozenset(cells)
        return frozenset(cell for cell in np.ndindex(*self.sets.shape) if given & self.sets[cell])


@dataclass(frozen=True, slots=True)
class RunStep:
    """The output of a run, and one of its sources."""

    output: str
    input: str
    source: str
    run: int
    width: int  # columns of the source

    def backward(self, cells: Iterable[Cell], lineage: str, world: World) -> Cells:
        """The source cells of some cells."""
        return world[self.run].backward(self.source, cells, lineage)

    def forward(self, cells: Iterable[Cell], lineage: str, world: World) -> Cells:
        """The output cells of some cells."""
        return world[self.run].forward(self.source, self.width, cells, lineage)


World = tuple[RunLineage, ...]  # one assignment for each run


@dataclass
class Recorded:
    """A chain that ran: its datasets in the order of creation, with their shapes, and the steps between them."""

    log: Log
    spark: SparkSession
    shapes: dict[str, tuple[int, ...]] = field(default_factory=dict)
    steps: list[ArrayStep | RunStep] = field(default_factory=list)
    worlds: list[World] = field(default_factory=list)
    pipelines: list[Pipeline] = field(default_factory=list)
    _views: list[str] = field(default_factory=list)
    _arrays: list[Any] = field(default_factory=list)  # keep the arrays alive, as a program would

    @classmethod
    def of(cls, chain: Chain, spark: SparkSession, log: Log, folder: Path) -> Recorded:
        """Run the chain. Raise `Unjudged` if the expected answers are unknown."""
        from whence.testing.table_cells.functions import USERS as interpreted

        made = cls(log, spark)
        for name, function in USERS.items():
            interpreted[name] = function
            spark.udf.register(name, function, "int")
        made._files(chain, folder)
        runs: list[list[RunLineage]] = []
        last = "rx"
        for number, part in enumerate(chain.parts):
            pipeline, output = made._run(last, part.steps, f"p{number}", runs)
            last = made._through_arrays(pipeline, output, part, number)
        if chain.last:
            made._run(last, chain.last, "report", runs, over=chain.handed)
        made.worlds = list(itertools.product(*runs))
        return made

    def expected(self, start: str, cells: Cells, direction: str, lineage: str, world: World) -> Mapping[str, Cells]:
        """All cells, by dataset, that cells of a dataset came from or went to."""
        reached: dict[str, set[Cell]] = {start: set(cells)}
        names = list(self.shapes)
        for here in reversed(names) if direction == "backward" else names:
            for step in self.steps:
                there = self._beyond(step, here, direction)
                if there is not None and reached.get(here):
                    follow = step.backward if direction == "backward" else step.forward
                    reached.setdefault(there, set()).update(follow(reached[here], lineage, world))
        return {name: frozenset(found) for name, found in reached.items()}

    @staticmethod
    def _beyond(step: ArrayStep | RunStep, here: str, direction: str) -> str | None:
        ends = (step.output, step.input) if direction == "backward" else (step.input, step.output)
        return ends[1] if ends[0] == here else None

    def _files(self, chain: Chain, folder: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        schema = pa.schema([("k", pa.string()), ("v", pa.int32()), ("w", pa.int32()), ("x", pa.float64())])
        for name, rows in (("rx", chain.left), ("ry", chain.right)):
            table = pa.Table.from_pylist([dict(zip("kvwx", row, strict=True)) for row in rows], schema)
            pq.write_table(table, folder / f"{name}.parquet")
            self.spark.read.parquet(str(folder / f"{name}.parquet")).createOrReplaceTempView(name)
            self._views.append(name)
            self.shapes[name] = (len(rows), 4)

    def _run(
        self, last: str, steps: Iterable[Step], name: str, runs: list[list[RunLineage]], *, over: bool = True
    ) -> tuple[Pipeline, str]:
        """Run a pipeline over a view, hand its output over, and note all possible lineages."""
        from whence.rows.determinism.reasons import unpinned

        df = self.spark.table(last)
        for number, (step, other) in enumerate(steps):
            second = self._views[other % len(self._views)]
            if step == "drop duplicates":
                df = df.dropDuplicates(["k", "v"])
            else:
                df = self.spark.sql((STEPS | USED)[step].format(x=last, y=second))
            last = f"{name}_{number}"
            df.createOrReplaceTempView(last)
            self._views.append(last)
        pipeline = self.log.pipeline(df, name=name)
        if unpinned(pipeline.plan):
            raise Unjudged
        if over:
            pipeline.to_pandas(f"{name} rows")
        else:
            pipeline.run()
        output = str(self.log.runs()[-1].record.document["table"])
        rows = _rows(self.log, output)
        self.shapes[output] = (len(rows), len(df.columns))
        if over:
            self._array(f"{name} rows", output, cells_of(self.shapes[output]))
        found = list(_some(lineages(pipeline, rows)))
        runs.append(found)
        if np.prod([len(each) for each in runs]) > MOST_WORLDS:
            raise Unjudged
        width = {each.name: len(each.columns) for each in reversed(pipeline.analysis.sources)}
        for source in dict.fromkeys(each.name for each in pipeline.analysis.sources):
            self.steps.append(RunStep(output, source, source, len(runs) - 1, width[source]))
        self.pipelines.append(pipeline)
        return pipeline, output

    def _through_arrays(self, pipeline: Pipeline, output: str, part: Part, number: int) -> str:
        """Hand over, call functions, hand back; return the view that the next pipeline starts from."""
        if part.materialize:
            pipeline.materialize()
        back = f"t{number}"
        if part.frame:
            frame = pipeline.to_pandas(f"f{number}")
            if not frame["k"].isna().all():
                self._array(f"f{number}", output, cells_of(self.shapes[output]))
                self._back(frame, f"f{number}", back, None)
                return self._shaped(back, "v", "x")
        places = [list(pipeline.analysis.df.columns).index(each) for each in part.columns]
        name = f"x{number}"
        values = pipeline.to_numpy(list(part.columns), name=name)
        self._array(name, output, cells_of(self.shapes[output])[:, places])
        for at, (plain, tracked) in enumerate(part.functions):
            values, name = self._called(values, name, PLAIN[plain], FUNCTIONS[tracked], f"a{number}_{at}")
        columns = [f"c{place}" for place in range(values.shape[1])]
        self._back(values, name, back, columns)
        return self._shaped(back, columns[0], columns[-1])

    def _called(self, values: Any, name: str, plain: Function, tracked: Function, made: str) -> tuple[Any, str]:
        """Call a tracked function after a plain one."""
        if len(values) < max(plain.least, 1) or not values.shape[1]:
            plain = PLAIN["nothing"]
        given = plain.run(values)
        if len(given) < tracked.least:
            return values, name
        sets = plain.sets(cells_of(values.shape), values)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # answers must say where lineage starts again; NaN is a number
            result = self.log.track(tracked.run, names={"return": made}, name=f"{made} call")(given)
        self._arrays += [values, given, result]
        found = tracked.sets(sets, given)
        assert found.shape == result.shape, f"{made}: {found.shape} is not {result.shape}"
        linked = name in self.log.backward(made, "...").reached if result.size else False
        if linked or given is values or np.shares_memory(given, values):
            self._array(made, name, found)
        else:
            self.shapes[made] = result.shape  # a copy that is not recognized as one
        return result, made

    def _back(self, value: Any, name: str, made: str, columns: list[str] | None) -> None:
        """Hand an array or a frame to Spark."""
        self.log.to_spark(value, self.spark, name=made, columns=columns).createOrReplaceTempView(made)
        self._array(made, name, cells_of(self.shapes[name]))

    def _shaped(self, view: str, first: str, last: str) -> str:
        made = f"{view}_shaped"
        self.spark.sql(SHAPED.format(a=first, b=last, view=view)).createOrReplaceTempView(made)
        self._views.append(made)
        return made

    def _array(self, name: str, input: str, sets: Sets) -> None:
        self.shapes[name] = sets.shape
        self.steps.append(ArrayStep(name, input, sets))


USERS: dict[str, Callable[..., Any]] = {
    "bumped": lambda number: None if number is None else number + 1,
    "looked_up": lambda number: {None: 3, 1: 2}.get(number, 1),
}
"""Python functions that steps use."""

USED = {
    "python": "select k, bumped(v) as v, w, x from {x}",
    "python, closed": "select k, v, looked_up(w) as w, x from {x}",
    "python, condition": "select * from {x} where bumped(v) > 2",
}
"""Steps with Python functions."""


def _rows(log: Log, name: str) -> list[tuple[Any, ...]]:
    from whence.spark.tables.held import held_table

    held = held_table(log._store, name)
    table = held.arrow(np.arange(held.shape[0]))
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _some(found: Iterator[RunLineage]) -> Iterator[RunLineage]:
    for count, each in enumerate(found):
        if count == MOST_WORLDS:
            raise Unjudged
        yield each
