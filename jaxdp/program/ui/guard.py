"""Who may talk to the page: this machine's own browser, with the token that was printed.

Every request passes here first, of pages, files and websockets alike. A page that is open in the
same browser cannot send one: neither its `Origin` nor a name that it points to 127.0.0.1 is that of
this server, and the cookie is kept from it (SameSite=Strict).

References:
    OWASP, "DNS rebinding attacks"; "Cross-site WebSocket hijacking".
"""

import hmac
import secrets
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_REPORT = (
    b"sandbox; default-src 'none'; img-src data:; style-src 'unsafe-inline'; frame-ancestors 'self'"
)
# The library compiles its components in the browser, by inline scripts.
_PAGE = (
    "default-src 'none'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; "
    "connect-src 'self' ws://{host}; frame-src 'self'; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)
REPORTS = "/report/"
"""Where reports of runs are, which run no script."""
COMPARISON = "/comparison"
"""What follows the address of a report for that of a comparison with private records."""


class Guard:
    """What stands before an application of ASGI.

    Attributes:
        token: whoever has it may look at the page.
        port: that the server listens to, on 127.0.0.1.
    """

    def __init__(self, app: App, port: int) -> None:
        """Draw a token.

        Args:
            app: what is behind.
            port: as above.
        """
        self._app, self.port, self.token = app, port, secrets.token_urlsafe(32)
        self._once: set[str] = set()

    @property
    def address(self) -> str:
        """The address to open: it gives a browser its cookie."""
        return f"http://127.0.0.1:{self.port}/?token={self.token}"

    def address_for_once(self) -> str:
        """Return an address that one browser can open, once: the one that is started.

        It is in a file that only its owner can read. A browser's words, which all on this machine
        can, have the name of that file.
        """
        token = secrets.token_urlsafe(32)
        self._once.add(token)
        return f"http://127.0.0.1:{self.port}/?token={token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = {name.lower(): value.decode("latin-1") for name, value in scope["headers"]}
        host = headers.get(b"host", "")
        is_here = host in (f"127.0.0.1:{self.port}", f"localhost:{self.port}")
        origin = headers.get(b"origin")
        if scope["type"] == "websocket":
            is_own = origin == f"http://{host}"
        else:
            is_own = origin in (None, f"http://{host}")
        if not (is_here and is_own):
            await _refuse(scope, send)
        elif scope["type"] == "http" and scope["path"] == "/" and self._opens_once(scope):
            await _answer(send, 200, [*_GOES_ON_AS, (b"set-cookie", self._cookie())], _GOES_ON)
        elif scope["type"] == "http" and scope["path"] == "/" and self._has_token(scope):
            await _answer(send, 303, [(b"location", b"/"), (b"set-cookie", self._cookie())])
        elif self._has_cookie(headers.get(b"cookie", "")):
            await self._app(scope, receive, _with_headers(scope, send, host))
        else:
            await _refuse(scope, send)

    @property
    def _name(self) -> str:
        return f"jaxdp_{self.port}"  # cookies know no ports

    def _cookie(self) -> bytes:
        return f"{self._name}={self.token}; Path=/; HttpOnly; SameSite=Strict".encode()

    def _opens_once(self, scope: Scope) -> bool:
        given = _token_of(scope)
        if given not in self._once:
            return False
        self._once.discard(given)
        return True

    def _has_token(self, scope: Scope) -> bool:
        return hmac.compare_digest(_token_of(scope).encode(), self.token.encode())

    def _has_cookie(self, cookies: str) -> bool:
        given = dict(part.strip().partition("=")[::2] for part in cookies.split(";"))
        return hmac.compare_digest(given.get(self._name, "").encode(), self.token.encode())


def _token_of(scope: Scope) -> str:
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return query.get("token", [""])[0]


def _with_headers(scope: Scope, send: Send, host: str) -> Send:
    """Return what adds headers to answers that forbid the browser everything else."""
    is_report = str(scope.get("path", "")).startswith(REPORTS)
    policy = _REPORT if is_report else _PAGE.format(host=host).encode()
    own = [
        (b"content-security-policy", policy),
        (b"referrer-policy", b"no-referrer"),
        (b"x-content-type-options", b"nosniff"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"cache-control", b"no-store"),
    ]
    names = {name for name, _ in own}

    async def sent(message: Any) -> None:
        if message["type"] == "http.response.start":
            kept = [pair for pair in message.get("headers", []) if pair[0].lower() not in names]
            message = {**message, "headers": [*kept, *own]}
        await send(message)

    return sent


async def _refuse(scope: Scope, send: Send) -> None:
    if scope["type"] == "websocket":
        await send({"type": "websocket.close", "code": 1008})
    else:
        await _answer(send, 403, [(b"content-type", b"text/plain")], _WHY)


# A browser that comes from a file, and is sent on, keeps the cookie back; from here it gives it.
_GOES_ON = b'<!doctype html><title>jaxdp</title><meta http-equiv="refresh" content="0;url=/">'
_GOES_ON_AS = [
    (b"content-type", b"text/html; charset=utf-8"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
]
_WHY = b"This page is for the browser that opened the address which `jaxdp ui` has printed."


async def _answer(
    send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes = b""
) -> None:
    headers = [*headers, (b"cache-control", b"no-store"), (b"referrer-policy", b"no-referrer")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
