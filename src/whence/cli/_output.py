"""How commands print: a rich table on a terminal, tab-separated lines through a pipe, JSON when asked."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence

import click


def terminal() -> bool:
    """Whether a person is looking at standard output."""
    return sys.stdout.isatty()


def emit_json(value: object) -> None:
    """Print one JSON document."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False))


def emit_table(
    columns: Sequence[str], rows: Iterable[Sequence[object]], *, numbers: Sequence[str] = (), aligned: bool = False
) -> None:
    """Print a table; the columns named in `numbers` are aligned to the right where there is something to align.

    What only people read is `aligned` even through a pipe.
    """
    if not terminal() and not aligned:
        click.echo("\t".join(columns))
        for row in rows:
            click.echo("\t".join(_field(value) for value in row))
        return
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False, show_edge=False, collapse_padding=True)
    for column in columns:
        table.add_column(column, justify="right" if column in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(value if isinstance(value, Text) else Text(_field(value)) for value in row))
    Console(width=None if terminal() else 160).print(table)


def _field(value: object) -> str:
    """A value on one line: a tab or an end of line within it would look like the end of a column or row.

    >>> print(_field("sh -c 'a\\nb'"))
    sh -c 'a\\nb'
    """
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode() for each in str(value)
    )


def size_text(count: float) -> str:
    """A number of bytes as a person says it.

    >>> size_text(512), size_text(20_480), size_text(3_500_000)
    ('512 B', '20.5 kB', '3.5 MB')
    """
    if count < 1000:
        return f"{count:.0f} B"
    for unit in ("kB", "MB", "GB", "TB"):
        count /= 1000
        if count < 999.95 or unit == "TB":
            return f"{count:.1f} {unit}"
    raise AssertionError("unreachable")
