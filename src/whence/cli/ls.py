"""`whence ls`: what the log holds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from whence.cli._options import blobs_option, json_option, log_option, open_log
from whence.cli._output import emit_json, emit_table

if TYPE_CHECKING:
    from whence.store.records import Dataset, Operation


@click.command("ls")
@click.option("--operations", is_flag=True, help="List the operations that ran instead of the datasets.")
@log_option
@blobs_option
@json_option
def command(operations: bool, log: str | None, blobs: str | None, as_json: bool) -> None:
    """List the datasets of the log, or its operations."""
    with open_log(log, blobs) as opened:
        if operations:
            _print_operations(opened.operations(), as_json)
        else:
            _print_datasets(opened.datasets(), as_json)


def _print_datasets(datasets: Sequence[Dataset], as_json: bool) -> None:
    if as_json:
        emit_json({"datasets": [each.as_dict() for each in datasets]})
        return
    rows = [(each.name, each.kind, _shape(each.shape), each.created or "unknown") for each in datasets]
    emit_table(("dataset", "kind", "shape", "created"), rows)


def _print_operations(operations: Sequence[Operation], as_json: bool) -> None:
    if as_json:
        emit_json({"operations": [each.as_dict() for each in operations]})
        return
    emit_table(("operation", "started"), [(str(each), each.started or "unknown") for each in operations])


def _shape(shape: tuple[int, ...]) -> str:
    """Sides with a cross between them.

    >>> _shape((480, 640)), _shape((7,)), _shape(())
    ('480 x 640', '7', 'scalar')
    """
    return " x ".join(map(str, shape)) or "scalar"
