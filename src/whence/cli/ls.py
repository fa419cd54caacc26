"""`whence ls`: list the contents of the log."""

from __future__ import annotations

import fnmatch
import shutil
from collections.abc import Sequence

import click

from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json, emit_table, terminal
from whence.errors import UnknownName
from whence.store.records import Dataset, Operation

KINDS = ("array", "file", "table")  # always accepted, even if the log has no such datasets
WIDEST = 100  # printed characters of a command on a terminal; a pipe and --json get all


@click.command("ls")
@click.argument("pattern", required=False)
@click.option("--operations", is_flag=True, help="List the operations and runs instead of the datasets.")
@click.option("--kind", metavar="KIND", help="Only datasets of this kind: array, file, table ...")
@click.option("--failed", is_flag=True, help="Only operations and runs that failed.")
@click.option("--since", metavar="TIME", help="Only datasets and operations of this time or later: 2026-01-31.")
@click.option("--last", metavar="N", type=click.IntRange(min=1), help="Only the last N of them.")
@log_option
@blobs_option
@json_option
def command(
    pattern: str | None,
    operations: bool,
    kind: str | None,
    failed: bool,
    since: str | None,
    last: int | None,
    log: str | None,
    blobs: str | None,
    as_json: bool,
) -> None:
    """List the datasets and files of the log, or its operations and runs.

    PATTERN matches names: `model*`, `*.csv`, or a part of a name. For operations it also matches what they used, made
    or ran. The list of operations shows their arguments, where they were called, and their status.

    \b
      whence ls --kind file '*.csv'
      whence ls --operations train --last 5
      whence ls --operations --failed
    """
    if kind is not None and (operations or failed):
        raise click.UsageError("--kind selects datasets: leave out --operations and --failed")
    with open_log(log, blobs) as opened:
        if operations or failed:
            all_runs = opened.operations()
            runs = [each for each in all_runs if _is_run(each, pattern, failed) and _is_since(each.started, since)]
            _print_operations(runs[-last:] if last else runs, as_json)
            left_out = 0 if runs else len(all_runs)
        else:
            every = opened.datasets()
            _require_kind(kind, every)
            sets = [each for each in every if _is_set(each, pattern, kind) and _is_since(each.created, since)]
            _print_datasets(sets[-last:] if last else sets, as_json)
            left_out = 0 if sets else len(every)
    if left_out:
        click.echo(f"None of {left_out:,} matches; `whence ls` lists all.", err=True)


def _require_kind(kind: str | None, datasets: Sequence[Dataset]) -> None:
    kinds = sorted({each.kind for each in datasets})
    if kind is not None and kinds and kind not in {*kinds, *KINDS}:
        raise UnknownName(
            f"there is no dataset of kind {kind!r}: this log has {', '.join(kinds)}; "
            "--operations lists activities and runs"
        )


def _is_set(each: Dataset, pattern: str | None, kind: str | None) -> bool:
    names = (each.name, str(each.properties.get("artifact", "")))
    return (kind is None or each.kind == kind) and _fits_pattern(names, pattern)


def _is_run(each: Operation, pattern: str | None, failed: bool) -> bool:
    names = (each.name, each.label, str(each.properties.get("command", "")), *each.inputs, *each.outputs)
    return (not failed or each.status not in ("", "ok")) and _fits_pattern(names, pattern)


def _fits_pattern(names: Sequence[str], pattern: str | None) -> bool:
    """Whether one of the names matches the pattern or, if that has no wildcard, contains it.

    >>> _fits_pattern(["data/raw.csv@v1"], "raw"), _fits_pattern(["model.bin"], "*.csv")
    (True, False)
    """
    if pattern is None:
        return True
    if any(each in pattern for each in "*?["):
        return any(fnmatch.fnmatchcase(name, pattern) for name in names)
    return any(pattern in name for name in names)


def _is_since(time: str | None, since: str | None) -> bool:
    return since is None or (time is not None and time >= since)


def _print_datasets(datasets: Sequence[Dataset], as_json: bool) -> None:
    if as_json:
        emit_json({"datasets": [each.as_dict() for each in datasets]})
        return
    columns = ("dataset", "kind", "shape", "created")
    shown = [dict(zip(Dataset.COLUMNS, each.cells(), strict=True)) for each in datasets]
    emit_table(columns, [[row[name] for name in columns] for row in shown])


def _print_operations(operations: Sequence[Operation], as_json: bool) -> None:
    if as_json:
        emit_json({"operations": [each.as_dict() for each in operations]})
        return
    emit_table(Operation.COLUMNS, [_shortened_command(each.cells()) for each in operations])


def _shortened_command(cells: Sequence[str]) -> Sequence[str]:
    """Shorten long commands on a terminal."""
    widest = min(WIDEST, shutil.get_terminal_size().columns // 2)
    if not terminal():
        return cells
    return [text if len(text) <= widest else f"{text[: widest - 1]}\N{HORIZONTAL ELLIPSIS}" for text in cells]
