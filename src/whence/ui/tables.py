"""The table view: pages of rows, which DuckDB sorts and filters, and the lineage of rows."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from whence.errors import StoreError, WhenceError
from whence.graph.finding import split_version
from whence.selection import Selection
from whence.store.answers import boxes as spelled
from whence.ui import answers
from whence.ui.explorer import BadRequest, Explorer, Params, number, text

if TYPE_CHECKING:
    from whence.spark.stored.run import StoredRun

ROWS = 100  # rows of one page
MOST_ROWS = 1000
BLOCK = 1000  # rows read at once: sorting for one page takes as long as for ten
NUMBER = "file_row_number"
_READ = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}


@dataclass(frozen=True, slots=True)
class TableFiles:
    """The files of a table, and whether they are the version in the log: None if that is unknown.

    `columns` maps names of columns to their names in the files. `starts` are the row numbers of the first rows of the
    files, if the log numbers the rows.
    """

    name: str
    paths: tuple[str, ...]
    reader: str
    same: bool | None = True
    columns: tuple[tuple[str, str], ...] = ()
    starts: tuple[int, ...] = ()

    @property
    def is_traced(self) -> bool:
        """Whether the log can trace its rows."""
        return bool(self.starts)


def has_table(explorer: Explorer, name: str) -> bool:
    """Whether there are rows to show."""
    try:
        return _place(explorer, name) is not None
    except WhenceError:
        return False


def may_be_table(name: str) -> bool:
    """Whether the suffix of a file is that of a table.

    >>> may_be_table("raw/a.csv@v2"), may_be_table("model.bin@v1")
    (True, False)
    """
    return Path(split_version(name)[0]).suffix.lower() in _READ


def _place(explorer: Explorer, name: str) -> TableFiles | None:
    """Return the files with the rows of a dataset: of a table in the log, or the file of a version; else None."""
    graph = explorer.graph()
    at = graph.ids.find(name)
    if at is None:
        return None
    own = graph.properties.row(at)
    if own.get("kind") == "table":
        return _held(explorer, name)
    artifact = own.get("artifact")
    reader = _READ.get(Path(str(artifact)).suffix.lower())
    if reader is None or not isinstance(artifact, str):
        return None
    from whence.store.recording.artifacts import project_of

    path = Path(project_of(explorer.log.where), artifact)
    if not path.is_file():
        return None
    size = own.get("size")
    return TableFiles(name, (str(path),), reader, path.stat().st_size == size if isinstance(size, int) else None)


def _held(explorer: Explorer, name: str) -> TableFiles:
    from whence.spark.tables.held import held_table

    held = held_table(explorer.log._store, name)
    columns = tuple(zip(held.names, (attr.name for attr in held.files.columns), strict=True))
    return TableFiles(name, tuple(held.files.paths), "read_parquet", True, columns, tuple(held.numbering.offsets))


@contextmanager
def _connected() -> Iterator[Any]:
    from whence.rows.duck.engine import connected

    with connected() as connection:
        yield connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source_of(place: TableFiles) -> tuple[str, list[Any]]:
    """Return a query for the rows with their row numbers, and its parameters."""
    files: list[Any] = [list(place.paths)]
    if place.reader != "read_parquet":
        return f"SELECT *, row_number() OVER () - 1 AS {NUMBER} FROM {place.reader}(?)", files
    if not place.is_traced:
        return "SELECT * FROM read_parquet(?, file_row_number = true)", files
    if place.starts == (0,):
        named = ", ".join(f"{_quoted(held)} AS {_quoted(name)}" for name, held in place.columns)
        return f"SELECT {named}, {NUMBER} FROM read_parquet(?, file_row_number = true)", files
    named = ", ".join(f"{_quoted(held)} AS {_quoted(name)}" for name, held in place.columns)
    number = f"{NUMBER} + list_extract(?::BIGINT[], list_position(?::VARCHAR[], filename)) AS {NUMBER}"
    source = "read_parquet(?, file_row_number = true, filename = true)"
    return f"SELECT {named}, {number} FROM {source}", [list(place.starts), *files, *files]


def table(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Return a page of rows: `from`, `rows`, `sort` (a column, with - for descending), `where` (column, string)."""
    name_of = text(params, "name")
    place = _found(explorer, name_of)
    start, count = number(params, "from", 0), number(params, "rows", ROWS, 1, MOST_ROWS)
    held = Held(explorer, place)
    names = [name for name, _ in held.columns()]
    where, given = _where(params, names)
    order = _order(params, names)
    page = held.page(start, count, where, given, order)
    run = _run(explorer, name_of)
    return {
        "name": place.name, "columns": [{"name": name, "type": kind} for name, kind in held.columns()],
        "total": held.total(where, given),
        "rows": [{"number": row[0], "cells": [shown_value(each) for each in row[1:]]} for row in page], "from": start,
        "same": place.same, "traced": place.is_traced, "pipeline": run.pipeline if run is not None else None,
    }  # fmt: skip


class Held:
    """The rows of a table's files; DuckDB reads them in blocks, which are cached for the next pages."""

    def __init__(self, explorer: Explorer, place: TableFiles) -> None:
        self._explorer, self._place = explorer, place
        try:
            stats = [Path(path).stat() for path in place.paths]
        except OSError as error:
            raise StoreError(f"{place.name!r} cannot be read: {error.strerror or error}") from error
        self._key = ("rows", place.name, *((each.st_mtime_ns, each.st_size, each.st_ino) for each in stats))
        self._source, self._files = _source_of(place)

    def columns(self) -> list[tuple[str, str]]:
        """Return the names and types of the columns."""
        found = self._asked(f"DESCRIBE {self._source}", self._files)
        return [(name, str(kind)) for name, kind, *_ in found if name != NUMBER]

    def total(self, where: str, given: list[str]) -> int:
        """Count the rows that pass the filters."""
        ((total,),) = self._asked(f"SELECT count(*) FROM ({self._source}) {where}", [*self._files, *given])
        return int(total)

    def page(self, start: int, count: int, where: str, given: list[str], order: str) -> list[tuple[Any, ...]]:
        """Return rows in order, each with its row number before its values."""
        picked = ", ".join([NUMBER, *(_quoted(name) for name, _ in self.columns())])
        # Sorting reads few columns. Fetching all columns of a block, from everywhere in the file, would take longer.
        late = bool(order) and self._place.reader == "read_parquet" and len(self._place.paths) == 1
        blocks = range(start // BLOCK, (start + count - 1) // BLOCK + 1)
        found = [row for block in blocks for row in self._block(block, NUMBER if late else picked, where, given, order)]
        page = found[start - blocks[0] * BLOCK :][:count]
        if not late or not page:
            return page
        numbers = [number for number, *_ in page]
        query = f"SELECT {picked} FROM ({self._source}) WHERE {NUMBER} IN (SELECT unnest(?::BIGINT[]))"
        rows = {row[0]: row for row in self._asked(query, [*self._files, numbers])}
        return [rows[number] for number in numbers]

    def _block(self, number: int, picked: str, where: str, given: list[str], order: str) -> list[tuple[Any, ...]]:
        query = f"SELECT {picked} FROM ({self._source}) {where} {order} LIMIT ? OFFSET ?"
        return self._asked(query, [*self._files, *given, BLOCK, number * BLOCK])

    def _asked(self, query: str, given: list[Any]) -> list[tuple[Any, ...]]:
        import duckdb

        def make() -> list[tuple[Any, ...]]:
            with _connected() as connection:
                try:
                    found: list[tuple[Any, ...]] = connection.execute(query, given).fetchall()
                except duckdb.Error as error:
                    raise StoreError(f"{self._place.name!r} cannot be read: {str(error).splitlines()[0]}") from error
            return found

        return self._explorer.once((*self._key, query, json.dumps(given)), make)


def _run(explorer: Explorer, name: str) -> StoredRun | None:
    """Return the run whose output a table is, or None."""
    graph = explorer.graph()
    run = graph.properties.get(graph.ids.number(name), "run")
    return next((each for each in explorer.log.runs() if each.id == run), None) if run is not None else None


def _carriers(explorer: Explorer, name: str, wanted: str) -> dict[str, set[str]]:
    """Return the columns of each source that are value lineage of an output column; other columns of an answer are
    selection lineage, such as join keys."""
    from whence.rows.columns import columns

    run = _run(explorer, name)
    if run is None:
        return {}
    try:
        planned = columns(run._analysis.plan)
    except WhenceError:  # the plan is not stored: value and selection lineage are not distinguished
        return {}
    found: dict[str, set[str]] = {source: set() for source in run.sources}
    for attr, own in planned:
        for source, column in own.direct if attr.name == wanted else ():
            found.setdefault(source, set()).add(column)
    return found


def _found(explorer: Explorer, name: str) -> TableFiles:
    place = _place(explorer, name)
    if place is None:
        raise BadRequest(f"the rows of {name!r} are not known: it is not a table, or its file is gone")
    return place


def _where(params: Params, names: list[str]) -> tuple[str, list[str]]:
    given = params.get("where", "")
    if not given:
        return "", []
    try:
        wanted = json.loads(given)
    except ValueError:
        wanted = None
    if not isinstance(wanted, dict):
        raise BadRequest("'where' maps columns to texts, in JSON")
    parts, values = [], []
    for name, value in wanted.items():
        if name not in names:
            raise BadRequest(f"there is no column {name!r}; there are {', '.join(names)}")
        if str(value).startswith("="):
            parts.append(f"CAST({_quoted(name)} AS VARCHAR) = ?")
            values.append(str(value)[1:])
        else:
            parts.append(f"contains(lower(CAST({_quoted(name)} AS VARCHAR)), lower(?))")
            values.append(str(value))
    return ("WHERE " + " AND ".join(parts), values) if parts else ("", [])


def _order(params: Params, names: list[str]) -> str:
    given = params.get("sort", "")
    if not given:
        return ""
    name, way = (given[1:], "DESC") if given.startswith("-") else (given, "ASC")
    if name not in names:
        raise BadRequest(f"there is no column {name!r}; there are {', '.join(names)}")
    return f"ORDER BY {_quoted(name)} {way} NULLS LAST, {NUMBER}"


def shown_value(value: Any) -> Any:
    """Return a value that JSON and JavaScript represent exactly; convert others to strings."""
    if isinstance(value, bool | int | str | None):
        return value if not isinstance(value, int) or abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, dt.date | dt.datetime | dt.time | decimal.Decimal):
        return str(value)
    return repr(value)[:400]


def rows(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Find where a row, or one cell of it, came from or went, in every dataset of the chain, with the rows."""
    name, row = text(params, "name"), number(params, "row", 0)
    direction = params.get("way", "backward")
    if direction not in ("backward", "forward"):
        raise BadRequest("'way' is backward or forward")
    place = _found(explorer, name)
    if not place.is_traced:
        return {
            "available": False,
            "sources": [],
            "reason": "the log knows this file only as a whole: only tables of pipelines have row lineage",
        }
    names = [each for each, _ in place.columns]
    column = params.get("column", "")
    if column and column not in names:
        raise BadRequest(f"there is no column {column!r}; there are {', '.join(names)}")
    asked = answers.selected(explorer.log, name, f"{row},{names.index(column) if column else ':'}")
    found = answers.reached(explorer.log, direction, name, asked)  # type: ignore[arg-type] # checked above
    carriers = _carriers(explorer, name, column) if column and direction == "backward" else {}
    return {
        "available": True, "precise": found.answer.precise, "reason": found.answer.reason,
        "notes": [each for each in found.answer.notes if each not in found.answer.reasons],
        "ms": round(found.seconds * 1000, 1),
        "sources": [_source(explorer, each, cells, carriers.get(each)) for each, cells in found.cells.items()],
    }  # fmt: skip


def _source(explorer: Explorer, name: str, cells: Selection, carriers: set[str] | None) -> dict[str, Any]:
    """Return cells of a dataset; for a table, with its first rows, the columns of the cells, and those of them that are
    value lineage, if known."""
    kind = explorer.log.show(name).dataset.kind
    shown: dict[str, Any] = {"name": name, "kind": kind, "count": cells.count, "text": spelled(cells), "columns": []}
    shown |= {"rows": [], "marked": [], "carried": None, "found": 0}
    if kind != "table" or len(cells.shape) != 2 or not cells:  # a directory is one cell
        return shown
    spans = [np.arange(first, last + 1) for first, last in cells.boxes[:, 0].tolist()]
    numbers = np.unique(np.concatenate(spans))
    columns = {at for first, last in cells.boxes[:, 1].tolist() for at in range(first, last + 1)}
    try:
        fetched = explorer.log._store.tables.arrow(name, numbers[:ROWS], None)
    except WhenceError as error:  # the cells are known, but the rows cannot be read
        return shown | {"found": len(numbers), "unread": str(error)}
    held = zip(numbers.tolist(), zip(*(each.to_pylist() for each in fetched.columns), strict=True), strict=False)
    marked = [each for at, each in enumerate(fetched.column_names) if at in columns]
    return shown | {
        "found": len(numbers), "columns": fetched.column_names, "marked": marked,
        "carried": None if carriers is None else [each for each in marked if each in carriers],
        "rows": [{"number": at, "cells": [shown_value(value) for value in row]} for at, row in held],
    }  # fmt: skip
