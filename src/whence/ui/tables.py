"""Tables: pages of rows through DuckDB, sorted and filtered there; a row's lineage through the log."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from whence.errors import NotTraceable, StoreError, WhenceError
from whence.ui import answers
from whence.ui.explorer import BadRequest, Explorer, Params, number, text

ROWS = 100  # of one page
MOST_ROWS = 1000
OUTPUT = [-1]  # the place of a run's output in its document
NUMBER = "file_row_number"
_READ = {".parquet": "read_parquet", ".csv": "read_csv", ".tsv": "read_csv"}


@dataclass(frozen=True, slots=True)
class Place:
    """Files that hold a table, and whether they are what the log saw: None if that cannot be told."""

    name: str
    paths: tuple[str, ...]
    reader: str
    same: bool | None = True
    columns: tuple[str, ...] = ()  # what they are called, where the files do not say


def has_table(explorer: Explorer, name: str) -> bool:
    """Whether there are rows to be shown."""
    try:
        return _place(explorer, name) is not None
    except WhenceError:
        return False


def _place(explorer: Explorer, name: str) -> Place | None:
    """Where the rows of a dataset are: a saved output of a run, or the file that it is a version of."""
    graph = explorer.graph()
    at = graph.ids.find(name)
    if at is None:
        return None
    own = graph.properties.row(at)
    store = explorer.log._store
    if own.get("kind") == "table":
        for run in reversed(explorer.log.runs()):
            if f"{run.pipeline} (output)" != own.get("artifact"):
                continue
            saved = [each for each in run.document.get("saved", ()) if each.get("place") == OUTPUT]
            if saved:
                paths = tuple(str(store.blobs.local(run.files[place], "the output")) for place in saved[0]["files"])
                told = own.get("columns")
                fields = told.get("fields", {}) if isinstance(told, dict) else {}
                names = list(fields) if len(fields) == len(saved[0]["columns"]) else []
                return Place(name, paths, "read_parquet", columns=tuple(names))
    artifact = own.get("artifact")
    reader = _READ.get(Path(str(artifact)).suffix.lower())
    if reader is None or not isinstance(artifact, str):
        return None
    from whence.store.recording.artifacts import project_of

    path = Path(project_of(store.where), artifact)
    if not path.is_file():
        return None
    size = own.get("size")
    return Place(name, (str(path),), reader, path.stat().st_size == size if isinstance(size, int) else None)


@contextmanager
def _connected() -> Iterator[Any]:
    from whence.rows.duck.engine import connected

    with connected() as connection:
        yield connection


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _source_of(place: Place) -> str:
    """The rows of a place with their numbers, as a query with one parameter: the files."""
    if place.reader != "read_parquet":
        return f"SELECT *, row_number() OVER () - 1 AS {NUMBER} FROM {place.reader}(?)"
    if not place.columns:
        return "SELECT * FROM read_parquet(?, file_row_number = true)"
    named = ", ".join(f"c{at} AS {_quoted(name)}" for at, name in enumerate(place.columns))
    return f"SELECT {named}, {NUMBER} FROM read_parquet(?, file_row_number = true)"


def table(explorer: Explorer, params: Params) -> dict[str, Any]:
    """A page of rows: `from`, `rows`, `sort` (a column, with - before it for descending), `where` (column, text)."""
    import duckdb

    place = _found(explorer, text(params, "name"))
    start, count = number(params, "from", 0), number(params, "rows", ROWS, 1, MOST_ROWS)
    with _connected() as connection:
        try:
            files = list(place.paths)
            source = _source_of(place)
            columns = [
                (name, str(kind))
                for name, kind, *_ in connection.execute(f"DESCRIBE {source}", [files]).fetchall()
                if name != NUMBER
            ]
            names = [name for name, _ in columns]
            where, given = _where(params, names)
            order = _order(params, names)
            picked = ", ".join(map(_quoted, names))
            page = connection.execute(
                f"SELECT {NUMBER}, {picked} FROM ({source}) {where} {order} LIMIT ? OFFSET ?",
                [files, *given, count, start],
            ).fetchall()
            (total,) = connection.execute(f"SELECT count(*) FROM ({source}) {where}", [files, *given]).fetchone()
        except duckdb.Error as error:
            raise StoreError(f"{place.name!r} cannot be read: {str(error).splitlines()[0]}") from error
    return {
        "name": place.name, "columns": [{"name": name, "type": kind} for name, kind in columns], "total": total,
        "rows": [{"number": row[0], "cells": [_shown(each) for each in row[1:]]} for row in page], "from": start,
        "same": place.same, "traced": _traced(explorer),
    }  # fmt: skip


def _found(explorer: Explorer, name: str) -> Place:
    place = _place(explorer, name)
    if place is None:
        raise BadRequest(f"no rows of {name!r} are at hand: it is no table, or its file is gone")
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


def _shown(value: Any) -> Any:
    if isinstance(value, bool | int | str | None):
        return value if not isinstance(value, int) or abs(value) < 2**53 else str(value)
    if isinstance(value, float):
        return value if value == value and abs(value) != float("inf") else str(value)
    if isinstance(value, dt.date | dt.datetime | dt.time | decimal.Decimal):
        return str(value)
    return repr(value)[:400]


def _traced(explorer: Explorer) -> bool:
    import inspect

    return "columns" in inspect.signature(explorer.log.backward).parameters


def rows(explorer: Explorer, params: Params) -> dict[str, Any]:
    """Where a row, or some of its cells, came from or went: rows of other tables and the cells that carry the value."""
    name, given = text(params, "name"), text(params, "row")
    row = json.loads(given)
    if not isinstance(row, dict):
        raise BadRequest("'row' maps columns to values, in JSON")
    columns = [each for each in params.get("columns", "").split("\n") if each] or None
    direction = params.get("way", "backward")
    if direction not in ("backward", "forward"):
        raise BadRequest("'way' is backward or forward")
    try:
        found = answers.row_lineage(explorer.log, direction, name, row, columns)  # type: ignore[arg-type] # checked above
    except NotTraceable as error:
        return {"available": False, "reason": str(error), "sources": []}
    return {
        "available": True, "precise": getattr(found, "precise", True), "reason": getattr(found, "reason", None),
        "sources": [_source(each, found[each]) for each in found],
    }  # fmt: skip


def _source(name: str, selection: Any) -> dict[str, Any]:
    """Rows of a source; cells that are part of the answer are marked by their columns."""
    told: dict[str, Any] = {"name": name, "count": len(selection), "columns": [], "rows": [], "marked": []}
    if not hasattr(selection, "arrow"):
        return told
    fetched = selection.arrow()
    told["columns"] = list(fetched.column_names)
    told["rows"] = [[_shown(each) for each in row.values()] for row in fetched.slice(0, ROWS).to_pylist()]
    told["marked"] = [each for each in getattr(selection, "columns", ()) if each in told["columns"]]
    return told
