"""Serving the page on this machine until interrupted."""

from __future__ import annotations

import secrets
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from whence.errors import MissingExtra, StoreError

if TYPE_CHECKING:
    import uvicorn

    from whence.ui.explorer import Explorer

HOST = "127.0.0.1"


def bound(port: int) -> socket.socket:
    """Return a socket for this machine only; port 0 means any free port."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # requests before the server runs wait
    except OSError as error:
        found.close()
        raise StoreError(f"port {port} cannot be used: {error.strerror}; --port 0 takes one that is free") from error
    return found


def server(explorer: Explorer, port: int) -> tuple[str, uvicorn.Server, socket.socket]:
    """Return the address of the page with its token, the server, and its socket."""
    try:
        import uvicorn

        from whence.ui.web import app
    except ImportError as error:
        raise MissingExtra.of("the explorer", "ui") from error
    place = bound(port)
    token, number = secrets.token_urlsafe(24), place.getsockname()[1]
    config = uvicorn.Config(
        app(explorer, token, number), log_level="warning", access_log=False, server_header=False, date_header=False,
        lifespan="off", ws="none",
    )  # fmt: skip
    return f"http://{HOST}:{number}/?token={token}", uvicorn.Server(config), place


@contextmanager
def serving(explorer: Explorer, port: int = 0) -> Iterator[str]:
    """Serve the page in a thread while the block runs; yield its address."""
    url, made, place = server(explorer, port)
    thread = threading.Thread(target=made.run, kwargs={"sockets": [place]}, daemon=True)
    thread.start()
    try:
        yield url
    finally:
        made.should_exit = True
        thread.join(10)
        place.close()
