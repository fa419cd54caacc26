"""Access control: only requests from a browser on this machine, with the token, from the page itself are answered."""

from __future__ import annotations

import hmac
from http.cookies import SimpleCookie
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl, urlencode

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE: Final = "whence-token"
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS: Final = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


class Guard:
    """Checks every request before the application gets it.

    The first request has the token in its URL; later ones have it in a cookie that other sites cannot send. The Host
    header is checked against DNS rebinding, the Origin header against requests from other pages.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token = app, token
        self._cookie = f"{COOKIE}-{port}"  # cookies are shared by all ports of a host
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer or refuse the request, or pass it on and add strict security headers to the response."""
        if scope["type"] != "http":
            return  # only HTTP is served
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}

        async def strict(message: Message) -> None:
            if message["type"] == "http.response.start":
                extra = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message["headers"] = [*message.get("headers", []), *extra]
            await send(message)

        refusal = self._refusal(scope["method"], headers)
        if refusal is not None:
            await _send_text(strict, 403, refusal)
            return
        query = dict(parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True))
        if "token" in query and scope["path"] == "/" and self._is_token(query.pop("token")):
            # Remove the token from the address bar, so that a copied address does not contain it.
            place = "/?" + urlencode(query) if query else "/"
            cookie = f"{self._cookie}={self._token}; Path=/; HttpOnly; SameSite=Strict"
            await _send_text(strict, 303, "", {"location": place, "set-cookie": cookie})
            return
        jar: SimpleCookie = SimpleCookie(headers.get("cookie", ""))
        if self._cookie not in jar or not self._is_token(jar[self._cookie].value):
            await _send_text(
                strict, 401, "Open the address that `whence ui` printed: it holds the token of this session."
            )
            return
        await self._app(scope, receive, strict)

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode(), self._token.encode())

    def _refusal(self, method: str, headers: dict[str, str]) -> str | None:
        if headers.get("host") not in self._hosts:
            return "This page is only available at 127.0.0.1."
        origin = headers.get("origin")
        if origin is not None and origin not in {f"http://{host}" for host in self._hosts}:
            return "Requests from other pages are not allowed."
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "Requests from other pages are not allowed."
        return None if method in ("GET", "HEAD") else "This page is read only."


async def _send_text(send: Send, status: int, text: str, headers: dict[str, str] | None = None) -> None:
    sent = {"content-type": "text/plain; charset=utf-8", **(headers or {})}
    await send(
        {
            "type": "http.response.start",
            "status": status,
            "headers": [(name.encode("latin-1"), value.encode("latin-1")) for name, value in sent.items()],
        }
    )
    await send({"type": "http.response.body", "body": text.encode()})
