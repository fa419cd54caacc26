"""Systems that store a chain of lineage steps and answer questions along it: one class for each baseline.

All have the same four moves: `store` the steps, `open` them (nothing that was held before is reused), `ask` for a box
of cells, and tell the `cells` of an answer as row-major numbers. A side without axes gets one axis of one cell, since
a table needs a column.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from bench.baselines import columns, provrc, provrc_query, turbo
from numpy.typing import NDArray

from whence.testing.operations import Raw

Ints = NDArray[np.int64]
Box = tuple[tuple[int, int], ...]  # the first and last index on each axis

FORWARD, BACKWARD = "forward", "backward"
THREADS = 2


def padded(raw: Raw) -> Raw:
    """The step with at least one axis on either side."""
    tuples, out_shape, in_shape = raw
    zeros = np.zeros((len(tuples), 1), dtype=np.int64)
    if not out_shape:
        tuples, out_shape = np.concatenate([zeros, tuples], axis=1), (1,)
    if not in_shape:
        tuples, in_shape = np.concatenate([tuples, zeros], axis=1), (1,)
    return Raw(tuples, out_shape, in_shape)


def forget(paths: Sequence[Path]) -> None:
    """Ask the kernel to drop these files from its page cache, so that the next reading is a cold one."""
    for path in paths:
        with open(path, "rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


class System(ABC):
    """A way to store a chain of steps, in the order in which they ran, and to ask it."""

    name: str

    def __init__(self, directory: Path) -> None:
        self.directory = directory / self.name.replace(" ", "-")
        self.directory.mkdir()
        self.shapes: list[tuple[tuple[int, ...], tuple[int, ...]]] = []

    def store(self, steps: Sequence[Raw]) -> None:
        """Write every step to disk."""
        steps = [padded(step) for step in steps]
        self.shapes = [(step.out_shape, step.in_shape) for step in steps]
        self.write(steps)

    @abstractmethod
    def write(self, steps: Sequence[Raw]) -> None:
        """Write the steps, each side of which has an axis."""

    @abstractmethod
    def open(self) -> None:
        """Open what is stored."""

    @abstractmethod
    def ask(self, box: Box, direction: str, limit: float) -> Any:
        """The answer to one question, in the system's own form; TimeoutError after `limit` seconds."""

    def cells(self, answer: Any, direction: str) -> Ints:
        """The sorted row-major numbers of an answer, which is an array of index columns unless a class says other."""
        shape = self.shapes[-1][0] if direction == FORWARD else self.shapes[0][1]
        return np.sort(np.ravel_multi_index(tuple(answer), shape))

    @abstractmethod
    def close(self) -> None:
        """Let go of files and memory; what is stored stays."""

    def path(self, number: int, suffix: str) -> Path:
        return self.directory / f"step{number}.{suffix}"

    def size(self) -> int:
        """Bytes on disk."""
        return sum(file.stat().st_size for file in self.directory.iterdir())

    def walk(self, direction: str) -> list[tuple[int, list[str], list[str]]]:
        """For each step to take: its number, the columns asked and the columns answered."""
        steps = []
        for number, (out_shape, in_shape) in enumerate(self.shapes):
            outs, ins = columns.names(len(out_shape), 0), columns.names(0, len(in_shape))
            steps.append((number, ins, outs) if direction == FORWARD else (number, outs, ins))
        return steps if direction == FORWARD else steps[::-1]


class Duck(System):
    """Anything that DuckDB can join: the question becomes nested semi-joins, distinct after each step."""

    connection: duckdb.DuckDBPyConnection

    def source(self, number: int) -> str:
        """How a step is named in SQL."""
        raise NotImplementedError

    def connect(self, database: str = ":memory:", read_only: bool = False) -> None:
        self.connection = duckdb.connect(database, read_only=read_only)
        self.connection.execute(f"SET threads = {THREADS}; SET memory_limit = '6GB'")
        self.connection.execute(f"SET temp_directory = '{self.directory}/spill'")

    def close(self) -> None:
        with contextlib.suppress(AttributeError):  # never opened
            self.connection.close()

    def sql(self, box: Box, direction: str) -> str:
        """The whole question as one statement."""
        query, before = "", [""]
        for number, asked, answered in self.walk(direction):
            source, select = self.source(number), ", ".join(answered)
            if not query:
                where = " AND ".join(f"{name} BETWEEN {a} AND {b}" for name, (a, b) in zip(asked, box, strict=True))
                query = f"SELECT DISTINCT {select} FROM {source} WHERE {where}"
            else:
                on = " AND ".join(f"t.{one} = q.{two}" for one, two in zip(asked, before, strict=True))
                chosen = ", ".join(f"t.{name}" for name in answered)
                query = f"SELECT DISTINCT {chosen} FROM {source} t SEMI JOIN ({query}) q ON {on}"
            before = answered
        return query

    def ask(self, box: Box, direction: str, limit: float) -> Any:
        alarm = threading.Timer(limit, self.connection.interrupt)
        alarm.start()
        try:
            found = self.connection.execute(self.sql(box, direction)).fetchnumpy()
        except duckdb.InterruptException as error:
            raise TimeoutError from error
        finally:
            alarm.cancel()
        return list(found.values())


class RawTables(Duck):
    """The tuples as plain DuckDB tables."""

    name = "Raw"

    def write(self, steps: Sequence[Raw]) -> None:
        self.connect(str(self.directory / "raw.duckdb"))
        for number, step in enumerate(steps):
            rows = columns.table(step.tuples, columns.names(len(step.out_shape), len(step.in_shape)))
            self.connection.register("rows_in", rows)
            self.connection.execute(f"CREATE TABLE step{number} AS SELECT * FROM rows_in")
            self.connection.unregister("rows_in")
        self.close()

    def open(self) -> None:
        self.connect(str(self.directory / "raw.duckdb"), read_only=True)

    def source(self, number: int) -> str:
        return f"step{number}"


class Parquet(Duck):
    """Parquet files, joined where they lie."""

    name = "Parquet"
    compression = "snappy"

    def write(self, steps: Sequence[Raw]) -> None:
        for number, step in enumerate(steps):
            header = columns.names(len(step.out_shape), len(step.in_shape))
            columns.write_parquet([step.tuples], self.path(number, "parquet"), header, self.compression)

    def open(self) -> None:
        self.connect()

    def source(self, number: int) -> str:
        return f"read_parquet('{self.path(number, 'parquet')}')"


class ParquetGZip(Parquet):
    """The same, compressed with GZip."""

    name = "Parquet-GZip"
    compression = "gzip"


class Turbo(Duck):
    """Entropy-coded columns: decoded for each question, then joined by DuckDB."""

    name = "Turbo-RC-like"

    def write(self, steps: Sequence[Raw]) -> None:
        for number, step in enumerate(steps):
            turbo.write([step.tuples], self.path(number, "trc"), step.tuples.shape[1])

    def open(self) -> None:
        self.connect()

    def source(self, number: int) -> str:
        return f"decoded{number}"

    def ask(self, box: Box, direction: str, limit: float) -> Any:
        start = time.perf_counter()
        for number, (out_shape, in_shape) in enumerate(self.shapes):
            if time.perf_counter() - start > limit:
                raise TimeoutError
            rows = turbo.read(self.path(number, "trc"))
            header = columns.names(len(out_shape), len(in_shape))
            if not len(rows):
                rows = np.empty((0, len(header)), dtype=np.int64)
            self.connection.register(self.source(number), pa.table(dict(zip(header, rows.T, strict=True))))
        return super().ask(box, direction, limit - (time.perf_counter() - start))


class Arrays(System):
    """.npy files of tuples: rows are picked through a mask of the cells asked about, step by step."""

    name = "Array"

    def write(self, steps: Sequence[Raw]) -> None:
        for number, step in enumerate(steps):
            columns.write_array(step.tuples, self.path(number, "npy"))

    def open(self) -> None:
        self.steps = [np.load(self.path(number, "npy")) for number in range(len(self.shapes))]

    def close(self) -> None:
        self.steps = []

    def ask(self, box: Box, direction: str, limit: float) -> Any:
        deadline = time.perf_counter() + limit
        asked: NDArray[np.bool_] | None = None
        for number, _, _ in self.walk(direction):
            if time.perf_counter() > deadline:
                raise TimeoutError
            out_shape, in_shape = self.shapes[number]
            tuples, cut = self.steps[number], len(out_shape)
            here, there, shape = tuples[:, cut:], tuples[:, :cut], out_shape
            if direction == BACKWARD:
                here, there, shape = there, here, in_shape
            if asked is None:
                hit = np.ones(len(tuples), dtype=bool)
                for axis, (first, last) in enumerate(box):
                    hit &= (here[:, axis] >= first) & (here[:, axis] <= last)
            else:
                hit = asked[tuple(here.T)]
            asked = np.zeros(shape, dtype=bool)
            asked[tuple(there[hit].T)] = True
        return asked

    def cells(self, answer: Any, direction: str) -> Ints:
        return np.flatnonzero(answer)


class ProvRC(System):
    """Plain ProvRC tables (GZip-compressed Parquet, as DSLog keeps them), one for each direction, asked in place."""

    name = "ProvRC"

    def write(self, steps: Sequence[Raw]) -> None:
        for number, step in enumerate(steps):
            cut = len(step.out_shape)
            provrc.write(provrc.compress([step.tuples], cut), self.path(number, BACKWARD), "gzip")
            mirrored = np.concatenate([step.tuples[:, cut:], step.tuples[:, :cut]], axis=1)
            mirrored = mirrored[np.lexsort(mirrored.T[::-1])]
            provrc.write(provrc.compress([mirrored], len(step.in_shape)), self.path(number, FORWARD), "gzip")

    def open(self) -> None:
        self.indexes: dict[tuple[int, str], provrc_query.Index] = {}

    def close(self) -> None:
        self.indexes = {}

    def index(self, number: int, direction: str) -> provrc_query.Index:
        """The table of one step and direction, read on the first question and kept."""
        if (number, direction) not in self.indexes:
            out_axes, in_axes = map(len, self.shapes[number])
            sides = (in_axes, out_axes) if direction == FORWARD else (out_axes, in_axes)
            self.indexes[number, direction] = provrc_query.Index.of(
                provrc.read(self.path(number, direction), *sides)
            )  # fmt: skip
        return self.indexes[number, direction]

    def ask(self, box: Box, direction: str, limit: float) -> Any:
        deadline = time.perf_counter() + limit
        low, high = (np.array([[bounds[end] for bounds in box]], dtype=np.int64) for end in (0, 1))
        for number, _, _ in self.walk(direction):
            low, high = provrc_query.step(self.index(number, direction), (low, high), deadline)
        return low, high

    def cells(self, answer: Any, direction: str) -> Ints:
        return provrc_query.cells(answer, self.shapes[-1][0] if direction == FORWARD else self.shapes[0][1])


BASELINES: tuple[type[System], ...] = (RawTables, Arrays, Parquet, ParquetGZip, Turbo, ProvRC)


@contextlib.contextmanager
def opened(system: System) -> Iterator[System]:
    """The system, open; closed afterwards."""
    system.open()
    try:
        yield system
    finally:
        system.close()
