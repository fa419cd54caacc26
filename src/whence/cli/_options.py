"""The options that commands share, and how the log is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from whence.errors import StoreError
from whence.store.locating import locate, place_for_new

if TYPE_CHECKING:
    from whence.log import Log

Command = TypeVar("Command", bound=Callable[..., Any])

log_option: Callable[[Command], Command] = click.option(
    "--log",
    metavar="PATH",
    envvar="WHENCE_LOG",
    show_envvar=True,
    help="The log: a directory or a database URL. Default: the nearest *.whence directory, here or above.",
)
blobs_option: Callable[[Command], Command] = click.option(
    "--blobs",
    metavar="PATH",
    envvar="WHENCE_BLOBS",
    show_envvar=True,
    help="Where the blobs are, if the log is a database URL.",
)
json_option: Callable[[Command], Command] = click.option(
    "--json", "as_json", is_flag=True, help="Print the result as JSON."
)
json_file_option: Callable[[Command], Command] = click.option(
    "--json",
    "json_file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the result to FILE as JSON.",
)


def open_or_make_log(log: str | None, blobs: str | None = None) -> Log:
    """Open the given or nearest log for a command that records; if there is none, create `project.whence`."""
    from whence.log import open as open_store

    found = locate(log)
    if found is None:
        found = place_for_new()
        click.echo(f"whence: created the log {found}", err=True)
    return open_store(found, blobs=blobs)


def open_log(log: str | None, blobs: str | None = None) -> Log:
    """Open the given or nearest log for a command that only reads; never create one."""
    found = locate(log)
    if found is None:
        raise StoreError(
            "there is no log here: give --log PATH, set WHENCE_LOG, or go to a directory with a *.whence directory"
            " in it or"
            " above it (`whence demo` makes an example)"
        )
    from whence.log import open as open_store

    return open_store(found, blobs=blobs, create=False)
