"""`whence ui`: serve the explorer, a page about the log."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress

import click

from whence.cli._options import blobs_option, log_option, open_log


@click.command("ui")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65535), default=0, help="The port to use; 0 takes any free one."
)
@click.option("--no-open", is_flag=True, help="Print the address, but do not open a browser.")
@click.option(
    "--values", metavar="NAME=FILE", multiple=True,
    help="A file with the values of an array, which the log does not hold: NAME=x.npy, or a directory of .npy files."
    " May be repeated.",
)  # fmt: skip
@log_option
@blobs_option
def command(port: int, no_open: bool, values: tuple[str, ...], log: str | None, blobs: str | None) -> None:
    """Show the log in a browser: the project, its arrays, tables and pipelines.

    Only this machine can reach the page, and only with the printed address. Ctrl-C stops the server. It changes
    nothing in the log, loads nothing from the network, and runs none of your code.

    \b
      whence ui
      whence ui --log project.whence --values thermal=thermal.npy
      whence ui --no-open --port 8000
    """
    show(log, blobs, values, port, is_opened=not no_open)


def show(log: str | None, blobs: str | None, values: Sequence[str], port: int, *, is_opened: bool) -> None:
    """Serve the page until interrupted; print its address."""
    from whence.ui.explorer import Explorer
    from whence.ui.project import warm
    from whence.ui.serving import server
    from whence.ui.values import Values

    with open_log(log, blobs) as opened:
        explorer = Explorer(opened, Values.of(values))
        url, made, place = server(explorer, port)
        threading.Thread(target=warm, args=(explorer,), daemon=True).start()  # fill the cache while the browser opens
        with place, suppress(KeyboardInterrupt):  # Ctrl-C ends it
            click.echo(f"whence ui: {url}")
            if is_opened:
                click.launch(url)
            made.run(sockets=[place])
