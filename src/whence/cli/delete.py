"""`whence delete`: delete a dataset and its lineage."""

from __future__ import annotations

import click

from whence.cli._complete import dataset_names
from whence.cli._options import blobs_option, log_option, open_log


@click.command("delete")
@click.argument("dataset", shell_complete=dataset_names)
@click.option("--yes", is_flag=True, help="Do not ask first.")
@click.option(
    "--force",
    is_flag=True,
    help="Delete it even if other datasets were derived from it. They stay, but lose their lineage.",
)
@log_option
@blobs_option
def command(dataset: str, yes: bool, force: bool, log: str | None, blobs: str | None) -> None:
    """Delete a dataset and its lineage.

    Refuses to delete a dataset that others were derived from, unless you give --force. `whence gc` frees the space.

    \b
      whence delete draft
      whence delete raw --force --yes
    """
    with open_log(log, blobs) as opened:
        description = opened.show(dataset)
        lost = len(description.derived_from) + len(description.led_to)
        if not yes:
            click.confirm(f"Delete {dataset} and {lost} relations?", abort=True, err=True)
        opened.delete(dataset, force=force)
    click.echo(f"deleted {dataset} and {lost} relations; `whence gc` frees the space")
