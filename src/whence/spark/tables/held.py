"""Read tables of the log: rows by number, and numbers of rows by value."""

from __future__ import annotations

import os
import shutil
import tempfile
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import BadType, NoLineage, NoSuchRow, SourceChanged, UnknownName
from whence.rows import Attr, Compare, conjunction, fresh
from whence.rows.arrow import integers, numbers_of
from whence.rows.duck import Files, numbered, select
from whence.rows.duck.asking import equal_rows
from whence.rows.duck.files import SHIFT
from whence.rows.questions.from_pandas import is_frame, is_series, rows_of
from whence.rows.questions.rows import asked_rows, described, predicate
from whence.selection import Selection, distinct
from whence.spark.sources.numbering import Numbering
from whence.spark.tables.read_again import Refused, read_again

if TYPE_CHECKING:
    import pyarrow as pa

    from whence.spark.sources.numbering import Ints
    from whence.store import Store


@dataclass(frozen=True)
class HeldTable:
    """A dataset of the log that is a table, and the files with its rows."""

    name: str
    shape: tuple[int, ...]
    columns: tuple[Attr, ...]  # with the table's names
    files: Files  # with the names in the files
    numbering: Numbering  # how the rows in the files are numbered
    folder: object = None  # a temporary directory of the files; it lasts as long as this object

    @property
    def names(self) -> list[str]:
        """The names of the columns."""
        return [attr.name for attr in self.columns]

    def arrow(self, numbers: Ints, columns: Sequence[int] | None = None) -> pa.Table:
        """The rows with these numbers, in the order of their numbers: all columns, or some by index."""
        import pyarrow as pa

        ids = self.numbering.ids(numbers)
        found = numbered(self.files, integers(ids), identity=True)
        if found is None:  # DuckDB reads this data differently from Spark
            held = pa.concat_tables(
                [_read(path, self.files) for path in self.files.paths], promote_options="permissive"
            )
            found = held.take(pa.array(np.asarray(numbers, np.int64)))
        else:
            order = np.argsort(self.numbering.numbers(numbers_of(found.column(found.num_columns - 1))), kind="stable")
            found = found.select(range(found.num_columns - 1)).take(integers(order))
        found = found.rename_columns(self.names)
        return found if columns is None else found.select(list(columns))

    def equal_to(self, rows: pa.Table) -> Ints:
        """The numbers of the rows that are equal to one of these, which have the same columns."""
        import pyarrow as pa

        from whence.rows.duck.engine import connected

        found = equal_rows(self.files, rows)
        if found is not None:
            return np.sort(self.numbering.numbers(numbers_of(found)))
        own = self.arrow(np.arange(self.shape[0]))  # DuckDB reads this data differently from Spark
        names = [f"c{place}" for place in range(own.num_columns)]
        same = " AND ".join(f"a.{name} IS NOT DISTINCT FROM b.{name}" for name in names) or "true"
        with connected() as connection:
            numbers = pa.array(np.arange(own.num_rows))
            connection.register("own", own.rename_columns(names).append_column("number", numbers))
            connection.register("given", rows.rename_columns(names))
            places = connection.execute(f"SELECT a.number FROM own a SEMI JOIN given b ON {same}").fetchnumpy()
        return np.sort(np.asarray(places["number"], np.int64))

    def matching(self, rows: object) -> Ints:
        """The numbers of the rows that equal one of the given rows in the columns that it names."""

        if is_frame(rows) or is_series(rows):
            rows = rows_of(rows)
        asked = asked_rows(self.columns, rows)
        own = dict(zip(self.columns, self.files.columns, strict=True))
        where = predicate(tuple(tuple((own[attr], value) for attr, value in row) for row in asked))
        found = select(self.files, where, identity=True, columns=())
        if found is None:
            raise BadType(
                f"rows of {self.name!r} cannot be looked up by these columns without Spark: use p.backward, or give"
                " row numbers"
            )
        numbers = np.sort(self.numbering.numbers(numbers_of(found.column(0))))
        if not len(numbers):
            raise NoSuchRow(f"no row of {self.name!r} is {described(asked[0])}")
        return numbers

    def agreeing(self, rows: pa.Table) -> Ints:
        """Like `matching`, for many rows with one join. Their columns must have the names and types of some table
        columns.
        """

        own = {attr.name: (attr, held) for attr, held in zip(self.columns, self.files.columns, strict=True)}
        given = tuple(fresh(name, own[name][0].dtype) for name in rows.column_names)
        same = conjunction(*(Compare("<=>", own[attr.name][1], attr) for attr in given))
        table = rows.rename_columns([f"c{place}" for place in range(rows.num_columns)])
        found = select(self.files, same, table, given, identity=True, columns=())
        if found is None:
            raise BadType(
                f"rows of {self.name!r} cannot be looked up by {', '.join(rows.column_names)} without Spark: give"
                " row numbers, in one column"
            )
        return np.sort(self.numbering.numbers(numbers_of(found.column(0))))


def held_table(store: Store, name: str) -> HeldTable:
    """Return the table of a dataset. Raise, with the reason, if its rows cannot be read here."""
    from whence.store.catalog import statements

    with store.database.read() as connection:
        dataset = statements.dataset(connection, name)
    if dataset.kind != "table" or "columns" not in dataset.properties:
        raise BadType(f"only tables have rows and columns, and {name!r} is an {dataset.kind}: give its cells by index")
    properties = dataset.properties
    if isinstance(same := properties.get("rows_of"), str):
        held = held_table(store, same)
        return HeldTable(name, dataset.shape, held.columns, held.files, held.numbering)
    if "types" not in properties:
        raise NoLineage(f"the rows of {name!r} are not in the log: give its cells by number")
    columns = tuple(
        fresh(column, dtype) for column, dtype in zip(properties["columns"], properties["types"], strict=True)
    )
    if "run" in properties or "blobs" in properties:
        return _saved(store, name, dataset.shape, columns, properties)
    return _source(name, dataset.shape, columns, properties)


def selected(store: Store, name: str, rows: object, columns: Sequence[str] | None = None) -> Selection:
    """Return the cells of a table in the given rows. `rows` is a dictionary, a list of them, or None for all rows."""
    held = held_table(store, name)
    places = column_places(held.names, columns)
    numbers = np.arange(held.shape[0]) if rows is None else held.matching(rows)
    return cells(numbers, places, held.shape)


def cells(numbers: Ints, places: Sequence[int], shape: tuple[int, ...]) -> Selection:
    """Return the cells in these rows (by number) and columns (by index)."""
    rows, columns = _runs(numbers), _runs(places)
    boxes = np.empty((len(rows), len(columns), 2, 2), np.int64)
    boxes[:, :, 0], boxes[:, :, 1] = rows[:, None], columns[None, :]
    return Selection.from_boxes(boxes.reshape(-1, 2, 2), shape)


def _runs(numbers: Any) -> Ints:
    """The first and last number of each run of consecutive numbers.

    >>> _runs([4, 2, 3, 7]).tolist()
    [[2, 4], [7, 7]]
    """
    numbers = distinct(np.asarray(numbers, np.int64))
    cuts = np.flatnonzero(np.diff(numbers) > 1)
    ends = np.append(cuts, len(numbers) - 1) if len(numbers) else cuts
    starts = np.append(0, cuts + 1) if len(numbers) else cuts
    return np.stack([numbers[starts], numbers[ends]], axis=1)


def column_places(names: Sequence[str], columns: Sequence[str] | None) -> list[int]:
    """The indices of columns given by name, or of all columns if none are given."""
    if columns is None:
        return list(range(len(names)))
    wanted = [columns] if isinstance(columns, str) else list(columns)
    for each in wanted:
        if each not in names:
            raise UnknownName.of("column", each, names)
    return [place for place, name in enumerate(names) if name in wanted]


def _saved(
    store: Store, name: str, shape: tuple[int, ...], columns: tuple[Attr, ...], properties: Mapping[str, Any]
) -> HeldTable:
    if "blobs" not in properties:
        raise NoLineage(
            f"the rows of {name!r} were too many to be saved with the run: p.to_pandas() or p.materialize() saves them"
        )
    paths = tuple(str(store.blobs.local(each, f"the rows of {name!r}")) for each in properties["blobs"])
    held = [fresh(_held_as(each), attr.dtype) for each, attr in zip(properties["blob_columns"], columns, strict=True)]
    return HeldTable(name, shape, columns, Files(paths, tuple(held)), _footers(paths))


def _source(name: str, shape: tuple[int, ...], columns: tuple[Attr, ...], properties: Mapping[str, Any]) -> HeldTable:
    kind, files = properties.get("format"), properties.get("files") or []
    states = {file: (size, changed) for file, size, changed in properties.get("states", ())}
    if kind == "parquet" and files:
        paths = _unchanged(name, files, states)
        held = tuple(fresh(attr.name, attr.dtype) for attr in columns)
        return HeldTable(name, shape, columns, Files(tuple(paths), held), _footers(paths))
    why = f"{name!r} is {kind or 'in memory'}, which only Spark can read as the pipeline did"
    remedy = "give its cells by number, or use p.backward and p.forward"
    if "options" not in properties or not states:
        raise NoLineage(f"{why}: {remedy}")
    paths = _unchanged(name, sorted(states), states)
    try:
        rows = read_again(str(kind), paths, columns, properties["options"], shape[0])
    except Refused as error:
        raise NoLineage(f"{why}: {error}; {remedy}") from error
    return _written(name, shape, columns, rows)


def _unchanged(name: str, files: Sequence[str], states: Mapping[str, tuple[int, int]]) -> list[str]:
    """Return the paths of local files. Raise if one has changed since the run read it."""
    paths = []
    for file in files:
        path = "/" + file.removeprefix("file:").lstrip("/")
        if not file.startswith("file:/"):
            raise NoLineage(f"{name!r} is at {file}, which is not on this machine: give its cells by number")
        if not os.path.exists(path):
            raise SourceChanged(f"{name!r} is gone: there is no {path}; give its cells by number, or restore it")
        found = os.stat(path)
        if file in states and states[file] != (found.st_size, found.st_mtime_ns // 1_000_000):
            raise SourceChanged(f"{name!r} has changed since the run: {path}; restore it, or run the pipeline again")
        paths.append(path)
    return paths


class _Folder:
    """A temporary directory that is removed when this object is no longer referenced."""

    def __init__(self) -> None:
        self.name = tempfile.mkdtemp(prefix="whence-")
        weakref.finalize(self, shutil.rmtree, self.name, ignore_errors=True)


def _written(name: str, shape: tuple[int, ...], columns: tuple[Attr, ...], rows: pa.Table) -> HeldTable:
    """Write rows to a temporary file for DuckDB. The file lasts as long as the table."""
    import pyarrow.parquet as pq

    folder = _Folder()
    path = os.path.join(folder.name, "rows.parquet")
    pq.write_table(rows, path)
    held = tuple(fresh(f"c{place}", attr.dtype) for place, attr in enumerate(columns))
    return HeldTable(name, shape, columns, Files((path,), held), _footers([path]), folder)


def _held_as(column: object) -> str:
    """The name of a column in the file: its own, or one with its index if names may repeat."""
    return column if isinstance(column, str) else f"c{column}"


def _footers(paths: Sequence[str]) -> Numbering:
    import pyarrow.parquet as pq

    return Numbering.of((place << SHIFT, int(pq.read_metadata(path).num_rows)) for place, path in enumerate(paths))


def _read(path: str, files: Files) -> pa.Table:
    import pyarrow.parquet as pq

    return pq.read_table(path).select([attr.name for attr in files.columns])
