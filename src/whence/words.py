"""Formatting numbers, sizes and tables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


def in_units(size: float) -> str:
    """Format a number of bytes.

    >>> in_units(812), in_units(2_520_000)
    ('812 B', '2.5 MB')
    """
    if size < 1000:
        return f"{size:.0f} B"
    for unit in ("kB", "MB", "GB"):
        size /= 1000
        if size < 999.95:
            return f"{size:.1f} {unit}"
    return f"{size / 1000:.1f} TB"


def counted(number: int, thing: str, things: str | None = None) -> str:
    """Format a number with its noun.

    >>> counted(1, "box", "boxes"), counted(1200, "dataset")
    ('1 box', '1,200 datasets')
    """
    return f"{number:,} {thing if number == 1 else things or thing + 's'}"


def table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format rows as an aligned table; empty columns are left out.

    >>> print(table(("file", "size", "by"), [("data.csv", "12 B", ""), ("model.bin", "3.0 kB", "")]))
    file       size
    data.csv   12 B
    model.bin  3.0 kB
    """
    cells = [[one_line(value) for value in row] for row in rows]
    shown = [place for place in range(len(columns)) if not cells or any(row[place] for row in cells)]
    lines = [[columns[place] for place in shown], *([row[place] for place in shown] for row in cells)]
    widths = [max(len(line[place]) for line in lines) for place in range(len(shown))]
    return "\n".join(
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def one_line(value: object) -> str:
    """Format a value on one line: escape tabs and newlines, which would break the columns and rows of a table.

    >>> print(one_line("sh -c 'a\\nb'"))
    sh -c 'a\\nb'
    """
    text = str(value)
    if text.isprintable():
        return text
    return "".join(
        each if each.isprintable() else each.encode("unicode_escape", "surrogatepass").decode() for each in text
    )
