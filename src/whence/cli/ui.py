"""`whence ui`: the explorer, a page on the log."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

import click

from whence.cli._options import blobs_option, log_option, open_log


@click.command("ui")
@click.option("--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="Otherwise any that is free.")
@click.option("--no-open", is_flag=True, help="Print the address, and open no browser.")
@click.option(
    "--values", metavar="NAME=FILE", multiple=True,
    help="Values of an array, which the log does not hold: NAME=x.npy, or a directory of such files. May be repeated.",
)  # fmt: skip
@log_option
@blobs_option
def command(port: int, no_open: bool, values: tuple[str, ...], log: str | None, blobs: str | None) -> None:
    """Look at the log in a browser: the project, its arrays, tables and pipelines.

    The page is served on this machine only, to those who have the printed address, until it is interrupted (Ctrl-C).
    It changes nothing in the log, fetches nothing from elsewhere, and runs no code of yours.

    \b
      whence ui
      whence ui --log project.whence --values thermal=thermal.npy
      whence ui --no-open --port 8000
    """
    show(log, blobs, values, port, is_opened=not no_open)


def show(log: str | None, blobs: str | None, values: Sequence[str], port: int, *, is_opened: bool) -> None:
    """Serve the page until interrupted; the only line that is printed has its address."""
    from whence.ui.explorer import Explorer
    from whence.ui.project import warm
    from whence.ui.serving import server
    from whence.ui.values import Values

    with open_log(log, blobs) as opened:
        explorer = Explorer(opened, Values.of(values))
        url, made, place = server(explorer, port)
        threading.Thread(target=warm, args=(explorer,), daemon=True).start()  # while the browser opens
        with place, suppress(KeyboardInterrupt):  # which is how it ends
            click.echo(f"whence ui: {url}")
            if is_opened:
                click.launch(url)
            made.run(sockets=[place])
