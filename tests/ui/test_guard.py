"""Who may talk to the page: every way in that is not this machine's own browser is refused."""

from __future__ import annotations

import asyncio
import stat
from pathlib import Path
from typing import Any

import pytest

from jaxdp.program.ui import server
from jaxdp.program.ui.guard import COMPARISON, REPORTS, Guard

PORT = 8123
HERE = f"127.0.0.1:{PORT}"


async def _behind(scope: Any, receive: Any, send: Any) -> None:
    del receive
    if scope["type"] == "websocket":
        await send({"type": "websocket.accept"})
        return
    headers = [(b"Cache-Control", b"public"), (b"x-own", b"1")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    await send({"type": "http.response.body", "body": b"private"})


def asked(
    guard: Guard, kind: str = "http", path: str = "/", query: str = "", **headers: str
) -> list[dict[str, Any]]:
    """Return what is answered to a request."""
    sent: list[dict[str, Any]] = []
    given = {"host": HERE} | headers
    scope = {
        "type": kind,
        "path": path,
        "query_string": query.encode(),
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    async def receive() -> None:
        raise AssertionError("nothing is read")

    asyncio.run(guard(scope, receive, send))
    return sent


def entered(guard: Guard) -> str:
    """Return the cookie that the address gives."""
    (start, _) = asked(guard, query=guard.address.split("?")[1])
    assert start["status"] == 303
    headers = dict(start["headers"])
    assert headers[b"location"] == b"/", "the token does not stay in the address"
    cookie = headers[b"set-cookie"].decode()
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    return cookie.split(";")[0]


@pytest.fixture
def guard() -> Guard:
    return Guard(_behind, PORT)


def is_refused(answer: list[dict[str, Any]]) -> bool:
    text = b"".join(message.get("body", b"") for message in answer)
    assert b"private" not in text or answer[0]["status"] == 200
    first = answer[0]
    return first.get("status") == 403 or first["type"] == "websocket.close"


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "path",
    ["/", "/_nicegui/any.js", "/_nicegui_ws/socket.io", REPORTS + "a", f"{REPORTS}a{COMPARISON}"],
)
def test_guarantee_nothing_is_served_without_the_cookie(guard: Guard, kind: str, path: str) -> None:
    origin = {"origin": f"http://{HERE}"}
    name = entered(guard).split("=")[0]
    wrong = ("", f"{name}=", f"{name}=wrong", f"other={guard.token}", f"{name}={guard.token}x")
    for cookie in wrong:
        assert is_refused(asked(guard, kind, path, cookie=cookie, **origin))
    assert not is_refused(asked(guard, kind, path, cookie=entered(guard), **origin))


@pytest.mark.parametrize("query", ["", "token=", "token=wrong", "token=%00", "other=1"])
def test_guarantee_a_wrong_token_is_refused(guard: Guard, query: str) -> None:
    assert is_refused(asked(guard, query=query))
    assert is_refused(asked(guard, path="/other", query=f"token={guard.token}"))


def test_guarantee_the_address_that_a_browser_is_started_with_opens_once(guard: Guard) -> None:
    """It leads to the page by a page of the server: a redirection from a file has no cookie."""
    query = guard.address_for_once().split("?")[1]
    assert guard.token not in query
    (start, page) = asked(guard, query=query)
    assert start["status"] == 200
    assert b'content="0;url=/"' in page["body"]
    assert entered(guard).encode() in dict(start["headers"])[b"set-cookie"]
    assert b"private" not in page["body"]
    assert is_refused(asked(guard, query=query))
    assert entered(guard), "the printed address stays"


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize(
    "host", ["evil.example", f"evil.example:{PORT}", "127.0.0.1", "127.0.0.1:80", ""]
)
def test_guarantee_another_name_of_this_machine_is_refused(
    guard: Guard, kind: str, host: str
) -> None:
    """As a page does that lets its own name point to 127.0.0.1."""
    cookie, origin = entered(guard), f"http://{host}"
    assert is_refused(asked(guard, kind, cookie=cookie, host=host, origin=origin))
    assert is_refused(asked(guard, query=f"token={guard.token}", host=host))


@pytest.mark.parametrize("kind", ["http", "websocket"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", f"https://{HERE}", ""])
def test_guarantee_a_page_of_another_origin_is_refused(
    guard: Guard, kind: str, origin: str
) -> None:
    assert is_refused(asked(guard, kind, cookie=entered(guard), origin=origin))


def test_guarantee_a_websocket_tells_its_origin(guard: Guard) -> None:
    assert is_refused(asked(guard, "websocket", cookie=entered(guard)))


def test_answers_forbid_requests_to_elsewhere(guard: Guard) -> None:
    start, _ = asked(guard, cookie=entered(guard))
    headers = dict(start["headers"])
    policy = headers[b"content-security-policy"].decode()
    assert "default-src 'none'" in policy
    assert "http://" not in policy
    assert "https://" not in policy
    assert f"ws://{HERE}" in policy
    assert headers[b"referrer-policy"] == b"no-referrer"
    assert [name.lower() for name, _ in start["headers"]].count(b"cache-control") == 1
    assert headers[b"cache-control"] == b"no-store"
    (report, _) = asked(guard, path=REPORTS + "a", cookie=entered(guard))
    policy = dict(report["headers"])[b"content-security-policy"].decode()
    assert policy.startswith("sandbox;"), "a report runs no script, and is of no origin"
    assert "script-src" not in policy


def test_guarantee_the_address_that_a_browser_is_started_with_is_in_a_file_of_its_owner(
    tmp_path: Path,
) -> None:
    """Others on the machine can read the words of a program in its list of processes."""
    file = server._file_for(f"http://{HERE}/?token=abc", tmp_path)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert f'content="0;url=http://{HERE}/?token=abc"' in file.read_text()
    assert "abc" not in file.as_uri()


def test_every_server_has_a_token_of_its_own() -> None:
    assert Guard(_behind, PORT).token != Guard(_behind, PORT).token
    assert len(Guard(_behind, PORT).token) > 40
