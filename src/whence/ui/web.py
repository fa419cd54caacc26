"""The page over HTTP: one document, one module, and the requests under /api/."""

from __future__ import annotations

import gzip
import json
from importlib.resources import files
from typing import TYPE_CHECKING, Final

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response
from starlette.routing import Route

from whence.ui.guard import Guard
from whence.ui.routes import answered

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp

    from whence.ui.explorer import Explorer

MODULE: Final = "explorer.js"
SMALL: Final = 1400  # bytes; larger answers are compressed
DOCUMENT: Final = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>whence</title>
<link rel="icon" href="data:,">
<script type="module" src="/explorer.js"></script>
</head>
<body><div id="whence"></div><noscript>This page needs JavaScript.</noscript></body>
</html>
"""


def app(explorer: Explorer, token: str, port: int) -> ASGIApp:
    """Return the application behind its guard."""
    module = files("whence.ui").joinpath("static", MODULE).read_bytes()

    async def page(request: Request) -> Response:
        return Response(DOCUMENT, media_type="text/html")

    async def script(request: Request) -> Response:
        return _packed(request, module, "text/javascript")

    async def api(request: Request) -> Response:
        name, params = request.path_params["name"], dict(request.query_params)
        status, found = await run_in_threadpool(answered, explorer, name, params)
        if isinstance(found, bytes):
            return _packed(request, found, "application/octet-stream", status)
        # Names may contain lone surrogates, which UTF-8 cannot encode; JSON escapes can.
        return _packed(request, json.dumps(found, default=str).encode("ascii"), "application/json", status)

    routes = [Route("/", page), Route("/explorer.js", script), Route("/api/{name}", api)]
    return Guard(Starlette(routes=routes), token, port)


def _packed(request: Request, body: bytes, kind: str, status: int = 200) -> Response:
    if len(body) < SMALL or "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(body, status, media_type=kind)
    packed = gzip.compress(body, 1)
    return Response(packed, status, {"content-encoding": "gzip", "vary": "accept-encoding"}, media_type=kind)
