"""Printing rows of Spark: the first as a table that fits the terminal, all of them as JSON or a file."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from whence.cli._output import emit_table, terminal
from whence.errors import BadType, StoreError
from whence.rows.questions.text import plain

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from rich.text import Text

WIDEST = 40  # characters of one value in a table
GAP = 2  # spaces between columns
OUT = (".parquet", ".csv", ".json")


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show a spinner on standard error during the block, if it is a terminal."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what):
        yield


class Shown:
    """The first rows of a DataFrame and the number of all rows, to print as a table or JSON."""

    def __init__(self, name: str, df: DataFrame, limit: int | None) -> None:
        self.name, self.columns = name, list(df.columns)
        self.numbers = {field.name for field in df.schema.fields if _is_numeric_type(field.dataType.typeName())}
        found = df.collect() if limit is None else df.take(limit + 1)
        self.rows: list[tuple[Any, ...]] = [tuple(row) for row in (found if limit is None else found[:limit])]
        self.count = df.count() if len(found) > len(self.rows) else len(found)

    def as_dict(self) -> dict[str, object]:
        """Return a dict for JSON. If two columns have the same name, rows are lists, and columns are listed apart."""
        rows = [[plain(value) for value in row] for row in self.rows]
        if len(set(self.columns)) == len(self.columns):
            return {"count": self.count, "rows": [dict(zip(self.columns, row, strict=True)) for row in rows]}
        return {"count": self.count, "columns": self.columns, "rows": rows}

    def emit(self, title: str, first: Collection[str] = ()) -> None:
        """Print a table; if it is too wide, only the columns in `first` and as many others as fit."""
        click.echo(f"\n{title}: {counted(self.count)}")
        if not self.rows:
            return
        cells = [[_styled(value) for value in row] for row in self.rows]
        chosen = _columns_that_fit(self.columns, [[each.plain for each in row] for row in cells], first)
        names = [self.columns[place] for place in chosen]
        rows = [[row[place] for place in chosen] for row in cells]
        emit_table(names, rows, numbers=[name for name in names if name in self.numbers], aligned=True)
        notes = []
        if self.count > len(self.rows):
            notes.append(f"{counted(self.count - len(self.rows))} more (--limit)")
        if len(chosen) < len(self.columns):
            notes.append(f"{len(self.columns) - len(chosen)} columns more (--out or --json has all)")
        if notes:
            click.echo(f"... {', '.join(notes)}")


def counted(count: int) -> str:
    """Format a number of rows."""
    return f"{count:,} row{'' if count == 1 else 's'}"


def require_out(out: Path) -> None:
    """Raise an error, before anything is computed, if the file's suffix is not supported."""
    if out.suffix not in OUT:
        raise BadType(f"--out {out}: the file ends in one of {', '.join(OUT)}")


def write(frames: dict[str, DataFrame], out: Path) -> list[Path]:
    """Write each DataFrame to one file: FILE itself if there is one, FILE-name for several."""
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        paths = []
        for name, df in frames.items():
            path = out if len(frames) == 1 else out.with_name(f"{out.stem}-{name}{out.suffix}")
            _write(df, path)
            paths.append(path)
    except OSError as error:
        raise StoreError(f"cannot write {out}: {error.strerror or error}") from error
    return paths


def _write(df: DataFrame, path: Path) -> None:
    if path.suffix == ".json":
        import json

        lines = (json.dumps(plain(row), ensure_ascii=False) for row in df.collect())
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return
    import pyarrow as pa
    from pyarrow import csv, parquet

    table = df.toArrow()
    if path.suffix == ".parquet":
        parquet.write_table(table, path)
        return
    nested = [field.name for field in table.schema if pa.types.is_nested(field.type)]
    if nested:
        raise BadType(f"column {nested[0]!r} is nested, which CSV cannot hold: write .parquet or .json")
    csv.write_csv(table, path)


def _is_numeric_type(kind: str) -> bool:
    return kind in ("byte", "short", "integer", "long", "float", "double", "decimal")


def _styled(value: object) -> Text:
    from rich.text import Text

    if value is None:
        return Text("NULL", "dim")
    text = value if isinstance(value, str) else str(plain(value))
    text = text.replace("\n", "\\n")
    return Text(text if len(text) <= WIDEST else text[: WIDEST - 1] + "…")


def _columns_that_fit(columns: Sequence[str], cells: Sequence[Sequence[str]], first: Collection[str]) -> list[int]:
    """Return the positions of the columns to print, in order: at least one."""
    room = shutil.get_terminal_size().columns if terminal() else 160
    widths = [max(len(name), *(len(row[i]) for row in cells)) + GAP for i, name in enumerate(columns)]
    chosen: list[int] = []
    for place in sorted(range(len(columns)), key=lambda place: columns[place] not in first):
        if not chosen or widths[place] <= room:
            chosen.append(place)
            room -= widths[place]
    return sorted(chosen)
