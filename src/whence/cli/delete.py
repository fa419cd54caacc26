"""`whence delete`: forget a dataset and its lineage."""

from __future__ import annotations

import click

from whence.cli._options import blobs_option, log_option, open_log


@click.command("delete")
@click.argument("dataset")
@click.option("--yes", is_flag=True, help="Do not ask first.")
@log_option
@blobs_option
def command(dataset: str, yes: bool, log: str | None, blobs: str | None) -> None:
    """Delete a dataset and the lineage that leads to it and from it.

    The space is given back by `whence gc`.
    """
    with open_log(log, blobs) as opened:
        description = opened.show(dataset)
        lost = len(description.derived_from) + len(description.led_to)
        if not yes:
            click.confirm(f"Delete {dataset} and {lost} relations?", abort=True, err=True)
        opened.delete(dataset)
    click.echo(f"deleted {dataset} and {lost} relations; `whence gc` gives the space back")
