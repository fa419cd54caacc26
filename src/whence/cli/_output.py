"""Printing the output of commands: a rich table on a terminal, tab-separated lines through a pipe, or JSON."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

import click

from whence.words import one_line
from whence.words import table as table_of

MANY = 2_000  # rows; larger tables are printed without fitting them to the terminal, which is slow


def terminal() -> bool:
    """Whether standard output is a terminal."""
    return sys.stdout.isatty()


def emit_json(value: object, *, is_large: bool = False) -> None:
    """Print one JSON document; a large one on a single line, which is much faster."""
    click.echo(json.dumps(value, indent=None if is_large else 2, ensure_ascii=False))


def emit_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[str] = (), aligned: bool = False
) -> None:
    """Print a table; the columns in `numbers` are aligned to the right.

    With `aligned`, the output has aligned columns even through a pipe.
    """
    if not terminal() and not aligned:
        lines = ["\t".join(columns), *("\t".join([one_line(value) for value in row]) for row in rows)]
        click.echo("\n".join(lines))
        return
    rows = list(rows)
    if len(rows) > MANY:
        click.echo(table_of(columns, rows))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(value if isinstance(value, Text) else Text(one_line(value)) for value in row))
    Console(width=None if terminal() else 160).print(table)
